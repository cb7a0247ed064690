"""Homes of older versions: `version1.sql` is one that the program of schema 1 wrote, with two sessions, an erasure, a result and two deliveries."""

import os
import sqlite3
from pathlib import Path

import pytest

from neuralclaw import lookups
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
        return {*c.execute(columns), *c.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index'")}

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
