"""One session driven by this process: its unfinished turn and its waiting messages are brought to their end, one turn after the other."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import anyio
import msgspec

from ..agent.circuit_breakers import RunningTime
from ..agent.context import KINDS, Conversation, first_turn
from ..agent.inbox import Waiting
from ..agent.journal import Journal
from ..agent.loop import run_turn
from ..agent.redaction import NO_REDACTION, Searched, redacted
from ..agent.sources import TurnSource
from ..agent.state import TurnState
from ..agent.turn import Equipment, Turn
from ..errors import AgentError, AlreadyAnswered, NeuralClawError, StoreError, TurnSetAside
from ..ports import Asker, Clock, Gate, Provider, Redaction, Source, Store, Toolset
from ..types.entries import Draft, Entry
from ..types.events import (
    ApprovalResolved,
    Cancel,
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
from ..types.labels import AGENT, Labels, join
from ..types.logcontext import about
from ..types.options import ApprovalsMode, Limits, TurnOptions
from ..types.records import Lease
from .asker import expired
from .bus import Bus
from .chosen import chosen
from .prompts import Prompts

DELTAS = (TextDelta, ReasoningDelta, ToolOutput)
"""What has gone through redaction as one text when it is shown."""

STARTS_WITHOUT_PROGRESS = 3
"""A turn that so many starts in a row left without a new entry is set aside (INTERFACE.md, who finishes what)."""

WITHDRAWN = "Cancelled. The message was withdrawn before its turn began; nothing was run."
"""The text of a turn whose message was withdrawn."""


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
    sources: Sequence[Source] = ()
    """What a workspace tells the model at the beginning of its turns."""
    redaction: Redaction = NO_REDACTION
    there: Callable[[str, str], None] = lambda workspace, session: None
    """Raises `WorkspaceError` where a workspace (of this session) was deleted: nothing is run for it, and it is not made again."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What the starter of a run wants of it: an approvals mode in place of the recorded one, presence, one more try of a turn set aside."""

    approvals: ApprovalsMode | None = None
    present: bool | None = None
    retry: bool = False
    seconds: float | None = None
    iterations: int | None = None
    one_turn: bool = False
    """Nobody stays to see more than one turn: those that wait behind it are left to who follows them, or recovers the home."""


class Errand(msgspec.Struct, frozen=True):
    """What a drive is for: the session, the lease it is driven under, and what its starter wants."""

    session: str
    lease: Lease
    wish: Wish


class Drive:
    """One session being driven. Only cancelling `life` ends it from outside: what is cancelled around it leaves the turn to its end."""

    def __init__(self, kit: Kit, prompts: Prompts, searched: Searched, errand: Errand) -> None:
        self._kit, self._prompts, self._searched = kit, prompts, searched
        self.session, self.lease, self._wish = errand.session, errand.lease, errand.wish
        self.life = anyio.CancelScope(shield=True)
        self.done = anyio.Event()
        self.again = False
        """Something came in that must be looked at before the drive ends."""
        self.ending = False
        self._scope = anyio.CancelScope()
        self._journal: Journal | None = None
        self._open_turn = 0
        self._pending = False
        self._one_turn = errand.wish.one_turn

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
            if self._one_turn and not self._kit.bus.awaited(self.session):
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
        store, session = self._kit.store, self.session
        row = await store.session(session)
        last, self._open_turn = (row.last_turn, row.open_turn) if row else (0, 0)
        self._pending = row is not None and row.pending
        newest = await store.read(session, from_turn=last) if last else []
        started = next((e.body for e in newest if isinstance(e.body, TurnStarted) and e.turn == last), None)
        window = (started.options.limits if started else Limits()).window_turns
        first = first_turn(last if self._open_turn else last + 1, window)
        older = [e for e in await store.read(session, from_turn=first, kinds=KINDS) if e.turn < last] if first < last else []
        waiting = await store.read(session, after=started.inbound, kinds=("inbound", "cancel")) if started else await store.read(session, kinds=KINDS)
        known = {e.entry: e for e in (*waiting, *older, *newest)}
        journal = Journal(store, self.lease, session, self._kit.bus.publish, self._searched)
        ordered = self._searched.entries([known[n] for n in sorted(known)])
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
        options = self._options(message, state)
        prompt = await self._prompts.now(options.workspace, options.tools, room=await self._room(options.model))
        started = beginning(message, options, self._kit.digests() | prompt.digests, prompt.stored)
        journal.begin(TurnState(state.number + 1, after=state), journal.conversation, journal.labels)
        await journal.append(started, labels=join(message.labels, prompt.labels), blobs=prompt.blobs)
        return True

    def _options(self, message: Waiting, state: TurnState) -> TurnOptions:
        """What the turn of the message runs under: its own options, else those of the turn before."""
        options = message.body.options or (state.started.options if state.started else None)
        if options is None:
            raise AgentError(f"message {message.entry} of session {self.session} says neither which model nor which workspace to use")
        return options

    async def _close_withdrawn(self, journal: Journal) -> None:
        """Messages that were withdrawn before their turn began: each has its turn, in which nothing happened, whatever has become of model and workspace."""
        while journal.state.inbox and journal.state.inbox.oldest.cancelled_by is not None:
            state, message = journal.state, journal.state.inbox.oldest
            started = beginning(message, self._options(message, state), self._kit.digests(), {})
            journal.begin(TurnState(state.number + 1, after=state), journal.conversation, journal.labels)
            end = TurnFinished(status="cancelled", text=WITHDRAWN, model=started.model, usage=journal.state.usage)
            await journal.append(started, end, labels=message.labels)

    async def _room(self, model: str) -> int:
        """How many bytes each source may tell: an eighth of the model's window, at four bytes a token; nothing where it is no language model."""
        try:
            thinking = await self._kit.thinking(model)
        except NeuralClawError:  # the run will say what is wrong with it
            return 0
        info = thinking.provider.info(thinking.model)
        return info.context // 8 * 4 if info.language else 0

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
        store, state = self._kit.store, journal.state
        starts = await store.start_turn(self.lease, self.session, state.number)
        if starts > STARTS_WITHOUT_PROGRESS and not self._wish.retry:
            text = f"turn {state.number} of session {self.session} made no progress in {STARTS_WITHOUT_PROGRESS} starts and was set aside"
            await store.set_aside(self.session, True)
            error = TurnSetAside(text, hint=f"neuralclaw run --resume {self.session} --retry")
            self._kit.bus.publish(await store.append(self.session, [Draft(0, ErrorEvent(kind=error.kind, text=error.text, hint=error.hint))]))
            raise error
        if self._wish.retry:
            await store.set_aside(self.session, False)
        for question in state.open_questions():
            if expired(question, self._kit.clock.now()):
                with suppress(AlreadyAnswered):
                    await journal.append(ApprovalResolved(approval_id=question.approval_id, decision="no", by="expired"))
        await journal.sync()

    async def _run(self, journal: Journal) -> None:
        """One run of the journal's current turn."""
        turn = await self._build(journal)
        journal.state.resumed = True
        with about(turn=journal.state.number), self._scope:
            await run_turn(turn)
        self._scope, self._wish = anyio.CancelScope(), Wish()

    async def _build(self, journal: Journal) -> Turn:
        kit, state = self._kit, journal.state
        options = with_wish(state.options, self._wish, resumed=state.resumed)
        if state.cancelled_by is None:
            kit.there(options.workspace, self.session)
        thinking = await kit.thinking(options.model)
        started = state.started
        prompt = await self._prompts.of_turn(options, started.stored if started else {}, kit.store)

        def show(body: Passing) -> None:
            kit.bus.show(self.session, state.number, body if isinstance(body, DELTAS) else redacted(body, kit.redaction))

        equipment = Equipment(
            provider=thinking.provider,
            model=thinking.model,
            tools=chosen(kit.tools, options.tools),
            gate=kit.gate,
            system=prompt.system,
            definitions=prompt.definitions,
            temperature=thinking.temperature,
            top_p=thinking.top_p,
            max_tokens=thinking.max_tokens,
            timeout=thinking.timeout,
            redaction=kit.redaction,
            before_last=before_last(kit, options.workspace) if thinking.provider.info(thinking.model).language else (),
        )
        return Turn(
            session=self.session,
            options=options,
            equipment=equipment,
            journal=journal,
            store=kit.store,
            asker=kit.asker,
            clock=kit.clock,
            show=show,
            time=RunningTime(kit.clock, state.ran_ms, options.limits.seconds),
        )


def before_last(kit: Kit, workspace: str) -> Sequence[TurnSource]:
    """What a language model is told before its last message in a turn of this workspace."""
    describe = kit.environment
    if describe is None:
        return ()

    async def read() -> Sequence[tuple[str, Labels]]:
        return [(await describe(workspace), AGENT)]

    return (TurnSource(name="environment", read=read),)


def beginning(message: Waiting, options: TurnOptions, digests: dict[str, str], stored: dict[str, str]) -> TurnStarted:
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
        digests=digests,
        stored=stored,
    )


def with_wish(options: TurnOptions, wish: Wish, *, resumed: bool) -> TurnOptions:
    """The recorded options with what this run may change. Nobody is present at a resumed turn unless the wish says so."""
    origin, limits, approvals = options.origin, options.limits, wish.approvals or options.approvals
    if resumed:
        origin = msgspec.structs.replace(origin, present=bool(wish.present))
        if wish.approvals is None and approvals == "ask" and not wish.present:
            approvals = "none"
    if wish.seconds is not None:
        limits = msgspec.structs.replace(limits, seconds=wish.seconds)
    if wish.iterations is not None:
        limits = msgspec.structs.replace(limits, iterations=wish.iterations)
    return msgspec.structs.replace(options, approvals=approvals, origin=origin, limits=limits)
