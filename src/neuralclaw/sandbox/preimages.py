"""What files held before they were changed, each content once, under its SHA-256."""

import hashlib
import os
from contextlib import suppress

_CHUNK = 1 << 20


class Preimages:
    """A directory (0700) of contents (0600). A content that stands here survives power loss."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def keep(self, source: int) -> str:
        """Copy what the open file holds from its start; its SHA-256 (hex)."""
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        os.lseek(source, 0, os.SEEK_SET)
        first = os.read(source, _CHUNK)
        if len(first) < _CHUNK:  # most files: nothing is written for a content that is already here
            digest = hashlib.sha256(first).hexdigest()
            if os.path.exists(self._path(digest)):
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
            os.fsync(target)
            os.rename(temporary, self._path(digest.hexdigest()))
        finally:
            os.close(target)
            with suppress(FileNotFoundError):  # renamed, unless something failed
                os.unlink(temporary)
        self._sync()
        return digest.hexdigest()

    def _sync(self) -> None:
        directory = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def _path(self, name: str) -> str:
        return f"{self._directory}/{name}"


def write_all(fd: int, data: bytes) -> None:
    """Write every byte: `os.write` may take fewer."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def digest_of(fd: int) -> str:
    """SHA-256 (hex) of what an open file holds, in pieces of 1 MB."""
    digest = hashlib.sha256()
    os.lseek(fd, 0, os.SEEK_SET)
    while part := os.read(fd, _CHUNK):
        digest.update(part)
    return digest.hexdigest()
