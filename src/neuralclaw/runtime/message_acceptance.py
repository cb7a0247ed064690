"""Puts on record what is said to a session: a message as a turn of its own, behind a turn, or to the turn that runs; and a cancel."""

from collections.abc import Callable, Sequence

import msgspec

from .. import lookups
from ..agent.redaction import redacted
from ..errors import AlreadyAnswered, StoreError, UsageError
from ..ports import Redaction, Store
from ..types.entries import NEXT, Draft, Entry, detached
from ..types.events import ApprovalResolved, Cancel, Inbound, Message, TurnFinished, TurnStarted
from ..types.labels import AGENT, OWNER, join
from ..types.records import Accepted, DuplicateInbound, NewSession, SessionRow


class Acceptance:
    """Writes messages, without the secrets that stand in them; `notify` is told of what was written. It begins no turn."""

    def __init__(self, store: Store, redaction: Redaction, notify: Callable[[Sequence[Entry]], None]) -> None:
        self._store, self._redaction, self._notify = store, redaction, notify

    async def accept(self, session: str, inbound: Inbound, *, free: bool) -> Accepted:
        """Write a message that is a turn. `free`: no turn of the session runs, and none can begin before this returns.

        A person's message to a parked session withdraws its open questions, and the turn goes on with it; a program's waits for their answers.
        """
        while True:
            row = await lookups.session(self._store, session)
            refuse_others(row, inbound)
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

    async def queue(self, session: str, inbound: Inbound) -> Accepted:
        """Write a message that waits for the end of whatever runs, is parked or waits before it."""
        refuse_others(await lookups.session(self._store, session), inbound)
        try:
            entry = await self._write(session, Draft(NEXT, msgspec.structs.replace(inbound, queued=True)), [])
        except DuplicateInbound as before:
            return await self._accepted_before(session, before)
        row = await self.row(session)
        return Accepted(entry.entry, entry.turn, waits=row.state == "waiting")

    async def repeat_end(self, session: str) -> bool:
        """Write the end of the parked turn once more, for who follows a message that waits behind it from before. False: the session is not parked."""
        row = await self.row(session)
        if row.state != "waiting":
            return False
        self._notify(await self._store.append(session, [Draft(row.open_turn, await self._still_parked(row), join(row.labels, AGENT))]))
        return True

    async def steer(self, session: str, inbound: Inbound) -> tuple[int, bool]:
        """Write a word to the session's turn: its entry, and whether something can be done about it now. Raises `SessionNotFound`."""
        row = await self.row(session)
        refuse_others(row, inbound)
        while True:
            try:
                withdrawn = await self._withdrawn(session) if row.state == "waiting" and inbound.by != "program" else []
                entry = (await self._write(session, Draft(None, inbound), withdrawn)).entry
            except AlreadyAnswered:
                row = await self.row(session)
            except DuplicateInbound as before:
                return before.entry, False
            else:
                return entry, row.state != "waiting" or bool(withdrawn)  # else it waits for the answer

    async def cancel(self, session: str, *, by: str, turn: int | None = None, message: int | None = None) -> None:
        """Write a cancel of this turn, or of the current one, or of the message of that entry. Raises `SessionNotFound`.

        The questions of a parked turn that it stops are withdrawn with it: the turn waits for nobody, and whatever takes the session up ends it.
        """
        while True:
            row = await self.row(session)
            stopped = row.state == "waiting" and (turn in (None, row.open_turn) if message is None else message == await self._began(row))
            withdrawn = await self._withdrawn(session, by="cancelled") if stopped else []
            try:
                self._notify(await self._store.append(session, [Draft(turn, Cancel(by=by, message=message), OWNER), *withdrawn]))
            except AlreadyAnswered:  # somebody answered meanwhile
                continue
            return

    async def row(self, session: str) -> SessionRow:
        """What is known of the session. Raises `SessionNotFound`."""
        return await lookups.existing_session(self._store, session)

    async def _withdrawn(self, session: str, *, by: str = "withdrawn") -> list[Draft]:
        """Answers that withdraw the open questions of the session, `by` a new message or a cancel."""
        questions = await self._store.questions(session=session)
        return [Draft(q.turn, ApprovalResolved(approval_id=q.question.approval_id, decision="no", by=by), OWNER) for q in questions]

    async def _began(self, row: SessionRow) -> int | None:
        """The entry of the message that began the session's open turn; None where that cannot be read."""
        found = await self._store.read(row.session, from_turn=row.open_turn, kinds=("turn.started",))
        return next((entry.body.inbound for entry in found if isinstance(entry.body, TurnStarted)), None)

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
        return Accepted(before.entry, None, before=inbound, waits=(await self.row(session)).state == "waiting")

    async def _write(self, session: str, draft: Draft, more: Sequence[Draft]) -> Entry:
        """Write a message with the bytes of its pictures, and the session it begins, and `more` behind it. Raises `DuplicateInbound` and `AlreadyAnswered`."""
        inbound = draft.body
        assert isinstance(inbound, Inbound), "a message is written"
        inbound = redacted(inbound, self._redaction)
        blobs = tuple(image.data for image in inbound.images if image.data)
        inbound = msgspec.structs.replace(inbound, images=tuple(detached(image) for image in inbound.images))
        labels = join(AGENT, ("private",)) if inbound.by == "agent" else OWNER
        labels = join(labels, inbound.content_labels)
        entries = await self._store.append(session, [Draft(draft.turn, inbound, labels, blobs), *more], rows=new_session(inbound))
        self._notify(entries)
        return entries[0]


def refuse_others(row: SessionRow | None, inbound: Inbound) -> None:
    """Refuse what is said to a session that does the work of a call by anybody but the agent: its messages are not an owner's words. Raises `UsageError`."""
    if row is not None and row.parent and inbound.by != "agent":
        told = f"the session {row.session} did the work of a call of session {row.parent} and is no conversation; nothing was recorded"
        raise UsageError(told, hint=f'neuralclaw run --session {row.parent} "TASK"')


def new_session(inbound: Inbound) -> list[NewSession]:
    """The session that the message begins, if it is the first."""
    options = inbound.options
    if options is None:
        return []
    origin = options.origin
    made = NewSession(origin=origin.who, workspace=options.workspace, title=title(inbound.text), model=options.model, parent=origin.parent, soul=options.soul)
    return [made]


def title(text: str) -> str:
    """A session's title: the first line of its first message, at most 60 characters."""
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:59] + "…"
