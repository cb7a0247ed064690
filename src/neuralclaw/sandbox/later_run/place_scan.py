"""Finds the places below a directory that code is later run from, and how each stands: directories that did not change are not listed again.

A directory has other names in it only where its time of change is another one, which no program can set back; a file other content likewise. Directories that
were known are looked at first, so that nothing which a command makes can keep them from being compared. No link is followed but to a place that is one.
"""

import errno
import os
import stat
import time
from collections import deque

import msgspec

from ..nolinks import opener
from ..undo.contents import KeptContents, TooLarge
from ..undo.path_states import LINK, PathState, state_of
from .git_names import Named
from .lent_directories import LentDirectories
from .named_places import MAX_SETTINGS_BYTES, Way, named_places, names_in, way_of
from .place_manifest import DirectoryKind, PlaceDirectory, PlaceEntry, PlaceKind, PlaceManifest, is_below
from .place_names import HEAD, PlaceNames, place_names, top_names

MAX_DIRECTORIES = 10_000
"""Directories that are looked through at first."""
MAX_FILE_BYTES = 4_000_000
MAX_SETTINGS, MAX_NEW_SETTINGS = 20_000_000, 1_000_000
"""Bytes of settings of git that are read for what they name: in a first look, and of what is new after a command."""
MAX_ROUNDS = 12
"""How often what was found leads to more: git follows an include ten times."""
MAX_ENTRIES = 5_000
"""Files in directories that are such places (`.vscode`) that are compared in one tree."""
RACY_NS = 50_000_000
_NEVER = -1
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_LISTED = PlaceDirectory("directory", 0, 0, 0, (), (), ())


class _Owner(msgspec.Struct, frozen=True):
    who: str
    what: PlaceKind
    base: str
    top: str


_Waiting = tuple[str, DirectoryKind, _Owner | None]


class PlaceScan:
    """One look at the tree of `known`, an earlier look. `contents`: where files of places are kept, None to keep none. `hidden`: directories that are left
    alone. `since`: how the tree stood before a command; what is looked at then is what was looked at before, and what is new since."""

    def __init__(self, known: PlaceManifest, contents: KeptContents | None, hidden: frozenset[str] = frozenset(), since: PlaceManifest | None = None) -> None:
        self._before, self._contents, self._hidden, self._since = known, contents, hidden, since
        self._root = known.root
        self._names: PlaceNames = place_names()
        self._at_top = top_names(known.root)
        self._directories: dict[str, PlaceDirectory] = {}
        self._places: dict[str, PlaceEntry] = {}
        self._now = time.time_ns()
        self._linked: dict[str, _Owner] = {}
        self._naming: dict[str, PlaceEntry] = {}
        self._named: dict[str, Named] = {}
        self._leads: dict[str, tuple[str, ...]] = {}
        self._nothing: set[str] = set()
        self._unread: dict[str, int] = {}
        self._lent = LentDirectories()
        self._room = max(MAX_DIRECTORIES, len(known.directories)) if since is None else 2 * len(known.directories) + MAX_DIRECTORIES
        self._files, self._cut, self._more = 0, False, False
        self._rounds, self._settings = 0, MAX_SETTINGS if since is None else MAX_NEW_SETTINGS
        if since is None:
            self._files = sum(place.what == "file" and path != place.top for path, place in known.places.items())
        self._queues = tuple(deque[_Waiting]() for _ in range(3))  # known, new, last

    def run(self) -> PlaceManifest:
        try:
            self._add_directory(self._root, "directory", None)
            while True:
                queue = next((queue for queue in self._queues if queue), None)
                if queue is None:
                    self._rounds += 1
                    self._cut = self._cut or self._rounds > MAX_ROUNDS
                    if self._rounds > MAX_ROUNDS or not self._elsewhere():
                        break
                elif len(self._directories) >= self._room and queue is not self._queues[0]:
                    break
                else:
                    self._directory(*queue.popleft())
        finally:
            self._lent.take_back()
        left = any(self._queues)
        return PlaceManifest(
            self._root, self._directories, self._places, self._named, self._leads, frozenset(self._nothing), self._unread, self._before.owed,
            cut=self._cut or left or (self._since is not None and self._before.cut),
            more=self._since is not None and (self._more or left),
        )  # fmt: skip

    def _add_directory(self, path: str, kind: DirectoryKind, owner: _Owner | None) -> None:
        """Look at it when its turn comes: those that were known first, large ones that nobody works in last. What was there and was not looked at before a
        command is not looked at after it: nobody knows what stood there."""
        if path in self._hidden:
            return
        known = self._before.directories.get(path)
        if known is not None and _fits(known.kind, kind):
            self._queues[0].append((path, kind, owner))
        elif known is not None or self._since is None or path in self._since.directories or self._since.was_absent(path, directory=True):
            last = kind == "directory" and path.rpartition("/")[2] in (*self._names.last, "objects")
            self._queues[2 if last else 1].append((path, kind, owner))
        elif owner is not None and owner.top in self._since.targets():
            self._queues[1].append((path, kind, owner))

    def _directory(self, path: str, kind: DirectoryKind, owner: _Owner | None) -> None:
        seen = self._directories.get(path)
        if seen is not None and (owner is None or seen.kind != "directory"):
            return
        try:
            now = os.lstat(path)
        except OSError as error:
            self._not_seen(path, error, 0)
            return
        if not stat.S_ISDIR(now.st_mode):
            return
        listed = self._before.directories.get(path)
        if listed is None or listed.ctime_ns != now.st_ctime_ns or _moved(listed, now) or not _fits(listed.kind, kind):
            listed = self._listed(path, kind, now)
            if listed is None:
                return
        self._directories[path] = listed
        if owner is not None:
            self._add(path, now, owner)
        for name in listed.tops:
            self._top(f"{path}/{name}", owner if owner is not None else self._owner(path, name, listed.kind))
        for name in listed.whole:
            hooks = listed.kind in ("git", "repository") and name in self._names.git
            self._add_directory(f"{path}/{name}", "hooks" if hooks else "place", self._owner(path, name, listed.kind))
        for name in listed.below:
            self._add_directory(f"{path}/{name}", kind if owner is not None else "git" if name == ".git" else "directory", owner)

    def _not_seen(self, path: str, error: OSError, ctime_ns: int) -> None:
        if error.errno not in _GONE:
            self._unread[path] = ctime_ns

    def _opened(self, path: str, now: os.stat_result) -> bool:
        """Whether it can be looked into; one that a command closed is opened for the time of this look."""
        if os.access(path, os.R_OK | os.X_OK):
            return False
        if self._since is not None and not is_below(path, self._since.unread) and self._lent.lend(path):
            return True
        self._unread[path] = now.st_ctime_ns
        return False

    def _listed(self, path: str, kind: DirectoryKind, now: os.stat_result) -> PlaceDirectory | None:
        lent = self._opened(path, now)
        if path in self._unread:
            return None
        try:
            with os.scandir(path) as found:
                entries = {entry.name: entry.is_dir(follow_symlinks=False) for entry in found}
        except OSError as error:
            self._not_seen(path, error, now.st_ctime_ns)
            return None
        racy = lent or self._now - now.st_ctime_ns < RACY_NS
        if kind == "directory" and entries.get(HEAD) is False:
            kind = "repository"  # with `objects` and `refs`, which may come later, git takes it for its own (`is_git_directory` in its `setup.c`)
        directories = {name for name, is_directory in entries.items() if is_directory}
        if kind in ("place", "hooks"):
            places = {name for name in entries if not (kind == "hooks" and name.endswith(".sample"))} - directories
            below = directories
        elif kind == "git":
            places = {name for name in self._names.git if name.partition("/")[0] in entries}
            below = directories & {"modules", "worktrees"}
        else:
            above = os.path.basename(path).lower()
            named = {name for name in entries if self._is_place(name.lower(), above, path == self._root, ".git" in entries)}
            places = named | ({".git"} & entries.keys() - directories)
            if kind == "repository":
                places |= {name for name in self._names.git if name.partition("/")[0] in entries}
                stood = self._since.directories.get(path) if self._since is not None else None
                if stood is not None and stood.kind == "directory":
                    places.add(HEAD)  # it is what made a repository of a directory that was none
            below = directories - places
        if path == self._root:
            deep = {name for name in self._at_top if "/" in name and os.path.lexists(f"{path}/{name}")}
            directories |= {name for name in deep if os.path.isdir(f"{path}/{name}") and not os.path.islink(f"{path}/{name}")}
            places |= deep
            racy = racy or any(name.partition("/")[0] in entries for name in self._at_top if "/" in name)  # these stand deeper: it does not tell of them
        ctime = _NEVER if racy else now.st_ctime_ns
        whole, tops = (tuple(sorted(one)) for one in (places & directories, places - directories))
        return PlaceDirectory(kind, now.st_ino, now.st_mtime_ns, ctime, tuple(sorted(below)), whole, tops)

    def _is_place(self, name: str, above: str, root: bool, repository: bool) -> bool:
        names = self._names
        return bool(names.who_anywhere(name, above)) or ((root or repository) and name in names.repository) or (root and name in self._at_top)

    def _owner(self, path: str, name: str, kind: DirectoryKind) -> _Owner:
        whole = f"{path}/{name}"
        if kind == "git" or (kind == "repository" and (name == HEAD or name in self._names.git)):
            kinds: dict[str, PlaceKind] = {HEAD: "file", "hooks": "hooks", "info/attributes": "attributes", "commondir": "directory of git"}
            what = kinds.get(name, "settings")
            return _Owner("git", what, path, whole)
        if name == ".git":
            return _Owner("git", "directory of git", path, whole)
        small = name.lower()
        who = self._names.who_anywhere(small, os.path.basename(path).lower()) or self._names.repository.get(small) or self._at_top.get(small, "")
        return _Owner(who, "file", path, whole)

    def _top(self, path: str, owner: _Owner) -> None:
        try:
            now = os.lstat(path)
        except OSError as error:
            self._not_seen(path, error, 0)
            return
        if not stat.S_ISDIR(now.st_mode):
            self._add(path, now, owner)

    def _add(self, path: str, now: os.stat_result, owner: _Owner) -> None:
        if path not in self._before.places and owner.what == "file" and path != owner.top:
            if self._files >= MAX_ENTRIES:
                self._cut = self._more = True
                return
            self._files += 1
        place = PlaceEntry(self._state(path, now), owner.who, owner.what, owner.base, owner.top)
        self._places[path] = place
        if place.state.kind == LINK:
            self._linked[path] = owner
        elif place.what in ("settings", "included settings") or (place.what == "directory of git" and stat.S_ISREG(now.st_mode)):
            self._naming[path] = place

    def _state(self, path: str, now: os.stat_result) -> PathState:
        known = self._before.places.get(path)
        if known is not None and known.state.content is not None and _mark(known.state) == _mark(state := state_of(now, known.state.content)):
            return state
        if stat.S_ISLNK(now.st_mode):
            return state_of(now, os.fsencode(os.readlink(path)))
        if not stat.S_ISREG(now.st_mode) or self._contents is None:
            return state_of(now, b"")
        if now.st_size > MAX_FILE_BYTES:
            return state_of(now, None)
        try:
            fd = opener()(path, _READ, 0)
        except OSError:
            return state_of(now, None)
        try:
            now = os.fstat(fd)
            state = state_of(now, self._contents.keep(fd, MAX_FILE_BYTES))
        except (OSError, TooLarge):
            return state_of(now, None)
        finally:
            os.close(fd)
        return msgspec.structs.replace(state, ctime_ns=_NEVER) if self._now - now.st_ctime_ns < RACY_NS else state

    def _elsewhere(self) -> bool:
        """Look at what lies elsewhere in the tree: where links lead, what settings of git name. Whether there was any that was not looked at yet."""
        found = 0
        for path, owner in list(self._linked.items()):
            if path not in self._leads:
                found += self._lead(way_of(path, self._root), [path], owner)
        for path, place in list(self._naming.items()):
            if path not in self._named:
                known = self._before.places.get(path)
                same = known is not None and path in self._before.named and _mark(known.state) == _mark(place.state)
                self._named[path] = self._before.named[path] if same else self._names_in(path, place)
                found += 1
        for one in list(named_places(self._named, self._places)):
            way = way_of(one.path, self._root)
            owner = _Owner("git", one.what, self._places[one.sources[0]].base if one.what == "included settings" else os.path.dirname(way.real), way.real)
            found += self._lead(way, list(one.sources), owner)
        return found > 0

    def _names_in(self, path: str, place: PlaceEntry) -> Named:
        """What the file names, as long as there is room for more of such files."""
        self._settings -= min(place.state.size, MAX_SETTINGS_BYTES)
        if self._settings < 0:
            self._cut = True
            return ()
        return names_in(path, place)

    def _lead(self, way: Way, sources: list[str], owner: _Owner) -> bool:
        """Note where they lead, and look there; whether that is new."""
        new, real = False, way.real if way.real.startswith(f"{self._root}/") else ""
        for source in (*sources, *way.links):
            if source not in self._places:
                self._top(source, _Owner(owner.who, "file", os.path.dirname(source), source))
            led = self._leads.get(source, ())
            if source in self._places and real not in led:
                self._leads[source] = (*led, real)
                new = True
        if way.missing.startswith(f"{self._root}/"):
            self._nothing.add(way.missing)
        if new and real and real not in self._places and self._directories.get(real, _NOT_LISTED).kind == "directory":
            owner = msgspec.structs.replace(owner, top=real)
            if not os.path.isdir(real):
                self._top(real, owner)
            elif owner.what != "directory of git":
                self._add_directory(real, "place", owner)
        return new


def _moved(listed: PlaceDirectory, now: os.stat_result) -> bool:
    return listed.mtime_ns != now.st_mtime_ns or listed.ino != now.st_ino


def _fits(listed: DirectoryKind, wanted: DirectoryKind) -> bool:
    return listed == wanted or (wanted == "directory" and listed in ("git", "repository"))


def _mark(state: PathState) -> tuple[int, int, int, int, int]:
    return state.ino, state.size, state.mtime_ns, state.ctime_ns, state.mode


def scan(known: PlaceManifest, contents: KeptContents | None, hidden: frozenset[str] = frozenset(), since: PlaceManifest | None = None) -> PlaceManifest:
    """How the tree stands now; the arguments are those of `PlaceScan`. Raises `OSError` where files of it cannot be kept."""
    return PlaceScan(known, contents, hidden, since).run()
