"""The right to make a call: what an answer covers, what a grant allows, and the grant itself."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

import msgspec

from ..errors import PermissionDeniedError
from .labels import NONE, Labels
from .verdicts import Verdict


def asking_for(access: Sequence[str]) -> str:
    """How a call of a command asks for what its sandbox refused, as a sentence for the model: an argument of the tool, which the gate judges."""
    return f"To ask the person for it, call the same command again with access {msgspec.json.encode(list(access)).decode()}"


class Scope(msgspec.Struct, frozen=True):
    """One part of what a `session` or `always` answer covers: a command, a directory, a host with its port, or a tool's arguments.

    A scope covers what has the same `value` and nothing else. `value`: of a directory its real path, of a host `HOST:PORT`, of a command and of
    arguments all that makes it the same one, as JSON (`safety.scopes`). One of kind `below` covers what its `tool`, here a `PlaceOp`, does below the real
    path `value`.

    `definition`: the digest of the tool (`ToolSpec.digest`), so that another tool of its name is not covered. "" for a built-in tool, which its name
    identifies, and for arguments, whose value holds the digest. Scopes of earlier versions have none: they cover built-in tools alone.
    """

    kind: Literal["program", "directory", "host", "tool", "below"]
    value: str
    tool: str
    definition: str = ""

    def within(self, other: "Scope") -> bool:
        """Whether it covers no more than the other one."""
        if self.kind != "below" or other.kind != "below":
            return self == other
        return self.tool == other.tool and (self.value == other.value or self.value.startswith(other.value.rstrip("/") + "/"))

    @property
    def tool_digest(self) -> str:
        """The digest of the definition that is covered alone, `definition` or that in the value of arguments; "" where the tool's name is enough."""
        if self.kind != "tool":
            return self.definition
        _, _, *digest = msgspec.json.decode(self.value)
        return str(digest[0]) if digest else ""  # those of earlier versions have none


PlaceOp = Literal["read", "write", "delete"]
"""What a grant for a place lets calls do there."""
CallOp = Literal["run", "fetch"]
"""What a grant for a command, or for the host and port of an address, lets calls do."""


class StandingGrant(msgspec.Struct, frozen=True, kw_only=True):
    """A `session` or `always` answer that is in force, or a grant that was given before any question. `grant_id` is the id of its question, `covers` what
    the person read there.

    `until` in epoch seconds, `uses` calls at most; None: without such an end. `used`: the uses so far (`GrantUsed.use`). `given`: there was no question.
    """

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
    until: float | None = None
    uses: int | None = None
    used: tuple[str, ...] = ()
    given: bool = False
    parent: str = ""

    def holds(self, now: float) -> bool:
        """Whether it counts at this moment (epoch seconds) for one more call."""
        return (self.until is None or now < self.until) and (self.uses is None or len(self.used) < self.uses)

    def without(self, use: str) -> "StandingGrant":
        """As it was before this use of it: what it counts for the call that has the use."""
        return msgspec.structs.replace(self, used=tuple(one for one in self.used if one != use)) if use in self.used else self

    def narrowed(self, name: str, session: str, *, scopes: tuple[Scope, ...] = (), until: float | None = None, uses: int | None = None) -> "StandingGrant":
        """What a session that this one starts may be given of it: some of its scopes or places below them, no longer and no more often, for that session
        alone. Raises `ValueError` for what would be wider."""
        scopes = scopes or self.scopes
        if wider := [scope for scope in scopes if not any(scope.within(mine) for mine in self.scopes)]:
            raise ValueError(f"the grant {self.grant_id} does not cover {wider[0].value}")
        left = None if self.uses is None else max(0, self.uses - len(self.used))
        return msgspec.structs.replace(
            self,
            grant_id=name,
            session=session,
            lasts="session",
            scopes=scopes,
            until=min((end for end in (self.until, until) if end is not None), default=None),
            uses=min((count for count in (left, uses) if count is not None), default=None),
            used=(),
            parent=self.grant_id,
        )

    @property
    def definition(self) -> str:
        """The digest of the one definition of its tool that it covers (`ToolSpec.digest`); "" where it covers the tool by its name."""
        return next(filter(None, (scope.tool_digest for scope in self.scopes)), "")


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    """What a command is held to from its question to its run, beside its words: where one of these is another one then, it is asked about again."""

    files: dict[str, str] = msgspec.field(default_factory=dict)
    """The files that it runs as code, absolute, and the SHA-256 of each."""
    targets: dict[str, str] = msgspec.field(default_factory=dict)
    """`OP PATH` of what its words name to be changed, and of where it runs, and the real path of each."""
    changed: dict[str, str | None] = msgspec.field(default_factory=dict)
    """The real path of each file that its words name to be changed and its SHA-256 (None: it is not there)."""


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What a grant allows at most. Paths are absolute and real; a root covers itself and all below it."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    making: tuple[str, ...] = ()
    """Of the roots to write, directories in which something was named to be made, replaced or removed, by programs that change nothing else."""
    repositories: tuple[str, ...] = ()
    """Of the roots to write, the repositories whose settings a line of git alone may write."""
    hosts: tuple[str, ...] = ()
    """`HOST:PORT`. A command with `network` reaches these alone; with none, every public place."""
    addresses: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Host -> the network addresses that were judged; a call's request connects to no other."""
    urls: dict[str, str] = msgspec.field(default_factory=dict)
    """Web address as the call names it -> the form in which it was judged and is requested."""
    execute: bool = False
    network: bool = False
    secrets: tuple[str, ...] = ()
    """Names of the stored secrets that the call is given."""
    digests: dict[str, str | None] = msgspec.field(default_factory=dict)
    """Real path of each file to change and its SHA-256 when judged (None: it did not exist)."""
    programs: dict[str, str] = msgspec.field(default_factory=dict)
    """Program names of the command and the real files they meant when judged."""
    binding: Binding | msgspec.UnsetType = msgspec.UNSET
    """What a command is held to. Unset for any other call, so that its hash is the one of earlier versions."""
    until: float | None = None
    """Monotonic seconds after which it is void; None: until its call ends."""
    unseen: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Places that rules of the owner keep from what the call runs: a sandbox shows nothing of them. Unset where there are none, for the hash of earlier
    versions; so is the next one."""
    unchanged: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Places that a sandbox shows read-only, for the same reason."""

    @property
    def covered(self) -> tuple[str, ...]:
        """The places that nothing is shown of."""
        return self.unseen or ()

    @property
    def read_only(self) -> tuple[str, ...]:
        """The places that are shown read-only, wherever they lie."""
        return self.unchanged or ()

    @property
    def git_alone(self) -> bool:
        """Whether it is for a line of git alone."""
        return bool(self.repositories)


class Grant:
    """The right to make one call. Only `safety.gate` constructs it (held in CI); `toolcalls` closes it when the call ends.

    The one mutable value: adapters ask `check()` first, and it raises `PermissionDeniedError` once the grant is closed.
    A standing grant (of what the owner configured) has an empty `call_id` and `tool` and no tool call can reach it.

    `judge` has the gate judge another address of the same call, `judge_place` a host and port that its command wants to reach; `within` is the grant whose
    end is this one's end too. `lookup_seconds`: how long its hosts were looked up before it was made, which is time of the call too.
    `labels` join those of its result: of the files that it was judged to read, and of where its command connects to.
    """

    __slots__ = (
        "_judge",
        "_judge_place",
        "_open",
        "_within",
        "arguments",
        "call_id",
        "envelope",
        "hash",
        "labels",
        "lookup_seconds",
        "session",
        "tool",
        "verdict",
        "workspace",
    )

    def __init__(
        self,
        *,
        session: str,
        call_id: str,
        tool: str,
        arguments: dict[str, Any],
        workspace: str,
        hash: str,
        envelope: Envelope,
        verdict: Verdict | None = None,
        judge: "Callable[[Grant, str], Awaitable[Grant]] | None" = None,
        judge_place: "Callable[[str, int], Awaitable[tuple[str, ...]]] | None" = None,
        within: "Grant | None" = None,
        lookup_seconds: float = 0.0,
        labels: Labels = NONE,
    ) -> None:
        self.session, self.call_id, self.tool, self.arguments, self.verdict = session, call_id, tool, arguments, verdict
        self.workspace, self.hash, self.envelope = workspace, hash, envelope
        self._judge, self._judge_place, self._within = judge, judge_place, within
        self.lookup_seconds, self.labels = lookup_seconds, labels
        self._open = True

    @property
    def open(self) -> bool:
        return self._open and (self._within is None or self._within.open)

    def close(self) -> None:
        """Use the grant up; every later `check` fails."""
        self._open = False

    def check(self) -> Envelope:
        """The envelope, while the grant is open."""
        if not self.open:
            raise PermissionDeniedError(f"the permission for {self.tool or 'this connection'} was used up when its call ended")
        return self.envelope

    async def follow(self, url: str) -> "Grant":
        """The grant for where an answer to this call leads, judged by the gate like the call's own address; it ends with this one.

        Raises `PermissionDeniedError` for an address that is not allowed without a question.
        """
        self.check()
        if self._judge is None:
            raise PermissionDeniedError("a redirect is not followed under this permission")
        return await self._judge(self, url)

    async def reach(self, host: str, port: int) -> tuple[str, ...]:
        """The network addresses at which a command under this grant may reach a host and port. Each host is looked up once, each place judged once.

        Raises `PermissionDeniedError` for a place that it may not reach.
        """
        if not self.check().network:
            raise PermissionDeniedError("this command has no network")
        if self._judge_place is None:
            raise PermissionDeniedError("under this permission no place is reached that was not judged before")
        return await self._judge_place(host, port)
