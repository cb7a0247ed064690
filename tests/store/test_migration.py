"""Homes of older versions: `version1.sql` is one that the program of schema 1 wrote, with two sessions, an erasure, a result and two deliveries."""

import os
import sqlite3
from pathlib import Path

import pytest

from neuralclaw import lookups
from neuralclaw.errors import StoreError
from neuralclaw.store.migrations import VERSION

from . import kit, readings

pytestmark = pytest.mark.anyio

DUMP = Path(__file__).with_name("version1.sql")


@pytest.fixture
def old(home: Path) -> Path:
    c = sqlite3.connect(home / "neuralclaw.db", isolation_level=None)
    c.executescript(DUMP.read_text())
    c.close()
    return home


def everything(home: Path) -> dict[str, list[dict[str, object]]]:
    c = kit.raw(home)
    c.row_factory = sqlite3.Row
    names = [name for (name,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: [dict(row) for row in c.execute(f"SELECT * FROM {name} ORDER BY 1, 2")] for name in names}


def version(home: Path) -> int:
    number: int = kit.raw(home).execute("PRAGMA user_version").fetchone()[0]
    return number


async def test_a_home_of_version_1_is_migrated_and_nothing_is_lost(old: Path) -> None:
    before = everything(old)
    assert len(before["entries"]) > 20
    async with kit.opened(old) as store:
        assert (await store.verify()).ok
    after = everything(old)
    for table, rows in before.items():
        if table != "meta":
            assert [{name: row[name] for name in rows[0]} for row in after[table]] == rows if rows else after[table] == [], table
    assert version(old) == VERSION


async def test_a_migrated_home_is_as_one_that_was_made_today(old: Path, tmp_path: Path) -> None:
    async with kit.opened(old), kit.opened(tmp_path / "new"):
        pass

    def shape(home: Path) -> set[tuple[object, ...]]:
        c = kit.raw(home)
        columns = "SELECT m.name, p.name, p.type, p.\"notnull\", p.dflt_value, p.pk FROM sqlite_master m, pragma_table_info(m.name) p WHERE m.type = 'table'"
        return {*c.execute(columns), *c.execute("SELECT name, sql FROM sqlite_master WHERE type IN ('index', 'trigger')")}

    assert shape(old) == shape(tmp_path / "new")


async def test_a_migrated_home_works_on(old: Path) -> None:
    async with kit.opened(old, codec=readings.CODEC, tables=[readings.BOOKS]) as store:
        assert {row.session: row.state for row in await store.sessions()} == {"work": "unfinished", "gone": "set_aside"}
        assert await lookups.result(store, "work", "c9") == "the whole text"
        assert [
            (row.address, row.text, row.state, row.channel, row.attempts)
            for row in await lookups.outbox(
                store,
            )
        ] == [
            ("telegram:1", "fine", "pending", "", 0),
            ("telegram:2", "bye", "pending", "", 0),
        ]
        await store.put_record("s", "k", 1, expect=0)
        await store.append("home", [readings.added("Emma")])
        assert [row["title"] for row in await store.rows("reading_books")] == ["Emma"]
        before = everything(old)
        await store.rebuild()
        after = everything(old)
        for table in ("turns", "calls", "usage", "questions", "progress"):
            assert after[table] == before[table], table
        assert (await store.verify()).ok


async def test_a_home_of_version_1_that_cannot_be_written_is_read_as_it_is(old: Path) -> None:
    before = (old / "neuralclaw.db").read_bytes()
    os.chmod(old, 0o500)  # noqa: PTH101
    try:
        async with kit.opened(old, readonly=True, codec=readings.CODEC, tables=[readings.BOOKS]) as store:
            assert len(await store.sessions()) == 2
            assert (await store.verify()).ok
            assert await lookups.records(store, "s") == []
            assert await lookups.record(store, "s", "k") is None
            assert await store.rows("reading_books") == []
            assert [row["call_id"] for row in await store.rows("calls", {"call_id": "c1"})] == ["c1", "c1"]
            assert [
                row.address
                for row in await lookups.outbox(
                    store,
                )
            ] == ["telegram:1", "telegram:2"]
            newest = [await lookups.newest(store, "/w"), await lookups.newest(store, "/w", left_out=["gone"])]
    finally:
        os.chmod(old, 0o700)  # noqa: PTH101
    assert (old / "neuralclaw.db").read_bytes() == before
    assert newest == ["gone", "work"]
    async with kit.opened(old) as store:
        assert [await lookups.newest(store, "/w"), await lookups.newest(store, "/w", left_out=["gone"])] == newest


async def test_many_processes_may_migrate_one_home_at_once(old: Path) -> None:
    async with kit.second("append", str(old), "a", "5") as one, kit.second("append", str(old), "b", "5") as two:
        for process in (one, two):
            assert await process.line() == "ready"
            await process.go()
        for process in (one, two):
            assert await process.lines() == []
    async with kit.opened(old) as store:
        report = await store.verify()
    assert report.ok
    assert len(everything(old)["entries"]) == report.records


class OlderWriter:
    """A process of schema 2 that was open before the migration, by the statements that it writes an entry with."""

    def __init__(self, home: Path) -> None:
        self._connection = kit.raw(home)

    def append(self, session: str) -> None:
        c = self._connection
        c.execute("BEGIN IMMEDIATE")
        record, moment, number = c.execute(
            "SELECT max(record) + 1, max(time) + 1, (SELECT count(*) FROM entries WHERE session = ?) FROM entries", (session,)
        ).fetchone()
        place = (record, session, number + 1, 1, "error", 1, moment, "[]", b"digest", b"hash")
        c.execute("INSERT INTO entries (record, session, entry, turn, kind, version, time, labels, digest, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", place)
        c.execute("INSERT INTO bodies (record, key, data) VALUES (?, ?, ?)", (record, b"", b"{}"))
        values = (session, "owner", "/w", "", "", "", "", moment)
        c.execute(
            "INSERT INTO sessions (session, origin, workspace, title, model, parent, soul, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (session) DO UPDATE SET origin = iif(origin = '', excluded.origin, origin)",
            values,
        )
        columns = "session, entries, last_turn, turns, started, open_turn, steering, waiting, labels, first_text, model, updated, usd, unpriced"
        row = (session, number + 1, 1, 0, 0, 0, 0, "", "[]", "", "", moment, 0.0, 0)
        c.execute(f"INSERT OR REPLACE INTO progress ({columns}) VALUES ({', '.join('?' * len(row))})", row)
        c.execute("COMMIT")


async def test_the_newest_session_is_right_where_a_process_of_an_older_schema_writes_on_after_the_migration(old: Path) -> None:
    older = OlderWriter(old)
    async with kit.opened(old) as store:

        async def said(*sessions: str) -> None:
            for left in range(len(sessions)):
                assert await lookups.newest(store, "/w", left_out=sessions[:left]) == sessions[left]

        await said("gone", "work")
        older.append("work")
        await said("work", "gone")
        older.append("new")
        await said("new", "work", "gone")
        await store.append("gone", [kit.message()])
        await said("gone", "new", "work")
        older.append("work")
        older.append("work")
        await said("work", "gone", "new")
    async with kit.opened(old, readonly=True) as store:
        assert await lookups.newest(store, "/w") == "work"


async def test_a_program_whose_home_a_newer_one_migrates_writes_nothing_more(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("work", [kit.message()])
        kit.raw(home).execute(f"PRAGMA user_version = {VERSION + 1}")
        for _ in range(2):
            with pytest.raises(StoreError, match="a newer version of the program has changed the record to schema") as refused:
                await store.append("work", [kit.message()])
            assert refused.value.newer
        assert len(await store.read("work")) == 1
