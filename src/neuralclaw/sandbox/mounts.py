"""What a program in bubblewrap sees: arguments for its mounts, in the order in which they must be made.

Nothing is there but what is named. Mounts are sorted by depth, so that one inside another is made after it: a hidden directory inside a writable workspace
stays hidden, a workspace inside the hidden data home is there. Where both name the same place, the grant wins.
"""

import os
from collections.abc import Iterator

import msgspec

from .bound_sockets import sockets_below
from .program_lookup import beneath
from .restriction import SHARED_MEMORY_BYTES
from .visible import View, places

_TMP_BYTES = 1024**3


class _Mount(msgspec.Struct, frozen=True):
    path: str
    arguments: tuple[str, ...]
    seal: bool = False
    """Made read-only once all is mounted: it is memory, and must hold the points of mounts inside it first."""


def mounts(seen: View) -> list[str]:
    """Public places and granted ones read-only, roots to write writable, `/tmp` and caches of the program's own, links at the top as they are."""
    made = {path: _Mount(path, ("--ro-bind", path, path)) for path in seen.read}
    made["/tmp"] = _memory("/tmp", "1777")
    for path in _caches(seen.home):
        if not any(beneath(path, root) for root in (*seen.granted, *seen.write)):
            made[path] = _memory(path, "0700")
    for path in seen.hidden:
        if any(beneath(path, root) for root in (*seen.read, *seen.granted, *seen.write)) and (cover := _cover(path)):
            made[path] = cover
    closed = frozenset(sockets(seen))
    for path in closed:
        made[path] = _Mount(path, ("--ro-bind", "/dev/null", path))
    for path in seen.granted:
        made[path] = _Mount(path, ("--ro-bind", path, path))
    for path in (*pinned(seen), *_own_roots(seen)):
        made[path] = _Mount(path, ("--bind", path, path))
    for path in frozenset(seen.kept).difference(closed):
        made[path] = _Mount(path, ("--ro-bind-try", path, path))
    ordered = sorted(made.values(), key=lambda m: (m.path.count("/") if m.path != "/" else 0, m.path))
    arguments = [part for mount in ordered for part in mount.arguments]
    if "/" not in made:
        arguments += [part for name in sorted(os.listdir("/")) if os.path.islink(f"/{name}") for part in ("--symlink", os.readlink(f"/{name}"), f"/{name}")]
        arguments += ["--dir", seen.home] if seen.home else []
    # /proc read-only: where we are root, so is the program towards files, and bwrap leaves /proc/sys/kernel/core_pattern writable to it
    arguments += ["--proc", "/proc", "--remount-ro", "/proc"]
    arguments += ["--dev", "/dev", "--size", str(SHARED_MEMORY_BYTES), "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]
    for mount in ordered:
        if mount.seal:
            arguments += ["--remount-ro", mount.path]
    return [*arguments, "--remount-ro", "/"] if "/" not in made else arguments


def _own_roots(seen: View) -> Iterator[str]:
    """Places to write that are not writable already with the one around them: no program can put a file in the place of a mount, or take it away."""
    for path in seen.write:
        others = msgspec.structs.replace(seen, write=tuple(root for root in seen.write if root != path))
        if not others.changes(path):
            yield path


def pinned(seen: View) -> Iterator[str]:
    """Directories between a place to write and a hidden or kept one in it. As mounts of their own they cannot be renamed: under another name what is hidden
    in them would lie open to the next program, and what is kept could be made anew."""
    for place in dict.fromkeys(map(os.path.dirname, (*seen.hidden, *seen.kept))):
        while place != "/" and seen.changes(place) and seen.changes(os.path.dirname(place)):
            if os.path.isdir(place):
                yield place
            place = os.path.dirname(place)


def sockets(seen: View) -> Iterator[str]:
    """Unix sockets that lie where this program only reads: to connect to one takes no right to write its place."""
    places = (*seen.read, *seen.granted, *seen.kept)
    for path in sockets_below(places, seen.granted):
        if any(beneath(path, root) for root in places) and seen.shows(path) and not seen.changes(path) and os.path.realpath(path) == path:
            yield path


def _memory(path: str, mode: str) -> _Mount:
    return _Mount(path, ("--size", str(_TMP_BYTES), "--perms", mode, "--tmpfs", path))


def _caches(home: str) -> Iterator[str]:
    if home:
        yield from (os.path.join(home, name) for name in places().caches)


def _cover(path: str) -> _Mount | None:
    if os.path.isdir(path):
        return _Mount(path, ("--tmpfs", path), seal=True)
    if os.path.exists(path):
        return _Mount(path, ("--ro-bind", "/dev/null", path))
    return None
