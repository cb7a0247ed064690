"""Which of the places that code is later run from a sandbox with mounts shows read-only, and which a call was allowed to change."""

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from ..program_lookup import beneath
from .place_manifest import PlaceManifest
from .place_names import named_place
from .place_scan import scan

MOST = 40
"""Places that are mounted read-only; each costs time with every command. Others are compared afterwards."""
_MOST_ROOTS = 20
_known: dict[str, PlaceManifest] = {}


def roots_of(write: Sequence[str]) -> list[str]:
    """Of the places to write the directories, none of them inside another. Reads the disk."""
    found = [path for path in dict.fromkeys(write) if os.path.basename(path) != ".git" and os.path.isdir(path)]
    return [path for path in found if not any(one != path and beneath(path, one) for one in found)]


def opened(path: str, write: Sequence[str], tops: Collection[str], *, settings: bool = False) -> bool:
    """Whether a call was allowed to change this place: its envelope names the place, or what it lies in. `settings`: it holds settings of git, which a line of
    git may write, whose envelope names the repository.

    What counts are the names below the place to write that the other one lies in: the workspace may lie in a directory called `.github` itself.
    """
    for root in write:
        if not beneath(path, root):
            continue
        if os.path.basename(root) == ".git":
            if settings:
                return True
        elif root in tops or any(beneath(root, top) for top in tops) or _named_below(root, write):
            if path == root or not named_place(path.removeprefix(root)):
                return True
    return False


def _named_below(path: str, write: Sequence[str]) -> bool:
    """Whether it is such a place by its names below another place to write."""
    return any(one != path and beneath(path, one) and named_place(path.removeprefix(one)) for one in write)


def kept_of(manifest: PlaceManifest, write: Sequence[str]) -> tuple[str, ...]:
    """Those that a sandbox with mounts shows read-only, the shallowest first. A link is none: it cannot be mounted on. Reads the disk.

    A line of git changes files of the project as one: none of them is read-only to it, so that it does not stop halfway. Nor is a place that holds one which
    the call may change, since nothing in a mounted directory can be replaced or removed. Both are compared afterwards.
    """
    tops: Mapping[str, str] = manifest.tops()
    settings = {place.top for place in manifest.places.values() if place.what in ("settings", "attributes", "directory of git")}
    found = sorted(tops, key=lambda path: (path.count("/"), path))
    going = [root for root in write if any(one != root and beneath(root, one) for one in write) and os.path.basename(root) != ".git"]
    found = [path for path in found if not any(beneath(path, root) for root in going)]  # the words of the call name what it lies in
    if any(os.path.basename(root) == ".git" for root in write):
        project = {place.top for place in manifest.places.values() if place.what == "file"}
        found = [path for path in found if path not in project]
    found = [path for path in found if not any(root != path and beneath(root, path) for root in write)]
    kept = (path for path in found if not opened(path, write, tops, settings=path in settings) and os.path.realpath(path) == path and os.path.exists(path))
    return tuple(path for _, path in zip(range(MOST), kept, strict=False))


def kept_in(write: Sequence[str], hidden: Sequence[str] = ()) -> tuple[str, ...]:
    """The same for places to write as they stand now. Reads the disk."""
    found: list[str] = []
    for root in roots_of(write):
        if root not in _known and len(_known) >= _MOST_ROOTS:
            _known.clear()
        _known[root] = scan(_known.get(root, PlaceManifest(root)), None, frozenset(hidden))
        found += kept_of(_known[root], write)
        found += environments_in(root, write)
    return tuple(found)


def environments_in(root: str, write: Sequence[str]) -> list[str]:
    """Environments of Python at the top of a place to write, whatever their name, which are read-only to a call whose words name none of them to be written.

    They are too large to be compared and put back afterwards. Reads the disk.
    """
    with suppress(OSError), os.scandir(root) as entries:
        found = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False) and os.path.isfile(f"{entry.path}/pyvenv.cfg")]
        return sorted(path for path in found if not any(beneath(one, path) for one in write))
    return []


def directories_around(path: str, root: str) -> tuple[tuple[int, int], ...]:
    """The directories from the one that a place is in up to `root`, with their times of change, which no program can set back.

    The kernel takes a mount off in every sandbox when its place is renamed, removed or replaced by another program, and that changes its directory.
    """
    found = []
    while len(path) > len(root):
        path = os.path.dirname(path)
        status = os.lstat(path) if os.path.lexists(path) else None
        found.append((status.st_ino, status.st_ctime_ns) if status else (0, 0))
    return tuple(found)
