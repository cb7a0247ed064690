"""What a tool says about itself, and what a call gives back."""

import hashlib
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from .labels import NONE, Labels
from .messages import ContentPart, Usage
from .risk import Effect, Power, Risk, Sink

LinkOrigin = Literal["none", "handed", "all"]
"""Which web addresses in a result were written by others: all of them, none, or those that hold nothing of what its tool was handed before."""

TouchKind = Literal["read", "list", "write", "delete", "command", "cwd", "url", "access", "secrets"]


class Touch(msgspec.Struct, frozen=True):
    """Which argument names something outside the call, and what the tool does to it.

    `read`, `list`, `write`, `delete` and `cwd` name a path (relative ones are relative to the workspace), `command` a shell
    command, `url` an address, `access` what a command is opened beside its words (`read PATH`, `write PATH`, `connect HOST:PORT`), `secrets` an object of
    texts that may be references to stored secrets (`secret:NAME`). The gate's analysis starts from these; an argument that is absent or None touches nothing.
    """

    argument: str
    kind: TouchKind
    content: str | None = None
    """The argument that holds the whole new content of the file."""
    replaces: tuple[str, str] | None = None
    """The arguments that hold a piece of the file and what takes its place."""


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One tool as models, the gate and people see it. `timeout` in seconds, None: no limit but the turn's."""

    name: str
    description: str
    input_schema: dict[str, Any]
    risk: Risk = Risk.MEDIUM
    effect: Effect = Effect.ONCE
    powers: tuple[Power, ...] = ()
    sinks: tuple[Sink, ...] = ()
    touches: tuple[Touch, ...] = ()
    timeout: float | None = 30.0
    requires_confirmation: bool = False
    category: str = "general"
    source: Literal["own", "external"] = "own"
    aliases: tuple[str, ...] = ()
    max_chars: int | None = None
    """Characters of a result that the model sees, where that is less than `agent.max_tool_result_chars`."""
    keep: Literal["begin", "ends"] = "begin"
    """What is kept of a result that is longer: its beginning, or a short beginning and the end, where a log says what went wrong."""
    gives_values: bool = False
    """Only values come back from what it reads, so it alone says which labels its result has. It comes with the program too."""
    built_in: bool = False
    """It comes with the program. A standing answer to such a tool holds in later versions too; one to any other tool holds for its `digest`."""

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of what a person relies on who allows a call of it: what it says it does, and all that the gate judges it by."""
        form = (
            *(self.name, self.description, self.input_schema, self.risk, self.effect, self.powers),
            *(self.sinks, self.touches, self.requires_confirmation, self.source),
        )
        return hashlib.sha256(msgspec.json.encode(form, order="deterministic")).hexdigest()


class FileChange(msgspec.Struct, frozen=True):
    """A file that a call changed: real path, and the SHA-256 of its content before and after (None: it was or is not there)."""

    path: str
    before: str | None
    after: str | None


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a call gave back. `content` is the whole text the model may read; the pipeline shortens it and keeps the rest.

    `parts` are the same result as text, pictures and JSON values, where it is more than one text; without `content` their text is taken.
    `ok` false with `error` set is a failure the tool reports as a value (a non-zero exit); raised `ToolError`s become the same.
    `changes` are the files the call changed. `labels` say where the content came from, where the tool knows it.
    `note` stands behind the content for the model alone: how to go on, what changed. `first_line` not 0: the first `line_count` lines of the
    content are lines of a file from that number on, and the model reads each behind its number and a tab.
    `child` is the session that did the work, `usage` what it used, which is charged to the turn of the call. `values_from` not empty: the content
    is a value that these sources outside chose.
    """

    content: str = ""
    ok: bool = True
    error: str | None = None
    parts: tuple[ContentPart, ...] = ()
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    changes: tuple[FileChange, ...] = ()
    labels: Labels = NONE
    note: str = ""
    first_line: int = 0
    line_count: int = 0
    child: str = ""
    usage: Usage | None = None
    values_from: tuple[str, ...] = ()


Show = Callable[[str, str], None]
"""Takes what a call prints while it runs: the text, and the name of the stream it belongs to."""


def unseen(text: str, stream: str = "") -> None:
    """Nobody watches."""


class Watched(msgspec.Struct, frozen=True):
    """What becomes of a program's output: `max_bytes` of each stream are kept, and `show` takes all of it while the program runs."""

    max_bytes: int
    show: Show


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """Where a call runs. `workspace` is absolute and real."""

    session: str
    turn: int
    call_id: str
    workspace: str
    before: dict[str, str | None] = msgspec.field(default_factory=dict)
    """For a probe: SHA-256 of each file to change, by real path, as it was when the call began (None: not there)."""
    show: Show = unseen
    """Shows what the call prints while it runs, to those who follow the turn. From any thread; it keeps nothing and never waits."""
