"""Brings paths from one state back to another: each is opened without following a link, compared with what is expected there, and then changed.

What is not as expected was changed later: it is a conflict, named and left as it is.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from ...errors import ToolExecutionError
from ..nolinks import opener
from ..preimages import digest_bytes
from .attributes import attributes_of
from .contents import KeptContents
from .left_files import LeftFiles
from .making import give, make_file
from .path_states import DIRECTORY, LINK, REGULAR, PathChange, PathState, mark, same, state_of, touched

_PATH = getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC
_ANY_SIZE = 2**62
LATER = "it was changed later"
NOT_KEPT = "what was there was not kept"


class LeftPath(msgspec.Struct, frozen=True):
    """A path that was left as it is. `conflict`: somebody changed it later; else it could not be changed."""

    path: bytes
    why: str
    conflict: bool = True


class _Left(Exception):
    def __init__(self, why: str, *, conflict: bool = True) -> None:
        super().__init__(why)
        self.why, self.conflict = why, conflict


class Restoration:
    """Brings every path of `changes` from its `before`, which is how it should stand now, to its `after`.

    `roots`: real directories; a path outside them is left. `contents` has what files shall hold. `name`: a name of its own, which nobody can guess.
    `again`: one of this name was killed in the middle; what it left half done is not taken for somebody's change. `gone`: as `LeftFiles` has it.
    """

    def __init__(
        self,
        changes: Sequence[PathChange],
        roots: Sequence[str],
        contents: KeptContents,
        name: str = "",
        *,
        again: bool = False,
        gone: Collection[bytes] | None = None,
    ) -> None:
        self._changes = {change.path: change for change in changes}
        self._roots = [os.fsencode(root.rstrip("/")) for root in roots]
        self._contents = contents
        self._left: dict[bytes, LeftPath] = {}
        self._done: set[bytes] = set()
        self._made: set[bytes] = set()
        self._homeless: set[bytes] = set()
        self._lent: dict[bytes, int] = {}
        self._gone, self._stays = gone, LeftFiles(())
        self._name, self._again = os.fsencode(name) or os.urandom(16), again

    def run(self) -> tuple[list[bytes], list[LeftPath]]:
        """The paths that stand as wanted now, and those that were left. Can be run again: what stands as wanted already is counted and not touched."""
        self._each(self._judge, self._changes.values())
        self._spare_all()
        rest = [change for change in self._changes.values() if change.path not in self._left and change.path not in self._done]
        inward = sorted(rest, key=lambda one: one.path.count(b"/"))
        outward = inward[::-1]
        self._each(self._open_up, [one for one in inward if _is_directory(one.before) and _is_directory(one.after)])
        free = [one for one in inward if not _is_directory(one.before) and not self._blocked(one)]
        self._each(self._make_directory, [one for one in free if one.before is None and _is_directory(one.after)])
        self._each(self._put, [one for one in free if one.after is not None and not _is_directory(one.after) and not one.after_twin])
        self._spare_all()  # what could not be made is left: nothing that it may be goes
        self._each(self._remove, [one for one in outward if one.before is not None and not _is_directory(one.before) and _goes(one)])
        self._each(self._remove_directory, [one for one in outward if _is_directory(one.before) and not _is_directory(one.after)])
        self._each(self._make_directory, [one for one in inward if _is_directory(one.after) and not _is_directory(one.before) and one.path not in self._made])
        files = [one for one in inward if one.after is not None and not _is_directory(one.after) and one.path not in self._made]
        self._each(self._put, [one for one in files if not one.after_twin])
        self._each(self._put, [one for one in files if one.after_twin])
        self._each(self._set_mode, [one for one in outward if _is_directory(one.after)])
        self._take_back()
        done = [path for path in self._changes if path not in self._left]
        return done, [self._left[path] for path in sorted(self._left)]

    def _each(self, step: Callable[[PathChange], None], changes: Iterable[PathChange]) -> None:
        for change in changes:
            if change.path in self._left or change.path in self._done:
                continue
            try:
                try:
                    step(change)
                except PermissionError:
                    if not self._lend(change.path):
                        raise
                    step(change)
            except _Left as left:
                self._leave(change.path, left.why, conflict=left.conflict)
            except ToolExecutionError as error:
                self._leave(change.path, error.text, conflict=False)
            except OSError as error:
                swapped = error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY)
                self._leave(change.path, LATER if swapped else error.strerror or str(error), conflict=swapped)

    def _lend(self, path: bytes) -> bool:
        """Make its root and the directories above it usable for their owner, until the end; whether one was changed."""
        root = next((root for root in self._roots if path.startswith(root + b"/")), None)
        if root is None:
            return False
        lent, place = False, b""
        for name in (root, *path[len(root) + 1 :].split(b"/")[:-1]):
            place = os.path.join(place, name)
            try:
                with self._parent(place) as at:
                    mode = _change_mode(at, os.path.basename(place), lambda mode: mode | 0o700)
            except (OSError, _Left):
                return lent
            if mode is not None:
                lent = True
                self._lent.setdefault(place, mode)
        return lent

    def _take_back(self) -> None:
        """The directories that were lent have the mode again that they had, but for those whose mode was to be changed."""
        for place in sorted(self._lent, reverse=True):
            change = self._changes.get(place)
            if change is None or change.path in self._left or not _is_directory(change.after):
                with suppress(OSError, _Left), self._parent(place) as at:
                    _change_mode(at, os.path.basename(place), lambda _, mode=self._lent[place]: mode)  # type: ignore[misc]

    def _leave(self, path: bytes, why: str, *, conflict: bool) -> None:
        self._left[path] = LeftPath(path, why, conflict)

    def _judge(self, change: PathChange) -> None:
        """Leave what was changed later or cannot be made again; tick off what stands as wanted."""
        only_mode = change.path in self._roots and _is_directory(change.before) and _is_directory(change.after)
        if not only_mode and not any(change.path.startswith(root + b"/") for root in self._roots):
            raise _Left("it is outside the workspace and allowed paths", conflict=False)
        try:
            with self._parent(change.path) as at:
                if self._again:
                    with suppress(OSError):
                        os.unlink(self._temporary(change), dir_fd=at)
                now = self._now(at, change)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):  # (a link, or a file, where a directory will be)
                raise
            now = None
            self._homeless.add(change.path)
        if same(now, change.after) and not touched(now, change.after):
            self._done.add(change.path)
            return
        if self._again and _half_done(now, change):
            change = self._changes[change.path] = msgspec.structs.replace(change, before=now)
            self._made.update([change.path] if now is not None else [])
        if not same(now, change.before):
            raise _Left(LATER)
        if change.after is not None and not change.after.kept:
            raise _Left(NOT_KEPT, conflict=False)
        if change.before is not None and not change.before.kept:
            raise _Left("what is there now was not kept, and could not be brought back again", conflict=False)
        if change.after is not None and change.after.kind == REGULAR and not self._contents.has(change.after.content or b""):
            raise _Left("what was there is not kept any more", conflict=False)
        self._keep_now(change)

    def _spare_all(self) -> None:
        """Leave what depends on a path that is left, and what depends on that."""
        count = -1
        while count < len(self._left):
            count = len(self._left)
            rest = [change for path, change in self._changes.items() if path not in self._left]
            self._stays = LeftFiles([self._changes[path] for path in self._left], rest, self._gone)
            self._each(self._spare, self._changes.values())

    def _spare(self, change: PathChange) -> None:
        """What was moved here from a path that is left as it is stays: it may be there nowhere else. So does what has no directory to go to."""
        if why := self._stays.moved(change):
            raise _Left(why, conflict=False)
        above = os.path.dirname(change.path)
        if change.path in self._homeless and (above in self._left or above not in self._changes or not _is_directory(self._changes[above].after)):
            raise _Left(LATER)

    def _blocked(self, change: PathChange) -> bool:
        """Whether a directory has to be made above it where something else stands."""
        path = change.path
        while len(path := os.path.dirname(path)) > 1:
            above = self._changes.get(path)
            if above is not None and above.before is not None and not _is_directory(above.before):
                return True
        return False

    def _keep_now(self, change: PathChange) -> None:
        """What stands there is kept before it goes, so that it can be brought back in its turn."""
        before = change.before
        if before is None or before.kind != REGULAR:
            return
        if before.content is not None and self._contents.has(before.content):
            for _ in self._contents.pieces(before.content) if before.content != self._content_after(change) else ():
                pass  # a damaged one is found before the good one goes
            return
        try:
            with self._parent(change.path) as at:
                fd = os.open(os.path.basename(change.path), _READ, dir_fd=at)
        except PermissionError:
            raise _Left("what is there now cannot be read, and so not be kept", conflict=False) from None
        try:
            if stat.S_ISREG(os.fstat(fd).st_mode) and self._contents.keep(fd, _ANY_SIZE) != before.content and before.content is not None:
                raise _Left(LATER)
        finally:
            os.close(fd)

    def _content_after(self, change: PathChange) -> bytes | None:
        return change.after.content if change.after is not None and change.after.kind == REGULAR else None

    def _now(self, at: int, change: PathChange) -> PathState | None:
        """What stands there now, with its content where that is compared."""
        name = os.path.basename(change.path)
        try:
            status = os.stat(name, dir_fd=at, follow_symlinks=False)
        except FileNotFoundError:
            return None
        state = state_of(status, b"")
        if state.kind == LINK:
            return msgspec.structs.replace(state, content=os.readlink(name, dir_fd=at))
        if state.kind != REGULAR:
            return state
        for known in (change.before, change.after):
            if known is not None and known.content is not None and known.mark == state.mark:
                return msgspec.structs.replace(state, content=known.content, attributes=known.attributes)  # nobody wrote to it
        sizes = {known.size for known in (change.before, change.after) if known is not None and known.kind == REGULAR}
        if status.st_size not in sizes and _sized(change):
            return msgspec.structs.replace(state, content=b"another")
        try:
            fd = os.open(name, _READ, dir_fd=at)
        except PermissionError:
            return msgspec.structs.replace(state, content=None)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise _Left(LATER)
            found = msgspec.structs.replace(state, content=digest_bytes(fd), attributes=attributes_of(fd))
            if mark(status) != mark(os.stat(name, dir_fd=at, follow_symlinks=False)):
                raise _Left(LATER)  # somebody saved it meanwhile
            return found
        finally:
            os.close(fd)

    def _open_up(self, change: PathChange) -> None:
        """A directory that stays can be worked in, whatever its mode is now."""
        with self._parent(change.path) as at:
            self._chmod(at, change, stat.S_IMODE(change.before.mode if change.before else 0) | 0o700)

    def _remove(self, change: PathChange) -> None:
        with self._parent(change.path) as at:
            self._expect(at, change)
            os.unlink(os.path.basename(change.path), dir_fd=at)

    def _remove_directory(self, change: PathChange) -> None:
        with self._parent(change.path) as at:
            try:
                os.rmdir(os.path.basename(change.path), dir_fd=at)
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    raise _Left("it holds what was made later, or what was left") from None
                raise

    def _make_directory(self, change: PathChange) -> None:
        with self._parent(change.path) as at:
            os.mkdir(os.path.basename(change.path), 0o700, dir_fd=at)
            self._made.add(change.path)

    def _set_mode(self, change: PathChange) -> None:
        assert change.after is not None
        with self._parent(change.path) as at:
            self._chmod(at, change, stat.S_IMODE(change.after.mode), owner=change.path in self._made)

    def _chmod(self, at: int, change: PathChange, mode: int, *, owner: bool = False) -> None:
        owned = change.after if owner else None
        _change_mode(at, os.path.basename(change.path), lambda _: mode, owned)

    def _temporary(self, change: PathChange) -> bytes:
        """The name under which it is made beside its place."""
        return b".neuralclaw-" + hashlib.sha256(self._name + change.path).hexdigest()[:16].encode()

    def _put(self, change: PathChange) -> None:
        """Make the file, link or pipe beside its place and move it there in one step."""
        after, name = change.after, os.path.basename(change.path)
        assert after is not None
        with self._parent(change.path) as at:
            temporary = self._temporary(change)
            try:
                if not self._twinned(change, temporary, at):
                    make_file(after, temporary, at, self._contents, like=name)
                self._expect(at, change)
                os.rename(temporary, name, src_dir_fd=at, dst_dir_fd=at)
                self._made.add(change.path)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=at)

    def _twinned(self, change: PathChange, temporary: bytes, at: int) -> bool:
        """Make it the same file as its twin again, where that stands as it was; else it becomes a file of its own."""
        if not change.after_twin or change.after is None or not any(change.after_twin.startswith(root + b"/") for root in self._roots):
            return False
        with suppress(OSError, _Left), self._parent(change.after_twin) as there:
            name = os.path.basename(change.after_twin)
            now = self._now(there, PathChange(change.after_twin, change.after, change.after))
            if same(now, change.after):
                os.link(name, temporary, src_dir_fd=there, dst_dir_fd=at, follow_symlinks=False)
                return True
        return False

    def _expect(self, at: int, change: PathChange) -> None:
        """It stands there still as it was judged, or was taken away by a step before."""
        now = self._now(at, change)
        if now is None and change.before is not None and (_goes(change) or _is_directory(change.before)):
            return
        if not same(now, change.before):
            raise _Left(LATER)

    @contextmanager
    def _parent(self, path: bytes) -> Iterator[int]:
        fd = opener()(os.fsdecode(os.path.dirname(path)), _PATH | os.O_DIRECTORY, 0)
        try:
            yield fd
        finally:
            os.close(fd)


def _change_mode(at: int, name: bytes, wanted: Callable[[int], int], owner: PathState | None = None) -> int | None:
    """Give the directory of this name the mode, and the owner of that state; the mode that it had, None where it had the wanted one already."""
    fd = os.open(name, _PATH | os.O_NOFOLLOW, dir_fd=at)
    try:
        status = os.fstat(fd)
        if not stat.S_ISDIR(status.st_mode):
            raise _Left(LATER)
        if owner is not None:
            give(f"/proc/self/fd/{fd}", owner)
        mode = stat.S_IMODE(status.st_mode)
        if wanted(mode) == mode and owner is None:
            return None
        os.chmod(f"/proc/self/fd/{fd}", wanted(mode))
        return mode
    finally:
        os.close(fd)


def _half_done(now: PathState | None, change: PathChange) -> bool:
    """It stands as a restoration leaves it that is killed between two steps: taken away, or a directory that is open for its owner."""
    if now is None:
        return change.before is not None
    if now.kind != DIRECTORY or not _is_directory(change.after):
        return False
    kept = change.before if _is_directory(change.before) else None
    return stat.S_IMODE(now.mode) == (0o700 if kept is None else stat.S_IMODE(kept.mode) | 0o700)


def _is_directory(state: PathState | None) -> bool:
    return state is not None and state.kind == DIRECTORY


def _goes(change: PathChange) -> bool:
    """It is taken away before anything is put in its place."""
    return change.after is None or _is_directory(change.after)


def _sized(change: PathChange) -> bool:
    """The sizes of both states are known."""
    return all(state is None or state.size >= 0 for state in (change.before, change.after))
