"""The agent's own command line: settings, permissions and answers are the person's, so no command may use it."""

from collections.abc import Sequence
from itertools import pairwise
from posixpath import basename

from ..types.facts import FactSheet
from ..types.risk import Risk, Sink
from .command_line import CommandLine
from .findings import Findings
from .lazy_regex import lazy_pattern

RULE = "self.command"
REASON = "which no call may use: settings, permissions and answers are the person's"
INSTEAD = "the person can run it in a terminal"
OWN = "neuralclaw"
TELLS = frozenset({"--version", "--help", "-h"})
"""Words with which it only tells something of itself."""
RUNNERS = {"uv": ("run", "tool"), "uvx": (), "pipx": ("run",), "poetry": ("run",), "hatch": ("run",), "pdm": ("run",), "rye": ("run",), "conda": ("run",)}
"""Programs that run another one out of an environment, and the first words with which they do."""
VALUED = frozenset({"-W", "-X", "--check-hash-based-pycs"})
"""Options of Python with a value behind them."""
_PYTHON = lazy_pattern(r"(?:python|pypy)[\d.]*")
_MODULE = lazy_pattern(r"-[A-Za-z]*m(.*)")
_CODE = lazy_pattern(r"-[A-Za-z]*c")
_NAMED = lazy_pattern(rf"\b{OWN}\b")
_PACKAGE = lazy_pattern(rf"(?:^|.*/){OWN}/(?:__main__|cli/main)\.py")


def judge(findings: Findings, line: CommandLine, sheet: FactSheet) -> None:
    """Refuse a command that is the agent's own command line, and ask about code that names its package."""
    for command in line.commands:
        resolved = sheet.programs.get(command.program) or ""
        argv = (OWN, *command.argv[1:]) if command.argv and basename(resolved) == OWN else command.argv
        if not command.program:
            continue
        if is_own(argv):
            _self(findings)
            findings.forbid(RULE, f"{' '.join(command.argv[:3])} is the agent's own command line, {REASON}", INSTEAD)
        elif _runs_code(argv):
            _self(findings)
            findings.ask(RULE, "it runs code that names the agent's own package")


def _self(findings: Findings) -> None:
    findings.raise_risk(Risk.HIGH)
    findings.sinks.add(Sink.SELF)


def begins_own(word: str, *, first: bool) -> bool:
    """Whether a command line of the agent may begin with the word of a text. Its name is also that of directories: it counts at the first place alone."""
    name = basename(word)
    return (first and _names(word)) or name in RUNNERS or _PYTHON.fullmatch(name) is not None


def is_own(argv: Sequence[str]) -> bool:
    """Whether these words run the command line of the agent, by its name, as a module, as a file, or out of an environment."""
    if not argv:
        return False
    name = basename(argv[0])
    if name == OWN:
        return not (argv[1:] and TELLS.issuperset(argv[1:]))
    if _PYTHON.fullmatch(name):
        return _as_module(argv[1:])
    firsts = RUNNERS.get(name)
    words = argv[1:]
    if firsts is None or (firsts and next((word for word in words if not word.startswith("-")), "") not in firsts):
        return False
    named = (is_own((OWN, *words[at + 1 :])) for at, word in enumerate(words) if _names(word))
    return any(named) or any(is_own(words[at:]) for at, word in enumerate(words) if _PYTHON.fullmatch(basename(word)))


def _names(word: str) -> bool:
    """Whether a runner takes the word for the program itself, with or without its version."""
    return word.partition("@")[0] == OWN or word.endswith(f"/bin/{OWN}")


def _as_module(words: Sequence[str]) -> bool:
    """Whether Python runs the package with these words behind its name."""
    for at, word in enumerate(words):
        if at and words[at - 1] in VALUED:
            continue
        if not word.startswith("-"):
            return basename(word) == OWN or _PACKAGE.fullmatch(word) is not None
        if _CODE.fullmatch(word):
            return False
        if (found := _MODULE.fullmatch(word)) and not word.startswith("--"):
            module, rest = (found.group(1), words[at + 1 :]) if found.group(1) else (words[at + 1] if len(words) > at + 1 else "", words[at + 2 :])
            return module.partition(".")[0] == OWN and not (rest and TELLS.issuperset(rest))
    return False


def _runs_code(argv: Sequence[str]) -> bool:
    """Whether it is Python with code on its line that names the package."""
    if not argv or not _PYTHON.fullmatch(basename(argv[0])):
        return False
    return any(_CODE.fullmatch(word) and _NAMED.search(code) for word, code in pairwise(argv[1:]))
