"""How rows are found and read: by name, by index, and no more of them than is needed."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from neuralclaw import lookups
from neuralclaw.store import queries
from neuralclaw.store.derived_tables import DerivedTables
from neuralclaw.store.queries import Wanted
from neuralclaw.types import events as ev
from neuralclaw.types.codec import BUILT_IN
from neuralclaw.types.entries import Draft, Entry
from neuralclaw.types.records import NewSession, OutboxItem, Prefix, SetAside, StoredResult

from . import kit

pytestmark = pytest.mark.anyio


def rearrange(home: Path) -> None:
    """Every table with its columns the other way round, and one more before and behind them."""
    c = kit.raw(home)
    c.execute("PRAGMA legacy_alter_table = 1")
    for (table,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
        indexes = [sql for (sql,) in c.execute("SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL", (table,))]
        columns = c.execute('SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?)', (table,)).fetchall()[::-1]
        key = [name for name, _, _, _, pk in sorted(columns, key=lambda column: column[4]) if pk]
        rowid = len(key) == 1 and any(name == key[0] and kind == "INTEGER" for name, kind, *_ in columns)
        parts = [
            f"{name} {kind}{' NOT NULL' if needed else ''}{f' DEFAULT {default}' if default else ''}{' PRIMARY KEY' if rowid and pk else ''}"
            for name, kind, needed, default, pk in columns
        ]
        parts = ["before TEXT DEFAULT 'new'", *parts, "behind INTEGER DEFAULT 7", *([] if rowid else [f"PRIMARY KEY ({', '.join(key)})"])]
        names = ", ".join(name for name, *_ in columns)
        c.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
        c.execute(f"CREATE TABLE {table} ({', '.join(parts)})")
        c.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM old_{table}")
        c.execute(f"DROP TABLE old_{table}")
        for sql in indexes:
            c.execute(sql)
    c.close()


async def test_columns_are_known_by_their_names(home: Path) -> None:
    async def all_of_it() -> list[object]:
        async with kit.opened(home, readonly=True) as store:
            return [
                await store.read("work"),
                await store.read("work", from_turn=2, kinds=("inbound", "message")),
                await store.sessions(),
                await store.questions(open_only=False),
                await lookups.question(store, "work-Q1"),
                await store.grants("work", "/w"),
                await store.rows("calls", {"session": "work", "call_id": ["c1"]}),
                await lookups.result(store, "work", "c1"),
            ]

    async with kit.opened(home) as store:
        await kit.a_life(store)
        await store.append("work", [kit.picture(b"png"), kit.tool_finished()], rows=[StoredResult("c1", "all"), OutboxItem("x:1", "fine")])
    before = await all_of_it()
    rearrange(home)
    assert await all_of_it() == before
    async with kit.opened(home) as store:
        await store.rebuild()
        assert await all_of_it() == before
        new = NewSession(origin="owner", workspace="/w", parent="work", soul="s")
        await store.append("other", [kit.inbound(turn=None, key="k"), kit.picture(b"gif"), kit.asked("Q2")], rows=[new, StoredResult("c2", "x")])
        lease = await store.acquire("session:other")
        assert lease is not None
        await lookups.start_turn(store, lease, "other", 1)
        await store.append("other", [kit.started(), kit.answered("Q2", "always"), kit.message(calls=("c2",)), kit.finished()], lease=lease)
        await store.release(lease)
        await store.append("other", [], rows=[SetAside(True)])
        await store.erase("work", [1], "owner")
        row = await lookups.session(store, "other")
        assert row is not None
        assert (row.origin, row.parent, row.soul, row.state, row.usd) == ("owner", "work", "s", "set_aside", 0.25)
        bad = (await store.verify()).bad
        assert bad is not None, "tables that the program did not make so are named"
        assert (bad.record, bad.why) == (0, "order")


@pytest.mark.full
async def test_one_question_among_twenty_thousand_is_found_at_once(home: Path) -> None:
    async with kit.opened(home) as store:
        for start in range(0, 20_000, 2_000):
            await store.append(f"s{start}", [kit.asked(f"Q{i}") for i in range(start, start + 2_000)])
        taken: list[float] = []
        for i in range(0, 20_000, 100):
            begin = time.perf_counter()
            found = await lookups.question(store, f"Q{i}")
            taken.append(time.perf_counter() - begin)
            assert found is not None
            assert found.question.approval_id == f"Q{i}"
        assert sorted(taken)[len(taken) * 95 // 100] < 0.005
        assert await lookups.question(store, "Q20000") is None


def plan(c: sqlite3.Connection, sql: str, values: tuple[object, ...]) -> list[str]:
    return [detail for _, _, _, detail in c.execute(f"EXPLAIN QUERY PLAN {sql}", values)]


async def test_reading_some_kinds_reads_no_body_of_another(home: Path) -> None:
    async with kit.opened(home) as store:
        for turn in range(1, 51):
            await store.append("a", [kit.inbound(turn=turn), kit.started(turn), kit.message(turn=turn), kit.finished(turn)])
    c = kit.raw(home)
    touched: list[int] = []

    def touch(record: int, data: bytes) -> bytes:
        touched.append(record)
        return data

    c.create_function("touch", 2, touch)
    c.execute("CREATE TEMP VIEW bodies AS SELECT record, key, touch(record, data) AS data FROM main.bodies")  # found before the table

    def read(from_turn: int) -> list[Entry]:
        touched.clear()
        return queries.entries_after(c, BUILT_IN, Wanted("a", from_turn=from_turn, kinds=("inbound",)), -1)

    for from_turn, expected in ((0, 50), (41, 10)):
        entries = read(from_turn)
        assert len(entries) == expected
        assert sorted(touched) == [e.header.record for e in entries]


async def test_entries_of_late_turns_are_found_by_their_turn(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.message(turn=turn) for turn in range(1, 101)])
    c = kit.raw(home)
    statements: list[str] = []
    c.set_trace_callback(statements.append)
    assert [e.turn for e in queries.entries_after(c, BUILT_IN, Wanted("a", from_turn=99, kinds=("message",)), 128)] == [99, 100]
    c.set_trace_callback(None)
    steps = plan(c, statements[0], ())
    assert any("entries_turn (session=? AND turn>?)" in step for step in steps), steps
    assert not any(step.startswith("SCAN") for step in steps), steps


async def test_a_question_is_found_without_a_scan(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.asked("Q1")])
    c = kit.raw(home)
    statements: list[str] = []
    c.set_trace_callback(statements.append)
    (found,) = queries.question_rows(c, "Q1", None, 0.0, open_only=False)
    assert found.question.approval_id == "Q1"
    c.set_trace_callback(None)
    assert not any(step.startswith("SCAN") for step in plan(c, statements[0], ()))


def statements_of(home: Path, read: Callable[[sqlite3.Connection], object]) -> tuple[object, list[str]]:
    """What is read, and the steps of the plans of all statements that it took."""
    c = kit.raw(home)
    statements: list[str] = []
    c.set_trace_callback(statements.append)
    found = read(c)
    c.set_trace_callback(None)
    return found, [step for statement in statements for step in plan(c, statement, ())]


async def test_a_call_is_found_by_its_id_alone_without_a_scan(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.message(calls=("c1", "c2"))])
        await store.append("b", [kit.message(calls=("c2",))])
        query = queries.Query("calls", {"call_id": "c2"}, ("record",), False, None)
        rows, steps = statements_of(home, lambda c: queries.table_rows(c, DerivedTables(), query, frozen=False))
        assert rows == [{"session": "a", "call_id": "c2", "record": 1}, {"session": "b", "call_id": "c2", "record": 2}]
        assert any("calls_id (call_id=?)" in step for step in steps), steps
        assert not any(step.startswith("SCAN") for step in steps), steps


async def test_the_newest_session_of_a_workspace_is_found_without_a_look_at_all_sessions(home: Path) -> None:
    clock = FrozenClock()
    async with kit.opened(home, clock=clock) as store:
        for name, workspace in (("a", "/w"), ("b", "/w"), ("c", "/other"), ("d", "/w")):
            await store.append(name, [kit.inbound()], rows=[NewSession(origin="owner", workspace=workspace)])
        assert await lookups.newest(store, "/w", left_out=["d"]) == "b", "of those that changed at the same time the last by name"
        clock.seconds += 1
        await store.append("a", [kit.message()])
        assert await lookups.newest(store, "/w") == "a"
        clock.seconds += 1
        await store.append("fresh", [], rows=[NewSession(origin="owner", workspace="/w")])
        assert await lookups.newest(store, "/w") == "fresh"
        assert await lookups.newest(store, "/w", left_out=("fresh", "a")) == "d"
        assert await lookups.newest(store, "/nowhere") is None
        clock.seconds += 1
        await store.append("c", [kit.message() for _ in range(300)])
        assert await lookups.newest(store, "/w") == "fresh", "also where all that was written lately is of another workspace"
        assert await lookups.newest(store, "/w", left_out=("fresh",)) == "a"


PLANS: list[tuple[queries.Query, str]] = [
    (queries.Query("sessions", {"workspace": "/w"}, ("front", "session"), True, 2), "USING INDEX sessions_front (workspace=?)"),
    (queries.Query("sessions", {"session": Prefix("a")}, ("session",), False, 6), "USING PRIMARY KEY (session>? AND session<?)"),
    (queries.Query("records", {"space": "s", "key": Prefix("a")}, ("key",), False, None), "USING PRIMARY KEY (space=? AND key>? AND key<?)"),
    (queries.Query("records", {"space": "s", "key": "a"}, (), False, None), "USING PRIMARY KEY (space=? AND key=?)"),
    (queries.Query("outbox", {"state": "pending"}, ("id",), False, None), "USING INDEX outbox_pending"),
    (queries.Query("outbox", {"id": 1}, (), False, None), "USING INTEGER PRIMARY KEY (rowid=?)"),
    (queries.Query("results", {"session": "a", "call_id": "c"}, (), False, None), "(session=? AND call_id=?)"),
    (queries.Query("blobs", {"digest": ["0", "1"]}, (), False, None), "(digest=?)"),
    (queries.Query("leases", {"name": "session:a"}, (), False, None), "USING PRIMARY KEY (name=?)"),
]


@pytest.mark.parametrize(("query", "step"), PLANS, ids=[f"{query.table} by {' and '.join(query.where)}" for query, _ in PLANS])
async def test_what_lookups_ask_for_is_found_by_an_index_in_its_order(home: Path, query: queries.Query, step: str) -> None:
    async with kit.opened(home):
        pass
    _, steps = statements_of(home, lambda c: queries.table_rows(c, DerivedTables(), query, frozen=False))
    assert len(steps) == 1, "nothing is sorted"
    assert step in steps[0]


async def test_a_session_that_goes_on_alone_is_put_to_the_front_once(home: Path) -> None:
    async with kit.opened(home) as store:
        for name in "abaa":
            await store.append(name, [kit.message()], rows=[NewSession(origin="owner", workspace="/w")])
        assert store._writer is not None
        written: list[str] = []
        store._writer._tables.connection.set_trace_callback(written.append)
        await store.append("home", [Draft(0, ev.ErrorEvent(kind="error", text="fine"))])
        await store.append("a", [kit.message(), kit.message()])
        assert not any(" sessions" in statement for statement in written), written
        assert await lookups.newest(store, "/w") == "a"
        await store.append("b", [kit.message(), kit.message()])
        assert sum("INTO sessions" in statement for statement in written) == 1
        assert await lookups.newest(store, "/w") == "b"


async def test_the_order_of_the_last_changes_is_that_of_all_processes(home: Path) -> None:
    async with kit.opened(home) as one, kit.opened(home) as two:
        for store, name in ((one, "a"), (two, "b"), (one, "a"), (two, "c"), (two, "b"), (one, "a")):
            await store.append(name, [kit.message()], rows=[NewSession(origin="owner", workspace="/w")])
        left_out: list[str] = []
        for expected in "abc":
            found = await lookups.newest(two, "/w", left_out=left_out)
            assert found == expected
            left_out.append(found)


class FrozenClock(kit.RealClock):
    """A clock that stands where it is put."""

    seconds = 1_700_000_000.0

    def now(self) -> float:
        return self.seconds


async def test_a_clock_that_was_wrong_by_ten_years_changes_times_and_not_the_order(home: Path) -> None:
    clock = FrozenClock()
    async with kit.opened(home, clock=clock) as store:
        for name, years in (("a", 0), ("b", 10), ("c", 0), ("a", -10)):
            clock.seconds = 1_700_000_000.0 + years * 31_557_600
            await store.append(name, [kit.message()], rows=[NewSession(origin="owner", workspace="/w")])
            assert await lookups.newest(store, "/w") == name
        assert [row.session for row in await store.sessions()] == ["a", "c", "b"]
        assert [row.updated[:4] for row in await store.sessions()] == ["2013", "2023", "2033"]
        assert (await store.verify()).ok
        await store.rebuild()
        assert (await store.verify()).ok
        assert [row.session for row in await store.sessions()] == ["a", "c", "b"]
