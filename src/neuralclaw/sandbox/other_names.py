"""Other names of a file: hard links into places that are kept from every call, and what a mount shows at a second place."""

import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache

import msgspec

MOST = 20_000
"""Entries of the kept places that are looked at for hard links, those nearest to their top first."""


class MountRow(msgspec.Struct, frozen=True):
    """One mount: its file system, what of it is shown, and where."""

    device: str
    root: str
    point: str


def inodes_in(kept: Iterable[str]) -> dict[tuple[int, int], str]:
    """The files in the kept places that have a second name, by file system and number, with a name there."""
    found: dict[tuple[int, int], str] = {}
    todo, left = deque(kept), MOST
    while todo and left > 0:
        place = todo.popleft()
        try:
            entries = list(os.scandir(place))
        except NotADirectoryError:
            _add(found, place)
            continue
        except OSError:
            continue
        left -= len(entries)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                todo.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                _add(found, entry.path)
    return found


def _add(found: dict[tuple[int, int], str], path: str) -> None:
    with suppress(OSError):
        status = os.lstat(path)
        if status.st_nlink > 1:
            found[status.st_dev, status.st_ino] = path


class Mounts:
    """What is mounted at the moment of its making."""

    def __init__(self) -> None:
        rows = _mounts()
        devices = Counter(row.device for row in rows)
        self._rows = [row for row in rows if devices[row.device] > 1]
        self._points = {row.point: row for row in rows}

    def names(self, real: str) -> Iterator[str]:
        """The names at which other mounts of the same file system show the same file: a bind mount has two."""
        place = real
        while place not in self._points and place != "/":
            place = place.rpartition("/")[0] or "/"
        mine = self._points.get(place)
        if mine is None or mine not in self._rows:
            return
        source = mine.root.rstrip("/") + (_below(real, mine.point) or "")
        for row in self._rows:
            rest = _below(source or "/", row.root) if row.device == mine.device and row.point != mine.point else None
            if rest is not None:
                yield (row.point.rstrip("/") + rest) or "/"


def _below(path: str, root: str) -> str | None:
    """What of the path is below the root, with its slash; None where it does not lie there."""
    if root == "/":
        return "" if path == "/" else path
    return path[len(root) :] if path == root or path.startswith(root + "/") else None


def _mounts() -> tuple[MountRow, ...]:
    try:
        with open("/proc/self/mountinfo", "rb") as table:
            return _parsed(table.read())
    except OSError:
        return ()


@lru_cache(maxsize=4)
def _parsed(table: bytes) -> tuple[MountRow, ...]:
    """The rows; a later mount at a place hides an earlier one."""
    rows: dict[str, MountRow] = {}
    for line in table.splitlines():
        fields = line.split(b" ", 5)
        if len(fields) == 6:
            root, point = (_unescaped(os.fsdecode(field)) for field in fields[3:5])
            rows.pop(point, None)
            rows[point] = MountRow(os.fsdecode(fields[2]), root, point)
    return tuple(rows.values())


def _unescaped(text: str) -> str:
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text
