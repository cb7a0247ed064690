"""What files held before they were changed, each content once, under its SHA-256."""

import errno
import hashlib
import os
from collections.abc import Callable
from contextlib import suppress

_CHUNK = 1 << 20

Sync = Callable[[int], None]
"""Brings what an open file or directory holds to the disk; raises `OSError`."""


class Preimages:
    """A directory (0700) of contents (0600). A content that is here survives power loss."""

    def __init__(self, directory: str, sync: Sync = os.fsync) -> None:
        self._directory, self._sync = directory, sync

    def keep(self, source: int) -> str:
        """Copy what the open file holds from its start; its SHA-256 (hex)."""
        self._make()
        os.lseek(source, 0, os.SEEK_SET)
        first = os.read(source, _CHUNK)
        if len(first) < _CHUNK:  # most files: nothing is written for a content that is already here
            digest = hashlib.sha256(first).hexdigest()
            with suppress(FileNotFoundError):
                os.utime(self._path(digest))  # used now: it is kept for as long as a new one
                self._settle(self._directory)  # whoever put it here may have died before this
                return digest
        return self._copy(first, source)

    def _copy(self, first: bytes, source: int) -> str:
        temporary = self._path(f"new-{os.urandom(8).hex()}")
        target = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            digest = hashlib.sha256()
            part = first
            while part:
                digest.update(part)
                write_all(target, part)
                part = os.read(source, _CHUNK)
            self._sync(target)
            os.rename(temporary, self._path(digest.hexdigest()))
        finally:
            os.close(target)
            with suppress(FileNotFoundError):  # renamed, unless something failed
                os.unlink(temporary)
        self._settle(self._directory)
        return digest.hexdigest()

    def _make(self) -> None:
        if not os.path.isdir(self._directory):
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
            self._settle(os.path.dirname(self._directory) or ".")

    def _settle(self, directory: str) -> None:
        at = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            sync_directory(at, self._sync)
        finally:
            os.close(at)

    def _path(self, name: str) -> str:
        return f"{self._directory}/{name}"


def sync_directory(at: int, sync: Sync = os.fsync) -> None:
    """Bring the entries of the open directory (`O_PATH` will do) to the disk; where its file system keeps none there, that is no error."""
    try:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=at)
    except PermissionError:  # its entries may be changed but not read: everything is brought to the disk instead
        os.sync()
        return
    try:
        sync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    """Write every byte: `os.write` may take fewer."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def digest_of(fd: int) -> str:
    """SHA-256 (hex) of what an open file holds, in pieces of 1 MB."""
    return digest_bytes(fd).hex()


def digest_bytes(fd: int) -> bytes:
    """SHA-256 of what an open file holds, in pieces of 1 MB."""
    digest = hashlib.sha256()
    os.lseek(fd, 0, os.SEEK_SET)
    while part := os.read(fd, _CHUNK):
        digest.update(part)
    return digest.digest()
