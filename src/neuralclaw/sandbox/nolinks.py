"""Opens a real path so that no link, swapped in at whatever moment, can lead elsewhere.

The caller resolves links first and judges the result; here that result is opened with every link refused, on the whole way
from `/`. A path without `..` that crosses no link is beneath each directory it names: nothing else is needed to stay inside.
`openat2` (Linux 5.6) does it in one call; without it each part is opened relative to the one before.
"""

import errno
import os
from collections.abc import Callable
from functools import cache

_OPENAT2 = 437  # the same on every architecture
_NO_SYMLINKS, _NO_MAGICLINKS, _BENEATH = 0x04, 0x02, 0x08  # linux/openat2.h
_PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY)

Opener = Callable[[str, int, int], int]


def opener(*, openat2: bool = True) -> Opener:
    """`open(path, flags, mode)` → file descriptor, for absolute real paths. A link on the way: `OSError` ELOOP or ENOTDIR."""
    return (_kernel() if openat2 else None) or _step_by_step


@cache
def _kernel() -> Opener | None:
    """The opener that uses `openat2`, or None where the kernel (or a filter in front of it) does not have it."""
    import ctypes  # 3 ms, on the first file access

    class OpenHow(ctypes.Structure):
        _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long

    def open_whole(path: str, flags: int, mode: int) -> int:
        how = OpenHow(flags | os.O_CLOEXEC, mode if flags & os.O_CREAT else 0, _NO_SYMLINKS | _NO_MAGICLINKS | _BENEATH)
        start = os.open("/", _PATH_ONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            name = os.fsencode(path.lstrip("/") or ".")
            fd = int(syscall(_OPENAT2, start, name, ctypes.byref(how), ctypes.sizeof(how)))
            number = ctypes.get_errno()
        finally:
            os.close(start)
        if fd < 0:
            raise OSError(number, os.strerror(number), path)
        return fd

    try:
        os.close(open_whole("/", _PATH_ONLY | os.O_DIRECTORY, 0))
    except OSError:
        return None
    return open_whole


def _step_by_step(path: str, flags: int, mode: int) -> int:
    *way, last = [part for part in path.split("/") if part] or ["."]
    if ".." in way or last == "..":
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    at = os.open("/", _PATH_ONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in way:
            below = os.open(part, _PATH_ONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            os.close(at)
            at = below
        return os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=at)
    finally:
        os.close(at)
