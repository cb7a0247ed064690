"""`neuralclaw approvals`: questions that wait for a person, and the answers, from any terminal."""

import argparse
from typing import get_args

import msgspec

from ..channels.command_hints import typed
from ..channels.question_prompts import about, answered_elsewhere, heading, why
from ..channels.screen import exact
from ..types.events import ApprovalRequested, ApprovalResolved
from ..types.questions import AnswerDecision
from . import output, verbs
from .parsing import Command, choice, clean, with_json
from .table_text import local

_DECISIONS: tuple[str, ...] = get_args(AnswerDecision)


def _list(args: argparse.Namespace) -> int:
    rows = verbs.read(args, "approvals.list")
    if args.json:
        output.json_line(rows)
        return 0
    lines = [row | {"question": exact(row["summary"] or f"{row['action']['tool']} {row['action']['show']}")} for row in rows]
    output.table(lines, ("approval_id", "session", "turn", "since", "risk", "question"), empty="no question waits")
    return 0


def _show_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("approval_id", metavar="ID")
    with_json(parser)


def _show(args: argparse.Namespace) -> int:
    question = verbs.read(args, "approvals.show", approval_id=args.approval_id)
    if args.json:
        output.json_line(question)
        return 0
    asked, answer = msgspec.convert({**question, "type": "approval.requested"}, ApprovalRequested), question["answer"]
    screen = output.out()
    screen.line(heading(asked), "bold")
    for text in (asked.action.show, (asked.action.diff or "").rstrip("\n")):
        for line in exact(text).split("\n") if text else ():
            screen.line(f"    {line}".rstrip())
    for line in (
        *about(asked),
        f"session {question['session']}, turn {question['turn']}, since {local(question['since'])}, until {local(asked.expires or '')}",
        *why(asked),
    ):
        screen.line(f"  {line}")
    if answer is None:
        screen.line(typed(f"  answer with: neuralclaw approvals answer {asked.approval_id} {'|'.join(asked.choices)}"))
    else:
        screen.line(f"  {answered_elsewhere(msgspec.convert(answer, ApprovalResolved))}")
    return 0


def _answer_options(parser: argparse.ArgumentParser) -> None:
    _show_options(parser)
    parser.add_argument("decision", metavar="|".join(_DECISIONS), type=choice(*_DECISIONS, "y", "s", "a", "n"))
    parser.add_argument("--text", metavar="TEXT", help="what the model reads with a no")


def _answer(args: argparse.Namespace) -> int:
    letters = {word[0]: word for word in _DECISIONS[1:]} | {"y": "once"}
    more = {} if args.text is None else {"text": clean(args.text)}
    done = verbs.ask(
        args, "approvals.answer", who=verbs.at_terminal(), approval_id=args.approval_id, decision=letters.get(args.decision, args.decision), **more
    )
    if args.json:
        output.json_line(done)
        return 0
    screen = output.out()
    if done["holder"]:
        screen.line(f"answered; {done['holder']} continues the turn")
    else:
        screen.line(typed(f"answered; no process is running this session; continue with:\nneuralclaw run --resume {done['session']}"))
    return 0


COMMANDS = (
    Command("approvals list", "The questions that wait, of every session.", example="neuralclaw approvals list --json", run=_list, options=with_json),
    Command("approvals show", "A question with the exact command or change.", example="neuralclaw approvals show 4kq0z81xwm", run=_show, options=_show_options),
    Command(
        "approvals answer",
        "Answer a question: once, session, always or no. Whoever holds the session goes on at once.",
        example="neuralclaw approvals answer 4kq0z81xwm once",
        run=_answer,
        options=_answer_options,
    ),
)
