"""`Agent`: the Python API. A client of the desk: it checks options, and what can be done with sessions the desk does."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Unpack, cast

from .. import lookups
from ..errors import AgentError, UsageError, no_result
from ..ports import TurnEvents
from ..runtime.desk import SessionDesk
from ..types.entries import Event
from ..types.events import TurnFinished
from ..types.options import ApprovalsMode
from .agent_task import AgentTask
from .defaults import ClientDefaults
from .desk_client import notices_of, opened_desk
from .home import Home
from .option_checks import checked_name, continued, new_session
from .option_types import AskOptions, OpeningOptions
from .pictures import ImageInput, pictures
from .tool_call_turns import call_of, called


class Agent:
    """An agent over one home. Made by `Agent.open`, an async context manager, or by `Agent.start`, which `aclose` ends."""

    def __init__(self, home: Home, desk: SessionDesk, defaults: ClientDefaults) -> None:
        self._home, self._desk, self._defaults = home, desk, defaults
        self.settings = home.loaded
        self._held: AgentTask[Agent] | None = None
        self._closed = False

    @staticmethod
    @asynccontextmanager
    async def open(**given: Unpack[OpeningOptions]) -> AsyncIterator["Agent"]:
        """Open the home and everything a turn needs; close it all on leaving.

        `home`, `workspace` (else the current directory): directories. `model`: `provider:model`, or a provider. `settings`: a `Settings`
        value in place of all configuration, or values above it by key; each section of the settings is an option too (`llm={"max_tokens": 500}`).
        `max_iterations`, `timeout`: limits of its turns. `recover`: take over every unfinished turn of the home. `services`: run background
        services and channels here. `tools`: your own,
        one of which replaces a built-in of its name; `builtin`: which built-in tools there are (default all, `()` none). `approver`: asked where
        something needs a yes. All are described in `AgentOptions`.
        Raises `UsageError` for an option that cannot be used, `ConfigError` for what is configured wrongly and `StoreError` for a home that
        cannot be used.
        """
        async with opened_desk(**given) as (home, desk, defaults):
            agent = Agent(home, desk, defaults)
            try:
                yield agent
            finally:
                agent.closing()

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
        self, text: str, *, session: str | None = None, key: str | None = None, images: Iterable[ImageInput] = (), **options: Unpack[AskOptions]
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """One turn with this message; its events until it ends or parks. Leaving early cancels it.

        `images`: pictures that belong to it, as paths, bytes or `Image` values (PNG, JPEG, GIF or WebP, at most 5 MB each).

        `options`: `model`, `trust`, `approvals`, `max_iterations`, `timeout` (seconds) in place of the agent's own; `tools`, the names of those that are
        offered; `refusals` `ignore`: a refused call does not decide the status. While the session is busy in
        this process the message waits, and its turn follows those before it; one that is busy elsewhere raises `SessionBusy`. Raises
        `UsageError` for an option that cannot be used; nothing is recorded then.
        """
        desk, name = self.desk, new_session(session)
        inbound = self._defaults.message(text, key=key, images=images, **options)
        async with desk.turn(name, inbound) as events:
            yield events

    @asynccontextmanager
    async def resume(
        self,
        session: str,
        *,
        text: str | None = None,
        key: str | None = None,
        images: Iterable[ImageInput] = (),
        retry: bool = False,
        **options: Unpack[AskOptions],
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """Finish the session's unfinished, or parked and answered, turn; then, with `text`, run that as the next one, whose events these are.

        With nothing unfinished and no text, the stream is the last turn's end again. `options` as in `turn`. Raises `UsageError` for a session that
        has no turn at all, and without `text` for a `model` or `trust`: an unfinished turn keeps its own.
        """
        desk = self.desk
        name = continued((await lookups.find_session(self._home.store, checked_name(session))).session)
        if text is not None:
            inbound = self._defaults.message(text, key=key, images=images, **options)
            async with desk.turn(name, inbound, self._defaults.before(inbound, retry=retry)) as events:
                yield events
            return
        if pictures(images):
            raise UsageError("pictures need a text to go with; nothing was recorded")
        async with desk.resume(name, self._defaults.starting(retry=retry, **options), by=self._defaults.who) as events:
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
        async with called(self.desk, name, call_of(tool, arguments, self._defaults.options(approvals=approvals, trust=trust)), waits) as events:
            yield events

    @asynccontextmanager
    async def recover(self, *, approvals: ApprovalsMode | None = None) -> AsyncIterator[AsyncIterator[Event]]:
        """Finish every unfinished turn of the home, one session after the other; their events. What runs elsewhere is left.

        `approvals`: in place of the agent's own. A session that cannot go on is named by a passing `error` event, and the next one follows.
        """
        yield self.desk.recover(self._defaults.starting(approvals=approvals), by=self._defaults.who)

    async def ask(
        self, text: str, *, session: str | None = None, key: str | None = None, images: Iterable[ImageInput] = (), **options: Unpack[AskOptions]
    ) -> TurnFinished:
        """Run a turn and return its end: `text`, `data`, `usage`, `status`. Everything else as in `turn`."""
        async with self.turn(text, session=session, key=key, images=images, **options) as events:
            async for event in events:
                if isinstance(event.body, TurnFinished):
                    return event.body
        raise no_result()

    async def steer(self, text: str, *, session: str, key: str | None = None, images: Iterable[ImageInput] = ()) -> int:
        """Say something to a session whose turn runs, here or elsewhere; it is seen before the next model call. `key`: as in `turn`."""
        return await self.desk.steer(checked_name(session), self._defaults.word(text, key=key, images=images))

    async def queue(self, text: str, *, session: str, key: str | None = None, images: Iterable[ImageInput] = (), **options: Unpack[AskOptions]) -> int:
        """Send a message that waits for the end of the turn that runs or is parked in the session, in whichever process, and is a turn then.

        It is on record when this returns, and survives `kill -9`. Gives its entry number; `turn` with the same `key` follows it. `options` as in `turn`.
        """
        desk, name = self.desk, new_session(session)
        return (await desk.queue(name, self._defaults.message(text, key=key, images=images, **options))).entry

    @property
    def home(self) -> str:
        """The directory of its home."""
        return self.settings.home

    @property
    def trust(self) -> str:
        """The trust level of turns that ask for no other."""
        return str(self._defaults.turn.trust)

    async def cancel(self, session: str) -> None:
        """Stop the session's turn, wherever it runs."""
        await self.desk.cancel(checked_name(session), by=self._defaults.who)

    async def stop(self, events: AsyncIterator[Event]) -> None:
        """Stop the turn of these events, which `turn` or `resume` gave; where their message waits, withdraw it and stop what stands before it."""
        await self.desk.stop(cast(TurnEvents, events), by=self._defaults.who)

    async def answer(self, approval_id: str, decision: str, value: Mapping[str, Any] | None = None, *, text: str | None = None) -> None:
        """Answer a question; the model reads the `text` of a no. Raises `UnknownQuestion`, `AlreadyAnswered`, or `UsageError` for what is not offered."""
        await self.desk.answer(approval_id, decision, by=self._defaults.who, value=value, text=text)

    @property
    def notices(self) -> tuple[str, ...]:
        """What the person should know before the first turn: about the settings, the workspace, and who says yes."""
        return notices_of(self._home, self._defaults)

    async def leave(self, session: str) -> None:
        """Nobody is there any more for this session: its open questions are answered no, by nobody."""
        await self.desk.leave(session)

    async def do(self, verb: str, /, **arguments: Any) -> Any:
        """Run a command by its name: `await agent.do("sessions.list")`. The value is what `--json` prints.

        Raises `UsageError` for a command that is not there and for arguments that it does not take.
        """
        return await self.desk.do(verb, **arguments)

    def closing(self) -> None:
        """The program ends: turns that nobody cancelled stop and stay unfinished, and nobody waits for them any more."""
        self._closed = True
        self._desk.close()
