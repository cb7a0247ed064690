"""What a person or program can do with sessions, whatever channel they sit at, and from any process."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, cast, get_args

import anyio
import msgspec

from .. import lookups
from ..agent.redaction import redacted
from ..errors import AgentError, AlreadyAnswered, SessionBusy, StoreError, UnknownQuestion, UsageError
from ..ports import TurnEvents
from ..types.entries import HOME, Draft, Entry, Event, rfc3339
from ..types.events import ApprovalResolved, Inbound, StatusEvent
from ..types.labels import AGENT, OWNER
from ..types.options import StartOptions
from ..types.questions import AnswerDecision
from ..types.records import Accepted, Lease, SessionRow, expired
from .asker import this_process
from .backoff import Backoff
from .bus import Subscription
from .message_acceptance import Acceptance
from .recovery import recovered
from .runtime_ports import RuntimePorts
from .sessions import Sessions
from .turn_following import followed, stop
from .turn_start import RunStart
from .turnstream import TurnStream

log = logging.getLogger(__name__)

RunVerb = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Runs the command of a name with these arguments."""
DECISIONS: tuple[str, ...] = get_args(AnswerDecision)
FOLLOW_AGAIN = Backoff(first=0.2, longest=10.0)
"""Seconds until a journal that could not be read is read again: the first time, and at most."""
WAITS = "the session waits for an answer; this message is kept and runs after it"


class SessionDesk:
    """The `Desk` over the sessions of one home. `start`: what whoever opened it wants of turns that it goes on with."""

    def __init__(self, ports: RuntimePorts, sessions: Sessions, run_verb: RunVerb, start: StartOptions) -> None:
        self._ports, self._sessions, self._run_verb, self._start = ports, sessions, run_verb, start
        self._store, self._bus, self._asker = ports.store, ports.bus, ports.asker
        self._acceptance = Acceptance(ports.store, ports.redaction, self.notify)

    @asynccontextmanager
    async def turn(self, session: str, inbound: Inbound, start: StartOptions | None = None) -> AsyncIterator[TurnStream]:
        inbound, wanted = await self._prepared(session, inbound, start)
        with self._bus.turn(session, key=inbound.key) as stream:
            accepted = await self._sessions.whole(lambda: self._send(session, inbound, wanted), lambda sent: self._withdraw(session, inbound.by, sent))
            waits = accepted.waits
            if accepted.before is not None:
                self._bus.follow(stream, accepted.before, accepted.turn)
                waits = accepted.turn is None and await self._acceptance.repeat_end(session)
            async with followed(stream, self._acceptance, self._sessions.driving, inbound.by) as events:
                if waits:
                    now = rfc3339(round(self._ports.clock.now() * 1_000_000))
                    stream.tell_first(Event(body=StatusEvent(text=WAITS), session=session, turn=accepted.turn or 0, seq=0, time=now))
                if waits or (wanted.options.present and stream.number is None):
                    stream.show_first(await lookups.unanswered(self._store, session))
                yield events

    async def send(self, session: str, inbound: Inbound, start: StartOptions | None = None) -> Accepted:
        return await self._send(session, *await self._prepared(session, inbound, start))

    async def queue(self, session: str, inbound: Inbound) -> Accepted:
        inbound, wanted = await self._prepared(session, inbound, None)
        accepted = await self._acceptance.queue(session, inbound)
        if accepted.before is None and not accepted.waits:
            with suppress(SessionBusy):  # who holds the session sees it too
                await self._sessions.wake(session, msgspec.structs.replace(wanted, message=accepted.entry))
        return accepted

    async def steer(self, session: str, inbound: Inbound) -> int:
        if inbound.options is not None:  # those of the turn that it begins where it comes too late
            inbound = msgspec.structs.replace(inbound, options=await self._ports.resolve(session, inbound.options))
        entry, goes_on = await self._acceptance.steer(session, inbound)
        if goes_on:
            with suppress(SessionBusy):  # who holds the session sees it too
                await self._sessions.wake(session, RunStart())
        return entry

    async def _prepared(self, session: str, inbound: Inbound, start: StartOptions | None) -> tuple[Inbound, RunStart]:
        """The message with options that can be used, and what is wanted of its turn. Raises `UsageError` and `ConfigError`."""
        if session == HOME:
            raise UsageError(f"the session {HOME} holds no conversation; nothing was recorded")
        row = await lookups.session(self._store, session) if inbound.options is None else None
        if row is None or not row.last_turn:
            inbound = msgspec.structs.replace(inbound, options=await self._ports.resolve(session, inbound.options))
        options = inbound.options
        if start is not None:
            return inbound, RunStart(options=start)
        start = StartOptions(approvals=options.approvals, present=options.origin.present) if options is not None else self._start
        return inbound, RunStart(options=start, bound=True, within=options is not None and bool(options.origin.parent))

    async def _send(self, session: str, inbound: Inbound, wanted: RunStart) -> Accepted:
        """Record a message as a turn of its own and see to it that it is taken up, at once or when those before it have ended."""
        if wanted.options.present:
            self._asker.arrive(session)
        lease = await self._sessions.claim(session)
        async with self._returned(session, lease):
            accepted = await self._acceptance.accept(session, inbound, free=lease is not None)
        wanted = msgspec.structs.replace(wanted, message=accepted.entry)
        if wanted.bound and accepted.before is not None:  # its options are on record
            wanted = msgspec.structs.replace(wanted, options=StartOptions(present=wanted.options.present))
        if accepted.waits:
            if lease is not None:
                await self._sessions.give_back(session, lease)  # nothing can be done before the answer
            if (await self._acceptance.row(session)).state == "unfinished":  # which has come meanwhile
                await self._sessions.wake(session, RunStart())
        elif lease is not None:
            self._sessions.start(session, lease, wanted)
        else:
            await self._sessions.wake(session, wanted)
        return accepted

    @asynccontextmanager
    async def _returned(self, session: str, lease: Lease | None) -> AsyncIterator[None]:
        """Gives the lease back where what is done under it fails or is cancelled."""
        done = False
        try:
            yield
            done = True
        finally:
            if lease is not None and not done:
                with anyio.CancelScope(shield=True):
                    await self._sessions.give_back(session, lease)

    async def _withdraw(self, session: str, by: str, sent: Accepted) -> None:
        """Its sender left while it was written."""
        if sent.before is None:
            await self.cancel(session, by=by, turn=sent.turn, message=sent.entry)

    @asynccontextmanager
    async def resume(self, session: str, start: StartOptions | None = None, *, by: str) -> AsyncIterator[TurnStream]:
        wanted = start or self._start
        row = await self._sessions.whole(lambda: self._take_up(session, wanted), lambda row: self._leave_taken_up(row, by))
        if row.open_turn or row.pending:
            with self._bus.turn(session, number=row.open_turn or row.last_turn + 1, after=row.entries) as stream:
                if not self._sessions.here(session):  # what ran here ended before the stream was there, and may have failed
                    await self._sessions.wake(session, RunStart(options=wanted, within=bool(row.parent)))
                stream.show_first(await lookups.unanswered(self._store, session))
                async with followed(stream, self._acceptance, self._sessions.driving, by) as events:
                    yield events
            return
        with self._bus.turn(session, number=row.last_turn, after=await lookups.last_end(self._store, row) - 1) as stream:
            yield stream

    async def _take_up(self, session: str, start: StartOptions) -> SessionRow:
        """Go on with what is unfinished or waits in the session; the session as it was then, with nothing begun where there was nothing to do.

        What nobody waits for any more is cancelled first. Raises `SessionBusy` when its turn runs in another process.
        """
        known = await lookups.session(self._store, session)
        if known is not None and (known.open_turn or known.pending) and await lookups.outlived_its_call(self._store, known):
            await self.cancel(session, by="agent")
        if start.present:
            self._asker.arrive(session)
        lease = await self._sessions.claim(session)
        async with self._returned(session, lease):
            row = await self._acceptance.row(session)
        run = RunStart(options=start, within=bool(row.parent))
        if lease is None:
            await self._sessions.wake(session, run)
        elif row.open_turn or row.pending:
            self._sessions.start(session, lease, run)
        else:
            await self._sessions.give_back(session, lease)
        return row

    async def _leave_taken_up(self, row: SessionRow, by: str) -> None:
        """Whoever wanted it left before it was known: what was taken up is stopped."""
        if row.open_turn:
            await self.cancel(row.session, by=by, turn=row.open_turn)

    def recover(self, start: StartOptions | None = None, *, by: str) -> AsyncIterator[Event]:
        return recovered(self._store, self._ports.clock, lambda session: self.resume(session, start, by=by))

    async def take_over(self) -> None:
        """Start every unfinished turn of the home in the background."""
        for row in await self._store.sessions(unfinished=True):
            if row.state != "set_aside":
                with suppress(SessionBusy):
                    await self._take_up(row.session, self._start)

    async def go_on(self, session: str) -> None:
        """Start the session's turn in the background where it is unfinished and waits for no answer; one that runs is left alone."""
        row = await lookups.session(self._store, session)
        if row is not None and row.state == "unfinished":
            with suppress(SessionBusy):
                await self._take_up(session, self._start)

    async def stop(self, events: TurnEvents, *, by: str) -> None:
        assert isinstance(events, TurnStream), "the events of a turn"
        waits = events.number is None
        await stop(events, self._acceptance, by)
        if waits:
            await self.cancel(events.session, by=by)

    async def cancel(self, session: str, *, by: str, turn: int | None = None, message: int | None = None) -> None:
        await self._acceptance.cancel(session, by=by, turn=turn, message=message)

    async def answer(
        self, approval_id: str, decision: str, *, by: str, value: Mapping[str, Any] | None = None, text: str | None = None, channel: str = ""
    ) -> None:
        if decision not in DECISIONS:
            raise UsageError(f"{decision!r} is not an answer", hint=f"answer with one of {', '.join(DECISIONS)}")
        if text is not None and decision != "no":
            raise UsageError(f"a text goes with a no, not with {decision!r}; nothing was recorded")
        found = await lookups.question(self._store, approval_id)
        if found is None:
            raise UnknownQuestion(f"there is no question {approval_id}; nothing was changed", hint="neuralclaw approvals list shows those that wait")
        session, turn = found.session, found.turn
        if value and found.question.kind == "action":
            raise UsageError(f"the question {approval_id} takes a decision and no value; nothing was recorded")
        if found.answer is None and decision not in found.question.choices:
            offered = ", ".join(found.question.choices)
            raise UsageError(f"the question {approval_id} does not offer {decision!r}; nothing was recorded", hint=f"it takes one of {offered}")
        if found.answer is None and expired(found.question, self._ports.clock.now()):
            self.notify(await self._store.append(session, [Draft(turn, ApprovalResolved(approval_id=approval_id, decision="no", by="expired"), AGENT)]))
            raise AlreadyAnswered(f"the question {approval_id} expired at {found.question.expires}; nothing was run", hint=f"neuralclaw run --resume {session}")
        body = ApprovalResolved(
            approval_id=approval_id,
            decision=cast(AnswerDecision, decision),
            by=by,
            value=dict(value) if value else None,
            text=text,
            process=this_process(),
            channel=channel,
        )
        self.notify(await self._store.append(session, [Draft(turn, redacted(body, self._ports.redaction), OWNER)]))

    async def leave(self, session: str) -> None:
        await self._asker.leave(session)

    def events(self, session: str, *, after: int | None = None) -> AbstractAsyncContextManager[Subscription]:
        return self._bus.subscribe(session, after=after or 0)

    def listen(self, listener: Callable[[Sequence[Entry]], None]) -> None:
        """Hand every new entry of every session to `listener`, some twice. It must return at once."""
        self._bus.listen(listener)

    async def do(self, verb: str, /, **arguments: Any) -> Any:
        return await self._run_verb(verb, arguments)

    def notify(self, entries: Sequence[Entry]) -> None:
        """Tell this process of entries that were written outside a turn's own run."""
        self._bus.publish(entries)
        self._asker.notice(entries)
        self._sessions.notice(entries)

    async def follow(self) -> None:
        """Take part in what other processes write, until cancelled. What cannot be read now is read again later: it stops nobody's turn."""
        position: int | None = None
        failures = 0
        while True:
            failures += 1
            try:
                async for entries in self._store.changes(position):
                    position, failures = entries[-1].header.record, 1
                    self.notify(entries)
            except StoreError as error:
                log.warning("what other processes write cannot be read and is tried again in %g s: %s", FOLLOW_AGAIN.after(failures), error.text)
            await self._ports.clock.sleep(FOLLOW_AGAIN.after(failures))

    def close(self) -> None:
        """The program ends: turns that nobody cancelled stop and stay unfinished, and nobody waits for them any more."""
        self._sessions.close()
        self._bus.close(AgentError("the agent was closed; what was recorded is kept", hint="neuralclaw recover"))
