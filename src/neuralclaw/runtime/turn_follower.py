"""Turns as those who sent their messages see them: open questions come first, and a turn that nobody follows any more is stopped."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from copy import copy
from typing import Protocol

import anyio

from ..errors import AgentError, NeuralClawError, UsageError
from ..foreign_code import innermost
from ..ports import Store
from ..types.entries import Entry
from ..types.events import ApprovalRequested, TurnFinished
from ..types.records import SessionRow
from .turnstream import TurnStream

LEAVE_SECONDS = 3.0
"""How long leaving a turn early may wait for its end to be recorded."""


class CancelTurn(Protocol):
    async def __call__(self, session: str, *, by: str, turn: int | None = None, message: int | None = None) -> None: ...


class TurnFollower:
    """Follows turns. `driving`: whether this process runs a session's turn; `cancel` stops one."""

    def __init__(self, store: Store, driving: Callable[[str], bool], cancel: CancelTurn) -> None:
        self._store, self._driving, self._cancel = store, driving, cancel

    @asynccontextmanager
    async def followed(self, stream: TurnStream, by: str) -> AsyncIterator[TurnStream]:
        """The events of a turn until it ends; leaving before that cancels it, or withdraws the message that waits for its turn."""
        left = False
        try:
            yield stream
        except (NeuralClawError, BaseExceptionGroup) as error:
            left, inner = True, innermost(error)
            if await self._leave(stream, by) and isinstance(inner, NeuralClawError):
                raise _withdrawn(inner) from error
            raise
        finally:
            if not left:
                await self._leave(stream, by)

    async def _leave(self, stream: TurnStream, by: str) -> bool:
        """Nobody follows any more: a turn that runs is stopped. True where the message waited for its turn and was withdrawn."""
        if stream.finished is not None or stream.ended or not (stream.number is None or self._driving(stream.session)):
            return False
        with anyio.CancelScope(shield=True), suppress(NeuralClawError):
            await self.stop(stream, by)
            if stream.number is None:
                return bool(stream.message_entry)
            with anyio.move_on_after(LEAVE_SECONDS):
                async for _ in stream:
                    pass
        return False

    async def stop(self, stream: TurnStream, by: str) -> None:
        """Stop the turn that is followed, and no other; withdraw its message where no turn has begun with it."""
        if stream.number is not None:
            await self._cancel(stream.session, by=by, turn=stream.number)
        if stream.message_entry and not stream.sure:
            await self._cancel(stream.session, by=by, turn=stream.message_turn, message=stream.message_entry)

    async def open_questions(self, session: str) -> list[Entry]:
        """The questions of this session that nobody has answered."""
        asked = {q.question.approval_id: q.turn for q in await self._store.questions(session=session)}
        entries = await self._store.read(session, from_turn=min(asked.values()), kinds=("approval.requested",)) if asked else []
        return [e for e in entries if isinstance(e.body, ApprovalRequested) and e.body.approval_id in asked]

    async def last_end(self, row: SessionRow) -> int:
        """The entry that ended the session's last turn. Raises `UsageError` where it has none, and `AgentError` where that cannot be read."""
        if not row.last_turn:
            raise UsageError(f"the session {row.session} has no turn to go on with", hint=f'neuralclaw run --session {row.session} "TASK"')
        ends = await self._store.read(row.session, from_turn=row.last_turn, kinds=("turn.finished",))
        if not ends or not isinstance(ends[-1].body, TurnFinished):
            raise AgentError(f"the end of turn {row.last_turn} of session {row.session} was erased or cannot be read")
        return ends[-1].entry


def _withdrawn(error: NeuralClawError) -> NeuralClawError:
    """The same error, which also tells the sender what became of the message."""
    withdrawn = copy(error)
    withdrawn.text = f"{error.text}; your message was withdrawn"
    withdrawn.args = (withdrawn.text,)
    return withdrawn
