"""What the code of one capability works with: its settings, and the desk and store of the home, for one client."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from .. import lookups
from ..agent.redaction import NO_REDACTION, redacted
from ..capability import PRIVATE, Capability, TurnContext, VerbNeeds
from ..config import LoadedSettings
from ..errors import AgentError, UsageError
from ..ports import Clock, Desk, Gate, Redaction, Store, Toolset
from ..types.actions import Who
from ..types.entries import HOME, Draft, Entry
from ..types.events import Body
from ..types.labels import AGENT, Labels, checked_labels, join
from .reading_client import ReadingClientDesk, ReadingStore, refuse

if TYPE_CHECKING:
    from ..agent.compaction import Summarizer
    from ..types.options import Policy, TurnOptions
    from .capability_tools import ToolProblem
    from .defaults import ClientDefaults
    from .later_run.place_recorder import PlaceRecorder
    from .models.model_resolver import ModelResolver  # what only reads the record does not load it
    from .undo.change_recorder import ChangeRecorder

Part = TypeVar("Part")


def in_one_line(text: str) -> str:
    """A sentence of a capability's code, with a space in place of each line break: it stands for no line of ours."""
    return " ".join(line.strip() for line in text.splitlines() if line.strip())


class OpenHome(Protocol):
    """What the verbs of built-in capabilities use of a home that is open, besides its store."""

    @property
    def gate(self) -> Gate: ...
    @property
    def digests(self) -> Mapping[str, str]:
        """SHA-256 of what decides how every turn goes: `settings` and `policy`."""
        ...

    @property
    def changes(self) -> "ChangeRecorder": ...
    @property
    def places(self) -> "PlaceRecorder": ...
    @property
    def interrupted_places(self) -> bool:
        """Whether a command is noted as running, so that `places` has something to do."""
        ...

    @property
    def policy(self) -> "Policy": ...
    async def summarizer(self, session: str, number: int, options: "TurnOptions") -> "Summarizer":
        """Who summarises the session, as its turn of that number would. Raises `ConfigError` for a model that cannot be asked."""
        ...

    async def replay(self, session: str, model: str | None, policy: str | None) -> list[dict[str, Any]]:
        """The events of a session that is run again from its record, and behind them where it goes another way. Raises `SessionNotFound`, `UsageError` and
        `ConfigError`."""
        ...

    async def erase_session(self, session: str, by: str) -> Entry:
        """Delete a session for good; gives the entry that tells of it. Raises `SessionNotFound`."""
        ...

    async def tools_and_problems(self, turn: TurnContext) -> "tuple[Toolset, Sequence[ToolProblem]]":
        """The tools that a turn has, and those that capabilities bring to it and that cannot be used."""
        ...


class CapabilityClient(NamedTuple):
    """For whom capabilities work, and over what. `notify` tells this process's subscribers of entries that were written.

    `workspace`: absolute and real, "" where there is none. `desk` and `store` None: the home is not open, and verbs that need the settings alone are
    all there is; `loaded` and `desk` None: the record alone is. `models`: those of the home; `tell` shows a person a sentence beside the value of a
    verb. `defaults`: what the client makes of what is said there.
    """

    loaded: LoadedSettings | None
    desk: Desk | None
    store: Store | None
    clock: Clock
    notify: Callable[[Sequence[Entry]], None]
    workspace: str = ""
    who: Who = "program"
    redaction: Redaction = NO_REDACTION
    models: "ModelResolver | None" = None
    home: OpenHome | None = None
    tell: Callable[[str], None] | None = None
    defaults: "ClientDefaults | None" = None

    @property
    def opened(self) -> VerbNeeds:
        """What of the home is open."""
        return "record" if self.loaded is None else "home" if self.store is not None else "settings"

    def only_reading(self, command: str, reads: Callable[[str], bool]) -> "CapabilityClient":
        """The same for a verb that only reads: its store, its desk and `notify` refuse what writes. `command`: its name; `reads`: whether the verb of that
        name only reads too."""
        store = ReadingStore(self.store, command) if self.store is not None else None
        desk = ReadingClientDesk(self.desk, command, reads) if self.desk is not None else None
        return self._replace(store=store, desk=desk, notify=lambda entries: refuse(command, "tell of new entries"))


class ClientContext:
    """The `CapabilityContext` of one capability and one client: nothing else is here."""

    def __init__(self, capability: Capability, client: CapabilityClient) -> None:
        self._capability, self._client = capability, client
        self._kinds = {kind.body: kind for kind in capability.events}

    @property
    def settings(self) -> Any:
        """The section as its struct, decoded when it is first asked for. Raises `ConfigError` that names every problem with file, line and key."""
        return self._there(self._client.loaded, "settings").section(self._capability.name)

    @property
    def desk(self) -> Desk:
        return self._there(self._client.desk, "desk")

    @property
    def store(self) -> Store:
        return self._there(self._client.store, "store")

    def _there(self, part: Part | None, name: str) -> Part:
        if part is None:
            opened = self._client.opened
            raise AgentError(f"{self._capability.name} works with the {opened} alone here: there is no {name}", hint='a Verb that needs it says needs="home"')
        return part

    def notice(self, text: str) -> None:
        """See `CapabilityContext`."""
        if self._client.tell is not None:
            self._client.tell(in_one_line(text))

    @property
    def clock(self) -> Clock:
        return self._client.clock

    @property
    def workspace(self) -> str:
        return self._client.workspace

    @property
    def who(self) -> Who:
        return self._client.who

    async def record(self, *bodies: Body, session: str = HOME, turn: int = 0, labels: Labels = PRIVATE) -> Sequence[Entry]:
        """See `CapabilityContext`. Configured secrets are taken out; in a session, the entries have its labels too.

        Raises `UsageError` for an event that is not of the capability's kinds, and for a turn that does not fit the session.
        """
        if not bodies:
            return ()
        for body in bodies:
            if type(body) not in self._kinds:
                raise UsageError(f"{self._capability.name} has no event {type(body).__name__}; nothing was recorded", hint="its capability lists it in events")
        if (session == HOME) != (turn == 0):
            raise UsageError(
                f"turn {turn} does not fit the session {session}; nothing was recorded", hint="events outside a turn belong to session home, turn 0"
            )
        row = await lookups.session(self.store, session) if session != HOME else None
        if session != HOME and (row is None or not 1 <= turn <= row.last_turn):
            there = f"it has {row.last_turn} turns" if row is not None else "there is no such session"
            raise UsageError(f"turn {turn} does not fit the session {session}: {there}; nothing was recorded", hint="a tool gives ctx.session and ctx.turn")
        labels = checked_labels(labels)
        marked = join(labels, row.labels) if row is not None else join(labels, AGENT) if not labels else labels
        drafts = [Draft(turn, redacted(body, self._client.redaction), marked) for body in bodies]
        written = await self.store.append(session, drafts)
        self._client.notify(written)
        return written


class BuiltInContext(ClientContext):
    """The context of a built-in capability, which is part of `app`: it uses more of the client than the protocol promises to others.

    `told`: an event in words.
    """

    def __init__(self, capability: Capability, client: CapabilityClient, told: Callable[[Body], str]) -> None:
        super().__init__(capability, client)
        self.told = told

    @property
    def loaded(self) -> LoadedSettings:
        """All settings of the home. Raises `AgentError` where the client has none."""
        return self._there(self._client.loaded, "settings")

    @property
    def defaults(self) -> "ClientDefaults":
        """What its turns run under. Raises `AgentError` where it runs none."""
        return self._there(self._client.defaults, "turn")

    @property
    def models(self) -> "ModelResolver":
        """The models of the home. Raises `AgentError` where the client has none."""
        return self._there(self._client.models, "models")

    @property
    def home(self) -> OpenHome:
        """The home. Raises `AgentError` where it is not open."""
        return self._there(self._client.home, "home")

    @property
    def redaction(self) -> Redaction:
        """What takes secrets out of text that is recorded, or written past the value of a verb."""
        return self._client.redaction

    @property
    def policy_digest(self) -> str:
        """SHA-256 of today's policy, "" where the home is not open."""
        return self._client.home.digests["policy"] if self._client.home is not None else ""

    def notify(self, entries: Sequence[Entry]) -> None:
        """Tell this process's subscribers of entries that were written."""
        self._client.notify(entries)
