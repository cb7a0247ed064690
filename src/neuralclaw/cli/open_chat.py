"""Opens the agent for a chat and lets the conversation run."""

import argparse
from typing import Any

from ..app import Agent
from ..app.capabilities import capabilities_of
from ..channels.line_reader import LineReader
from ..plugins import load
from . import output
from .conversation import Chat, SlashCommand
from .interrupts import CommandRun
from .line_interface import LineInterface
from .run import mode, newest, tell_unfinished
from .slash import SLASH


def commands_of(agent: Agent) -> dict[str, SlashCommand]:
    """The slash commands of the chat: its own, and those of the capabilities that take part."""
    capabilities = capabilities_of(agent.settings)
    nouns = [noun for noun in capabilities.nouns() if noun not in SLASH]
    more = load("chat.rows")(capabilities, nouns) if nouns else {}
    return {**SLASH, **more}


async def open_chat(args: argparse.Namespace, run: CommandRun, lines: LineReader, live: Any = None) -> int:
    """A conversation until the person leaves or input ends; the exit code. `live`: the terminal it is shown at, None for lines."""
    present = lines.tty and output.screen(run.flow.err).tty
    approvals = mode(args.approvals, present=present)
    interface = live.interface if live is not None else LineInterface(lines, run.flow, verbose=args.verbose)
    chat = Chat(interface, run.flow, asks=present and approvals == "ask", commands=SLASH)
    chat.session, chat.model = args.resume or args.session, args.model
    run.interrupt = chat.interrupted
    resume = bool(args.resume or args.newest)
    while True:
        async with Agent.open(
            home=args.home,
            workspace=args.workspace,
            model=args.model,
            trust=args.trust,
            approvals=approvals,
            present=present,
            who="owner" if present else "program",
            tell=interface.say,
        ) as agent:
            if args.newest and chat.session is None:
                chat.session = await newest(agent)
            chat.commands = commands_of(agent)
            if live is not None:
                await live.agent_opened(chat, agent)
            for notice in await agent.notices_at_start():
                interface.say(notice, "yellow")
            await tell_unfinished(agent, interface.screen, chat.session)
            chat.pick_up(resume)
            await chat.serve(agent)
        if not chat.again:
            break
        chat.again = resume = False
    if live is None:
        chat.farewell()
    return 0
