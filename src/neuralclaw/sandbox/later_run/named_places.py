"""Where links, settings and pointers of git lead in a tree: what lies there is a place too, and so is each link on the way."""

import os
from collections.abc import Iterator, Mapping

import msgspec

from ..nolinks import opener
from ..program_lookup import beneath
from .git_names import Named, names_of_pointer, names_of_settings
from .place_manifest import PlaceEntry, PlaceKind

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC
_LONGEST_PATH = 4096
MAX_SETTINGS_BYTES = 250_000
"""What is read of settings; git's own have some thousand."""
_MOST_LINKS = 40


class NamedPlace(msgspec.Struct, frozen=True):
    """A path that something names, unresolved. `sources`: what names it; a change of any of them may be why."""

    path: str
    what: PlaceKind
    sources: tuple[str, ...]


class Way(msgspec.Struct, frozen=True):
    """Where a path leads. `links`: on the way; `missing`: the first part that is not there, "" where all is."""

    real: str
    links: tuple[str, ...]
    missing: str


def way_of(path: str, root: str) -> Way:
    """Follow the links of a path. Those below `root` are told."""
    rest, at, links = path.split("/")[::-1], "", list[str]()
    missing, followed = "", 0
    while rest:
        name = rest.pop()
        if name in ("", "."):
            continue
        if name == "..":
            at = at.rpartition("/")[0]
            continue
        here = f"{at}/{name}"
        if not missing:
            try:
                target = os.readlink(here)
            except OSError:
                if not os.path.lexists(here):
                    missing = here
            else:
                followed += 1
                if followed > _MOST_LINKS:
                    return Way(here, tuple(links), here)
                if beneath(here, root):
                    links.append(here)
                at = "" if target.startswith("/") else at
                rest += target.split("/")[::-1]
                continue
        at = here
    return Way(at or "/", tuple(links), missing)


def names_in(path: str, place: PlaceEntry) -> Named:
    """What a file of settings, or a pointer, names. Reads it."""
    text = _text(path)
    found = names_of_settings(text) if place.what in ("settings", "included settings") else names_of_pointer(text, os.path.basename(path))
    return tuple(one for one in found if "\0" not in one[1] and len(one[1]) < _LONGEST_PATH)


def named_places(names: Mapping[str, Named], places: Mapping[str, PlaceEntry]) -> Iterator[NamedPlace]:
    """What the settings name, for every work tree that they hold for."""
    trees = list(_work_trees(names))
    for path, named in names.items():
        place = places.get(path)
        if place is None or place.what not in ("settings", "included settings"):
            continue
        own = place.base.removesuffix("/.git") if place.base.endswith("/.git") else ""
        work: list[tuple[str, tuple[str, ...]]] = [(tree, (path, source)) for base, tree, source in trees if base == place.base]
        work += [(own or place.base, (path,))] if own or not work else []
        for kind, value in named:
            if kind == "settings":
                yield NamedPlace(_joined(os.path.dirname(path), value), "included settings", (path,))
            elif kind != "work tree":
                yield from (NamedPlace(at, "file", sources) for tree, sources in work if _counts(kind, at := _joined(tree, value)))


def _work_trees(names: Mapping[str, Named]) -> Iterator[tuple[str, str, str]]:
    """Directories of git, the work trees that their settings hold for, and what says so."""
    commons = {os.path.dirname(path): _joined(os.path.dirname(path), value) for path, named in names.items() for kind, value in named if kind == "common"}
    for path, named in names.items():
        at = os.path.dirname(path)
        for kind, value in named:
            if kind == "directory of git":
                gitdir = os.path.realpath(_joined(at, value))
                yield gitdir, at, path
                if gitdir in commons:
                    yield os.path.realpath(commons[gitdir]), at, path
            elif kind == "work tree":
                yield at, os.path.realpath(_joined(at, value)), path


def _joined(at: str, value: str) -> str:
    return os.path.normpath(os.path.join(at, os.path.expanduser(value))) if value.startswith("~") else os.path.join(at, value)


def _counts(kind: str, path: str) -> bool:
    """Hooks wherever they lead; of the words of a command those that are files to run."""
    return kind == "hooks" or (os.path.isfile(path) and (kind == "script" or os.access(path, os.X_OK)))


def _text(path: str) -> bytes:
    """The beginning of a file; nothing of one that cannot be read."""
    try:
        fd = opener()(path, _READ, 0)
    except OSError:
        return b""
    try:
        return os.read(fd, MAX_SETTINGS_BYTES)
    except OSError:
        return b""
    finally:
        os.close(fd)
