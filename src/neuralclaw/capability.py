"""`Capability`: all that one folder brings to the program, as one value. Built-in ones and those that others install are the same.

A package installs one by an entry point of the group `neuralclaw` that names such a value; it is loaded where `capabilities.enabled` names it.
Every part is optional. What the code of a capability needs stands in `__all__` here, and `tool` and the errors in `neuralclaw`.
`docs/capabilities.md` has a whole example.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from .errors import NeuralClawError
from .ports import Channel, Clock, Desk, Provider, Rows, Store, Subscriber, TurnEvents
from .types.actions import Origin, Who
from .types.codec import EventKind
from .types.entries import HOME, Draft, Entry, Event, Header
from .types.events import Body, Inbound
from .types.grants import Scope, StandingGrant
from .types.labels import AGENT, OWNER, Labels, external
from .types.messages import (
    AssistantMessage,
    Failure,
    Finished,
    ModelEvent,
    ModelInfo,
    ModelReply,
    Notice,
    Price,
    ReasoningPart,
    ReasoningState,
    Request,
    Retrying,
    TextPart,
    ToolCall,
    ToolDef,
    ToolMessage,
    Usage,
    UserMessage,
)
from .types.options import HistoryLimits, Limits, StartOptions, TurnOptions
from .types.records import (
    Accepted,
    AnchorReport,
    BadRecord,
    Caps,
    DeliveryAttempt,
    DuplicateInbound,
    Lease,
    NewSession,
    OpenQuestion,
    OutboxItem,
    Prefix,
    PutRecord,
    Record,
    RecordConflict,
    Reservation,
    SessionRow,
    SetAside,
    SettledReservation,
    SpentReservation,
    StateRow,
    StoredResult,
    TurnAttempt,
    VerifyReport,
)
from .types.risk import Trust
from .types.signals import Undeliverable
from .types.tools import FileChange, ToolContext, ToolResult

__all__ = [
    "HOME",
    "OWNER",
    "PRIVATE",
    "Accepted",
    "AnchorReport",
    "AssistantMessage",
    "BadRecord",
    "Body",
    "Capability",
    "CapabilityContext",
    "Caps",
    "Channel",
    "Clock",
    "ColumnType",
    "ContextSource",
    "DeliveryAttempt",
    "Desk",
    "DoctorCheck",
    "Draft",
    "DuplicateInbound",
    "Entry",
    "Event",
    "EventKind",
    "Failure",
    "FileChange",
    "FileFormat",
    "Finished",
    "Header",
    "HistoryLimits",
    "Inbound",
    "Labels",
    "Lease",
    "Limits",
    "ModelEvent",
    "ModelInfo",
    "ModelReply",
    "NewSession",
    "Notice",
    "OpenQuestion",
    "Origin",
    "OutboxItem",
    "Place",
    "Prefix",
    "Price",
    "Provider",
    "PutRecord",
    "ReasoningPart",
    "ReasoningState",
    "Record",
    "RecordConflict",
    "Request",
    "Reservation",
    "Retrying",
    "Rows",
    "Scope",
    "Service",
    "SessionRow",
    "SetAside",
    "SettledReservation",
    "SpentReservation",
    "StandingGrant",
    "StartOptions",
    "StateRow",
    "Store",
    "StoredResult",
    "Subscriber",
    "Table",
    "TextPart",
    "ToolCall",
    "ToolContext",
    "ToolDef",
    "ToolMessage",
    "ToolResult",
    "Trust",
    "TurnAttempt",
    "TurnContext",
    "TurnEvents",
    "TurnOptions",
    "Undeliverable",
    "Usage",
    "UserMessage",
    "Verb",
    "VerifyReport",
    "Who",
    "external",
]
"""All that the code of a capability names, besides `tool` and the errors of `neuralclaw`. Nothing else of the package is promised to it."""

Place = Literal["system", "before_last"]
VerbNeeds = Literal["home", "record", "settings"]
ColumnType = Literal["text", "integer", "real", "blob"]
PRIVATE: Labels = AGENT | frozenset({"private"})
"""The labels of what a capability records without a word about where it came from."""


class CapabilityContext(Protocol):
    """What the code of a capability works with: its settings, the desk, the store of the home.

    `workspace`: absolute and real, that of the client, "" where there is none. `who`: for whom the client works.
    """

    @property
    def settings(self) -> Any:
        """The capability's section, as a value of its `settings` struct. Raises `ConfigError` with file and line where it does not fit, or names a
        variable that is not set."""
        ...

    @property
    def desk(self) -> Desk: ...
    @property
    def store(self) -> Store: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def workspace(self) -> str: ...
    @property
    def who(self) -> Who: ...

    def notice(self, text: str) -> None:
        """Tell the person who gave the command a sentence beside the value: on standard error. Who calls the verb from a program does not see it."""
        ...

    async def record(self, *bodies: Body, session: str = HOME, turn: int = 0, labels: Labels = PRIVATE) -> Sequence[Entry]:
        """Write events of the capability's kinds, in one transaction; they survive `kill -9` when this returns, and subscribers have them.

        A tool gives the session and turn of its call. Raises `StoreError`.
        """
        ...


class TurnContext(msgspec.Struct, frozen=True, kw_only=True):
    """The turn that something is made for. `window`: tokens of the model's context window, 0 where it is not known.

    `turn`: its number in the session, from 1; 0 where tools are looked at without a turn, as `tools list` does and the check of chosen tools.
    """

    session: str
    options: TurnOptions
    turn: int = 0
    window: int = 0


class Verb(msgspec.Struct, frozen=True, kw_only=True):
    """One command, the same for every client: a subcommand, a slash command, `agent.do(name, …)` and `Desk.do(name, …)`.

    `run` is `async def run(context: CapabilityContext, …)`. Its typed parameters are the command's arguments: positional ones are given by place,
    keyword-only ones as options (`--max-age`), a `bool` is a switch, a parameter with a default may be left out; one that takes a function is for
    programs alone. They are checked before `run` is called. What it returns, a msgspec struct, a list of them or plain JSON values, is what `--json`
    prints and `agent.do` gives.
    """

    name: str
    """`noun.verb`, or a noun alone: `reading.add` is `neuralclaw reading add` and `/reading add`."""
    summary: str
    """One sentence for `--help`."""
    run: Callable[..., Awaitable[Any]]
    example: str = ""
    help: Mapping[str, str] = {}
    """Argument -> a phrase for `--help`."""
    spelled: Mapping[str, str] = {}
    """Argument -> how the command line writes it where its name does not say it: a placeholder (`P:M`), or an option with one (`--task NAME`)."""
    columns: Sequence[str] = ()
    """Fields of a listed row that people see, in this order; all where none is named."""
    drop: Sequence[str] | None = None
    """Columns that a narrow screen does without, the first one first; where it is None, all but the first column, the last one first."""
    display: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    """Makes of a listed row, or of the object, as `--json` prints it, what people see in its place: field -> text or number."""
    empty: str | Callable[[Mapping[str, Any]], str] = "there is none"
    """What people are told of an empty list, on standard error: a text in which `{argument}` is replaced by what was given, or made of the arguments
    that were given."""
    hint: Callable[[Any, Mapping[str, Any]], str] | None = None
    """A sentence of advice for people, on standard error behind the value: made of the value and the arguments that were given, "" for none."""
    render: Callable[[Any], str | Sequence[tuple[str, str]] | None] | None = None
    """Makes what people read, in place of a table, of the value as `--json` prints it: a text, or lines, each with its style (`bold`, `dim`, `yellow`,
    "" for none); where it gives None, the table is shown. A list that is empty is told by `empty`."""
    for_people: Mapping[str, Any] = {}
    """Arguments that are given where a person reads the value, and have no option on the command line."""
    hidden: Mapping[str, str] = {}
    """Arguments that are never words of a command line: argument -> what a person at the terminal is asked, without what they type being shown (`Value of
    {name}`, with the other arguments in it). Where no person is there the value is standard input, without its last line break. `in_chat` is false."""
    filters: bool = False
    """The command copies standard input to standard output, changed: `run` takes the keywords `read: Callable[[int], bytes] | None` and `write:
    Callable[[bytes], object] | None`, and gives nothing. `in_chat` is false."""
    json_lines: bool = False
    """The value is a list for programs: printed as JSON lines, one for each, with no `--json`."""
    progress: Callable[[Any], str] | None = None
    """For a verb that takes long: makes of the value so far, as `--json` prints it, one line for standard error, "" for none. `run` takes a keyword
    `progress: Callable[[T], None] | None = None` and calls it with its value so far, from the event loop; it must not raise. People at a terminal see
    the line. Where the command is stopped, and where it fails after a line, the value so far is shown as a whole one is."""
    failures: Callable[[Any], Sequence[NeuralClawError]] | None = None
    """What of the value, as `--json` prints it, failed: told with their hints behind the value, on standard error or in the chat; the exit code of the command
    is 1."""
    succeeded: Callable[[Any], bool] | None = None
    """Whether the value, as `--json` prints it, is the good case; else the exit code of the command is 1. The chat, which has no exit code, shows the value."""
    begins_no_turn: bool = False
    """It writes, and begins no turn and goes on with none: it is run also where a cap of the settings, or the sandbox that they want, cannot hold. Of a
    verb with `reads=True`, and of one that needs less than the home, that is known."""
    in_chat: bool = True
    """It is a slash command too. One that follows a turn of its own is not: nobody in the chat would see a question of that turn."""
    reads: bool = False
    """It writes nothing of the record: it works on a full disk and on a read-only home."""
    needs: VerbNeeds = "home"
    """The part of the home that its command needs, and that is open then. `record`: the store alone, which is only read; the command works where the
    configuration cannot be read. `settings`: the settings alone; the command works where the home cannot be opened."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table that is derived from entries, kept in their transactions and made anew from them by `doctor --rebuild`.

    `fold` is called with each entry of `kinds`, in the order of the record, and changes `rows`. It must be a pure function of both: it is called
    again when the table is rebuilt, which happens by itself when anything here but `fold` changes: raise `version` where `fold` does. An entry whose
    body was erased or cannot be read is not folded. A fold that raises refuses the entry: `StoreError`, and nothing of its step is recorded.
    """

    name: str
    """Unique over all capabilities: it begins with the capability's name and `_`, or is the capability's name."""
    columns: Mapping[str, ColumnType]
    key: Sequence[str]
    kinds: Sequence[str]
    fold: Callable[[Entry, Rows], None]
    indexes: Sequence[Sequence[str]] = ()
    version: int = 1


class ContextSource(msgspec.Struct, frozen=True, kw_only=True):
    """Tells the model something. `system`: read when a turn begins, stands in the system prompt of all its requests. `before_last`: read anew before each
    call of the model, stands before the last message, where it leaves the prompt cache alone.
    """

    name: str
    read: Callable[[CapabilityContext, TurnContext, int], Awaitable[Sequence[tuple[str, Labels]]]]
    """Gives texts with their labels, at most as many bytes in all as the last argument says. What is longer is cut."""
    place: Place = "system"
    share: float = 0.125
    """The part of the model's window that it may fill."""


class DoctorCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What a check of `doctor` found. `fix`: how to mend it, for a person. `needed`: the agent cannot work without it."""

    check: str
    ok: bool
    text: str
    fix: str | None = None
    needed: bool = False


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """Work in the background, in one process of a home at a time: where the lease `service:NAME` is free, `run` is started.

    It runs until it is cancelled or returns; after an error, which is logged, it is started again a while later.
    """

    name: str
    run: Callable[[CapabilityContext], Awaitable[None]]


class FileFormat(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of file that is no text: what tools read as text, and write where it has a `writer`.

    `reader` and `writer` name modules with `main(parent: int)`, which loads all that it needs and then calls `neuralclaw.conversion.answer(parent,
    convert)`. `convert` gets the whole file (the UTF-8 text), and gives facts for the result's metadata and the UTF-8 text (the file); a `ToolError`
    that it raises is read behind the file's name. They run in a process of their own, for one conversion: it can open no file and no connection,
    has no environment, 25 s and 1 GB; it is no sandbox for hostile code (`docs/capabilities.md`). Other processes import nothing of them.
    """

    name: str
    """Unique over all capabilities: `docx`."""
    title: str
    """For people, behind "a": `Word document`."""
    suffixes: Sequence[str]
    """Endings of names, in small letters with the dot; each belongs to one format."""
    recognise: Callable[[bytes], bool]
    """Whether a file that begins with these bytes, at most 1,024, has the format. It must be quick and raise nothing."""
    reader: str
    writer: str = ""
    any_name: bool = False
    """The content alone decides, also under another name."""
    layout: str = ""
    """How the text is laid out that the `reader` gives, for the model: `as Markdown`."""
    takes: str = ""
    """What the `writer` takes, for the model: `Markdown`."""
    unreadable: str = ""
    """What a person can do about one that cannot be read."""
    unwritable: str = ""
    """What to do instead of writing one, where there is no `writer`."""


class Capability(msgspec.Struct, frozen=True, kw_only=True):
    """See the module. `name` is an identifier; it names the section of the settings, the nouns of verbs begin with what the capability chooses."""

    name: str
    summary: str
    version: str = ""
    settings: type[msgspec.Struct] | None = None
    """The section `name` of `config.yaml`: a frozen struct with a default for each key, and a docstring under each; decoded when it is first used."""
    verbs: Sequence[Verb] = ()
    events: Sequence[EventKind] = ()
    tables: Sequence[Table] = ()
    tools: Callable[[CapabilityContext, TurnContext], Awaitable[Sequence[Any]]] | None = None
    """The tools of a turn, asked for when it begins: `@tool` functions, or objects with `name`, `description`, `input_schema` and `execute`. A turn has
    one list from its beginning to its end."""
    sources: Sequence[ContextSource] = ()
    wrap: Callable[[CapabilityContext, TurnContext, Provider], Provider] | None = None
    """A provider around the turn's own; the first capability of the table is the innermost."""
    checks: Callable[[CapabilityContext], AsyncIterator[DoctorCheck]] | None = None
    services: Sequence[Service] = ()
    channels: Mapping[str, Callable[[CapabilityContext], Channel]] = {}
    """Name of a channel -> makes it. Messages of the channel carry that name, and answers to them are delivered by it."""
    formats: Sequence[FileFormat] = ()
    """Files that `read_file` and `write_file` take as text."""
