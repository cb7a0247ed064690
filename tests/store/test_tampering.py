"""Every table and column of a home is forged, one value at a time: `audit verify` names what was forged, or the column is one that no entry tells of."""

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from neuralclaw.store.comparison import NOT_DERIVED
from neuralclaw.store.derived_tables import DerivedTables
from neuralclaw.store.verify import verify
from neuralclaw.types import events as ev
from neuralclaw.types.entries import Draft
from neuralclaw.types.records import BadRecord, Caps, DeliveryAttempt, NewSession, OutboxItem, Reservation, StoredResult, VerifyReport

from . import kit, readings

pytestmark = [pytest.mark.anyio, pytest.mark.full]

TABLES = DerivedTables(readings.CODEC, [readings.BOOKS])
RELATED = {"blobs": ("blob_refs",), "entries": ("",), "bodies": ("",), "state_changes": ("",), "progress": ("",)}
"""What a forgery of a table may be named by too; "" is the record itself. The count of a session in `progress` is what shows a cut."""
ROWS = 3
"""Rows of each table that are forged: the first, one in the middle, the last."""


async def fill(home: Path) -> None:
    """Turns, questions, standing answers and one taken back, costs, results kept apart, pictures, answers in the outbox, a message that waits, erased entries,
    a capability's table."""
    async with kit.opened(home, codec=readings.CODEC, tables=[readings.BOOKS]) as store:
        for name in ("work", "other", "third"):
            await kit.a_life(store, name)
        new = NewSession(origin="owner", workspace="/w", title="a title", model="m:1", parent="work", soul="calm")
        await store.append("told", [kit.inbound(key="told-1"), kit.started(), kit.picture(b"one", turn=1)], rows=[new])
        for number in (1, 2):
            await store.append("told", [kit.tool_finished(f"big{number}")], rows=[StoredResult(f"big{number}", f"the whole text {number}")])
            answer = OutboxItem(f"room:{number}", f"fine {number}", "chat")
            await store.append("told", [kit.message(calls=(f"big{number}",)), kit.finished()], rows=[answer])
        await store.append("home", [], rows=[DeliveryAttempt(1), DeliveryAttempt(2, "no", 5.0)])
        scope = {"kind": "program", "value": "make", "tool": "terminal"}
        for number in range(3):
            await store.append("told", [kit.asked(f"Q{number}", scopes=(scope, scope | {"value": "git"})), kit.answered(f"Q{number}", "always")])
        await store.append("told", [Draft(1, ev.GrantRevoked(grant_id="Q1", by="owner"))])
        await store.append("home", [readings.added("Emma"), readings.added("Persuasion"), readings.added("Sanditon")])
        await store.put_record("space", "one", {"a": 1})
        await store.put_record("space", "two", {"a": 2})
        reserved = Reservation(id="R1", root=("told", 1), usd=0.5, tokens=10, caps=Caps(turn_usd=5.0))
        await store.append("told", [], rows=[reserved, msgspec.structs.replace(reserved, id="R2")])
        await store.append("told", [kit.picture(b"two", turn=1)])
        lease = await store.acquire("session:told")
        assert lease is not None
        await store.erase("third", None, "owner")
        await store.erase("other", [1, 3, 4], "owner")
        await store.append("other", [kit.inbound("after", key="after", turn=2)], rows=[new])


class Case(msgspec.Struct, frozen=True):
    """One forgery. `column` "" where a whole row is added, removed or exchanged."""

    table: str
    column: str
    what: str
    sql: str
    values: tuple[Any, ...]


def cases(c: sqlite3.Connection) -> Iterator[Case]:
    for (table,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall():
        about = c.execute(f"SELECT name, type, pk FROM pragma_table_info('{table}')").fetchall()
        columns, types = [name for name, _, _ in about], [kind for _, kind, _ in about]
        key = [name for name, _, pk in about if pk]
        rows = c.execute(f'SELECT * FROM "{table}" ORDER BY 1, 2').fetchall()
        assert rows, f"{table} has no row to forge"
        where = " AND ".join(f'"{name}" IS ?' for name in key)
        some = list(dict.fromkeys([0, len(rows) // 2, len(rows) - 1]))[:ROWS]
        for place in some:
            row = rows[place]
            at = tuple(value for value, name in zip(row, columns, strict=True) if name in key)
            for name, kind, value in zip(columns, types, row, strict=True):
                for what, other in forged(kind, value, name):
                    yield Case(table, name, f"{what} in row {place}", f'UPDATE "{table}" SET "{name}" = ? WHERE {where}', (other, *at))
            yield Case(table, "", f"row {place} removed", f'DELETE FROM "{table}" WHERE {where}', at)
            strange = tuple(next(forged(kind, value, name))[1] if name in key else value for name, kind, value in zip(columns, types, row, strict=True))
            yield Case(table, "", f"row {place} added again under another key", f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(row))})', strange)
        rest = [name for name in columns if name not in key]
        if len(rows) > 1 and rest and rows[0][len(key) :] != rows[-1][len(key) :]:
            first, last = ({**dict(zip(columns, row, strict=True))} for row in (rows[0], rows[-1]))
            if any(first[name] != last[name] for name in rest):
                parts = ", ".join(f'"{name}" = CASE WHEN {where} THEN ? ELSE ? END' for name in rest)
                mine, others = tuple(first[name] for name in key), tuple(last[name] for name in key)
                values = tuple(value for name in rest for value in (*mine, last[name], first[name]))
                yield Case(table, "", "two rows exchanged", f'UPDATE "{table}" SET {parts} WHERE ({where}) OR ({where})', (*values, *mine, *others))


def forged(kind: str, value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Other values of a column's type."""
    if kind == "INTEGER":
        yield "one more", (value or 0) + 1
        yield "far more", (value or 0) + 1_000_003
    elif kind == "REAL":
        yield "one more", (value or 0.0) + 1.0
    elif kind == "BLOB":
        yield "a byte changed", bytes([value[0] ^ 1]) + value[1:]
        yield "emptied", b""
        yield "a zero byte added", value + b"\0"
    else:
        yield "a letter added", f"{value or ''}x"
        if str(value).startswith("["):
            yield "spelled otherwise", str(value).replace('"', ' "', 1).replace("[]", "[ ]")
        if value:
            yield "emptied", ""


def excused(case: Case) -> bool:
    return f"{case.table}.*" in NOT_DERIVED or f"{case.table}.{case.column}" in NOT_DERIVED


def verified(home: Path) -> VerifyReport:
    c = sqlite3.connect(home / "neuralclaw.db", isolation_level=None)
    try:
        return verify(c, TABLES)
    finally:
        c.close()


@pytest.mark.invariant("audit.tampering-found")
async def test_every_value_row_and_order_that_is_forged_is_found_and_named(home: Path, tmp_path: Path, record_property: Any) -> None:
    await fill(home)
    kit.raw(home).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = verified(home)
    assert whole.ok, whole
    c = kit.raw(home)
    copy = tmp_path / "copy"
    copy.mkdir()
    found = excluded = impossible = 0
    missed: list[str] = []
    for case in cases(c):
        shutil.copyfile(home / "neuralclaw.db", copy / "neuralclaw.db")
        forger = sqlite3.connect(copy / "neuralclaw.db", isolation_level=None)
        try:
            forger.execute("PRAGMA synchronous = OFF")
            assert forger.execute(case.sql, case.values).rowcount > 0, case
        except sqlite3.IntegrityError:
            impossible += 1  # the database itself refuses it
            continue
        finally:
            forger.close()
        bad = verified(copy).bad
        if excused(case):
            excluded += 1
        elif bad is None or bad.table not in (case.table, *RELATED.get(case.table, ())):
            missed.append(f"{case.table}.{case.column}: {case.what}: {bad}")
        else:
            found += 1
    record_property("cases", found)
    record_property("not derived", excluded)
    record_property("refused by the database", impossible)
    assert missed == [], f"{found} found, {excluded} of columns that no entry tells of, {impossible} that the database refuses"
    assert found > 300


async def test_a_column_that_no_entry_tells_of_is_one_of_the_schema(home: Path) -> None:
    async with kit.opened(home, codec=readings.CODEC, tables=[readings.BOOKS]):
        c = kit.raw(home)
        there = {f"{table}.{name}" for (table,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall() for name in columns(c, table)}
        assert {name for name in NOT_DERIVED if name not in there} == set()
        assert all(NOT_DERIVED.values())


def columns(c: sqlite3.Connection, table: str) -> list[str]:
    return ["*", *(name for (name,) in c.execute(f"SELECT name FROM pragma_table_info('{table}')").fetchall())]


STRUCTURES = {
    "a view was added": "CREATE VIEW shown AS SELECT * FROM sessions",
    "a trigger was added": "CREATE TRIGGER mine AFTER INSERT ON entries BEGIN DELETE FROM outbox; END",
    "a column was added": "ALTER TABLE outbox ADD COLUMN other TEXT",
    "a column was renamed": "ALTER TABLE usage RENAME COLUMN usd TO eur",
    "a table is gone": "DROP TABLE scopes",
    "a table was added": "CREATE TABLE mine (a)",
    "a table was added under a name as capabilities have": "CREATE TABLE capability_mine (a)",
    "an index was added": "CREATE INDEX mine ON entries (turn)",
    "an index was added to a capability's table": "CREATE INDEX mine ON capability_reading_books (pages)",
    "an older version is said": "PRAGMA user_version = 4",
}


def structures(c: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Statements that change the schema and no row."""
    yield from STRUCTURES.items()
    for kind, name in c.execute("SELECT type, name FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL").fetchall():
        yield f"the {kind} {name} is gone", f"DROP {kind} {name}"
    for (table,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for name, kind in c.execute(f"SELECT name, type FROM pragma_table_info('{table}')").fetchall():
            if kind == "TEXT":
                yield f"{table}.{name} was given a collation", collated(table, name)


def collated(table: str, column: str) -> str:
    """Statements after which capital letters of a column count for nothing."""
    spellings = (f"{column} TEXT", f'"{column}" TEXT')
    changed = "".join(f"UPDATE sqlite_master SET sql = replace(sql, '{one}', '{one} COLLATE NOCASE') WHERE name = '{table}';" for one in spellings)
    return f"PRAGMA writable_schema = ON; {changed} PRAGMA writable_schema = RESET"


@pytest.mark.invariant("audit.tampering-found")
async def test_every_change_of_the_schema_is_found_or_listed(home: Path, tmp_path: Path) -> None:
    await fill(home)
    kit.raw(home).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    copy = tmp_path / "copy"
    copy.mkdir()
    found, missed = 0, []
    for what, sql in structures(kit.raw(home)):
        shutil.copyfile(home / "neuralclaw.db", copy / "neuralclaw.db")
        forger = sqlite3.connect(copy / "neuralclaw.db", isolation_level=None)
        try:
            forger.executescript(sql)
        finally:
            forger.close()
        try:
            good = verified(copy).ok
        except sqlite3.OperationalError:
            good = False  # said as a damaged record
        if good:
            missed.append(what)
        else:
            found += 1
    assert missed == []
    assert found > 20


@pytest.mark.invariant("audit.tampering-found")
async def test_other_capital_letters_are_found_in_a_column_that_was_given_a_collation(home: Path) -> None:
    """Also where the definitions of the tables are not compared, in a home of an older schema."""
    await fill(home)
    forger = kit.raw(home)
    forger.executescript(f"{collated('sessions', 'title')}; UPDATE sessions SET title = upper(title); PRAGMA user_version = 4")
    bad = verified(home).bad
    assert bad is not None
    assert (bad.table, bad.column) == ("sessions", "title")


def copied(home: Path, to: Path) -> Path:
    to.mkdir()
    shutil.copyfile(home / "neuralclaw.db", to / "neuralclaw.db")
    return to


@pytest.mark.invariant("audit.tampering-found")
async def test_an_index_that_lacks_a_row_is_found_and_made_anew(home: Path, tmp_path: Path) -> None:
    """Its definition and every row of every table are as they were: who reads by it does not see the row."""
    await fill(home)
    kit.raw(home).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    indexes = [name for (name,) in kit.raw(home).execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")]
    forged = 0
    for name in indexes:
        copy = copied(home, tmp_path / name)
        emptied = kit.raw(copy)
        ((sql,),) = emptied.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchall()
        where = " AND 0" if " WHERE " in sql else " WHERE 0"
        for definition in (sql + where, sql):
            emptied.execute("PRAGMA writable_schema = ON")
            emptied.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (definition, name))
            emptied.execute("PRAGMA writable_schema = RESET")
            if definition != sql:
                emptied.execute(f"REINDEX {name}")
        if emptied.execute("PRAGMA integrity_check").fetchall() == [("ok",)]:
            continue  # it had nothing in it
        forged += 1
        assert verified(copy).bad == BadRecord(0, "", "hash", f"index {name}")
        async with kit.opened(copy, codec=readings.CODEC, tables=[readings.BOOKS]) as store:
            await store.rebuild()
        assert verified(copy).ok
    assert forged > 8


FORGED_BESIDE_NEWER = {
    "a title": "UPDATE sessions SET title = 'forged' WHERE session = 'told'",
    "a workspace": "UPDATE sessions SET workspace = '/' WHERE session = 'told'",
    "costs": "UPDATE usage SET usd = 0, input = 0 WHERE session = 'told'",
    "a standing yes": "UPDATE scopes SET value = '/' WHERE session = 'told'",
    "a standing yes was added": "INSERT INTO scopes SELECT record, 9, session, decision, kind, '/', tool FROM scopes WHERE session = 'told' LIMIT 1",
    "labels": "UPDATE progress SET labels = '[\"x\"]' WHERE session = 'told'",
    "an answer": "UPDATE questions SET answer = NULL WHERE session = 'told'",
    "turns are gone": "DELETE FROM turns WHERE session = 'told'",
    "how a turn ended": "UPDATE turns SET status = 'failed' WHERE session = 'told'",
    "calls are gone": "DELETE FROM calls WHERE session = 'told'",
    "a key is gone": "DELETE FROM inbound_keys WHERE key = 'told-1'",
    "an answer goes elsewhere": "UPDATE outbox SET channel = 'other' WHERE session = 'told'",
}


@pytest.mark.invariant("audit.tampering-found")
async def test_an_entry_of_a_newer_version_excuses_nothing_that_was_recorded_before_it_and_is_said(home: Path, tmp_path: Path) -> None:
    await fill(home)
    async with kit.opened(home, codec=readings.CODEC, tables=[readings.BOOKS]) as store:
        (last,) = await store.append("told", [kit.message()])
    kit.rewrite(home, last.header.record, b"{}", version=99)
    kit.raw(home).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    report = verified(home)
    assert report.ok, report
    assert report.unchecked == (f"session told: from record {last.header.record} on it has entries of a newer version of the program",)
    missed = []
    for what, sql in FORGED_BESIDE_NEWER.items():
        copy = copied(home, tmp_path / what)
        assert kit.raw(copy).execute(sql).rowcount > 0, what
        if verified(copy).ok:
            missed.append(what)
    assert missed == []


FORGED_STATE = {
    "titles": "UPDATE sessions SET title = 'forged'",
    "a workspace": "UPDATE sessions SET workspace = '/' WHERE session = 'told'",
    "when a session began": "UPDATE sessions SET created = created - 5",
    "a session is gone": "DELETE FROM sessions WHERE session = 'told'",
    "a session was added": "INSERT INTO sessions (session, origin, workspace, title, model, parent, soul, created) VALUES ('x', '', '', '', '', '', '', 1)",
    "the order of sessions": "UPDATE sessions SET front = 1",
    "a key is another one": "UPDATE inbound_keys SET key = 'forged' WHERE key = 'told-1'",
    "a standing yes": "UPDATE scopes SET value = '*'",
    "costs": "UPDATE usage SET usd = 0.5",
    "a capability's table": "UPDATE capability_reading_books SET pages = 1",
}


@pytest.mark.parametrize("sql", FORGED_STATE.values(), ids=FORGED_STATE)
async def test_a_forged_table_is_made_anew_from_a_record_that_is_whole(home: Path, sql: str) -> None:
    await fill(home)
    before = state(home)
    kit.raw(home).execute(sql)
    assert not verified(home).ok
    async with kit.opened(home, codec=readings.CODEC, tables=[readings.BOOKS]) as store:
        await store.rebuild()
    assert verified(home).bad is None
    assert state(home) == before


async def test_nothing_is_made_anew_from_a_record_that_is_not_whole(home: Path) -> None:
    await fill(home)
    c = kit.raw(home)
    c.executescript("UPDATE entries SET time = time + 1 WHERE record = 9; UPDATE sessions SET title = 'forged'")
    async with kit.opened(home, codec=readings.CODEC, tables=[readings.BOOKS]) as store:
        await store.rebuild()
    assert {title for (title,) in c.execute("SELECT title FROM sessions").fetchall()} == {"forged"}


def state(home: Path) -> list[Any]:
    """The rows of `sessions`, without their order, which may come out as any that was possible, and of `inbound_keys`."""
    c = kit.raw(home)
    sessions = "SELECT session, origin, workspace, title, model, parent, soul, created FROM sessions ORDER BY 1"
    return [c.execute(sql).fetchall() for sql in (sessions, "SELECT * FROM inbound_keys ORDER BY 1")]
