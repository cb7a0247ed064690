"""What stood at a path, what changed there between two moments, and both as bytes."""

import os
import stat
from collections.abc import Iterable, Sequence

import msgspec

from .attributes import Attributes

REGULAR, DIRECTORY, LINK, FIFO = stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK, stat.S_IFIFO


class PathState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What stood at a path. `mode` is the whole `st_mode`.

    `content`: SHA-256 of a regular file, the target of a symbolic link, b"" for anything else; None where it is not known: nothing of it was kept.
    `attributes`: extended attributes of a regular file, None where they are not known.
    """

    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    ino: int
    nlink: int
    uid: int
    gid: int
    content: bytes | None
    attributes: Attributes | None = None

    @property
    def kind(self) -> int:
        return stat.S_IFMT(self.mode)

    @property
    def mark(self) -> tuple[int, int, int, int]:
        """As `mark` of its status."""
        return self.ino, self.size, self.mtime_ns, self.ctime_ns

    @property
    def kept(self) -> bool:
        """Whether it can be made again."""
        return self.content is not None and self.kind in (REGULAR, DIRECTORY, LINK, FIFO)


class PathChange(msgspec.Struct, frozen=True, array_like=True):
    """What stood at an absolute path before and after (None: nothing). `twin`, `after_twin`: another path that was the same file then, by a hard link.

    `shared`: what else ran in the tree at that time and may have changed it, in words; "" for nothing.
    """

    path: bytes
    before: PathState | None
    after: PathState | None
    twin: bytes = b""
    after_twin: bytes = b""
    shared: str = ""

    @property
    def reversed(self) -> "PathChange":
        return PathChange(self.path, self.after, self.before, self.after_twin, self.twin)


_changes = msgspec.msgpack.Decoder(tuple[PathChange, ...])


def encode_changes(changes: Sequence[PathChange]) -> bytes:
    return msgspec.msgpack.encode(changes)


def decode_changes(data: bytes) -> tuple[PathChange, ...]:
    """Raises `msgspec.DecodeError`."""
    return _changes.decode(data)


def state_of(status: os.stat_result, content: bytes | None) -> PathState:
    return PathState(
        status.st_mode,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_ino,
        status.st_nlink,
        status.st_uid,
        status.st_gid,
        content,
    )


def mark(status: os.stat_result) -> tuple[int, int, int, int]:
    """What differs as soon as somebody wrote to a file, or put another in its place."""
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def same(one: PathState | None, other: PathState | None) -> bool:
    """Whether the same stands there: kind, permissions, attributes, and content or target; times do not count.

    Where the content of either is not known, it is the same file that nobody wrote to.
    """
    if one is None or other is None:
        return one is other
    if one.kind != other.kind:
        return False
    if one.kind != LINK and one.mode != other.mode:
        return False
    if one.attributes is not None and other.attributes is not None and one.attributes != other.attributes:
        return False
    if one.content is None or other.content is None:
        return (one.size, one.mtime_ns, one.ino) == (other.size, other.mtime_ns, other.ino)
    return one.content == other.content


def joined(changes: Iterable[PathChange]) -> tuple[list[PathChange], dict[bytes, list[PathChange]]]:
    """What changes that came one after the other come to, by path; and of the paths that somebody else changed in between what came before that, which is
    left out."""
    found: dict[bytes, list[PathChange]] = {}
    broken: dict[bytes, list[PathChange]] = {}
    for change in changes:
        steps = found.setdefault(change.path, [])
        if steps and not same(steps[-1].after, change.before):
            broken.setdefault(change.path, []).extend(steps)
            steps.clear()
        steps.append(change)
    net = [_net(steps, broken.get(path, ())) for path, steps in found.items()]
    return [one for one in net if not same(one.before, one.after) or touched(one.before, one.after)], broken


def _net(steps: Sequence[PathChange], broken: Sequence[PathChange]) -> PathChange:
    first, last = steps[0], steps[-1]
    shared = next((step.shared for step in (*broken, *steps) if step.shared), "")
    return PathChange(first.path, first.before, last.after, first.twin, last.after_twin, shared)


def touched(one: PathState | None, other: PathState | None) -> bool:
    """Whether a file or link has another time of modification; that of a directory follows from what is in it."""
    return one is not None and other is not None and one.kind != DIRECTORY and one.mtime_ns != other.mtime_ns
