"""Opens a home for one client: its desk, and what the client needs besides to talk to it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import NamedTuple, Unpack

import anyio
import msgspec

from .. import config
from ..capability import TurnContext
from ..config import process_environment
from ..errors import AgentError
from ..foreign_code import innermost
from ..plugins import load
from ..ports import Desk
from ..runtime.desk import SessionDesk
from ..types.hooks import idle_names
from ..types.named_tools import idle_rules
from .assembly import open_desk
from .defaults import ClientDefaults, defaults_of
from .eventlog import ErrorLogging
from .home import Home
from .option_types import OpeningOptions
from .sandbox_selection import refuse_unconfined
from .section_options import checked_options, opened_with
from .settings_loading import load_settings
from .toolbox import Toolbox


class DeskClient(NamedTuple):
    """What a client has: the one door, and values. `defaults` makes messages for it; `settings` are those in effect.

    `notices`: what the person should know before the first turn; asks capabilities for their tools. `redact`: a text without the secrets that are known.
    """

    desk: Desk
    defaults: ClientDefaults
    settings: config.LoadedSettings
    notices: Callable[[], Awaitable[tuple[str, ...]]]
    redact: Callable[[str], str]

    @property
    def chosen(self) -> bool:
        """A model was chosen, when it was opened or in the settings; else one is looked for."""
        llm = self.settings.settings.llm
        return bool(self.defaults.turn.model or llm.default_provider or llm.default_model)


@asynccontextmanager
async def open_client(**given: Unpack[OpeningOptions]) -> AsyncIterator[DeskClient]:
    """A client of a home, with the options of `Agent.open`, until it is left: turns that run then stop and stay unfinished.

    Raises `UsageError`, `ConfigError` and `StoreError` as `Agent.open` does.
    """
    async with opened_desk(**given) as (home, desk, defaults):
        yield DeskClient(desk, defaults, home.loaded, partial(notices_at_start, home, defaults), home.redactor.redact)


@asynccontextmanager
async def opened_desk(**given: Unpack[OpeningOptions]) -> AsyncIterator[tuple[Home, SessionDesk, ClientDefaults]]:
    """The home and everything a turn needs, open; it is all closed on leaving. Options and errors are those of `Agent.open`."""
    options = opened_with(given)
    checked_options(options)
    environ, approver = options.get("environ"), options.get("approver")
    loaded = load_settings(options.get("home"), process_environment.environ if environ is None else environ, options.get("settings"))
    toolbox = Toolbox(given=options.get("tools", ()), builtin=options.get("builtin"))
    defaults = defaults_of(loaded, options)
    home = await Home.open(loaded, provider=options.get("provider"), tools=toolbox, readonly=options.get("readonly", False))
    left = False
    try:
        if options.get("runs", options.get("thinks", True)):
            await refuse_unconfined(loaded, lambda: home.sandbox.real, kept="nothing was run")
        with ErrorLogging(home.log_writer, home.redactor.redact):
            async with anyio.create_task_group() as tasks:
                desk = open_desk(home, defaults, tasks, approver, options.get("tell"))
                tasks.start_soon(desk.follow)
                if options.get("services"):
                    tasks.start_soon(load("services.run"), home, desk)
                if options.get("recover"):
                    await desk.take_over()
                if home.interrupted_places and not options.get("readonly", False):
                    await home.places.settle()
                try:
                    yield home, desk, defaults
                    left = True
                finally:
                    desk.close()
                tasks.cancel_scope.cancel()
            if not left:  # a task beside the client was cancelled, and the client with it
                raise AgentError("the agent was closed, because a part of it was cancelled from within; what was recorded is kept", hint="neuralclaw recover")
    except BaseExceptionGroup as group:
        raise innermost(group) from None
    finally:
        with anyio.CancelScope(shield=True):
            await home.aclose()


def notices_of(home: Home, defaults: ClientDefaults) -> tuple[str, ...]:
    """What the person should know before the first turn: about the settings, the workspace, and who says yes."""
    turn, loaded = defaults.turn, home.loaded
    told = [*loaded.notices, *filter(None, (home.log_writer.problem, home.models.unheeded(turn.model or None)))]
    if turn.workspace in home.policy.protected_paths:
        told.append(f"The workspace {turn.workspace} is more than one task should write to: it is read-only. Name another with --workspace DIR.")
    if turn.approvals == "auto":
        told.append("Approvals: auto. What asks for risk up to HIGH, its tier up to execute, or a program off the list runs without asking in this run.")
    if turn.approvals == "ask" and not turn.origin.present and not process_environment.ours:  # the program tells each question on stderr
        days = loaded.settings.approvals.expire_days
        told.append(f"Approvals: ask, and no one can answer here. A question waits up to {days:g} days for its answer: neuralclaw approvals answer.")
    return tuple(told)


async def notices_at_start(home: Home, defaults: ClientDefaults) -> tuple[str, ...]:
    """The same, which tools of capabilities cannot be used, and which hooks and rules are for tools that are not there. Asks those capabilities for them."""
    problems = await home.tool_problems(TurnContext(session="", options=defaults.turn))
    return (*notices_of(home, defaults), *(problem.notice for problem in problems), *await idle_tool_names(home, defaults))


async def idle_tool_names(home: Home, defaults: ClientDefaults) -> Sequence[str]:
    """What to say of hooks and rules whose tools are not there, neither built in nor brought by anything."""
    hooks, rules = home.loaded.settings.hooks, home.loaded.settings.safety.rules
    if not any(idle_names(hooks, config.BUILT_IN_TOOLS)) and not any(idle_rules(rules, config.BUILT_IN_TOOLS)):
        return ()
    tools = await home.turn_tools(TurnContext(session="", options=msgspec.structs.replace(defaults.turn, tools=None)))
    brought = {name for spec in tools.tools() for name in (spec.name, *spec.aliases)}
    known = config.BUILT_IN_TOOLS | brought
    return (*idle_names(hooks, known), *idle_rules(rules, known))
