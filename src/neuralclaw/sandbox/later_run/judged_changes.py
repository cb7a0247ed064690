"""What a command changed in places that code is later run from, judged: what may stay, and how the rest stood before."""

import os
from collections.abc import Container, Iterator, Sequence

import msgspec

from ...errors import ToolExecutionError
from ..program_lookup import beneath
from ..undo.contents import KeptContents
from ..undo.path_states import DIRECTORY, LINK, REGULAR, PathChange, PathState, same
from .git_settings import running_lines, without
from .kept_places import opened
from .named_places import MAX_SETTINGS_BYTES
from .place_manifest import PlaceEntry, PlaceManifest, is_below
from .place_names import HEAD

_LONGEST_POINTER = 4096
RACY_NS = 50_000_000
LATER = "it was changed after the program had ended"
UNKNOWN = "it is not known how it was before"


class CommandRights(msgspec.Struct, frozen=True, kw_only=True):
    """What a command could and was allowed to do. `write`: the places of its envelope; `kept`: those that its sandbox
    showed read-only until it ended; `by_git`: its line is
    of git alone; `since_ns`: when it began; `until_ns`: when its process died at
    the latest, 0 for one that lives; `beside`: how its other trees stood before."""

    write: tuple[str, ...]
    kept: tuple[str, ...] = ()
    by_git: bool = False
    since_ns: int = 0
    until_ns: int = 0
    beside: tuple[PlaceManifest, ...] = ()


class JudgedChanges:
    """The changes between two looks at one tree. `rights` of the command, and of those that ran beside it."""

    def __init__(self, before: PlaceManifest, after: PlaceManifest, rights: CommandRights, others: Sequence[CommandRights], contents: KeptContents) -> None:
        self._before, self._after, self._contents = before, after, contents
        self._rights, self._all = rights, (rights, *others)
        self._tops = {**before.tops(), **after.tops()}
        known = [*before.places.items(), *((path, place) for one in rights.beside for path, place in one.places.items())]
        self._known = {(place.tail(path), place.state.content, place.state.mode) for path, place in known if place.state.content}
        self._inodes = {directory.ino for one in (before, *rights.beside) for directory in one.directories.values()}
        self._targets, self._led_before = after.targets(), before.targets()
        self.unknown: dict[str, str] = {}
        """Places of which it is not known how they stood before, and why; they are left as they are."""

    def to_put_back(self, without: Container[str] = ()) -> list[PathChange]:
        """What may not stay, but for some paths: each from how it stands now to how it shall stand.

        What lies where a link or settings lead comes after these: where they are put back it is no place any more, and stays.
        """
        found = [change for change in self._each() if os.fsdecode(change.path) not in without]
        first = [change for change in found if not self._only_led_to(os.fsdecode(change.path))]
        return first or found

    def _only_led_to(self, path: str) -> bool:
        """Whether it is a place, or is none any more, by where something leads."""
        before, after = self._before.places.get(path), self._after.places.get(path)
        if before is None:
            return after is not None and after.top in self._targets
        return after is None and before.top in self._led_before

    def _each(self) -> Iterator[PathChange]:
        unclear, found, made = set[str](), set[str](), set[str]()
        for path in sorted(self._before.places.keys() | self._after.places.keys()):
            before, after = self._before.places.get(path), self._after.places.get(path)
            one = before or after
            assert one is not None
            old, new = before.state if before else None, after.state if after else None
            if same(old, new) or self._may(path) or self._by_another(path, old):
                continue
            if self._later(path, new):
                self.unknown[path] = LATER
            elif new is None:
                if not is_below(path, self._after.unread) and not self._gone(one):
                    yield PathChange(os.fsencode(path), None, old)
            elif old is None and self._is_unknown(path, new):
                if not self._copied(path, one, new):
                    unclear.add(one.top)
                    self._say_unknown(path, one, new)
            elif old is None and new.kind == DIRECTORY:
                made.add(path)
            elif not self._stays(path, one, old, new):
                found.add(path)
                yield PathChange(os.fsencode(path), new, self._wanted(path, one, old, new))
        yield from self._emptied(made, found)
        yield from (change for change in self._leading_to(unclear) if os.fsdecode(change.path) not in found)

    def _emptied(self, made: set[str], found: set[str]) -> Iterator[PathChange]:
        """Of the directories that the command made those in which nothing stays."""
        holding = {above for path, place in self._after.places.items() if path not in found and path not in made for above in _above(path, place.base)}
        hooks = {path for path in made if self._after.places[path].what == "hooks"}
        for path in sorted(made - holding - hooks):
            yield PathChange(os.fsencode(path), self._after.places[path].state, None)

    def _later(self, path: str, new: PathState | None) -> bool:
        """Whether somebody changed it after the process of the command had died, and its command with it."""
        if not self._rights.until_ns:
            return False
        at = path if new is not None else os.path.dirname(path)
        moved = (above for above in _above(path, os.path.dirname(self._before.root)) if self._came(above))
        return any(_changed_at(one) > self._rights.until_ns for one in (at, *moved))

    def _came(self, directory: str) -> bool:
        """Whether another directory is there than before: its files came with it."""
        before, after = self._before.directories.get(directory), self._after.directories.get(directory)
        return after is not None and (before is None or before.ino != after.ino)

    def _is_unknown(self, path: str, new: PathState) -> bool:
        """Whether something may have stood there before the command: it was not looked at, or was moved there from where nobody looked."""
        if not self._before.was_absent(path, directory=new.kind == DIRECTORY):
            return True
        return (self._before.cut or bool(self._before.unread)) and path not in self._before.owed and not self._touched(new)

    def _touched(self, state: PathState) -> bool:
        """Whether it was made or changed while the command ran."""
        return state.ctime_ns < 0 or state.ctime_ns >= self._rights.since_ns - RACY_NS

    def _say_unknown(self, path: str, place: PlaceEntry, new: PathState) -> None:
        if place.what == "settings" and self._runs_the_same(place, None, new):
            return  # nothing is run by them
        if new.kind != DIRECTORY and (place.what != "file" or self._touched(new)):
            self.unknown[path] = UNKNOWN

    def _leading_to(self, unclear: set[str]) -> Iterator[PathChange]:
        """Links, settings and pointers of the command that make a place of what was none and is not known."""
        for source, targets in self._after.leads.items():
            led = self._before.leads.get(source, ())
            before, after = self._before.places.get(source), self._after.places.get(source)
            if after is None or not any(target in unclear and target not in led for target in targets):
                continue
            old = before.state if before else None
            if not same(old, after.state) and not self._may(source) and (old is not None or not self._is_unknown(source, after.state)):
                yield PathChange(os.fsencode(source), after.state, old)

    def _may(self, path: str) -> bool:
        """Whether a call was allowed to change exactly this, or to make something in a directory that was not there."""
        made = path not in self._before.places and path in self._after.directories
        return any(opened(path, rights.write, self._tops) or (made and any(beneath(one, path) for one in rights.write)) for rights in self._all)

    def _by_another(self, path: str, old: PathState | None) -> bool:
        """Whether the command could not have done it: it saw the place read-only, and the file has no other name."""
        return any(beneath(path, root) for root in self._rights.kept) and (old is None or old.kind != REGULAR or old.nlink < 2)

    def _gone(self, place: PlaceEntry) -> bool:
        """Whether it may be gone: with the directory whose programs ran it, or as the way to another one, or with what made that directory a repository. Then
        nothing is run from there."""
        was, now = self._before.directories.get(place.base), self._after.directories.get(place.base)
        if place.who == "git" and was is not None and now is not None and was.kind == "repository" != now.kind:
            return True
        if place.what == "directory of git" or place.base in self._after.directories:
            return place.what == "directory of git"
        return os.path.realpath(place.base) != place.base or not (os.path.isdir(place.base) or is_below(place.base, self._after.unread))

    def _copied(self, path: str, place: PlaceEntry, new: PathState) -> bool:
        """Whether it is a copy of what was there, or was moved: with the directory whose programs run it, never into one that was there before."""
        return bool(new.content) and place.base not in self._before.directories and (place.tail(path), new.content, new.mode) in self._known

    def _stays(self, path: str, place: PlaceEntry, old: PathState | None, new: PathState) -> bool:
        if old is None and self._copied(path, place, new):
            return True
        if place.what == "directory of git":
            may = place.base not in self._before.directories or (self._git_runs and path.endswith("/.git"))
            return may and self._leads_inside(path, new)
        is_new = self._is_new(place.base)
        if place.what == "settings":
            return (is_new or self._git_runs) and self._runs_the_same(place, old, new)
        if os.path.basename(path) == HEAD and place.what == "file":
            return self._runs_nothing(place.base)
        if place.what != "file" or old is not None or not is_new:
            return False
        return self._rights.by_git and self._in_new_repository(place.base)

    @property
    def _git_runs(self) -> bool:
        """Whether a line of git runs, or runs beside the command."""
        return any(rights.by_git for rights in self._all)

    def _is_new(self, directory: str) -> bool:
        """Whether a directory was made by the command."""
        now = self._after.directories.get(directory)
        return directory not in self._before.directories and now is not None and now.ino not in self._inodes

    def _in_new_repository(self, directory: str) -> bool:
        """Whether it is, or lies in, the work tree of a repository that the command made: what that brings runs when somebody works there."""
        while directory in self._after.directories and self._is_new(directory):
            if os.path.lexists(f"{directory}/.git"):
                return True
            directory = os.path.dirname(directory)
        return False

    def _leads_inside(self, path: str, state: PathState) -> bool:
        """Whether a link or pointer to git's directory leads to one in the tree, whose hooks and settings are compared too."""
        if state.kind == LINK:
            return self._after.is_git(os.path.realpath(path))
        if state.kind != REGULAR or not state.content or state.size > _LONGEST_POINTER:
            return False
        text = os.fsdecode(self._read(state)).strip().removeprefix("gitdir:").strip()
        if "\0" in text:
            return False
        real = os.path.realpath(os.path.join(os.path.dirname(path), text))
        return self._after.is_git(real) or real in self._before.directories

    def _runs_the_same(self, place: PlaceEntry, old: PathState | None, new: PathState) -> bool:
        if new.kind != REGULAR or new.content is None or new.size > MAX_SETTINGS_BYTES:
            return False
        if old is not None and (old.kind != REGULAR or old.content is None or old.mode != new.mode):
            return False
        before, now = self._read(old), self._read(new)
        if (not now and new.size) or (not before and old is not None and old.size):
            return False  # what was there is not kept any more, so nobody knows
        return running_lines(before, place.base, self._before.root) == running_lines(now, place.base, self._before.root)

    def _runs_nothing(self, directory: str) -> bool:
        """Whether git, which takes a directory for a repository, would run nothing there: no hooks, and settings that run nothing."""
        for place in self._after.places.values():
            if place.base != directory or place.what == "file" or place.state.kind == DIRECTORY:
                continue
            if place.what != "settings" or place.state.kind != REGULAR or not place.state.content:
                return False
            text = self._read(place.state)
            if not text or running_lines(text, directory, self._before.root):
                return False
        return True

    def _read(self, state: PathState | None) -> bytes:
        """The content that was kept; b"" for none, and for one that is lost or damaged."""
        try:
            return self._contents.read(state.content) if state is not None and state.content else b""
        except ToolExecutionError:
            return b""

    def _wanted(self, path: str, place: PlaceEntry, old: PathState | None, new: PathState | None) -> PathState | None:
        """How it shall stand: as before; settings of a repository that is new without what git would run."""
        if old is not None or new is None or place.what != "settings" or new.size > MAX_SETTINGS_BYTES:
            return old
        if new.kind == REGULAR and new.content and self._is_new(place.base):
            text = without(self._read(new), place.base, self._before.root)
            if not running_lines(text, place.base, self._before.root):
                return msgspec.structs.replace(new, size=len(text), content=self._contents.keep_bytes(text))
        return old


def _changed_at(path: str) -> int:
    """When it was last changed, or moved; 0 where it is not there."""
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        return 0


def _above(path: str, base: str) -> Iterator[str]:
    """The directories between a path and its base."""
    while len(path := os.path.dirname(path)) > len(base):
        yield path
