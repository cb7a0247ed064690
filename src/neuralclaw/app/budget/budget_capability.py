"""`BUDGET`: the capability that brings the command `cost`."""

from typing import Any

from ...capability import Capability, Verb
from ...plugins import load
from ..capability_context import BuiltInContext


async def cost(context: BuiltInContext, *, session: str | None = None) -> Any:
    """Tokens and money of the home, or of one session, by day, session and model, and how far the caps are used. Raises `SessionNotFound`."""
    return await load("budget.report")(context.store, context.clock, context.loaded, session)


BUDGET = Capability(
    name="cost",
    summary="tokens and money",
    verbs=(
        Verb(
            name="cost",
            summary="Tokens and money by day, session and model.",
            run=cost,
            example="neuralclaw cost",
            help={"session": "only this session, or a unique beginning of its name"},
            spelled={"session": "--session ID"},
            render=lambda value: load("budget.lines")(value),
            reads=True,
            in_chat=False,
        ),
    ),
)
