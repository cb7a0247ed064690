"""Numbers and choices that a turn runs under, as values: any process can continue with a turn from these."""

from typing import Annotated, Any, Literal

import msgspec

from .actions import Origin, Who
from .own_parts import ImportPlace
from .risk import Decision, Power, Risk, Tier, Trust

ApprovalsMode = Literal["ask", "none", "park", "auto"]
Positive = Annotated[int, msgspec.Meta(ge=1)]


class HistoryLimits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When the history in the requests of a session is shortened (row N4 and H14b). Tokens are for a window of 128,000; a smaller one scales them down."""

    messages: Positive = 50
    """More messages of people and answers than these, and the oldest are summarised; the steps between them do not count."""
    summarised: Positive = 20
    """So many of them."""
    request_tokens: Positive = 100_000
    """A request with more is halved; one that comes near the model's window too."""
    conversation_tokens: Annotated[int, msgspec.Meta(ge=0)] = 10_000
    """Of what was said, without calls and their results. 0: no such limit."""
    result_tokens: Annotated[int, msgspec.Meta(ge=0)] = 5_000
    """Of the results before the last three, which stay whole. 0: no such limit."""
    response_tokens: Positive = 4_096
    """Kept free in the window for the reply."""
    alone: bool = False
    """Each turn stands alone: what was before it is in none of its requests."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The circuit breakers of a turn (row M3). `seconds` is running time, summed over the runs of the turn, waiting for people not counted."""

    iterations: Positive = 10
    repeats: Positive = 2
    errors: Positive = 3
    seconds: Annotated[float, msgspec.Meta(gt=0)] = 300.0
    result_chars: Positive = 40_000
    window_turns: Annotated[int, msgspec.Meta(ge=0)] = 20
    """Turns of history in a request at most; when they are more, the older half is summarised. 0: no such limit."""
    max_messages: Annotated[int, msgspec.Meta(ge=0)] = 0
    """`agent.max_conversation_messages`: with more messages than these the older half is summarised, and that is said. 0: no such limit."""
    history: HistoryLimits = HistoryLimits()


class TurnOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one turn, kept in `turn.started`. `model` is `P:M`, in a message that is not sent yet "" for the default; `workspace` is absolute and
    real."""

    model: str
    workspace: str
    soul: str = ""
    trust: Trust = Trust.LOW
    approvals: ApprovalsMode = "none"
    limits: Limits = Limits()
    origin: Origin = Origin()
    budget_usd: float | None = None
    schema: dict[str, Any] | None = None
    mode: Literal["auto", "direct", "deliberate"] = "auto"
    tools: tuple[str, ...] | None = None
    """The tools that are offered and may be called, by their own names; None: all."""
    purpose: Literal["task", "reading"] = "task"
    """`reading`: the turn has no tools and no context, and its answer is a value that fits `schema`."""
    refusals: Literal["count", "ignore"] = "count"
    """Whether a call that was refused decides the status of a turn that continued and answered."""


class StartOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the starter of a run wants of it. None is as the turn has it on record; what is given holds for this run alone and is not recorded."""

    approvals: ApprovalsMode | None = None
    present: bool | None = None
    """Whether a person can answer now. None at a turn that is continued: nobody is there."""
    retry: bool = False
    """One more try of a turn that was set aside."""
    seconds: float | None = None
    """Running time at most, in place of the recorded limit."""
    iterations: int | None = None
    """Model calls at most, in place of the recorded limit."""
    budget_usd: float | None = None
    """What the turn may cost at most, in place of the recorded cap."""
    one_turn: bool = False
    """Nobody stays to see more than one turn: messages that wait behind it are left to who follows them, or recovers the home."""


class RuleExample(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call that an owner's rule must match, or must not match: one of `command`, `url`, `path` and `tool`, in these circumstances."""

    command: str | None = None
    url: str | None = None
    """An address, or a host name alone."""
    path: str | None = None
    op: Literal["read", "list", "write", "delete"] | None = None
    """What is done with the path; `read` where nothing is said."""
    tool: str | None = None
    args: dict[str, Any] = msgspec.field(default_factory=dict)
    """The arguments of `tool`."""
    workspace: str | None = None
    label: str | None = None
    soul: str | None = None
    who: Who | None = None
    present: bool | None = None
    channel: str | None = None


class OwnerRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule of the owner (`safety.rules`). Every condition that is set must match.

    `command` is a program with its subcommand and options (`git push`), `path` a directory or file, `host` a host name, `tool` a tool's name, `power` one that
    the call has. `label` is a label of what was read, or the beginning of one (`external`, `external:web`); `workspace`, `soul`, `who`, `present` and `channel`
    are those of the session.
    """

    id: str
    decision: Decision
    reason: str = ""
    alternative: str | None = None
    """What to do instead, told with a refusal or a question."""
    tool: str | None = None
    command: str | None = None
    path: str | None = None
    host: str | None = None
    power: Power | None = None
    label: str | None = None
    soul: str | None = None
    who: Who | None = None
    present: bool | None = None
    channel: str | None = None
    workspace: str | None = None
    """The workspace of the call, an absolute path or one that begins with `~/`."""
    exact: bool = False
    """With `command`: the command has these words and no others."""
    inside: bool = False
    """With `allow` and `host`: the host, as it is written there, may lie into a private network or to this machine. A network address, and a name such as
    `localhost` or `nas.local`, can mean nothing else and needs no word; any other name needs this one, as its owner could lead it inside."""
    match: tuple[str | RuleExample, ...] = ()
    """Examples that the rule must match, looked at when the rules are loaded. A text is a command, an address, a path or a tool's name: the first of them that
    the rule names."""
    not_match: tuple[str | RuleExample, ...] = ()
    """Examples that the rule must not match."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What the owner configured for the gate, as values (`safety.*`, `tools.terminal.*`, `tools.filesystem.*`)."""

    default_permission_level: Tier = Tier.READ
    require_confirmation_for: tuple[Risk, ...] = (Risk.HIGH, Risk.CRITICAL)
    programs: tuple[str, ...] = ()
    """The allowlist of the terminal, the owner's extras included."""
    unlisted_commands: Literal["ask", "forbid"] = "ask"
    shell: Literal["parsed", "strict"] = "parsed"
    rules: tuple[OwnerRule, ...] = ()
    allowed_paths: tuple[str, ...] = ()
    """Absolute and real, besides the workspace."""
    protected_paths: tuple[str, ...] = ()
    """Never a writable root unasked: the data home, the person's home directory, `/`."""
    expire_days: float = 7.0
    secrets: tuple[str, ...] = ()
    """Names of the stored secrets, which calls may be given by reference."""
    own_places: tuple[str, ...] = ()
    """The program of the agent itself, absolute and real: read and never written, unless the workspace lies there."""
    own_imports: tuple[ImportPlace, ...] | msgspec.UnsetType = msgspec.UNSET
    """Where the agent's program imports from besides these: `PYTHONPATH`, what `.pth` files name, editable installations."""
    hook_files: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Files of the owner's hooks, which no call changes. Unset where there are none, so that the policy is the one of earlier versions."""
    home_dir: str = ""
    """The person's home directory, absolute and real; it is in `protected_paths` too. "": not known."""


def encoded_policy(policy: Policy) -> bytes:
    """The policy as JSON: the same bytes for the same policy, whose SHA-256 names it."""
    return _encode_policy(policy)


_encode_policy = msgspec.json.Encoder(order="deterministic").encode
