"""`neuralclaw run`: one task, then exit by the status of its turn."""

import argparse
import os
import sys
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel

from ..app.desk_client import DeskClient
from ..app.option_checks import new_session
from ..channels.command_hints import typed
from ..channels.line_reader import LineReader
from ..channels.nonblocking_output import NonblockingOutput
from ..channels.renderer import Input, Renderer
from ..channels.screen import Screen
from ..channels.wire import decoded
from ..channels.wire_conversation import TurnRequest, WireConversation
from ..errors import SessionBusy, UsageError, no_result
from ..ports import Desk, TurnEvents
from ..types.events import TurnFinished
from ..types.options import ApprovalsMode
from . import output
from .continued_session import continued_session, newest_session
from .event_output import TextRenderer, renderer
from .failure import code_of, exit_code
from .interrupts import CANCELLED, CommandRun
from .opening import opened, who_sits
from .option_choices import APPROVALS, TRUST
from .parsing import Command, choice, clean, count, directory, input_bytes, names, not_yet, positive
from .piped_input import attached, attachment, readable
from .stdin_users import user_for

_LATER = ("--soul", "--personality", "--schema")


def _options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "words",
        nargs="*",
        metavar="TASK",
        help="what to do; - or nothing: standard input. What is piped in beside a TASK goes with it; TASK - waits for it",
    )
    add("-p", dest="task", metavar="TASK", help="the same")
    add("--output", type=choice("text", "json", "stream-json"), default="text", metavar="text|json|stream-json")
    add("--input", type=choice("text", "stream-json"), default="text", metavar="stream-json", help="messages, answers and cancel as JSON lines")
    add("--model", metavar="P:M", help="the model, for instance openai:gpt-4o")
    add("--workspace", type=directory, metavar="DIR", help="where it may work (else the current directory)")
    add("--session", metavar="ID", help="open or create this session; context lasts from run to run")
    add("--resume", metavar="ID", help="continue this session; without TASK: finish its unfinished turn")
    add("--continue", dest="newest", action="store_true", help="continue the newest session of this workspace")
    add("--fork", metavar="ID[@TURN]", help="a new session from the end of that turn, or the last one; --session names it")
    add("--approvals", type=choice(*APPROVALS), metavar="|".join(APPROVALS), help="what to do when a call needs a yes")
    add("--trust", type=choice(*TRUST), metavar="|".join(TRUST))
    add("--max-iterations", type=count, metavar="N", help="model calls at most")
    add("--timeout", type=positive, metavar="SECONDS", help="running time at most")
    add("--max-budget-usd", type=positive, metavar="X", help="what the turn may cost at most, in USD")
    add("--image", action="append", default=[], metavar="FILE", help="a picture that belongs to the task (may be given several times)")
    add("--tools", type=names, metavar="NAME,NAME", help="only these tools are offered and may be called")
    add("--refusals", type=choice("count", "ignore"), metavar="count|ignore", help="whether a refused call decides the exit code (else: count)")
    add("--retry", action="store_true", help="with --resume: try a turn that was set aside once more")
    add("--mode", type=choice("auto", "direct", "deliberate"), default="auto", help=argparse.SUPPRESS)
    for option in _LATER:
        add(option, help=argparse.SUPPRESS)


def _read(args: argparse.Namespace) -> None:
    """Check what was asked for, and read the task."""
    _check(args)
    args.text = _task(args)
    if args.text is None and args.input != "stream-json":
        _check_resumed(args)


def _check(args: argparse.Namespace) -> None:
    for option in _LATER:
        if getattr(args, option[2:].replace("-", "_")) is not None:
            raise not_yet(option)
    if args.mode == "deliberate":
        raise not_yet("--mode deliberate")
    if sum(map(bool, (args.session, args.resume, args.newest))) > 1:
        raise UsageError("--session, --resume and --continue exclude each other")
    if args.fork and (args.resume or args.newest):
        raise UsageError("--fork makes a new session: --resume and --continue do not go with it", hint="--session ID names the new one")
    if args.retry and not (args.resume or args.newest):
        raise UsageError("--retry goes with --resume ID")
    for name in (args.session, args.resume):
        new_session(name)


def _check_resumed(args: argparse.Namespace) -> None:
    """What holds for a new turn is refused where none begins: an unfinished turn keeps what it began with."""
    for option in ("model", "trust", "tools", "refusals", "image"):
        if getattr(args, option):
            raise UsageError(
                f"--{option} holds for a new turn, and there is no TASK for one: an unfinished turn keeps its own; nothing was changed",
                hint=f"leave --{option} out, or give the TASK of the next turn",
            )
    if args.resume and args.workspace:
        raise UsageError("--workspace holds for a new turn, and there is no TASK for one; nothing was changed", hint="leave --workspace out, or give a TASK")


def _task(args: argparse.Namespace) -> str | None:
    """The text of the task; None when a turn shall only be finished, or when the messages come as JSON lines."""
    words = list(args.words) if args.task is None else [args.task, *args.words]
    attach = len(words) == 2 and words[1] == "-"
    if len(words) > 1 and not attach:
        raise UsageError("TASK is one text: put quotes around it")
    given = words[0] if words and words[0] != "-" else None
    if args.input == "stream-json":
        if attach or (words and given is None):
            raise UsageError("with --input stream-json standard input holds JSON lines; it cannot be the task")
        return None if given is None else _not_empty(clean(given))
    if given is not None:
        return attached(_not_empty(clean(given)), attachment(wanted=attach))
    if not words and (args.resume or args.newest):
        return attachment(wanted=False) or None
    if sys.stdin is not None and sys.stdin.isatty():
        output.err().line("the task, then Ctrl-D:", "dim")
    return _not_empty(readable(input_bytes()))


def _not_empty(text: str) -> str:
    if not text.strip():
        raise UsageError("there is no task: it is empty", hint='neuralclaw run "list ."')
    return text


async def _run(args: argparse.Namespace, run: CommandRun) -> int:
    flow, shown = run.flow, renderer(args.output, run.flow, verbose=args.verbose)
    err, at_terminal = shown.err if isinstance(shown, TextRenderer) else output.screen(flow.err), present(flow)
    there = at_terminal or args.input == "stream-json"
    approvals = mode(args.approvals, present=there)
    async with opened(args, works=True, approvals=approvals, present=there, who=who_sits(at_terminal)) as client:
        session = args.resume or args.session
        if args.fork:
            session = args.session = str((await client.desk.do("sessions.fork", session=args.fork, to=args.session))["session"])
        if args.newest:
            session = await newest_session(client.desk)
        for notice in await client.notices():
            err.line(notice, "yellow")
        await tell_unfinished(client.desk, err, session)
        if args.input == "stream-json":
            return await _converse(client, args, session, shown, run)
        user = user_for(err, flow, approvals, at_terminal)
        if session is not None and (args.resume or args.newest):
            session = await continued_session(client.desk, session)
        ended = await follow(client, _turn(client, args, session), shown, user, run)
        if args.text is None and session is not None and not ended.waiting:
            if args.output == "json":  # standard output has one object: the others are told on standard error alone
                shown = TextRenderer(flow, verbose=args.verbose, answer=False)
            await _take_up_waiting(client, session, shown, user, run)
        return exit_code(ended)


async def _take_up_waiting(client: DeskClient, session: str, shown: Renderer, user: Input | None, run: CommandRun) -> None:
    """Messages that waited behind the turn that was resumed begin turns of their own, one after the other."""
    # `running`: this process is about to let the session go
    while not run.stopped and (await client.desk.do("sessions.show", session=session, after=sys.maxsize))["state"] in ("unfinished", "running"):
        next_turn = client.desk.resume(session, client.defaults.starting(one_turn=True), by=client.defaults.who)
        try:
            if (await follow(client, next_turn, shown, user, run)).waiting:
                return
        except SessionBusy:
            return  # another process was faster


async def _converse(client: DeskClient, args: argparse.Namespace, session: str | None, shown: Renderer, run: CommandRun) -> int:
    """Turns with a program that speaks JSON lines; the exit code of the last. Of a session with nothing unfinished no old answer is shown."""
    text, resume = args.text, bool(args.resume or args.newest)
    row = await client.desk.do("sessions.show", session=session, after=sys.maxsize) if resume else {"session": new_session(session), "state": "idle"}
    first = TurnRequest(text, resume=resume and text is not None, retry=args.retry, given=True) if text is not None or row["state"] != "idle" else None
    lines = LineReader(sys.stdin.fileno() if sys.stdin is not None else os.open(os.devnull, os.O_RDONLY))
    options = {**_options_given(args), "images": tuple(args.image)}
    objects = decoded(lines, source="a line on standard input")
    conversation = WireConversation(objects, shown, client.defaults, session=row["session"], options=options, first=first)
    run.how = conversation.stop
    ended = await conversation.serve(client.desk)
    if ended is None and not run.stopped:
        raise UsageError("standard input ended without a message; nothing was run", hint='a line is an object: {"type": "message", "text": "list ."}')
    return CANCELLED if ended is None else exit_code(ended) if isinstance(ended, TurnFinished) else code_of(ended)


def _options_given(args: argparse.Namespace) -> dict[str, Any]:
    options = {name: getattr(args, name) for name in ("max_iterations", "timeout", "max_budget_usd", "tools", "refusals")}
    return {name: value for name, value in options.items() if value is not None}


def _turn(client: DeskClient, args: argparse.Namespace, session: str | None) -> AbstractAsyncContextManager[TurnEvents]:
    """The turn of the task, or without one that which is unfinished in the session."""
    defaults, given = client.defaults, _options_given(args)
    if args.text is None and session is not None:
        return client.desk.resume(session, defaults.starting(retry=args.retry, one_turn=True, **given), by=defaults.who)
    message = defaults.message(args.text or "", images=args.image, **given)
    if args.resume or args.newest:
        return client.desk.turn(session or "", message, defaults.before(message, retry=args.retry))
    return client.desk.turn(new_session(session), message)


async def follow(client: DeskClient, turn: AbstractAsyncContextManager[TurnEvents], shown: Renderer, user: Input | None, run: CommandRun) -> TurnFinished:
    """Show a turn and let the user take part in it, until it ends or parks; its last `turn.finished`."""
    last: TurnFinished | None = None
    async with turn as events, anyio.create_task_group() as group:
        if user is not None:
            group.start_soon(user.serve, client.desk)
        async for event in events:
            run.how = partial(client.desk.stop, events, by=client.defaults.who)
            shown.show(event)
            if user is not None:
                await user.saw(event)
            await shown.room()
            if isinstance(event.body, TurnFinished):
                last = event.body
        run.how = anyio.lowlevel.checkpoint  # there is nothing to cancel any more
        group.cancel_scope.cancel()
    shown.turned()
    if last is None:
        raise no_result()
    return last


def present(flow: NonblockingOutput) -> bool:
    """Whether a person sits at the terminal: types there and reads there."""
    return sys.stdin is not None and sys.stdin.isatty() and output.screen(flow.err).tty


def mode(given: ApprovalsMode | None, *, present: bool) -> ApprovalsMode | None:
    """How questions are treated: what was given, else `ask` where somebody is there. With `ask` and no terminal, answers may come from another one."""
    return given or ("ask" if present else None)


async def tell_unfinished(desk: Desk, err: Screen, session: str | None) -> None:
    """Say how many turns of other sessions were interrupted and wait for somebody to finish them."""
    rows = output.plain(await desk.do("sessions.list", unfinished=True))
    others = sum(1 for row in rows if row["state"] in ("unfinished", "set_aside") and row["session"] != session)
    if others:
        told = f"{others} unfinished turn{'s' if others > 1 else ''}: neuralclaw sessions list --unfinished (neuralclaw recover finishes them)"
        err.line(typed(told), "dim")


COMMANDS = (
    Command(
        "run",
        "Do one task and print the answer on standard output; everything else goes to standard error.",
        example='neuralclaw run "read notes.md then calculate 6 * 7"',
        prepare=_read,
        run=_run,
        options=_options,
    ),
)
