"""The seams of the house: Protocols, nothing else. Adapters implement them structurally; `app` alone wires adapters together."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol

from .desk_ports import Channel as Channel
from .desk_ports import Desk as Desk
from .desk_ports import Subscriber as Subscriber
from .desk_ports import TurnEvents as TurnEvents
from .desk_ports import VerbCaller as VerbCaller
from .types.actions import Action
from .types.entries import Draft, Entry
from .types.facts import FactSheet, Wants
from .types.grants import Grant, StandingGrant
from .types.hooks import HookDefinition, HookInput, HookResult, HookSubject
from .types.messages import ModelEvent, ModelInfo, Request
from .types.options import ApprovalsMode
from .types.questions import Answer, Answers, Question
from .types.records import AnchorReport, Lease, OpenQuestion, Record, SessionRow, StateRow, VerifyReport
from .types.tools import FileChange, ToolContext, ToolResult, ToolSpec, Watched
from .types.verdicts import Verdict
from .types.web_responses import WebResponse


class Clock(Protocol):
    """Time. `now` in epoch seconds (UTC), `monotonic` in seconds that only rise."""

    def now(self) -> float: ...
    def monotonic(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


class Provider(Protocol):
    """A language model service.

    `stream` yields text and reasoning parts as they arrive and always ends with `Finished`: a failure of the model or the
    network is a value (`stop="error"` with a `Failure`), never raised. There is no second, non-streaming path.
    """

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]: ...
    def info(self, model: str) -> ModelInfo: ...
    def count(self, request: Request) -> int:
        """Estimated prompt tokens."""
        ...


class Toolset(Protocol):
    """Tools under their names. Aliases are resolved by `find`."""

    def tools(self) -> Sequence[ToolSpec]: ...
    def find(self, name: str) -> ToolSpec | None:
        """The tool of that name or alias, else None."""
        ...

    def prepare(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments in their final form: validated against the schema, safely coerced, defaults filled in. Raises `ToolValidationError`."""
        ...

    async def call(self, grant: Grant, ctx: ToolContext) -> ToolResult:
        """Run the call that the grant is for, with the arguments that stand in it. Raises `ToolError`, `SecurityError`, `Retry` or `Parked`."""
        ...

    async def probe(self, grant: Grant, ctx: ToolContext) -> ToolResult | bool | None:
        """For a `reconcilable` call that began and did not finish: its result if it happened, False if not, None if unknown."""
        ...


class Gate(Protocol):
    """The only maker of grants. It writes and asks nothing."""

    async def authorize(self, action: Action, answers: Answers) -> Grant:
        """A grant for exactly this call. Raises `Denied(verdict)`, or `Parked(question)` when a person must answer and has not yet."""
        ...

    async def judge(self, action: Action, standing: Sequence[StandingGrant] = ()) -> Verdict:
        """The verdict under these standing grants, without a grant for the call: what `policy explain` and `--dry-run` show."""
        ...


class Facts(Protocol):
    """Looks up what the gate's analysis names."""

    async def look(self, action: Action, wants: Wants) -> FactSheet: ...


class Hooks(Protocol):
    """Programs of the owner around turns, calls and approvals. They can only block."""

    def of(self, subject: HookSubject) -> Sequence[HookDefinition]:
        """Those that run, in the order of the settings."""
        ...

    async def run(self, hook: HookDefinition, told: HookInput) -> HookResult:
        """Run one to its end. Raises nothing: what goes wrong is a failure."""
        ...


class Asker(Protocol):
    """Brings a question to a person. One mechanism for every question."""

    async def ask(self, session: str, question: Question, mode: ApprovalsMode) -> Answer:
        """The answer, from whichever process it came. Raises `Parked` when nobody can answer now."""
        ...


class ExecResult(Protocol):
    """What a finished program left. Streams are bounded; `dropped` counts the bytes beyond the bound.

    `refused`: one sentence on what the sandbox refused and what to do next, "" when nothing shows that it did.
    """

    @property
    def exit_code(self) -> int: ...
    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...
    @property
    def dropped(self) -> int: ...
    @property
    def timed_out(self) -> bool: ...
    @property
    def refused(self) -> str: ...


class Sandbox(Protocol):
    """Runs programs inside the grant's envelope. When `exec` returns or is cancelled, every process it started is gone."""

    @property
    def name(self) -> str:
        """`container`, `bubblewrap`, `landlock` or `process`."""
        ...

    async def exec(
        self, grant: Grant, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout: float | None, max_bytes: int | Watched
    ) -> ExecResult: ...


class DirEntry(Protocol):
    """One thing in a directory. `kind`: file, directory, link or other; `size` in bytes; `problem`: why a directory's contents could not be read, else ""."""

    @property
    def path(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def problem(self) -> str: ...


class Files(Protocol):
    """Confined file access: every path is opened beneath a root of the grant's envelope, without following a link out of it.

    Paths are absolute, or relative to the grant's workspace. FIFOs, sockets and devices are refused. What would be changed is
    compared with the digest in the grant, and its content before the change is kept under its SHA-256. Raises `ToolError` and
    `PermissionDeniedError`.
    """

    async def read(self, grant: Grant, path: str, *, max_bytes: int) -> bytes: ...
    async def write(self, grant: Grant, path: str, data: bytes) -> FileChange:
        """Create or replace a regular file in one step (temporary file, then rename); parents are made."""
        ...

    async def delete(self, grant: Grant, path: str) -> FileChange: ...
    async def list(self, grant: Grant, path: str) -> Sequence[DirEntry]: ...
    def walk(self, grant: Grant, path: str) -> AsyncIterator[DirEntry]:
        """All below `path`, directories before what they hold, names sorted, links not followed."""
        ...


class Converted(Protocol):
    """How a conversion ended: with its `output`, or because time, memory for the output or the child itself gave out (`detail` says how)."""

    @property
    def ended(self) -> Literal["done", "time", "size", "crash"]: ...
    @property
    def output(self) -> bytes: ...
    @property
    def detail(self) -> str: ...


class Converter(Protocol):
    """Runs `main` of a reader or writer module on bytes that nobody vouches for, in a process that can open no file and no connection,
    bounded in time and memory. It is no sandbox for hostile code: `sandbox.converter` says what it does not confine. Nothing of it is left when `convert`
    returns or is cancelled."""

    async def convert(self, module: str, data: bytes) -> Converted:
        """Raises `ToolError` when no process can be started."""
        ...


class HttpResponse(Protocol):
    """A response whose body is still arriving."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    def chunks(self) -> AsyncIterator[bytes]: ...
    async def read(self, max_bytes: int) -> bytes: ...


class Net(Protocol):
    """HTTP under a grant: only hosts of the envelope (`host` or `host:port`) are connected to, and for a call only the addresses that were judged."""

    def request(
        self, grant: Grant, method: str, url: str, *, headers: Mapping[str, str], body: bytes | None, timeout: float
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """Raises `PermissionDeniedError`, `TimeoutError` (no byte for `timeout` seconds) or `ConnectionError`, also while chunks are read."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...


Headers = Mapping[str, str]


class Web(Protocol):
    """Pages and files of the web, under the grant of a call that names their address."""

    async def fetch(self, grant: Grant, url: str, *, headers: Mapping[str, str], max_bytes: int, seconds: float, private: Headers = ...) -> WebResponse:
        """GET `url` as it stands in the call, and what it redirects to, each address judged by the gate before it is connected to.

        `private`: headers for the origin of `url` alone; from the first redirect to another one on they are left out.

        At most 10 redirects, `seconds` in all, the look-up of its host before the grant included, and `max_bytes` of body, unpacked
        too; with 0 the body is left unread. Raises `ToolError`, and `PermissionDeniedError` for a redirect that is not followed.
        """
        ...


class Rows(Protocol):
    """The rows of one derived table, inside the transaction that writes the entry."""

    def get(self, **key: Any) -> dict[str, Any] | None:
        """The row of this key, every column of which is named."""
        ...

    def put(self, **values: Any) -> None:
        """Add the row, in place of one with its key; a column that is not named is NULL."""
        ...

    def delete(self, **key: Any) -> None: ...


class Store(Protocol):
    """The journal and what is derived from it. Any number of processes may have one home open.

    What can be said by a few of these methods stands in `lookups`, once for every database.
    """

    async def append(self, session: str, drafts: Sequence[Draft], *, lease: Lease | None = None, rows: Sequence[StateRow] = ()) -> list[Entry]:
        """Write the drafts and rows in one transaction, all or nothing; they survive `kill -9` when this returns.

        The entries given back are as a reader finds them. A draft whose encoded body could not be read back is refused with `StoreError`, and so is
        one that names bytes which are neither among its blobs nor kept already, and one that a capability's table cannot take up: its fold raises.

        With a lease the append fails with `LeaseLost` when another holder has taken it. A taken inbound key raises
        `DuplicateInbound` (in `types.records`) with the entry that has it; a second answer `AlreadyAnswered`, one to no question
        `UnknownQuestion`; a record that does not stand as expected `RecordConflict` (in `types.records`).
        """
        ...

    async def barrier(self) -> None:
        """Returns when all that was appended before is on the disk."""
        ...

    async def read(
        self,
        session: str,
        *,
        after: int = 0,
        from_turn: int = 0,
        kinds: Sequence[str] | None = None,
        verified: bool = False,
        limit: int | None = None,
    ) -> list[Entry]:
        """Entries of a session with a number above `after` and a turn of at least `from_turn`, oldest first. Bodies of other kinds are not read.

        `limit`: at most so many, and fewer where they are large: a page, of which the next one begins after its last entry, until one is empty.
        What cannot be read stands in its place as `Unreadable`; so does an entry that decides something (`verified`: any entry) and is not as it was written.
        """
        ...

    async def rows(
        self, table: str, where: Mapping[str, Any] = ..., *, order: Sequence[str] = (), descending: bool = False, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Rows of a table: a built-in derived one, a capability's, or one of `sessions`, `leases`, `records`, `outbox`, `results` and `blobs`.

        Those whose columns equal what `where` names, or one of it where that is a list, tuple or set, or begin so where it is a `Prefix` (in
        `types.records`). `order`: columns; `limit`: at most so many.

        A capability's table has all that was written through a store that was opened with it; what another program wrote meanwhile is taken up with
        the next write or opening. Where the home does not hold the table by its definition (it is only read since an upgrade, or another version of the
        capability is open too), it is folded in memory from the entries. Raises `StoreError` for a table or column that is not there, and for a
        capability's table whose fold raises.
        """
        ...

    async def put_record(self, space: str, key: str, value: Any, *, expect: int | None = None) -> Record:
        """Keep a JSON value under a key, or remove the record with None, where it stands as expected: with `expect` in that version, 0: not there.

        Of two who change the same version, in whichever processes, one succeeds; the other's change raises `RecordConflict` (in `types.records`) with the
        record as it stands. It survives `kill -9` when this returns. Raises `StoreError` for a value that is no JSON.
        """
        ...

    def changes(self, after: int | None = None) -> AsyncIterator[Sequence[Entry]]:
        """Entries of every session and process as they are written, from record `after` on (None: from now on)."""
        ...

    async def sessions(self, *, session: str | None = None, unfinished: bool = False) -> list[SessionRow]:
        """Sessions, the one that changed last first: all, or the one of that id, found without reading the others. With `unfinished` only those
        that wait to be gone on with."""
        ...

    async def questions(self, *, approval_id: str | None = None, session: str | None = None, open_only: bool = True) -> list[OpenQuestion]:
        """Questions, oldest first: all, those of a session, or the one of that id, found without reading any other. Those whose body cannot be read are
        not among them. `open_only`: those that can still be answered."""
        ...

    async def grants(self, session: str | None = None, workspace: str | None = None) -> list[StandingGrant]:
        """The standing grants that count for a turn of this session in this workspace: its own `session` answers, and the `always` answers of the
        workspace. Without arguments those of the whole home."""
        ...

    async def acquire(self, name: str) -> Lease | None:
        """Take the lease of that name if it is free or its holder is dead; None while a live process (this one too) holds it."""
        ...

    async def release(self, lease: Lease) -> None: ...
    async def holder(self, name: str) -> str | None:
        """Who holds the lease now (`pid 123`), or None."""
        ...

    async def verify(self) -> VerifyReport: ...
    async def accept_anchor(self) -> AnchorReport:
        """Anchor the record as it is now, after a restored backup for one: it is verified first. Raises `StoreError`, also where it is not whole."""
        ...

    async def aclose(self) -> None: ...


class TextStream(Protocol):
    """Redacts one text that comes in pieces; all that it gives, put together, is what `redact` makes of the whole."""

    def feed(self, delta: str) -> str:
        """The text that is safe to show now."""
        ...

    def settle(self) -> str:
        """What is held back and too short to tell a secret, shown although the text may go on: another kind of text comes between."""
        ...

    def flush(self) -> str:
        """The rest, at the end of the text."""
        ...


class Secrets(Protocol):
    """The values of stored secrets."""

    def resolve(self, reference: str, grant: Grant) -> str:
        """The text with the secret in place of its reference (`secret:NAME`, `Bearer secret:NAME`), for the call that the grant gives it to.

        To be called at the last moment, and the text to be kept nowhere. Raises `PermissionDeniedError` for a grant that gives no secret of that name or
        is used up, and `ToolError` for what is no reference.
        """
        ...


class Redaction(Protocol):
    """Replaces secrets in text."""

    def redact(self, text: str) -> str:
        """The text without secrets; the same object when there is none in it."""
        ...

    def redact_ends(self, text: str, *, begins: bool, ends: bool) -> str:
        """What a program printed, without what is left of a secret that was cut where the text begins and ends; whole ones are `redact`'s."""
        ...

    def stream(self) -> TextStream: ...
