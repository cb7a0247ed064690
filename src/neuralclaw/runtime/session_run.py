"""One session driven by this process: its unfinished turn and its waiting messages are brought to their end, one turn after the other."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import anyio
import msgspec

from .. import lookups
from ..agent.circuit_breakers import RunningTime
from ..agent.context import Conversation
from ..agent.equipment import Equipment, StartRecord
from ..agent.inbox import Waiting
from ..agent.journal import Journal
from ..agent.loop import run_turn
from ..agent.redaction import redacted
from ..agent.state import TurnState
from ..agent.toolcalls import stop_calls
from ..agent.turn import Turn, TurnRecord
from ..agent.turn_end import end_cancelled, end_late, ending, record_end, time_limit
from ..errors import AgentError, AlreadyAnswered, StoreError, TurnSetAside
from ..types.entries import CALLS, Draft, Entry
from ..types.events import ApprovalResolved, Cancel, ErrorEvent, ErrorInfo, Inbound, Passing, ReasoningDelta, TextDelta, ToolOutput, Unreadable
from ..types.labels import join
from ..types.logcontext import about
from ..types.options import TurnOptions
from ..types.records import Lease, SetAside, expired
from .message_acceptance import title
from .runtime_ports import RuntimePorts
from .session_history import read_history
from .turn_start import RunStart, address_of, beginning, with_start

T = TypeVar("T")

DELTAS = (TextDelta, ReasoningDelta, ToolOutput)
"""What has gone through redaction as one text when it is shown."""

STARTS_WITHOUT_PROGRESS = 3
"""A turn that so many starts in a row left without a new entry is set aside (INTERFACE.md, who finishes what)."""

WITHDRAWN = 'Cancelled. The message "{}" was withdrawn before its turn began; nothing was run.'
"""The text of a turn whose message, which begins so, was withdrawn."""


class SessionRun:
    """A session that this process drives, under its lease. `arrived`: whether this record of the home was written while this process was there.

    Only cancelling `life` ends it from outside: what is cancelled around it leaves the turn to its end.
    """

    def __init__(self, ports: RuntimePorts, session: str, lease: Lease, start: RunStart, arrived: Callable[[int], bool]) -> None:
        self._ports, self._store = ports, ports.store
        self.session, self.lease, self._start, self._arrived = session, lease, start, arrived
        self.life = anyio.CancelScope(shield=True)
        self.done = anyio.Event()
        self.again = False
        """Something came in that must be looked at before the run ends."""
        self.ending = False
        self._scope = anyio.CancelScope()
        self._journal: Journal | None = None
        self._open_turn = self._loaded = self._newest = 0
        self._pending = False
        self._one_turn = start.options.one_turn
        self.within = start.within

    @property
    def seen(self) -> int | None:
        """The last entry that the run knows of; None where the session could not be read."""
        return self._journal.state.last_entry if self._journal is not None else None

    @property
    def missed(self) -> bool:
        """Whether a message or an answer came in that the run, which failed, had not taken up."""
        return self.seen is not None and self._newest > self.seen

    async def work(self) -> None:
        """Until nothing is left to do, or the turn waits for a person. Raises `NeuralClawError` where a turn cannot go on."""
        journal = self._journal = await self._load()
        if self._pending and not self._open_turn and not journal.state.inbox:
            raise StoreError(
                f"a message that waits in session {self.session} cannot be read; nothing was run for it", hint=f"neuralclaw sessions show {self.session}"
            )
        while await self._advance(journal):
            await self._catch_up(journal)
            state = journal.state
            if self._one_turn and not self._ports.bus.awaited(self.session):
                return
            if state.parked or (state.finished is not None and not state.inbox):
                return  # what waits behind a parked turn waits for the answer too

    def notice(self, entry: Entry) -> None:
        """An entry that was written outside the run: a cancel stops the turn, or the making of its equipment; a message or an answer is taken up."""
        state = self._journal.state if self._journal is not None else None
        new = state is None or entry.entry > state.last_entry
        if isinstance(entry.body, Cancel):
            self.again = self.again or new
            if state is not None and state.means(entry):
                self._scope.cancel()
        elif isinstance(entry.body, Inbound | ApprovalResolved) and new:
            self.again, self._newest = True, max(self._newest, entry.entry)

    async def _load(self) -> Journal:
        """The session's last turn, and its history from where the last compaction begins it."""
        store, session, searched = self._store, self.session, self._ports.searched
        row = await lookups.session(store, session)
        last, self._open_turn = (row.last_turn, row.open_turn) if row else (0, 0)
        self._pending = row is not None and row.pending
        _, entries = await read_history(store, session, last)
        journal = Journal(store, self.lease, session, self._ports.bus.publish, searched)
        ordered = searched.entries(entries)
        state = TurnState.fold(last, ordered)
        journal.begin(state, Conversation.of(ordered), row.labels if row else frozenset())
        self._loaded = state.last_entry
        return journal

    async def _catch_up(self, journal: Journal) -> None:
        """Fold what came in from outside, until nothing does: the journal is up to date until the next wait."""
        while self.again:
            self.again = False
            await journal.sync()

    async def _advance(self, journal: Journal) -> bool:
        """Run the next turn until it ends or parks: the unfinished one, else the oldest waiting message's. False: nothing is left to do."""
        while True:
            await self._catch_up(journal)
            if self._broken(journal.state):
                await self._give_up(journal)
            elif self._abandoned(journal.state):
                await self._end_abandoned(journal)
            elif journal.state.running:
                await self._go_on(journal)
                return True
            await self._close_withdrawn(journal)
            if not journal.state.inbox:
                return False
            if await self._begin(journal, journal.state.inbox.oldest):
                return True

    async def _begin(self, journal: Journal, message: Waiting) -> bool:
        """Begin the message's turn and run it. False: the message was withdrawn before the turn was equipped, and waits for its end."""
        state, number, left = journal.state, journal.state.number + 1, message.entry <= self._loaded and message.entry != self._start.message
        if left:
            await self._count_start(number)
        wanted, resumed = self._start.options_of(message.entry), left and not self._arrived(message.record)
        known = message.body.options or (state.started.options if state.started else None)
        options = known or await self._recorded_options()
        record = self._record(journal, with_start(options, wanted, resumed=resumed), address_of(message.body))

        async def equip() -> tuple[TurnOptions, TurnRecord, Equipment]:
            own, of_run = options, record
            if known is None:
                own = await self._own_options()
                of_run = msgspec.structs.replace(record, options=with_start(own, wanted, resumed=resumed))
            return own, of_run, await self._ports.equip(self.session, number, of_run.options, None)

        made = await self._made(journal, equip, record.time, lambda: message.cancelled_by is not None)
        if made is None and message.cancelled_by is not None:
            return False
        self._next_turn(journal)
        if made is None:
            limit = time_limit(record)
            await record_end(
                record,
                ending(record, "timed_out", limit.text),
                beginning(message, options, StartRecord(), journal),
                limit,
                labels=message.labels,
            )
        else:
            options, record, equipment = made
            start = equipment.start
            await journal.append(beginning(message, options, start, journal), labels=join(message.labels, start.labels), blobs=start.blobs)
            await self._run(record, equipment)
        self._served(message.entry)
        return True

    def _record(self, journal: Journal, options: TurnOptions, outbox: tuple[str, str] | None, *, ran_ms: int = 0) -> TurnRecord:
        """A turn as far as its record goes; its time runs from now on, behind what it has used."""
        return TurnRecord(options=options, journal=journal, time=RunningTime(self._ports.clock, ran_ms, options.limits.seconds), outbox=outbox)

    def _next_turn(self, journal: Journal) -> None:
        """The turn after the one that ended is the journal's current one from now on."""
        journal.begin(TurnState(journal.state.number + 1, after=journal.state), journal.conversation, journal.labels)

    async def _go_on(self, journal: Journal) -> None:
        """One more run of the unfinished turn. One that was cancelled has only to be ended, also where it could not run."""
        state = journal.state
        assert state.started is not None, "it has begun"
        if state.cancelled_by is None:
            await self._count_start(state.number)
            await self._expire_questions(journal)
        options = with_start(state.options, self._start.options_of(state.started.inbound), resumed=True)
        record = self._record(journal, options, await self._reply_to(state.started.inbound), ran_ms=state.ran_ms)

        async def equip() -> Equipment:
            return await self._ports.equip(self.session, state.number, options, state.started)

        equipment = await self._made(journal, equip, record.time, lambda: state.cancelled_by is not None)
        if equipment is not None:
            await self._run(record, equipment)
        elif state.cancelled_by is not None:
            await self._store.append(self.session, [], rows=[SetAside(False)])  # where it had been: to end it needs no more starts
            await end_cancelled(record)
        else:
            await end_late(record)
        self._served(state.started.inbound)

    async def _made(self, journal: Journal, make: Callable[[], Awaitable[T]], time: RunningTime, cancelled: Callable[[], bool]) -> T | None:
        """What `make` gives; None where a cancel came or the turn's time was up before. What was made when a cancel came is given: the turn ends with it."""
        await self._catch_up(journal)
        while not cancelled():
            with time.limited() as late, self._stoppable():
                return await make()
            await self._catch_up(journal)
            if late.cancelled_caught:
                return None
        return None

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        """A cancel of the turn stops what runs inside. Entered without a wait behind `_catch_up`, none is missed."""
        self._scope = anyio.CancelScope()
        with self._scope:
            yield

    async def _run(self, record: TurnRecord, equipment: Equipment) -> None:
        """One run of the journal's current turn."""
        ports, number = self._ports, record.state.number

        def show(body: Passing) -> None:
            ports.bus.show(self.session, number, body if isinstance(body, DELTAS) else redacted(body, equipment.redaction))

        turn = Turn(record=record, session=self.session, equipment=equipment, store=self._store, asker=ports.asker, clock=ports.clock, show=show)
        await self._catch_up(record.journal)
        with about(turn=number), self._stoppable():
            await run_turn(turn)

    def _served(self, inbound: int) -> None:
        """The turn of that message has run: what was wanted of it holds for no later one."""
        if not self._start.bound or inbound == self._start.message:
            self._start = RunStart(message=self._start.message)

    async def _own_options(self) -> TurnOptions:
        """The owner's own options, in the session's workspace."""
        row, options = await lookups.session(self._store, self.session), await self._ports.resolve(self.session, None)
        return msgspec.structs.replace(options, workspace=row.workspace) if row is not None and row.workspace else options

    async def _recorded_options(self) -> TurnOptions:
        """What the session itself has on record, for a turn that ends without having been equipped."""
        row = await lookups.session(self._store, self.session)
        return TurnOptions(model=row.model if row else "", workspace=row.workspace if row else "")

    async def _close_withdrawn(self, journal: Journal) -> None:
        """Messages that were withdrawn before their turn began: each has its turn, in which nothing happened, whatever has become of model and workspace."""
        while journal.state.inbox and journal.state.inbox.oldest.cancelled_by is not None:
            state, message = journal.state, journal.state.inbox.oldest
            options = message.body.options or (state.started.options if state.started else await self._recorded_options())
            record = self._record(journal, options, address_of(message.body))
            self._next_turn(journal)
            await self._store.append(self.session, [], rows=[SetAside(False)])
            await record_end(
                record,
                ending(record, "cancelled", WITHDRAWN.format(title(message.body.text))),
                beginning(message, options, StartRecord(), journal),
                labels=message.labels,
            )

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
        await self._end_failed(journal, ErrorEvent(kind=StoreError.__name__, text=text))

    def _abandoned(self, state: TurnState) -> bool:
        """Whether the open turn is a single call whose caller is gone, and another call waits behind it. That session goes on with nothing."""
        return self.session == CALLS and self._open_turn == state.number > 0 and state.running and state.cancelled_by is None and bool(state.inbox)

    async def _end_abandoned(self, journal: Journal) -> None:
        """End a single call that its process left unfinished. Nothing of it runs again: it may be what ended the process."""
        await self._store.append(self.session, [], rows=[SetAside(False)])
        text = "the process of this call ended before it did; nothing of it was run again"
        await self._end_failed(journal, ErrorEvent(kind=AgentError.__name__, text=text), calls="its process ended")

    async def _end_failed(self, journal: Journal, error: ErrorEvent, *, calls: str = "") -> None:
        """End the journal's current turn, which an earlier run left, as failed. `calls`: why its open calls end, where they are known."""
        state = journal.state
        options = state.options if state.started is not None else await self._recorded_options()
        lost = state.inbox.lost  # what began it, where its beginning cannot be read
        outbox = await self._reply_to(state.started.inbound) if state.started is not None else address_of(lost) if lost is not None else None
        record = self._record(journal, options, outbox, ran_ms=state.ran_ms)
        if calls:
            await stop_calls(record, calls)
        await record_end(record, ending(record, "failed", "", error=ErrorInfo(error.kind, error.text)), error)
        self._open_turn = 0

    async def _count_start(self, turn: int) -> None:
        """Count one more start of a turn that an earlier run left. Raises `TurnSetAside`."""
        store, retry = self._store, self._start.options.retry
        starts = await lookups.start_turn(store, self.lease, self.session, turn)
        if starts > STARTS_WITHOUT_PROGRESS and not retry:
            text = f"turn {turn} of session {self.session} made no progress in {STARTS_WITHOUT_PROGRESS} starts and was set aside"
            await store.append(self.session, [], rows=[SetAside(True)])
            error = TurnSetAside(text, hint=f"neuralclaw run --resume {self.session} --retry")
            self._ports.bus.publish(await store.append(self.session, [Draft(0, ErrorEvent(kind=error.kind, text=error.text, hint=error.hint))]))
            raise error
        if retry:
            await store.append(self.session, [], rows=[SetAside(False)])

    async def _expire_questions(self, journal: Journal) -> None:
        """Answer the turn's questions whose time is over."""
        for question in journal.state.open_questions():
            if expired(question, self._ports.clock.now()):
                with suppress(AlreadyAnswered):
                    await journal.append(ApprovalResolved(approval_id=question.approval_id, decision="no", by="expired"))
        await journal.sync()

    async def _reply_to(self, inbound: int) -> tuple[str, str] | None:
        """Channel and address that the message of that entry wants its answer at."""
        found = await self._store.read(self.session, after=inbound - 1, kinds=("inbound",))
        return next((address_of(e.body) for e in found if e.entry == inbound and isinstance(e.body, Inbound)), None)
