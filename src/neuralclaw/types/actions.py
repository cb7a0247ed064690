"""The way of one call through the gate: the action, the facts it asks for, the verdict, the question, the answer, the grant."""

import hashlib
from typing import Any, Literal

import msgspec

from ..errors import PermissionDeniedError
from .labels import NONE, Labels
from .risk import Decision, Power, Risk, Sink, Tier, Trust
from .tools import ToolSpec

Who = Literal["owner", "program", "schedule", "agent"]
AnswerDecision = Literal["once", "session", "always", "no"]
PathOp = Literal["read", "list", "write", "delete", "execute"]


class Origin(msgspec.Struct, frozen=True):
    """Who a session speaks for, and whether someone can answer a question now. `channel` is "" outside chat channels, `parent` the session that
    started this one."""

    who: Who = "program"
    present: bool = False
    channel: str = ""
    parent: str = ""


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One proposed call in its canonical final form: arguments are validated and coerced, paths still as the model wrote them."""

    session: str
    turn: int
    call_id: str
    spec: ToolSpec
    arguments: dict[str, Any]
    workspace: str
    """Absolute and real."""
    trust: Trust = Trust.LOW
    origin: Origin = Origin()
    soul: str = ""
    labels: Labels = NONE
    """Joined labels of what the model had read when it proposed the call."""


class PathWant(msgspec.Struct, frozen=True):
    """A path the analysis found in an action, absolute but not resolved, and what would be done to it."""

    path: str
    op: PathOp


class Wants(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate asks `Facts` to look up. `programs` are names as they stand in a command, looked up from `cwd`."""

    paths: tuple[PathWant, ...] = ()
    programs: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    """Files that an interpreter would run, absolute."""
    cwd: str = ""


class PathFact(msgspec.Struct, frozen=True, kw_only=True):
    """What a path is. `resolved` is the real path after links (of the deepest part that exists, the rest appended)."""

    path: str
    op: PathOp
    resolved: str
    exists: bool
    kind: Literal["file", "directory", "other", "missing"]
    inside: bool
    """In an allowed path (the workspace or `tools.filesystem.allowed_paths`)."""
    digest: str | None = None
    """SHA-256 of a regular file that the action would change, so that what is changed is what was judged."""
    text: str | None = None
    """Its text, where it would be changed and is short enough to be shown as a diff."""
    labels: Labels = NONE


class FactSheet(msgspec.Struct, frozen=True, kw_only=True):
    """The looked-up facts. A program that was not found maps to None; a host maps to the addresses of its first look-up."""

    paths: tuple[PathFact, ...] = ()
    programs: dict[str, str | None] = msgspec.field(default_factory=dict)
    addresses: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    scripts: dict[str, str] = msgspec.field(default_factory=dict)
    """SHA-256 of each file that an interpreter would run, where it could be read."""
    confinement: Literal["container", "bubblewrap", "process"] = "process"
    """The sandbox that an execution would get."""


class RuleMatch(msgspec.Struct, frozen=True):
    """A rule that matched, why, and what would be allowed instead."""

    id: str
    decision: Decision
    reason: str
    alternative: str | None = None


class CommandView(msgspec.Struct, frozen=True):
    """One simple command of a command line. `via` are the wrappers it runs under (`timeout`, `bash -c`), outermost first."""

    argv: tuple[str, ...]
    via: tuple[str, ...] = ()
    powers: tuple[Power, ...] = ()
    risk: Risk = Risk.LOW


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate thinks of an action; the object that `policy explain` prints. `rules`: every match, strictest first."""

    decision: Decision
    risk: Risk
    tier: Tier
    powers: tuple[Power, ...] = ()
    sinks: tuple[Sink, ...] = ()
    rules: tuple[RuleMatch, ...] = ()
    understood: bool = True
    commands: tuple[CommandView, ...] = ()
    addresses: tuple[str, ...] = ()
    resolved: str | None = None
    inside: bool | None = None
    auto: bool = False
    """It asks for nothing but risk up to HIGH, tier up to execute, or a program off the list: what `--approvals auto` says yes to."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not simply allowed: the reasons of the rules that share the decision."""
        return tuple(r.reason for r in self.rules if r.decision is self.decision)


class Scope(msgspec.Struct, frozen=True):
    """One part of what a `session` or `always` answer covers: a command, a directory, a host with its port, or a tool's arguments.

    A scope covers what has the same `value` and nothing else. `value`: of a directory its real path, of a host `HOST:PORT`, of a command and of
    arguments all that makes it the same one, as JSON (`safety.scopes`).
    """

    kind: Literal["program", "directory", "host", "tool"]
    value: str
    tool: str


class Covers(msgspec.Struct, frozen=True):
    """What the answers `session` and `always` would cover, in words: what, where and for how long. None: that answer is not offered."""

    session: str | None = None
    always: str | None = None


class StandingGrant(msgspec.Struct, frozen=True, kw_only=True):
    """A `session` or `always` answer that is in force. `grant_id` is the id of its question, `covers` what the person read there."""

    grant_id: str
    lasts: Literal["session", "always"]
    session: str
    turn: int
    workspace: str
    tool: str
    covers: str
    by: str
    since: str
    """RFC 3339, UTC."""
    scopes: tuple[Scope, ...] = ()


class Shown(msgspec.Struct, frozen=True):
    """What the person is asked to look at: the tool, the exact command, path or address, and the diff of a change.

    `cwd` is the directory a command runs in, `variables` what is added to its environment.
    """

    tool: str
    show: str
    diff: str | None = None
    cwd: str = ""
    variables: dict[str, str] = msgspec.field(default_factory=dict)


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a person. `hash` binds it to the action as it was judged; `expires` is in epoch seconds.

    One that is about no call has no `call_id`, and no `risk` and `tier` unless something risky depends on it.
    """

    approval_id: str
    call_id: str | None = None
    hash: str = ""
    kind: Literal["action", "form", "choice"] = "action"
    action: Shown
    risk: Risk | None = None
    tier: Tier | None = None
    summary: str = ""
    """One short sentence for a person: what would be done."""
    reasons: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    choices: tuple[str, ...] = ("once", "no")
    covers: Covers = Covers()
    workspace: str = ""
    """The real directory in which an `always` would count."""
    schema: dict[str, Any] | None = None
    expires: float
    scopes: tuple[Scope, ...] = ()
    auto: bool = False
    verdict: Verdict | None = None
    """What the gate thinks of the action; None: the question is not the gate's."""
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)
    """Those of the call, in their final form."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """A person's (or a mode's) word on a question. `by`: `owner`, `program`, `auto`, `withdrawn`, `expired`, `cancelled`, a channel's name.

    `text` is what the person said with a no.
    """

    approval_id: str
    decision: AnswerDecision | None
    by: str
    value: dict[str, Any] | None = None
    text: str | None = None


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """What persons have said so far that may bear on an action: answers by action hash, and standing grants."""

    by_hash: dict[str, Answer] = msgspec.field(default_factory=dict)
    standing: tuple[StandingGrant, ...] = ()


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What a grant allows at most. Paths are absolute and real; a root covers itself and all below it."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    addresses: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    execute: bool = False
    network: bool = False
    digests: dict[str, str | None] = msgspec.field(default_factory=dict)
    """Real path of each file to change and its SHA-256 when judged (None: it did not exist)."""
    programs: dict[str, str] = msgspec.field(default_factory=dict)
    """Program names of the command and the real files they meant when judged."""
    until: float | None = None
    """Monotonic seconds after which it is void; None: until its call ends."""


def action_hash(action: Action, envelope: Envelope) -> str:
    """SHA-256 (hex) of the canonical final form: the tool as it describes itself, arguments, directory, resolved programs, digests of the files to change.

    An answer is one to this very tool: another one of its name has another hash.
    """
    form = (action.spec.digest, action.arguments, action.workspace, envelope)
    return hashlib.sha256(msgspec.json.encode(form, order="deterministic")).hexdigest()


class Grant:
    """The right to make one call. Only `safety.gate` constructs it (held in CI); `toolcalls` closes it when the call ends.

    The one mutable value: adapters ask `check()` first, and it raises `PermissionDeniedError` once the grant is closed.
    A standing grant (of what the owner configured) has an empty `call_id` and `tool` and no tool call can reach it.
    """

    __slots__ = ("_open", "arguments", "call_id", "envelope", "hash", "session", "tool", "verdict", "workspace")

    def __init__(
        self, *, session: str, call_id: str, tool: str, arguments: dict[str, Any], workspace: str, hash: str, envelope: Envelope, verdict: Verdict | None = None
    ) -> None:
        self.session, self.call_id, self.tool, self.arguments, self.verdict = session, call_id, tool, arguments, verdict
        self.workspace, self.hash, self.envelope = workspace, hash, envelope
        self._open = True

    @property
    def open(self) -> bool:
        return self._open

    def close(self) -> None:
        """Use the grant up; every later `check` fails."""
        self._open = False

    def check(self) -> Envelope:
        """The envelope, while the grant is open."""
        if not self._open:
            raise PermissionDeniedError(f"the permission for {self.tool or 'this connection'} was used up when its call ended")
        return self.envelope
