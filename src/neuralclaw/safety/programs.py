"""What programs do that may do more than read: the table `tables/programs.json`; those that only read are in `reading_programs`."""

from typing import Literal

import msgspec

from ..types.datafile import by_name, read_data_file
from ..types.risk import Power, Risk
from .nameset import Examples, NameSet, NonEmptyNames
from .reading_programs import READERS

FILE = "safety/tables/programs.json"


class Act(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Programs that do more than read. `op` is what happens to their path operands; `last`: only the last one is changed; `valued`: short letters
    whose value follows."""

    names: NonEmptyNames
    powers: tuple[Power, ...]
    risk: Risk
    why: str
    examples: Examples
    op: Literal["", "write", "delete", "mode"] = ""
    last: bool = False
    valued: str = ""


class Subcommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What subcommands of a program do where they do more than read."""

    names: NonEmptyNames
    powers: tuple[Power, ...]
    risk: Risk
    why: str
    examples: Examples


class Subcommands(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Programs with the same subcommands."""

    names: NonEmptyNames
    subcommands: tuple[Subcommand, ...]


class Programs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    acts: tuple[Act, ...]
    subcommands: tuple[Subcommands, ...]
    system_changes: NameSet
    builtins: NameSet
    unsafe_builtins: NameSet
    shells: NameSet
    decoders: NameSet
    version_options: NameSet
    versioned: NameSet
    privileged: NameSet
    scripted: NameSet
    developer: NameSet
    find_plain: NameSet
    find_valued: NameSet
    find_run: NameSet
    find_follows: NameSet
    safe_variables: NameSet
    dangerous_variables: NameSet
    dangerous_beginnings: NameSet


TABLE = read_data_file(FILE, Programs)

ACTS = by_name(FILE, TABLE.acts, lambda row: row.names)
SUBCOMMANDS = {
    name: by_name(FILE, program.subcommands, lambda row: row.names) for name, program in by_name(FILE, TABLE.subcommands, lambda row: row.names).items()
}
SYSTEM_CHANGES = frozenset(TABLE.system_changes.names)
BUILTINS = frozenset(TABLE.builtins.names)
"""Words that the shell itself carries out: never looked up, never on a list."""
UNSAFE_BUILTINS = frozenset(TABLE.unsafe_builtins.names)
"""Builtins that change how the shell runs commands."""
SHELLS = frozenset(TABLE.shells.names)
DECODERS = frozenset(TABLE.decoders.names)
VERSION = frozenset(TABLE.version_options.names)
VERSIONED = frozenset(TABLE.versioned.names)
"""Programs that only tell their version with nothing but one of `VERSION`."""
PRIVILEGED = frozenset(TABLE.privileged.names)
"""Programs that act with other rights than the person's own, or change what rights there are."""
SCRIPTED = frozenset(TABLE.scripted.names)
"""Programs whose arguments are programs: one yes never covers another call of them."""
WORKSPACE_PROGRAMS = frozenset({*ACTS, *READERS, *SUBCOMMANDS, *TABLE.developer.names})
"""Programs that are known to work on files: those of the tables above, and tools of developers."""
TOOLS = frozenset(TABLE.developer.names)
"""Tools of developers: they work on files of the workspace."""
FIND_PLAIN, FIND_VALUED, FIND_RUN = (frozenset(part.names) for part in (TABLE.find_plain, TABLE.find_valued, TABLE.find_run))
FIND_FOLLOWS = frozenset(TABLE.find_follows.names)
"""Options with which `find` goes where links lead."""
SAFE_VARIABLES = frozenset(TABLE.safe_variables.names)
DANGEROUS_VARIABLES = frozenset(TABLE.dangerous_variables.names)
DANGEROUS_BEGINNINGS = TABLE.dangerous_beginnings.names


def variable_risk(name: str) -> Risk:
    """LOW: cannot change what a program does beyond its looks; HIGH: decides which code runs. So may a name that no shell can set: bash takes functions from
    variables such as `BASH_FUNC_ls%%`."""
    if name in SAFE_VARIABLES or name.startswith("LC_"):
        return Risk.LOW
    if not (name.isidentifier() and name.isascii()) or name in DANGEROUS_VARIABLES or name.startswith(DANGEROUS_BEGINNINGS):
        return Risk.HIGH
    return Risk.MEDIUM
