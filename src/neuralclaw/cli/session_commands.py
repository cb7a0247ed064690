"""`neuralclaw sessions`: the rows of the record, and `send`, which shows the turn that it begins as `run` does."""

import argparse

from ..plugins import load
from .capability_rows import built_in_commands
from .interrupts import CommandRun
from .option_choices import APPROVALS
from .parsing import Command, choice


def _sent_and_followed(row: Command) -> Command:
    """The command of the row, with the turn on the screen while it runs, and `--approvals` for it."""

    def options(parser: argparse.ArgumentParser) -> None:
        if row.options is not None:
            row.options(parser)
        told = "what to do when a call of a turn that begins needs a yes"
        parser.add_argument("--approvals", type=choice(*APPROVALS), metavar="|".join(APPROVALS), help=told)

    return Command(row.name, row.summary, example=row.example, run=_send, options=options)


async def _send(args: argparse.Namespace, run: CommandRun) -> int:
    return int(await load("sessions.send")(args, run))


def _streamed(row: Command) -> Command:
    """The command of the row, which prints what it reads as it reads it."""
    return Command(row.name, row.summary, example=row.example, run=_export, options=row.options)


def _export(args: argparse.Namespace) -> int:
    return int(load("sessions.export")(args))


def _asked_first(row: Command) -> Command:
    """The command of the row, which asks at a terminal before it does anything."""

    def run(args: argparse.Namespace) -> int:
        if not getattr(args, "yes", False):
            if not load("sessions.confirm")(args):
                return 1
            args.yes = True
        return int(row.run(args))  # type: ignore[arg-type, call-arg]  # the command of a verb's row is over at once

    return Command(row.name, row.summary, example=row.example, run=run, options=row.options)


_OWN = {"sessions send": _sent_and_followed, "sessions export": _streamed, "sessions delete": _asked_first}
"""Commands that show more than the value of their verb."""
COMMANDS = tuple(_OWN[command.name](command) if command.name in _OWN else command for command in built_in_commands("sessions"))
