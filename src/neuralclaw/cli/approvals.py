"""`neuralclaw approvals`: questions that wait for a person, and the answers, from any terminal."""

import argparse

from ..channels.screen import exact
from ..errors import UsageError
from . import output, verbs
from .parsing import Command, choice, with_json

_DECISIONS = ("once", "session", "always", "no")


def _list(args: argparse.Namespace) -> int:
    rows = verbs.read(args, "approvals.list")
    if args.json:
        output.json_line(rows)
        return 0
    lines = [row | {"tool": row["action"]["tool"], "show": exact(row["action"]["show"])} for row in rows]
    output.table(lines, ("approval_id", "session", "turn", "since", "risk", "tool", "show"), empty="no question waits")
    return 0


def _show_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("approval_id", metavar="ID")
    with_json(parser)


def _show(args: argparse.Namespace) -> int:
    question = verbs.read(args, "approvals.show", approval_id=args.approval_id)
    if args.json:
        output.json_line(question)
        return 0
    action = question.pop("action")
    output.fields({name: value for name, value in question.items() if value not in (None, [], "")})
    screen = output.out()
    screen.line(f"{action['tool']}:")
    for line in exact(action["show"]).split("\n") + exact(action.get("diff") or "").split("\n"):
        screen.line(f"    {line}".rstrip())
    return 0


def _answer_options(parser: argparse.ArgumentParser) -> None:
    _show_options(parser)
    parser.add_argument("decision", metavar="|".join(_DECISIONS), type=choice(*_DECISIONS, "y", "s", "a", "n"))


def _answer(args: argparse.Namespace) -> int:
    letters = {word[0]: word for word in _DECISIONS[1:]} | {"y": "once"}
    answered = verbs.ask(args, "approvals.answer", approval_id=args.approval_id, decision=letters.get(args.decision, args.decision))
    if not isinstance(answered, dict):
        raise UsageError(f"there is no question {args.approval_id}")
    if args.json:
        output.json_line(answered)
        return 0
    screen = output.out()
    if answered.get("holder"):
        screen.line(f"answered; {answered['holder']} goes on with it")
    else:
        screen.line(f"answered; nobody holds the session now, go on with:\nneuralclaw run --resume {answered['session']}")
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
