"""The question before a session is erased for good."""

import argparse
import sys

import anyio

from ..channels.control_characters import visible
from ..errors import UsageError
from . import verb_dispatch
from .line_prompts import InputEnded, LinePrompts


def confirmed(args: argparse.Namespace) -> bool:
    """Whether the person at the terminal wants the session gone. Raises `UsageError` where nobody can be asked, and `SessionNotFound`."""
    row = anyio.run(_row, args)
    prompts = LinePrompts()
    if not prompts.person:
        told = f"nobody is at a terminal to be asked whether the session {row['session']} shall be erased; nothing was deleted"
        raise UsageError(told, hint=f"neuralclaw sessions delete {row['session']} --yes")
    prompts.tell(visible(f"session {row['session']}: {row['title']} (turns: {row['turns']}, last changed {row['updated']})"))
    try:
        answer = prompts.ask("Erase it for good? Nothing brings it back (y/n)", "n")
    except InputEnded:
        answer = ""
    if answer.lower() in ("y", "yes"):
        return True
    prompts.tell("nothing was deleted")
    return False


async def _row(args: argparse.Namespace) -> dict[str, object]:
    row: dict[str, object] = await verb_dispatch.recorded(args, "sessions.show", session=args.session, after=sys.maxsize)
    return row
