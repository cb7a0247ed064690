"""The open home: settings, store, gate, tools, sandbox, models and capabilities, put together."""

import functools
import hashlib
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import anyio.to_thread
import msgspec

from .. import config, lookups
from ..agent.prompt import system_prompt
from ..capability import CapabilityContext, ContextSource, TurnContext
from ..errors import NeuralClawError
from ..plugins import load
from ..ports import Clock, Provider, Toolset
from ..safety.gate import PolicyGate
from ..sandbox.confined_files import ConfinedFiles
from ..sandbox.environment import clean_env
from ..sandbox.system_facts import SystemFacts
from ..secrets import Redactor
from ..store.sqlite import SqliteStore
from ..tools.builtin import own_tools, workspace_tools
from ..tools.file_formats import FileFormats
from ..tools.instructions import WorkspaceInstructions
from ..tools.machine_context import MachineContext
from ..tools.registry import Registry
from ..tools.terminal import TerminalSettings
from ..types.events import TurnStarted
from ..types.options import Policy
from ..types.tools import ToolContext
from .builtin_sources import NO_CONTEXT, builtin_sources
from .capabilities import capabilities_of
from .capability_parts import NOTHING, CapabilityParts
from .capability_tools import BroughtTools, ToolProblem, builtin_names, registry_with
from .clock import SystemClock
from .eventlog import open_log
from .lazy_parts import LazyConverter, LazySandbox
from .models.model_resolver import ModelResolver
from .sandbox_selection import sandbox_of
from .toolbox import Toolbox
from .turn_tools import TurnTools

log = logging.getLogger(__name__)

PROMPTS_KEPT = 64
"""System prompts that are kept for the next turn: one for each workspace and its instructions."""
CLOSE_SECONDS = 0.05
"""How long closing waits for the log's last lines on the event loop; a slower disk is waited for beside it."""


class Home:
    """Everything of one home that lives as long as the agent, open.

    `capability_parts` is what capabilities bring; it is set when there is a desk for them.
    """

    def __init__(self, loaded: config.LoadedSettings, store: SqliteStore, clock: Clock, *, provider: Provider | None, tools: Toolbox) -> None:
        settings, env = loaded.settings, loaded.env
        self.loaded, self.store, self.clock = loaded, store, clock
        self.redactor = Redactor(config.secret_values(loaded))
        self.policy: Policy = config.policy(settings, home=loaded.home, person_home=env.get("HOME", ""))
        self.sandbox = LazySandbox(lambda: sandbox_of(loaded))
        formats = FileFormats(capabilities_of(loaded).formats(), LazyConverter(lambda: load("converter")()))
        facts = SystemFacts(self.policy, env.get("PATH", ""), documents=formats)
        self.gate = PolicyGate(self.policy, facts, clock, read_command, beside=beside)
        self.models = ModelResolver(loaded, self.gate, clock, given=provider)
        self.files = ConfinedFiles(os.path.join(loaded.home, "preimages"))  # noqa: PTH118
        terminal = settings.tools.terminal
        terminal_settings = TerminalSettings(working_dir=terminal.working_dir, timeout=terminal.default_timeout_seconds, max_chars=terminal.max_output_chars)
        built_in = [
            *workspace_tools(self.files, self.sandbox, clean_env(env), terminal_settings, formats=formats),
            *own_tools(functools.partial(lookups.result, store), self.about, settings.agent.max_tool_result_chars),
        ]
        self._own = tools.chosen(built_in)
        self._built_in = builtin_names(self._own, built_in)
        self.tools = TurnTools(Registry(self._own), self.redactor)
        """Those that every turn has: the built-in ones and the program's own."""
        self._more: tuple[list[BroughtTools], TurnTools, list[ToolProblem]] = ([], self.tools, [])
        self.instructions = WorkspaceInstructions(env.get("HOME", "")) if settings.agent.project_instructions else None
        environment = MachineContext(clock.monotonic) if settings.agent.environment_snapshot else None
        self._sources = [(source, NO_CONTEXT) for source in builtin_sources(self.instructions, environment)]
        self.base_prompt = functools.lru_cache(maxsize=PROMPTS_KEPT)(self._base_prompt)
        """The system prompt of a turn in this workspace, without what the sources tell, and without secrets."""
        self.capability_parts: CapabilityParts = NOTHING
        self.log_writer = open_log(loaded, self.redactor)

    @classmethod
    async def open(cls, loaded: config.LoadedSettings, *, provider: Provider | None, tools: Toolbox, readonly: bool = False) -> "Home":
        """Open the store and put everything on it. Raises `StoreError`, `ConfigError`, and `UsageError` for a tool that is not there."""
        clock = SystemClock()
        capabilities = capabilities_of(loaded)
        store = await SqliteStore.open(loaded.home, clock=clock, codec=capabilities.codec, tables=capabilities.tables(), readonly=readonly)
        try:
            return cls(loaded, store, clock, provider=provider, tools=tools)
        except NeuralClawError:
            await store.aclose()
            raise

    @cached_property
    def digests(self) -> dict[str, str]:
        """SHA-256 of what decides how every turn here goes: settings and policy."""
        of = {"settings": [(v.key, v.value) for v in self.loaded.values], "policy": self.policy}
        return {name: hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest() for name, value in of.items()}

    def _base_prompt(self, workspace: str) -> str:
        return self.redactor.redact(system_prompt(self.loaded.settings.agent.name, workspace))

    def sources(self) -> list[tuple[ContextSource, CapabilityContext]]:
        """All that tells the model something: the built-in sources, then those of capabilities."""
        return [*self._sources, *self.capability_parts.sources()]

    async def turn_tools(self, turn: TurnContext) -> TurnTools:
        """The tools of a turn: those that every turn has, and what capabilities bring to this one; of them those that its options name.

        One whose name is taken is left out: `tool_problems` says which. Capabilities are not asked where the options name none of theirs.
        """
        return (await self.tools_and_problems(turn))[0]

    async def tool_problems(self, turn: TurnContext) -> Sequence[ToolProblem]:
        """Tools that capabilities bring to this turn and that cannot be used."""
        return (await self.tools_and_problems(turn))[1]

    async def tools_and_problems(self, turn: TurnContext) -> tuple[TurnTools, Sequence[ToolProblem]]:
        """`turn_tools` and `tool_problems` of one question to the capabilities."""
        named = turn.options.tools
        if named is not None and all(self.tools.find(name) for name in named):
            return self._only(self.tools, named), ()
        brought = await self.capability_parts.tools(turn)
        tools, problems = self._with(brought) if brought else (self.tools, [])
        return tools if named is None else self._only(tools, named), problems

    def _only(self, tools: Toolset, named: Sequence[str]) -> TurnTools:
        """Of these tools those of the names or aliases."""
        found = [(name, tools.find(name)) for name in named]
        return TurnTools(tools, self.redactor, tuple(spec.name if spec is not None else name for name, spec in found))

    def _with(self, brought: Sequence[BroughtTools]) -> tuple[TurnTools, list[ToolProblem]]:
        before, made, problems = self._more
        if _same(before, brought):
            return made, problems  # as in the turn before
        registry, problems = registry_with(self._own, self._built_in, brought)
        for problem in problems:
            log.warning("%s", problem.text)
        self._more = (list(brought), TurnTools(registry, self.redactor), problems)
        return self._more[1], problems

    async def about(self, ctx: ToolContext) -> Mapping[str, Any]:
        """What the agent says of itself: real settings and tools, and what is known by now. Nothing is tried out for it."""
        settings = self.loaded.settings
        begun = await self.store.read(ctx.session, from_turn=ctx.turn, kinds=("turn.started",))
        options = next((entry.body.options for entry in begun if isinstance(entry.body, TurnStarted)), None)
        tools = self.tools if options is None else await self.turn_tools(TurnContext(session=ctx.session, options=options))
        return {
            "name": settings.agent.name,
            "model": self.models.default_now(),
            "home": self.loaded.home,
            "sandbox": f"{settings.tools.terminal.sandbox} ({self.sandbox.known or 'not tried yet'})",
            "limits": config.limits(settings),
            "permission level": settings.safety.default_permission_level,
            "asks for risk": [str(risk) for risk in settings.safety.require_confirmation_for],
            "tools": [spec.name for spec in tools.tools()],
        }

    async def aclose(self) -> None:
        await self.models.aclose()
        await self.store.aclose()
        if not self.log_writer.finish(CLOSE_SECONDS):
            await anyio.to_thread.run_sync(self.log_writer.close)


def _same(before: Sequence[BroughtTools], now: Sequence[BroughtTools]) -> bool:
    """Whether the very same tools were brought, by the same capabilities."""
    return len(before) == len(now) and all(
        (a.capability, a.problem, len(a.tools)) == (b.capability, b.problem, len(b.tools)) and all(x is y for x, y in zip(a.tools, b.tools, strict=True))
        for a, b in zip(before, now, strict=True)
    )


def read_command(text: str, **scene: Any) -> Any:
    """The shell analysis, loaded with the first command that is judged: a grammar and its modules."""
    return load("shell")(text, **scene)


async def beside(work: Callable[[Callable[[], float] | None], Any]) -> Any:
    """A long analysis in a worker thread, bounded by the processor time that it uses itself, so that a busy machine changes no verdict.

    When its turn is cancelled nobody waits for it, and it ends at its bound.
    """
    return await anyio.to_thread.run_sync(work, time.thread_time, abandon_on_cancel=True)
