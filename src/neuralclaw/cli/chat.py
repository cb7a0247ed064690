"""`neuralclaw` alone: a conversation. At a terminal the prompt stands first, and the agent opens while the person can already type."""

import argparse
import sys
from typing import Any

import anyio
import anyio.to_thread

from ..channels.line_reader import LineReader
from ..channels.nonblocking_output import NonblockingOutput
from ..plugins import load
from . import output
from .interrupts import CANCELLED, StopRequest, stoppable
from .option_choices import APPROVALS, TRUST
from .parsing import Command, choice, directory


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", metavar="P:M", help="the model, for instance openai:gpt-4o")
    add("--workspace", type=directory, metavar="DIR", help="where it may work (else the current directory)")
    add("--session", metavar="ID", help="open or create this session")
    add("--resume", metavar="ID", help="go on with this session")
    add("--continue", dest="newest", action="store_true", help="go on with the newest session of this workspace")
    add("--approvals", type=choice(*APPROVALS), metavar="|".join(APPROVALS))
    add("--trust", type=choice(*TRUST), metavar="|".join(TRUST))


def _run(args: argparse.Namespace) -> int:
    if sys.stdin is None:
        return 0
    out, err = output.out(), output.err()
    lines = LineReader(sys.stdin.fileno())
    with NonblockingOutput(sys.stdout, sys.stderr) as flow:
        if not (lines.tty and out.styled and err.tty):
            return anyio.run(stoppable, lambda stop: load("chat.talk")(args, stop, lines, None, flow), flow)
        with load("chat.quiet")(sys.stdin.fileno()) as (early, modes):
            live = load("chat.live")(args, flow)
            live.face.console.early, live.face.console.modes = early, modes
            code = anyio.run(stoppable, lambda stop: _live(args, stop, lines, live, flow), flow)
        live.farewell()
        return code


async def _live(args: argparse.Namespace, stop: StopRequest, lines: LineReader, live: Any, flow: NonblockingOutput) -> int:
    code = CANCELLED
    async with anyio.create_task_group() as group:
        group.start_soon(live.serve, group)
        talk = await anyio.to_thread.run_sync(load, "chat.talk")
        code = await talk(args, stop, lines, live, flow)
        group.cancel_scope.cancel()
    return code


COMMANDS = (Command("chat", "A conversation; what `neuralclaw` alone opens.", example="neuralclaw --session work", run=_run, options=_options),)
