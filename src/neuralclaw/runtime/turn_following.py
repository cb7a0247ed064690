"""Turns as those who sent their messages see them: open questions come first, and a turn that nobody follows any more is stopped."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from copy import copy

import anyio

from ..errors import NeuralClawError
from ..foreign_code import innermost
from .message_acceptance import Acceptance
from .turnstream import TurnStream

LEAVE_SECONDS = 3.0
"""How long leaving a turn early may wait for its end to be recorded."""


@asynccontextmanager
async def followed(stream: TurnStream, acceptance: Acceptance, driving: Callable[[str], bool], by: str) -> AsyncIterator[TurnStream]:
    """The events of a turn until it ends; leaving before that cancels it, or withdraws the message that waits for its turn.

    `driving`: whether this process runs a session's turn; a cancel is put on record through `acceptance`.
    """
    left = False
    try:
        yield stream
    except (NeuralClawError, BaseExceptionGroup) as error:
        left, inner = True, innermost(error)
        if await _leave(stream, acceptance, driving, by) and isinstance(inner, NeuralClawError):
            raise _withdrawn(inner) from error
        raise
    finally:
        if not left:
            await _leave(stream, acceptance, driving, by)


async def _leave(stream: TurnStream, acceptance: Acceptance, driving: Callable[[str], bool], by: str) -> bool:
    """Nobody follows any more: a turn that runs is stopped. True where the message waited for its turn and was withdrawn."""
    if stream.finished is not None or stream.ended or not (stream.number is None or driving(stream.session)):
        return False
    with anyio.CancelScope(shield=True), suppress(NeuralClawError):
        await stop(stream, acceptance, by)
        if stream.number is None:
            return bool(stream.message_entry)
        with anyio.move_on_after(LEAVE_SECONDS):
            async for _ in stream:
                pass
    return False


async def stop(stream: TurnStream, acceptance: Acceptance, by: str) -> None:
    """Stop the turn that is followed, and no other; withdraw its message where no turn has begun with it."""
    if stream.number is not None:
        await acceptance.cancel(stream.session, by=by, turn=stream.number)
    if stream.message_entry and not stream.sure:
        await acceptance.cancel(stream.session, by=by, turn=stream.message_turn, message=stream.message_entry)


def _withdrawn(error: NeuralClawError) -> NeuralClawError:
    """The same error, which also tells the sender what became of the message."""
    withdrawn = copy(error)
    withdrawn.text = f"{error.text}; your message was withdrawn"
    withdrawn.args = (withdrawn.text,)
    return withdrawn
