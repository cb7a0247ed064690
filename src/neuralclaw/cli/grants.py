"""`neuralclaw grants`: the answers that hold for a session or a workspace, and taking them back."""

import argparse

from ..channels.screen import exact
from . import output, verbs
from .parsing import Command, with_json


def _list(args: argparse.Namespace) -> int:
    rows = verbs.read(args, "grants.list")
    if args.json:
        output.json_line(rows)
        return 0
    screen = output.out()
    for row in rows:
        screen.line(exact(f"{row['grant_id']}  {row['covers']}"), "bold")
        screen.line(exact(f"            {row['lasts']}, session {row['session']}, workspace {row['workspace']}, by {row['by']}, {row['since']}"))
    if not rows:
        output.err().line("no answer holds for a session or for ever")
    return 0


def _revoke_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("grant_id", metavar="ID", help="as in grants list; the beginning is enough where it is the only one")
    with_json(parser)


def _revoke(args: argparse.Namespace) -> int:
    grant = verbs.ask(args, "grants.revoke", who=verbs.at_terminal(), grant_id=args.grant_id)
    if args.json:
        output.json_line(grant)
    else:
        output.out().line(exact(f"revoked {grant['grant_id']}, which covered {grant['covers']}"))
    return 0


COMMANDS = (
    Command(
        "grants list", "The answers that hold for a session or for ever, with what they cover.", example="neuralclaw grants list", run=_list, options=with_json
    ),
    Command(
        "grants revoke",
        "Take an answer back: from the next decision on it is asked again, in every process.",
        example="neuralclaw grants revoke 4kq0z81xwm",
        run=_revoke,
        options=_revoke_options,
    ),
)
