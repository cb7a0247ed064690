"""Trees of files for these tests: how they stand, byte for byte."""

import os
import stat
from pathlib import Path

Stands = dict[bytes, tuple[object, ...]]


def standing(root: Path, *, times: bool = True) -> Stands:
    """Everything below the root: kind and mode, content or target, time of modification of what is no directory; which paths are one file."""
    found: Stands = {}
    first: dict[int, bytes] = {}
    for place, directories, files in os.walk(os.fsencode(root)):
        for name in sorted((*directories, *files)):
            path = os.path.join(place, name)
            try:
                status = os.lstat(path)
            except PermissionError:  # in a directory that may be listed only
                found[path] = ()
                continue
            content: object = None
            if stat.S_ISREG(status.st_mode):
                content = Path(os.fsdecode(path)).read_bytes() if os.access(path, os.R_OK) else None
            elif stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            same = first.setdefault(status.st_ino, path) if status.st_nlink > 1 and stat.S_ISREG(status.st_mode) else b""
            when = status.st_mtime_ns if times and not stat.S_ISDIR(status.st_mode) else 0
            found[path] = (status.st_mode, content, when, same)
    return found
