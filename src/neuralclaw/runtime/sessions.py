"""Sessions of this process: one turn at a time per session, under its lease, one cancel scope per run.

`Sessions.start` brings a session's unfinished turn and its waiting messages to their end in the background; whoever wants to see it
subscribes to the bus.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import anyio
import msgspec
from anyio.abc import TaskGroup

from ..agent.context import Conversation
from ..agent.limits import RunningTime
from ..agent.loop import run_turn
from ..agent.redaction import NO_REDACTION, Searched, redacted
from ..agent.run import Journal, Run
from ..agent.state import TurnState
from ..errors import AgentError, NeuralClawError, SessionBusy, TurnSetAside
from ..ports import Asker, Clock, Gate, Provider, Redaction, Store, Toolset
from ..types.entries import Draft, Entry
from ..types.events import ApprovalResolved, Cancel, ErrorEvent, Inbound, ReasoningDelta, TextDelta, TurnStarted
from ..types.logcontext import about
from ..types.options import ApprovalsMode, TurnOptions
from ..types.rows import Lease
from .asker import expired
from .bus import Bus

log = logging.getLogger(__name__)

Said = TypeVar("Said", Inbound, ApprovalResolved)

DELTAS = (TextDelta, ReasoningDelta)
"""What has gone through redaction as one text when it is shown."""

STARTS_WITHOUT_PROGRESS = 3
"""A turn that so many starts in a row left without a new entry is set aside (INTERFACE.md, who finishes what)."""


class Thinking(msgspec.Struct, frozen=True, kw_only=True):
    """The model a turn thinks with, and how it is asked."""

    provider: Provider
    model: str
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    timeout: float = 120.0


class Kit(msgspec.Struct, frozen=True, kw_only=True):
    """What turns of this process are built from. `thinking` finds the model of a `P:M`; `system` makes the prompt for a workspace."""

    store: Store
    clock: Clock
    gate: Gate
    tools: Toolset
    asker: Asker
    bus: Bus
    thinking: Callable[[str], Awaitable[Thinking]]
    system: Callable[[str], str]
    digests: Callable[[], dict[str, str]]
    environment: Callable[[str], Awaitable[str]] | None = None
    """Describes the machine and a workspace for the model; None: switched off."""
    redaction: Redaction = NO_REDACTION


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What the starter of a run wants of it: an approvals mode in place of the recorded one, presence, one more try of a turn set aside."""

    approvals: ApprovalsMode | None = None
    present: bool | None = None
    retry: bool = False
    seconds: float | None = None


class Drive:
    """One session being driven by this process."""

    def __init__(self, session: str, lease: Lease, wish: Wish) -> None:
        self.session, self.lease, self.wish = session, lease, wish
        self.scope = anyio.CancelScope()
        self.done = anyio.Event()
        self.again = False
        self.ending = False
        self.journal: Journal | None = None


class Sessions:
    """The sessions this process drives."""

    def __init__(self, kit: Kit, tasks: TaskGroup, *, max_sessions: int) -> None:
        self._kit, self._tasks = kit, tasks
        self._searched = Searched(kit.redaction)
        self._drives: dict[str, Drive] = {}
        self._claims: dict[str, anyio.Event] = {}  # leases of this process that no drive has yet
        self._slots = anyio.CapacityLimiter(max_sessions)
        self.closing = False
        """The program ends: turns that run are left unfinished, none is begun."""

    def driving(self, session: str) -> bool:
        """Whether a turn of this session runs here, or the next one is about to."""
        drive = self._drives.get(session)
        return drive is not None and not drive.ending

    async def settled(self, session: str) -> None:
        """Returns when no drive of this session is just giving its lease back."""
        drive = self._drives.get(session)
        if drive is not None and drive.ending:
            await drive.done.wait()

    async def claim(self, session: str) -> Lease | None:
        """The lease of a session, to be handed to `start` or `give_back`; None when this process drives the session already.

        Raises `SessionBusy` when its turn runs elsewhere.
        """
        while True:
            drive = self._drives.get(session)
            if drive is not None and not drive.ending:
                return None
            if drive is not None:
                await drive.done.wait()
            elif session in self._claims:
                await self._claims[session].wait()
            else:
                return await self._take(session)

    async def _take(self, session: str) -> Lease:
        self._claims[session] = anyio.Event()
        lease = None
        try:
            lease = await self._kit.store.acquire(lease_name(session))
            if lease is None:
                holder = await self._kit.store.holder(lease_name(session))
                raise SessionBusy(
                    f"the session {session} is busy: its turn runs in {holder or 'another process'}",
                    hint="wait for it, answer or cancel it from here, or use another --session",
                )
        finally:
            if lease is None:
                self._unclaim(session)
        return lease

    def _unclaim(self, session: str) -> None:
        claim = self._claims.pop(session, None)
        if claim is not None:
            claim.set()

    async def give_back(self, session: str, lease: Lease) -> None:
        with anyio.CancelScope(shield=True):
            await self._kit.store.release(lease)
        self._unclaim(session)

    def start(self, session: str, lease: Lease, wish: Wish) -> None:
        """Drive the session in the background until nothing is left to do, then give the lease back."""
        drive = Drive(session, lease, wish)
        self._drives[session] = drive
        self._unclaim(session)
        self._tasks.start_soon(self._drive, drive)

    async def wake(self, session: str, wish: Wish) -> None:
        """See to it that what waits in the session is taken up, by this process or by the one that holds it."""
        lease = await self.claim(session)
        if lease is not None:
            self.start(session, lease, wish)
        else:
            self._drives[session].again = True

    def clean(self, said: Said) -> Said:
        """What somebody said, without the secrets that stand in it."""
        return redacted(said, self._kit.redaction)

    def cancel(self, session: str) -> None:
        """Stop the run of this session, if this process has one."""
        drive = self._drives.get(session)
        if drive is not None:
            drive.scope.cancel()

    async def idle(self, session: str) -> None:
        """Returns when this process does not drive the session."""
        while (drive := self._drives.get(session)) is not None:
            await drive.done.wait()

    def notice(self, entries: Sequence[Entry]) -> None:
        """Entries that other processes wrote: a cancel stops the run, a message or an answer is taken up."""
        for entry in entries:
            drive = self._drives.get(entry.header.session)
            if drive is None or (drive.journal is not None and entry.entry <= drive.journal.state.last_entry):
                continue
            if isinstance(entry.body, Cancel):
                drive.scope.cancel()
            elif isinstance(entry.body, Inbound | ApprovalResolved):
                drive.again = True

    async def _drive(self, drive: Drive) -> None:
        """The guard of a drive: whatever ends it reaches those who follow the session, never other sessions, and the lease is given back."""
        failure: Exception | None = None
        try:
            with about(session=drive.session):
                async with self._slots:
                    await self._work(drive)
        except NeuralClawError as error:
            failure = error
        except Exception as error:
            log.error("the turn of session %s stopped on a defect of the program (%s) and can be resumed", drive.session, type(error).__name__, exc_info=True)
            failure = error
        finally:
            drive.ending = True
            await self.give_back(drive.session, drive.lease)
            del self._drives[drive.session]
            drive.done.set()
        if failure is not None:
            self._kit.bus.fail(drive.session, failure)
        elif drive.again:
            await self._wake_again(drive.session)

    async def _wake_again(self, session: str) -> None:
        """Something came in while the lease was given back; who holds the session now has seen it too."""
        with suppress(SessionBusy):
            await self.wake(session, Wish())

    async def _work(self, drive: Drive) -> None:
        journal = drive.journal = await self._load(drive)
        while await self._next(drive, journal):
            await self._run(drive, journal)
            if journal.state.finished is None and not drive.again:
                return  # parked: what waits, waits for the answer too
            if not drive.again and not journal.state.inbox.waiting:
                return
            drive.again = False
            await journal.sync()

    async def _load(self, drive: Drive) -> Journal:
        """The session's last turn and its history, as far as the window of turns reaches."""
        store, session = self._kit.store, drive.session
        row = await store.session(session)
        last = row.last_turn if row else 0
        newest = await store.read(session, from_turn=last) if last else []
        started = next((e.body for e in newest if isinstance(e.body, TurnStarted)), None)
        window = started.options.limits.window_turns if started else 0
        entries = await store.read(session, from_turn=max(1, last - window)) if last else []
        waiting = await store.read(session, after=started.inbound if started else 0, kinds=("inbound",))
        known = {e.entry: e for e in (*waiting, *entries)}
        journal = Journal(store, drive.lease, session, self._kit.bus.publish, self._searched)
        ordered = self._searched.entries([known[n] for n in sorted(known)])
        state = TurnState.fold(last, ordered)
        state.resumed = True
        journal.begin(state, Conversation.of(ordered))
        return journal

    async def _next(self, drive: Drive, journal: Journal) -> bool:
        """Make the next turn the journal's current one: the unfinished one, else the oldest waiting message's. False: nothing to do."""
        state = journal.state
        if state.started is not None and state.finished is None:
            await self._start_again(drive, journal)
            return True
        if not state.inbox.waiting or self.closing:
            return False
        number, inbound = state.inbox.waiting[0]
        options = inbound.options or (state.started.options if state.started else None)
        if options is None:
            raise AgentError(f"message {number} of session {drive.session} says neither which model nor which workspace to use")
        journal.begin(TurnState(state.number + 1, after=state), journal.conversation)
        await journal.append(
            TurnStarted(
                text=inbound.text,
                images=inbound.images,
                model=options.model,
                soul=options.soul,
                origin=options.origin.who,
                options=options,
                inbound=number,
                digests=self._kit.digests(),
            )
        )
        return True

    async def _start_again(self, drive: Drive, journal: Journal) -> None:
        """Count one more start of an unfinished turn, and answer questions that expired. Raises `TurnSetAside`."""
        store, state = self._kit.store, journal.state
        starts = await store.start_turn(drive.lease, drive.session, state.number)
        if starts > STARTS_WITHOUT_PROGRESS and not drive.wish.retry:
            text = f"turn {state.number} of session {drive.session} made no progress in {STARTS_WITHOUT_PROGRESS} starts and was set aside"
            await store.set_aside(drive.session, True)
            error = TurnSetAside(text, hint=f"neuralclaw run --resume {drive.session} --retry")
            self._kit.bus.publish(await store.append(drive.session, [Draft(0, ErrorEvent(kind=error.kind, text=error.text, hint=error.hint))]))
            raise error
        if drive.wish.retry:
            await store.set_aside(drive.session, False)
        for question in state.open_questions():
            if expired(question, self._kit.clock.now()):
                await journal.append(ApprovalResolved(approval_id=question.approval_id, decision="no", by="expired"))

    async def _run(self, drive: Drive, journal: Journal) -> None:
        """One run of the journal's current turn."""
        run = await self._build(drive, journal)
        journal.state.resumed = True
        with about(turn=journal.state.number), drive.scope:
            await run_turn(run)
        drive.scope, drive.wish = anyio.CancelScope(), Wish()

    async def _build(self, drive: Drive, journal: Journal) -> Run:
        kit, state = self._kit, journal.state
        options = with_wish(state.options, drive.wish, resumed=state.resumed)
        thinking = await kit.thinking(options.model)
        return Run(
            session=drive.session,
            options=options,
            provider=thinking.provider,
            model=thinking.model,
            tools=kit.tools,
            gate=kit.gate,
            asker=kit.asker,
            clock=kit.clock,
            journal=journal,
            store=kit.store,
            show=lambda body: kit.bus.show(drive.session, state.number, body if isinstance(body, DELTAS) else redacted(body, kit.redaction)),
            time=RunningTime(kit.clock, state.ran_ms, options.limits.seconds),
            system=kit.system(options.workspace),
            temperature=thinking.temperature,
            top_p=thinking.top_p,
            max_tokens=thinking.max_tokens,
            model_timeout=thinking.timeout,
            redaction=kit.redaction,
            closing=lambda: self.closing,
            environment=kit.environment if thinking.provider.info(thinking.model).language else None,
        )


def lease_name(session: str) -> str:
    return f"session:{session}"


def with_wish(options: TurnOptions, wish: Wish, *, resumed: bool) -> TurnOptions:
    """The recorded options with what this run may change. Nobody is present at a resumed turn unless the wish says so."""
    origin, limits, approvals = options.origin, options.limits, wish.approvals or options.approvals
    if resumed:
        origin = msgspec.structs.replace(origin, present=bool(wish.present))
        if wish.approvals is None and approvals == "ask" and not wish.present:
            approvals = "none"
    if wish.seconds is not None:
        limits = msgspec.structs.replace(limits, seconds=wish.seconds)
    return msgspec.structs.replace(options, approvals=approvals, origin=origin, limits=limits)
