"""`audit verify` only reads: it works on a full disk, where temporary files find no room, on a read-only home and beside processes that write."""

import os
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from ..store import kit

pytestmark = pytest.mark.anyio
MANY = 5_000


@contextmanager
def no_room() -> Iterator[None]:
    """The system refuses every byte behind the first of a file, in the home and in the directory of temporary files."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def large(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("work", [kit.inbound("hello"), kit.started()])
        for number in range(MANY // 500):
            await store.append("work", [kit.message(f"{number}", calls=(f"call-with-a-long-name-{number}-{n}",)) for n in range(500)])


async def test_a_large_record_is_verified_where_temporary_files_find_no_room(home: Path) -> None:
    await large(home)
    c = sqlite3.connect(home / "neuralclaw.db", isolation_level=None)
    with no_room():
        with pytest.raises(sqlite3.OperationalError):
            c.execute("CREATE TEMP TABLE t (x)")
    c.close()
    async with kit.opened(home, readonly=True) as store:
        with no_room():
            report = await store.verify()
    assert (report.ok, report.records) == (True, MANY + 2)


async def test_a_full_disk_is_no_obstacle_for_a_store_that_is_open_for_writing(home: Path) -> None:
    async with kit.opened(home) as store:
        await kit.a_life(store)
        with no_room():
            assert (await store.verify()).ok


async def test_verifying_changes_no_file_of_the_home(home: Path) -> None:
    async with kit.opened(home) as store:
        await kit.a_life(store)
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in home.iterdir() if path.is_file()}
    names = sorted(path.name for path in home.iterdir())
    async with kit.opened(home, readonly=True) as store:
        assert (await store.verify()).ok
    assert sorted(path.name for path in home.iterdir()) == names
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in home.iterdir() if path.is_file()} == before


async def test_each_of_many_verifications_beside_a_writer_is_good(home: Path) -> None:
    reports = []

    async def write(done: anyio.Event) -> None:
        async with kit.opened(home) as store:
            for number in range(15):
                await kit.a_life(store, f"life{number}")
        done.set()

    async with anyio.create_task_group() as tasks:
        done = anyio.Event()
        tasks.start_soon(write, done)
        while not done.is_set():
            if os.path.exists(home / "neuralclaw.db"):  # noqa: PTH110
                async with kit.opened(home, readonly=True) as store:
                    reports.append(await store.verify())
            await anyio.lowlevel.checkpoint()
    assert reports
    assert all(report.ok for report in reports)
