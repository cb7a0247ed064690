"""Extended attributes that people hang on files: their own, and access lists."""

import os
import sys
from contextlib import suppress

Attributes = tuple[tuple[bytes, bytes], ...]
"""Names and values, in order of the names."""
MAX_BYTES = 65_536
_NAMES = ("user.", "system.posix_acl_")


def attributes_of(file: int | str) -> Attributes | None:
    """Those of a regular file, open or by its path; () where its file system has none, None where they cannot be read or are more than `MAX_BYTES`."""
    if sys.platform != "linux":
        return None
    try:
        names = sorted(name for name in os.listxattr(file) if name.startswith(_NAMES))
        found = tuple((os.fsencode(name), os.getxattr(file, name)) for name in names)
    except OSError:
        return () if not _supported(file) else None
    return found if sum(map(len, (part for pair in found for part in pair))) <= MAX_BYTES else None


def copy_attributes(at: int, name: bytes, target: int) -> None:
    """Those of the file that stands there go over to the one that takes its place. Raises `OSError`."""
    if sys.platform != "linux":
        return
    set_attributes(target, ())
    source = b"/proc/self/fd/%d/%s" % (at, name)
    with suppress(OSError):  # nothing stands there, or the file system has none
        for key in os.listxattr(source, follow_symlinks=False):
            if key.startswith(_NAMES):
                os.setxattr(target, key, os.getxattr(source, key, follow_symlinks=False))


def set_attributes(target: int, attributes: Attributes) -> None:
    """Give them to an open file, in place of those that it has from its directory's access list. Raises `OSError`."""
    if sys.platform == "linux":
        for inherited in os.listxattr(target) if _supported(target) else ():
            if inherited.startswith(_NAMES):
                os.removexattr(target, inherited)
        for name, value in attributes:
            os.setxattr(target, name, value)


def _supported(file: int | str) -> bool:
    if sys.platform != "linux":
        return False
    try:
        os.listxattr(file)
    except OSError:
        return False
    return True
