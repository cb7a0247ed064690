"""The open home: settings, store, gate, tools, sandbox, models and capabilities, put together."""

import functools
import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import msgspec

from .. import config, lookups
from ..agent.prompt import system_prompt
from ..capability import CapabilityContext, ContextSource, TurnContext
from ..errors import NeuralClawError
from ..plugins import load
from ..ports import Clock, Desk, Facts, Hooks, Provider, Toolset
from ..safety.gate import PolicyGate
from ..sandbox.confined_files import ConfinedFiles
from ..sandbox.environment import clean_env
from ..sandbox.own_code import keep_hooks, own_code
from ..sandbox.system_facts import SystemFacts
from ..secrets import Redactor
from ..secrets.spellings import unfit
from ..store.sqlite import SqliteStore
from ..tools.builtin import internet_tools, own_tools, reading_tools, workspace_tools
from ..tools.file_formats import FileFormats
from ..tools.instructions import WorkspaceInstructions
from ..tools.machine_context import MachineContext
from ..tools.registry import Registry
from ..tools.terminal import TerminalSettings
from ..types.entries import Entry
from ..types.events import ToolFinished, ToolStarted, TurnStarted
from ..types.options import Policy, encoded_policy
from ..types.proxies import unused_proxy
from ..types.risk import Effect
from ..types.tools import ToolContext
from .builtin_sources import NO_CONTEXT, builtin_sources
from .capabilities import capabilities_of
from .capability_parts import NOTHING, CapabilityParts
from .capability_tools import BroughtTools, ToolProblem, builtin_names, registry_with
from .clock import SystemClock
from .eventlog import open_log
from .flow.labelled_facts import LabelledFacts
from .flow.labelled_files import TABLE
from .lazy_parts import LazyConverter, LazySandbox, LazyWeb
from .models.model_resolver import ModelResolver
from .record.anchor_keeper import AnchorKeeper
from .record.anchoring import all_places, home_anchor, kept_elsewhere
from .sandbox_selection import sandbox_of
from .secret_store.granted_secrets import GrantedSecrets
from .toolbox import Toolbox
from .turn_tools import TurnTools
from .undo.early_copies import EarlyCopies
from .undo.watched_tools import WatchedTools

if TYPE_CHECKING:
    from ..agent.compaction import Summarizer
    from ..types.options import TurnOptions
    from .later_run.place_recorder import PlaceRecorder
    from .undo.change_recorder import ChangeRecorder  # a run whose calls change nothing does not load it

log = logging.getLogger(__name__)

PROMPTS_KEPT = 64
"""System prompts that are kept for the next turn: one for each workspace and its instructions."""
LATER_RUN = "later_run"
"""The directory of a home with what puts back places that code is later run from."""
CLOSE_SECONDS = 0.05
"""How long closing waits for the log's last lines on the event loop; a slower disk is waited for beside it."""


def nobody_told(entries: Sequence[Entry]) -> None:
    """Before there is a desk, nobody subscribes."""


class Home:
    """Everything of one home that lives as long as the agent, open.

    `capability_parts` is what capabilities bring; it is set when there is a desk for them; so is `notify`, which tells subscribers of entries.
    """

    def __init__(self, loaded: config.LoadedSettings, store: SqliteStore, clock: Clock, *, provider: Provider | None, tools: Toolbox) -> None:
        settings, env = loaded.settings, loaded.env
        self.loaded, self.store, self.clock = loaded, store, clock
        self.redactor = Redactor(config.secret_values(loaded))
        given = {name: value for name, value in loaded.stored.items() if not unfit(value)}  # what is given is looked for in every text
        own, secrets = config.data_places(loaded.home, env), GrantedSecrets(given)
        kept = load("hooks.files")(settings.hooks, env.get("HOME", "")) if settings.hooks else ()
        keep_hooks(kept)
        self.policy_of: Callable[[config.Settings], Policy] = functools.partial(
            config.policy, own_data=own, person_home=env.get("HOME", ""), secrets=given, own=own_code(), hooks=kept
        )
        """The policy that settings make in this home."""
        self.policy: Policy = self.policy_of(settings)
        self.sandbox = LazySandbox(lambda: sandbox_of(loaded, making=own))
        formats = FileFormats(capabilities_of(loaded).formats(), LazyConverter(lambda: load("converter")()))
        self._facts = functools.partial(SystemFacts, path_env=env.get("PATH", ""), undo_lacks=self._undo_lacks, unconfined=self._unconfined)
        self.gate = self.gate_of(self.policy, self.facts_of(self.policy, documents=formats))
        self.models = ModelResolver(loaded, self.gate, clock, given=provider)
        self.files = ConfinedFiles(os.path.join(loaded.home, "preimages"), hidden=own)  # noqa: PTH118
        terminal = settings.tools.terminal
        cwd = terminal.working_dir and config.absolute(terminal.working_dir, env.get("HOME", ""), "")
        terminal_settings = TerminalSettings(working_dir=cwd, timeout=terminal.default_timeout_seconds, max_chars=terminal.max_output_chars)
        built_in = [
            *workspace_tools(self.files, self.sandbox, clean_env(env), terminal_settings, formats=formats, secrets=secrets),
            *internet_tools(web := LazyWeb(lambda: load("web")(load("net")(), unused_proxy(env))), formats, secrets),
            *reading_tools(lambda: load("reading.sessions")(store, self.models, self.redactor, self.desk), self.files, web, formats),
            *own_tools(functools.partial(lookups.call_result, store), self.about, settings.agent.max_tool_result_chars),
        ]
        self._own = tools.chosen(built_in)
        self._built_in = builtin_names(self._own, built_in)
        self.tools = TurnTools(self._watched(Registry(self._own)), self.redactor)
        """Those that every turn has: the built-in ones and the program's own."""
        self._more: tuple[list[BroughtTools], TurnTools, list[ToolProblem]] = ([], self.tools, [])
        self.instructions = WorkspaceInstructions(env.get("HOME", "")) if settings.agent.project_instructions else None
        environment = MachineContext(clock.monotonic) if settings.agent.environment_snapshot else None
        self._sources = [(source, NO_CONTEXT) for source in builtin_sources(self.instructions, environment, self.policy.secrets)]
        self.base_prompt = functools.lru_cache(maxsize=PROMPTS_KEPT)(self._base_prompt)
        """The system prompt of a turn in this workspace, without what the sources tell, and without secrets."""
        self.capability_parts: CapabilityParts = NOTHING
        self.notify: Callable[[Sequence[Entry]], None] = nobody_told
        self.desk: Desk
        """Set with the first desk over the home; tools that begin sessions of their own use it."""
        self.log_writer = open_log(loaded, self.redactor)
        self._changes: ChangeRecorder | None = None
        self._making = threading.Lock()
        self.hooks: Hooks | None = load("hooks")(settings.hooks, env) if settings.hooks else None
        self.early_copies = EarlyCopies(lambda workspace: self.changes.copy_first(workspace))
        self.anchor_keeper: AnchorKeeper | None = None
        """Keeps the record anchored at slower places than a file, where there are any."""

    @classmethod
    async def open(cls, loaded: config.LoadedSettings, *, provider: Provider | None, tools: Toolbox, readonly: bool = False) -> "Home":
        """Open the store and put everything on it. Raises `StoreError`, `ConfigError`, and `UsageError` for a tool that is not there."""
        clock = SystemClock()
        capabilities = capabilities_of(loaded)
        capabilities.check_settings(loaded)
        store = await SqliteStore.open(loaded.home, clock=clock, codec=capabilities.codec, tables=capabilities.tables(), readonly=readonly)
        try:
            anchor = home_anchor(loaded)
            store.keep_anchor(anchor, all_places(anchor, loaded.asked.environ, loaded))
            home = cls(loaded, store, clock, provider=provider, tools=tools)
            if anchor is not None and not readonly and (places := kept_elsewhere(loaded, anchor)) is not None:
                home.anchor_keeper = AnchorKeeper(anchor, places)
        except NeuralClawError:
            await store.aclose()
            raise
        return home

    @cached_property
    def digests(self) -> dict[str, str]:
        """SHA-256 of what decides how every turn here goes: settings and policy."""
        settings = msgspec.json.encode([(v.key, v.value) for v in self.loaded.values], order="deterministic")
        return {"settings": hashlib.sha256(settings).hexdigest(), "policy": self.gate.policy_digest}

    def facts_of(self, policy: Policy, **given: Any) -> Facts:
        """What looks up the facts for a gate under this policy; `given`: `resolver` and `documents`, as `SystemFacts` takes them."""
        facts = self._facts(policy, **given)
        return LabelledFacts(facts, self.store, policy.allowed_paths) if self.store.derives(TABLE) else facts

    def gate_of(self, policy: Policy, facts: Facts) -> PolicyGate:
        """A gate of this home that judges under another policy."""
        return PolicyGate(policy, facts, self.clock, read_command, beside=beside)

    @cached_property
    def policy_text(self) -> bytes:
        """The policy as JSON, whose SHA-256 is its digest."""
        return self.redactor.redact(encoded_policy(self.policy).decode()).encode()

    @property
    def changes(self) -> "ChangeRecorder":
        """Records what calls change, so that it can be undone."""
        make = load("undo.recorder")
        with self._making:  # a thread makes first copies
            if self._changes is None:
                policy = self.policy
                self._changes = make(
                    self.loaded, self.store, self.redactor, places=lambda: self.places, allowed=policy.allowed_paths, protected=policy.protected_paths
                )
                self._changes.notify = self.notify
        return self._changes

    @cached_property
    def places(self) -> "PlaceRecorder":
        """Puts back what commands change in places that code is later run from."""
        guard = load("later_run.guard")(os.path.join(self.loaded.home, LATER_RUN), config.data_places(self.loaded.home, self.loaded.env))  # noqa: PTH118
        recorder: PlaceRecorder = load("later_run.recorder")(guard, self.store, self.redactor, sandbox=self.sandbox)
        recorder.notify = self.notify
        return recorder

    @property
    def interrupted_places(self) -> bool:
        """Whether a command is noted as running, here or in another process, or in one that died: then `places` has to settle it. Reads one directory."""
        try:
            return any(name.startswith("running-") for name in os.listdir(os.path.join(self.loaded.home, LATER_RUN)))  # noqa: PTH118, PTH208
        except OSError:
            return False

    def _watched(self, tools: Toolset) -> Toolset:
        """The tools, with what their calls change on record where the capability for it takes part."""
        guarded = WatchedTools(tools, lambda: self.places)
        return WatchedTools(guarded, lambda: self.changes) if "undo" in self.loaded.sections else guarded

    async def record_interrupted(self, session: str, turn: int, workspace: str) -> None:
        """A turn goes on: what a call of it changed whose end nobody saw goes on record, before it is begun again. The caller holds the session."""
        entries = await self.store.read(session, from_turn=turn, kinds=("tool.started", "tool.finished"))
        ended = {one.body.call_id for one in entries if isinstance(one.body, ToolFinished)}
        open_calls = [one.body for one in entries if isinstance(one.body, ToolStarted) and one.body.call_id not in ended]
        commands = any(not call.before and call.effect is not Effect.PURE for call in open_calls)
        if open_calls:
            await self.changes.record_interrupted(session, (workspace, *self.policy.allowed_paths) if commands else ())

    async def _undo_lacks(self, workspace: str, runs: bool) -> str | None:
        """What undo does not bring back of what a command may write that stays in the sandbox; "" without a sandbox. `runs`: it is judged to be run."""
        if "undo" not in self.loaded.sections:
            return ""
        if not runs and (lacks := await self.changes.lacks(workspace, copy=False)) is not None:
            return lacks
        name = self.sandbox.known or await anyio.to_thread.run_sync(lambda: self.sandbox.name)
        return "" if name == "process" else await self.changes.lacks(workspace, copy=runs)

    async def _unconfined(self) -> bool:
        name: str = self.sandbox.known or await anyio.to_thread.run_sync(lambda: self.sandbox.name)
        return name == "process"

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
        self._more = (list(brought), TurnTools(self._watched(registry), self.redactor), problems)
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

    async def summarizer(self, session: str, number: int, options: "TurnOptions") -> "Summarizer":
        """Who summarises the session, as its turn of that number under these options would. Raises `ConfigError` for a model that cannot be asked."""
        by: Summarizer = await load("compaction.summarizer")(self, session, number, options)
        return by

    async def replay(self, session: str, model: str | None, policy: str | None) -> list[dict[str, Any]]:
        """See `app.replay.session_replay`."""
        events: list[dict[str, Any]] = await load("replay.session")(self, session, model=model, policy=policy)
        return events

    async def erase_session(self, session: str, by: str) -> Entry:
        """Delete a session for good, as `SqliteStore.erase` says; gives the entry that tells of it. Raises `SessionNotFound`."""
        entry = await self.store.erase(session, None, by, deletes=True)
        assert entry is not None, "a deletion is told also where nothing was left to erase"
        return entry

    async def aclose(self) -> None:
        self.early_copies.close()
        if self._changes is not None:
            await anyio.to_thread.run_sync(self._changes.close)
        await self.sandbox.aclose()
        await self.models.aclose()
        await self.store.aclose()
        if self.anchor_keeper is not None:
            await anyio.to_thread.run_sync(self.anchor_keeper.close)
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
