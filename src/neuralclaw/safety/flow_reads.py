"""Whose content a call reads: of files by their labels, of commands by what the analysis found, of the network by the places that are reached."""

from ..types.facts import FactSheet
from ..types.grants import Envelope
from ..types.labels import Labels, external, join
from ..types.risk import Power
from .analysis import Analysis
from .command_line import CommandLine, SimpleCommand

PRINTING = frozenset(": true false echo printf pwd cd exit test [ sleep date mkdir rmdir touch uname whoami id basename dirname seq which type".split())
"""Programs that read no file, whatever their words."""


def labels_read(analysis: Analysis, sheet: FactSheet) -> Labels:
    """The labels of the files that the call reads: of those that it names, and of all in its reach where what it reads is not known."""
    named = join(*(fact.labels for fact in sheet.paths))
    if analysis.line is None or not sheet.reach or all_named(analysis.line):
        return named
    return join(named, sheet.reach)


def all_named(line: CommandLine) -> bool:
    """Whether the words of a line name all that it reads."""
    return line.understood and not line.broken and not line.exceeded and not line.alters and all(_named(command) for command in line.commands)


def _named(command: SimpleCommand) -> bool:
    if Power.EXECUTE in command.powers or command.script or command.via:
        return False
    name = (command.program or (command.argv[0] if command.argv else "")).rsplit("/", 1)[-1]
    return name in PRINTING or (bool(command.wants) and name != "git")  # (git reads what it keeps, too)


def labels_of_result(analysis: Analysis, sheet: FactSheet, envelope: Envelope) -> Labels:
    """The labels that the result of a call gets besides those that its tool tells: of the files that it reads and, of a command, of where it connects to."""
    read = labels_read(analysis, sheet)
    if analysis.line is None or not envelope.network:
        return read
    hosts = [place.rpartition(":")[0].strip("[]") for place in envelope.hosts]
    return join(read, *(external(f"web/{host}") for host in hosts)) if hosts else join(read, external("web"))
