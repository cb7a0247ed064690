"""`neuralclaw sessions send`: steer a turn, or begin one and show it, whichever process runs it."""

import argparse
import sys
from typing import Any

from ..app.option_checks import continued
from ..channels.nonblocking_output import NonblockingOutput
from ..errors import SessionBusy, UsageError
from . import output, verb_dispatch
from .event_output import TextRenderer
from .failure import CODES, exit_code
from .interrupts import CommandRun
from .opening import opened, who_sits
from .parsing import clean
from .run import follow, mode, present
from .stdin_users import user_for


async def send(args: argparse.Namespace, run: CommandRun) -> int:
    """Steer the turn that runs, else begin one here and show it as `run` does; the exit code is then that of the turn."""
    if not (text := clean(args.text)).strip():
        raise UsageError("there is nothing to say: the text is empty", hint=f'neuralclaw sessions send {args.session} "TEXT"')
    row, flow = await verb_dispatch.recorded(args, "sessions.show", session=args.session, after=sys.maxsize), run.flow
    err, here = output.screen(flow.err), present(flow)
    approvals = mode(args.approvals, present=here)
    model = row["model"] if ":" in row["model"] else None
    async with opened(args, works=True, workspace=row["workspace"] or None, model=model, approvals=approvals, present=here, who=who_sits(here)) as client:
        if not args.json and row["state"] != "running":
            message = client.defaults.message(text)
            turn = client.desk.turn(continued(row["session"]), message, client.defaults.before(message))
            try:
                return exit_code(await follow(client, turn, TextRenderer(flow, verbose=args.verbose), user_for(err, flow, approvals, here), run))
            except SessionBusy:  # another process was faster: its turn is told
                pass
        told = output.plain(await client.desk.do("sessions.send", session=row["session"], text=text))
        asked = output.plain(await client.desk.do("approvals.list", session=row["session"])) if told["finished"] is None else []
        return _told(args, told, asked, flow)


def _told(args: argparse.Namespace, told: dict[str, Any], asked: list[dict[str, Any]], flow: NonblockingOutput) -> int:
    """What became of the message, as JSON or in words. `asked`: the questions that the turn waits for."""
    finished = told["finished"]
    if args.json:
        output.json_line(told, flow.out)
    elif finished is not None and finished["text"]:
        output.screen(flow.out).line(finished["text"].removesuffix("\n"))
    elif finished is None:
        err, where = output.screen(flow.err), f"turn {told['turn']} of {told['session']}, which runs in {told['holder'] or 'another process'}"
        err.line(f"said to {where} and {'waits for an answer: it sees this after that' if asked else 'sees it next'}")
        for question in asked:
            err.line(f"   neuralclaw approvals answer {question['approval_id']} {'|'.join(question['choices'])}", "dim")
    return 0 if finished is None else CODES[finished["status"]]
