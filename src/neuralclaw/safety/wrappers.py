"""Programs that run another program given in their arguments (the table `tables/wrappers.json`), and how the inner command is found."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from ..types.datafile import by_name, read_data_file
from .nameset import NonEmptyNames, NonEmptyText
from .shell_words import ShellWord

FILE = "safety/tables/wrappers.json"
LONG_DIRECTORY = "chdir"


class Wrapper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a wrapper's own arguments end. `flags` and `valued` are short options without and with a value, `long_valued` long ones whose value may
    are separate; `skip` operands are before the inner command; `joined`: the rest is shell text. `examples`: command lines and their inner command."""

    names: NonEmptyNames
    examples: Annotated[dict[NonEmptyText, NonEmptyText], msgspec.Meta(min_length=1)]
    flags: str = ""
    valued: str = ""
    long_flags: tuple[str, ...] = ()
    long_valued: tuple[str, ...] = ()
    skip: int = 0
    joined: bool = False
    plain: bool = False
    """It does nothing of its own: the line reads where the inner command does."""
    directory: str = ""
    """The option that names where the inner command runs: its letter."""


class Wrappers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    wrappers: tuple[Wrapper, ...]


TABLE = read_data_file(FILE, Wrappers)
WRAPPERS = by_name(FILE, TABLE.wrappers, lambda row: row.names)


class InnerCommand(msgspec.Struct, frozen=True):
    """Where the inner command begins, and whether every option before it was understood."""

    start: int
    sure: bool
    options: tuple[ShellWord, ...] = ()
    directory: ShellWord | None = None
    """Where it runs, if an option says so."""


def inner(words: Sequence[ShellWord], wrapper: Wrapper, *, assignments: bool = False) -> InnerCommand:
    """Find the inner command of `words`, whose first is the wrapper's own name."""
    sure, i, skip = True, 1, wrapper.skip
    options: list[ShellWord] = []
    directory: ShellWord | None = None
    ended = False
    while i < len(words):
        text = words[i].text
        if text == "--" and not ended:
            ended, step = True, 1
        elif text.startswith("--") and not ended:
            step, known = _long(text, wrapper)
            sure &= known
            directory = _directory(words[i : i + step], wrapper) or directory
        elif text.startswith("-") and len(text) > 1 and not ended:
            step, known = _short(text, wrapper, words[0].text)
            sure &= known
            directory = _directory(words[i : i + step], wrapper) or directory
        elif assignments and "=" in text:
            step = 1
        elif skip:
            skip, step = skip - 1, 1
        else:
            break
        sure &= all(word.known and not word.glob for word in words[i : i + step])
        options += words[i : i + step]
        i += step
    return InnerCommand(min(i, len(words)), sure, tuple(options), directory)


def _directory(option: Sequence[ShellWord], wrapper: Wrapper) -> ShellWord | None:
    """The directory that the option, with its value where that is a word of its own, names for the inner command."""
    text = option[0].text
    if not wrapper.directory:
        return None
    if text.startswith("--"):
        name, joined, value = text[2:].partition("=")
        if len(name) < 3 or not LONG_DIRECTORY.startswith(name):
            return None
    else:
        letter = next((letter for letter in text[1:] if letter in wrapper.valued), "")
        if letter != wrapper.directory:
            return None
        value = text[1:].partition(letter)[2]
        joined = value
    return ShellWord(value, option[0].known) if joined else option[-1]


def _long(text: str, wrapper: Wrapper) -> tuple[int, bool]:
    name, equals, _ = text[2:].partition("=")
    if any(option.startswith(name) for option in wrapper.long_valued):
        return (1 if equals else 2), True
    return 1, any(option.startswith(name) for option in wrapper.long_flags)


def _short(text: str, wrapper: Wrapper, name: str) -> tuple[int, bool]:
    if name.endswith("nice") and text[1:].lstrip("-").isdigit():
        return 1, True
    for place, letter in enumerate(text[1:], 2):
        if letter in wrapper.valued:
            return (2 if place == len(text) else 1), True
        if letter not in wrapper.flags:
            return 1, False
    return 1, True
