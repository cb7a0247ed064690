"""Options with which a program runs other programs: the table `tables/running_options.json`, and the commands that they name.

What a program runs falls under the blocks (row N17) as if it stood alone, whichever option gives it.
"""

import shlex
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Annotated

import msgspec

from ..types.datafile import by_name, damaged, read_data_file
from .awk_script import awk_only_reads
from .lazy_regex import lazy_pattern
from .nameset import NonEmptyNames, NonEmptyText
from .scripts import shell_calls
from .sed_script import sed_only_reads
from .shell_words import ShellWord

FILE = "safety/tables/running_options.json"
SHORTEST = 5
"""Characters of a long option, with its dashes, that may stand for all of it."""
MOST_BUNDLED = 5
"""Words of which each may be the value of a letter that stands without a dash."""
AWK, SED = frozenset({"awk", "gawk", "mawk", "nawk"}), frozenset({"sed", "gsed"})
MOST = 40
"""Places of one command at which a command may begin."""
CHARACTERS_OF_A_STEP = 20
"""Characters that a pattern passes in the time of one step of `AnalysisBounds`."""
_ESCAPES = lazy_pattern(r"(?:^|[\s:;+])(?:\\?!|\.?(?:shell|system)\s)\s*([^\n]+)")
"""How a text in the language of an editor, a debugger or a database gives a command to a shell."""
_PREFIX = lazy_pattern(r"^(?:exec=|[!|:\s])+")
_AWK_PIPES = lazy_pattern(r'\|&?\s*+"((?:\\.|[^"\\])*+)"|"((?:\\.|[^"\\])*+)"\s*+\|&?')
_SED_RUNS = lazy_pattern(r"(?:^|[\s;{}0-9$/,!])e\s+([^\n]+)")
_SED_WRITES = lazy_pattern(r"w\s*(/dev/[^\s;}]+)")
_SED_REPLACES = lazy_pattern(r"s([^\w\s\\])(?:\\.|(?!\1)[^\\])*+\1((?:\\.|(?!\1)[^\\])*+)\1[gpiImM0-9]*e")


class RunningOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row. `options`: their value is a command; `rest`: all words behind them are; `texts`: their value may hold a command behind `!`, `shell` or the
    like; `setting`: their value is `KEY=COMMAND` for one of the patterns `keys`; without them each word may be that. `after`: the words behind these
    subcommands are a command; `words`: each operand is one, or such a text. `bundled`: letters of options may stand without a dash. `examples`: command
    lines, each with a command that is found in it."""

    names: NonEmptyNames
    examples: Annotated[dict[NonEmptyText, NonEmptyText], msgspec.Meta(min_length=1)]
    options: tuple[NonEmptyText, ...] = ()
    rest: tuple[NonEmptyText, ...] = ()
    texts: tuple[NonEmptyText, ...] = ()
    setting: tuple[NonEmptyText, ...] = ()
    keys: tuple[NonEmptyText, ...] = ()
    after: tuple[str, ...] = ()
    written: tuple[NonEmptyText, ...] = ()
    """Options whose value is a file that is written."""
    words: bool = False
    bundled: bool = False

    def commands(self, args: Sequence[ShellWord]) -> Iterator[str]:
        """The commands, as text for a shell, that a call with these words may run."""
        texts = [word.text for word in args[:MOST]]
        for place, text in enumerate(texts):
            behind = texts[place + 1 :]
            if self.bundled and not place and not text.startswith("-") and any(option[1:] in text for option in self.options if len(option) == 2):
                yield from behind[:MOST_BUNDLED]
            if self.keys and not self.setting:
                yield from self._set(text)
            for option in self.written:
                yield from (f"tee {shlex.quote(value)}" for value in (_value(option, text, behind),) if value)
            for option in self.options:
                yield from self._commands_of(_value(option, text, behind, bundled=self.bundled and place == 0))
            for option in self.texts:
                yield from _escaped(_value(option, text, behind))
            for option in self.setting:
                yield from self._set(_value(option, text, behind))
            if text in self.rest:
                yield shlex.join(behind)
            if self.words and not text.startswith("-"):
                yield from (text, *_escaped(text))
        for phrase in self.after:
            yield from _behind(phrase.split(), texts)

    def _commands_of(self, value: str) -> Iterator[str]:
        if value:
            yield _PREFIX.sub("", value).replace(",", " ")

    def _set(self, value: str) -> Iterator[str]:
        """`KEY=COMMAND`, or `KEY COMMAND` as `ssh` takes it."""
        key, equals, command = value.partition("=")
        if " " in key.strip() or not equals:
            key, _, command = value.strip().partition(" ")
        if command and any(fnmatchcase(key.strip().lower(), pattern) for pattern in self.keys):
            yield from self._commands_of(command.strip())


class RunningOptionsTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    programs: Annotated[tuple[RunningOptions, ...], msgspec.Meta(min_length=1)]


@cache
def rows() -> dict[str, RunningOptions]:
    """The rows under their names. Raises `ConfigError` where the command of an example is not found."""
    table = read_data_file(FILE, RunningOptionsTable).programs
    for place, row in enumerate(table):
        for line, command in row.examples.items():
            name, *rest = shlex.split(line)
            if name not in row.names or command not in row.commands([ShellWord(word) for word in rest]):
                raise damaged(FILE, f"programs[{place}].examples ({line})", f"`{command}` is not found by the options of the row")
    return by_name(FILE, table, lambda row: row.names)


def steps_of(name: str, args: Sequence[ShellWord]) -> int:
    """At most so many steps `commands_of` takes for a script of `awk` or `sed`: each place where a match may begin, to the end of the text."""
    begins = "s" if name in SED else '"' if name in AWK else ""
    return sum(len(word.text) * word.text.count(begins) for word in args) // CHARACTERS_OF_A_STEP if begins else 0


def commands_of(name: str, args: Sequence[ShellWord]) -> list[str]:
    """The commands that a call may run by its options, or by a script for `awk` or `sed` on the line."""
    found: list[str] = []
    if name in AWK:
        for word in args:
            if not awk_only_reads(word.text):
                found += shell_calls(word.text) + [one or other for one, other in _AWK_PIPES.findall(word.text)]
    elif name in SED:
        for word in args:
            if not sed_only_reads(word.text):
                found += _SED_RUNS.findall(word.text) + [replaced for _, replaced in _SED_REPLACES.findall(word.text)]
                found += [f"tee {shlex.quote(device)}" for device in _SED_WRITES.findall(word.text)]
    elif (row := rows().get(name)) is not None:
        found += row.commands(args)
    return list(dict.fromkeys(filter(None, found)))


def _value(option: str, text: str, behind: Sequence[str], *, bundled: bool = False) -> str:
    """The value that the word `text` gives to `option`, its own or the next word's; "" where it is another option."""
    following = behind[0] if behind else ""
    if option.startswith("--"):
        name, equals, value = text.partition("=")
        if len(name) >= SHORTEST and option.startswith(name):
            return value if equals else following
    elif text == option:
        return following
    elif option == "+":
        return text[1:] if text.startswith("+") else ""
    elif len(option) == 2 and (bundled or text.startswith("-")) and not text.startswith("--"):
        letters, found, value = text.lstrip("-").partition(option[1])
        if found and letters.isalnum() | (not letters):
            return following if not value or (bundled and value.isalpha()) else value
    return ""


def _escaped(text: str) -> list[str]:
    return list(_ESCAPES.findall(text))


def _behind(phrase: Sequence[str], texts: Sequence[str]) -> Iterator[str]:
    """What stands behind a subcommand. Which of its options take a value is not known: a command may begin at each word."""
    plain = [place for place, text in enumerate(texts) if not text.startswith("-")]
    if [texts[place] for place in plain[: len(phrase)]] != list(phrase):
        return
    start = plain[len(phrase) - 1] + 1 if phrase else 0
    words = texts[start:]
    for place, text in enumerate(words):
        if text == "--" or not text.startswith("-"):
            rest = words[place + (text == "--") :]
            yield rest[0] if len(rest) == 1 else shlex.join(rest)
        if text == "--":
            return
