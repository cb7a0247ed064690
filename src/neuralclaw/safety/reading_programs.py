"""Programs that only read, each with the list of its reading options: the table `tables/readers.json`. An option off the list may do anything."""

import shlex
from collections.abc import Container, Sequence
from typing import Literal

import msgspec

from ..types.datafile import by_name, damaged, read_data_file
from ..types.risk import Risk
from .awk_script import awk_only_reads
from .lazy_regex import lazy_pattern
from .nameset import Examples, NonEmptyNames
from .sed_script import sed_only_reads
from .shell_words import ShellWord

FILE = "safety/tables/readers.json"
SCRIPTS = {"sed": sed_only_reads, "awk": awk_only_reads}
"""What says whether a script in the language only reads."""
_OPENS = ("*", "?", "[", "-")
"""What a word begins with that may be an option once its wildcards are replaced by names of files."""


_MAY_BE_OPTION = lazy_pattern(r"-[^\d]")
"""A value that is an option where the option before it takes none, or only a joined one, in some version of the program."""


def may_be_option(text: str) -> bool:
    """Whether a word that stands for a value is an option to some version of the program."""
    return _MAY_BE_OPTION.match(text) is not None


class GivenOptions(msgspec.Struct):
    """How a program's words were read. `refused`: what is, or may be, an option off the list; `values`: words that belong to an option; `options`: each
    option by its name without dashes, with its value."""

    refused: list[str]
    operands: list[ShellWord]
    values: list[ShellWord]
    options: list[tuple[str, ShellWord | None]]

    def valued(self, names: Container[str]) -> list[ShellWord]:
        """The values of these options."""
        return [value for name, value in self.options if name in names and value is not None]

    def has(self, names: Container[str]) -> bool:
        return any(name in names for name, _ in self.options)


class OptionList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The options with which a program only reads. `flags` and `long` are options without a value, or with one that is joined to it; `valued` and
    `long_valued` take a value, `joined` only one behind the letter.

    `prints`: no option that the program has writes or runs anything, so that it does not matter what an unknown word turns out to be. `free`: its words are
    never options; `numbers`: `-20` is one.

    `clusters`: which letters one word may hold: `all`; `flags` (the value of a letter is the next word, never the rest); `none` (each word is one
    option, which may begin with two dashes). `ends`: its options end at the first operand; `no_end`: `--` does not end them. `bundled`: the letters of its
    first word are options without a dash. `refuses`: a word that begins with one of these characters names a file of options, or is an
    option.
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
    clusters: Literal["all", "flags", "none"] = "all"
    ends: bool = False
    no_end: bool = False
    bundled: bool = False
    refuses: str = ""

    def given(self, args: Sequence[ShellWord]) -> GivenOptions:
        """The words of a call as this program takes them, wherever its options stand."""
        found = GivenOptions([], [], [], [])
        if self.free:
            found.operands += args
            return found
        place, ended = 0, False
        while place < len(args):
            word, text = args[place], args[place].text
            place += 1
            if self.refuses and text.startswith(tuple(self.refuses)):
                found.refused.append(word.shown)
            elif not ended and not self.prints and (not (word.known or word.wild) or (word.glob and text.startswith(_OPENS))):
                found.refused.append(word.shown)
            elif self.bundled and place == 1 and word.known and not text.startswith("-"):
                place += self._take(found, ShellWord(f"-{text}"), args[place:])
            elif ended or not text.startswith("-") or text == "-":
                found.operands.append(word)
                ended |= self.ends
            elif text == "--" and not self.no_end:
                ended = True
            else:
                place += self._take(found, word, args[place:])
        return found

    def values_of(self, text: str) -> int | None:
        """How many of the next words belong to the options in this one, or None where one is not on the list."""
        options = self.options_in(ShellWord(text))
        return None if options is None else sum(takes for *_, takes in options)

    def _take(self, found: GivenOptions, word: ShellWord, behind: Sequence[ShellWord]) -> int:
        """Note the options in one word. How many of the words behind it belong to them."""
        options = self.options_in(word)
        if options is None:
            found.refused.append(word.shown)
            return 0
        taken = 0
        for name, value, takes in options:
            given = behind[0] if takes and behind else value
            if takes and given is not None and not self.prints and may_be_option(given.text):
                found.refused.append(given.shown)
            found.options.append((name, given))
            taken += bool(takes and behind)
        found.values += behind[:taken] or ([word] if not taken else [])
        return taken

    def options_in(self, word: ShellWord) -> list[tuple[str, ShellWord | None, bool]] | None:
        """The options in one word: name, joined value, and whether the next word is the value. None where one is not on the list."""
        text = word.text
        if text.startswith("--") or self.clusters == "none":
            name, equals, value = text.lstrip("-").partition("=")
            if text.startswith("--") or name in self.long | self.long_valued:
                known = name in self.long_valued or name in self.long or name in ("help", "version")
                takes = name in self.long_valued and not equals
                return [(name, ShellWord(value, word.known) if equals else None, takes)] if known else None
            return self._single(word)
        found: list[tuple[str, ShellWord | None, bool]] = []
        if self.numbers and text[1:].isdigit():
            return found
        for place, letter in enumerate(text[1:], 2):
            rest = text[place:]
            if letter in self.valued:
                if self.clusters == "flags" and rest:
                    return None
                return [*found, (letter, ShellWord(rest, word.known) if rest else None, not rest)]
            if letter in self.joined:
                return [*found, (letter, ShellWord(rest, word.known), False)]
            if letter not in self.flags and not (self.numbers and letter.isdigit()):
                return None
            found.append((letter, None, False))
        return found

    def _single(self, word: ShellWord) -> list[tuple[str, ShellWord | None, bool]] | None:
        """A word that is one option of one letter, with a number joined to it or without."""
        letter, rest = word.text[1:2], word.text[2:]
        if letter in self.valued and (not rest or rest.lstrip("+-").isdigit()):
            return [(letter, ShellWord(rest, word.known) if rest else None, not rest)]
        return [(letter, None, False)] if letter in self.flags and not rest else None


class Reader(OptionList, frozen=True, forbid_unknown_fields=True):
    """One row. `operands`: `paths` (all are files), `text` (none is), `pattern` (the first is a pattern, the rest files), `one` (a single file; a second
    operand would be written), `none` (any operand does more than read), `format` (only words that begin with `+`), `sed` and `awk` (the first is a script in
    that language, the rest files). `needs`: without one of these options it writes.

    Of options by name: the value of `files` is a file that is read; with `unnamed` it reads files that the line does not name, or through links; `patterns`
    give the pattern or script, so that every operand is a file; with `changes` it writes its operands. `imports`: words of the program's language with which
    its arguments name files. `endings`: of an operand `a` it also tries `a` with one of these behind.
    """

    operands: Literal["paths", "text", "pattern", "one", "none", "format", "sed", "awk"] = "paths"
    needs: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    unnamed: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    imports: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()

    def opens_unnamed(self, given: GivenOptions, args: Sequence[ShellWord]) -> bool:
        """Whether it reads files that the line does not name."""
        return given.has(self.unnamed) or any(word in arg.text for word in self.imports for arg in args)

    def tried(self, operands: Sequence[ShellWord]) -> list[ShellWord]:
        """The files that these operands may stand for."""
        return [ShellWord(word.text + ending, word.known, word.show, word.glob) if ending else word for word in operands for ending in ("", *self.endings)]

    def scripts(self, given: GivenOptions) -> list[ShellWord]:
        """The scripts of a call, in the language of the program."""
        if self.operands not in SCRIPTS:
            return []
        return given.valued(self.patterns) if given.has(self.patterns) else given.operands[:1]

    def reads(self, args: Sequence[ShellWord]) -> bool:
        """Whether the options of a call are reading ones and its operands are such that it writes nothing."""
        found = self.given(args)
        if found.refused or (self.operands == "none" and found.operands) or (self.operands == "one" and len(found.operands) > 1):
            return False
        if found.has(self.changes) or (self.needs and not found.has(self.needs)):
            return False
        if not all(SCRIPTS[self.operands](word.text) for word in self.scripts(found)):
            return False
        return not self.opens_unnamed(found, args) and (self.operands != "format" or all(word.text.startswith("+") for word in found.operands))


class ReaderTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file. `listings`: programs that write, unless their options make them list or print what an archive holds."""

    readers: tuple[Reader, ...]
    listings: tuple[Reader, ...]


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
LISTINGS = checked(FILE, "listings", TABLE.listings)
