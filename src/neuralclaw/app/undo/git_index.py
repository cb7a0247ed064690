"""Which files git tracks, as the index of their repository tells, so that what somebody else wrote beside a line of git is told apart."""

import functools
import os
from collections.abc import Sequence
from pathlib import Path

from ...errors import ToolExecutionError
from ...sandbox.undo.contents import KeptContents
from ...sandbox.undo.path_states import DIRECTORY, PathChange

_BEGINNINGS = (b"DIRC\0\0\0\2", b"DIRC\0\0\0\3")
_ELSEWHERE = (b"link", b"sdir")
"""Parts of an index that does not name all files itself: a split one, a sparse one."""
_FLAGS = 60
"""Where the flags of an entry stand, after its times, numbers and SHA-1; its name follows (`gitformat-index`)."""
Tracked = frozenset[bytes] | None
"""Names of files; None where they are not known."""


def untracked(changes: Sequence[PathChange], contents: KeptContents) -> set[bytes]:
    """Of the files that stand there after these changes those that git tracks neither before nor after them.

    Few lines of git write one that was there (`git apply`). A file of a repository itself is none of them, nor is one whose index is not understood. Reads the
    disk.
    """
    made, found, known = {change.path: change for change in changes}, set[bytes](), dict[Path, Tracked]()
    worktree = functools.cache(_worktree)
    for change in changes:
        if change.after is None or change.after.kind == DIRECTORY:
            continue
        path = Path(os.fsdecode(change.path))
        top = worktree(path.parent)
        if top is None:
            continue
        if top not in known:
            known[top] = _tracked(top / ".git" / "index", made, contents)
        names = known[top]
        if names is not None and os.fsencode(path.relative_to(top)) not in names:
            found.add(change.path)
    return found


def _worktree(directory: Path) -> Path | None:
    """The top of the working tree that the directory is in; None without one, where its `.git` is a file, and in a repository itself."""
    for top in (directory, *directory.parents):
        if (top / "HEAD").exists() and (top / "objects").is_dir():
            return None
        if os.path.lexists(top / ".git"):
            return top if (top / ".git").is_dir() else None
    return None


def _tracked(index: Path, made: dict[bytes, PathChange], contents: KeptContents) -> Tracked:
    """What the index named before or names after."""
    change = made.get(os.fsencode(index))
    if change is None:
        try:
            return names_of(index.read_bytes())
        except OSError:
            return None
    found = frozenset[bytes]()
    for state in (change.before, change.after):
        if state is None:
            continue
        try:
            names = names_of(contents.read(state.content)) if state.content else None
        except ToolExecutionError:
            names = None
        if names is None:
            return None
        found |= names
    return found


def names_of(index: bytes) -> Tracked:
    """The names in an index of version 2 or 3; None where it is not understood."""
    if index[:8] not in _BEGINNINGS:
        return None
    found, at = set[bytes](), 12
    for _ in range(int.from_bytes(index[8:12])):
        flags = int.from_bytes(index[at + _FLAGS : at + _FLAGS + 2])
        start = at + _FLAGS + (4 if flags & 0x4000 else 2)
        end = index.find(b"\0", start)
        if end - start != flags & 0xFFF and (flags & 0xFFF != 0xFFF or end - start < 0xFFF):
            return None
        found.add(index[start:end])
        at += (end - at) // 8 * 8 + 8
    return None if any(name in index[at:] for name in _ELSEWHERE) else frozenset(found)
