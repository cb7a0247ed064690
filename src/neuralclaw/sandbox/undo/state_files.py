"""Small files that keep the state of a tree: written in one step, marked, removed."""

import os
import time
from contextlib import suppress

from ..preimages import write_all

_CLOCK_NS = 2_000_000_000


def replace_file(path: str, data: bytes, *, sync: bool = False) -> tuple[int, int]:
    """Write the file beside its place and move it there in one step; its inode and time."""
    temporary = f"{path}.new"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        write_all(fd, data)
        os.fsync(fd) if sync else None
        status = os.fstat(fd)
    finally:
        os.close(fd)
    os.rename(temporary, path)
    return status.st_ino, status.st_mtime_ns


def remove_file(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def touch_file(path: str) -> None:
    """Its time is now, by the clock that files are born by."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.utime(fd)
    finally:
        os.close(fd)


def time_of(path: str) -> int:
    """When it was touched, in nanoseconds; now where it was not yet."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return time.time_ns()


def until_ns(sign_ns: int, more_ns: int) -> int:
    """Until when a process may have changed something that died after this sign of life, in nanoseconds; 0 where nobody can tell: the clock was set back."""
    return sign_ns + more_ns if sign_ns <= time.time_ns() + _CLOCK_NS else 0


def names_in(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []
