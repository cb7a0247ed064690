"""Compares how a tree stands after a command with how it stood before, and puts back what may not stay, until a look finds nothing more."""

import os
from collections.abc import Sequence

import msgspec

from ..program_lookup import beneath
from ..undo.contents import KeptContents
from ..undo.path_states import REGULAR, PathChange, PathState, same
from ..undo.restoring import Restoration
from .aside import set_aside
from .judged_changes import RACY_NS, CommandRights, JudgedChanges
from .place_manifest import PlaceManifest, is_below
from .place_scan import scan

UNREAD = "it cannot be looked into"
TOO_MANY = "it made too much to look through: the rest was not looked at"
MOST_PASSES = 40
"""Looks after one command. Each takes in twice as many directories as the one before, and 5,000 new files of such places."""


class PlaceChange(msgspec.Struct, frozen=True):
    """A place that a command changed. `who` runs it; `found`: SHA-256 (hex) of what it had put there, "" for no file; `why`: why it was not put back, "" where
    it was."""

    path: str
    who: str
    found: str = ""
    why: str = ""


class TreeComparison:
    """One tree after one command. `others`: the rights of commands that ran beside it."""

    def __init__(self, before: PlaceManifest, rights: CommandRights, others: Sequence[CommandRights], contents: KeptContents, hidden: frozenset[str]) -> None:
        self._before, self._rights, self._others, self._contents, self._hidden = before, rights, others, contents, hidden
        self._found: dict[str, PlaceChange] = {}
        self._stuck: dict[str, PathState | None] = {}

    def run(self) -> tuple[list[PlaceChange], PlaceManifest]:
        """What was changed, and how the tree stands from now on: what could not be put back stands there as it should. Raises `OSError`."""
        before = self._before
        after = scan(before, self._contents, self._hidden, before)
        if after.places == before.places and after.directories == before.directories and after.unread == before.unread:
            return [], after
        for number in range(MOST_PASSES):
            judged = JudgedChanges(before, after, self._rights, self._others, self._contents)
            self._stuck = {path: left for path, left in self._stuck.items() if _as_left(after, path, left)}
            changes = judged.to_put_back(self._stuck)
            self._found = {path: one if path in self._stuck else msgspec.structs.replace(one, why="") for path, one in self._found.items()}
            if changes:
                self._restore(changes, after)
            elif not after.more:
                break
            if number + 1 < MOST_PASSES:
                after = scan(after, self._contents, self._hidden, before)
        else:
            self._found[before.root] = PlaceChange(before.root, "a program", why=TOO_MANY)
        self._tell(judged, after)
        return list(self._found.values()), _with_owed(before, after, self._stuck)

    def _restore(self, changes: Sequence[PathChange], after: PlaceManifest) -> None:
        self._contents.sync()
        changes = [set_aside(one, self._before.root, untouched_since=self._rights.since_ns - RACY_NS) for one in changes]
        _, left = Restoration(changes, [self._before.root], self._contents).run()
        why = {one.path: one.why for one in left}
        places = {**after.places, **self._before.places}
        for one in changes:
            path, state = os.fsdecode(one.path), one.before
            content = state.content if state is not None and state.kind == REGULAR else None
            self._found[path] = PlaceChange(path, places[path].who, content.hex() if content else "", why.get(one.path, ""))
            if one.path in why:
                self._stuck[path] = state

    def _tell(self, judged: JudgedChanges, after: PlaceManifest) -> None:
        before, found = self._before, self._found
        for path, why in judged.unknown.items():
            place = after.places.get(path) or before.places[path]
            found.setdefault(path, PlaceChange(path, place.who, why=why))
        for path, ctime_ns in after.unread.items():
            if before.unread.get(path) != ctime_ns:
                found.setdefault(path, PlaceChange(path, "a program", why=UNREAD))


def _as_left(after: PlaceManifest, path: str, left: PathState | None) -> bool:
    place = after.places.get(path)
    return same(place.state if place else None, left)


def _with_owed(before: PlaceManifest, after: PlaceManifest, stuck: dict[str, PathState | None]) -> PlaceManifest:
    """The later state, where what is owed stands as before, so that the next comparison finds it again."""
    owed: dict[str, PathState | None] = {path: left for path, left in stuck.items() if left is not None}
    owed |= unread_now(before, after)
    if not owed:
        return msgspec.structs.replace(after, owed={})
    return standing_as(before, msgspec.structs.replace(after, owed=owed))


def unread_now(before: PlaceManifest, after: PlaceManifest) -> dict[str, None]:
    """Directories that cannot be looked into and were known before."""
    return {path: None for path in after.unread if any(beneath(one, path) for one in (*before.places, *before.directories)) or path in before.owed}


def standing_as(older: PlaceManifest, now: PlaceManifest) -> PlaceManifest:
    """The look `now`, where each place that is owed, and all below a directory that could not be looked into, stands as in an older one."""
    below = {path: left for path, left in now.owed.items() if left is None}
    places = {path: place for path, place in now.places.items() if path not in now.owed and not is_below(path, below)}
    places |= {path: place for path, place in older.places.items() if path in now.owed or is_below(path, below)}
    directories = {path: one for path, one in now.directories.items() if not is_below(path, below)}
    directories |= {path: one for path, one in older.directories.items() if is_below(path, below)}
    leads = {path: one for path, one in now.leads.items() if path in places} | {path: older.leads[path] for path in now.owed if path in older.leads}
    return msgspec.structs.replace(now, places=places, directories=directories, leads=leads)
