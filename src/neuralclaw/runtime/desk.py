"""What a person or program can do with sessions, whatever channel they sit at, and from any process."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

import msgspec

from ..errors import AlreadyAnswered, NeuralClawError, SessionNotFound
from ..ports import Clock, Store
from ..types.actions import AnswerDecision
from ..types.entries import HOME, Draft, Entry
from ..types.events import ApprovalResolved, Cancel, Inbound
from ..types.ids import new_id
from ..types.messages import Image
from ..types.rows import DuplicateInbound, SessionRow
from .asker import JournalAsker, expired
from .bus import Bus, Subscription
from .sessions import Sessions, Wish

Verb = Callable[..., Awaitable[Any]]
DECISIONS = ("once", "session", "always", "no")


class SessionDesk:
    """The `Desk` over the sessions of one home."""

    def __init__(self, store: Store, clock: Clock, bus: Bus, sessions: Sessions, asker: JournalAsker, verbs: Mapping[str, Verb]) -> None:
        self._store, self._clock, self._bus, self._sessions, self._asker, self._verbs = store, clock, bus, sessions, asker, verbs

    async def send(self, session: str, inbound: Inbound, *, wish: Wish = Wish()) -> tuple[int, int | None]:  # noqa: B008  # a frozen value
        """Accept a message and see to it that it is taken up; returns its entry number, and the turn it goes on with if it begins none.

        `inbound.options` must be set: they are the session's when it is new. A person's message to a parked session withdraws its open
        questions, a program's waits for their answers. Raises `SessionBusy` when the session's turn runs in another process.
        """
        inbound = self._sessions.clean(inbound)
        options = inbound.options
        assert options is not None, "a message that may begin a turn says what the turn runs under"
        await self._sessions.settled(session)
        row = await self._store.create_session(session, origin=options.origin.who, workspace=options.workspace, title=title(inbound.text), model=options.model)
        if row.state == "waiting" and inbound.by == "program" and not self._sessions.driving(session):
            inbound, wish = msgspec.structs.replace(inbound, queued=True), Wish()  # its wishes are for its own turn, not for the parked one
        lease = await self._sessions.claim(session)
        try:
            entry = await self._accept(row, inbound)
        except BaseException:
            if lease is not None:
                await self._sessions.give_back(session, lease)
            raise
        if lease is not None:
            self._sessions.start(session, lease, wish)
        else:
            await self._sessions.wake(session, wish)
        return entry, row.last_turn if row.state == "waiting" else None

    async def steer(self, session: str, text: str, *, by: str, key: str | None = None, images: tuple[Image, ...] = ()) -> int:
        """Accept a message for a session whose turn may run in any process; it is seen before the next model call."""
        row = await self._row(session)
        entry = await self._accept(row, self._sessions.clean(Inbound(text=text, key=key or new_id(16), by=by, images=images)))
        if self._sessions.driving(session):
            await self._sessions.wake(session, Wish())
        return entry

    async def _accept(self, row: SessionRow, inbound: Inbound) -> int:
        """Write the message; the entry it had where its key was accepted before."""
        withdrawn = []
        if row.state == "waiting" and inbound.by != "program":
            questions = await self._store.questions(session=row.session)
            withdrawn = [Draft(q.turn, ApprovalResolved(approval_id=q.question.approval_id, decision="no", by="withdrawn")) for q in questions]
        turn = row.open_turn if row.open_turn and not inbound.queued else row.last_turn + 1
        try:
            entries = await self._store.append(row.session, [Draft(turn, inbound), *withdrawn])
        except DuplicateInbound as before:
            return before.entry
        self.notify(entries)
        return entries[0].entry

    async def resume(self, session: str, wish: Wish) -> None:
        """Take up what is unfinished or waits in the session."""
        await self._sessions.wake(session, wish)

    async def answer(self, approval_id: str, decision: str, *, by: str, value: Mapping[str, Any] | None = None) -> None:
        """Record the answer; the first one wins. Raises `UnknownQuestion` or `AlreadyAnswered`."""
        if decision not in DECISIONS:
            raise NeuralClawError(f"{decision!r} is no answer", hint=f"answer with one of {', '.join(DECISIONS)}")
        found = [q for q in await self._store.questions(open_only=False) if q.question.approval_id == approval_id]
        session, turn = (found[0].session, found[0].turn) if found else (HOME, 0)
        if found and found[0].answer is None and expired(found[0].question, self._clock.now()):
            self.notify(await self._store.append(session, [Draft(turn, ApprovalResolved(approval_id=approval_id, decision="no", by="expired"))]))
            raise AlreadyAnswered(
                f"the question {approval_id} expired at {found[0].question.expires}; nothing was run", hint=f"neuralclaw run --resume {session}"
            )
        body = ApprovalResolved(approval_id=approval_id, decision=cast(AnswerDecision, decision), by=by, value=dict(value) if value else None)
        self.notify(await self._store.append(session, [Draft(turn, self._sessions.clean(body))]))

    async def cancel(self, session: str, *, by: str) -> None:
        """Stop the turn of the session, wherever it runs; a parked or unfinished one ends when it is taken up."""
        row = await self._row(session)
        turn = row.open_turn or (max(1, row.last_turn) if row.state == "idle" else row.last_turn + 1)
        self.notify(await self._store.append(session, [Draft(turn, Cancel(by=by))]))
        self._sessions.cancel(session)

    def events(self, session: str, *, after: int | None = None) -> AbstractAsyncContextManager[Subscription]:
        """The events of a session: durable ones with an entry number above `after`, passing ones from now on."""
        return self._bus.subscribe(session, after=after or 0)

    async def do(self, verb: str, /, **arguments: Any) -> Any:
        """Run one verb of the table that the rooms brought."""
        if verb not in self._verbs:
            raise NeuralClawError(f"there is no command {verb!r}", hint=f"there are: {', '.join(sorted(self._verbs))}")
        return await self._verbs[verb](**arguments)

    def notify(self, entries: Sequence[Entry]) -> None:
        """Tell this process of entries that were written outside a turn's own run."""
        self._bus.publish(entries)
        self._asker.notice(entries)
        self._sessions.notice(entries)

    async def follow(self) -> None:
        """Take part in what other processes write, until cancelled."""
        async for entries in self._changes():
            self.notify(entries)

    def _changes(self) -> AsyncIterator[Any]:
        return self._store.changes()

    async def _row(self, session: str) -> SessionRow:
        row = await self._store.session(session)
        if row is None:
            raise SessionNotFound(f"there is no session {session}", hint="neuralclaw sessions list")
        return row


def title(text: str) -> str:
    """A session's title: the first line of its first message, at most 60 characters."""
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"
