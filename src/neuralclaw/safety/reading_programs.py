"""Programs that only read, each with the list of its reading options: the table `tables/readers.json`. An option off the list may do anything."""

import shlex
from collections.abc import Sequence
from typing import Literal

import msgspec

from ..types.datafile import by_name, damaged, read_data_file
from ..types.risk import Risk
from .nameset import Examples, NonEmptyNames
from .shell_words import ShellWord

FILE = "safety/tables/readers.json"
_OPENS = ("*", "?", "[", "-")
"""What a word begins with that may be an option once its wildcards are replaced by names of files."""


class GivenOptions(msgspec.Struct):
    """How a program's words were read. `refused`: what is, or may be, an option off the list; `values`: words that belong to an option."""

    refused: list[str]
    operands: list[ShellWord]
    values: list[ShellWord]


class OptionList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The options with which a program only reads. `flags` and `long` are options without a value, or with one that is joined to it; `valued` and
    `long_valued` take a value, `joined` only one behind the letter.

    `prints`: no option that the program has writes or runs anything, so that it does not matter what an unknown word turns out to be. `free`: its words are
    never options; `numbers`: `-20` is one.
    """

    names: NonEmptyNames
    examples: Examples
    prints: bool = False
    free: bool = False
    numbers: bool = False
    flags: str = ""
    valued: str = ""
    joined: str = ""
    long: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()

    def given(self, args: Sequence[ShellWord]) -> GivenOptions:
        """The words of a call as this program takes them, wherever its options stand."""
        found = GivenOptions([], [], [])
        if self.free:
            found.operands += args
            return found
        place, ended = 0, False
        while place < len(args):
            word, text = args[place], args[place].text
            place += 1
            if not ended and not self.prints and (not (word.known or word.wild) or (word.glob and text.startswith(_OPENS))):
                found.refused.append(word.shown)
            elif ended or not text.startswith("-") or text == "-":
                found.operands.append(word)
            elif text == "--":
                ended = True
            else:
                values = self.values_of(text)
                if values is None:
                    found.refused.append(word.shown)
                elif values and args[place : place + 1] and not self.is_value(args[place].text):
                    found.refused.append(word.shown)
                elif values:
                    found.values += args[place : place + 1]
                    place += 1
                else:
                    found.values.append(word)
        return found

    def is_value(self, text: str) -> bool:
        """Whether a word may be the value of the option before it."""
        return True

    def values_of(self, text: str) -> int | None:
        """How many of the next words belong to this option, or None where it is not on the list."""
        if text.startswith("--"):
            name, equals, _ = text[2:].partition("=")
            return (0 if equals else 1) if name in self.long_valued else 0 if name in self.long or name in ("help", "version") else None
        if self.numbers and text[1:].isdigit():
            return 0
        for place, letter in enumerate(text[1:], 2):
            if letter in self.valued:
                return int(place == len(text))
            if letter in self.joined:
                return 0
            if letter not in self.flags and not (self.numbers and letter.isdigit()):
                return None
        return 0


class Reader(OptionList, frozen=True, forbid_unknown_fields=True):
    """One row. `operands`: `paths` (all are files), `text` (none is), `pattern` (the first is a pattern, the rest files), `one` (a single file; a second
    operand would be written), `none` (any operand does more than read), `format` (only words that begin with `+`)."""

    operands: Literal["paths", "text", "pattern", "one", "none", "format"] = "paths"

    def reads(self, args: Sequence[ShellWord]) -> bool:
        """Whether the options of a call are reading ones and its operands are such that it writes nothing."""
        found = self.given(args)
        if found.refused or (self.operands == "none" and found.operands) or (self.operands == "one" and len(found.operands) > 1):
            return False
        return self.operands != "format" or all(word.text.startswith("+") for word in found.operands)


class ReaderTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    readers: tuple[Reader, ...]


def checked(file: str, field: str, rows: Sequence[Reader]) -> dict[str, Reader]:
    """The rows under their names. Raises `ConfigError` where an example's options are not read as its row says."""
    found = by_name(file, rows, lambda row: row.names)
    for place, row in enumerate(rows):
        for text, risk in row.examples.items():
            name, *rest = shlex.split(text.partition("<")[0]) if "$" not in text else ("",)
            if name and (name not in row.names or row.reads([ShellWord(word) for word in rest]) is not (risk is Risk.LOW)):
                raise damaged(file, f"{field}[{place}].examples ({text})", f"it is not {risk.name} by the options of the row")
    return found


TABLE = read_data_file(FILE, ReaderTable)
READERS = checked(FILE, "readers", TABLE.readers)
