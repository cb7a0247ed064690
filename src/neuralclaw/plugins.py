"""Tables from a name to `module:attribute`: built-in parts, and capabilities, built in or installed by others. All load when they are first needed."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # typing itself would cost `--help` as much as all the rest
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PARTS = {
    "provider.chat": "neuralclaw.providers.chat_completions:ChatProvider",
    "provider.responses": "neuralclaw.providers.responses:ResponsesProvider",
    "provider.messages": "neuralclaw.providers.anthropic_messages:MessagesProvider",
    "provider.ollama": "neuralclaw.providers.ollama:OllamaProvider",
    "provider.local": "neuralclaw.providers.local:LocalProvider",
    "provider.fallback": "neuralclaw.providers.fallback:FallbackProvider",
    "provider.plain_tools": "neuralclaw.providers.plain_tools.wrapper:PlainTools",
    "provider.direct": "neuralclaw.providers.direct_call:DirectProvider",
    "provider.offline": "neuralclaw.providers.offline:OfflineProvider",
    "provider.metered": "neuralclaw.providers.metered:MeteredProvider",
    "provider.accounted": "neuralclaw.providers.metered:AccountedProvider",
    "budget.account": "neuralclaw.app.budget.turn_account:account_of",
    "budget.check": "neuralclaw.app.budget.turn_account:check_priced",
    "budget.report": "neuralclaw.app.budget.cost_report:cost_report",
    "budget.lines": "neuralclaw.app.budget.cost_report:cost_lines",
    "budget.caps": "neuralclaw.app.budget.turn_account:caps_of",
    "provider.retry": "neuralclaw.providers.retry:RetryProvider",
    "provider.retry_policy": "neuralclaw.providers.retry:RetryPolicy",
    "provider.resolve": "neuralclaw.providers.known_services:resolve",
    "provider.described": "neuralclaw.providers.known_services:described",
    "provider.lacks_key": "neuralclaw.providers.known_services:lacks_key",
    "provider.is_local": "neuralclaw.providers.known_services:is_local",
    "provider.services_with": "neuralclaw.providers.model_sources:services_with",
    "provider.usable": "neuralclaw.providers.model_sources:usable",
    "provider.models_of": "neuralclaw.providers.model_sources:models_of",
    "provider.refused_key": "neuralclaw.providers.service_errors:refused_key",
    "provider.info": "neuralclaw.providers.models:info",
    "provider.shipped": "neuralclaw.providers.models:shipped",
    "provider.unsupported_options": "neuralclaw.providers.models:unsupported_options",
    "provider.names": "neuralclaw.providers.known_services:names",
    "provider.variable": "neuralclaw.providers.known_services:variable",
    "provider.model_file": "neuralclaw.providers.local_file:read_model_file",
    "provider.successor": "neuralclaw.providers.models:successor",
    "provider.known": "neuralclaw.providers.known_services:KNOWN",
    "provider.with_key": "neuralclaw.providers.known_services:with_key",
    "secrets.formats": "neuralclaw.secrets:Redactor",
    "secrets.store": "neuralclaw.app.secret_store.opened_store:secret_store",
    "sandbox": "neuralclaw.sandbox.choice:ChosenSandbox",
    "sandbox.container": "neuralclaw.sandbox.container.sandbox:ContainerSandbox",
    "sandbox.container_options": "neuralclaw.sandbox.container.container_options:ContainerOptions",
    "sandbox.build": "neuralclaw.sandbox.container.image:build",
    "converter": "neuralclaw.sandbox.converter:ChildConverter",
    "net": "neuralclaw.sandbox.net:HttpNet",
    "web": "neuralclaw.sandbox.web_client:WebClient",
    "explain": "neuralclaw.app.explain:explain",
    "config.example": "neuralclaw.config.example:example",
    "config.services": "neuralclaw.config.example:of_table",
    "config.checked": "neuralclaw.config.change:Checked",
    "config.set": "neuralclaw.config.change:set_key",
    "config.verbs": "neuralclaw.app.config_verbs:ConfigVerbs",
    "policy_file": "neuralclaw.config.policyfile:read",
    "policy.simulate": "neuralclaw.app.simulation.simulated_policy:simulate",
    "policy.suggest": "neuralclaw.app.simulation.rule_suggestions:suggest",
    "policy.suggested": "neuralclaw.app.simulation.simulation_text:suggestion_lines",
    "policy.rule_lines": "neuralclaw.app.simulation.simulation_text:rule_lines",
    "policy.selection": "neuralclaw.app.simulation.simulated_policy:selection",
    "policy.simulated": "neuralclaw.app.simulation.simulation_text:simulation_lines",
    "shell": "neuralclaw.safety.shell:analyse",
    "rules.examples": "neuralclaw.app.example_tools:failed_examples",
    "rules": "neuralclaw.safety.catalogue:in_force",
    "capabilities.names": "neuralclaw.app.capability_problems:TakenNames",
    "capabilities.problem": "neuralclaw.app.capability_problems:problem_of",
    "capabilities.no_provider": "neuralclaw.app.wrapped_provider:no_provider",
    "channel.desk": "neuralclaw.runtime.channel_desk:ChannelDesk",
    "services.run": "neuralclaw.app.background_work:run_services",
    "open.client": "neuralclaw.app.desk_client:open_client",
    "open.settings": "neuralclaw.app.settings_verbs:settings_desk",
    "open.record": "neuralclaw.app.reader:reader",
    "status": "neuralclaw.app.status:Status",
    "doctor": "neuralclaw.app.health_checks:checks",
    "doctor.prove": "neuralclaw.app.proof.live_checks:prove",
    "models.unknown": "neuralclaw.app.models.model_names:unknown_model",
    "models.trial_text": "neuralclaw.app.trials.trial_text:text_of",
    "models.trial_line": "neuralclaw.app.trials.trial_text:progress_line",
    "models.trial_failures": "neuralclaw.app.trials.trial_text:failures_of",
    "record.verbs": "neuralclaw.app.session_verbs:session_verbs",
    "record.search": "neuralclaw.app.record.session_search:SessionSearch",
    "record.export": "neuralclaw.app.record.session_export:export_session",
    "record.exported": "neuralclaw.app.record.record_text:exported_text",
    "sessions.export": "neuralclaw.cli.export_output:export",
    "record.deleted": "neuralclaw.app.record.record_text:deleted_lines",
    "sessions.confirm": "neuralclaw.cli.delete_confirmation:confirmed",
    "record.edits": "neuralclaw.app.record.session_edits:SessionEdits",
    "record.renamed": "neuralclaw.app.record.record_text:renamed_lines",
    "record.fork": "neuralclaw.app.record.session_fork:fork_session",
    "record.forked": "neuralclaw.app.record.record_text:forked_lines",
    "replay.session": "neuralclaw.app.replay.session_replay:replay_session",
    "record.import": "neuralclaw.app.record.session_import:import_session",
    "record.imported": "neuralclaw.app.record.record_text:imported_lines",
    "record.compact": "neuralclaw.app.record.session_compaction:compact_session",
    "record.compacted": "neuralclaw.app.record.record_text:compacted_lines",
    "compaction.summarizer": "neuralclaw.app.equip:summarizer",
    "record.giving": "neuralclaw.app.record.giving_grants:GivingGrants",
    "record.given": "neuralclaw.app.record.record_text:given_lines",
    "record.answering": "neuralclaw.app.record.answering_verbs:AnsweringVerbs",
    "record.session": "neuralclaw.app.record.record_text:session_lines",
    "record.cancelled": "neuralclaw.app.record.record_text:cancelled_lines",
    "record.waiting": "neuralclaw.app.record.record_text:waiting_row",
    "record.question": "neuralclaw.app.record.record_text:question_lines",
    "record.answered": "neuralclaw.app.record.record_text:answered_lines",
    "record.grants": "neuralclaw.app.record.record_text:grant_lines",
    "record.revoked": "neuralclaw.app.record.record_text:revoked_lines",
    "anchor.written": "neuralclaw.app.record.anchor_places:written_places",
    "anchor.messages": "neuralclaw.app.record.anchor_message:send_marks",
    "anchor.check": "neuralclaw.app.record.anchor_message:check_text",
    "record.queries": "neuralclaw.app.record.record_capabilities:queries_of",
    "anchor.known": "neuralclaw.app.record.anchor_places:known_places",
    "anchor.of_home": "neuralclaw.app.record.anchor_places:places_of_home",
    "record.anchored": "neuralclaw.app.record.record_text:anchored_lines",
    "record.decided": "neuralclaw.app.record.record_text:decided_lines",
    "record.why": "neuralclaw.app.record.why_allowed:explain_call",
    "record.verified": "neuralclaw.app.record.record_text:verified_lines",
    "record.header": "neuralclaw.app.record.record_text:header_row",
    "later_run.guard": "neuralclaw.sandbox.later_run.place_guard:PlaceGuard",
    "later_run.recorder": "neuralclaw.app.later_run.place_recorder:PlaceRecorder",
    "reading.sessions": "neuralclaw.app.reading.desk_readings:DeskReadings",
    "reading.equipment": "neuralclaw.app.reading.reading_turn:reading_equipment",
    "hooks": "neuralclaw.app.hooks.hook_programs:HookPrograms",
    "hooks.named": "neuralclaw.app.hooks.hook_programs:named",
    "hooks.notices": "neuralclaw.app.hooks.hook_programs:notices",
    "hooks.look": "neuralclaw.app.hooks.hook_programs:look",
    "hooks.trial": "neuralclaw.app.hooks.hook_trial:try_hook",
    "hooks.trial_lines": "neuralclaw.app.hooks.hook_trial:trial_lines",
    "hooks.pin": "neuralclaw.config.hook_pins:pin_hook",
    "hooks.files": "neuralclaw.app.hooks.hook_programs:files_of",
    "backup.make": "neuralclaw.app.backup.home_backup:back_up",
    "backup.restore": "neuralclaw.app.backup.home_restore:restore",
    "backup.made": "neuralclaw.app.backup.backup_text:backup_lines",
    "backup.restored": "neuralclaw.app.backup.backup_text:restore_lines",
    "undo.recorder": "neuralclaw.app.undo.change_recorder:ChangeRecorder",
    "undo.verbs": "neuralclaw.app.undo.undo_verbs:UndoVerbs",
    "undo.report": "neuralclaw.app.undo.change_text:report_lines",
    "undo.diff": "neuralclaw.app.undo.change_text:diff_lines",
    "tools.verbs": "neuralclaw.app.tool_commands.tool_verbs:ToolVerbs",
    "tools.row": "neuralclaw.app.tool_commands.tool_text:tool_row",
    "tools.described": "neuralclaw.app.tool_commands.tool_text:tool_lines",
    "verbs.input": "neuralclaw.cli.verb_input:with_input",
    "verbs.progress": "neuralclaw.cli.verb_progress:run_verb",
    "models.try": "neuralclaw.app.trials.trial_verb:try_models",
    "models.trial_request": "neuralclaw.app.trials.trial_verb:trial_request",
    "gate.for_settings": "neuralclaw.app.setup.procedure:gate_of",
    "chat.early_input": "neuralclaw.channels.early_input:early_input",
    "chat.rows": "neuralclaw.cli.slash_rows:slash_commands",
    "chat.options": "neuralclaw.cli.slash_rows:options_of",
    "chat.live": "neuralclaw.cli.livechat:LiveChat",
    "sessions.send": "neuralclaw.cli.turn_control:send",
    "chat.open": "neuralclaw.cli.open_chat:open_chat",
}


class BuiltInCapability:
    """What is known of a built-in capability without importing it. `nouns`: noun -> a line for `--help`; `settings`: it has a section.

    `verbs`: the names of all its verbs. `parts`: which other fields of the value are not empty; where it is None, the capability is imported by
    whoever asks for any.
    """

    def __init__(
        self, target: str, nouns: Mapping[str, str] | None = None, settings: bool = False, verbs: tuple[str, ...] = (), parts: frozenset[str] | None = None
    ) -> None:
        self.target, self.nouns, self.settings, self.verbs, self.parts = target, nouns or {}, settings, verbs, parts

    def brings(self, part: str) -> bool:
        """Whether the value may have this part: `verbs`, `settings`, `tools` …"""
        known = {"verbs": bool(self.verbs), "settings": self.settings}
        return self.parts is None or known.get(part, part in self.parts)


def _commands(value: str, noun: str, verbs: tuple[str, ...], phrase: str) -> BuiltInCapability:
    """A capability that brings the verbs of one noun, and nothing else."""
    return BuiltInCapability(value, {noun: f"{', '.join(verbs)}: {phrase}"}, verbs=tuple(f"{noun}.{verb}" for verb in verbs), parts=frozenset())


_RECORD = "neuralclaw.app.record.record_capabilities"
CAPABILITIES: dict[str, BuiltInCapability] = {
    "documents": BuiltInCapability("neuralclaw.documents.document_formats:DOCUMENTS", parts=frozenset({"formats"})),
    "models": _commands(
        "neuralclaw.app.models.models_capability:MODELS",
        "models",
        ("list", "show", "try"),
        "which models there are, and what one achieves before you trust it",
    ),
    "sessions": _commands(
        f"{_RECORD}:SESSIONS",
        "sessions",
        ("list", "show", "search", "export", "send", "cancel", "rename", "fork", "import", "compact", "replay", "delete"),
        "what was said and done, and a word to it",
    ),
    "approvals": _commands(f"{_RECORD}:APPROVALS", "approvals", ("list", "show", "answer"), "questions that wait for you"),
    "grants": _commands(
        "neuralclaw.app.record.grants_capability:GRANTS", "grants", ("list", "add", "revoke"), "the answers that hold for a session or a workspace"
    ),
    "tools": _commands(
        "neuralclaw.app.tool_commands.tools_capability:TOOLS",
        "tools",
        ("list", "show", "call"),
        "what the agent can do, each call through the gate",
    ),
    "sandbox": _commands(
        "neuralclaw.app.containers.containers_capability:SANDBOX",
        "sandbox",
        ("build",),
        "the image of the container sandbox",
    ),
    "cost": BuiltInCapability(
        "neuralclaw.app.budget.budget_capability:BUDGET", {"cost": "Tokens and money by day, session and model."}, verbs=("cost",), parts=frozenset()
    ),
    "audit": BuiltInCapability(
        "neuralclaw.app.record.audit_capability:AUDIT",
        {"audit": "verify, anchor, show, export: the record of everything"},
        settings=True,
        verbs=tuple(f"audit.{verb}" for verb in ("verify", "anchor", "show", "export")),
        parts=frozenset({"events", "services"}),
    ),
    "undo": BuiltInCapability(
        "neuralclaw.app.undo.undo_capability:UNDO",
        {
            "undo": "Bring back the files that a turn changed, those of its commands too.",
            "redo": "Take back the newest undo.",
            "diff": "What a turn changed in files.",
        },
        settings=True,
        verbs=("undo", "redo", "diff"),
        parts=frozenset({"events"}),
    ),
    "backup": BuiltInCapability(
        "neuralclaw.app.backup.backup_capability:BACKUP",
        {
            "backup": "Copy the home, beside running processes too, and verify the copy.",
            "restore": "Bring the home to what a backup holds; what was there before is kept beside it.",
        },
        verbs=("backup", "restore"),
        parts=frozenset({"events"}),
    ),
    "hooks": BuiltInCapability(
        "neuralclaw.app.hooks.hooks_capability:HOOKS",
        {"hooks": "list, pin, test: programs before and after turns, tools and approvals"},
        verbs=("hooks.list", "hooks.pin", "hooks.test"),
        parts=frozenset({"checks"}),
    ),
    "flow": BuiltInCapability("neuralclaw.app.flow.labelled_files:FLOW", parts=frozenset({"tables"})),
    "later_run": BuiltInCapability("neuralclaw.app.later_run.later_run_events:LATER_RUN", parts=frozenset({"events"})),
    "secrets": _commands(
        "neuralclaw.app.secret_store.secrets_capability:SECRETS",
        "secrets",
        ("set", "list", "remove", "scrub"),
        "store keys and passwords encrypted; remove them from texts",
    ),
}
"""The built-in capabilities, in the order in which their providers wrap one another, the innermost first."""

GROUP = "neuralclaw"
"""The group of entry points by which a package brings capabilities."""
GROUPS = {
    "run": "run",
    "chat": "chat",
    "recover": "recover",
    "init": "init",
    "doctor": "doctor",
    "config": "config",
    "sessions": "session_commands",
    "tools": "tool_commands",
    "policy": "policy",
    "completion": "completion",
}
"""Noun -> the file of `cli` that has its commands. Those of other nouns are the rows of their capabilities."""
NOUNS = frozenset(
    [
        *GROUPS,
        *"help status instructions new resume approve deny queue stop model trust cost clear exit quit".split(),
        *"soul personality mode compact fork export".split(),
    ]
)
"""First words of commands and slash commands that are taken, or promised as slash commands, besides those that `CAPABILITIES` names."""


class InstalledCapability:
    """An entry point of the group: `target` is `module:attribute`, `distribution` the package that brings it, `version` the package's."""

    def __init__(self, name: str, target: str, distribution: str, version: str) -> None:
        self.name, self.target, self.distribution, self.version = name, target, distribution, version

    def load(self) -> Any:
        """What the entry point names. Imports the package's code, and raises whatever that raises."""
        module, _, attributes = self.target.partition(":")
        found: Any = import_module(module.strip())
        for attribute in attributes.partition("[")[0].strip().split("."):
            found = getattr(found, attribute)
        return found


def installed() -> list[InstalledCapability]:
    """Every capability that a package brings, enabled or not, by name. Reads the metadata of all packages: some milliseconds for each hundred."""
    from importlib.metadata import entry_points  # 20 ms, needed only where a capability is enabled or asked about

    found = [
        InstalledCapability(point.name, point.value, (point.dist and point.dist.name) or "", (point.dist and point.dist.version) or "")
        for point in entry_points(group=GROUP)
    ]
    return sorted(found, key=lambda one: one.name)


def load(name: str) -> Any:
    """The part of that name. Raises `KeyError` for a name that is not in the table."""
    return load_target(PARTS[name])


def load_target(target: str) -> Any:
    """What `module:attribute` names."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)
