"""A tree compared with how it stood before: by `stat` where nothing changed; what changed is read and kept.

No link is followed, nothing but regular files is opened, and what lies on another file system, or is mounted inside, is left out.

A path is known, absent, or unknown: where it cannot be looked at. What is unknown afterwards counts as it was, never as deleted; and where something was
unknown before, only what was born since counts as made: all else may have stood there.
"""

import os
import stat
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ..nolinks import opener
from .attributes import attributes_of
from .births import born_ns
from .contents import KeptContents, NotSaved, TooLarge
from .mount_points import mounted_below
from .owner_access import ENTER, READ, owner_access
from .path_states import PathChange, PathState, mark, same, state_of, touched

_Found = tuple[str, PathState | None, PathState | None]
Manifest = dict[str, PathState]
"""Path below the root (without a slash before it) -> what stands there; "" is the root itself."""

RACY_NS = 50_000_000
"""A file that was changed this short a time ago may change again without another time of change: it is read again when it is next looked at."""
MAX_DEPTH = 100
MAX_PATH = 3_800
"""Bytes of the path of a directory: with those of a name in it the system takes no more than 4,095."""
COARSE_NS = 2_100_000_000
"""The same where the file system counts whole seconds, or pairs of them."""
LINKED = "it has another hard link elsewhere"
LINKED_OBJECT = f"{LINKED}, as `git clone` of a directory leaves it; `git repack -adfk; git update-server-info -f` takes such links away"
"""Of a file in which git keeps its objects. `-k` keeps those that no branch leads to, and `-f` writes what would come out the same."""
_TRIES = 3
_NEVER = -1
_FULL = -(2**62)
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC


class ScanLimits(NamedTuple):
    """What is kept at most: bytes of one file and of a whole tree, entries of a tree."""

    file_bytes: int
    tree_bytes: int
    entries: int


class NotKept(msgspec.Struct, frozen=True, array_like=True):
    """What undo cannot bring back, and why. `path` is absolute. `below`: not all that is there was looked at, and it may hold what is not known."""

    path: bytes
    why: str
    below: bool = False


class TreeState(NamedTuple):
    """How a tree stands. `not_kept`: what of it cannot be brought back. `read`: how many files were read for it."""

    manifest: Manifest
    changes: list[PathChange]
    not_kept: list[NotKept]
    read: int

    @property
    def differs(self) -> bool:
        """Whether the manifest is another one than before."""
        return bool(self.changes or self.read)


class Watch(NamedTuple):
    """`since`: when the tree was last looked at, in nanoseconds; None: only what was known then can have changed its place.

    `reopen`: what a command closed to its own user is opened for a moment, to be looked at.
    """

    since: int | None = None
    reopen: bool = False


class Stopped(Exception):
    """The scan was asked to stop, or its time was up."""


def why_stopped(error: OSError | Stopped) -> str:
    """Why a tree could not be looked at, or changed, in words."""
    return getattr(error, "strerror", None) or "it took too long"


class TreeScan:
    """One comparison of the tree at `root`, a real path, with the manifest `before`.

    `hidden`: places in it that are left alone, as the agent's own data. `stop` is asked often; a true answer raises `Stopped`.
    """

    def __init__(self, root: str, before: Mapping[str, PathState], contents: KeptContents, limits: ScanLimits, watch: Watch) -> None:
        self._root, self._before, self._contents, self._limits = root, before, contents, limits
        self._since, self._reopen = watch
        self._room = limits.entries - len(before)  # what is known already is looked at in any case
        self._inodes = {state.ino for state in before.values()} if watch.since is not None else set[int]()
        self._unknown: set[str] = set()
        self._new: Manifest = {}
        self._changed: dict[str, tuple[PathState | None, PathState]] = {}
        self._not_kept: list[NotKept] = []
        self._bytes = self._read = 0
        self._device = 0
        self._hidden: frozenset[str] = frozenset()
        self._mounted: frozenset[str] = frozenset()
        self._stop: Callable[[], bool] = bool
        self._now = time.time_ns()

    def run(self, hidden: Sequence[str] = (), stop: Callable[[], bool] = bool) -> TreeState:
        """Raises `OSError` where the root cannot be opened, and `Stopped`."""
        self._stop = stop
        self._hidden, self._mounted = frozenset(hidden), frozenset(mounted_below(self._root))
        fd = opener()(self._root, _DIRECTORY & ~os.O_NOFOLLOW, 0)
        try:
            self._top(os.fstat(fd))
            self._directory(fd, "", 0)
        finally:
            os.close(fd)
        changes = self._all_changes()
        self._linked_elsewhere()
        return TreeState(self._new, changes, self._not_kept, self._read)

    @property
    def known(self) -> Manifest:
        """What is known of the tree, also where the scan was stopped."""
        return {**self._before, **self._new}

    def _top(self, now: os.stat_result) -> None:
        """The root itself: its mode may change."""
        self._device = now.st_dev
        old = self._before.get("")
        state = self._new[""] = old if old is not None and old.mode == now.st_mode and old.ino == now.st_ino else state_of(now, b"")
        if old is not None and not same(old, state):
            self._changed[""] = (old, state)

    def _directory(self, fd: int, prefix: str, depth: int) -> None:
        before, new = self._before, self._new
        below: list[str] = []
        if self._stop():
            raise Stopped
        with os.scandir(fd) as entries:
            for entry in entries:
                name = entry.name
                path = prefix + name
                old = before.get(path)
                if self._apart(path) or (old is None and self._beyond(prefix)):
                    continue
                try:
                    now = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if stat.S_ISDIR(now.st_mode):
                    if now.st_dev != self._device:
                        self._pass_over(path, "another file system is mounted there")
                        continue
                    below.append(name)
                    state = old if old is not None and old.mode == now.st_mode and old.ino == now.st_ino else state_of(now, b"")
                elif old is not None and _unchanged(old, now) and (old.content is not None or old.kind == stat.S_IFLNK):
                    state = old
                    self._count(path, old)
                else:
                    state = self._look(fd, name, path, now)
                new[path] = state
                if state is not old and (not same(old, state) or touched(old, state)) and (old is not None or self._made(fd, name, now)):
                    self._changed[path] = (old, state)
        for name in below:
            self._below(fd, name, prefix, depth)

    def _apart(self, path: str) -> bool:
        """Whether it is left out: the agent's own data, and what is mounted there, also from the same file system, which is named."""
        if not (self._hidden or self._mounted):
            return False
        place = f"{self._root}/{path}"
        if place in self._mounted and place not in self._hidden:
            self._pass_over(path, "another file system is mounted there")
            return True
        return place in self._hidden

    def _beyond(self, prefix: str) -> bool:
        """Whether there is no room for one more path that was not known before."""
        if self._room > 0:
            self._room -= 1
            return False
        if self._room != _FULL:
            why = f"there are more than {self._limits.entries:,} files"
            self._not_kept.append(NotKept(self._absolute(prefix), why, below=True))
        self._room = _FULL
        if self._stop():
            raise Stopped
        return True

    def _made(self, fd: int, name: str, now: os.stat_result) -> bool:
        """Whether what was not known before was made since, or came from a place that was known: not from one that nobody could look at."""
        if self._since is None or now.st_ino in self._inodes:
            return True
        born = born_ns(fd, name, now)
        return born is not None and born >= self._since

    def _below(self, fd: int, name: str, prefix: str, depth: int) -> None:
        path = prefix + name
        if depth >= MAX_DEPTH:
            self._pass_over(path, f"it is nested deeper than {MAX_DEPTH} directories")
            return
        if len(self._absolute(path)) > MAX_PATH:
            self._pass_over(path, f"its path is longer than {MAX_PATH:,} bytes")
            return
        try:
            self._enter(fd, name, path, depth)
        except FileNotFoundError:
            return
        except PermissionError as error:
            try:
                if not self._closed(path):
                    raise
                with owner_access(fd, name, ENTER):
                    self._enter(fd, name, path, depth)
            except OSError:
                self._pass_over(path, f"it cannot be read ({error.strerror})")
        except OSError as error:  # readable by its mode, and not in fact
            self._pass_over(path, f"it cannot be read ({error.strerror})")

    def _enter(self, fd: int, name: str, path: str, depth: int) -> None:
        inner = os.open(name, _DIRECTORY, dir_fd=fd)
        try:
            if os.fstat(inner).st_dev != self._device:
                self._pass_over(path, "another file system is mounted there")
            else:
                self._directory(inner, f"{path}/", depth + 1)
        finally:
            os.close(inner)

    def _closed(self, path: str) -> bool:
        """Whether it was closed to its user since the tree was looked at last, so that it may be opened for a moment."""
        old = self._before.get(path)
        return self._reopen and (old is None or path in self._changed)

    def _pass_over(self, path: str, why: str) -> None:
        """What is there, or below it, is not looked at: what was known of it is taken to be as it was."""
        self._not_kept.append(NotKept(self._absolute(path), why, below=True))
        self._unknown.add(path)

    def _look(self, fd: int, name: str, path: str, now: os.stat_result) -> PathState:
        """The state of what is new or may have changed; what a regular file holds is kept."""
        if stat.S_ISLNK(now.st_mode):
            try:
                return state_of(now, os.fsencode(os.readlink(name, dir_fd=fd)))
            except OSError:
                self._leave(path, "it changed while it was looked at")
                return state_of(now, None)
        if not stat.S_ISREG(now.st_mode):
            if not stat.S_ISFIFO(now.st_mode):
                self._leave(path, "it is a socket or a device")
            return state_of(now, b"")
        if now.st_size > self._limits.file_bytes:
            self._leave(path, f"it is larger than {self._limits.file_bytes // 1_000_000} MB")
            return state_of(now, None)
        if not self._fits(path, now.st_size):
            return state_of(now, None)
        if self._stop():
            raise Stopped
        return self._copied(fd, name, path, now)

    def _copied(self, fd: int, name: str, path: str, now: os.stat_result) -> PathState:
        why = "it changed while it was copied"
        for _ in range(_TRIES):
            try:
                file = self._opened(fd, name, path, now)
            except OSError as error:
                old = self._before.get(path)
                if old is not None and old.content and (old.ino, old.size, old.mtime_ns) == (now.st_ino, now.st_size, now.st_mtime_ns):
                    return msgspec.structs.replace(state_of(now, old.content), attributes=old.attributes)  # its mode alone was changed
                why = f"it cannot be read ({error.strerror})"
                break
            try:
                first = os.fstat(file)
                if not stat.S_ISREG(first.st_mode):
                    break
                content, attributes = self._contents.keep(file, self._limits.file_bytes), attributes_of(file)
                last = os.fstat(file)
            except TooLarge:
                why = f"it is larger than {self._limits.file_bytes // 1_000_000} MB"
                break
            except NotSaved as error:
                why = f"it could not be saved ({error.strerror})"
                break
            except OSError as error:
                why = f"it cannot be read ({error.strerror})"
                break
            finally:
                os.close(file)
            now = last
            if mark(first) == mark(last):
                self._bytes += last.st_size
                self._read += 1
                state = msgspec.structs.replace(state_of(last, content), attributes=attributes)
                racy = self._now - last.st_ctime_ns < (RACY_NS if last.st_ctime_ns % 1_000_000_000 else COARSE_NS)
                return msgspec.structs.replace(state, ctime_ns=_NEVER) if racy else state
        self._leave(path, why)
        return state_of(now, None)

    def _opened(self, fd: int, name: str, path: str, now: os.stat_result) -> int:
        """The regular file, open. One that a command closed to its user is opened for a moment."""
        try:
            return os.open(name, _FILE, dir_fd=fd)
        except PermissionError:
            old = self._before.get(path)
            if not self._reopen or (old is not None and old.mode == now.st_mode):
                raise
            with owner_access(fd, name, READ):
                return os.open(name, _FILE, dir_fd=fd)

    def _count(self, path: str, old: PathState) -> None:
        """An unchanged file counts for what the tree may hold, and is named again where it is not kept."""
        if stat.S_ISSOCK(old.mode) or stat.S_ISBLK(old.mode) or stat.S_ISCHR(old.mode):
            self._leave(path, "it is a socket or a device")
        elif self._fits(path, old.size):
            self._bytes += old.size

    def _fits(self, path: str, size: int) -> bool:
        """Whether so much more may be kept of the tree; else the path is named."""
        if self._bytes + size > self._limits.tree_bytes:
            self._leave(
                path, f"the files together are larger than {self._limits.tree_bytes / 1_000_000:g} MB, its share of undo.max_workspace_mb and undo.max_mb"
            )
            return False
        return True

    def _leave(self, path: str, why: str) -> None:
        self._not_kept.append(NotKept(self._absolute(path), why))

    def _absolute(self, path: str) -> bytes:
        return os.fsencode(f"{self._root}/{path}".rstrip("/"))

    def _gone(self) -> list[str]:
        """What was known and is not there any more. What is in a place that was not looked at stays as it was."""
        missing = self._before.keys() - self._new.keys()
        unseen = [path for path in missing if self._unknown and self._unseen(path)]
        for path in unseen:
            self._new[path] = self._before[path]
        return list(missing.difference(unseen))

    def _unseen(self, path: str) -> bool:
        while path:
            if path in self._unknown:
                return True
            path = path.rpartition("/")[0]
        return False

    def _all_changes(self) -> list[PathChange]:
        found: list[_Found] = [(path, self._before[path], None) for path in self._gone()] + [(path, old, new) for path, (old, new) in self._changed.items()]
        moved = {path for path, _, _ in found}
        before, after = (_twins(states) if any(state is not None and state.nlink > 1 for state in of) else {} for states, of in self._sides(found))
        return [
            PathChange(self._absolute(path), old, new, self._twin(path, old, before, moved), self._twin(path, new, after, moved))
            for path, old, new in sorted(found, key=lambda one: one[0])
        ]

    def _linked_elsewhere(self) -> None:
        """A file with a hard link that is not in the tree is named: what is written through the one is in the other, which nobody brings back."""
        for paths in _twins(self._new).values():
            if len(paths) < max(self._new[path].nlink for path in paths):
                self._leave(min(paths), LINKED_OBJECT if ".git/objects/" in min(paths) else LINKED)

    def _sides(self, found: Sequence[_Found]) -> tuple[tuple[Mapping[str, PathState], list[PathState | None]], ...]:
        """The manifest before and after, each with the states that were found in it."""
        return (self._before, [old for _, old, _ in found]), (self._new, [new for _, _, new in found])

    def _twin(self, path: str, old: PathState | None, twins: Mapping[int, Sequence[str]], moved: Collection[str]) -> bytes:
        """A path that was the same file: one that stays as it was, else the first of them, in order; b"" for that path itself."""
        if old is None or old.nlink < 2 or not stat.S_ISREG(old.mode):
            return b""
        paths = sorted(twins.get(old.ino, (path,)))
        first = next((one for one in paths if one not in moved), paths[0])
        return os.fsencode(f"{self._root}/{first}") if first != path else b""


def _twins(states: Mapping[str, PathState]) -> dict[int, list[str]]:
    """Paths of one file, by its inode."""
    found: dict[int, list[str]] = {}
    for path, state in states.items():
        if state.nlink > 1 and stat.S_ISREG(state.mode):
            found.setdefault(state.ino, []).append(path)
    return found


def _unchanged(old: PathState, now: os.stat_result) -> bool:
    return old.mtime_ns == now.st_mtime_ns and old.ctime_ns == now.st_ctime_ns and old.size == now.st_size and old.ino == now.st_ino and old.mode == now.st_mode
