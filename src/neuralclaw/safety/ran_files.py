"""Which files a command runs as code, as far as its words and its program's habits tell: what a yes is held to by digest (`tables/ran_files.json`)."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from posixpath import basename, join
from typing import Annotated

import msgspec

from ..types.datafile import by_name, read_data_file
from ..types.risk import Power
from .command_line import CommandLine, SimpleCommand
from .interpreters import INTERPRETERS, unversioned
from .lazy_regex import lazy_pattern
from .nameset import NonEmptyNames

FILE = "safety/tables/ran_files.json"
MOST = 400
"""Files of one line that are looked up."""
_TOKENS = lazy_pattern(r"[\w.@%+~/-]{2,400}")
"""What may be the name of a file in the text of a program."""


class ProgramFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Programs that run what files of these names say, in the directory where they run or that one of the options `directory` names."""

    names: NonEmptyNames
    files: NonEmptyNames
    directory: tuple[str, ...] = ()


class RanFilesTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file. `valued`: options of interpreters whose value, which may be code, stands before the script."""

    programs: Annotated[tuple[ProgramFiles, ...], msgspec.Meta(min_length=1)]
    valued: frozenset[str]


@cache
def table() -> RanFilesTable:
    """The table, read when a command is first judged that needs it."""
    return read_data_file(FILE, RanFilesTable)


@cache
def _programs() -> dict[str, ProgramFiles]:
    return by_name(FILE, table().programs, lambda row: row.names)


class NamedFiles(msgspec.Struct, frozen=True):
    """Absolute paths, which need not be there. `ran`: it is code where it is a file; `named`: it is where it looks like code."""

    ran: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


def of_line(line: CommandLine) -> NamedFiles:
    """Those of all its commands; none where all of it only reads, or changes no more than the files that its words name."""
    if not any(command.powers & {Power.EXECUTE, Power.NETWORK} for command in line.commands):
        return NamedFiles()
    piped = any(command.open and Power.EXECUTE in command.powers for command in line.commands)
    ran: dict[str, None] = {}
    named: dict[str, None] = {}
    for command in line.commands:
        found = of_command(command)
        ran.update(dict.fromkeys(found.ran))
        named.update(dict.fromkeys(found.named))
        if piped or Power.NETWORK in command.powers:  # what is read is run by the next one, or sent
            ran.update(dict.fromkeys(want.path for want in command.wants if want.op == "read"))
    return NamedFiles(tuple(ran)[:MOST], tuple(path for path in named if path not in ran)[:MOST])


def of_command(command: SimpleCommand) -> NamedFiles:
    """Those of one command. Where its directory is not known, only absolute paths."""
    paths = [*_ran(command), *([command.script] if command.script else [])]
    ran = _absolute(paths, command.cwd)
    named = _absolute(_named(command.argv), command.cwd) if Power.EXECUTE in command.powers or Power.NETWORK in command.powers else ()
    return NamedFiles(ran, tuple(path for path in named if path not in ran))


def _ran(command: SimpleCommand) -> Iterator[str]:
    argv = command.argv
    if not argv:
        return
    name = basename(argv[0])
    if "/" in argv[0]:
        yield argv[0]
    if name in ("source", "."):
        yield from argv[1:2]
    if unversioned(name) in INTERPRETERS:
        yield from _scripts(argv[1:])
    if "-m" in argv[1:-1]:
        yield from _module(argv[argv.index("-m") + 1])
    for program in (name, *([argv[argv.index("-m") + 1]] if "-m" in argv[1:-1] else [])):
        row = _programs().get(program)
        if row is not None and not (name == "git" and Power.NETWORK not in command.powers):
            places = [".", *_values(argv[1:], row.directory)]
            yield from (join(place, file) for place in places for file in row.files)


def _scripts(args: Sequence[str]) -> Iterator[str]:
    """The first operand, and the values of options before it that load code."""
    skip = False
    for word in args:
        if skip or word in table().valued:
            if skip:
                yield word
            skip = not skip
        elif not word.startswith(("-", "+")):
            yield word
            yield join(word, "__main__.py")  # a directory is a program of Python
            return


def _module(name: str) -> Iterator[str]:
    """The files that `python -m NAME` runs where they lie in its directory."""
    place = name.replace(".", "/")
    yield from (f"{place}.py", f"{place}/__main__.py", f"{place}/__init__.py")
    if "." in name:
        yield f"{place.rpartition('/')[0]}/__init__.py"


def _values(args: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    """What these options are given."""
    for place, word in enumerate(args):
        if word in options and place + 1 < len(args):
            yield args[place + 1]
        for option in options:
            if word.startswith(f"{option}=") or (not option.startswith("--") and word.startswith(option) and word != option):
                yield word[len(option) :].removeprefix("=")


def _named(argv: Sequence[str]) -> Iterator[str]:
    """Every word that may be the name of a file, also behind an option or `=`, and what may be one in the text of a program."""
    for word in argv[1:]:
        if "://" in word:
            continue
        if any(char in word for char in " \n\"'("):
            yield from _TOKENS.findall(word[:20_000])[:50]
        elif word.startswith("-") and "=" not in word:
            yield word[2:]
        else:
            yield word.rpartition("=")[2].lstrip("@<")


def _absolute(words: Iterable[str], cwd: str | None) -> tuple[str, ...]:
    """The paths as the kernel would walk them: `..` behind a link is not taken off."""
    fit = (word for word in words if word and "\0" not in word and len(word) < 4096 and (word.startswith("/") or cwd))
    return tuple(dict.fromkeys(join(cwd or "/", word.removeprefix("./")) for word in fit))
