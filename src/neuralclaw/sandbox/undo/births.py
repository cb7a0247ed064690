"""When a file was born: what tells a file that was made from one that stood elsewhere before and was moved."""

import ctypes
import os
import sys
from functools import cache

_STATX_BTIME = 0x800
_AT_SYMLINK_NOFOLLOW = 0x100
_NS = 1_000_000_000


def born_ns(at: int, name: str, status: os.stat_result) -> int | None:
    """When the file of this name in the open directory was made, in nanoseconds of the epoch; None where that is not known. A move does not change it."""
    seconds = getattr(status, "st_birthtime", None)
    if seconds is not None:
        return int(seconds * _NS)
    if sys.platform != "linux":
        return None
    found, call = _Statx(), _statx()
    if call is None or call(at, os.fsencode(name), _AT_SYMLINK_NOFOLLOW, _STATX_BTIME, ctypes.byref(found)) != 0:
        return None
    return found.btime_seconds * _NS + found.btime_ns if found.mask & _STATX_BTIME else None


class _Statx(ctypes.Structure):
    """`struct statx` of linux/stat.h, of which the mask and the time of birth are read."""

    _fields_ = (
        ("mask", ctypes.c_uint32),
        ("_before", ctypes.c_uint8 * 76),
        ("btime_seconds", ctypes.c_int64),
        ("btime_ns", ctypes.c_uint32),
        ("_after", ctypes.c_uint8 * 164),
    )


@cache
def _statx() -> "ctypes._NamedFuncPointer | None":
    return getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
