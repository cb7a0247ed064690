"""Rebuilding and erasing that fail or are killed in the middle leave everything as it was."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuralclaw.errors import NeuralClawError, StoreError
from neuralclaw.store import SqliteStore, upkeep
from neuralclaw.store.tables import Tables
from neuralclaw.store.writer import Job

from ..waiting import until
from . import kit

pytestmark = pytest.mark.anyio


def everything(home: Path) -> dict[str, list[Any]]:
    c = kit.raw(home)
    names = [name for (name,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: c.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for name in names if name != "meta"}


class Fails(Job):
    """A rebuild, and at its end an error."""

    __slots__ = ("_error",)
    alone = True

    def __init__(self, error: Exception) -> None:
        self._error = error

    def run(self, tables: Tables) -> None:
        upkeep.rebuild(tables)
        tables.connection.execute("DELETE FROM calls")
        raise self._error


@pytest.mark.parametrize("error", [NeuralClawError("it fails"), StoreError("it fails"), ValueError("it fails"), RecursionError("it fails")], ids=repr)
async def test_a_rebuild_that_fails_changes_nothing(home: Path, error: Exception) -> None:
    async with kit.opened(home) as store:
        await kit.a_life(store)
        before = everything(home)
        with pytest.raises((NeuralClawError, RecursionError), match="it fails"):
            await store._write(Fails(error))
        assert everything(home) == before
        await store.append("work", [kit.message(turn=2)])  # and afterwards all goes on
        await store.rebuild()
        report = await store.verify()
        assert (report.ok, report.records) == (True, 14)


Action = Callable[[SqliteStore], Any]
BOTH: list[Any] = [
    pytest.param(lambda store: store.rebuild(), id="rebuild"),
    pytest.param(lambda store: store.erase("work", None, "owner"), id="erase"),
]


@pytest.mark.parametrize("act", BOTH)
async def test_a_derived_table_that_cannot_be_written_leaves_everything(home: Path, act: Action) -> None:
    async with kit.opened(home) as store:
        await kit.a_life(store)
        c = kit.raw(home)
        c.execute("CREATE TRIGGER full BEFORE INSERT ON usage BEGIN SELECT RAISE(ABORT, 'no more'); END")
        before = everything(home)
        with pytest.raises(StoreError, match="no more"):
            await act(store)
        assert everything(home) == before
        c.execute("DROP TRIGGER full")
        await act(store)
        assert (await store.verify()).ok


@pytest.mark.full
@pytest.mark.parametrize("what", ["rebuild", "erase"])
async def test_a_kill_in_the_middle_leaves_everything(home: Path, what: str) -> None:
    async with kit.opened(home) as store:
        await kit.a_life(store)
        await store.append("work", [kit.message(turn=2)] * 1500)
    before = everything(home)
    async with kit.second("upkeep", str(home), what) as other:
        assert await other.line() == "ready"
        await other.go()
        assert await other.line() == "midway"
        await other.kill()
    assert everything(home) == before
    async with kit.opened(home) as store:
        assert (await store.verify()).ok
        await store.rebuild()
    assert everything(home) == before


async def test_what_was_erased_leaves_the_log_when_its_last_reader_has_gone(home: Path) -> None:
    secret = "the-secret-word"
    async with kit.opened(home) as store:
        await store.append("a", [kit.inbound(secret)])
        reader = kit.raw(home)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM bodies").fetchone()  # it needs the log as it is
        assert await store.erase("a", None, "owner") is not None
        log = home / "neuralclaw.db-wal"
        assert secret.encode() in log.read_bytes()
        reader.execute("ROLLBACK")
        reader.close()
        await until(lambda: log.stat().st_size == 0)
        assert secret.encode() not in (home / "neuralclaw.db").read_bytes()
