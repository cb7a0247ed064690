"""`neuralclaw sessions export`: the session on standard output while it is read, so that its length takes no memory."""

import argparse
import sys

import anyio

from . import output, verb_dispatch, verb_rows


def export(args: argparse.Namespace) -> int:
    """Print the session, or where it was written to; the exit code."""
    anyio.run(_export, args)
    return 0


async def _export(args: argparse.Namespace) -> None:
    as_json, file = verb_rows.as_json(args), getattr(args, "output", None)
    if file is None:
        out = sys.stdout
        await verb_dispatch.recorded(args, "sessions.export", session=args.session, markdown=not as_json, write=lambda text: output.raw(text.encode(), out))
        return
    done = await verb_dispatch.recorded(args, "sessions.export", session=args.session, markdown=not as_json, output=file)
    if as_json:
        output.json_line(done)
    else:
        output.out().line(f"wrote {done['entries']} entries of {done['session']} to {done['output']}")
