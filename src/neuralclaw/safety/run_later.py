"""Places that code is later run from, as far as a path shows it: the table by which commands are held back too."""

from fnmatch import fnmatchcase
from functools import cache

import msgspec

from ..types.datafile import read_data_file
from ..types.facts import PathFact
from ..types.own_parts import PARTS
from .paths import under

FILE = "sandbox/tables/run_later.json"
ENVIRONMENT = "whoever uses this environment of Python"


class LaterRow(msgspec.Struct, frozen=True):
    """Names of places (in a name of one part `*` stands for any letters), and who runs what lies there. `where`: in a directory of git's own, anywhere
    (`named` too), in a repository, or at the top of a place to write."""

    who: str
    where: str
    names: tuple[str, ...]


class LaterTable(msgspec.Struct, frozen=True):
    """The part of the file that is about names."""

    rows: tuple[LaterRow, ...]


class LaterNames(msgspec.Struct, frozen=True):
    """Who runs what is named so. `whole`: under the parts of the name, in small letters; `wild`: under one part with wildcards."""

    whole: dict[tuple[str, ...], str]
    wild: dict[str, str]
    lengths: tuple[int, ...]


@cache
def _names() -> dict[str, LaterNames]:
    """The names of each `where`."""
    found: dict[str, dict[tuple[str, ...], str]] = {}
    for row in read_data_file(FILE, LaterTable).rows:
        found.setdefault(row.where, {}).update({tuple(name.lower().split("/")): row.who for name in row.names})
    return {
        where: LaterNames(
            whole=names,
            wild={name[0]: who for name, who in names.items() if len(name) == 1 and "*" in name[0]},
            lengths=tuple(sorted({len(name) for name in names})),
        )
        for where, names in found.items()
    }


_NONE = LaterNames({}, {}, ())


def runs_later(path: str, roots: tuple[str, ...], fact: PathFact | None = None) -> str:
    """Who runs, or follows, what lies at this path below one of `roots`, "" for nobody. Where a repository begins does not show in a path, so each may
    be its top. `fact`: what was found of it. Raises `ConfigError` for a damaged table."""
    git, environment = (fact.git, fact.environment) if fact is not None else ("", "")
    root = max((one for one in roots if under(path, one)), key=len, default=None)
    if root is None:
        return ""
    parts = tuple(part for part in path[len(root) :].lower().split("/") if part)
    names = _names()
    for at in range(len(parts)):
        for where in ("anywhere", "named", "repository", *(("root",) if at == 0 else ())):
            if who := _named(parts, at, names.get(where, _NONE)):
                return who
    if environment and (path == environment or any(under(path, f"{environment}/{part}") for part in PARTS)):
        return ENVIRONMENT
    if path.endswith("/HEAD"):
        return "git"  # it makes a repository of its directory
    beside = tuple(path[len(git) + 1 :].lower().split("/")) if git and under(path, git) else ()
    in_git = names.get("git", _NONE).whole
    return _in_git(parts, in_git) or _below(beside, in_git)


def _named(parts: tuple[str, ...], at: int, names: LaterNames) -> str:
    whole = next((who for length in names.lengths if (who := names.whole.get(parts[at : at + length]))), "")
    return whole or next((who for name, who in names.wild.items() if fnmatchcase(parts[at], name)), "")


def _in_git(parts: tuple[str, ...], names: dict[tuple[str, ...], str]) -> str:
    """The same for git's own directory, the file that leads to one, and a bare repository."""
    start = next((at + 1 for at, part in enumerate(parts) if part.endswith(".git")), None)
    if start is None:
        return ""
    return "git" if parts[-1] == ".git" else _below(parts[start:], names)


def _below(parts: tuple[str, ...], names: dict[tuple[str, ...], str]) -> str:
    """The same for the parts below a directory of git's own."""
    if not parts or parts[-1].endswith(".sample"):
        return ""
    return next((who for at in range(len(parts)) for name, who in names.items() if parts[at : at + len(name)] == name), "")
