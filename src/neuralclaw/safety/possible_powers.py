"""Powers that a call may have besides those that are found in it: of programs that nobody read, and of programs that delete what they are given.

Rules and hooks of the owner that are about a power are about these too. Which programs delete or replace files, and which may use a network, is the table
`tables/possible_powers.json`.
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

FILE = "safety/tables/possible_powers.json"


class PossiblePower(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row: programs that may have the power, `delete` where they take away or replace content that is there. With `options` or `subcommands` only where one
    of them is given, with `holding` where a word has that in it; `kept_by`: not where one of these is given. A letter counts in a bundle of letters too.
    `examples`: command lines, and whether they may."""

    names: NonEmptyNames
    examples: Annotated[dict[NonEmptyText, bool], msgspec.Meta(min_length=1)]
    power: Power = Power.DELETE
    options: tuple[NonEmptyText, ...] = ()
    subcommands: tuple[NonEmptyText, ...] = ()
    kept_by: tuple[NonEmptyText, ...] = ()
    holding: str = ""

    def given(self, argv: Sequence[str]) -> bool:
        """Whether a call with these words, the program first, may have the power."""
        args = argv[1:]
        if any(_given(option, args) for option in self.kept_by):
            return False
        if self.holding:
            return any(self.holding in arg for arg in args)
        if not self.options and not self.subcommands:
            return True
        return any(_given(option, args) for option in self.options) or any(
            word.partition(" ")[0] in args and names(f"{argv[0]} {word}", argv) for word in self.subcommands
        )


class PossiblePowerTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    programs: Annotated[tuple[PossiblePower, ...], msgspec.Meta(min_length=1)]


@cache
def rows() -> dict[Power, dict[str, PossiblePower]]:
    """The rows of each power under their names. Raises `ConfigError` where an example does not hold."""
    table = read_data_file(FILE, PossiblePowerTable).programs
    for place, row in enumerate(table):
        for line, wanted in row.examples.items():
            argv = shlex.split(line)
            if (argv[0] in row.names and row.given(argv)) is not wanted:
                raise damaged(FILE, f"programs[{place}].examples ({line})", f"the row says the other of {str(wanted).lower()}")
    powers = dict.fromkeys(row.power for row in table)
    return {power: by_name(FILE, [row for row in table if row.power is power], lambda row: row.names) for power in powers}


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
    for command in line.commands if line is not None else ():
        for power in rows():
            if may_have(command, power) and not (power is Power.DELETE and command.only_reads):
                found |= {power, Power.WRITE} if power is Power.DELETE else {power}
    return frozenset(found)


def may_have(command: SimpleCommand, power: Power) -> bool:
    """Whether the table says that the program may have the power with these words."""
    row = rows()[power].get(command.argv[0].rsplit("/", 1)[-1]) if command.argv else None
    return row is not None and row.given(command.argv)


def _given(option: str, args: Sequence[str]) -> bool:
    """Whether the option stands among the words: whole, shortened, with a value, or its letter in a bundle."""
    if option.startswith("--"):
        return any(arg == option or arg.startswith(f"{option}=") or (len(arg) > 4 and option.startswith(arg.partition("=")[0])) for arg in args)
    if len(option) > 2:
        return option in args
    return any(arg.startswith("-") and not arg.startswith("--") and option[1] in arg for arg in args)
