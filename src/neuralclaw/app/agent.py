"""`Agent`: the Python API, and what every command line, chat and page stands on."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Unpack, cast

import anyio
import msgspec
from anyio.abc import TaskGroup

from .. import config
from ..config import process_environment
from ..errors import AgentError, SessionBusy, UsageError
from ..ports import Desk
from ..runtime.asker import JournalAsker
from ..runtime.bus import Bus
from ..runtime.desk import SessionDesk, Verb
from ..runtime.drive import Kit, Wish
from ..runtime.record_verbs import find_session
from ..runtime.sessions import Sessions
from ..runtime.turnstream import TurnStream
from ..types.actions import Origin
from ..types.entries import Event
from ..types.events import Inbound, TurnFinished
from ..types.ids import new_id
from ..types.messages import Image
from ..types.options import ApprovalsMode, TurnOptions
from .agent_task import AgentTask
from .approver import Approver, asked
from .capability_context import CapabilityClient
from .eventlog import EventLog, Leaving
from .option_checks import (
    checked_name,
    checked_text,
    continued,
    count,
    known_only,
    load_settings,
    mode_of,
    name_of,
    new_session,
    of_new_turns,
    refusals_of,
    seconds,
    still_there,
    tools_of,
    trust_of,
)
from .option_types import AskOptions, OpeningOptions
from .parts import Parts
from .pictures import Given, mentioned, pictures
from .recovery import recovered
from .sandbox_selection import refuse_unconfined
from .seat import Seat, checked_options, seat_of
from .section_options import opened_with
from .session_verbs import session_verbs
from .tool_call_turns import DIRECT, called, for_call, spelled
from .toolbox import Toolbox
from .turn_verbs import turn_verbs
from .turns import Turns, leaf
from .verb_calls import call_verb
from .verbs import agent_verbs


class Agent:
    """An agent over one home. Made by `Agent.open`, an async context manager, or by `Agent.start`, which `aclose` ends."""

    def __init__(self, parts: Parts, seat: Seat, desk: SessionDesk, bus: Bus, asker: JournalAsker, sessions: Sessions) -> None:
        self._parts, self._seat, self._bus, self._asker, self._sessions = parts, seat, bus, asker, sessions
        self._desk, self._verbs = desk, dict[str, Verb]()
        self.settings = parts.loaded
        self._turns = Turns(parts, desk, bus, sessions, seat.who)
        self._held: AgentTask[Agent] | None = None
        self._closed = False

    @staticmethod
    @asynccontextmanager
    async def open(**given: Unpack[OpeningOptions]) -> AsyncIterator["Agent"]:
        """Open the home and everything a turn needs; close it all on leaving.

        `home`, `workspace` (else the current directory): directories. `model`: `provider:model`, or a provider. `settings`: a `Settings`
        value in place of all configuration, or values above it by key; each section of the settings is an option too (`llm={"max_tokens": 500}`).
        `max_iterations`, `timeout`: limits of its turns. `recover`: take over every unfinished turn of the home. `tools`: your own,
        one of which replaces a built-in of its name; `builtin`: which built-in tools there are (default all, `()` none). `approver`: asked where
        something needs a yes. All are described in `AgentOptions`.
        Raises `UsageError` for an option that cannot be used, `ConfigError` for what is configured wrongly and `StoreError` for a home that
        cannot be used.
        """
        options = opened_with(given)
        checked_options(options)
        environ, approver = options.get("environ"), options.get("approver")
        loaded = load_settings(options.get("home"), process_environment.environ if environ is None else environ, options.get("settings"))
        if options.get("thinks", True):
            config.refuse_caps(loaded)
        toolbox = Toolbox(given=options.get("tools", ()), builtin=options.get("builtin"))
        seat = seat_of(loaded, options)
        parts = await Parts.open(loaded, provider=options.get("provider"), tools=toolbox, readonly=options.get("readonly", False))
        try:
            if options.get("runs", options.get("thinks", True)):
                await refuse_unconfined(loaded, lambda: parts.sandbox.real, kept="nothing was run")
            with Leaving(parts.book, parts.redactor.redact):
                async with anyio.create_task_group() as tasks:
                    agent = assemble(parts, seat, tasks, approver)
                    tasks.start_soon(agent.desk.follow)
                    if options.get("recover"):
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

    @staticmethod
    async def start(**options: Unpack[OpeningOptions]) -> "Agent":
        """The same as `Agent.open`, for where no block can be kept open, as in the cells of a notebook: `await agent.aclose()` ends it.

        An agent that is forgotten is closed when its event loop or the program ends; turns that ran are then unfinished, and can be gone on with.
        """
        held = AgentTask(Agent.open(**options))
        agent = await held.enter()
        agent._held = held
        return agent

    async def aclose(self) -> None:
        """Close the agent, from any task of its event loop. What runs stops and stays unfinished; closed again, it does nothing."""
        if self._held is not None:
            await self._held.leave()
        elif not self._closed:
            raise UsageError("this agent is closed by leaving its `async with Agent.open(…)`", hint="await agent.aclose() ends one made by Agent.start")

    @property
    def desk(self) -> SessionDesk:
        """What can be done with sessions. Raises `AgentError` once the agent is closed, and what ended it where it failed."""
        if self._held is not None:
            self._held.check()
        if self._closed:
            raise AgentError("the agent is closed; what was recorded is kept", hint="open another with Agent.open")
        return self._desk

    @asynccontextmanager
    async def turn(
        self, text: str, *, session: str | None = None, key: str | None = None, images: Iterable[Given] = (), **options: Unpack[AskOptions]
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """One turn with this message; its events until it ends or parks. Leaving early cancels it.

        `images`: pictures that belong to it, as paths, bytes or `Image` values (PNG, JPEG, GIF or WebP, at most 5 MB each).

        `options`: `model`, `trust`, `approvals`, `max_iterations`, `timeout` (seconds) in place of the agent's own; `tools`, the names of those that are
        offered; `refusals` `ignore`: a refused call does not decide the status. While the session is busy in
        this process the message waits, and its turn follows those before it; one that is busy elsewhere raises `SessionBusy`. Raises
        `UsageError` for an option that cannot be used; nothing is recorded then.
        """
        session = new_session(session)
        _ = self.desk
        await self._parts.models.ready(options.get("model") or self._seat.model)
        inbound = self._inbound(text, self._options(**options), key=key, images=images)
        async with self._turns.sent(session, inbound) as events:
            yield events

    @asynccontextmanager
    async def resume(
        self,
        session: str,
        *,
        text: str | None = None,
        key: str | None = None,
        images: Iterable[Given] = (),
        retry: bool = False,
        stay: bool = True,
        **options: Unpack[AskOptions],
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """Finish the session's unfinished, or parked and answered, turn; then, with `text`, run that as the next one, whose events these are.

        With nothing unfinished and no text, the stream is the last turn's end again. `stay` false: the program ends with this turn, so that messages
        that wait behind it are left to who comes next. `options` as in `turn`. Raises `UsageError` for a session
        that has no turn at all, and without `text` for a `model` or `trust`: an unfinished turn keeps its own.
        """
        _ = self.desk
        row = await find_session(self._parts.store, checked_name(session))
        continued(row.session)
        if text is not None:
            await self._parts.models.ready(options.get("model") or self._seat.model)
            chosen = self._options(**options)
            async with self._turns.sent(row.session, self._inbound(text, chosen, key=key, images=images), retry=retry) as events:
                yield events
            return
        if pictures(images):
            raise UsageError("pictures need a text to go with; nothing was recorded")
        async with self._turns.gone_on(row.session, msgspec.structs.replace(self._wish(retry=retry, **options), one_turn=not stay)) as events:
            yield events

    @asynccontextmanager
    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        session: str | None = None,
        waits: Callable[[str], None] = lambda _: None,
        approvals: ApprovalsMode | None = None,
        trust: str | None = None,
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """One call of a tool through the whole pipeline, as a turn; its events. Without `session` it is recorded in the session `tools`, and waits its turn.

        `waits` is told of a longer wait. `approvals`, `trust`: in place of the agent's own.
        The arguments are those of the tool; what does not fit is the result of the call.
        """
        name = new_session(session) if session is not None else None
        inbound = self._inbound(spelled(tool, arguments), for_call(self._options(model=DIRECT, approvals=approvals, trust=trust)))
        async with called(self._turns, name, inbound, waits) as events:
            yield events

    def go_on(self, session: str, *, retry: bool = False) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
        """Finish the one turn of the session that is unfinished, as it was recorded; messages that wait behind it are left."""
        return self._turns.gone_on(session, msgspec.structs.replace(self._wish(retry=retry), one_turn=True))

    @asynccontextmanager
    async def recover(self, *, approvals: ApprovalsMode | None = None) -> AsyncIterator[AsyncIterator[Event]]:
        """Finish every unfinished turn of the home, one session after the other; their events. What runs elsewhere is left.

        `approvals`: in place of the agent's own. A session that cannot go on is named by a passing `error` event, and the next one follows.
        """
        wish = self._wish(retry=False, approvals=approvals)
        yield recovered(self._parts.store, self._parts.clock, lambda session: self._turns.gone_on(session, wish))

    async def ask(
        self, text: str, *, session: str | None = None, key: str | None = None, images: Iterable[Given] = (), **options: Unpack[AskOptions]
    ) -> TurnFinished:
        """Run a turn and return its end: `text`, `data`, `usage`, `status`. Everything else as in `turn`."""
        async with self.turn(text, session=session, key=key, images=images, **options) as events:
            async for event in events:
                if isinstance(event.body, TurnFinished):
                    return event.body
        raise AgentError("the turn ended without a result; what was recorded is kept")

    async def steer(self, text: str, *, session: str, key: str | None = None, images: Iterable[Given] = ()) -> int:
        """Say something to a session whose turn runs, here or elsewhere; it is seen before the next model call. `key`: as in `turn`."""
        desk, given = self.desk, pictures(images)
        return await desk.steer(checked_name(session), checked_text(text, given), by=self._seat.who, key=name_of("key", key), images=given)

    @property
    def trust(self) -> str:
        """The trust level of turns that ask for no other."""
        return str(self._seat.trust)

    def pictures_in(self, text: str) -> tuple[Image, ...]:
        """The pictures that a message names as `@path`, relative to the workspace."""
        return mentioned(text, self._seat.workspace)

    async def cancel(self, session: str) -> None:
        """Stop the session's turn, wherever it runs."""
        await self.desk.cancel(checked_name(session), by=self._seat.who)

    async def stop(self, events: AsyncIterator[Event]) -> None:
        """Stop the turn of these events, which `turn` or `resume` gave; where their message waits, withdraw it and stop what stands before it."""
        assert isinstance(events, TurnStream), "the events of a turn"
        waits = events.number is None
        await self._turns.stop(events)
        if waits:
            await self.desk.cancel(events.session, by=self._seat.who)

    async def answer(self, approval_id: str, decision: str, value: Mapping[str, Any] | None = None, *, text: str | None = None) -> None:
        """Answer a question; the model reads the `text` of a no. Raises `UnknownQuestion`, `AlreadyAnswered`, or `UsageError` for what is not offered."""
        await self.desk.answer(approval_id, decision, by=self._seat.who, value=value, text=text)

    @property
    def notices(self) -> tuple[str, ...]:
        """What the person should know before the first turn: about the settings, the workspace, and who says yes."""
        told = [*self.settings.notices, *filter(None, (self._parts.book.problem, self._parts.models.unheeded(self._seat.model)))]
        workspace = self._seat.workspace
        if workspace in self._parts.policy.protected_paths:
            told.append(f"The workspace {workspace} is more than one task should write to: it is read-only. Name another with --workspace DIR.")
        if self._seat.approvals == "auto":
            told.append("Approvals: auto. What asks for risk up to HIGH, its tier up to execute, or a program off the list runs without asking in this run.")
        if self._seat.approvals == "ask" and not self._seat.present and not process_environment.ours:  # the program tells each question on stderr
            days = self.settings.settings.approvals.expire_days
            told.append(f"Approvals: ask, and nobody is here to ask. A question waits up to {days:g} days for its answer: neuralclaw approvals answer.")
        return tuple(told)

    async def leave(self, session: str) -> None:
        """Nobody is there any more for this session: its open questions are answered no, by nobody."""
        await self._asker.leave(session)

    async def do(self, verb: str, /, **arguments: Any) -> Any:
        """Run a command by its name: `await agent.do("sessions.list")`. The value is what `--json` prints.

        Raises `UsageError` for a command that is not there and for arguments that it does not take.
        """
        _ = self.desk  # a closed agent does nothing
        return await call_verb(self._verbs, verb, arguments)

    def _inbound(self, text: str, options: TurnOptions, *, key: str | None = None, images: Iterable[Given] = ()) -> Inbound:
        given = pictures(images)
        return Inbound(text=checked_text(text, given), key=name_of("key", key) or new_id(16), by=self._seat.who, images=given, options=options)

    def _options(
        self,
        *,
        model: str | None = None,
        trust: str | None = None,
        approvals: ApprovalsMode | None = None,
        max_iterations: int | None = None,
        timeout: float | None = None,
        tools: Iterable[str] | None = None,
        **others: Any,
    ) -> TurnOptions:
        """The options of a turn: the seat's, with what this call says, checked."""
        refusals = refusals_of(others.pop("refusals", None))
        known_only(others)
        seat, limits = self._seat, config.limits(self.settings.settings)
        if max_iterations is not None:
            limits = msgspec.structs.replace(limits, iterations=count("max_iterations", max_iterations))
        if timeout is not None:
            limits = msgspec.structs.replace(limits, seconds=seconds("timeout", timeout))
        return TurnOptions(
            model=self._parts.models.full_name(name_of("model", model) or seat.model),
            workspace=seat.workspace,
            trust=trust_of(trust) if trust is not None else seat.trust,
            approvals=mode_of(approvals) if approvals is not None else seat.approvals,
            limits=limits,
            origin=Origin(who=seat.who, present=seat.present),
            tools=tools_of(tools, self._parts.tools),
            refusals=refusals,
        )

    def _wish(
        self, *, retry: bool, approvals: ApprovalsMode | None = None, timeout: float | None = None, max_iterations: int | None = None, **others: Any
    ) -> Wish:
        """What this process wants of a turn that another one began, checked."""
        iterations = count("max_iterations", max_iterations) if max_iterations is not None else None
        of_new_turns(others)
        timeout = seconds("timeout", timeout) if timeout is not None else None
        approvals = mode_of(approvals) if approvals is not None else None
        present = self._seat.present
        chosen = approvals or (self._seat.approvals if present or self._seat.explicit else None)
        return Wish(approvals=chosen, present=present, retry=retry, seconds=timeout, iterations=iterations)

    def closing(self) -> None:
        """The program ends: turns that nobody cancelled stop and stay unfinished, and nobody waits for them any more."""
        self._closed = True
        self._sessions.close()
        self._bus.close(AgentError("the agent was closed; what was recorded is kept", hint="neuralclaw recover"))

    async def take_over(self) -> None:
        """Start every unfinished turn of the home in the background."""
        for row in await self._parts.store.sessions(unfinished=True):
            with suppress(SessionBusy):
                if row.state == "set_aside":
                    continue
                await self.desk.take_up(row.session, self._wish(retry=False))


def assemble(parts: Parts, seat: Seat, tasks: TaskGroup, approver: Approver | None) -> Agent:
    """The runtime over the parts: bus, asker, sessions and desk, and the agent that a program holds."""
    bus = Bus(parts.store, parts.clock)
    asker = JournalAsker(
        parts.store, parts.clock, lambda entries: desk.notify(entries), approver=asked(approver) if approver else None, redaction=parts.redactor
    )
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
        sources=(parts.instructions,) if parts.instructions else (),
        redaction=parts.redactor,
        there=still_there,
    )
    sessions = Sessions(kit, tasks, max_sessions=parts.loaded.settings.agent.max_sessions, ended=asker.arrive)
    bus.listen(EventLog(parts.book, sessions.here).entries)
    verbs: dict[str, Verb] = {}
    desk = SessionDesk(parts.store, parts.clock, bus, sessions, asker, verbs)
    agent = Agent(parts, seat, desk, bus, asker, sessions)
    agent._verbs = verbs
    verbs.update(turn_verbs(agent.turn, agent.recover))
    verbs.update(session_verbs(parts.store, desk, seat.who, (agent.turn, agent.resume, agent.go_on)))
    client = CapabilityClient(parts.loaded, cast(Desk, desk), parts.store, parts.clock, desk.notify, seat.workspace, seat.who, parts.redactor)
    verbs.update(agent_verbs(parts, desk, agent.call, seat, parts.capabilities.for_client(client)))
    return agent
