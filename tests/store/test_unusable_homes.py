"""Homes that cannot be used, that must not be written, that are full."""

import shutil
from pathlib import Path

import pytest

from neuralclaw.errors import StoreError
from neuralclaw.store.connection import LONGEST_HOME, check_home, file_system
from neuralclaw.store.migrations import VERSION

from . import kit

pytestmark = pytest.mark.anyio


def contents(home: Path) -> dict[str, bytes]:
    return {str(p.relative_to(home)): p.read_bytes() for p in home.rglob("*") if p.is_file()}


async def left_over(home: Path) -> None:
    """A home whose process was killed: the WAL holds what is not in the database."""
    async with kit.second("forever", str(home), "work") as other:
        assert await other.line() == "ready"
        await other.go()
        for _ in range(5):
            await other.line()
        await other.kill()
    assert (home / "neuralclaw.db-wal").stat().st_size > 0


async def test_a_home_that_is_a_file_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "home"
    path.write_text("mine")
    for readonly in (False, True):
        with pytest.raises(StoreError, match="is not a directory; nothing was changed") as caught:
            async with kit.opened(path, readonly=readonly):
                pass
        assert "--home" in caught.value.hint
    assert path.read_text() == "mine"


async def test_a_home_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="cannot be used"):
        async with kit.opened(tmp_path / "file" / "home"):
            pass


async def test_a_home_whose_path_is_longer_than_sqlite_takes_is_refused(tmp_path: Path) -> None:
    """The longest one works; with one byte more the length is named."""
    parent = tmp_path
    while (room := LONGEST_HOME - len(str(parent)) - 1) > 200:
        parent /= "d" * 100
    async with kit.opened(parent / ("d" * room)) as store:
        await kit.a_life(store)
    with pytest.raises(StoreError, match=f"its path has {LONGEST_HOME + 1} bytes, and {LONGEST_HOME} is the most that SQLite takes; nothing was changed"):
        async with kit.opened(parent / ("d" * (room + 1))):
            pass


async def test_a_home_on_a_network_file_system_is_refused(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    home = tmp_path / "with space" / "home"
    point = str(home.parent).replace(" ", "\\040")
    mounts.write_text(f"/dev/a / ext4 rw 0 0\nserver:/x {point} nfs4 rw 0 0\n/dev/b {point}/home2 ext4 rw 0 0\n")
    with pytest.raises(StoreError, match=r"network file system \(nfs4\)"):
        check_home(str(home), mounts=str(mounts))
    assert file_system(str(home) + "2/inner", str(mounts)) == "ext4"
    check_home(str(tmp_path / "with space2"), mounts=str(mounts))


async def test_a_newer_record_is_left_unchanged_and_can_still_be_read(home: Path) -> None:
    async with kit.opened(home) as store:
        await kit.a_life(store)
    c = kit.raw(home)
    c.execute(f"PRAGMA user_version = {VERSION + 1}")
    c.close()
    before = contents(home)
    with pytest.raises(StoreError, match="newer version") as caught:
        async with kit.opened(home):
            pass
    assert caught.value.newer
    async with kit.opened(home, readonly=True) as store:
        assert len(await store.sessions()) == 1
        assert (await store.verify()).ok
    assert contents(home) == before


@pytest.mark.parametrize("how", ["removed", "restored", "its log is gone"])
async def test_a_program_whose_record_was_exchanged_meanwhile_writes_nothing_more(home: Path, tmp_path: Path, how: str) -> None:
    """A backup that is put in place, for one: what the program wrote would go to files that nobody has any more."""
    async with kit.opened(home) as store:
        await kit.a_life(store)
        await store.barrier()
        backup = tmp_path / "backup"
        shutil.copyfile(home / "neuralclaw.db", backup)
        if how == "its log is gone":
            (home / "neuralclaw.db-wal").unlink()
        else:
            for name in ("neuralclaw.db", "neuralclaw.db-wal", "neuralclaw.db-shm"):
                (home / name).unlink()
        if how == "restored":
            backup.rename(home / "neuralclaw.db")
        for _ in range(2):
            with pytest.raises(StoreError, match="was removed or exchanged while this program ran; nothing of this step was recorded"):
                await store.append("work", [kit.message()])
        with pytest.raises(StoreError, match="was removed or exchanged"):
            await store.put_record("space", "one", {"a": 1})


async def test_a_damaged_file_is_named_and_not_touched(home: Path) -> None:
    (home / "neuralclaw.db").write_bytes(b"no database at all " * 500)
    before = contents(home)
    for readonly in (False, True):
        with pytest.raises(StoreError, match="is damaged"):
            async with kit.opened(home, readonly=readonly) as store:
                await store.sessions()
    assert {k: v for k, v in contents(home).items() if not k.startswith("locks")} == before


async def test_a_home_without_a_record_reads_as_empty_and_is_not_made(tmp_path: Path) -> None:
    home = tmp_path / "none"
    async with kit.opened(home, readonly=True) as store:
        assert await store.sessions() == []
        assert await store.read("a") == []
        assert (await store.verify()).ok
        with pytest.raises(StoreError, match="for reading only"):
            await store.append("a", [kit.message()])
        with pytest.raises(StoreError, match="for reading only"):
            await store.acquire("a")
    assert not home.exists()


async def test_reading_beside_a_writer_sees_what_it_writes_and_writes_nothing(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.message()])
    async with kit.opened(home, readonly=True) as reader:
        assert len(await reader.read("a")) == 1  # as immutable
        async with kit.opened(home) as store:
            await store.append("a", [kit.message()])
            assert len(await reader.read("a")) == 2  # beside the WAL
            await store.append("a", [kit.message()])
            assert len(await reader.read("a")) == 3
        assert len(await reader.read("a")) == 3  # as immutable again
        assert not (home / "neuralclaw.db-wal").exists()


@pytest.mark.full
@pytest.mark.parametrize("kind", ["closed", "left over", "left over without shared memory", "running"])
async def test_a_read_only_home_is_read_and_nothing_in_it_changes(home: Path, kind: str) -> None:
    around = ("bwrap", "--dev-bind", "/", "/", "--ro-bind", str(home), str(home), "--")
    if kind.startswith("left over"):
        await left_over(home)
        if kind.endswith("memory"):
            (home / "neuralclaw.db-shm").unlink()
        before = contents(home)
    else:
        async with kit.opened(home) as store:
            await kit.a_life(store)
            if kind == "running":
                async with kit.second("look", str(home), around=around) as process:
                    assert await process.line() == "1 True 13"
                return
        before = contents(home)
    async with kit.second("look", str(home), around=around) as process:
        sessions, good, records = (await process.line()).split()
        assert await process.process.wait() == 0
    assert (sessions, good) == ("1", "True")
    assert int(records) >= 5
    assert contents(home) == before


@pytest.mark.full
async def test_a_read_only_home_cannot_be_written_and_says_so(home: Path) -> None:
    async with kit.opened(home) as store:
        await kit.a_life(store)
    async with kit.second("write", str(home), around=("bwrap", "--dev-bind", "/", "/", "--ro-bind", str(home), str(home), "--")) as process:
        said = await process.lines()
        assert said[-1].startswith("StoreError | ")
        assert "read-only" in said[-1].lower()


@pytest.mark.full
async def test_a_left_over_wal_is_taken_up_by_the_next_writer(home: Path) -> None:
    await left_over(home)
    async with kit.opened(home) as store:
        entries = await store.read("work")
        assert len(entries) >= 5
        (more,) = await store.append("work", [kit.message()])
        assert more.entry == len(entries) + 1
        assert (await store.verify()).ok


@pytest.mark.full
async def test_a_file_that_may_not_grow_keeps_what_was_recorded_and_goes_on_with_room(home: Path) -> None:
    async with kit.second("tight", str(home), "1500") as process:
        failure, counts, again = await process.lines()
    assert failure.startswith("StoreError | ")
    assert "all that was recorded before is kept" in failure
    written, kept = map(int, counts.split())
    assert written == kept > 10
    assert again == "again"
    async with kit.opened(home) as store:
        assert len(await store.read("work")) == kept + 1
        assert (await store.verify()).ok


@pytest.mark.full
async def test_a_full_disk_keeps_what_was_recorded_and_goes_on_with_room(home: Path) -> None:
    around = ("bwrap", "--dev-bind", "/", "/", "--size", str(4 << 20), "--tmpfs", str(home), "--")
    async with kit.second("full", str(home), around=around) as process:
        failure, counts, readable, again = await process.lines()
    assert failure.startswith(f"StoreError | the disk of {home} is full")
    assert "free some space" in failure
    written, read = map(int, counts.split())
    assert read == written + 1
    assert (readable, again) == ("True", "again True")


async def test_a_copied_home_is_a_home(home: Path, tmp_path: Path) -> None:
    async with kit.opened(home) as store:
        await kit.a_life(store)
    shutil.copytree(home, tmp_path / "copy #1 100%?")
    async with kit.opened(tmp_path / "copy #1 100%?") as store:
        assert len(await store.read("work")) == 13
