"""What settings of a repository make git run. The table `git_settings.json` has those that run nothing: a change of these alone may stay.

Only lines in the plainest form are read; every other line counts as one that may run something, and must be the same before and after.
"""

import os
import re
from functools import cache

import msgspec

from ...types.datafile import read_data_file

FILE = "sandbox/tables/git_settings.json"
_SECTION = re.compile(r'\[([A-Za-z][A-Za-z0-9-]*)(?:[ \t]+"([^"\\\x00-\x1f]*)")?\]')
_SETTING = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*))?")
_TRANSPORT = re.compile(r"-|[A-Za-z0-9+.-]+::")
_CHOICES = frozenset({"checkout", "rebase", "merge", "none"})


class SettingNames(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of settings, and examples of settings with whether they run nothing."""

    names: frozenset[str]
    examples: dict[str, bool]


class GitSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file. `plain`: of sections without a name of their own; `named`: of those with one; `addresses`: whose value may not name a program that fetches;
    `choices`: whose value is one of few words."""

    plain: SettingNames
    named: SettingNames
    addresses: SettingNames
    choices: SettingNames


@cache
def table() -> GitSettings:
    return read_data_file(FILE, GitSettings)


def running_lines(text: bytes, gitdir: str = "", root: str = "") -> list[tuple[str, str]]:
    """The settings that may make git run something, in their order, each with its section. `gitdir`: whose they are; `root`: where its files may lie."""
    found: list[tuple[str, str]] = []
    section, header, named = "", "", False
    for line in text.decode("utf-8", "surrogateescape").split("\n"):
        line = line.removesuffix("\r")
        if not line.strip() or line.lstrip(" \t").startswith(("#", ";")):
            continue
        if (opened := _SECTION.fullmatch(line.strip(" \t"))) is not None:
            section, header = opened[1].lower(), line.strip()
            named = opened[2] is not None
            continue
        setting = _SETTING.fullmatch(line)
        if not section or setting is None or line.endswith("\\") or not runs_nothing(section, named, setting[1].lower(), setting[2] or "", (gitdir, root)):
            found.append((header, line.strip()))
            section = section if setting is not None and not line.endswith("\\") else ""  # what follows may belong to this line
    return found


def without(text: bytes, gitdir: str, root: str) -> bytes:
    """The same settings without those that may make git run something."""
    running = {line for _, line in running_lines(text, gitdir, root)}
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    return "\n".join(line for line in lines if line.removesuffix("\r").strip() not in running).encode("utf-8", "surrogateescape")


def runs_nothing(section: str, named: bool, name: str, value: str, where: tuple[str, str] = ("", "")) -> bool:
    """Whether a setting is known to make git run nothing. `named`: its section has a name of its own; `where`: as for `running_lines`."""
    known, key, value = table(), f"{section}.{name}", value.strip().strip('"')
    if key == "core.worktree" and not named:
        gitdir, root = where
        place = os.path.normpath(os.path.join(gitdir, value))
        return bool(gitdir and root) and "/modules/" in f"{gitdir}/" and f"{place}/".startswith(f"{root}/")
    if not named:
        return key in known.plain.names
    if key in known.choices.names:
        return value in _CHOICES
    return key in known.named.names or (key in known.addresses.names and _TRANSPORT.match(value) is None)
