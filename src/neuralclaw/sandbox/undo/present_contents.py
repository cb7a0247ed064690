"""What stands now and was too large to be kept, kept before an undo takes it away: the list of the undo names it, so that redo brings it back."""

import os
import stat
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from ..nolinks import opener
from .contents import KeptContents, TooLarge
from .path_states import REGULAR, PathChange, PathState, mark

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ANY_SIZE = 2**62


def keep_present(changes: Sequence[PathChange], contents: KeptContents) -> list[PathChange]:
    """The changes, with the contents of what shall go; without them what was changed meanwhile, cannot be read or saved, or came from where it was not kept."""
    moved = {change.after.ino for change in changes if change.after is not None and not change.after.kept}
    return [change if change.before is None or change.before.ino in moved else _named(change, change.before, contents) for change in changes]


def _named(change: PathChange, before: PathState, contents: KeptContents) -> PathChange:
    if before.kind != REGULAR or before.content is not None:
        return change
    with suppress(OSError, TooLarge):
        fd = opener()(os.fsdecode(change.path), _READ, 0)
        try:
            now = os.fstat(fd)
            if stat.S_ISREG(now.st_mode) and (now.st_ino, now.st_size, now.st_mtime_ns) == (before.ino, before.size, before.mtime_ns):
                content = contents.keep(fd, _ANY_SIZE)
                if mark(os.fstat(fd)) == mark(now):
                    return msgspec.structs.replace(change, before=msgspec.structs.replace(before, content=content))
        finally:
            os.close(fd)
    return change
