"""The store of a replay: reads end where the replay is, and what is written is taken from the record."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...ports import Store
from ...types.entries import HOME, Draft, Entry
from ...types.grants import StandingGrant
from ...types.records import Lease, StateRow
from .recording import Recording


class ReplayStore:
    """As much of a `Store` as a turn uses. Nothing is written. `kept`: the store with what the record names, such as prompts and pictures."""

    def __init__(self, kept: Store, session: str, recording: Recording) -> None:
        self._kept, self._session, self._recording = kept, session, recording

    async def append(self, session: str, drafts: Sequence[Draft], *, lease: Lease | None = None, rows: Sequence[StateRow] = ()) -> list[Entry]:
        """The recorded entries that these are. What a turn notes in the reserved session of the home (uses of grants) is on record there."""
        return [] if session == HOME else self._recording.take(drafts)

    async def barrier(self) -> None:
        """Nothing is written."""

    async def read(self, session: str, *, after: int = 0, from_turn: int = 0, kinds: Sequence[str] | None = None, **_: Any) -> list[Entry]:
        """What has come in."""
        seen = self._recording.since(max(after, self._recording.begins(from_turn)), from_turn)
        return [entry for entry in seen if kinds is None or entry.header.kind in kinds]

    async def rows(self, table: str, where: Mapping[str, Any] = {}, **more: Any) -> list[dict[str, Any]]:
        """The ids of calls that have come in; of another table the rows of today."""
        if table != "calls":
            return await self._kept.rows(table, where, **more)
        calls, position = self._recording.calls, self._recording.position
        return [{"session": self._session, "call_id": one} for one in where["call_id"] if calls.get(one, position) < position]

    async def grants(self, session: str | None = None, workspace: str | None = None) -> list[StandingGrant]:
        """None: what a standing grant allowed is on record as the decision about its call."""
        return []
