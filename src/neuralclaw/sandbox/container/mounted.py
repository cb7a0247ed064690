"""What of this machine a container sees: the workspace, and what the grant names outside of the image's own places."""

import os
import pwd
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import msgspec

from ...errors import ToolExecutionError
from ...types.grants import Envelope
from ..later_run.kept_places import kept_in
from ..mounts import pinned, sockets
from ..own_code import protected_places
from ..program_lookup import beneath
from ..visible import View, is_real, open_to_write

OF_THE_IMAGE = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/proc", "/sys", "/dev", "/run", "/boot")
"""Here a container has what its image brings."""
TEMPORARY = "/tmp"
USER = 1000
"""Who runs commands where the workspace is root's."""


class Mounted(msgspec.Struct, frozen=True, kw_only=True):
    """What decides how a container is made, besides the settings; two calls for which it is the same share one. Paths are real."""

    read: tuple[str, ...]
    write: tuple[str, ...]
    hidden: tuple[str, ...]
    """Directories, files and Unix sockets in these that are covered."""
    home: str
    user: str
    """`UID:GID`."""
    kept: tuple[str, ...] = ()
    """Read-only, though they lie in a place to write: code is later run from them."""
    pinned: tuple[str, ...] = ()
    """Directories around what is hidden or kept in a place to write: as mounts of their own they cannot be renamed."""
    inodes: tuple[int, ...] = ()
    """Of all of these (`places`): where one is replaced outside, its mount ends, or leads to what was there before, and a new container is needed."""
    proxied: bool = False
    """Calls that were granted a network: each of them gets its own way to its own proxy. No call without one is in that container."""

    @property
    def places(self) -> tuple[str, ...]:
        """Everything that is mounted."""
        return (*self.read, *self.write, *self.hidden, *self.kept, *self.pinned)

    def view(self) -> View:
        """The same, to explain what a command could not do."""
        return View(read=OF_THE_IMAGE, granted=self.read, write=self.write, hidden=self.hidden, home=self.home, kept=self.kept)


def mounted(envelope: Envelope, workspace: str, *, home: str, hidden: Iterable[str], read_only: bool, rootless: bool) -> Mounted:
    """What a call under this envelope sees. Reads the disk. Raises `ToolExecutionError` for a workspace that cannot be mounted.

    `rootless`: root in the container is the person outside.
    """
    if not is_real(workspace) or workspace in ("/", TEMPORARY) or any(beneath(workspace, place) for place in OF_THE_IMAGE):
        raise ToolExecutionError(f"the workspace {workspace} cannot be shown to a container: the image has its own {workspace}; nothing was run")
    own = (*protected_places(workspace), *map(os.path.realpath, envelope.read_only))
    write = _outermost(path for path in open_to_write(envelope) if _is_mountable(path) and not read_only and not any(beneath(path, place) for place in own))
    named = (workspace, *envelope.read, *envelope.write)
    read = _outermost(path for path in named if _is_mountable(path) and not any(beneath(path, root) for root in write))
    inside = (os.path.realpath(path) for path in (*hidden, *envelope.covered))
    granted = (*envelope.read, *envelope.write, workspace)
    covered = (path for path in inside if path not in granted and any(beneath(path, root) for root in (*read, *write)) and os.path.exists(path))
    seen = View(read=read, granted=(), write=write, hidden=_outermost(covered), home=home)
    inner = tuple(place for place in own if any(beneath(place, root) for root in write) and is_real(place))
    seen = msgspec.structs.replace(
        seen, hidden=_outermost((*seen.hidden, *sockets(seen))), kept=(*inner, *kept_in(envelope.write, seen.hidden)) if write else ()
    )
    around = tuple(dict.fromkeys(pinned(seen)))
    user = _user(workspace, rootless)
    made = Mounted(read=read, write=write, hidden=seen.hidden, home=home, user=user, kept=seen.kept, pinned=around, proxied=envelope.network)
    return msgspec.structs.replace(made, inodes=tuple(os.lstat(path).st_ino if os.path.lexists(path) else 0 for path in made.places))


@contextmanager
def held(seen: Mounted) -> Iterator[None]:
    """Keeps the files and directories that are mounted, so that the kernel gives the inode of one that is removed to no other."""
    with ExitStack() as descriptors:
        for path in seen.places:
            with suppress(OSError):
                descriptors.callback(os.close, os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC))
        yield


def _is_mountable(path: str) -> bool:
    """Whether it is a directory or file that the image does not bring itself, and was not replaced by a link since it was judged."""
    if path in ("/", TEMPORARY) or any(beneath(path, place) for place in OF_THE_IMAGE) or not is_real(path):
        return False
    mode = os.lstat(path).st_mode
    return stat.S_ISDIR(mode) or stat.S_ISREG(mode)


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    found: list[str] = []
    for path in sorted(set(paths), key=lambda one: one.split("/")):
        if not (found and beneath(path, found[-1])):
            found.append(path)
    return tuple(found)


def _user(workspace: str, rootless: bool) -> str:
    """The owner of the workspace, so that what a command makes there is the owner's; never root, unless that is an ordinary user outside."""
    if rootless:
        return "0:0"
    about = os.stat(workspace)
    if about.st_uid == 0:
        return f"{USER}:{USER}"
    group = about.st_gid
    if group == 0:
        try:
            group = pwd.getpwuid(about.st_uid).pw_gid
        except KeyError:
            group = 0
    return f"{about.st_uid}:{group or about.st_uid}"
