"""What is true about a path that an action names: where the kernel's walk leads, what is there, and under which other names."""

import os
import pwd
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Literal

import msgspec

from ..types.facts import PathFact, PathWant
from ..types.options import Policy
from ..types.secret_names import SECRET_NAMES
from .nolinks import opener
from .other_names import Mounts, inodes_in
from .preimages import digest_of
from .program_lookup import beneath
from .wildcards import TooManyFound, expanded, is_wild

Kind = Literal["file", "directory", "other", "missing"]


SHOWN_BYTES = 64 * 1024
"""Files up to this size are shown as a diff when a person is asked about a change."""

_USER = "/~"
_HASHES = ("/etc/shadow", "/etc/gshadow")
_DESCRIPTORS = ("/dev/fd", "/proc/self/fd", "/proc/thread-self/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr")


class PathFacts:
    """Facts about the paths of one action. `roots`: the workspace and the allowed paths; `in_command`: a command uses the paths, so that `/dev/fd/3` is a
    descriptor of its own, and not of the agent."""

    def __init__(self, cwd: str, roots: Sequence[str], policy: Policy, *, in_command: bool) -> None:
        self._cwd, self._roots, self._in_command = cwd, roots, in_command
        data = [path for path in policy.protected_paths if path not in ("/", policy.home_dir)]
        keys = [os.path.join(policy.home_dir, name) for name in sorted(SECRET_NAMES)] if policy.home_dir else []
        self._kept = (*data, *_HASHES, *keys)

    def fact(self, want: PathWant) -> PathFact:
        """The fact of one path, with those of the files that its wildcards mean."""
        path = home_path(os.path.join(self._cwd, want.path))
        found = self._one(want, path)
        if not is_wild(path):
            return found
        try:
            named = expanded(path)
        except TooManyFound:
            return msgspec.structs.replace(found, many=True)
        facts = tuple(self._one(PathWant(one, want.op), one, digested=False) for one in named if one != path)
        return msgspec.structs.replace(found, expanded=tuple(facts))

    def _one(self, want: PathWant, path: str, *, digested: bool = True) -> PathFact:
        if self._in_command and any(beneath(path, place) for place in _DESCRIPTORS):
            return PathFact(path=want.path, op=want.op, resolved=path, exists=True, kind="other", inside=False)
        changed = want.op in ("write", "delete")
        resolved = last_link_kept(path) if want.op == "delete" else os.path.realpath(path)
        status = _status(resolved)
        kind = kind_of(resolved)
        inside = any(beneath(resolved, root) for root in self._roots)
        digest, text = content_of(resolved) if digested and kind == "file" and changed else (None, None)
        return PathFact(
            path=want.path,
            op=want.op,
            resolved=resolved,
            exists=kind != "missing",
            kind=kind,
            inside=inside,
            git=_around(resolved, self._roots, "HEAD") if changed else "",
            environment=_around(f"{resolved}/.", self._roots, "pyvenv.cfg") if changed else "",
            digest=digest,
            text=text,
            link=status is not None and stat.S_ISLNK(status.st_mode),
            closed=not inside and not changed and _closed(resolved),
            others=tuple(dict.fromkeys(self._others(resolved, status))),
        )

    @cached_property
    def _mounts(self) -> Mounts:
        return Mounts()

    @cached_property
    def _linked(self) -> dict[tuple[int, int], str]:
        return inodes_in(self._kept)

    def _others(self, resolved: str, status: os.stat_result | None) -> Iterator[str]:
        if status is not None and stat.S_ISREG(status.st_mode) and status.st_nlink > 1 and not any(beneath(resolved, place) for place in self._kept):
            linked = self._linked.get((status.st_dev, status.st_ino))
            if linked is not None:
                yield linked
        for name in self._mounts.names(resolved):
            if name != resolved:
                yield name


def home_path(path: str) -> str:
    """`/~bob/x` as `x` in the home of `bob`; the path as it is where there is no such user, and any other one."""
    if not path.startswith(_USER):
        return path
    user, slash, rest = path[len(_USER) :].partition("/")
    try:
        return pwd.getpwnam(user).pw_dir + slash + rest
    except (KeyError, OSError, ValueError):
        return path


def last_link_kept(path: str) -> str:
    """Deleting a link takes the link away and not what it leads to, so it is judged where it stands."""
    name = os.path.basename(path)
    return os.path.realpath(path) if name in ("", ".", "..") else os.path.join(os.path.realpath(os.path.dirname(path)), name)


def kind_of(real: str) -> Kind:
    """What is at a real path."""
    try:
        mode = os.lstat(real).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except OSError:
        return "other"  # something stands in the way; what cannot be seen is not called missing
    if stat.S_ISREG(mode):
        return "file"
    return "directory" if stat.S_ISDIR(mode) else "other"


def content_of(real: str) -> tuple[str | None, str | None]:
    """SHA-256 of a file, and its text where that is UTF-8 and short enough to be shown; "" for the digest of what cannot be read, which nothing has."""
    try:
        fd = opener()(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY, 0)
    except FileNotFoundError:
        return None, None
    except PermissionError:
        return "", None
    try:
        return digest_of(fd), _shown(os.pread(fd, SHOWN_BYTES + 1, 0))
    finally:
        os.close(fd)


def _around(real: str, roots: Sequence[str], file: str) -> str:
    """The nearest directory above it, below one of the roots, that has a file of this name: `HEAD` in one of git, `pyvenv.cfg` in an environment of Python."""
    place = os.path.dirname(real)
    while any(beneath(place, root) for root in roots) and place != "/":
        if os.path.lexists(f"{place}/{file}"):
            return place
        place = os.path.dirname(place)
    return ""


def _status(real: str) -> os.stat_result | None:
    try:
        return os.lstat(real)
    except OSError:
        return None


def _closed(real: str) -> bool:
    """Whether not everybody may read it, but the agent may, since it is root; for an ordinary user the mode of a file holds."""
    if os.geteuid() != 0:
        return False
    try:
        return not os.lstat(real).st_mode & 0o004 or any(not os.lstat(place).st_mode & 0o001 for place in _above(real))
    except OSError:
        return False


def _above(real: str) -> Iterator[str]:
    while real != "/":
        real = os.path.dirname(real)
        yield real


def _shown(data: bytes) -> str | None:
    if len(data) > SHOWN_BYTES:
        return None
    with suppress(UnicodeDecodeError):
        return data.decode()
    return None
