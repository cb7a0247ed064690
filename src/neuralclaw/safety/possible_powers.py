"""Powers that a call may have besides those that are found in it: of programs that nobody read, and of programs that delete what they are given.

Rules and hooks of the owner that are about a power are about these too. Which programs delete, overwrite or replace files is the table
`tables/deleting.json`.
"""

import shlex
from collections.abc import Sequence
from functools import cache
from typing import Annotated

import msgspec

from ..types.datafile import by_name, damaged, read_data_file
from ..types.facts import FactSheet
from ..types.risk import Power
from .command_line import CommandLine, SimpleCommand
from .findings import Findings
from .nameset import NonEmptyNames, NonEmptyText
from .rule_words import names

FILE = "safety/tables/deleting.json"


class DeletingProgram(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row: programs that take away, or replace, content that is there. With `options` or `subcommands` only where one of them is given; `kept_by`: not
    where one of these is given. A letter counts in a bundle of letters too. `examples`: command lines, and whether they do."""

    names: NonEmptyNames
    examples: Annotated[dict[NonEmptyText, bool], msgspec.Meta(min_length=1)]
    options: tuple[NonEmptyText, ...] = ()
    subcommands: tuple[NonEmptyText, ...] = ()
    kept_by: tuple[NonEmptyText, ...] = ()

    def deletes(self, argv: Sequence[str]) -> bool:
        """Whether a call with these words, the program first, may delete."""
        args = argv[1:]
        if any(_given(option, args) for option in self.kept_by):
            return False
        if not self.options and not self.subcommands:
            return True
        return any(_given(option, args) for option in self.options) or any(names(f"{argv[0]} {word}", argv) for word in self.subcommands)


class DeletingTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    programs: Annotated[tuple[DeletingProgram, ...], msgspec.Meta(min_length=1)]


@cache
def rows() -> dict[str, DeletingProgram]:
    """The rows under their names. Raises `ConfigError` where an example does not hold."""
    table = read_data_file(FILE, DeletingTable).programs
    for place, row in enumerate(table):
        for line, wanted in row.examples.items():
            argv = shlex.split(line)
            if (argv[0] in row.names and row.deletes(argv)) is not wanted:
                raise damaged(FILE, f"programs[{place}].examples ({line})", f"the row says the other of {str(wanted).lower()}")
    return by_name(FILE, table, lambda row: row.names)


def runs_unknown(findings: Findings, line: CommandLine | None) -> bool:
    """Whether the call runs, or may run, something that nobody read."""
    if line is None:
        return Power.EXECUTE in findings.powers
    return not line.understood or line.broken or any(command.unresolved or Power.EXECUTE in command.powers for command in line.commands)


def possible_powers(findings: Findings, line: CommandLine | None, sheet: FactSheet) -> frozenset[Power]:
    """The powers that the call may have besides its own. A network only where it is granted one, or where no sandbox keeps it from one."""
    found: set[Power] = set()
    if runs_unknown(findings, line):
        found |= {Power.READ, Power.WRITE, Power.DELETE}
        if findings.network or sheet.unconfined:
            found.add(Power.NETWORK)
    if line is not None and any(_deletes(command) for command in line.commands):
        found |= {Power.WRITE, Power.DELETE}
    return frozenset(found)


def _deletes(command: SimpleCommand) -> bool:
    row = rows().get(command.argv[0].rsplit("/", 1)[-1]) if command.argv else None
    return row is not None and row.deletes(command.argv)


def _given(option: str, args: Sequence[str]) -> bool:
    """Whether the option stands among the words: whole, shortened, with a value, or its letter in a bundle."""
    if option.startswith("--"):
        return any(arg == option or arg.startswith(f"{option}=") or (len(arg) > 4 and option.startswith(arg.partition("=")[0])) for arg in args)
    if len(option) > 2:
        return option in args
    return any(arg.startswith("-") and not arg.startswith("--") and option[1] in arg for arg in args)
