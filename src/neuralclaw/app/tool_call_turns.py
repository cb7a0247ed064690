"""Single calls of tools: each is a turn of its own, so that everything on the way of a call holds for it too."""

import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import msgspec

from ..errors import SessionBusy, UsageError
from ..ports import Desk, TurnEvents
from ..types.entries import CALLS
from ..types.events import Inbound
from ..types.ids import new_id
from ..types.options import HistoryLimits, TurnOptions

DIRECT = "direct:call"
"""The model that proposes the one call its message spells out."""
_LOOK = 0.05
"""Seconds between two looks at a session of calls that another process holds."""
_TELL = 1.0
"""Seconds of waiting after which the caller is told."""
DEEPEST = 100
"""Levels of lists and objects in the arguments of a call."""


def spelled(tool: str, arguments: Mapping[str, Any]) -> str:
    """The message that stands for a call. Raises `UsageError` for arguments that are no JSON, or are nested deeper than `DEEPEST` levels."""
    try:
        _check_value(arguments, DEEPEST)
        return msgspec.json.encode({"tool": tool, "arguments": arguments}).decode()
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"the arguments of {tool} cannot be written as JSON: {error}; nothing was run") from error


def _check_value(value: object, levels: int) -> None:
    """Raises `ValueError` for what is nested deeper than so many levels, and for numbers that JSON does not have."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    if inner and not levels:
        raise ValueError(f"they are nested deeper than {DEEPEST} levels")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no number of JSON")
    for one in inner:
        _check_value(one, levels - 1)


def call_of(tool: str, arguments: Mapping[str, Any], options: TurnOptions) -> Inbound:
    """The message of a call, under these options."""
    return Inbound(text=spelled(tool, arguments), key=new_id(16), by=options.origin.who, options=msgspec.structs.replace(options, model=DIRECT))


def standing_alone(inbound: Inbound) -> Inbound:
    """The message for the session that keeps calls: nothing of the calls before is needed."""
    assert inbound.options is not None, "a call says what it runs under"
    limits = msgspec.structs.replace(inbound.options.limits, history=HistoryLimits(alone=True))
    return msgspec.structs.replace(inbound, options=msgspec.structs.replace(inbound.options, limits=limits))


@asynccontextmanager
async def called(desk: Desk, session: str | None, inbound: Inbound, waits: Callable[[str], None] = lambda _: None) -> AsyncIterator[TurnEvents]:
    """The events of a call. Without `session` it is recorded in the one that keeps calls, where each waits its turn; `waits` is told of a longer wait.

    Raises `UsageError` for a call that would wait there for an answer: nothing goes on with it.
    """
    if session is None and inbound.options is not None and inbound.options.approvals == "park":
        raise UsageError("a call that waits for an answer needs a session to go on in; nothing was run", hint="name one with --session ID")
    inbound = inbound if session is not None else standing_alone(inbound)
    async with AsyncExitStack() as stack:
        waited = 0.0
        while True:
            try:
                events = await stack.enter_async_context(desk.turn(session or CALLS, inbound))
                break
            except SessionBusy as busy:
                if session is not None:
                    raise
                if waited < _TELL <= waited + _LOOK:
                    waits(f"waits for another call: {busy.text}")
                waited += _LOOK
                await anyio.sleep(_LOOK)
        yield events
