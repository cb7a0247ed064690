"""Opens the desk for a chat and lets the conversation run."""

import argparse
from typing import Any

from ..app.capabilities import capabilities_of
from ..channels.line_reader import LineReader
from ..config import LoadedSettings
from ..plugins import load
from . import output
from .continued_session import newest_session
from .conversation import Chat, SlashCommand
from .interrupts import CommandRun
from .line_interface import LineInterface
from .opening import opened, who_sits
from .run import mode, tell_unfinished
from .slash import SLASH


def commands_of(settings: LoadedSettings) -> dict[str, SlashCommand]:
    """The slash commands of the chat: its own, and those of the capabilities that take part."""
    capabilities = capabilities_of(settings)
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
        async with opened(args, works=True, approvals=approvals, present=present, who=who_sits(present), tell=interface.say) as client:
            if args.newest and chat.session is None:
                chat.session = await newest_session(client.desk)
            chat.commands = commands_of(client.settings)
            if live is not None:
                await live.desk_opened(chat, client)
            for notice in await client.notices():
                interface.say(notice, "yellow")
            await tell_unfinished(client.desk, interface.screen, chat.session)
            chat.pick_up(resume)
            await chat.serve(client)
        if not chat.again:
            break
        chat.again = resume = False
    if live is None:
        chat.farewell()
    return 0
