"""`neuralclaw` alone: a conversation, line by line. Each line is a turn; a line typed during a turn is seen before the next model call."""

import argparse
import sys

import anyio

from ..app import Agent
from ..channels.lines import Lines
from ..channels.terminal import View
from . import output
from .conversation import Chat
from .parsing import Command, choice
from .run import APPROVALS, TRUST, here, mode, newest, tell_unfinished
from .slash import SLASH
from .stopping import CANCELLED, Stop


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
    return anyio.run(_main, args)


async def _main(args: argparse.Namespace) -> int:
    code = CANCELLED
    async with anyio.create_task_group() as group:
        stop = Stop(group.cancel_scope)
        await group.start(stop.serve)
        code = await _open(args, stop)
        group.cancel_scope.cancel()
    return code


async def _open(args: argparse.Namespace, stop: Stop) -> int:
    err = output.err()
    if sys.stdin is None:
        return 0
    lines = Lines(sys.stdin.fileno())
    present = lines.tty and err.tty
    approvals = mode(args.approvals, present=present)
    chat = Chat(lines, View(output.out(), err, tools=err.tty, verbose=args.verbose), asks=present and approvals == "ask", commands=SLASH)
    stop.interrupt = chat.interrupted
    async with Agent.open(
        home=args.home,
        workspace=args.workspace,
        model=args.model,
        trust=args.trust,
        approvals=approvals,
        present=present,
        who="owner" if present else "program",
    ) as agent:
        session = args.resume or args.session or (await newest(agent, here(args.workspace)) if args.newest else None)
        await tell_unfinished(agent, err, session)
        await chat.serve(agent, session, resume=bool(args.resume or args.newest))
    chat.farewell()
    return 0


COMMANDS = (Command("chat", "A conversation, line by line; what `neuralclaw` alone opens.", example="neuralclaw --session work", run=_run, options=_options),)
