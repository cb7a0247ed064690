"""What a person or program can do with sessions, whatever channel they sit at, and from any process."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, cast

import anyio
import msgspec

from ..errors import AlreadyAnswered, NeuralClawError, SessionBusy, SessionNotFound, StoreError, UnknownQuestion, UsageError
from ..ports import Clock, Store
from ..types.actions import AnswerDecision
from ..types.entries import NEXT, Draft, Entry, detached
from ..types.events import ApprovalResolved, Cancel, Inbound, Message, TurnFinished, TurnStarted
from ..types.ids import new_id
from ..types.labels import AGENT, OWNER, join
from ..types.messages import Image
from ..types.records import DuplicateInbound, Lease, NewSession, SessionRow
from .asker import JournalAsker, expired
from .bus import Bus, Subscription
from .drive import Wish
from .sessions import Sessions

log = logging.getLogger(__name__)

Verb = Callable[..., Awaitable[Any]]
DECISIONS = ("once", "session", "always", "no")
FOLLOW_AGAIN = (0.2, 10.0)
"""Seconds until a journal that could not be read is read again: the first time, and at most."""


class Accepted(msgspec.Struct, frozen=True):
    """A message on record: its entry and the turn it belongs to. `waits`: the session is parked, and the message waits for the answer too.

    `before`: its key was accepted before, as this entry; `turn` is then what it began or was seen by, None where it waits still.
    """

    entry: int
    turn: int | None
    waits: bool = False
    before: Entry | None = None


class SessionDesk:
    """The `Desk` over the sessions of one home."""

    def __init__(self, store: Store, clock: Clock, bus: Bus, sessions: Sessions, asker: JournalAsker, verbs: Mapping[str, Verb]) -> None:
        self._store, self._clock, self._bus, self._sessions, self._asker, self._verbs = store, clock, bus, sessions, asker, verbs

    async def send(self, session: str, inbound: Inbound, *, wish: Wish = Wish()) -> Accepted:  # noqa: B008  # a frozen value
        """Accept a message as a turn of its own and see to it that it is taken up, at once or when those before it have ended.

        `inbound.options` must be set: they are the session's when it is new. A person's message to a parked session withdraws its open
        questions and the turn goes on with it; a program's waits for their answers. Raises `SessionBusy` when the session's turn runs in
        another process.
        """
        inbound = self._sessions.clean(inbound)
        if wish.present:
            self._asker.arrive(session)
        lease = await self._sessions.claim(session)
        async with self._returned(session, lease):
            accepted = await self._accept(session, inbound, free=lease is not None)
        if accepted.waits:
            if lease is not None:
                await self._sessions.give_back(session, lease)  # nothing can be done before the answer
            if (await self._row(session)).state == "unfinished":  # which has come meanwhile
                await self._sessions.wake(session, Wish())
        elif lease is not None:
            self._sessions.start(session, lease, wish)
        else:
            await self._sessions.wake(session, wish)
        return accepted

    async def _accept(self, session: str, inbound: Inbound, *, free: bool) -> Accepted:
        """Write a message that is a turn. `free`: no turn of the session runs, and none can begin before this returns."""
        while True:
            row = await self._store.session(session)
            parked = row is not None and row.state == "waiting"
            goes_on = parked and inbound.by != "program"
            waits = not goes_on and (parked or not free or (row is not None and (row.open_turn > 0 or row.pending)))
            inbound = msgspec.structs.replace(inbound, queued=inbound.queued or waits)
            try:
                turn, more = (None, await self._withdrawn(session)) if goes_on else (NEXT, [])
                if row is not None and parked and not goes_on:
                    more = [Draft(row.open_turn, await self._still_parked(row), join(row.labels, AGENT))]
                entry = await self._write(session, Draft(turn, inbound), more)
            except AlreadyAnswered:  # somebody answered meanwhile: the turn does not wait any more
                continue
            except DuplicateInbound as before:
                return await self._accepted_before(session, before)
            return Accepted(entry.entry, entry.turn, waits=parked and not goes_on)

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

    async def _withdrawn(self, session: str) -> list[Draft]:
        """Answers that withdraw the open questions of the session."""
        questions = await self._store.questions(session=session)
        return [Draft(q.turn, ApprovalResolved(approval_id=q.question.approval_id, decision="no", by="withdrawn"), OWNER) for q in questions]

    async def _still_parked(self, row: SessionRow) -> TurnFinished:
        """The end of the parked turn once more, for a message that waits behind it: whoever follows the message learns what it waits for."""
        ends = await self._store.read(row.session, from_turn=row.open_turn, kinds=("turn.finished",))
        if ends and isinstance(end := ends[-1].body, TurnFinished):
            return end
        questions = await self._store.questions(session=row.session)
        return TurnFinished(status="needs_approval", text="", model=row.model, waiting=tuple(q.question.approval_id for q in questions))

    async def _accepted_before(self, session: str, before: DuplicateInbound) -> Accepted:
        """Where the message with this key stands, and the turn that it began or that saw it."""
        if before.session != session:
            raise UsageError(f"a message with this key was accepted before, in session {before.session}; nothing was recorded")
        inbound, *later = await self._store.read(session, after=before.entry - 1, kinds=("inbound", "turn.started", "message"))
        if not isinstance(inbound.body, Inbound):
            raise StoreError(f"a message with this key was accepted before, as entry {before.entry}, and cannot be read; nothing was recorded")
        for entry in later:
            body = entry.body
            began = isinstance(body, TurnStarted) and body.inbound == before.entry
            saw = isinstance(body, Message) and not inbound.body.queued and entry.turn == inbound.turn and body.seen >= before.entry
            if began or saw:
                return Accepted(before.entry, entry.turn, before=inbound)
        return Accepted(before.entry, None, before=inbound)

    async def steer(self, session: str, text: str, *, by: str, key: str | None = None, images: tuple[Image, ...] = ()) -> int:
        """Accept a message for a session whose turn may run in any process; it is seen before the next model call. Gives its entry number.

        Where no turn runs it begins one, here.
        """
        row = await self._row(session)
        inbound = self._sessions.clean(Inbound(text=text, key=key or new_id(16), by=by, images=images))
        while True:
            try:
                withdrawn = await self._withdrawn(session) if row.state == "waiting" and by != "program" else []
                entry = (await self._write(session, Draft(None, inbound), withdrawn)).entry
                break
            except AlreadyAnswered:
                row = await self._row(session)
            except DuplicateInbound as before:
                return before.entry
        if row.state != "waiting" or withdrawn:  # else it waits for the answer
            with suppress(SessionBusy):  # who holds the session sees it too
                await self._sessions.wake(session, Wish())
        return entry

    async def _write(self, session: str, draft: Draft, more: Sequence[Draft]) -> Entry:
        """Write a message with the bytes of its pictures, and the session it begins, and `more` behind it. Raises `DuplicateInbound` and `AlreadyAnswered`."""
        inbound = draft.body
        assert isinstance(inbound, Inbound), "a message is written"
        options = inbound.options
        blobs = tuple(image.data for image in inbound.images if image.data)
        inbound = msgspec.structs.replace(inbound, images=tuple(detached(image) for image in inbound.images))
        labels = join(AGENT, ("private",)) if inbound.by == "agent" else OWNER
        rows = []
        if options is not None:
            origin = options.origin
            rows = [
                NewSession(
                    origin=origin.who,
                    workspace=options.workspace,
                    title=title(inbound.text),
                    model=options.model,
                    parent=origin.parent,
                    soul=options.soul,
                )
            ]
        entries = await self._store.append(session, [Draft(draft.turn, inbound, labels, blobs), *more], rows=rows)
        self.notify(entries)
        return entries[0]

    async def take_up(self, session: str, wish: Wish) -> SessionRow:
        """Go on with what is unfinished or waits in the session; the session as it was then, with nothing begun where there was nothing to do.

        Raises `SessionBusy` when its turn runs in another process.
        """
        if wish.present:
            self._asker.arrive(session)
        lease = await self._sessions.claim(session)
        async with self._returned(session, lease):
            row = await self._row(session)
        if lease is None:
            await self._sessions.wake(session, wish)
        elif row.open_turn or row.pending:
            self._sessions.start(session, lease, wish)
        else:
            await self._sessions.give_back(session, lease)
        return row

    async def answer(self, approval_id: str, decision: str, *, by: str, value: Mapping[str, Any] | None = None, text: str | None = None) -> None:
        """Record the answer; the first one wins. `text`: what the person says with a no, for the model.

        Raises `UnknownQuestion`, `AlreadyAnswered`, and `UsageError` for an answer that the question does not offer.
        """
        if decision not in DECISIONS:
            raise UsageError(f"{decision!r} is no answer", hint=f"answer with one of {', '.join(DECISIONS)}")
        if text is not None and decision != "no":
            raise UsageError(f"a text goes with a no, not with {decision!r}; nothing was recorded")
        found = await self._store.question(approval_id)
        if found is None:
            raise UnknownQuestion(f"there is no question {approval_id}; nothing was changed", hint="neuralclaw approvals list shows those that wait")
        session, turn = found.session, found.turn
        if found.answer is None and found.question.kind == "action" and decision not in found.question.choices:
            offered = ", ".join(found.question.choices)
            raise UsageError(f"the question {approval_id} does not offer {decision!r}; nothing was recorded", hint=f"it takes one of {offered}")
        if found.answer is None and expired(found.question, self._clock.now()):
            self.notify(await self._store.append(session, [Draft(turn, ApprovalResolved(approval_id=approval_id, decision="no", by="expired"), AGENT)]))
            raise AlreadyAnswered(f"the question {approval_id} expired at {found.question.expires}; nothing was run", hint=f"neuralclaw run --resume {session}")
        body = ApprovalResolved(approval_id=approval_id, decision=cast(AnswerDecision, decision), by=by, value=dict(value) if value else None, text=text)
        self.notify(await self._store.append(session, [Draft(turn, self._sessions.clean(body), OWNER)]))

    async def cancel(self, session: str, *, by: str, turn: int | None = None, message: int | None = None) -> None:
        """Stop the turn of the session, wherever it runs; a parked or unfinished one ends when it is taken up, and so does one that waits to begin.

        `turn`: that one and no other. `message`: what the message of this entry began or will begin.
        """
        await self._row(session)
        self.notify(await self._store.append(session, [Draft(turn, Cancel(by=by, message=message), OWNER)]))

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
        """Take part in what other processes write, until cancelled. What cannot be read now is read again later: it stops nobody's turn."""
        position: int | None = None
        wait, longest = FOLLOW_AGAIN
        while True:
            try:
                async for entries in self._changes(position):
                    position, wait = entries[-1].header.record, FOLLOW_AGAIN[0]
                    self.notify(entries)
            except StoreError as error:
                log.warning("what other processes write cannot be read and is tried again in %g s: %s", wait, error.text)
            await self._clock.sleep(wait)
            wait = min(2 * wait, longest)

    def _changes(self, after: int | None) -> AsyncIterator[Any]:
        return self._store.changes(after)

    async def _row(self, session: str) -> SessionRow:
        row = await self._store.session(session)
        if row is None:
            raise SessionNotFound(f"there is no session {session}", hint="neuralclaw sessions list")
        return row


def title(text: str) -> str:
    """A session's title: the first line of its first message, at most 60 characters."""
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"
