"""`neuralclaw` alone: a conversation. At a terminal the prompt stands first, and the agent opens while the person can already type."""

import argparse
import sys
from typing import Any

import anyio
import anyio.to_thread

from ..channels.lines import Lines
from ..plugins import load
from . import output
from .parsing import Command, choice
from .stopping import CANCELLED, Stop
from .words import APPROVALS, TRUST


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", metavar="P:M", help="the model, for instance openai:gpt-4o")
    add("--workspace", metavar="DIR", help="where it may work (else the current directory)")
    add("--session", metavar="ID", help="open or create this session")
    add("--resume", metavar="ID", help="go on with this session")
    add("--continue", dest="newest", action="store_true", help="go on with the newest session of this workspace")
    add("--approvals", type=choice(*APPROVALS), metavar="|".join(APPROVALS))
    add("--trust", type=choice(*TRUST), metavar="|".join(TRUST))


def _run(args: argparse.Namespace) -> int:
    if sys.stdin is None:
        return 0
    out, err = output.out(), output.err()
    lines = Lines(sys.stdin.fileno())
    if not (lines.tty and out.colour and err.tty):
        return anyio.run(_main, args, lines, None)
    with load("chat.quiet")(sys.stdin.fileno()) as (early, modes):
        live = load("chat.live")(args)
        live.face.console.early, live.face.console.modes = early, modes
        code = anyio.run(_main, args, lines, live)
    live.farewell()
    return code


async def _main(args: argparse.Namespace, lines: Lines, live: Any) -> int:
    code = CANCELLED
    async with anyio.create_task_group() as group:
        stop = Stop(group.cancel_scope)
        await group.start(stop.serve)
        if live is not None:
            group.start_soon(live.serve, group)
        talk = await anyio.to_thread.run_sync(load, "chat.talk") if live is not None else load("chat.talk")
        code = await talk(args, stop, lines, live)
        group.cancel_scope.cancel()
    return code


COMMANDS = (Command("chat", "A conversation; what `neuralclaw` alone opens.", example="neuralclaw --session work", run=_run, options=_options),)
