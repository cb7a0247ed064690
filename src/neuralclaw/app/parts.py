"""Puts the rooms together: store, gate, tools, sandbox and models of one home."""

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import anyio.to_thread
import msgspec

from .. import config
from ..agent.prompt import system_prompt
from ..errors import NeuralClawError
from ..plugins import load
from ..ports import Clock, Provider
from ..safety.gate import PolicyGate
from ..sandbox.confined_files import ConfinedFiles
from ..sandbox.environment import clean_env
from ..sandbox.facts import SystemFacts
from ..secrets import Redactor
from ..store.sqlite import SqliteStore
from ..tools.builtin import own_tools, workspace_tools
from ..tools.documents import extractor
from ..tools.instructions import WorkspaceInstructions
from ..tools.machine_context import MachineContext
from ..tools.registry import Registry
from ..tools.terminal import TerminalSettings
from ..types.options import Policy
from .capabilities import capabilities_of
from .clock import SystemClock
from .eventlog import open_book
from .lazy_parts import LazyConverter, LazySandbox
from .model_resolver import ModelResolver
from .sandbox_selection import sandbox_of
from .toolbox import Toolbox

CLOSE_SECONDS = 0.05
"""How long closing waits for the log's last lines on the event loop; a slower disk is waited for beside it."""


class Parts:
    """Everything of one home that lives as long as the agent, wired and open."""

    def __init__(self, loaded: config.LoadedSettings, store: SqliteStore, clock: Clock, *, provider: Provider | None, tools: Toolbox) -> None:
        settings, env = loaded.settings, loaded.env
        self.loaded, self.store, self.clock = loaded, store, clock
        self.capabilities = capabilities_of(loaded)
        self.redactor = Redactor(config.secret_values(loaded))
        self.policy: Policy = config.policy(settings, home=loaded.home, person_home=env.get("HOME", ""))
        self.sandbox = LazySandbox(lambda: sandbox_of(loaded))
        converter = LazyConverter(lambda: load("converter")())
        facts = SystemFacts(self.policy, lambda: self.sandbox.name, env.get("PATH", ""), extract=extractor(converter))
        self.gate = PolicyGate(self.policy, facts, clock, read_command, beside=beside)
        self.models = ModelResolver(loaded, self.gate, clock, given=provider)
        self.files = ConfinedFiles(os.path.join(loaded.home, "preimages"))  # noqa: PTH118
        terminal = settings.tools.terminal
        terminal_settings = TerminalSettings(working_dir=terminal.working_dir, timeout=terminal.default_timeout_seconds, max_chars=terminal.max_output_chars)
        self.tools = Registry(
            tools.chosen(
                [
                    *workspace_tools(self.files, self.sandbox, clean_env(env), terminal_settings, converter=converter),
                    *own_tools(store.result, self.about, settings.agent.max_tool_result_chars),
                ]
            )
        )
        self.environment = MachineContext(clock.monotonic).describe if settings.agent.environment_snapshot else None
        self.instructions = WorkspaceInstructions(env.get("HOME", "")) if settings.agent.project_instructions else None
        self._digests: dict[str, str] = {}
        self.book = open_book(loaded, self.redactor)

    @classmethod
    async def open(cls, loaded: config.LoadedSettings, *, provider: Provider | None, tools: Toolbox, readonly: bool = False) -> "Parts":
        """Open the store and put everything on it. Raises `StoreError`, `ConfigError`, and `UsageError` for a tool that is not there."""
        clock = SystemClock()
        capabilities = capabilities_of(loaded)
        store = await SqliteStore.open(loaded.home, clock=clock, codec=capabilities.codec, tables=capabilities.tables(), readonly=readonly)
        try:
            return cls(loaded, store, clock, provider=provider, tools=tools)
        except NeuralClawError:
            await store.aclose()
            raise

    def system(self, workspace: str) -> str:
        return system_prompt(self.loaded.settings.agent.name, workspace)

    def digests(self) -> dict[str, str]:
        """SHA-256 of what decides how a turn goes: settings, policy, prompt and tools of this moment."""
        if not self._digests:
            of: dict[str, Callable[[], Any]] = {
                "settings": lambda: [(v.key, v.value) for v in self.loaded.values],
                "policy": lambda: self.policy,
                "prompt": lambda: self.system(""),
                "tools": lambda: self.tools.tools(),
            }
            self._digests = {name: hashlib.sha256(msgspec.json.encode(make(), order="deterministic")).hexdigest() for name, make in of.items()}
        return self._digests

    def about(self) -> Mapping[str, Any]:
        """What the agent says of itself: real settings and tools, and what is known by now. Nothing is tried out for it."""
        settings = self.loaded.settings
        return {
            "name": settings.agent.name,
            "model": self.models.default_now(),
            "home": self.loaded.home,
            "sandbox": f"{settings.tools.terminal.sandbox} ({self.sandbox.known or 'not tried yet'})",
            "limits": config.limits(settings),
            "permission level": settings.safety.default_permission_level,
            "asks for risk": [str(risk) for risk in settings.safety.require_confirmation_for],
            "tools": [spec.name for spec in self.tools.tools()],
        }

    async def aclose(self) -> None:
        await self.models.aclose()
        await self.store.aclose()
        if not self.book.finish(CLOSE_SECONDS):
            await anyio.to_thread.run_sync(self.book.close)


def read_command(text: str, **scene: Any) -> Any:
    """The shell analysis, loaded with the first command that is judged: a grammar and sixteen modules."""
    return load("shell")(text, **scene)


async def beside(work: Callable[[Callable[[], float] | None], Any]) -> Any:
    """A long analysis in a worker thread, bounded by the processor time that it uses itself, so that a busy machine changes no verdict.

    When its turn is cancelled nobody waits for it, and it ends at its bound.
    """
    return await anyio.to_thread.run_sync(work, time.thread_time, abandon_on_cancel=True)
