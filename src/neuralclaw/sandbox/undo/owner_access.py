"""A file or directory that is closed to its own user, opened for a moment: what a command changed and then closed is looked at too."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

_PATH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC | os.O_NOFOLLOW
READ, ENTER = stat.S_IRUSR, stat.S_IRUSR | stat.S_IXUSR


@contextmanager
def owner_access(at: int, name: str, bits: int) -> Iterator[None]:
    """The user's own file or directory of this name has these bits in its mode meanwhile. Raises `OSError` where that cannot be."""
    fd = os.open(name, _PATH, dir_fd=at)
    try:
        status = os.fstat(fd)
        mode = stat.S_IMODE(status.st_mode)
        if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)) or status.st_uid != os.geteuid() or mode & (stat.S_ISUID | stat.S_ISGID):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        os.chmod(f"/proc/self/fd/{fd}", mode | bits)
        try:
            yield
        finally:
            os.chmod(f"/proc/self/fd/{fd}", mode)
    finally:
        os.close(fd)
