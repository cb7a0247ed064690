"""What came to a place and nobody could keep, too large or unreadable, is moved to the top of its tree, under a name that nothing runs.

So is what the command itself did not write: somebody else may have moved it there, with the directory that it lies in.
"""

import os
import stat

import msgspec

from ..nolinks import opener
from ..undo.path_states import PathChange, PathState

PREFIX = ".neuralclaw-found-"
_DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC


def set_aside(change: PathChange, root: str, *, untouched_since: int) -> PathChange:
    """The change from nothing, where what stands there now was moved aside; else the same change. `untouched_since`: when the command began, in nanoseconds."""
    now = change.before
    if now is None or stat.S_ISDIR(now.mode):
        return change
    if now.kept and (change.after is not None or not 0 <= now.ctime_ns < untouched_since):
        return change
    try:
        _move(os.fsdecode(change.path), now, root)
    except OSError:
        return change  # it is told as left
    return msgspec.structs.replace(change, before=None)


def _move(path: str, now: PathState, root: str) -> None:
    """Raises `OSError`, also where another file stands there by now."""
    directory, name = os.path.split(path)
    at = opener()(directory, _DIRECTORY, 0)
    try:
        top = opener()(root, _DIRECTORY, 0)
        try:
            found = os.stat(name, dir_fd=at, follow_symlinks=False)
            if (found.st_ino, found.st_size, found.st_mtime_ns) != (now.ino, now.size, now.mtime_ns):
                raise FileNotFoundError(path)
            os.rename(name, f"{PREFIX}{os.urandom(8).hex()}", src_dir_fd=at, dst_dir_fd=top)
        finally:
            os.close(top)
    finally:
        os.close(at)
