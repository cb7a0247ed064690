"""Contents of files that were kept, each once, under its SHA-256: for as long as the settings say."""

import ctypes
import errno
import hashlib
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

from ...errors import ToolExecutionError
from ..preimages import write_all
from .state_files import names_in

_CHUNK = 1 << 20
_PACKED = ".z"
_SAMPLE = _BLOCK = 1 << 16


RESERVE = 64_000_000
"""Bytes that copies leave free on the disk of the home, or a twentieth of it where that is less: the record needs room."""


def make_private(directory: str) -> None:
    """Make the directory, and those above it that are missing, for their owner alone (0700). Raises `OSError`."""
    if not os.path.isdir(directory):
        make_private(os.path.dirname(directory))
        with suppress(FileExistsError):
            os.mkdir(directory, 0o700)


class TooLarge(Exception):
    """A file has grown beyond what is kept of one."""


class NotSaved(OSError):
    """What shall be kept cannot be written in the home: its disk is full, or read-only."""


class KeptContents:
    """A directory (0700) of contents (0600), in subdirectories by the first two digits; some are compressed (`.z`).

    What is written is there completely or not at all, and on the disk once `sync` has returned. `older`: a directory of contents that others
    keep, where one is looked for that is not here.
    """

    def __init__(self, directory: str, older: str = "") -> None:
        self._directory, self._older = directory, older
        self._made: set[str] = set()

    def keep(self, source: int, limit: int) -> bytes:
        """Copy what the open file holds from its start; its SHA-256.

        Raises `TooLarge` for more than `limit` bytes, `NotSaved`, and `OSError` where it cannot be read.
        """
        os.lseek(source, 0, os.SEEK_SET)
        first = os.read(source, _CHUNK)
        if len(first) > limit:
            raise TooLarge
        if len(first) < _CHUNK:
            return self.keep_bytes(first)
        return self._copy(first, source, limit)

    def keep_bytes(self, data: bytes, *, reserve: bool = True) -> bytes:
        """Keep these bytes; their SHA-256. `reserve`: not where the disk is full but for `RESERVE`. Raises `NotSaved`."""
        digest = hashlib.sha256(data)
        if not self.has(digest.digest()):
            if reserve:
                self._leave_room(len(data))
            packed = zlib.compress(data, 1) if len(data) > 512 and _shrinks(data) else None
            self._write(digest.hexdigest() + (_PACKED if packed is not None else ""), packed if packed is not None else data)
        return digest.digest()

    def has(self, digest: bytes) -> bool:
        """Whether the content is kept. One that is kept is used now: it is counted as young from here."""
        found = self._find(digest)
        if found is None:
            return False
        try:
            os.utime(found)
        except OSError as error:
            return error.errno != errno.ENOENT  # it was just removed
        return True

    def pieces(self, digest: bytes) -> Iterator[bytes]:
        """The content, in pieces. Raises `ToolExecutionError` where it is not kept any more, or damaged: what was given before is then worth nothing."""
        found = self._find(digest)
        if found is None:
            raise ToolExecutionError("its content is not kept any more")
        check, unpack = hashlib.sha256(), zlib.decompressobj() if found.endswith(_PACKED) else None
        for part in _parts(found):
            try:
                plain = unpack.decompress(part) if unpack is not None else part
            except zlib.error:
                break
            check.update(plain)
            yield plain
        if check.digest() != digest:
            raise ToolExecutionError("its kept content is damaged")

    def read(self, digest: bytes) -> bytes:
        """The whole content; raises as `pieces` does."""
        return b"".join(self.pieces(digest))

    def sync(self) -> None:
        """Bring all that was kept to the disk."""
        if os.path.isdir(self._directory):
            fd = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                if _libc().syncfs(fd) != 0:
                    os.sync()
            finally:
                os.close(fd)

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Every kept file, those of `older` too, with its status."""
        for directory in (self._directory, self._older):
            for place in _listed(directory):
                names = [f"{place}/{name}" for name in names_in(place)] if os.path.isdir(place) else [place]
                for path in names:
                    with suppress(OSError):
                        status = os.lstat(path)
                        if stat.S_ISREG(status.st_mode):
                            yield path, status

    def _find(self, digest: bytes) -> str | None:
        name = digest.hex()
        for path in (f"{self._directory}/{name[:2]}/{name}{_PACKED}", f"{self._directory}/{name[:2]}/{name}"):
            with suppress(OSError):
                if os.lstat(path).st_size or digest == _EMPTY:
                    return path
        if self._older and os.path.exists(f"{self._older}/{name}"):
            return f"{self._older}/{name}"
        return None

    def _copy(self, first: bytes, source: int, limit: int) -> bytes:
        digest, count, part = hashlib.sha256(), 0, first
        status = os.fstat(source)
        self._leave_room(min(limit, status.st_size, status.st_blocks * 512))
        with self._new() as (target, temporary):
            while part:
                count += len(part)
                if count > limit:
                    raise TooLarge
                digest.update(part)
                with _saving():
                    write_sparse(target, part)
                part = os.read(source, _CHUNK)
            with _saving():
                os.ftruncate(target, count)
                os.rename(temporary, self._place(digest.hexdigest()))
        return digest.digest()

    def _write(self, name: str, data: bytes) -> None:
        with _saving(), self._new() as (target, temporary):
            write_all(target, data)
            os.rename(temporary, self._place(name))

    @contextmanager
    def _new(self) -> Iterator[tuple[int, str]]:
        """A new file, as descriptor and path, that is removed where it was not renamed."""
        with _saving():
            temporary = self._place(f"new-{os.urandom(8).hex()}")
            target = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            yield target, temporary
        finally:
            os.close(target)
            with suppress(FileNotFoundError):
                os.unlink(temporary)

    def _leave_room(self, size: int) -> None:
        """Raises `NotSaved` where the disk would be full but for the reserve."""
        with _saving():
            make_private(self._directory)
            disk = os.statvfs(self._directory)
        if disk.f_bavail * disk.f_frsize - size < min(RESERVE, disk.f_blocks * disk.f_frsize // 20):
            raise NotSaved(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _place(self, name: str) -> str:
        directory = f"{self._directory}/{name[:2]}"
        if directory not in self._made:
            make_private(directory)
            self._made.add(directory)
        return f"{directory}/{name}"


@contextmanager
def _saving() -> Iterator[None]:
    """An error of the operating system is one of saving."""
    try:
        yield
    except NotSaved:
        raise
    except OSError as error:
        raise NotSaved(error.errno, error.strerror) from error


def write_sparse(fd: int, part: bytes) -> None:
    """Write it at the end; blocks of zeros are left out."""
    for start in range(0, len(part), _BLOCK):
        block = part[start : start + _BLOCK]
        if block.count(0) == len(block):
            os.lseek(fd, len(block), os.SEEK_CUR)
        else:
            write_all(fd, block)


def _parts(path: str) -> Iterator[bytes]:
    """The bytes of a kept file. Raises `ToolExecutionError` where it cannot be read."""
    try:
        with open(path, "rb") as file:
            while part := file.read(_CHUNK):
                yield part
    except OSError as error:
        raise ToolExecutionError(f"its kept content cannot be read ({error.strerror})") from error


_EMPTY = hashlib.sha256(b"").digest()


def _shrinks(data: bytes) -> bool:
    """Whether compressing is worth its time: text and code are, pictures and archives are not."""
    sample = data[:_SAMPLE] if len(data) <= _SAMPLE else data[: _SAMPLE // 4] + data[len(data) // 2 :][: _SAMPLE // 4]
    return len(zlib.compress(sample, 1)) < len(sample) * 0.8


def _listed(directory: str) -> list[str]:
    return [f"{directory}/{name}" for name in names_in(directory)] if directory else []


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
