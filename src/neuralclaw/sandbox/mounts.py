"""What a program in bubblewrap sees: arguments for its mounts, in the order in which they must be made.

Mounts are sorted by depth, so that one inside another is made after it: a hidden directory inside a writable workspace stays
hidden, a workspace inside the hidden data home is there. Where both name the same place, the grant wins.
"""

import os
from collections.abc import Iterable

import msgspec

from ..types.grants import Envelope
from .program_lookup import beneath

_TMP_BYTES = 1024**3
_SHM_BYTES = 256 * 1024**2
_KEPT_OF_RUN = ("/run/current-system", "/run/opengl-driver", "/run/systemd/resolve", "/run/resolvconf")


class _Mount(msgspec.Struct, frozen=True):
    path: str
    arguments: tuple[str, ...]
    seal: bool = False
    """Made read-only once all is mounted: it is memory, and must hold the points of mounts inside it first."""


def mounts(envelope: Envelope, workspace: str, hidden: Iterable[str]) -> list[str]:
    """Root read-only; `hidden`, /tmp and /run (sockets that lead out: D-Bus, Docker) covered; roots to write writable."""
    made = {"/": _Mount("/", ("--ro-bind", "/", "/"))}
    for path in (*hidden, "/run"):
        if cover := _cover(os.path.realpath(path)):
            made[cover.path] = cover
    made["/tmp"] = _Mount("/tmp", ("--size", str(_TMP_BYTES), "--perms", "1777", "--tmpfs", "/tmp"))
    covered = tuple(made)[1:]
    for path in _KEPT_OF_RUN:
        if os.path.exists(path):
            made[path] = _Mount(path, ("--ro-bind", path, path))
    for path in (workspace, *envelope.read):
        if _is_real(path) and any(beneath(path, c) for c in covered):
            made[path] = _Mount(path, ("--ro-bind", path, path))
    for path in envelope.write:
        if _is_real(path):
            made[path] = _Mount(path, ("--bind", path, path))
    ordered = sorted(made.values(), key=lambda m: (m.path != "/", m.path.count("/"), m.path))
    arguments = [part for mount in ordered for part in mount.arguments]
    # /proc read-only: where we are root, so is the program towards files, and bwrap leaves /proc/sys/kernel/core_pattern writable to it
    arguments += ["--proc", "/proc", "--remount-ro", "/proc"]
    arguments += ["--dev", "/dev", "--size", str(_SHM_BYTES), "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]
    for mount in ordered:
        if mount.seal:
            arguments += ["--remount-ro", mount.path]
    return arguments


def _cover(path: str) -> _Mount | None:
    if os.path.isdir(path):
        return _Mount(path, ("--tmpfs", path), seal=True)
    if os.path.exists(path):
        return _Mount(path, ("--ro-bind", "/dev/null", path))
    return None


def _is_real(path: str) -> bool:
    """A root that became a link since it was judged is not mounted: what it leads to was not judged."""
    return os.path.isabs(path) and os.path.realpath(path) == path and os.path.exists(path)
