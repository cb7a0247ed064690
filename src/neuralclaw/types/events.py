"""The one tagged union of events. The durable ones are the journal's entries; the others pass and are gone.

Field names are promises of INTERFACE.md. A change of a durable body's shape raises its number in `codec.VERSIONS` and adds an upcast there.
"""

from typing import Any, Literal

import msgspec

from .claims import AnswerClaim
from .compaction_event import Compaction as Compaction
from .event_body import Body as Body
from .grant_events import GrantGiven as GrantGiven
from .grant_events import GrantRevoked as GrantRevoked
from .grant_events import GrantUsed as GrantUsed
from .hooks import HookEvent, HookOutcome
from .import_event import SessionImported as SessionImported
from .messages import ContentPart, Image, ReasoningState, StopReason, ToolCall, Usage
from .options import TurnOptions
from .questions import AnswerDecision, Covers, Shown
from .risk import Decision, Effect, Risk, Tier
from .tools import FileChange, LinkOrigin

TurnStatus = Literal["done", "failed", "cancelled", "limit", "denied", "needs_approval", "timed_out"]
LimitKind = Literal["iterations", "repeats", "errors", "time", "budget", "messages", "output"]


class Inbound(Body, frozen=True, kw_only=True, tag="inbound"):
    """A person's or program's message. `key` makes it unique in the home; `queued`: it waits for the end of a running turn.

    One that is not queued belongs to the turn of its entry: it begins that turn, or steers it where it runs. `options` are what its turn
    shall run with when it begins one (None: those of the session's last turn).
    `by`: for whom it speaks. `sender`: who said it, by the channel's own id. `channel`: the name of the channel it came through, "" for a program's own
    call. `address`: where in the channel the conversation is, such as a chat's id. They say where a message came from and decide nothing.
    """

    text: str
    key: str
    by: str
    queued: bool = False
    images: tuple[Image, ...] = ()
    options: TurnOptions | None = None
    reply_to: str | None = None
    """Address within `channel` that the answer is delivered to; None: `address`, where a channel sends it and does not follow its turn, else whoever reads
    the events. "": nobody but them."""
    sender: str = ""
    channel: str = ""
    address: str = ""
    content_labels: tuple[str, ...] = ()
    """Labels of content that the text has beside the sender's own words. They join those of the entry."""


class Cancel(Body, frozen=True, kw_only=True, tag="cancel"):
    """Stops the turn that is open, else withdraws the oldest message that waits. With `message`, an entry number, what that message began or will begin."""

    by: str
    message: int | None = None


class Erased(Body, frozen=True, kw_only=True, tag="erased"):
    entries: tuple[int, ...]
    by: str
    deleted: bool = False  # the session is no more; what comes later under its name begins anew


class SessionRenamed(Body, frozen=True, kw_only=True, tag="session.renamed"):
    """The session has another title from this entry on."""

    title: str
    by: str


class SessionForked(Body, frozen=True, kw_only=True, tag="session.forked"):
    """The session goes on from the end of turn `turn` of the session `source`, which is its entry `entry`. The entries behind this one, up to the end of a
    turn of the same number, are copies of what its requests are made of."""

    source: str
    turn: int
    entry: int
    by: str


class TurnStarted(Body, frozen=True, kw_only=True, tag="turn.started"):
    """`inbound` is the entry number of the message that began it; `digests` are of what the turn really used: `settings`, `policy`,
    `prompt`, `tools`, and `instructions` where sources told any; none for a turn that ended before it was equipped.

    `stored`: SHA-256 of what the store keeps, once: what is in each of its requests, `system` (the system prompt, UTF-8) and `tools` (the list of
    `ToolDef`, JSON), and the `policy` (JSON). `history_from`: the entry that the messages of its first request are read from.
    """

    text: str
    images: tuple[Image, ...] = ()
    model: str
    soul: str
    origin: str
    options: TurnOptions
    inbound: int
    digests: dict[str, str] = msgspec.field(default_factory=dict)
    stored: dict[str, str] = msgspec.field(default_factory=dict)
    history_from: int = 0


class Message(Body, frozen=True, kw_only=True, tag="message"):
    """A reply of the model `model` (`P:M`, as it was asked). `seen`: highest entry number that was in its request; `ran_ms`: running time of the
    turn so far. `served`: the name that the service itself gave of the model, where it is another (`gpt-4o-2024-11-20`).

    `environment`: SHA-256 of the snapshot (UTF-8, kept by the store) that was at the end of its request, "" where there was none. `stop` is
    `length` or `cancelled` where the text was cut off, by the model's output limit or because the turn was stopped. `copied`: it is the copy in a fork, and
    what it cost counts where it was said first.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    stop: StopReason
    model: str
    served: str = ""
    usage: Usage
    reasoning: str = ""
    state: ReasoningState | None = None
    seen: int = 0
    ran_ms: int = 0
    environment: str = ""
    copied: bool = False


class Nudge(Body, frozen=True, kw_only=True, tag="nudge"):
    """What the loop itself tells the model: asked once to continue after a promise without a call (row M2)."""

    text: str


class DecisionMade(Body, frozen=True, kw_only=True, tag="decision"):
    call_id: str
    name: str
    decision: Decision
    risk: Risk
    tier: Tier
    reasons: tuple[str, ...] = ()
    hash: str = ""
    by: str = "policy"
    """Whose word let it run or stopped it: `policy`, or the `by` of an answer."""
    rules: tuple[str, ...] = ()
    """The ids of the rules that matched, strictest first; entries of older versions have none."""
    policy: str = ""
    """SHA-256 (hex) of the policy that it was judged under; entries of older versions do not tell."""


class ToolStarted(Body, frozen=True, kw_only=True, tag="tool.started"):
    """A call begins. `attempt` counts the runs of the same call: from 2 on an earlier one began and nobody saw its end."""

    call_id: str
    name: str
    arguments: dict[str, Any]
    risk: Risk
    tier: Tier
    effect: Effect
    before: dict[str, str | None] = msgspec.field(default_factory=dict)
    """SHA-256 of each file to change as it was judged (None: not there): what a probe compares with after a crash."""
    attempt: int = 1


class ToolFinished(Body, frozen=True, kw_only=True, tag="tool.finished"):
    """`content` is what the model reads, shortened; `truncated` true: `read_result` has the rest. `refused`: the decision that kept it from running.

    `parts` are the same result as text, pictures and JSON values, where it was more than one text. `metadata` has at most as many characters of
    JSON as the content may have; of what was larger, `metadata_digest` is the SHA-256 of the whole (JSON), which the store keeps.
    Behind the content the model reads `note`, on lines of its own; where `first_line` is not 0 it reads the first `line_count` lines of the content
    behind their numbers.
    `child`: the session that did its work, whose `usage` counts for this turn too. `values_from`: the sources outside that chose the value that
    the content is, where reading mode gave it. `private`: it holds what was not read from public pages. `links`: which web addresses in it others wrote.
    """

    call_id: str
    name: str
    ok: bool
    content: str
    error: str | None = None
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    metadata_digest: str = ""
    duration_ms: int = 0
    truncated: bool = False
    refused: Decision | None = None
    parts: tuple[ContentPart, ...] = ()
    changes: tuple[FileChange, ...] = ()
    note: str = ""
    first_line: int = 0
    line_count: int = 0
    child: str = ""
    usage: Usage | None = None
    values_from: tuple[str, ...] = ()
    private: bool = True
    links: LinkOrigin = "none"


class ApprovalRequested(Body, frozen=True, kw_only=True, tag="approval.requested"):
    """A question to a person; `call_id` None: it is about no call. `hash` is that of the action as it was judged."""

    approval_id: str
    call_id: str | None = None
    kind: Literal["action", "form", "choice"] = "action"
    action: Shown
    risk: Risk | None = None
    tier: Tier | None = None
    summary: str = ""
    """One short sentence for a person: what would be done. `reasons` say why it asks."""
    reasons: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    choices: tuple[str, ...] = ("once", "session", "always", "no")
    covers: Covers = Covers()
    schema: dict[str, Any] | None = None
    expires: str
    """RFC 3339, UTC."""
    hash: str = ""
    scopes: tuple[dict[str, str], ...] = ()
    workspace: str = ""
    """Where an `always` counts: the real directory of the turn."""


class ApprovalResolved(Body, frozen=True, kw_only=True, tag="approval.resolved"):
    """The answer to a question. `text`: what the person said with a no; the model reads it.

    `process` took it (`pid 123`), through `channel` where that is one; both are "" where the program itself answered, and in entries of older versions.
    """

    approval_id: str
    decision: AnswerDecision | None
    by: str
    value: dict[str, Any] | None = None
    text: str | None = None
    process: str = ""
    channel: str = ""


class HookRan(Body, frozen=True, kw_only=True, tag="hook.ran"):
    """A hook of the owner ran, or could not run. `blocks`: what it is about does not go on. `run_id`: the same for the same hook and input, also after a
    crash. `digest`: the SHA-256 that it is pinned by; `exit_code` None: it did not run to its end.
    """

    hook: str
    event: HookEvent
    run_id: str
    outcome: HookOutcome
    blocks: bool
    reason: str = ""
    exit_code: int | None = None
    duration_ms: int = 0
    digest: str = ""
    call_id: str | None = None
    approval_id: str | None = None


class LimitHit(Body, frozen=True, kw_only=True, tag="limit"):
    kind: LimitKind
    text: str


class ErrorEvent(Body, frozen=True, kw_only=True, tag="error"):
    """`failed_calls` not empty: it says no more than that these calls failed, of which each has its own reason."""

    kind: str
    text: str
    recoverable: bool = False
    hint: str = ""
    failed_calls: tuple[str, ...] = ()


class RetryEvent(Body, frozen=True, kw_only=True, tag="retry"):
    """A model call failed; the model `model` (`P:M`) is asked after `wait_ms`. `discard`: deltas since the last durable event are void."""

    attempt: int
    wait_ms: int
    reason: str
    model: str
    discard: bool


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    call_id: str
    name: str
    decision: Decision
    reason: str


class ErrorInfo(msgspec.Struct, frozen=True):
    kind: str
    text: str


class TurnFinished(Body, frozen=True, kw_only=True, tag="turn.finished"):
    """The end of a run of a turn. `waiting` not empty: the turn is parked, and a later one of the same number replaces this.

    `model`: who gave the last reply, or who was asked where none did; `models`: all that replied, each once, in order. Both are `P:M`.
    """

    status: TurnStatus
    text: str
    data: Any = None
    model: str = ""
    models: tuple[str, ...] = ()
    usage: Usage = Usage()
    duration_ms: int = 0
    refused: tuple[Refusal, ...] = ()
    waiting: tuple[str, ...] = ()
    error: ErrorInfo | None = None
    unbacked: tuple[AnswerClaim, ...] = ()
    """What the answer says was done and no finished call of the turn backs."""


class TextDelta(Body, frozen=True, kw_only=True, tag="text.delta"):
    text: str


class ReasoningDelta(Body, frozen=True, kw_only=True, tag="reasoning.delta"):
    text: str


class ToolOutput(Body, frozen=True, kw_only=True, tag="tool.output"):
    """What a running call printed since the last one. It is for those who watch: what is printed fast is shortened, the result is in `tool.finished`."""

    call_id: str
    text: str


class StatusEvent(Body, frozen=True, kw_only=True, tag="status"):
    text: str
    details: dict[str, Any] = msgspec.field(default_factory=dict)


class Debug(Body, frozen=True, kw_only=True, tag="debug"):
    text: str
    details: dict[str, Any] = msgspec.field(default_factory=dict)


class Unreadable(Body, frozen=True, kw_only=True, tag="unreadable"):
    """Stands in place of a recorded body that this program cannot read; it is never written.

    `why`: `damaged`, or `unknown` where the kind or its version is not one this program knows; `data` is then the body as JSON, where it is JSON.
    """

    kind: str
    version: int
    why: Literal["damaged", "unknown"]
    text: str
    data: Any = None


Durable = (
    Inbound
    | Cancel
    | Erased
    | SessionRenamed
    | SessionForked
    | SessionImported
    | TurnStarted
    | Message
    | Nudge
    | DecisionMade
    | ToolStarted
    | ToolFinished
    | ApprovalRequested
    | ApprovalResolved
    | GrantGiven
    | GrantUsed
    | GrantRevoked
    | HookRan
    | LimitHit
    | Compaction
    | ErrorEvent
    | RetryEvent
    | TurnFinished
)
Passing = TextDelta | ReasoningDelta | ToolOutput | StatusEvent | Debug
AnyBody = Durable | Passing | Unreadable
