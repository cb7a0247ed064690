"""Whether a command is one that an owner's rule names: program and subcommand, whatever options stand before and between them."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated

import msgspec

from ..types.datafile import by_name, read_data_file
from .nameset import NonEmptyNames, NonEmptyText

FILE = "safety/tables/global_options.json"
SYSTEM_PROGRAMS = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/")
"""Where a program by its path is the one that its name says, so that a rule which allows the name allows it."""


LONG = {"f": "--force", "r": "--recursive"}
"""Letters that are these options in every program that has both."""
SHORTEST = 5
"""Characters of a long option, with its dashes, that may stand for all of it."""


class GlobalOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of programs that stand before the subcommand: those that take the next word as their value, and those that do not."""

    names: NonEmptyNames
    valued: tuple[NonEmptyText, ...]
    flags: tuple[NonEmptyText, ...]
    examples: Annotated[dict[NonEmptyText, str], msgspec.Meta(min_length=1)]
    """Commands with their subcommand."""
    ends: tuple[NonEmptyText, ...] = ()
    """Options with which no subcommand is run, whatever follows."""


class GlobalOptionsTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    programs: tuple[GlobalOptions, ...]
    same: dict[NonEmptyText, tuple[NonEmptyText, ...]]
    """Commands that do what another one does, which a rule about that one is about too."""


TABLE = read_data_file(FILE, GlobalOptionsTable)
OPTIONS = by_name(FILE, TABLE.programs, lambda row: row.names)
SAME = TABLE.same


def is_prefix(command: str, argv: Sequence[str], *, exact: bool = False) -> bool:
    """Whether the command begins with the words of the rule as they are written, or is them: what a rule that allows needs. A program by its path counts where
    the system keeps its programs."""
    words = command.split()
    if not words or not argv or (exact and len(words) != len(argv)):
        return False
    first = argv[0]
    if "/" not in words[0]:
        first = next((first[len(place) :] for place in SYSTEM_PROGRAMS if first.startswith(place)), first)
    return [first, *argv[1 : len(words)]] == words


def names(command: str, argv: Sequence[str]) -> bool:
    """Whether the command is the one that the rule names, in any spelling: the program by any path, its subcommand after options, options anywhere. A word
    after an option that the table does not have is read both as its value and as the next word. What is not known of the words, a variable or a wildcard, is
    what it may be."""
    words = command.split()
    if not words or not argv or not _is_like(_base(words[0]), _base(argv[0])):
        return False
    return all(_has(option, _letters_of_rm(argv)) for option in words[1:] if _is_option(option)) and _in_order(
        [word for word in words[1:] if not _is_option(word)], argv[1:], OPTIONS.get(_base(argv[0]))
    )


def _base(program: str) -> str:
    return program.rsplit("/", 1)[-1]


def _is_open(arg: str) -> bool:
    """Whether it begins with something that is not known before it runs."""
    return arg.lstrip("\"'")[:1] in ("$", "`")


def _is_like(word: str, arg: str) -> bool:
    """Whether the argument is the word, or a wildcard that may stand for it."""
    return word == arg or (any(char in arg for char in "*?[") and fnmatchcase(word, arg))


def _is_option(word: str) -> bool:
    return len(word) > 1 and word.startswith("-")


def _letters_of_rm(argv: Sequence[str]) -> list[str]:
    """The arguments, where `rm` takes `-R` for `-r`."""
    return [arg.replace("R", "r") if _base(argv[0]) == "rm" and _is_option(arg) and not arg.startswith("--") else arg for arg in argv[1:]]


def _has(option: str, args: Sequence[str]) -> bool:
    """Whether the option stands among the arguments: whole, with a value, or its letters in any bundle of letters."""
    if any(arg == option or arg.startswith(f"{option}=") or _is_open(arg) for arg in args):
        return True
    letters = {letter for arg in args if arg.startswith("-") and not arg.startswith("--") for letter in arg[1:]}
    words = [arg.partition("=")[0] for arg in args if arg.startswith("--") and len(arg) >= SHORTEST]
    if option.startswith("--"):
        return any(option.startswith(word) for word in words) or any(option == LONG.get(letter) for letter in letters)
    if not option[1:].isalpha():
        return False
    return all(one in letters or (one in LONG and any(LONG[one].startswith(word) for word in words)) for one in option[1:])


def _in_order(words: Sequence[str], args: Sequence[str], options: GlobalOptions | None) -> bool:
    """Whether the words come one after the other with nothing but options between them. A reading is how many words it has found, and whether the next
    argument is the value of an option."""
    readings = {(0, False)}
    for arg in args:
        if any(found == len(words) for found, _ in readings):
            return True
        later = set[tuple[int, bool]]()
        for found, is_value in readings:
            if is_value:
                later.add((found, False))
            elif _is_open(arg):
                later.update((one, False) for one in range(found, len(words) + 1))
            elif _is_like(words[found], arg):
                later.add((found + 1, False))
            elif not found and options is not None and arg in options.ends:
                continue
            elif _is_option(arg):
                later.update((found, one) for one in _values_after(arg, options))
        readings = later
    return any(found == len(words) for found, _ in readings)


def _values_after(option: str, options: GlobalOptions | None) -> tuple[bool, ...]:
    """Whether the argument after the option is its value; both where that is not known."""
    if "=" in option or (options is not None and option in options.flags):
        return (False,)
    return (True,) if options is not None and option in options.valued else (False, True)
