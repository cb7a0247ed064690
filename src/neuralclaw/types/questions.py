"""Questions to persons and their answers."""

from typing import Any, Literal

import msgspec

from .exact_texts import exact
from .grants import Scope, StandingGrant
from .risk import Risk, Tier
from .verdicts import Verdict

AnswerDecision = Literal["once", "session", "always", "no"]


class Covers(msgspec.Struct, frozen=True):
    """What the answers `session` and `always` would cover, in words: what, where and for how long. None: that answer is not offered."""

    session: str | None = None
    always: str | None = None


class Shown(msgspec.Struct, frozen=True):
    """What the person is asked to look at: the tool, the exact command, path or address, and the diff of a change.

    `cwd` is the directory a command runs in, `variables` what is added to its environment, `headers` what is added to a request.
    """

    tool: str
    show: str
    diff: str | None = None
    cwd: str = ""
    variables: dict[str, str] = msgspec.field(default_factory=dict)
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    programs: dict[str, str] = msgspec.field(default_factory=dict)
    """The programs of a command and the real files that they are."""
    files: dict[str, str] = msgspec.field(default_factory=dict)
    """The files that it runs as code and their SHA-256: where one changes, the answer is none to what it runs then."""
    targets: tuple[str, ...] = ()
    """What it writes and deletes, by its real path: `write PATH`, `delete PATH`."""

    @property
    def exact(self) -> str:
        """`show` for a person to read: every character that cannot be seen, or told from a space, is a visible escape."""
        return exact(self.show)


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
