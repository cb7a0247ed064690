"""Which repository git opens in a directory: it looks there and in every directory above, as git's own set-up does."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress

from .later_run.git_names import names_of_settings

_LONGEST = 4096
_GITDIR = re.compile(rb"gitdir: ([^\r\n]+)")
_GITLINK = b"\x00\x00\xe0\x00"
"""The mode of another repository in the index."""
_HEAD = re.compile(rb"ref: |[0-9a-f]{40}")


def opened_by_git(directory: str) -> tuple[str, ...]:
    """The real directories that git may take for the repository of `directory`, nearest first. Only the last of them is one for certain: what has the file
    `HEAD` and lacks the rest is named as well, and git steps over it, or not, by its version."""
    return tuple(dict.fromkeys(_candidates(os.path.realpath(directory))))


def run_by_git(directory: str) -> Iterator[str]:
    """The files that git may run, or take orders from, when it changes the repository of `directory`: its settings, and every hook."""
    for place in opened_by_git(directory):
        common = os.path.join(place, os.fsdecode(_beginning(os.path.join(place, "commondir"))).strip())
        hooks = {os.path.join(common, "hooks")}
        for name in ("config", "config.worktree"):
            for base in dict.fromkeys((place, common)):
                file = os.path.join(base, name)
                yield file
                hooks |= {os.path.join(directory, path) for kind, path in names_of_settings(_beginning(file, -1)) if kind == "hooks"}
        for hook in sorted(hooks):
            with suppress(OSError):
                yield from (entry.path for entry in os.scandir(hook) if not entry.name.endswith(".sample"))


def _candidates(place: str) -> Iterator[str]:
    while True:
        beside = os.path.join(place, ".git")
        if os.path.lexists(beside):
            real = os.path.realpath(_named(beside) or beside)
            yield real
            if _GITLINK in _beginning(os.path.join(real, "index"), -1):
                yield place  # git also works in repositories below it, which its index names
            if not os.path.isdir(beside) or _whole(beside):
                return
        if os.path.lexists(os.path.join(place, "HEAD")):
            yield place
            if _whole(place):
                return
        if place == os.path.dirname(place):
            return
        place = os.path.dirname(place)


def _named(file: str) -> str:
    """The directory that a file `.git` names; "" where it is no such file."""
    found = _GITDIR.match(_beginning(file))
    return os.path.join(os.path.dirname(file), os.fsdecode(found[1])) if found else ""


def _whole(place: str) -> bool:
    """Whether it has all that git asks of a repository."""
    parts = os.path.lexists(os.path.join(place, "commondir")) or all(os.path.isdir(os.path.join(place, name)) for name in ("objects", "refs"))
    return parts and _HEAD.match(_beginning(os.path.join(place, "HEAD"))) is not None


def _beginning(file: str, length: int = _LONGEST) -> bytes:
    with suppress(OSError):
        if os.path.isfile(file):
            with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as read:
                return read.read(length)
    return b""
