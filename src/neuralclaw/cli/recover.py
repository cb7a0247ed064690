"""`neuralclaw recover`: finishes every turn of the home that was interrupted."""

import argparse

from ..types.events import ErrorEvent
from . import output
from .event_output import TextRenderer, renderer
from .interrupts import CommandRun
from .opening import opened
from .parsing import Command, choice


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--approvals", type=choice("none", "park", "auto"), default="none", metavar="none|park|auto", help="what to do when a call needs a yes")
    parser.add_argument("--output", type=choice("text", "stream-json"), default="text", metavar="stream-json")


async def _recover(args: argparse.Namespace, run: CommandRun) -> int:
    """0 when each turn ended or parked; 1 when one was left: it runs elsewhere, or was set aside."""
    err, ended = output.screen(run.flow.err), True
    view = TextRenderer(run.flow, verbose=args.verbose, named=True) if args.output == "text" else renderer(args.output, run.flow, verbose=args.verbose)
    async with opened(args) as client:
        for notice in client.settings.notices:
            err.line(notice, "yellow")
        async for event in client.desk.recover(client.defaults.starting(), by=client.defaults.who):
            view.show(event)
            await view.room()
            if isinstance(event.body, ErrorEvent) and (event.entry is None or event.body.kind == "TurnSetAside"):
                ended = False  # it could not be gone on with, or was set aside
    return 0 if ended and not run.stopped else 1


COMMANDS = (
    Command(
        "recover",
        "Finish every turn that was interrupted, and show what happens. 0 when each ended or waits for an answer.",
        example="neuralclaw recover --output stream-json",
        run=_recover,
        options=_options,
    ),
)
