"""What a program in a sandbox sees: the system's public places, known toolchains, the places of its grant. The rest of a home is not there.

The places are data (`tables/places.json`, `tables/toolchains.json`). Public is what everybody on the machine may read: where the agent is root it could read
more (`/etc/shadow`, keys of servers), so what others may not is taken out. That needs a walk (20 ms), done once; for an ordinary user the file's mode holds.
"""

import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from glob import escape as glob_escape
from glob import glob

import msgspec

from ..types.datafile import read_data_file
from ..types.grants import Envelope
from .credentials import LONGEST, holds_credential
from .own_code import protected_places
from .program_lookup import beneath, existing_path, real_path
from .program_run import Program

PLACES, TOOLCHAINS = "sandbox/tables/places.json", "sandbox/tables/toolchains.json"
_PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
_NO_SETTINGS = os.path.join(_PACKAGES, "neuralclaw", "py.typed")  # empty, and a regular file: wget takes no device
_NAMED = r'(?im)(?:^|\])\s*(?:path|excludesfile|attributesfile)\s*=\s*(?:"((?:[^"\\\n]|\\.)*)"|([^"\n;#]*))'
_MOST_INCLUDES = 3
_LIBRARIES = ("lib", "lib64", "libexec", "pyvenv.cfg", "conda-meta")


class Places(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file of places. `looked_through`: where files may lie that not everybody may read, and how many levels deep. `devices`: files that are no way out.

    `caches`: directories of a home that hold nothing to keep, and the variable that puts each elsewhere.
    """

    public: tuple[str, ...]
    looked_through: dict[str, int]
    devices: tuple[str, ...]
    shared_memory: str
    processes: str
    caches: dict[str, str]


class Toolchain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row: files and directories of it in a home. `settings`: files in these (`*` stands for one name) that are not seen where they hold a password or a
    token. `examples`: paths in a home and whether they are seen."""

    seen: tuple[str, ...]
    examples: dict[str, bool]
    settings: tuple[str, ...] = ()


class View(msgspec.Struct, frozen=True, kw_only=True):
    """Real paths; each covers all below it. The longest one that covers a path decides, and of two that are equal the granted one."""

    read: tuple[str, ...]
    """To read and to run: public places, toolchains."""
    granted: tuple[str, ...]
    """To read and to run, by the grant."""
    write: tuple[str, ...]
    hidden: tuple[str, ...]
    """Not there, though it lies in one of these."""
    home: str
    workspace: str = ""
    kept: tuple[str, ...] = ()
    """Read-only, though it lies in a place to write: code is later run from it, it is the agent's own, or a rule of the owner keeps it."""
    ruled: tuple[str, ...] = ()
    """Of `hidden` and `kept` those that rules of the owner keep."""

    def shows(self, path: str) -> bool:
        """Whether a real path can be read."""
        return self._decides(path) in ("read", "granted", "write")

    def changes(self, path: str) -> bool:
        """Whether a real path can be written."""
        return self._decides(path) == "write"

    def _decides(self, path: str) -> str:
        order = (("write", self.write), ("granted", (*self.granted, *self.kept)), ("hidden", self.hidden), ("read", self.read))
        found = [(len(root), -rank, kind) for rank, (kind, roots) in enumerate(order) for root in roots if beneath(path, root)]
        return max(found)[2] if found else ""


@cache
def places() -> Places:
    return read_data_file(PLACES, Places)


@cache
def toolchains() -> dict[str, Toolchain]:
    return read_data_file(TOOLCHAINS, dict[str, Toolchain])


def view(envelope: Envelope, workspace: str, program: Program, *, home: str, hidden: Iterable[str]) -> View:
    """What this program sees. `home`: the person's, "" where it is not known. `hidden`: places of keys and of the agent's own data."""
    known = _rows_of(home)
    covered = tuple(dict.fromkeys((*(real_path(path) for path in (*hidden, *envelope.covered)), *_settings_with_keys(home, known), *_not_public())))
    own = (*protected_places(workspace), *map(real_path, envelope.read_only))
    write = tuple(path for path in open_to_write(envelope) if is_real(path) and not any(beneath(path, place) for place in own))
    kept = tuple(path for path in (home, *covered) if path)
    read = _outermost((*_public(), *_toolchains_of(home, known), *_included_by_git(home, covered), *_of_interpreter(kept), *_of_program(program, kept)))

    def seen(path: str) -> bool:
        """Whether it is seen without a grant, so that it needs no place of its own."""
        return any(beneath(path, root) for root in read) and not any(beneath(path, one) or beneath(one, path) for one in covered)

    granted = tuple(dict.fromkeys(path for path in (workspace, *envelope.read) if is_real(path) and path not in write and not seen(path)))
    return View(
        read=tuple(path for path in read if not any(beneath(path, root) for root in (*granted, *write))),  # a grant gives more
        granted=granted,
        write=write,
        hidden=covered,
        home=home,
        workspace=workspace,
        kept=tuple(place for place in own if any(beneath(place, root) for root in write) and is_real(place)),
        ruled=tuple(map(real_path, (*envelope.covered, *envelope.read_only))),
    )


def open_to_write(envelope: Envelope) -> tuple[str, ...]:
    """The places to write; for a directory in which something is to be made and that is not there either, the nearest one that is."""
    found = dict.fromkeys(envelope.write)
    for path in envelope.making:
        while not os.path.lexists(path):
            path = os.path.dirname(path)
        found[path] = None
    return tuple(found)


def is_real(path: str) -> bool:
    """A root that became a link since it was judged is not opened: what it leads to was not judged."""
    return os.path.isabs(path) and existing_path(path) == path


def _public() -> Iterator[str]:
    for path in places().public:
        with suppress(OSError):
            if not stat.S_ISLNK(os.lstat(path).st_mode):
                yield path


class _Rows(msgspec.Struct, frozen=True):
    """Of all toolchains the names and patterns in one home that may be there: a home is listed once, and not asked for each of 200 names."""

    seen: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()


def _rows_of(home: str) -> _Rows:
    try:
        held = frozenset(os.listdir(home)) if home else frozenset()
    except OSError:  # one that may be entered and not listed
        held = None

    def there(names: Iterable[str]) -> Iterator[str]:
        return (name for name in names if held is None or name.partition("/")[0] in held)

    rows = toolchains().values()
    return _Rows(tuple(name for row in rows for name in there(row.seen)), tuple(pattern for row in rows for pattern in there(row.settings)))


def _toolchains_of(home: str, known: _Rows) -> Iterator[str]:
    """The real places, so that a link out of a home shows nothing else of it. Settings that hold a password or a token themselves are not among them."""
    for name in known.seen:
        real = existing_path(os.path.join(home, name))
        if real and not beneath(home, real) and not (os.path.isfile(real) and holds_credential(real)):
            yield real


def without_unseen_settings(seen: View) -> dict[str, str]:
    """Variables by which git and wget read no settings of the person that are there and cannot be read: where a sandbox refuses a file that it cannot hide,
    they would end there. Reads the disk."""
    if not seen.home:
        return {}
    git = [os.path.join(seen.home, name) for name in (".gitconfig", ".config/git/config")]
    named = [*git, *(one for path in git for one in _named_by_git(path, seen.home))]
    found = {"GIT_CONFIG_GLOBAL": named, "WGETRC": [os.path.join(seen.home, ".wgetrc")]}
    return {name: _NO_SETTINGS for name, paths in found.items() if any(os.path.exists(path) and not seen.shows(os.path.realpath(path)) for path in paths)}


def _named_by_git(path: str, home: str, depth: int = 0) -> Iterator[str]:
    """Files that settings of git name and git reads with them."""
    try:
        with open(path, "rb") as file:
            names = re.findall(_NAMED, file.read(LONGEST).decode(errors="replace"))
    except OSError:
        return
    for quoted, plain in names:
        name = re.sub(r"\\(.)", r"\1", quoted or plain.strip())
        text = os.path.join(home, name[2:]) if name.startswith("~/") else name
        found = os.path.join(os.path.dirname(path), text)
        if os.path.isfile(found):
            yield found
            if depth < _MOST_INCLUDES:
                yield from _named_by_git(found, home, depth + 1)


def _included_by_git(home: str, hidden: Sequence[str]) -> Iterator[str]:
    """Of these the files of a home that are shown: those that hold no password or token."""
    for path in (os.path.join(home, name) for name in (".gitconfig", ".config/git/config")) if home else ():
        for real in map(os.path.realpath, _named_by_git(path, home)):
            if beneath(real, home) and not any(beneath(real, one) for one in hidden) and not holds_credential(real):
                yield real


def _settings_with_keys(home: str, known: _Rows) -> Iterator[str]:
    """Settings that lie inside of what is seen of a toolchain, and hold a password or a token."""
    for pattern in known.settings:
        if os.path.isdir(os.path.join(home, os.path.dirname(pattern.partition("*")[0]))):
            yield from (os.path.realpath(path) for path in glob(os.path.join(glob_escape(home), pattern)) if os.path.isfile(path) and holds_credential(path))


def _of_interpreter(kept: tuple[str, ...]) -> Iterator[str]:
    """The Python of the agent, and where its packages lie."""
    for path in (sys.prefix, sys.base_prefix, _PACKAGES):
        real = real_path(path)
        if not _holds(real, kept):
            yield real


def _of_program(program: Program, kept: tuple[str, ...]) -> Iterator[str]:
    """The program itself, and the directories in which it finds others, each with what belongs to its installation."""
    yield program.real
    for directory in program.env.get("PATH", "").split(":"):
        real = existing_path(directory) if os.path.isabs(directory) else ""
        if not real or not os.path.isdir(real):
            continue
        above = os.path.dirname(real)
        whole = os.path.basename(real) in ("bin", "sbin") and not _holds(above, kept) and any(os.path.exists(os.path.join(above, name)) for name in _LIBRARIES)
        if whole:
            yield above
        elif not _holds(real, kept):
            yield real


def _holds(path: str, kept: tuple[str, ...]) -> bool:
    """Whether a home, or something hidden, lies in it."""
    return any(beneath(one, path) for one in kept)


def _outermost(paths: Iterable[str]) -> list[str]:
    """Without those that lie in another one, sorted."""
    found: list[str] = []
    for path in sorted(set(paths), key=lambda one: one.split("/")):
        if not (found and beneath(path, found[-1])):
            found.append(path)
    return found


@cache
def _not_public() -> tuple[str, ...]:
    """What only root may read of the public places; nothing for an ordinary user, whom the mode of a file holds off."""
    if os.geteuid() != 0:
        return ()
    return tuple(path for root, depth in places().looked_through.items() for path in _closed(root, depth))


def _closed(directory: str, depth: int) -> Iterator[str]:
    """Files and directories that others may not read."""
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    for entry in entries:
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            if mode & 0o005 != 0o005:
                yield entry.path
            elif depth > 1:
                yield from _closed(entry.path, depth - 1)
        elif not stat.S_ISLNK(mode) and not mode & 0o004:
            yield entry.path
