"""`neuralclaw sessions`: what was said and done, and a word to what goes on."""

import argparse
from typing import Any

from ..plugins import load
from . import output, table_text, verbs
from .interrupts import CommandRun
from .option_choices import APPROVALS
from .parsing import Command, choice, whole, with_json

_COLUMNS = ("session", "state", "turns", "updated", "model", "origin", "workspace", "title")
_LEAST = ("origin", "workspace", "model", "turns", "state", "updated")
"""Columns that a narrow terminal does without, the first one first."""


def _list_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--unfinished", action="store_true", help="only those with a turn that was interrupted")
    with_json(parser)


def _list(args: argparse.Namespace) -> int:
    rows = verbs.read(args, "sessions.list", unfinished=args.unfinished)
    if args.json:
        output.json_line(rows)
    else:
        output.table(rows, _COLUMNS, drop=_LEAST, empty="there is no unfinished turn" if args.unfinished else "there is no session yet")
    return 0


def _show_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="ID", nargs="?", help="the session, or a unique beginning of its name; else the newest of this workspace")
    parser.add_argument("--after", type=whole, default=0, metavar="ENTRY", help="only what came after this entry")
    with_json(parser)


def _show(args: argparse.Namespace) -> int:
    shown = verbs.read(args, "sessions.show", session=args.session, after=args.after, sentences=not args.json)
    if args.json:
        output.json_line(shown)
        return 0
    events = shown.pop("events")
    output.fields({name: value for name, value in table_text.value_text(shown).items() if value not in (None, [], "")})
    screen = output.out()
    for event in events:
        screen.line(event_line(event))
    return 0


def _cancel_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="ID", help="the session, or a unique beginning of its name")
    with_json(parser)


def _send_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="ID", help="the session, or a unique beginning of its name")
    parser.add_argument("text", metavar="TEXT", help="what to say")
    parser.add_argument("--approvals", type=choice(*APPROVALS), metavar="|".join(APPROVALS), help="what to do when a call of a turn that begins needs a yes")
    with_json(parser)


async def _send(args: argparse.Namespace, run: CommandRun) -> int:
    return int(await load("sessions.send")(args, run))


def event_line(event: dict[str, Any]) -> str:
    """One event on one line; a text of several lines goes on indented."""
    told = event["sentence"].rstrip("\n").replace("\n", "\n    ")
    return "  ".join((f"{event.get('entry', '-')}", f"turn {event['turn']}", event["time"], event["type"], told))


COMMANDS = (
    Command("sessions list", "The sessions, the newest first.", example="neuralclaw sessions list --unfinished", run=_list, options=_list_options),
    Command("sessions show", "A session with all that was recorded in it.", example="neuralclaw sessions show work --json", run=_show, options=_show_options),
    Command(
        "sessions send",
        "Say something to the turn that runs, in whichever process; where none runs, it begins one here, shown as run shows it.",
        example='neuralclaw sessions send work "only the files of this year"',
        run=_send,
        options=_send_options,
    ),
    Command(
        "sessions cancel",
        "Stop the turn of a session, in whichever process it runs. 0 also when nothing runs, which is said.",
        example="neuralclaw sessions cancel work",
        run=lambda args: int(load("sessions.cancel")(args)),
        options=_cancel_options,
    ),
)
