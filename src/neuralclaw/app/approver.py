"""What a program's own approver gets and answers."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import anyio.to_thread
import msgspec

from ..types.questions import AnswerDecision, Question, Shown
from .option_checks import refused


class ProposedCall(msgspec.Struct, frozen=True):
    """The call an approver is asked about."""

    name: str
    arguments: dict[str, Any]


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What an approver gets: the call, what it would do exactly, why it is asked, and where its content came from."""

    session: str
    call: ProposedCall
    action: Shown
    reasons: tuple[str, ...]
    sources: tuple[str, ...]
    question: Question


Approver = Callable[[Ask], Awaitable[AnswerDecision] | AnswerDecision]
"""`async def approver(question: Ask) -> "once" | "session" | "always" | "no"`.

A plain function is one too; it runs in a thread, as a plain function under `@tool` does. One that raises, or answers what the question does not
offer, means no: the refusal and an `error` event of the turn say how it failed.
"""

WANTED = "an async function of one question"


def checked_approver(approver: object) -> None:
    """Refuse what cannot be called with one question. Raises `UsageError`."""
    if approver is None:
        return
    if not callable(approver):
        raise refused("approver", approver, WANTED)
    try:
        signature = inspect.signature(approver)
    except ValueError:  # one that is not written in Python and does not tell
        return
    try:
        signature.bind(None)
    except TypeError:
        raise refused("approver", approver, WANTED) from None


def asked(approver: Approver) -> Callable[[str, Question], Awaitable[AnswerDecision]]:
    """The approver of the Python API as the asker calls it."""
    plain: Any = approver
    while isinstance(plain, functools.partial):
        plain = plain.func
    awaits = inspect.iscoroutinefunction(plain) or inspect.iscoroutinefunction(getattr(type(plain), "__call__", None))  # noqa: B004  # asked of the class

    async def ask(session: str, question: Question) -> AnswerDecision:
        call = ProposedCall(question.action.tool, question.arguments)
        about = Ask(session=session, call=call, action=question.action, reasons=question.reasons, sources=question.sources, question=question)
        # Left behind when the question is answered elsewhere: a thread cannot be stopped, and the turn must not wait for it.
        said: Any = approver(about) if awaits else await anyio.to_thread.run_sync(approver, about, abandon_on_cancel=True)
        decision: AnswerDecision = await said if inspect.isawaitable(said) else said
        return decision

    return ask
