"""`neuralclaw tools`: the rows about tools, and `call`, which goes through the whole pipeline, gate included."""

import argparse
from typing import Any

import msgspec

from ..app.option_checks import new_session
from ..app.tool_call_turns import call_of, called
from ..channels.screen import Screen
from ..errors import ToolValidationError
from ..types.entries import Event
from ..types.events import ApprovalRequested, ToolFinished
from . import output, policy
from .capability_rows import built_in_commands
from .event_output import TextRenderer
from .failure import exit_code
from .interrupts import CANCELLED, CommandRun
from .opening import opened, who_sits
from .option_choices import APPROVALS, TRUST
from .parsing import Command, choice, directory, input_text, with_json
from .run import follow, mode, present
from .stdin_users import user_for

_REFUSED = {"ask": 3, "forbid": 5}


def _call_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("name", metavar="NAME")
    add("arguments", metavar="JSON", nargs="?", default="{}", help="the arguments as one JSON object; - reads them from standard input")
    add("--dry-run", action="store_true", help="only judge, run nothing")
    add("--workspace", type=directory, metavar="DIR")
    add("--approvals", type=choice(*APPROVALS), metavar="|".join(APPROVALS))
    add("--trust", type=choice(*TRUST), metavar="|".join(TRUST))
    add("--session", metavar="ID", help="record the call in this session, opened or created (else in the session tools, which nothing continues)")
    with_json(parser)


def _read(args: argparse.Namespace) -> None:
    """Check the name of the session, and read the arguments of the tool."""
    if args.session is not None:
        new_session(args.session)
    args.arguments = _arguments(args.arguments)


async def _judge(args: argparse.Namespace) -> int:
    """The verdict alone, on a home that may be read-only."""
    async with opened(args, works=True, readonly=True, thinks=False) as client:
        verdict = await client.desk.do("tools.call", name=args.name, arguments=args.arguments, session=args.session, dry_run=True)
    if args.json:
        output.json_line(verdict)
    else:
        policy.tell(verdict)
    runs = args.approvals == "auto" and verdict["auto"]
    return 0 if runs else _REFUSED.get(verdict["decision"], 0)


async def _call(args: argparse.Namespace, run: CommandRun) -> int:
    """The call as a turn of its own, so that everything on the way of a call holds for it too."""
    if args.dry_run:
        return await _judge(args)
    flow = run.flow
    err, here = output.screen(flow.err), present(flow)
    approvals = mode(args.approvals, present=here)
    async with opened(args, works=True, approvals=approvals, present=here, who=who_sits(here), thinks=False, runs=True) as client:
        tool = await client.desk.do("tools.show", name=args.name)
        shown = _FinishedCall(flow, verbose=False)
        message = call_of(tool["name"], args.arguments, client.defaults.options(tools=(tool["name"],)))
        call = called(client.desk, args.session, message, lambda text: err.line(text, "dim"))
        ended = await follow(client, call, shown, user_for(err, flow, approvals, here), run)
    if shown.finished is None:
        shown.end(shown.session, ended)
        return exit_code(ended)
    finished = shown.finished.to_dict()
    if args.json:
        output.json_line(finished, flow.out)
    else:
        _tell(finished, output.screen(flow.out), err)
    return CANCELLED if ended.status == "cancelled" else _code(finished)


class _FinishedCall(TextRenderer):
    """Keeps the `tool.finished` of a call, and shows nothing before its end."""

    finished: Event | None = None
    session = ""

    def show(self, event: Event) -> None:
        self.session = event.session
        if isinstance(event.body, ApprovalRequested):
            super().show(event)  # nothing is printed; which answers it takes is
        if isinstance(event.body, ToolFinished):
            self.finished = event


def _arguments(text: str) -> dict[str, Any]:
    """The arguments of the call. Raises `ToolValidationError` where they fit no tool."""
    try:
        value = msgspec.json.decode(input_text() if text == "-" else text)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ToolValidationError(
            f"the arguments are not JSON: {error}; nothing was run", hint="""neuralclaw tools call calculate '{"expression": "6 * 7"}'"""
        ) from error
    if not isinstance(value, dict):
        raise ToolValidationError("the arguments must be one JSON object; nothing was run")
    return value


def _tell(finished: dict[str, Any], out: Screen, err: Screen) -> None:
    """The result on standard output, and what went wrong on standard error: also a command that failed has printed something."""
    content, error = finished["content"].removesuffix("\n"), finished["error"]
    if finished["ok"]:
        out.line(content)
    elif finished.get("refused"):
        err.trouble("SecurityError", f"{finished['name']}: {error}")
    else:
        printed = content.removeprefix(f"ERROR: {error}").removeprefix(error or "").removeprefix("\n")
        if error and printed:
            out.line(printed)
        err.trouble("ToolError", error or content)


def _code(finished: dict[str, Any]) -> int:
    if finished["ok"]:
        return 0
    return _REFUSED.get(finished.get("refused") or "", 1)


def _called(row: Command) -> Command:
    """The command of the row, with the call as a turn that a person can take part in, and an exit code for each end."""
    return Command(row.name, row.summary, example=row.example, prepare=_read, run=_call, options=_call_options)


COMMANDS = tuple(_called(command) if command.name == "tools call" else command for command in built_in_commands("tools"))
