"""What the code of one capability works with: its settings, and the desk and store of the home, for one client."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import lookups
from ..agent.redaction import NO_REDACTION, redacted
from ..capability import PRIVATE, Capability
from ..config import LoadedSettings
from ..errors import UsageError
from ..ports import Clock, Desk, Redaction, Store
from ..types.actions import Who
from ..types.entries import HOME, Draft, Entry
from ..types.events import Body
from ..types.labels import AGENT, Labels, join


class CapabilityClient(NamedTuple):
    """For whom capabilities work, and over what. `notify` tells this process's subscribers of entries that were written.

    `workspace`: absolute and real, "" where there is none.
    """

    loaded: LoadedSettings
    desk: Desk
    store: Store
    clock: Clock
    notify: Callable[[Sequence[Entry]], None]
    workspace: str = ""
    who: Who = "program"
    redaction: Redaction = NO_REDACTION


class ClientContext:
    """The `CapabilityContext` of one capability and one client."""

    def __init__(self, capability: Capability, client: CapabilityClient) -> None:
        self._capability, self._client = capability, client
        self._kinds = {kind.body: kind for kind in capability.events}

    @property
    def settings(self) -> Any:
        """The section as its struct, decoded when it is first asked for. Raises `ConfigError` that names every problem with file, line and key."""
        return self._client.loaded.section(self._capability.name)

    @property
    def desk(self) -> Desk:
        return self._client.desk

    @property
    def store(self) -> Store:
        return self._client.store

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
            raise UsageError(f"turn {turn} does not fit the session {session}; nothing was recorded", hint="what belongs to no turn stands in the home, turn 0")
        row = await lookups.session(self.store, session) if session != HOME else None
        marked = join(labels, row.labels) if row is not None else join(labels, AGENT) if not labels else labels
        drafts = [Draft(turn, redacted(body, self._client.redaction), marked) for body in bodies]
        written = await self.store.append(session, drafts)
        self._client.notify(written)
        return written
