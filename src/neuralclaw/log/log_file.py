"""A log file that several processes write at once: whole lines, appended; rotated by whoever finds it full, while nobody writes.

Beside the file lies an empty one, `.NAME.lock`. Who writes holds a shared `flock` on it, who rotates an exclusive one, so that no line goes
into a file that was just moved away. A process that dies holds no lock.
"""

import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress

OPEN = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class LogFile:
    """The file `path`; from `max_bytes` on it becomes `path.1`, that one `path.2`, up to `backups`. Raises `OSError` when it cannot be opened.

    One thread at a time may use it.
    """

    def __init__(self, path: str, *, max_bytes: int, backups: int) -> None:
        self._path, self._max, self._backups = path, max_bytes, backups
        folder, name = os.path.split(path)
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        self._lock = os.open(f"{folder}/.{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            self._file = os.open(path, OPEN, 0o600)
        except OSError:
            os.close(self._lock)
            raise
        self._torn = False

    def write(self, lines: Sequence[bytes]) -> None:
        """Append whole lines, rotating where they would not fit. Raises `OSError` when the disk does not take them; the next call begins a new line."""
        at = 0
        while at < len(lines):
            fcntl.flock(self._lock, fcntl.LOCK_SH)
            try:
                room = self._room()
                while room < len(lines[at]) and room < self._max and self._rotate():  # an empty file takes any line
                    room = self._room()
                end, size = at + 1, len(lines[at])
                while end < len(lines) and size + len(lines[end]) <= room:
                    size += len(lines[end])
                    end += 1
                self._append(b"".join(lines[at:end]))
                at = end
            finally:
                fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _append(self, data: bytes) -> None:
        if self._torn:
            data = b"\n" + data
        self._torn = True
        written = os.write(self._file, data)
        if written < len(data):
            written += os.write(self._file, data[written:])  # raises where the disk is full
        self._torn = written < len(data)

    def close(self) -> None:
        os.close(self._file)
        os.close(self._lock)

    def _room(self) -> int:
        """The bytes that the file of this name, opened anew if another process has moved the old one away, has left."""
        here = os.fstat(self._file)
        try:
            there = os.stat(self._path, follow_symlinks=False)  # noqa: PTH116
        except FileNotFoundError:
            there = None
        if there is None or (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino):
            fresh = os.open(self._path, OPEN, 0o600)
            os.close(self._file)
            self._file = fresh
            here = os.fstat(fresh)
        return self._max - here.st_size

    def _rotate(self) -> bool:
        """Move the files up by one; either way the shared lock is held afterwards. False: others are writing now, it is left to the next call."""
        fcntl.flock(self._lock, fcntl.LOCK_UN)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(self._lock, fcntl.LOCK_SH)
            return False
        if self._is_current():
            self._shift()
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        return True

    def _shift(self) -> None:
        if self._backups:
            for number in range(self._backups - 1, 0, -1):
                with suppress(FileNotFoundError):
                    os.replace(f"{self._path}.{number}", f"{self._path}.{number + 1}")  # noqa: PTH105
            os.replace(self._path, f"{self._path}.1")  # noqa: PTH105
        else:
            os.unlink(self._path)  # noqa: PTH108

    def _is_current(self) -> bool:
        """Whether the open file is still the one of this name: between two locks another process may have rotated."""
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._file))  # noqa: PTH116
        except FileNotFoundError:
            return False
