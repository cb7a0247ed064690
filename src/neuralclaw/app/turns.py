"""The turns that a program sends or follows: the events of each, up to its end."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from copy import copy

import anyio

from ..errors import AgentError, NeuralClawError, UsageError
from ..runtime.bus import Bus
from ..runtime.desk import Accepted, SessionDesk
from ..runtime.drive import Wish
from ..runtime.sessions import Sessions
from ..runtime.turnstream import TurnStream
from ..types.actions import Who
from ..types.entries import Entry, Event, rfc3339
from ..types.events import ApprovalRequested, Inbound, StatusEvent, TurnFinished
from ..types.records import SessionRow
from .parts import Parts

WAITS = "the session waits for an answer; this message is kept, waits for it too, and is taken up when the session goes on"
LEAVE_SECONDS = 3.0
"""How long leaving a turn early may wait for its end to be recorded."""


class Turns:
    """Sends messages and goes on with turns for `who`, and follows what becomes of them."""

    def __init__(self, parts: Parts, desk: SessionDesk, bus: Bus, sessions: Sessions, who: Who) -> None:
        self._parts, self._desk, self._bus, self._sessions, self._who = parts, desk, bus, sessions, who

    @asynccontextmanager
    async def sent(self, session: str, inbound: Inbound, *, retry: bool = False) -> AsyncIterator[AsyncIterator[Event]]:
        """Send a message and follow the turn it begins, or goes on with."""
        options = inbound.options
        assert options is not None, "a message that may begin a turn says what the turn runs under"
        await self._parts.models.thinking(options.model)
        wish = Wish(approvals=options.approvals, present=options.origin.present, retry=retry)
        with self._bus.turn(session, key=inbound.key) as stream:
            accepted = await self._sessions.whole(lambda: self._desk.send(session, inbound, wish=wish), lambda sent: self._withdraw(session, sent))
            if accepted.before is not None:
                self._bus.follow(stream, accepted.before, accepted.turn)
            async with self._followed(stream) as events:
                if accepted.waits:
                    now = rfc3339(round(self._parts.clock.now() * 1_000_000))
                    stream.tell_first(Event(body=StatusEvent(text=WAITS), session=session, turn=accepted.turn or 0, seq=0, time=now))
                if accepted.waits or (wish.present and stream.number is None):
                    stream.show_first(await self._open_questions(session))
                yield events

    async def _withdraw(self, session: str, sent: Accepted) -> None:
        """Its sender left while it was written."""
        if sent.before is None:
            await self._desk.cancel(session, by=self._who, turn=sent.turn, message=sent.entry)

    async def _open_questions(self, session: str) -> list[Entry]:
        """The questions of this session that nobody has answered."""
        store = self._parts.store
        asked = {q.question.approval_id: q.turn for q in await store.questions(session=session)}
        entries = await store.read(session, from_turn=min(asked.values()), kinds=("approval.requested",)) if asked else []
        return [e for e in entries if isinstance(e.body, ApprovalRequested) and e.body.approval_id in asked]

    @asynccontextmanager
    async def _followed(self, stream: TurnStream) -> AsyncIterator[AsyncIterator[Event]]:
        """The events of a turn until it ends; leaving before that cancels it, or withdraws the message that waits for its turn."""
        left = False
        try:
            yield stream
        except (NeuralClawError, BaseExceptionGroup) as error:
            left, inner = True, leaf(error)
            if await self._leave(stream) and isinstance(inner, NeuralClawError):
                raise _withdrawn(inner) from error
            raise
        finally:
            if not left:
                await self._leave(stream)

    async def _leave(self, stream: TurnStream) -> bool:
        """Nobody follows any more: a turn that runs is stopped. True where the message waited for its turn and was withdrawn."""
        if stream.finished is not None or stream.ended or not (stream.number is None or self._sessions.driving(stream.session)):
            return False
        with anyio.CancelScope(shield=True), suppress(NeuralClawError):
            await self.stop(stream)
            if stream.number is None:
                return bool(stream.message_entry)
            with anyio.move_on_after(LEAVE_SECONDS):
                async for _ in stream:
                    pass
        return False

    async def stop(self, stream: TurnStream) -> None:
        """Stop the turn that is followed, and no other; withdraw its message where no turn has begun with it."""
        if stream.number is not None:
            await self._desk.cancel(stream.session, by=self._who, turn=stream.number)
        if stream.message_entry and not stream.sure:
            await self._desk.cancel(stream.session, by=self._who, turn=stream.message_turn, message=stream.message_entry)

    @asynccontextmanager
    async def gone_on(self, session: str, wish: Wish) -> AsyncIterator[AsyncIterator[Event]]:
        """Go on with what is unfinished or waits in the session and follow its turn; the last turn's end again where nothing is."""
        row = await self._sessions.whole(lambda: self._desk.take_up(session, wish), self._leave_taken_up)
        if row.open_turn or row.pending:
            with self._bus.turn(row.session, number=row.open_turn or row.last_turn + 1, after=row.entries) as stream:
                stream.show_first(await self._open_questions(row.session))
                async with self._followed(stream) as events:
                    yield events
            return
        with self._bus.turn(row.session, number=row.last_turn, after=await self._last_end(row) - 1) as stream:
            yield stream

    async def _leave_taken_up(self, row: SessionRow) -> None:
        """Whoever wanted it left before it was known: what was taken up is stopped."""
        if row.open_turn:
            await self._desk.cancel(row.session, by=self._who, turn=row.open_turn)

    async def _last_end(self, row: SessionRow) -> int:
        """The entry that ended the session's last turn."""
        if not row.last_turn:
            raise UsageError(f"the session {row.session} has no turn to go on with", hint=f'neuralclaw run --session {row.session} "TASK"')
        ends = await self._parts.store.read(row.session, from_turn=row.last_turn, kinds=("turn.finished",))
        if not ends or not isinstance(ends[-1].body, TurnFinished):
            raise AgentError(f"the end of turn {row.last_turn} of session {row.session} was erased or cannot be read")
        return ends[-1].entry


def _withdrawn(error: NeuralClawError) -> NeuralClawError:
    """The same error, which also tells the sender what became of the message."""
    told = copy(error)
    told.text = f"{error.text}; your message was withdrawn"
    told.args = (told.text,)
    return told


def leaf(error: BaseException) -> BaseException:
    """The one error inside a group of one, however deep; the group itself when it holds several, and an error that is no group."""
    inner = error
    while isinstance(inner, BaseExceptionGroup) and len(inner.exceptions) == 1:
        inner = inner.exceptions[0]
    return inner
