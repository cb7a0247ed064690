"""The settings as frozen values: every key of `config.yaml`, its type, its range and its default.

A default stands here and nowhere else. None means "not set"; seconds, milliseconds, tokens, characters and USD are named in the key
or beside it. Paths are as the person wrote them; `translate` makes them absolute.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..types.hooks import HookDefinition
from ..types.options import OwnerRule, Positive
from ..types.risk import Risk
from .descriptions import descriptions, structs

NonNegative = Annotated[int, Meta(ge=0)]


Amount = Annotated[float, Meta(ge=0)]


Seconds = Annotated[float, Meta(gt=0)]


Share = Annotated[float, Meta(ge=0, le=1)]


class SettingsSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all sections: unknown keys are errors."""


class AgentSection(SettingsSection, frozen=True, kw_only=True):
    """The turn and its breakers. `max_conversation_messages` 0: no such limit."""

    name: str = "NeuralClaw"
    max_iterations_per_turn: Positive = 10
    max_turn_timeout_seconds: Seconds = 300
    max_repeated_calls: Annotated[int, Meta(ge=2)] = 2
    max_consecutive_errors: Positive = 3
    """Errors in a row that end a turn once the model has read one of them; 1: the first error ends it."""
    max_conversation_messages: NonNegative = 0
    max_tool_result_chars: Annotated[int, Meta(ge=200)] = 40_000
    """Characters of a result that the model reads; the numbers of a file's lines may add a quarter, and a note says how to go on."""
    max_sessions: Positive = 1000
    mode: Literal["auto", "direct", "deliberate"] = "auto"
    evaluation_threshold: Annotated[int, Meta(ge=0, le=100)] = 80
    max_retries: NonNegative = 2
    reflection: Literal["off", "deliberate", "always"] = "deliberate"
    personality: str | None = None
    default_trust_level: Literal["low", "medium", "high"] = "low"
    environment_snapshot: bool = True
    """Whether the model is told workspace, processes, memory, disk, battery and uptime before every call."""
    project_instructions: bool = True
    """Whether the model is told what `AGENTS.md` of the workspace, and of the directories above it, says."""


class ContextSection(SettingsSection, frozen=True, kw_only=True):
    """Tokens of each part of a model request, for a window of 128,000."""

    system_prompt: NonNegative = 2000
    tool_schemas: NonNegative = 3000
    long_term_mem: NonNegative = 5000
    conversation: NonNegative = 10_000
    tool_results: NonNegative = 5000
    current_msg: NonNegative = 2000
    response: Positive = 4096


class AttemptsSection(SettingsSection, frozen=True, kw_only=True):
    """How often a failed model call is tried in all, and the bounds of the wait between two tries."""

    attempts: Positive = 3
    min_seconds: Amount = 2
    max_seconds: Amount = 30


class ModelPriceSection(SettingsSection, frozen=True, kw_only=True, omit_defaults=True):
    """USD per million tokens. `cached` None: as `input`."""

    input: Amount
    output: Amount
    cached: Amount | None = None


class ModelSection(SettingsSection, frozen=True, kw_only=True, omit_defaults=True):
    """What the owner says of a model; None leaves it to the table that comes with the program. `context` in tokens.

    `tools`: native calls (true), as JSON in the prompt (false), or `none`.
    """

    context: Positive | None = None
    tools: bool | Literal["none"] | None = None
    images: bool | None = None
    price: ModelPriceSection | None = None


class ServiceSection(SettingsSection, frozen=True, kw_only=True, omit_defaults=True):
    """A model service under `llm.providers`. None leaves a value to what is built in for a service of that name, and is not written out."""

    api: Literal["chat", "responses", "messages", "ollama"] | None = None
    base_url: str | None = None
    api_key: str | None = None
    models: dict[str, ModelSection] = {}


class LlmSection(SettingsSection, frozen=True, kw_only=True):
    """Which model answers and how. `default_provider` None: chosen by `choose_model`."""

    default_provider: str | None = None
    default_model: str | None = None
    fallback: tuple[str, ...] = ()
    """Models as `provider:model` that are asked in this order when the chosen one is out."""
    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.7
    max_tokens: Positive = 4096
    top_p: Share = 1.0
    timeout_seconds: Seconds = 120
    retry: AttemptsSection = AttemptsSection()
    providers: dict[str, ServiceSection] = {}


class CompactionSection(SettingsSection, frozen=True, kw_only=True):
    """When old conversation is summarised: from `entries` entries or `tokens` tokens on, the oldest `summarise` entries."""

    entries: Positive = 50
    summarise: Positive = 20
    tokens: Positive = 100_000


class MemorySection(SettingsSection, frozen=True, kw_only=True):
    """`relevance_threshold` is a cosine distance: smaller is nearer."""

    embedding_model: str = "all-MiniLM-L6-v2"
    max_short_term_turns: Positive = 20
    relevance_threshold: Annotated[float, Meta(ge=0, le=2)] = 0.85
    results: Positive = 5
    compaction: CompactionSection = CompactionSection()


class BrowserSection(SettingsSection, frozen=True, kw_only=True):
    headless: bool = True
    user_agent: str = "Mozilla/5.0 (compatible; NeuralClaw/1.0)"
    timeout_ms: Positive = 15_000


class ContainerSection(SettingsSection, frozen=True, kw_only=True):
    """Limits of the container sandbox; `workspace` is how the workspace is mounted. A container that runs nothing for `idle_seconds` is removed."""

    cpus: Seconds = 1
    memory_mb: Positive = 512
    pids: Positive = 128
    tmpfs_mb: Positive = 64
    workspace: Literal["rw", "ro"] = "rw"
    idle_seconds: Seconds = 900


class TerminalSection(SettingsSection, frozen=True, kw_only=True):
    working_dir: str | None = None
    default_timeout_seconds: Seconds = 30
    shell: Literal["parsed", "strict"] = "parsed"
    sandbox: Literal["auto", "container", "bubblewrap", "landlock", "process"] = "auto"
    docker_image: Annotated[str, Meta(pattern=r"^[^\s-]\S*$", description="the name of an image, without blanks, and without - at its beginning")] = (
        "neuralclaw-runner:latest"
    )
    container: ContainerSection = ContainerSection()
    max_output_chars: Annotated[int, Meta(ge=200)] = 20_000


class FilesystemSection(SettingsSection, frozen=True, kw_only=True):
    """Directories besides the workspace, absolute or beginning with `~`."""

    allowed_paths: tuple[str, ...] = ()


class ToolsSection(SettingsSection, frozen=True, kw_only=True):
    browser: BrowserSection = BrowserSection()
    terminal: TerminalSection = TerminalSection()
    filesystem: FilesystemSection = FilesystemSection()


class SafetySection(SettingsSection, frozen=True, kw_only=True):
    default_permission_level: Literal["read", "write", "execute"] = "read"
    require_confirmation_for: tuple[Risk, ...] = (Risk.HIGH, Risk.CRITICAL)
    terminal_whitelist_extra: tuple[str, ...] = ()
    unlisted_commands: Literal["ask", "forbid"] = "ask"
    rules: tuple[OwnerRule, ...] = ()


class BudgetSection(SettingsSection, frozen=True, kw_only=True):
    """Caps; None: no cap. The day is counted in `scheduler.timezone`."""

    turn_usd: Amount | None = None
    session_usd: Amount | None = None
    day_usd: Amount | None = None
    turn_tokens: Positive | None = None


class McpServerSection(SettingsSection, frozen=True, kw_only=True):
    """A server of the Model Context Protocol. `command` and `args` for stdio, `url` and `headers` for http and sse."""

    transport: Literal["stdio", "http", "sse"] = "stdio"
    command: str | None = None
    args: tuple[str, ...] = ()
    url: str | None = None
    headers: dict[str, str] = {}
    env: dict[str, str] = {}
    enabled: bool = True
    timeout_seconds: Seconds = 30
    sandbox: bool | Literal["auto"] = "auto"


class McpSection(SettingsSection, frozen=True, kw_only=True):
    servers: dict[str, McpServerSection] = {}


class TelegramSection(SettingsSection, frozen=True, kw_only=True):
    """Filled from `TELEGRAM_BOT_TOKEN` and `TELEGRAM_USER_ID` where the file does not say otherwise."""

    bot_token: str | None = None
    authorized_user_ids: tuple[int, ...] = ()


class SchedulerSection(SettingsSection, frozen=True, kw_only=True):
    timezone: str = "UTC"
    max_concurrent_tasks: Positive = 3


class LoggingSection(SettingsSection, frozen=True, kw_only=True):
    """`log_dir` None: `logs` in the data directory."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "INFO"
    log_dir: str | None = None
    max_file_size_mb: Positive = 100
    backup_count: NonNegative = 5


class PromptsSection(SettingsSection, frozen=True, kw_only=True):
    use_overrides: bool = False


class ApprovalsSection(SettingsSection, frozen=True, kw_only=True):
    expire_days: Seconds = 7


class CapabilitiesSection(SettingsSection, frozen=True, kw_only=True):
    """Which installed capabilities take part."""

    enabled: tuple[str, ...] = ()
    """Names of capabilities that installed packages bring; `neuralclaw doctor` lists them."""


class Settings(SettingsSection, frozen=True, kw_only=True):
    """All settings of NeuralClaw, as `config.yaml` holds them."""

    agent: AgentSection = AgentSection()
    context: ContextSection = ContextSection()
    llm: LlmSection = LlmSection()
    memory: MemorySection = MemorySection()
    tools: ToolsSection = ToolsSection()
    safety: SafetySection = SafetySection()
    budget: BudgetSection = BudgetSection()
    mcp: McpSection = McpSection()
    telegram: TelegramSection = TelegramSection()
    scheduler: SchedulerSection = SchedulerSection()
    logging: LoggingSection = LoggingSection()
    prompts: PromptsSection = PromptsSection()
    approvals: ApprovalsSection = ApprovalsSection()
    capabilities: CapabilitiesSection = CapabilitiesSection()
    hooks: tuple[HookDefinition, ...] = ()
    """Programs of yours before and after turns, tools and approvals, a list: docs/hooks.md."""


def schema(root: type[msgspec.Struct] = Settings) -> dict[str, Any]:
    """The JSON Schema of `config.yaml`, for editors and `config schema`. `${NAME}` stands only where text may stand."""
    kinds = list(dict.fromkeys(structs(root)))
    references, definitions = msgspec.json.schema_components(kinds)
    for kind, reference in zip(kinds, references, strict=True):
        definition = definitions[reference["$ref"].rpartition("/")[2]]
        definition["additionalProperties"] = False  # what reads the settings refuses an unknown key, also of a capability's struct that says nothing of it
        properties = definition["properties"]
        for key, text in descriptions(kind).items():
            properties[key] = {"description": text, **properties[key]}
    named = msgspec.json.encode({**references[0], "$defs": definitions})
    for name in definitions:  # a definition has the name of its section alone, where nothing else has it
        if name.endswith("Section") and name.removesuffix("Section") not in definitions:
            named = named.replace(f'"{name}"'.encode(), f'"{name.removesuffix("Section")}"'.encode()).replace(
                f'/{name}"'.encode(), f'/{name.removesuffix("Section")}"'.encode()
            )
    found: dict[str, Any] = msgspec.json.decode(named)
    return found
