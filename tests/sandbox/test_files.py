"""Files under a grant: what is read and changed, what is refused, and what no race gets past."""

import ctypes
import errno
import hashlib
import os
import socket
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import pytest

from neuralclaw.errors import PermissionDeniedError, ToolExecutionError
from neuralclaw.sandbox.confined_files import ConfinedFiles
from neuralclaw.types.grants import Grant

from .grants import grant
from .processes import BWRAP

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[True, False], ids=["openat2", "step-by-step"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> ConfinedFiles:
    return ConfinedFiles(str(tmp_path / "preimages"), openat2=request.param)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    return path


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "outside"
    path.mkdir()
    (path / "secret").write_text("secret")
    return path


def writing(workspace: Path, **envelope: object) -> Grant:
    return grant(workspace, write=(str(workspace),), **envelope)


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def test_what_was_written_is_read_and_its_way_there_is_made(files: ConfinedFiles, workspace: Path) -> None:
    change = await files.write(writing(workspace), "a/b/c.txt", b"hello")
    assert (change.path, change.before, change.after) == (str(workspace / "a/b/c.txt"), None, sha(b"hello"))
    assert await files.read(grant(workspace), str(workspace / "a/b/c.txt"), max_bytes=100) == b"hello"
    assert await files.read(grant(workspace), "a/./b/../b/c.txt", max_bytes=2) == b"he"


async def test_what_a_change_replaces_is_kept_under_its_digest(files: ConfinedFiles, workspace: Path, tmp_path: Path) -> None:
    big = os.urandom(3 << 20)
    (workspace / "f").write_bytes(big)
    change = await files.write(writing(workspace), "f", b"two")
    assert change.before == sha(big)
    gone = await files.delete(writing(workspace), "f")
    assert (gone.before, gone.after) == (sha(b"two"), None)
    kept = tmp_path / "preimages"
    assert {path.name: sha(path.read_bytes()) for path in kept.iterdir()} == {name: name for name in (sha(big), sha(b"two"))}
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept.iterdir()} == {0o600}
    assert list(workspace.iterdir()) == []


async def test_a_replaced_file_keeps_its_mode(files: ConfinedFiles, workspace: Path) -> None:
    (workspace / "run.sh").write_text("old")
    (workspace / "run.sh").chmod(0o754)
    await files.write(writing(workspace), "run.sh", b"new")
    assert stat.S_IMODE((workspace / "run.sh").stat().st_mode) == 0o754


async def test_a_reader_sees_the_old_or_the_new_content_and_nothing_between(files: ConfinedFiles, workspace: Path) -> None:
    old, new = b"o" * 1_000_000, b"n" * 1_000_000
    (workspace / "f").write_bytes(old)
    with (workspace / "f").open("rb") as reader:
        start = reader.read(10)
        await files.write(writing(workspace), "f", new)
        assert start + reader.read() == old
    assert (workspace / "f").read_bytes() == new


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside/secret", "a/../../outside/secret", "out/secret", "file-out", "/"])
async def test_no_spelling_leads_outside(files: ConfinedFiles, workspace: Path, outside: Path, path: str) -> None:
    (workspace / "a").mkdir()
    (workspace / "out").symlink_to(outside)
    (workspace / "file-out").symlink_to("../outside/secret")
    with pytest.raises(PermissionDeniedError):
        await files.read(writing(workspace), path, max_bytes=10)
    with pytest.raises(PermissionDeniedError):
        await files.write(writing(workspace), path, b"x")
    with pytest.raises(PermissionDeniedError):
        await files.list(writing(workspace), path)
    if path != "file-out":
        with pytest.raises(PermissionDeniedError):
            await files.delete(writing(workspace), path)
    assert (outside / "secret").read_text() == "secret"
    assert [p.name for p in outside.iterdir()] == ["secret"]


async def test_a_root_whose_name_only_begins_the_same_is_outside(files: ConfinedFiles, workspace: Path) -> None:
    sibling = workspace.with_name("workspace-2")
    sibling.mkdir()
    with pytest.raises(PermissionDeniedError):
        await files.write(writing(workspace), str(sibling / "f"), b"x")


@pytest.mark.parametrize("absolute", [True, False])
async def test_links_that_stay_inside_are_followed(files: ConfinedFiles, workspace: Path, absolute: bool) -> None:
    (workspace / "real").mkdir()
    (workspace / "link").symlink_to(workspace / "real" if absolute else "real")
    (workspace / "real" / "also").symlink_to(workspace / "real" / "f" if absolute else "f")
    change = await files.write(writing(workspace), "link/f", b"one")
    assert change.path == str(workspace / "real" / "f")
    await files.write(writing(workspace), "link/also", b"two")
    assert (workspace / "real" / "f").read_bytes() == b"two"
    assert (workspace / "real" / "also").is_symlink()
    assert await files.read(grant(workspace), "link/also", max_bytes=10) == b"two"


@pytest.mark.invariant("gate.grant-needed")
async def test_reading_gives_no_right_to_write(files: ConfinedFiles, workspace: Path) -> None:
    (workspace / "f").write_text("old")
    for change in (files.write(grant(workspace), "f", b"new"), files.delete(grant(workspace), "f")):
        with pytest.raises(PermissionDeniedError):
            await change
    assert (workspace / "f").read_text() == "old"


@pytest.mark.invariant("gate.grant-needed")
async def test_a_closed_grant_gives_nothing(files: ConfinedFiles, workspace: Path) -> None:
    closed = writing(workspace)
    closed.close()
    with pytest.raises(PermissionDeniedError):
        await files.write(closed, "f", b"x")
    with pytest.raises(PermissionDeniedError):
        await files.list(closed, ".")
    overdue = writing(workspace, until=time.monotonic() - 1)
    with pytest.raises(PermissionDeniedError):
        await files.read(overdue, "f", max_bytes=1)


@pytest.mark.invariant("gate.as-judged")
async def test_a_file_that_changed_since_it_was_judged_is_left_alone(files: ConfinedFiles, workspace: Path) -> None:
    target = workspace / "f"
    target.write_text("changed")
    for judged in (sha(b"judged"), None):
        for act in (lambda g: files.write(g, "f", b"new"), lambda g: files.delete(g, "f")):
            with pytest.raises(ToolExecutionError, match="changed since it was judged; nothing was written"):
                await act(writing(workspace, digests={str(target): judged}))
    assert target.read_text() == "changed"
    assert [path.name for path in workspace.iterdir()] == ["f"]
    await files.write(writing(workspace, digests={str(target): sha(b"changed")}), "f", b"new")
    await files.write(writing(workspace, digests={str(workspace / "g"): None}), "g", b"new")
    assert target.read_text() == "new"


async def test_a_file_that_vanished_since_it_was_judged_is_not_made_again(files: ConfinedFiles, workspace: Path) -> None:
    with pytest.raises(ToolExecutionError, match="changed since it was judged"):
        await files.write(writing(workspace, digests={str(workspace / "f"): sha(b"x")}), "f", b"new")
    assert list(workspace.iterdir()) == []


async def test_pipes_sockets_and_devices_are_refused_at_once(files: ConfinedFiles, workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(workspace / "socket"))
    device = grant(workspace, read=("/dev",), write=("/dev/null", str(workspace)))
    with anyio.fail_after(2):
        for path in ("pipe", "socket", "/dev/null"):
            for act in (files.read(device, path, max_bytes=1), files.write(device, path, b"x"), files.delete(device, path)):
                with pytest.raises(ToolExecutionError, match="only regular files"):
                    await act
    assert stat.S_ISFIFO((workspace / "pipe").stat().st_mode)


async def test_deleting_a_link_takes_the_link_alone(files: ConfinedFiles, workspace: Path, outside: Path) -> None:
    (workspace / "link").symlink_to(outside / "secret")
    await files.delete(writing(workspace), "link")
    assert list(workspace.iterdir()) == []
    assert (outside / "secret").read_text() == "secret"


@pytest.mark.parametrize(
    ("path", "said"),
    [("nope", "not found"), ("dir", "is a directory"), ("f/x", "not a directory"), ("n" * 300, "too long"), ("\0", "not a path"), ("", "not a path")],
)
async def test_what_goes_wrong_is_said_in_words(files: ConfinedFiles, workspace: Path, path: str, said: str) -> None:
    (workspace / "dir").mkdir()
    (workspace / "f").write_text("x")
    with pytest.raises(ToolExecutionError, match=said):
        await files.read(grant(workspace), path, max_bytes=10)


async def test_a_directory_is_neither_replaced_nor_deleted(files: ConfinedFiles, workspace: Path) -> None:
    (workspace / "dir").mkdir()
    for act in (files.write(writing(workspace), "dir", b"x"), files.delete(writing(workspace), "dir")):
        with pytest.raises(ToolExecutionError, match="is a directory"):
            await act
    assert [path.name for path in workspace.iterdir()] == ["dir"]


FULL = """
import sys, anyio
from pathlib import Path
from neuralclaw.errors import ToolExecutionError
from neuralclaw.sandbox.confined_files import ConfinedFiles
from tests.sandbox.grants import grant
disk = Path(sys.argv[1])
(disk / "f").write_text("old")
async def main():
    files = ConfinedFiles(str(disk / "preimages"))
    try:
        await files.write(grant(disk, write=(str(disk),)), "f", b"x" * (4 << 20))
    except ToolExecutionError as error:
        print(error)
anyio.run(main)
print((disk / "f").read_text(), sorted(path.name for path in disk.iterdir()))
"""


async def test_a_full_disk_leaves_the_old_content_and_no_rubbish(workspace: Path) -> None:
    bwrap = [BWRAP, "--bind", "/", "/", "--dev", "/dev", "--size", str(1 << 20), "--tmpfs", str(workspace)]
    done = await anyio.run_process([*bwrap, sys.executable, "-c", FULL, str(workspace)], cwd=Path(__file__).parents[2])
    assert done.stdout.decode() == "f: no space left on the disk; nothing was written\nold ['f', 'preimages']\n"


class Synced:
    """Brings to the disk and notes what: the path, and the names that stood in it if it is a directory."""

    def __init__(self) -> None:
        self.paths: list[tuple[str, list[str]]] = []
        self.broken = ""

    def __call__(self, fd: int) -> None:
        path = Path(f"/proc/self/fd/{fd}").readlink()
        if str(path) == self.broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        os.fsync(fd)
        self.paths.append((str(path), sorted(entry.name for entry in path.iterdir()) if path.is_dir() else []))


async def test_the_directories_of_a_change_are_on_the_disk_when_it_returns(workspace: Path, tmp_path: Path) -> None:
    synced = Synced()
    files = ConfinedFiles(str(tmp_path / "preimages"), sync=synced)
    await files.write(writing(workspace), "a/b/c.txt", b"hello")
    beside, *_ = [path for path, _ in synced.paths if ".neuralclaw-" in path]
    assert synced.paths == [(str(workspace), ["a"]), (str(workspace / "a"), ["b"]), (beside, []), (str(workspace / "a/b"), ["c.txt"])]
    (workspace / "link").symlink_to("a")
    for path, left in (("a/b/c.txt", []), ("link", ["a"])):
        synced.paths.clear()
        await files.delete(writing(workspace), path)
        assert synced.paths[-1] == (str((workspace / path).parent), left)


async def test_what_a_change_replaces_is_on_the_disk_before_the_change(workspace: Path, tmp_path: Path) -> None:
    kept = tmp_path / "preimages"
    for again in (False, True):  # a content that is there already may have been left by a process that died too early
        (workspace / "f").write_bytes(b"old")
        synced = Synced()
        await ConfinedFiles(str(kept), sync=synced).write(writing(workspace), "f", b"new")
        places = [path for path, _ in synced.paths]
        assert places.index(str(kept)) < places.index(str(workspace))
        assert (str(kept), [sha(b"old")]) in synced.paths
        assert (str(tmp_path) in places) is not again


async def test_a_disk_that_confirms_no_directory_fails_the_call_and_says_what_was_done(workspace: Path, tmp_path: Path) -> None:
    synced = Synced()
    files = ConfinedFiles(str(tmp_path / "preimages"), sync=synced)
    await files.write(writing(workspace), "f", b"old")
    synced.broken = str(workspace)
    with pytest.raises(ToolExecutionError, match="f was written, but the disk did not confirm it: Input/output error"):
        await files.write(writing(workspace), "f", b"new")
    with pytest.raises(ToolExecutionError, match="f was deleted, but the disk did not confirm it"):
        await files.delete(writing(workspace), "f")
    synced.broken = str(tmp_path / "preimages")
    (workspace / "f").write_text("mine")
    with pytest.raises(ToolExecutionError, match="Input/output error"):
        await files.write(writing(workspace), "f", b"new")
    assert (workspace / "f").read_text() == "mine"


async def test_a_directory_whose_names_may_not_be_read_is_written_to(files: ConfinedFiles, workspace: Path) -> None:
    (workspace / "drop").mkdir(mode=0o300)
    await files.write(writing(workspace), "drop/f", b"hello")
    (workspace / "drop").chmod(0o700)
    assert (workspace / "drop/f").read_bytes() == b"hello"


async def test_a_directory_is_listed_with_kinds_and_sizes_sorted(files: ConfinedFiles, workspace: Path) -> None:
    (workspace / "b").write_text("12345")
    (workspace / "a").mkdir()
    (workspace / "c").symlink_to("/etc")
    os.mkfifo(workspace / "d")
    entries = await files.list(grant(workspace), ".")
    assert [(Path(e.path).name, e.kind) for e in entries] == [("a", "directory"), ("b", "file"), ("c", "link"), ("d", "other")]
    assert entries[1].size == 5


async def test_a_walk_sees_everything_below_and_follows_no_link(files: ConfinedFiles, workspace: Path, outside: Path) -> None:
    (workspace / "a" / "deep").mkdir(parents=True)
    (workspace / "a" / "deep" / "f").write_text("x")
    (workspace / "a-link").symlink_to(outside)
    (workspace / "loop").symlink_to(".")
    for number in range(600):
        (workspace / "a" / f"{number:03}").touch()
    seen = [os.path.relpath(entry.path, workspace) async for entry in files.walk(grant(workspace), ".")]
    assert seen == ["a", *(f"a/{n:03}" for n in range(600)), "a/deep", "a/deep/f", "a-link", "loop"]


@contextmanager
def exchanging(one: Path, other: Path) -> Iterator[None]:
    """A thread that exchanges the two names, each time in one step, as fast as it can."""
    renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    here, exchange, stop = -100, 2, threading.Event()

    def work() -> None:
        while not stop.is_set():
            assert renameat2(here, bytes(one), here, bytes(other), exchange) == 0

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.mark.invariant("gate.as-judged")
@pytest.mark.full
@pytest.mark.parametrize("swapped", ["directory", "file"])
async def test_a_link_swapped_in_meanwhile_never_leads_outside(files: ConfinedFiles, workspace: Path, outside: Path, swapped: str) -> None:
    (workspace / "honest").mkdir()
    (workspace / "honest" / "secret").write_text("inside")
    if swapped == "directory":
        place, link = workspace / "honest", workspace / "link"
        link.symlink_to(outside)
    else:
        place, link = workspace / "honest" / "secret", workspace / "link"
        link.symlink_to(outside / "secret")
    g, done, refused = writing(workspace), 0, 0
    with exchanging(place, link):
        for turn in range(2000):
            try:
                if turn % 4 == 0:
                    await files.write(g, "honest/secret", b"inside")
                elif turn % 4 == 1:
                    await files.delete(g, "honest/new")
                elif turn % 4 == 2:
                    await files.write(g, "honest/new" if swapped == "directory" else "honest/secret", b"inside")
                else:
                    assert await files.read(g, "honest/secret", max_bytes=100) == b"inside"
                done += 1
            except (PermissionDeniedError, ToolExecutionError):
                refused += 1
    assert min(done, refused) > 0
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"secret": "secret"}


@pytest.mark.full
async def test_the_pre_image_of_a_file_swapped_for_a_link_is_never_taken_from_outside(
    files: ConfinedFiles, workspace: Path, outside: Path, tmp_path: Path
) -> None:
    (workspace / "f").write_text("inside")
    (workspace / "link").symlink_to(outside / "secret")
    with exchanging(workspace / "f", workspace / "link"):
        for _ in range(500):
            with suppress(PermissionDeniedError, ToolExecutionError):
                await files.write(writing(workspace), "f", b"inside")
    assert sha(b"secret") not in [path.name for path in (tmp_path / "preimages").iterdir()]
