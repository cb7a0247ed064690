"""`neuralclaw recover`: finishes every turn of the home that was interrupted."""

import argparse
import sys

import anyio

from ..channels.nonblocking_output import NonblockingOutput
from ..channels.screen import Screen
from ..types.events import ErrorEvent
from . import output, verbs
from .event_output import EventSink, StreamSink, TextSink
from .interrupts import StopRequest, stoppable
from .parsing import Command, choice


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--approvals", type=choice("none", "park", "auto"), default="none", metavar="none|park|auto", help="what to do when a call needs a yes")
    parser.add_argument("--output", type=choice("text", "stream-json"), default="text", metavar="stream-json")


def _recover(args: argparse.Namespace) -> int:
    with NonblockingOutput(sys.stdout, sys.stderr) as flow:
        sink: EventSink = StreamSink(flow, verbose=args.verbose) if args.output == "stream-json" else TextSink(flow, verbose=args.verbose, named=True)
        return anyio.run(stoppable, lambda stop: _finish_all(args, sink, output.screen(flow.err), stop), flow)


async def _finish_all(args: argparse.Namespace, sink: EventSink, err: Screen, stop: StopRequest) -> int:
    """0 when each turn ended or parked; 1 when one was left: it runs elsewhere, or was set aside."""
    async with verbs.opened(args) as agent, agent.recover() as events:
        ended = True
        for notice in agent.settings.notices:
            err.line(notice, "yellow")
        async for event in events:
            sink.show(event)
            await sink.room()
            if isinstance(event.body, ErrorEvent) and (event.entry is None or event.body.kind == "TurnSetAside"):
                ended = False  # it could not be gone on with, or was set aside
    return 0 if ended and not stop.stopped else 1


COMMANDS = (
    Command(
        "recover",
        "Finish every turn that was interrupted, and show what happens. 0 when each ended or waits for an answer.",
        example="neuralclaw recover --output stream-json",
        run=_recover,
        options=_options,
    ),
)
