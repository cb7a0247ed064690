"""How the places of a tree stood that code is later run from, and what is known of the rest: three states, known, absent and not looked at."""

import os
from collections.abc import Container, Mapping, Sequence
from typing import Literal

import msgspec

from ..program_lookup import beneath
from ..undo.path_states import PathState
from .place_names import HEAD, place_names, top_names

FORMAT = 3
DirectoryKind = Literal["directory", "repository", "git", "place", "hooks"]
PlaceKind = Literal["file", "hooks", "settings", "included settings", "attributes", "directory of git"]


class PlaceDirectory(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A directory as it was last listed. `below`: directories in it that are looked through; `whole`: those that are places; `tops`: other names that
    are places, and in a place all files. `git` is a `.git`; a `repository` has another name and a file `HEAD`, so that git may take it for one."""

    kind: DirectoryKind
    ino: int
    mtime_ns: int
    ctime_ns: int
    below: tuple[str, ...]
    whole: tuple[str, ...]
    tops: tuple[str, ...]

    def shows(self, name: str) -> bool:
        return name in self.below or name in self.whole or name in self.tops


class PlaceEntry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """PlaceKind stands at a path in a place. `base`: the directory whose programs run it, `who` runs it; `top`: the path of the whole place."""

    state: PathState
    who: str
    what: PlaceKind
    base: str
    top: str

    def tail(self, path: str) -> str:
        """The path as seen from the directory whose programs run it."""
        return path.removeprefix(f"{self.base}/")


class PlaceManifest(msgspec.Struct, frozen=True):
    """How a tree stood. `places`: by absolute path; `directories` likewise. `cut`: there were more directories or files than are looked through.

    `named`: by path of settings and pointers of git, what they name, unresolved. `leads`: by path of a link, settings or pointer, where it leads in the tree.
    `nothing`: of these, and of the way there, what was not there. `unread`: directories that could not be looked into, with their time of change.
    `owed`: places that a command changed and that could not be put back: they stand here as they should, with how they were left, None for not known.
    `more`: this look met its bound in what is new.
    """

    root: str
    directories: dict[str, PlaceDirectory] = {}
    places: dict[str, PlaceEntry] = {}
    named: dict[str, tuple[tuple[str, str], ...]] = {}
    leads: dict[str, tuple[str, ...]] = {}
    nothing: frozenset[str] = frozenset()
    unread: dict[str, int] = {}
    owed: dict[str, PathState | None] = {}
    cut: bool = False
    more: bool = False

    def tops(self) -> dict[str, str]:
        """Whole places, and who runs them."""
        return {place.top: place.who for place in self.places.values()}

    def targets(self) -> frozenset[str]:
        """Where links and settings lead."""
        return frozenset(target for targets in self.leads.values() for target in targets)

    def is_git(self, path: str) -> bool:
        """Whether it is a directory of git's own that was looked into."""
        known = self.directories.get(path)
        return known is not None and known.kind in ("git", "repository")

    def was_absent(self, path: str, *, directory: bool) -> bool:
        """Whether it is known that no such place was at a path that is not among the places. `directory`: that is one now."""
        if path in self.owed or path in self.nothing:
            return True
        names = path.removeprefix(f"{self.root}/").split("/")
        at = self.root
        for depth, name in enumerate(names):
            known, here, last = self.directories.get(at), f"{at}/{name}", depth == len(names) - 1
            if known is None:
                return False  # it was not looked into
            if here in self.directories:
                if last:
                    return not directory  # it was a directory, and no such file
                at = here
                continue
            if here in self.places or here in self.nothing:
                return True  # a file, or nothing: so nothing was below it
            listed = _listed(known, "/".join(names[depth:]), at if at == self.root else "")
            return not known.shows(name) and (listed or (known.kind != "git" and (directory or not last)))
        return False


def _listed(known: PlaceDirectory, rest: str, root: str) -> bool:
    """Whether a listing of this directory has such a name where it is there. Of ordinary directories it has all directories, and files that are places.

    `root`: the directory, where it is the place to write, else "".
    """
    name, names = rest.partition("/")[0], place_names()
    if known.kind in ("place", "hooks"):
        return True
    if known.kind in ("git", "repository") and (name in ("modules", "worktrees") or any(one.partition("/")[0] == name for one in names.git)):
        return True
    if known.kind == "git":
        return False
    small = rest.lower()
    if rest == HEAD or small == ".git" or small in names.anywhere:
        return True
    if small in names.repository and (root or known.shows(".git")):
        return True
    return root != "" and small in top_names(root)


def is_below(path: str, roots: Mapping[str, object]) -> bool:
    return any(beneath(path, root) for root in roots)


def only_at(now: PlaceManifest, paths: Sequence[str], new: Container[str]) -> PlaceManifest:
    """Of a look what is at these paths, and of the directories above them those that are new, with the names of these paths alone: what else lies there, or in
    a directory that was there before, says nothing of how it stood."""
    above = {one for one in now.directories if any(beneath(path, one) for path in paths)}
    return PlaceManifest(
        now.root,
        {path: _with_names(now.directories[path], path, (*above, *paths)) for path in above if path in new},
        {path: place for path, place in now.places.items() if path in paths or path in above},
        leads={path: now.leads[path] for path in paths if path in now.leads},
    )


def _with_names(directory: PlaceDirectory, at: str, paths: Sequence[str]) -> PlaceDirectory:
    names = {path.rpartition("/")[2] for path in paths if os.path.dirname(path) == at}
    below, whole, tops = (tuple(name for name in one if name in names) for one in (directory.below, directory.whole, directory.tops))
    return msgspec.structs.replace(directory, below=below, whole=whole, tops=tops)


class StoredPlaces(msgspec.Struct, frozen=True, array_like=True):
    """A manifest as it is on the disk: paths are bytes. `gone`: paths without a place, for what another command changed."""

    format: int
    root: bytes
    directories: list[tuple[bytes, str, int, int, int, tuple[bytes, ...], tuple[bytes, ...], tuple[bytes, ...]]]
    places: list[tuple[bytes, PathState, str, str, bytes, bytes]]
    named: list[tuple[bytes, tuple[tuple[str, bytes], ...]]]
    leads: list[tuple[bytes, tuple[bytes, ...]]]
    nothing: list[bytes]
    unread: list[tuple[bytes, int]]
    owed: list[tuple[bytes, PathState | None]]
    cut: bool


decoder = msgspec.msgpack.Decoder(StoredPlaces)


def encoded(manifest: PlaceManifest) -> StoredPlaces:
    code = os.fsencode

    def many(paths: tuple[str, ...]) -> tuple[bytes, ...]:
        return tuple(map(code, paths))

    return StoredPlaces(
        FORMAT,
        code(manifest.root),
        [
            (code(path), one.kind, one.ino, one.mtime_ns, one.ctime_ns, many(one.below), many(one.whole), many(one.tops))
            for path, one in manifest.directories.items()
        ],
        [(code(path), one.state, one.who, one.what, code(one.base), code(one.top)) for path, one in manifest.places.items()],
        [(code(path), tuple((kind, code(value)) for kind, value in one)) for path, one in manifest.named.items()],
        [(code(path), many(one)) for path, one in manifest.leads.items()],
        [code(path) for path in sorted(manifest.nothing)],
        [(code(path), ctime) for path, ctime in manifest.unread.items()],
        [(code(path), state) for path, state in manifest.owed.items()],
        manifest.cut,
    )


def decoded(stored: StoredPlaces) -> PlaceManifest:
    text = os.fsdecode

    def many(paths: tuple[bytes, ...]) -> tuple[str, ...]:
        return tuple(map(text, paths))

    return PlaceManifest(
        text(stored.root),
        {
            text(path): PlaceDirectory(kind, ino, mtime, ctime, many(below), many(whole), many(tops))  # type: ignore[arg-type]
            for path, kind, ino, mtime, ctime, below, whole, tops in stored.directories
        },
        {text(path): PlaceEntry(state, who, what, text(base), text(top)) for path, state, who, what, base, top in stored.places},  # type: ignore[arg-type]
        {text(path): tuple((kind, text(value)) for kind, value in one) for path, one in stored.named},
        {text(path): many(one) for path, one in stored.leads},
        frozenset(map(text, stored.nothing)),
        {text(path): ctime for path, ctime in stored.unread},
        {text(path): state for path, state in stored.owed},
        stored.cut,
    )
