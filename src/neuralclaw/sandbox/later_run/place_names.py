"""Which names are places that code is later run from, and who runs it: the table `run_later.json`."""

import os
from fnmatch import fnmatchcase
from functools import cache
from typing import Literal

import msgspec

from ...types.datafile import damaged, read_data_file
from ..own_code import made_later

FILE = "sandbox/tables/run_later.json"
_AGENT = "the agent itself"
HEAD = "HEAD"
"""A file of this name makes a repository of a directory that has `objects` and `refs`: git then follows the settings and hooks beside it."""
PlaceScope = Literal["git", "anywhere", "repository", "root", "named"]


class PlaceRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of places, and who runs what lies there. A name may have two parts (`.hg/hgrc`); of one that may lie anywhere, `*` stands for any letters.
    `where`: in a directory of git's own, anywhere, at the top of a repository or of a place that a command may write, or there alone;
    `named`: anywhere, where words name it, since programs that install something change it all the time.
    `examples`: paths in a repository that is the workspace, and whether they are such places."""

    who: str
    where: PlaceScope
    names: tuple[str, ...]
    examples: dict[str, bool]


class PlaceTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file. `last`: directories that are looked through after all others, since they are large and nobody works in them."""

    rows: tuple[PlaceRow, ...]
    last: frozenset[str]


class PlaceNames(msgspec.Struct, frozen=True):
    """The table by name, in small letters."""

    git: dict[str, str]
    anywhere: dict[str, str]
    repository: dict[str, str]
    root: dict[str, str]
    named: dict[str, str]
    last: frozenset[str]
    patterns: tuple[tuple[str, str], ...]
    """Of `anywhere` those with `*`."""

    def who_anywhere(self, name: str, above: str) -> str:
        """Who runs what has this name, in small letters, in a directory that is called `above`, wherever that is; "" for nobody."""
        found = self.anywhere.get(name) or self.anywhere.get(f"{above}/{name}")
        return found or next((who for pattern, who in self.patterns if fnmatchcase(name, pattern)), "")


@cache
def place_names() -> PlaceNames:
    """Raises `ConfigError` for a damaged table."""
    table = read_data_file(FILE, PlaceTable)
    found: dict[PlaceScope, dict[str, str]] = {"git": {}, "anywhere": {}, "repository": {}, "root": {}, "named": {}}
    for row in table.rows:
        for name in row.names:
            if name.startswith(("/", "..")) or name.lower() in found[row.where]:
                raise damaged(FILE, name, "it is not a name below a directory, or occurs twice")
            found[row.where][name.lower()] = row.who
    patterns = tuple((name, who) for name, who in found["anywhere"].items() if "*" in name)
    return PlaceNames(**found, last=table.last, patterns=patterns)


@cache
def top_names(root: str) -> dict[str, str]:
    """Names at the top of this place to write, and who runs what lies there: where it is the `.config` of a home itself, `autostart` stands there too. A place
    that the agent imports from and that was not there when it started is one: no sandbox can keep what is not there."""
    names, beneath = place_names().root, root.lower() + "/"
    heads = {name: [name[: at + 1] for at, letter in enumerate(name) if letter == "/"] for name in names}
    inside = {name.removeprefix(head): who for name, who in names.items() for head in heads[name] if beneath.endswith("/" + head)}
    made = [path[len(root) + 1 :] for path in made_later() if path.startswith(f"{root}/")]
    return {**names, **inside, **{name: _AGENT for one in made for name in (one, one.lower())}}


def named_place(path: str) -> bool:
    """Whether a path alone, by its names, is such a place or lies in one, whatever is there."""
    names = place_names()
    parts = path.lower().split("/")
    if any(part in names.repository or part in names.root or names.who_anywhere(part, parts[at - 1] if at else "") for at, part in enumerate(parts)):
        return True
    tails = {"/".join(parts[at : at + 2]) for at in range(len(parts))}
    if tails & names.root.keys():
        return True
    return any(part == ".git" and (not parts[at + 1 :] or _in_git(parts[at + 1 :])) for at, part in enumerate(parts)) and os.path.basename(path) != ".git"


def _in_git(parts: list[str]) -> bool:
    git = place_names().git
    return any(part in git for part in parts) or any("/".join(parts[at : at + 2]) in git for at in range(len(parts)))


def whole_place(path: str, root: str) -> str:
    """The whole place that a path of a repository is or lies in, "" for none. `root`: the repository, where it is the place to write itself, else ""."""
    names, parts = place_names(), path.split("/")
    at_top = top_names(root) if root else {}
    for depth, part in enumerate(parts):
        small, head = part.lower(), "/".join(parts[: depth + 1])
        above = parts[depth - 1].lower() if depth else ""
        if names.who_anywhere(small, above) or (depth == 0 and small in names.repository) or head.lower() in at_top:
            return head
    return ""
