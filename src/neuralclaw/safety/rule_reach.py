"""Whether a call may reach the path of an owner's rule: by name, by a wildcard, or as a part of a directory that it goes through."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from ..types.actions import Action
from ..types.facts import FactSheet, PathFact, PathOp
from .analysis import Analysis
from .command_line import SimpleCommand
from .paths import absolute, normal, under
from .rule_git_reach import git_reaches

SHALLOW = frozenset(
    "[ basename cat cd chgrp chmod chown dirname echo file head ln ls mkdir more less nl pwd readlink realpath stat tail tee test touch wc".split()
)
"""Programs that do not go through a directory that they are given, unless an option says so."""
WALKERS = frozenset("ack ag du fd fdfind find rg tree ugrep".split())
"""Programs that go through the directory where they run when they are given none."""
HERE = frozenset("dir ls vdir".split())
"""Programs that show something of the directory where they run."""
SEARCHING = frozenset("egrep fgrep grep ls".split())
"""Programs that do so with an option."""
LISTING = frozenset({"find_files", "list_files", "search_files"})


def reaches(root: str, action: Action, analysis: Analysis, sheet: FactSheet) -> bool:
    """Whether some part of the call may read, list, change or run what lies at or below `root`."""
    facts = {(fact.path, fact.op): fact for fact in sheet.paths}
    line = analysis.line
    for fact in sheet.paths:
        if any(_fits(place, root) for place in (fact.resolved, fact.path)):
            return True
    named = {(want.path, want.op) for want in analysis.paths}
    if line is None and any(_holds(facts[one], root) and (action.spec.name in LISTING or one[1] == "delete") for one in named if one in facts):
        return True
    if line is not None and any(under(place, root) for command in line.commands for place in _sent(command)):
        return True
    return line is not None and any(
        _goes_through(command, root, facts) or (_base(command) == "git" and git_reaches(command.argv, root, command.cwd or action.workspace, action.workspace))
        for command in line.commands
    )


def _goes_through(command: SimpleCommand, root: str, facts: Mapping[tuple[str, PathOp], PathFact]) -> bool:
    """Whether a command works through a directory that holds the place."""
    program = _base(command)
    recursive = any(_recursive(word, program) for word in command.argv[1:])
    deep = program not in SHALLOW or recursive
    wants = [facts[want.path, want.op] for want in command.wants if (want.path, want.op) in facts]
    if any(_holds(fact, root) and (fact.op == "delete" or deep) for fact in wants):
        return True
    if command.cwd is not None and under(command.cwd, root) and (program in WALKERS or program in HERE):
        return True
    walks = program in WALKERS or (program in SEARCHING and recursive)
    return walks and command.cwd is not None and under(root, command.cwd) and all(fact.kind == "file" for fact in wants)


def _sent(command: SimpleCommand) -> Iterator[str]:
    """Files that words give: as a path with a `/`, or after `=@` or `=<`, as forms of `curl` do."""
    for word in command.argv:
        pieces = (word, word.partition("=")[2], word[2:] if word.startswith("-") else "")
        if command.cwd is not None and _shows_name(command):
            yield from (normal(absolute(piece, command.cwd)) for piece in pieces if "/" in piece and "://" not in piece and "\0" not in piece)
        for mark in ("=@", "=<"):
            if mark in word and command.cwd is not None:
                yield from (normal(absolute(name, command.cwd)) for name in word.partition(mark)[2].partition(";")[0].split(",") if name)


def _shows_name(command: SimpleCommand) -> bool:
    """Whether the words of a command may be paths beside those that it was found to read or change: they are not for what prints them."""
    return _base(command) in ("[", "test") or (not command.only_reads and _base(command) not in ("echo", "git", "printf"))


def _base(command: SimpleCommand) -> str:
    return command.program.rsplit("/", 1)[-1] or (command.argv[0].rsplit("/", 1)[-1] if command.argv else "")


def _recursive(word: str, program: str) -> bool:
    """Whether the word is an option that makes a program go through directories; for `ls` a small letter turns the order around."""
    letters = "R" if program == "ls" else "rR"
    return word == "--recursive" or (word.startswith("-") and not word.startswith("--") and any(letter in word for letter in letters))


def _holds(fact: PathFact, root: str) -> bool:
    """Whether the place of the rule lies below the directory, or below what a wildcard may name."""
    return any(under(root, place) for place in (fact.resolved, fact.path)) or _pattern_above(fact, root)


def _cut(root: str, place: str) -> str:
    return "/".join(root.split("/")[: len(place.split("/"))])


def _pattern_above(fact: PathFact, root: str) -> bool:
    place = fact.path.rstrip("/")
    return any(char in place for char in "*?[") and _fits(place, _cut(root, place))


def _fits(place: str, root: str) -> bool:
    """Whether a path is at or below `root`, where its wildcards stand for what they may."""
    if not any(char in place for char in "*?["):
        return under(place, root)
    parts, wanted = place.split("/"), root.rstrip("/").split("/")
    return len(parts) >= len(wanted) and all(fnmatchcase(want, part) for part, want in zip(parts, wanted, strict=False))
