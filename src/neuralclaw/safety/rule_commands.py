"""Whether a command line runs, or may run, the command that an owner's rule names: by itself, under a wrapper, by an option or an alias of another program, or
in a spelling that is known in part."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Literal

from ..types.risk import Power
from .command_line import CommandLine, SimpleCommand
from .interpreters import INTERPRETERS, unversioned
from .rule_words import SAME, names
from .running_options import commands_of
from .shell_words import ShellWord

OPERATORS = re.compile(r"[;&|\n()]+")
WORD = re.compile(r"[\w./+-]+")
_ALIAS = re.compile(r"alias\.[^=\s]+$")
MOST = 200
"""Commands in texts of one line that are looked at."""


def runs(command: str, line: CommandLine) -> Literal["yes", "maybe", "no"]:
    """`maybe`: a command of the line may be any, since its program is not known before it runs."""
    same = (command, *SAME.get(command, ()))
    if any(names(one, argv) for argv in _all(line) for one in same):
        return "yes"
    if line.understood and not line.broken and not any(c.unresolved for c in line.commands):
        return "no"
    words = [word for word in command.split() if not word.startswith("-")]
    spelled = iter(WORD.findall(line.text))
    if words and all(word in spelled for word in words):
        return "yes"
    return "maybe" if line.broken or any(_any_program(c) for c in line.commands) else "no"


def _any_program(command: SimpleCommand) -> bool:
    return command.unresolved or not command.argv or any(char in command.argv[0] for char in "$`*?[")


def _all(line: CommandLine) -> Iterator[Sequence[str]]:
    """The words of every command that is known to run, and of wrappers around it."""
    aliases: dict[str, list[str]] = {}
    for command in line.commands:
        yield command.argv
        yield from ((wrapper,) for wrapper in command.via)
        program = command.argv[0].rsplit("/", 1)[-1] if command.argv else ""
        if program in aliases:
            yield [*aliases[program], *command.argv[1:]]
        if unversioned(program) in INTERPRETERS and Power.EXECUTE in command.powers:
            yield from (WORD.findall(word) for word in _code(command.argv))
        if program == "alias":
            for name, equals, value in (word.partition("=") for word in command.argv[1:]):
                aliases[name] = value.split() if equals else []
        for number, text in enumerate((*commands_of(program, [ShellWord(word) for word in command.argv[1:]]), *_aliases_of_git(program, command.argv))):
            if number >= MOST:
                break
            yield from _words(text)


def _code(argv: Sequence[str]) -> Iterator[str]:
    """Parts of code on the line that may be a command with its words: each call, statement or string in it."""
    for word in argv[1:]:
        if not word.startswith("-") and any(char in word for char in " ('\"["):
            yield from re.split(r"[(;{\n]|exec ", word)


def _aliases_of_git(program: str, argv: Sequence[str]) -> Iterator[str]:
    """What aliases of git stand for that the words set."""
    if program != "git":
        return
    for place, word in enumerate(argv):
        key, equals, value = word.partition("=")
        if _ALIAS.search(key):
            value = value if equals else " ".join(argv[place + 1 : place + 2])
            yield value[1:] if value.startswith("!") else f"git {value}"


def _words(text: str) -> Iterator[list[str]]:
    for part in OPERATORS.split(text):
        try:
            words = shlex.split(part)
        except ValueError:
            words = part.split()
        while words and "=" in words[0] and not words[0].startswith("-"):
            words.pop(0)
        if words:
            yield words
