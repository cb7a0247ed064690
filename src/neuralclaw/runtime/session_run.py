"""One session driven by this process: its unfinished turn and its waiting messages are brought to their end, one turn after the other."""

from collections.abc import Sequence
from contextlib import suppress

import anyio
import msgspec

from .. import lookups
from ..agent.circuit_breakers import RunningTime
from ..agent.context import KINDS, Conversation, first_turn
from ..agent.equipment import Equipment, StartRecord
from ..agent.inbox import Waiting
from ..agent.journal import Journal
from ..agent.loop import run_turn
from ..agent.redaction import redacted
from ..agent.state import TurnState
from ..agent.turn import Turn
from ..errors import AlreadyAnswered, NeuralClawError, StoreError, TurnSetAside
from ..types.entries import Draft, Entry
from ..types.events import (
    ApprovalResolved,
    Cancel,
    Durable,
    ErrorEvent,
    ErrorInfo,
    Inbound,
    Passing,
    ReasoningDelta,
    TextDelta,
    ToolOutput,
    TurnFinished,
    TurnStarted,
    Unreadable,
)
from ..types.labels import NONE, Labels, join
from ..types.logcontext import about
from ..types.messages import Usage
from ..types.options import Limits, StartOptions, TurnOptions
from ..types.records import Lease, SetAside, expired
from .runtime_ports import RuntimePorts

DELTAS = (TextDelta, ReasoningDelta, ToolOutput)
"""What has gone through redaction as one text when it is shown."""

STARTS_WITHOUT_PROGRESS = 3
"""A turn that so many starts in a row left without a new entry is set aside (INTERFACE.md, who finishes what)."""

WITHDRAWN = "Cancelled. The message was withdrawn before its turn began; nothing was run."
"""The text of a turn whose message was withdrawn."""


class SessionRun:
    """A session that this process drives, under its lease. `message`: the entry of the message whose turn `start` is wanted of; None: the turn that
    runs first.

    Only cancelling `life` ends it from outside: what is cancelled around it leaves the turn to its end.
    """

    def __init__(self, ports: RuntimePorts, session: str, lease: Lease, start: StartOptions, message: int | None = None) -> None:
        self._ports, self._store = ports, ports.store
        self.session, self.lease, self._start, self._start_message = session, lease, start, message
        self.life = anyio.CancelScope(shield=True)
        self.done = anyio.Event()
        self.again = False
        """Something came in that must be looked at before the run ends."""
        self.ending = False
        self._scope = anyio.CancelScope()
        self._journal: Journal | None = None
        self._open_turn = 0
        self._pending = False
        self._one_turn = start.one_turn
        self._equipment: Equipment | None = None
        """What the turn that is about to run was begun with."""
        self._message: Inbound | None = None
        """What began the turn, as far as it is known."""

    async def work(self) -> None:
        """Until nothing is left to do, or the turn waits for a person. Raises `NeuralClawError` where a turn cannot go on."""
        journal = self._journal = await self._load()
        if self._pending and not self._open_turn and not journal.state.inbox:
            raise StoreError(
                f"a message that waits in session {self.session} cannot be read; nothing was run for it", hint=f"neuralclaw sessions show {self.session}"
            )
        while await self._next(journal):
            await self._run(journal)
            if self.again:
                self.again = False
                await journal.sync()
            state = journal.state
            if self._one_turn and not self._ports.bus.awaited(self.session):
                return
            if state.parked or (state.finished is not None and not state.inbox):
                return  # what waits behind a parked turn waits for the answer too

    def notice(self, entry: Entry) -> None:
        """An entry that was written outside the run: a cancel of the turn stops it, a message or an answer is taken up."""
        state = self._journal.state if self._journal is not None else None
        if isinstance(entry.body, Cancel):
            known = state is not None and entry.entry <= state.last_entry
            if state is not None and (state.cancelled_by is not None if known else state.means(entry)):
                self._scope.cancel()
            elif not known:
                self.again = True
        elif isinstance(entry.body, Inbound | ApprovalResolved) and (state is None or entry.entry > state.last_entry):
            self.again = True

    async def _load(self) -> Journal:
        """The session's last turn and its history, as far as the window of turns reaches."""
        store, session, searched = self._store, self.session, self._ports.searched
        row = await lookups.session(store, session)
        last, self._open_turn = (row.last_turn, row.open_turn) if row else (0, 0)
        self._pending = row is not None and row.pending
        newest = await store.read(session, from_turn=last) if last else []
        started = next((e.body for e in newest if isinstance(e.body, TurnStarted) and e.turn == last), None)
        window = (started.options.limits if started else Limits()).window_turns
        first = first_turn(last if self._open_turn else last + 1, window)
        older = [e for e in await store.read(session, from_turn=first, kinds=KINDS) if e.turn < last] if first < last else []
        waiting = await store.read(session, after=started.inbound, kinds=("inbound", "cancel")) if started else await store.read(session, kinds=KINDS)
        known = {e.entry: e for e in (*waiting, *older, *newest)}
        journal = Journal(store, self.lease, session, self._ports.bus.publish, searched)
        ordered = searched.entries([known[n] for n in sorted(known)])
        state = TurnState.fold(last, ordered)
        state.resumed = True
        journal.begin(state, Conversation.of(ordered), row.labels if row else frozenset())
        return journal

    async def _next(self, journal: Journal) -> bool:
        """Make the next turn the journal's current one: the unfinished one, else the oldest waiting message's. False: nothing to do."""
        state = journal.state
        if self._broken(state):
            await self._give_up(journal)
        elif state.running:
            await self._start_again(journal)
            return True
        await self._close_withdrawn(journal)
        state = journal.state
        if not state.inbox:
            return False
        message = state.inbox.oldest
        options = self._known_options(message, state) or await self._own_options()
        try:
            wanted = with_start(options, self._wanted(message.entry), resumed=False)
            equipment = await self._ports.equip(self.session, state.number + 1, wanted, None)
        except NeuralClawError:  # it is on record that the turn began: each further try of it is counted
            await self._begin(journal, message, beginning(message, options, StartRecord()))
            raise
        start = equipment.start
        await self._begin(journal, message, beginning(message, options, start), labels=start.labels, blobs=start.blobs)
        self._equipment, self._message = equipment, message.body
        return True

    async def _begin(self, journal: Journal, message: Waiting, *bodies: Durable, labels: Labels = NONE, blobs: Sequence[bytes] = ()) -> None:
        """Write the beginning of the message's turn, which is the journal's current one from then on."""
        journal.begin(TurnState(journal.state.number + 1, after=journal.state), journal.conversation, journal.labels)
        await journal.append(*bodies, labels=join(message.labels, labels), blobs=blobs)

    def _known_options(self, message: Waiting, state: TurnState) -> TurnOptions | None:
        """What the turn of the message runs under: its own options, else those of the turn before; None where that was erased or cannot be read."""
        return message.body.options or (state.started.options if state.started else None)

    async def _own_options(self) -> TurnOptions:
        """The owner's own options, in the session's workspace."""
        row, options = await lookups.session(self._store, self.session), await self._ports.resolve(self.session, None)
        return msgspec.structs.replace(options, workspace=row.workspace) if row is not None and row.workspace else options

    async def _close_withdrawn(self, journal: Journal) -> None:
        """Messages that were withdrawn before their turn began: each has its turn, in which nothing happened, whatever has become of model and workspace."""
        while journal.state.inbox and journal.state.inbox.oldest.cancelled_by is not None:
            state, message = journal.state, journal.state.inbox.oldest
            options = self._known_options(message, state)
            if options is None:
                row = await lookups.session(self._store, self.session)
                options = TurnOptions(model=row.model if row else "", workspace=row.workspace if row else "")
            started = beginning(message, options, StartRecord())
            end = TurnFinished(status="cancelled", text=WITHDRAWN, model=started.model, usage=Usage(usd=0.0))
            await self._begin(journal, message, started, end)

    def _broken(self, state: TurnState) -> bool:
        """Whether the open turn has entries that were erased or cannot be read: what it did is not known, so nothing of it may run again."""
        return self._open_turn == state.number > 0 and state.finished is None and (state.unreadable is not None or state.started is None)

    async def _give_up(self, journal: Journal) -> None:
        """End a turn that cannot go on, for a message that waits behind it. Raises `StoreError` where none does: then it is left as it is."""
        state, bad = journal.state, journal.state.unreadable
        why = bad.body.text if bad is not None and isinstance(bad.body, Unreadable) else "entries of it were erased"
        text = f"turn {state.number} of session {self.session} cannot go on: {why}; nothing of it was run again"
        if not state.inbox:
            raise StoreError(text, hint=f'a new message ends this turn and goes on: neuralclaw run --session {self.session} "TASK"')
        error = ErrorEvent(kind=StoreError.__name__, text=text)
        end = TurnFinished(status="failed", text="", model=state.model, models=state.models, usage=state.usage, error=ErrorInfo(error.kind, error.text))
        await journal.append(error, end)
        self._open_turn = 0

    async def _start_again(self, journal: Journal) -> None:
        """Count one more start of an unfinished turn, and answer questions that expired. Raises `TurnSetAside`."""
        store, state = self._store, journal.state
        starts = await lookups.start_turn(store, self.lease, self.session, state.number)
        if starts > STARTS_WITHOUT_PROGRESS and not self._start.retry:
            text = f"turn {state.number} of session {self.session} made no progress in {STARTS_WITHOUT_PROGRESS} starts and was set aside"
            await store.append(self.session, [], rows=[SetAside(True)])
            error = TurnSetAside(text, hint=f"neuralclaw run --resume {self.session} --retry")
            self._ports.bus.publish(await store.append(self.session, [Draft(0, ErrorEvent(kind=error.kind, text=error.text, hint=error.hint))]))
            raise error
        if self._start.retry:
            await store.append(self.session, [], rows=[SetAside(False)])
        for question in state.open_questions():
            if expired(question, self._ports.clock.now()):
                with suppress(AlreadyAnswered):
                    await journal.append(ApprovalResolved(approval_id=question.approval_id, decision="no", by="expired"))
        await journal.sync()

    async def _run(self, journal: Journal) -> None:
        """One run of the journal's current turn."""
        turn = await self._build(journal)
        journal.state.resumed = True
        with about(turn=journal.state.number), self._scope:
            await run_turn(turn)
        self._scope = anyio.CancelScope()
        if self._start_message in (None, turn.state.started.inbound if turn.state.started else None):
            self._start = StartOptions()

    def _wanted(self, message: int) -> StartOptions:
        """What the starter wants of the turn that this message begins."""
        return self._start if self._start_message in (None, message) else StartOptions()

    def _wanted_of(self, state: TurnState) -> StartOptions:
        """What the starter wants of the turn that runs. For an older turn a message only shows that its sender is there."""
        if self._start_message is None or (state.started is not None and state.started.inbound == self._start_message):
            return self._start
        return StartOptions(present=self._start.present)

    async def _build(self, journal: Journal) -> Turn:
        ports, state = self._ports, journal.state
        options = with_start(state.options, self._wanted_of(state), resumed=state.resumed)
        number, equipment, self._equipment = state.number, self._equipment, None
        if equipment is None:
            equipment = await ports.equip(self.session, number, options, state.started, ends=state.cancelled_by is not None)
        redaction = equipment.redaction

        def show(body: Passing) -> None:
            ports.bus.show(self.session, number, body if isinstance(body, DELTAS) else redacted(body, redaction))

        return Turn(
            session=self.session,
            options=options,
            equipment=equipment,
            journal=journal,
            store=self._store,
            asker=ports.asker,
            clock=ports.clock,
            show=show,
            time=RunningTime(ports.clock, state.ran_ms, options.limits.seconds),
            outbox=await self._reply_to(state),
        )

    async def _reply_to(self, state: TurnState) -> tuple[str, str] | None:
        """Channel and address that the message which began the turn wants its answer at."""
        message, self._message = self._message, None
        if message is None and state.started is not None:
            entry = state.started.inbound
            found = await self._store.read(self.session, after=entry - 1, kinds=("inbound",))
            message = next((e.body for e in found if e.entry == entry and isinstance(e.body, Inbound)), None)
        return (message.channel, message.reply_to) if message is not None and message.channel and message.reply_to else None


def beginning(message: Waiting, options: TurnOptions, start: StartRecord) -> TurnStarted:
    """The beginning of the turn that the message is for."""
    body = message.body
    return TurnStarted(
        text=body.text,
        images=body.images,
        model=options.model,
        soul=options.soul,
        origin=options.origin.who,
        options=options,
        inbound=message.entry,
        digests=start.digests,
        stored=start.stored,
    )


def with_start(options: TurnOptions, start: StartOptions, *, resumed: bool) -> TurnOptions:
    """The recorded options with what this run may change. Nobody is present at a resumed turn unless the start says so."""
    origin, limits, approvals = options.origin, options.limits, start.approvals or options.approvals
    if resumed:
        origin = msgspec.structs.replace(origin, present=bool(start.present))
        if start.approvals is None and approvals == "ask" and not start.present:
            approvals = "none"
    if start.seconds is not None:
        limits = msgspec.structs.replace(limits, seconds=start.seconds)
    if start.iterations is not None:
        limits = msgspec.structs.replace(limits, iterations=start.iterations)
    return msgspec.structs.replace(options, approvals=approvals, origin=origin, limits=limits)
