"""Calls of programs with subcommands that only read: the table `tables/reading_calls.json`. A call that fits no row does more than read, or may."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from ..types.datafile import by_name, damaged, read_data_file
from ..types.risk import Risk
from .reading_programs import OptionList, may_be_option
from .shell_words import ShellWord

FILE = "safety/tables/reading_calls.json"
LONGEST = 2
"""Words of a subcommand: `git stash list`, `docker container ls`."""


class ReadingCall(OptionList, frozen=True, forbid_unknown_fields=True):
    """One row. `names`: a program, with its subcommand word by word; options of the row of the program alone may stand before the subcommand. `exact`: words
    that are one option although they begin with a single dash. `operands`: `text` (any), `none`, `single` (one at most), `key` (one at most, with a dot
    within), `keys` (none that sets a value by `=`), `listed` (any where one of the options `listing` stands, else none). `required`: one of these options
    must stand."""

    operands: Literal["text", "none", "single", "key", "keys", "listed"] = "text"
    exact: frozenset[str] = frozenset()
    listing: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()

    def options_in(self, word: ShellWord) -> list[tuple[str, ShellWord | None, bool]] | None:
        return [(word.text.lstrip("-"), None, False)] if word.text in self.exact else super().options_in(word)

    def refused(self, args: Sequence[ShellWord]) -> list[str]:
        """The words of a call that make it more than a read."""
        given = self.given(args)
        if given.refused:
            return given.refused
        if self.required and not self._stands(args, self.required):
            return [min(word.shown for word in args)] if args else [self.names[0]]
        return [word.shown for word in self._beyond(given.operands, listed=self._stands(args, self.listing))]

    def _beyond(self, operands: Sequence[ShellWord], *, listed: bool) -> Sequence[ShellWord]:
        """The operands that it does not have where it only reads."""
        if self.operands == "text" or (self.operands == "listed" and listed):
            return ()
        if self.operands == "keys":
            return [word for word in operands if "=" in word.text or word.glob]
        if self.operands in ("single", "key"):
            beyond = operands[1:]
            return beyond or [word for word in operands if word.glob or (self.operands == "key" and "." not in word.text)]
        return operands

    def _stands(self, args: Sequence[ShellWord], options: frozenset[str]) -> bool:
        for word in args:
            name = word.text.partition("=")[0]
            if name == "--":
                break
            if name in options or (name.startswith("-") and not name.startswith("--") and any(f"-{letter}" in options for letter in name[1:])):
                return True
        return False


class ReadingCallTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    calls: tuple[ReadingCall, ...]


def refused_words(program: str, args: Sequence[ShellWord]) -> list[str] | None:
    """The words of a call that make it more than a read; empty where it only reads, None where no row is about it."""
    return _refused(CALLS, program, args)


def _refused(calls: Mapping[str, ReadingCall], program: str, args: Sequence[ShellWord]) -> list[str] | None:
    alone = calls.get(program)
    start = _behind_options(alone, args)
    for count in range(LONGEST, 0, -1):
        words = args[start : start + count]
        row = calls.get(" ".join([program, *(word.text for word in words)])) if len(words) == count else None
        if row is not None:
            plain = all(word.known and not word.glob for word in words)
            return row.refused(args[start + count :]) if plain else [words[0].shown]
    return alone.refused(args) if alone is not None else None


def _behind_options(alone: ReadingCall | None, args: Sequence[ShellWord]) -> int:
    """The place of the subcommand."""
    place = 0
    while alone is not None and place < len(args) and args[place].text.startswith("-"):
        values = alone.values_of(args[place].text)
        if values is None or (values and any(may_be_option(word.text) for word in args[place + 1 : place + 2])):
            break
        place += 1 + values
    return place


def checked_calls(rows: Sequence[ReadingCall]) -> dict[str, ReadingCall]:
    """The rows under their names. Raises `ConfigError` where an example is not read as its row says."""
    calls = by_name(FILE, rows, lambda row: row.names)
    for place, row in enumerate(rows):
        for text, risk in row.examples.items():
            program, *rest = shlex.split(text)
            if (_refused(calls, program, [ShellWord(word) for word in rest]) == []) is not (risk is Risk.LOW):
                raise damaged(FILE, f"calls[{place}].examples ({text})", f"it is not {risk.name} by the options of the row")
    return calls


TABLE = read_data_file(FILE, ReadingCallTable)
CALLS = checked_calls(TABLE.calls)
