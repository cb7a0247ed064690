"""`Agent`: the Python API, and what every command line, chat and page stands on."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal

import anyio
import msgspec
from anyio.abc import TaskGroup

from .. import config
from ..config import process
from ..errors import AgentError, SessionBusy, TurnSetAside
from ..ports import Provider
from ..runtime.asker import JournalAsker
from ..runtime.bus import Bus
from ..runtime.desk import SessionDesk, Verb
from ..runtime.sessions import Kit, Sessions, Wish
from ..runtime.verbs import find_session
from ..types.actions import AnswerDecision, Origin, Question, Shown, Who
from ..types.entries import Event
from ..types.events import ApprovalRequested, Inbound, TurnFinished
from ..types.ids import new_id
from ..types.judging import Trust
from ..types.messages import Image
from ..types.options import ApprovalsMode, TurnOptions
from .eventlog import EventLog, Leaving
from .given import load_settings, new_session, real_directory
from .parts import Parts
from .pictures import Given, mentioned, pictures
from .stream import TurnFilter
from .verbs import agent_verbs

LEAVE_SECONDS = 3.0
"""How long leaving a turn early may wait for its end to be recorded."""


class Call(msgspec.Struct, frozen=True):
    """The call an approver is asked about."""

    name: str
    arguments: dict[str, Any]


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What an approver gets: the call, what it would do exactly, why it is asked, and where its content came from."""

    session: str
    call: Call
    action: Shown
    reasons: tuple[str, ...]
    sources: tuple[str, ...]
    question: Question


Approver = Callable[[Ask], Awaitable[AnswerDecision]]


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """For whom this agent works: what its turns run under unless they say otherwise."""

    workspace: str
    model: str | None
    approvals: ApprovalsMode
    trust: Trust
    who: Who
    present: bool
    explicit: bool
    """The approvals mode was asked for, not a default."""


class Agent:
    """An agent over one home. Made by `Agent.open`, an async context manager."""

    def __init__(self, parts: Parts, seat: Seat, desk: SessionDesk, bus: Bus, asker: JournalAsker, sessions: Sessions) -> None:
        self._parts, self._seat, self.desk, self._bus, self._asker, self._sessions = parts, seat, desk, bus, asker, sessions
        self.settings = parts.loaded

    @staticmethod
    @asynccontextmanager
    async def open(
        *,
        home: str | os.PathLike[str] | None = None,
        workspace: str | os.PathLike[str] | None = None,
        model: str | None = None,
        approvals: ApprovalsMode | None = None,
        trust: Literal["low", "medium", "high"] | None = None,
        recover: bool = False,
        provider: Provider | None = None,
        tools: Iterable[Any] = (),
        approver: Approver | None = None,
        settings: config.Settings | Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        who: Who = "program",
        present: bool = False,
    ) -> AsyncIterator["Agent"]:
        """Open the home and everything a turn needs; close it all on leaving.

        `home`, `workspace` (else the current directory): directories. `model`: `provider:model`, or a provider. `settings`: a `Settings`
        value in place of all configuration, or values above it by key. `recover`: take over every unfinished turn of the home.
        Raises `ConfigError` for what is configured wrongly and `StoreError` for a home that cannot be used.
        """
        loaded = load_settings(home, process.environ if environ is None else environ, settings)
        parts = await Parts.open(loaded, provider=provider, tools=tools)
        try:
            seat = Seat(
                workspace=real_directory(workspace),
                model=model,
                approvals=approvals or ("ask" if approver else "none"),
                trust=Trust(trust or loaded.settings.agent.default_trust_level),
                who=who,
                present=present or approver is not None,
                explicit=approvals is not None or approver is not None,
            )
            with Leaving(parts.book, parts.redactor.redact):
                async with anyio.create_task_group() as tasks:
                    agent = assemble(parts, seat, tasks, approver)
                    tasks.start_soon(agent.desk.follow)
                    if recover:
                        await agent.take_over()
                    try:
                        yield agent
                    finally:
                        agent.closing()
                    tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            raise leaf(group) from None
        finally:
            with anyio.CancelScope(shield=True):
                await parts.aclose()

    @asynccontextmanager
    async def turn(
        self, text: str, *, session: str | None = None, key: str | None = None, images: Iterable[Given] = (), **options: Any
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """One turn with this message; its events until it ends or parks. Leaving early cancels it.

        `images`: pictures that belong to it, as paths, bytes or `Image` values (PNG, JPEG, GIF or WebP, at most 5 MB each).

        `options`: `model`, `trust`, `approvals`, `max_iterations`, `timeout` (seconds) in place of the agent's own. A second turn of a
        session that is busy in this process waits for the first; one that is busy elsewhere raises `SessionBusy`.
        """
        session = new_session(session)
        inbound = self._inbound(text, self._options(**options), queued=self._sessions.driving(session), key=key, images=images)
        async with self._sent(session, inbound) as events:
            yield events

    @asynccontextmanager
    async def resume(
        self, session: str, *, text: str | None = None, images: Iterable[Given] = (), retry: bool = False, **options: Any
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """Finish the session's unfinished, or parked and answered, turn; then, with `text`, run that as the next one.

        With nothing unfinished and no text, the stream is the last turn's end again. `options` as in `turn`.
        """
        store = self._parts.store
        row = await find_session(store, session)
        if text is not None:
            queued = row.state in ("unfinished", "set_aside") or self._sessions.driving(row.session)
            async with self._sent(row.session, self._inbound(text, self._options(**options), queued=queued, images=images), retry=retry) as events:
                yield events
            return
        ends = await store.read(row.session, from_turn=row.last_turn, kinds=("turn.finished",)) if row.last_turn else []
        ended = bool(ends) and not waits(ends[-1].body)
        if ended and row.state == "idle":
            async with self._followed(row.session, TurnFilter(number=row.last_turn), after=ends[-1].entry - 1) as events:
                yield events
            return
        number = row.last_turn + 1 if ended or not row.last_turn else row.last_turn
        waiting = await self._open_questions(row.session)
        wanted = TurnFilter(number=number, after=row.entries, waiting=waiting)
        async with self._followed(row.session, wanted, after=min([row.entries + 1, *waiting]) - 1) as events:
            await self.desk.resume(row.session, self._wish(retry=retry, **options))
            yield events

    @asynccontextmanager
    async def recover(self) -> AsyncIterator[AsyncIterator[Event]]:
        """Finish every unfinished turn of the home, one session after the other; their events. What runs elsewhere is left."""
        yield self._recovered()

    async def _recovered(self) -> AsyncIterator[Event]:
        seq = 0
        for row in await self._parts.store.sessions(unfinished=True):
            again = True
            while again:  # messages that wait behind the unfinished turn have turns of their own
                try:
                    async with self.resume(row.session) as events:
                        async for event in events:
                            seq += 1
                            yield msgspec.structs.replace(event, seq=seq)
                except (SessionBusy, TurnSetAside):
                    break
                again = (await find_session(self._parts.store, row.session)).state in ("unfinished", "running")

    async def ask(self, text: str, *, session: str | None = None, **options: Any) -> TurnFinished:
        """Run a turn and return its end: `text`, `data`, `usage`, `status`."""
        async with self.turn(text, session=session, **options) as events:
            async for event in events:
                if isinstance(event.body, TurnFinished):
                    return event.body
        raise AgentError("the turn ended without a result; what was recorded is kept")

    async def steer(self, text: str, *, session: str, images: Iterable[Given] = ()) -> int:
        """Say something to a session whose turn runs, here or elsewhere; it is seen before the next model call."""
        return await self.desk.steer(session, text, by=self._seat.who, images=pictures(images))

    @property
    def trust(self) -> str:
        """The trust level of turns that ask for no other."""
        return str(self._seat.trust)

    def pictures_in(self, text: str) -> tuple[Image, ...]:
        """The pictures that a message names as `@path`, relative to the workspace."""
        return mentioned(text, self._seat.workspace)

    async def cancel(self, session: str) -> None:
        """Stop the session's turn, wherever it runs."""
        await self.desk.cancel(session, by=self._seat.who)

    async def answer(self, approval_id: str, decision: str, value: Mapping[str, Any] | None = None) -> None:
        """Answer a question of any session. Raises `UnknownQuestion` or `AlreadyAnswered`."""
        await self.desk.answer(approval_id, decision, by=self._seat.who, value=value)

    @property
    def notices(self) -> tuple[str, ...]:
        """What the person should know before the first turn: about the settings, the workspace, and who says yes."""
        told = list(self.settings.notices)
        if self._parts.book.problem:
            told.append(self._parts.book.problem)
        workspace = self._seat.workspace
        if workspace in self._parts.policy.protected_paths:
            told.append(f"The workspace {workspace} is more than one task should write to: it is read-only. Name another with --workspace DIR.")
        if self._seat.approvals == "auto":
            told.append("Approvals: auto. What asks for risk up to HIGH, its tier up to execute, or a program off the list runs without asking in this run.")
        return tuple(told)

    async def leave(self, session: str) -> None:
        """Nobody is there any more for this session: its open questions are answered no, by nobody."""
        await self._asker.leave(session)

    async def do(self, verb: str, /, **arguments: Any) -> Any:
        """Run a command by its name: `await agent.do("sessions.list")`."""
        return await self.desk.do(verb, **arguments)

    def _inbound(self, text: str, options: TurnOptions, *, queued: bool, key: str | None = None, images: Iterable[Given] = ()) -> Inbound:
        return Inbound(text=text, key=key or new_id(16), by=self._seat.who, queued=queued, images=pictures(images), options=options)

    @asynccontextmanager
    async def _sent(self, session: str, inbound: Inbound, *, retry: bool = False) -> AsyncIterator[AsyncIterator[Event]]:
        """Send a message and follow the turn it starts or steers."""
        options, queued = inbound.options, inbound.queued
        assert options is not None, "a message that may begin a turn says what the turn runs under"
        await self._parts.models.thinking(options.model)
        wish = Wish(approvals=options.approvals, present=options.origin.present, retry=retry)
        entry, turn = await self.desk.send(session, inbound, wish=wish)
        waiting = await self._open_questions(session) if queued or turn is not None else ()
        wanted = TurnFilter(inbound=entry, number=turn, after=entry - 1, waiting=waiting)
        async with self._followed(session, wanted, after=min([entry, *waiting]) - 1) as events:
            yield events

    async def _open_questions(self, session: str) -> set[int]:
        """The entry numbers of the questions of this session that nobody has answered."""
        store = self._parts.store
        asked = {q.question.approval_id: q.turn for q in await store.questions(session=session)}
        entries = await store.read(session, from_turn=min(asked.values()), kinds=("approval.requested",)) if asked else []
        return {e.entry for e in entries if isinstance(e.body, ApprovalRequested) and e.body.approval_id in asked}

    @asynccontextmanager
    async def _followed(self, session: str, wanted: TurnFilter, *, after: int) -> AsyncIterator[AsyncIterator[Event]]:
        """The events that `wanted` lets through, until its turn ends; leaving before that cancels the turn."""
        async with self._bus.subscribe(session, after=after, wanted=wanted) as events:
            try:
                yield until_end(events)
            finally:
                if wanted.finished is None and self._sessions.driving(session):
                    with anyio.move_on_after(LEAVE_SECONDS, shield=True):
                        await self.desk.cancel(session, by=self._seat.who)
                        await self._sessions.idle(session)

    def _options(
        self,
        *,
        model: str | None = None,
        trust: str | None = None,
        approvals: ApprovalsMode | None = None,
        max_iterations: int | None = None,
        timeout: float | None = None,
    ) -> TurnOptions:
        """The options of a turn: the seat's, with what this call says."""
        seat, limits = self._seat, config.limits(self.settings.settings)
        if max_iterations is not None:
            limits = msgspec.structs.replace(limits, iterations=max_iterations)
        if timeout is not None:
            limits = msgspec.structs.replace(limits, seconds=timeout)
        return TurnOptions(
            model=self._parts.models.full_name(model or seat.model),
            workspace=seat.workspace,
            trust=Trust(trust) if trust else seat.trust,
            approvals=approvals or seat.approvals,
            limits=limits,
            origin=Origin(who=seat.who, present=seat.present),
        )

    def _wish(self, *, retry: bool, approvals: ApprovalsMode | None = None, timeout: float | None = None, **others: Any) -> Wish:
        """What this process wants of a turn that another one began."""
        present = self._seat.present
        chosen = approvals or (self._seat.approvals if present or self._seat.explicit else None)
        return Wish(approvals=chosen, present=present, retry=retry, seconds=timeout)

    def closing(self) -> None:
        """The program ends: turns that nobody cancelled stay unfinished."""
        self._sessions.closing = True

    async def take_over(self) -> None:
        """Start every unfinished turn of the home in the background."""
        for row in await self._parts.store.sessions(unfinished=True):
            with suppress(SessionBusy):
                await self.desk.resume(row.session, self._wish(retry=False))


def assemble(parts: Parts, seat: Seat, tasks: TaskGroup, approver: Approver | None) -> Agent:
    """The runtime over the parts: bus, asker, sessions and desk, and the agent that a program holds."""
    bus = Bus(parts.store, parts.clock)
    asker = JournalAsker(parts.store, lambda entries: desk.notify(entries), approver=asked(approver) if approver else None)
    kit = Kit(
        store=parts.store,
        clock=parts.clock,
        gate=parts.gate,
        tools=parts.tools,
        asker=asker,
        bus=bus,
        thinking=parts.models.thinking,
        system=parts.system,
        digests=parts.digests,
        environment=parts.environment,
        redaction=parts.redactor,
    )
    sessions = Sessions(kit, tasks, max_sessions=parts.loaded.settings.agent.max_sessions)
    bus.listen(EventLog(parts.book, sessions.driving).entries)
    verbs: dict[str, Verb] = {}
    desk = SessionDesk(parts.store, parts.clock, bus, sessions, asker, verbs)
    agent = Agent(parts, seat, desk, bus, asker, sessions)
    verbs.update(agent_verbs(parts, desk, agent.turn, seat.workspace, seat.trust))
    return agent


def asked(approver: Approver) -> Callable[[str, Question], Awaitable[AnswerDecision]]:
    """The approver of the Python API as the asker calls it."""

    async def ask(session: str, question: Question) -> AnswerDecision:
        call = Call(question.action.tool, question.arguments)
        return await approver(Ask(session=session, call=call, action=question.action, reasons=question.reasons, sources=question.sources, question=question))

    return ask


async def until_end(events: AsyncIterator[Event]) -> AsyncIterator[Event]:
    """The events up to and with the turn's end."""
    async for event in events:
        yield event
        if isinstance(event.body, TurnFinished):
            return


def waits(body: object) -> bool:
    return isinstance(body, TurnFinished) and bool(body.waiting)


def leaf(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error inside a group of one, however deep; the group itself when it holds several."""
    inner: BaseException = group
    while isinstance(inner, BaseExceptionGroup) and len(inner.exceptions) == 1:
        inner = inner.exceptions[0]
    return inner
