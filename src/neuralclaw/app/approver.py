"""What a program's own approver gets and answers."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from ..types.actions import AnswerDecision, Question, Shown


class Call(msgspec.Struct, frozen=True):
    """The call an approver is asked about."""

    name: str
    arguments: dict[str, Any]


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What an approver gets: the call, what it would do exactly, why it is asked, and where its content came from."""

    session: str
    call: Call
    action: Shown
    reasons: tuple[str, ...]
    sources: tuple[str, ...]
    question: Question


Approver = Callable[[Ask], Awaitable[AnswerDecision]]
"""`async def approver(question: Ask) -> "once" | "session" | "always" | "no"`."""


def asked(approver: Approver) -> Callable[[str, Question], Awaitable[AnswerDecision]]:
    """The approver of the Python API as the asker calls it."""

    async def ask(session: str, question: Question) -> AnswerDecision:
        call = Call(question.action.tool, question.arguments)
        return await approver(Ask(session=session, call=call, action=question.action, reasons=question.reasons, sources=question.sources, question=question))

    return ask
