"""`neuralclaw` alone: a conversation. At a terminal the prompt stands first, and the agent opens while the person can already type."""

import argparse
import sys
from typing import Any

import anyio
import anyio.to_thread

from ..channels.line_reader import LineReader
from ..plugins import load
from . import output
from .interrupts import CANCELLED, CommandRun, run_command
from .option_choices import APPROVALS, TRUST
from .parsing import Command, choice, directory


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", metavar="P:M", help="the model, for instance openai:gpt-4o")
    add("--workspace", type=directory, metavar="DIR", help="where it may work (else the current directory)")
    add("--session", metavar="ID", help="open or create this session")
    add("--resume", metavar="ID", help="continue this session")
    add("--continue", dest="newest", action="store_true", help="continue the newest session of this workspace")
    add("--approvals", type=choice(*APPROVALS), metavar="|".join(APPROVALS))
    add("--trust", type=choice(*TRUST), metavar="|".join(TRUST))


def _run(args: argparse.Namespace) -> int:
    if sys.stdin is None:
        return 0
    out, err = output.out(), output.err()
    lines = LineReader(sys.stdin.fileno())
    if not (lines.tty and out.styled and err.tty):
        return run_command(lambda run: load("chat.open")(args, run, lines))
    with load("chat.early_input")(sys.stdin.fileno()) as early:
        return run_command(lambda run: _live(args, run, lines, early))


async def _live(args: argparse.Namespace, run: CommandRun, lines: LineReader, early: tuple[str, list[Any]]) -> int:
    """The prompt stands while the rest is loaded and opened."""
    live, code = load("chat.live")(args, run.flow, early), CANCELLED
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(live.serve, group)
            open_chat = await anyio.to_thread.run_sync(load, "chat.open")
            code = await open_chat(args, run, lines, live)
            group.cancel_scope.cancel()
    except anyio.get_cancelled_exc_class():  # the process was told to end
        live.farewell()
        raise
    live.farewell()
    return code


COMMANDS = (Command("chat", "A conversation; what `neuralclaw` alone opens.", example="neuralclaw --session work", run=_run, options=_options),)
