"""Files under a grant: a path is resolved, judged against the envelope, and then opened with every link refused."""

import errno
import hashlib
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TypeVar

import msgspec
from anyio.to_thread import run_sync

from ..errors import PermissionDeniedError, ToolExecutionError
from ..types.grants import Envelope, Grant
from ..types.secret_names import SECRET_NAMES
from ..types.tools import FileChange
from .nolinks import opener
from .own_code import owner_of, protected_places
from .path_facts import home_path
from .preimages import Preimages, Sync, sync_directory, write_all
from .program_lookup import beneath
from .program_run import open_envelope
from .undo.attributes import copy_attributes

T = TypeVar("T")

_DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC
_BATCH = 256
_CHUNK = 1 << 20
_KEPT = "keys, passwords or data of the agent are not looked through"
_WORKSPACES = "workspaces"


class FoundEntry(msgspec.Struct, frozen=True):
    """One thing in a directory; `problem` says why a directory's contents could not be read, else ""."""

    path: str
    kind: str
    size: int
    problem: str = ""


_Entries = list[FoundEntry]
_Levels = list[Iterator[FoundEntry]]


class ConfinedFiles:
    """Reads and changes files inside the grant's roots. What a change replaces is kept in `preimages_dir`, and safe there, first.

    Every method raises `PermissionDeniedError` for what lies outside, `ToolExecutionError` for all else that fails.
    A change that returned survives power loss, the directories that were made for it too. `openat2=False` opens part by part, as on a
    kernel without that call; `sync` brings an open file or directory to the disk. `hidden`: places of the agent's own data, absolute and real, of which no
    call has anything, also where a root of its grant lies around them.
    """

    def __init__(self, preimages_dir: str, *, hidden: Sequence[str] = (), openat2: bool = True, sync: Sync = os.fsync) -> None:
        self._preimages, self._hidden = Preimages(preimages_dir, sync), tuple(hidden)
        self._openat2, self._sync = openat2, sync

    async def read(self, grant: Grant, path: str, *, max_bytes: int) -> bytes:
        """The first `max_bytes` bytes of a regular file."""
        envelope = open_envelope(grant)
        return await _blocking(lambda: self._read(self._readable(grant, envelope, path), max_bytes), path)

    async def write(self, grant: Grant, path: str, data: bytes) -> FileChange:
        """Create or replace a regular file in one step; mode and owner of a file that was there stay. Links inside the roots are followed."""
        envelope = open_envelope(grant)
        return await _effect(lambda: self._write(envelope, self._writable(grant, envelope, path), data, grant.workspace), path)

    async def delete(self, grant: Grant, path: str) -> FileChange:
        """Delete a regular file, or a link itself, of which nothing is kept (`before` None). Directories are refused."""
        envelope = open_envelope(grant)
        return await _effect(lambda: self._delete(envelope, self._writable(grant, envelope, path, follow=False)), path)

    async def list(self, grant: Grant, path: str) -> Sequence[FoundEntry]:
        """What is in a directory, names sorted."""
        envelope = open_envelope(grant)
        return await _blocking(lambda: self._entries(self._readable(grant, envelope, path)), path)

    async def walk(self, grant: Grant, path: str) -> AsyncIterator[FoundEntry]:
        """All below `path`, directories before what they hold, names sorted, links not followed.

        A directory that cannot be read is given with its `problem`; one that is gone by then is left out. In memory are the
        names of the directories on the way down only.
        """
        envelope = open_envelope(grant)
        top = await _blocking(lambda: self._walk(self._readable(grant, envelope, path), grant.workspace), path)
        while batch := await _blocking(lambda: list(islice(top, _BATCH)), path):
            for entry in batch:
                yield entry

    def _hides(self, real: str, workspace: str) -> bool:
        """Whether it is of the agent's own data, in which the workspace was not made by the agent itself."""
        return any(beneath(real, place) and not (beneath(workspace, f"{place}/{_WORKSPACES}") and beneath(real, workspace)) for place in self._hidden)

    def _readable(self, grant: Grant, envelope: Envelope, path: str) -> str:
        real = _resolve(grant, path)
        if not any(beneath(real, root) for root in (*envelope.read, *envelope.write)) or self._hides(real, grant.workspace):
            raise PermissionDeniedError(f"{path} is outside what this call may read")
        return real

    def _writable(self, grant: Grant, envelope: Envelope, path: str, *, follow: bool = True) -> str:
        real = _resolve(grant, path, follow=follow)
        if not any(beneath(real, root) for root in envelope.write) or self._hides(real, grant.workspace):
            raise PermissionDeniedError(f"{path} is outside what this call may change")
        if any(beneath(real, place) for place in protected_places(grant.workspace)):
            raise PermissionDeniedError(f"{path} {owner_of(real)}, which no call may change")
        return real

    def _open(self, real: str, flags: int) -> int:
        return opener(openat2=self._openat2)(real, flags, 0)

    def _read(self, real: str, max_bytes: int) -> bytes:
        directory, name = os.path.split(real)
        with self._directory(directory) as at:
            fd = _open_regular(at, name, real)
        try:
            parts, left = [], max_bytes
            while left > 0 and (part := os.read(fd, min(left, _CHUNK))):
                parts.append(part)
                left -= len(part)
            return b"".join(parts)
        finally:
            os.close(fd)

    @contextmanager
    def _directory(self, real: str) -> Iterator[int]:
        fd = self._open(real, _DIRECTORY)
        try:
            yield fd
        finally:
            os.close(fd)

    def _write(self, envelope: Envelope, real: str, data: bytes, workspace: str) -> FileChange:
        parent, name = os.path.split(real)
        self._make(parent, workspace)
        with self._directory(parent) as at:
            before, status = self._keep(envelope, at, name, real)
            with _written_beside(at, name, data, status, self._sync) as temporary:
                _unchanged(at, name, real, status)
                os.rename(temporary, name, src_dir_fd=at, dst_dir_fd=at)
            self._settle(at, real, "written")
        return FileChange(real, before, hashlib.sha256(data).hexdigest())

    def _make(self, directory: str, workspace: str) -> None:
        """The directory with its parents, each made inside the one that was opened without a link; never the workspace itself."""
        try:
            os.close(self._open(directory, _DIRECTORY))
        except FileNotFoundError:
            if directory == workspace:
                raise ToolExecutionError(f"the workspace {workspace} is not there any more; nothing was written") from None
            parent, name = os.path.split(directory)
            self._make(parent, workspace)
            with self._directory(parent) as at:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=at)
                self._settle(at, directory, "made")

    def _settle(self, at: int, real: str, done: str) -> None:
        """The change of an entry of the open directory is on the disk."""
        try:
            sync_directory(at, self._sync)
        except OSError as error:
            raise ToolExecutionError(f"{real} was {done}, but the disk did not confirm it: {error.strerror or error}") from error

    def _keep(self, envelope: Envelope, at: int, name: str, real: str) -> tuple[str | None, os.stat_result | None]:
        """Keep what the file holds now and compare it with what was judged. Its SHA-256 and status; None, None if it is not there."""
        before, status = None, None
        with suppress(FileNotFoundError):
            fd = _open_regular(at, name, real)
            try:
                before, status = self._preimages.keep(fd), os.fstat(fd)
            finally:
                os.close(fd)
        if real in envelope.digests and envelope.digests[real] != before:
            raise ToolExecutionError(f"{real} has changed since it was judged; nothing was written", hint="Read it again.")
        return before, status

    def _delete(self, envelope: Envelope, real: str) -> FileChange:
        parent, name = os.path.split(real)
        with self._directory(parent) as at:
            now = os.stat(name, dir_fd=at, follow_symlinks=False)
            if stat.S_ISLNK(now.st_mode):
                os.unlink(name, dir_fd=at)
                self._settle(at, real, "deleted")
                return FileChange(real, None, None)
            before, status = self._keep(envelope, at, name, real)
            _unchanged(at, name, real, status)
            os.unlink(name, dir_fd=at)
            self._settle(at, real, "deleted")
        return FileChange(real, before, None)

    def _entries(self, real: str) -> _Entries:
        fd = self._open(real, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with os.scandir(fd) as found:
                names = sorted(entry.name for entry in found)
            statuses = ((name, _status(fd, name)) for name in names)
            return [FoundEntry(os.path.join(real, name), _kind(s.st_mode), s.st_size) for name, s in statuses if s is not None]
        finally:
            os.close(fd)

    def _walk(self, real: str, workspace: str) -> Iterator[FoundEntry]:
        first = self._entries(real)  # at once, so that a place that cannot be read is an error and not nothing
        return self._below(first, workspace)

    def _below(self, first: _Entries, workspace: str) -> Iterator[FoundEntry]:
        levels: _Levels = [iter(first)]
        while levels:
            entry = next(levels[-1], None)
            if entry is None:
                levels.pop()
            elif _holds_keys(entry.path, workspace) or self._hides(entry.path, workspace):
                yield msgspec.structs.replace(entry, problem=_KEPT)
            elif entry.kind != "directory":
                yield entry
            else:
                try:
                    below = self._entries(entry.path)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    yield msgspec.structs.replace(entry, problem=error.strerror or str(error))
                    continue
                yield entry
                levels.append(iter(below))


async def _blocking(job: Callable[[], T], path: str) -> T:
    """A look at the disk, in a thread; a cancelled caller does not wait for it."""
    return await run_sync(_translated, job, path, abandon_on_cancel=True)


async def _effect(job: Callable[[], T], path: str) -> T:
    """A change, in a thread; it is finished or refused before a cancelled caller continues."""
    return await run_sync(_translated, job, path)


_REASONS = {
    errno.ELOOP: "it changed into something else while it was opened",
    errno.ENOENT: "not found",
    errno.EISDIR: "is a directory",
    errno.ENOTDIR: "a part of the path is not a directory",
    errno.ENOSPC: "no space left on the disk; nothing was written",
    errno.EDQUOT: "the disk quota is used up; nothing was written",
    errno.EROFS: "the file system is read-only; nothing was written",
    errno.EACCES: "the operating system denies access",
    errno.EPERM: "the operating system denies access",
    errno.ENAMETOOLONG: "the name is too long",
}


def _translated(job: Callable[[], T], path: str) -> T:
    try:
        return job()
    except OSError as error:
        raise ToolExecutionError(f"{path}: {_REASONS.get(error.errno or 0, error.strerror or str(error))}") from error


def _resolve(grant: Grant, path: str, *, follow: bool = True) -> str:
    """The real path that is judged and then opened. With `follow` false a link at the very end stands for itself."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise ToolExecutionError(f"{path!r} is not a path") from error
    if not path or "\0" in path:
        raise ToolExecutionError(f"{path!r} is not a path")
    whole = home_path(os.path.join(grant.workspace, path))
    name = os.path.basename(whole)
    real = os.path.realpath(whole) if follow or name in ("", ".", "..") else os.path.join(os.path.realpath(os.path.dirname(whole)), name)
    _walks(whole, real)
    return real


def _walks(path: str, real: str) -> None:
    """Refuse what the kernel does not walk: a step up from what is not there, a file with a slash behind it. Raises `OSError`."""
    *parts, last = path.split("/")
    if ".." in parts:
        os.stat("/".join(parts[: len(parts) - parts[::-1].index("..")]))
    if last == "" and not os.path.isdir(real):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)


def _holds_keys(path: str, workspace: str) -> bool:
    """Whether it is a place of keys by its name, and hidden or in what is hidden: `gcloud` alone may be a part of a project."""
    below = path.removeprefix(workspace)
    return os.path.basename(path) in SECRET_NAMES and "/." in below


def _open_regular(at: int, name: str, real: str) -> int:
    """Open a regular file to read. What is none is refused by its status first: opening a FIFO waits, opening a device acts."""
    if not name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), real)
    _must_be_regular(os.stat(name, dir_fd=at, follow_symlinks=False), real)
    fd = os.open(name, _READ, dir_fd=at)
    if not stat.S_ISREG(os.fstat(fd).st_mode):  # swapped in between: it was opened without waiting, and nothing was read
        os.close(fd)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), real)
    os.set_blocking(fd, True)
    return fd


def _must_be_regular(status: os.stat_result, real: str) -> None:
    if stat.S_ISREG(status.st_mode):
        return
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), real)
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), real)
    raise ToolExecutionError(f"{real} is a pipe, a socket or a device; only regular files are read and changed")


@contextmanager
def _written_beside(at: int, name: str, data: bytes, status: os.stat_result | None, sync: Sync) -> Iterator[str]:
    """The name of a synced file with the data, with mode, owner and attributes of the one that it will replace; gone afterwards if not renamed."""
    temporary = f".neuralclaw-{os.urandom(8).hex()}"
    mode = 0o666 if status is None else stat.S_IMODE(status.st_mode) & 0o777
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=at)
    try:
        if status is not None:
            with suppress(PermissionError):  # only root may give files away; elsewhere the owner is us or cannot be kept
                os.fchown(fd, status.st_uid, status.st_gid)
            copy_attributes(at, os.fsencode(name), fd)
            os.fchmod(fd, mode)
        write_all(fd, data)
        sync(fd)
        yield temporary
    finally:
        os.close(fd)
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=at)


def _unchanged(at: int, name: str, real: str, kept: os.stat_result | None) -> None:
    """The file is still the one whose content was kept."""
    now = _status(at, name)
    if (now is None) != (kept is None) or (now and kept and _mark(now) != _mark(kept)):
        raise ToolExecutionError(f"{real} changed meanwhile; nothing was written", hint="Read it again.")


def _mark(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _status(at: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=at, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"
