"""Makes files, links and pipes as they were kept."""

import os
import stat
from contextlib import suppress

from .attributes import copy_attributes, set_attributes
from .contents import KeptContents, write_sparse
from .path_states import FIFO, LINK, PathState

_PATH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC | os.O_NOFOLLOW


def make_file(after: PathState, temporary: bytes, at: int, contents: KeptContents, *, like: bytes) -> None:
    """Make a file, link or pipe of this state in the open directory, under a name that is free.

    `like`: whose extended attributes it gets where its own are not known.

    Raises `OSError`, and `ToolExecutionError` where its content is not kept any more.
    """
    if after.kind == LINK:
        os.symlink(after.content or b"", temporary, dir_fd=at)
        with suppress(PermissionError):
            os.chown(temporary, after.uid, after.gid, dir_fd=at, follow_symlinks=False)
        os.utime(temporary, ns=(after.mtime_ns, after.mtime_ns), dir_fd=at, follow_symlinks=False)
        return
    if after.kind == FIFO:
        os.mkfifo(temporary, 0o600, dir_fd=at)
        fd = os.open(temporary, _PATH, dir_fd=at)
        try:
            give(f"/proc/self/fd/{fd}", after)
            os.chmod(f"/proc/self/fd/{fd}", stat.S_IMODE(after.mode))
        finally:
            os.close(fd)
        os.utime(temporary, ns=(after.mtime_ns, after.mtime_ns), dir_fd=at, follow_symlinks=False)
        return
    mode = stat.S_IMODE(after.mode)
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=at)
    try:
        for part in contents.pieces(after.content or b""):
            write_sparse(fd, part)
        os.ftruncate(fd, os.lseek(fd, 0, os.SEEK_CUR))
        with suppress(PermissionError):
            os.fchown(fd, after.uid, after.gid)
        if after.attributes is None:
            copy_attributes(at, like, fd)
        else:
            set_attributes(fd, after.attributes)
        os.fchmod(fd, mode)
        os.utime(fd, ns=(after.mtime_ns, after.mtime_ns))
    finally:
        os.close(fd)


def give(path: str, state: PathState) -> None:
    """Owner and group of the state, where this user may give them. Raises `OSError`."""
    with suppress(PermissionError):
        os.chown(path, state.uid, state.gid)
