"""Where undo keeps things in a home, and how long."""

import fcntl
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ...sandbox.running_call import RunningCall
from ...sandbox.undo.contents import KeptContents, make_private
from ...sandbox.undo.path_states import REGULAR, PathChange, encode_changes
from ...sandbox.undo.saved_tree import SavedTree, forget, tree_name
from ...sandbox.undo.tree_manifest import MANIFEST, contents_of
from ...sandbox.undo.tree_scan import ScanLimits
from .undo_events import UndoSettings

log = logging.getLogger(__name__)

CLEAN_EVERY = 3_600.0
"""Seconds between two clean-ups that nobody asked for."""
_COPIES = 0.45
"""Of all that may be kept so much is copies of the places that a command may write, at most: as much again is what a command replaces in them."""
LAST_HOUR = 3_600.0
"""Seconds that what a turn changed can be undone, however much it is."""
_MB = 1_000_000
_DAY = 86_400.0


class UndoStore:
    """The directory `undo` of a home: contents of files, and the saved states of trees. `roots`: how many of them a command may write at most."""

    def __init__(self, home: str, settings: UndoSettings, *, roots: int = 1) -> None:
        self.settings = settings
        self._room = settings.max_mb * _MB
        tree_bytes = min(settings.max_workspace_mb * _MB, int(self._room * _COPIES / roots))
        self._limits = ScanLimits(settings.max_file_mb * _MB, tree_bytes, settings.max_files)
        self._home = os.path.realpath(home)
        self._trees_dir = f"{self._home}/undo/trees"
        self._cleaned = f"{self._home}/undo/cleaned"
        self.contents = KeptContents(f"{self._home}/undo/contents", f"{self._home}/preimages")
        self._trees: dict[str, SavedTree] = {}

    def tree(self, root: str) -> SavedTree:
        """The saved state of the tree at this real path."""
        if root not in self._trees:
            self._trees[root] = SavedTree(root, self._trees_dir, self.contents, self._limits, (self._home,))
        return self._trees[root]

    def keep_list(self, changes: Sequence[PathChange]) -> bytes:
        """Keep a list of changes; its SHA-256. The contents that it names are used now: they count as young from here. Raises `NotSaved`."""
        for change in changes:
            for state in (change.before, change.after):
                if state is not None and state.kind == REGULAR and state.content is not None:
                    self.contents.has(state.content)
        return self.contents.keep_bytes(encode_changes(changes), reserve=False)

    def share(self, call: RunningCall, changes: Sequence[PathChange], handed_out: str = "") -> list[PathChange]:
        """The changes of a call, each with what other commands that run there may have changed it, in whatever tree around or below; they are told of it.

        `handed_out`: the root of the tree that has told its commands already. Blocks while such a tree is looked at. Raises `OSError`.
        """
        names = {place.name for place in _directories(self._trees_dir)}
        found: dict[bytes, str] = {}
        shared: dict[bytes, str] = {}
        inside: dict[str, list[PathChange]] = {}
        for change in changes if names else ():
            for directory in _above(change.path):
                if directory not in found:
                    root = os.fsdecode(directory)
                    found[directory] = root if tree_name(root) in names and root != handed_out else ""
                if found[directory]:
                    inside.setdefault(found[directory], []).append(change)
        for root, some in inside.items():
            if self.tree(root).interrupted() and (others := self.tree(root).share(call, some)):
                shared |= {change.path: others for change in some}
        return [msgspec.structs.replace(change, shared=change.shared or shared.get(change.path, "")) for change in changes]

    def with_twins(self, changes: Sequence[PathChange], roots: Sequence[str]) -> list[PathChange]:
        """The changes of single files, each with another path that was the same file before, by a hard link."""
        found = []
        for change in changes:
            if change.before is not None and change.before.nlink > 1 and change.before.kind == REGULAR:
                root = next((one for one in roots if change.path.startswith(os.fsencode(one) + b"/")), None)
                twin = self.tree(root).twin_of(change.path, change.before) if root is not None and self.tree(root).known else b""
                change = msgspec.structs.replace(change, twin=twin)
            found.append(change)
        return found

    def kept_until(self, recorded: float) -> str:
        """Until when what was recorded then was kept, as a date."""
        return datetime.fromtimestamp(recorded + self.settings.keep_days * _DAY, UTC).strftime("%Y-%m-%d %H:%M UTC")

    def clean_in_background(self, stop: Callable[[], bool]) -> None:
        """Clean up in a thread that nobody waits for, where nobody has for `CLEAN_EVERY`. One that is stopped is gone on with by the next."""
        try:
            age = time.time() - Path(self._cleaned).stat().st_mtime
        except OSError:
            age = CLEAN_EVERY
        if not 0 <= age < CLEAN_EVERY:
            threading.Thread(target=self.clean_quietly, args=(stop,), name="neuralclaw-undo-cleaning", daemon=True).start()

    def clean_quietly(self, stop: Callable[[], bool]) -> None:
        """As `clean`; what goes wrong is logged."""
        try:
            self.clean(stop)
        except OSError as error:
            log.warning("what undo keeps could not be cleaned up: %s", error)

    def clean(self, stop: Callable[[], bool] = bool) -> int:
        """Remove what is older than it is kept, and the oldest of what is too much; how many files were removed. Raises `OSError`.

        What the saved state of a tree needs stays as long as the tree is used. A tree that was not used for that long is copied anew when it is used; so is
        the one that was not used for longest where the saved states need more than half of the room: the other half is what calls replaced.
        One process at a time does it, and another does nothing meanwhile. `stop` is asked often.
        """
        make_private(str(Path(self._cleaned).parent))
        fd = os.open(self._cleaned, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            removed = self._remove(stop)
            os.utime(fd, (0, 0) if stop() else None)
            return removed
        except BlockingIOError:
            return 0
        finally:
            os.close(fd)

    def _needed(self, sizes: Mapping[str, int]) -> set[str]:
        """The contents that saved trees need. The state of a tree that is not used any more goes, and of one that there is no room for."""
        oldest = time.time() - self.settings.keep_days * _DAY
        needed, taken = set[str](), 0
        for used, directory in sorted(((_used(place), str(place)) for place in _directories(self._trees_dir)), reverse=True):
            if used < oldest and forget(directory):
                _remove_directory(Path(directory))
                continue
            more = contents_of(directory) - needed
            size = sum(sizes.get(name, 0) for name in more)
            if needed and taken + size > self._room // 2 and forget(directory):
                continue
            needed |= more
            taken += size
        return needed

    def _remove(self, stop: Callable[[], bool]) -> int:
        oldest = time.time() - self.settings.keep_days * _DAY
        files = sorted(((status.st_mtime, min(status.st_size, status.st_blocks * 512), path) for path, status in self.contents.files()), reverse=True)
        sizes = {_content(path): size for _, size, path in files}
        needed = self._needed(sizes)
        room, removed = max(self._room - sum(sizes.get(name, 0) for name in needed), self._room // 2), 0
        for changed, size, file in files:
            if stop():
                break
            if _content(file) in needed:
                continue
            room -= size
            if changed < oldest or (room < 0 and changed < time.time() - LAST_HOUR):
                with suppress(OSError):
                    if Path(file).stat().st_mtime > changed:
                        continue  # it was kept again meanwhile
                    Path(file).unlink()
                    removed += 1
                    room += size
        return removed


def _content(file: str) -> str:
    """The content that a kept file holds, as SHA-256."""
    return Path(file).name.removesuffix(".z")


def _used(directory: Path) -> float:
    return max((_time(directory / name) for name in ("lock", MANIFEST)), default=0.0)


def _remove_directory(directory: Path) -> None:
    for path in directory.iterdir():
        with suppress(OSError):
            path.unlink()
    with suppress(OSError):
        directory.rmdir()


def _above(path: bytes) -> Iterator[bytes]:
    """The directories that hold the path."""
    while path != b"/":
        path = path.rpartition(b"/")[0] or b"/"
        yield path


def _directories(place: str) -> list[Path]:
    try:
        return [path for path in Path(place).iterdir() if path.is_dir()]
    except OSError:
        return []


def _time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
