"""What cannot be recorded does not run: a store refuses writing at each place of a turn in turn, and the effects are counted."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from neuralclaw import tool
from neuralclaw.app.clock import SystemClock
from neuralclaw.errors import NeuralClawError, StoreError
from neuralclaw.store import SqliteStore
from neuralclaw.types.entries import Draft, Entry
from neuralclaw.types.records import Lease, StateRow

from ..store.kit import opened
from . import kit

pytestmark = pytest.mark.anyio
FULL = "the disk is full; nothing of this step was recorded"


class RefusingStore(SqliteStore):
    """Refuses everything that is written or synced from the call of that number on, appends and barriers counted together."""

    refuses_from = 10**9
    asked = 0

    def _count(self) -> None:
        self.asked += 1
        if self.asked >= self.refuses_from:
            raise StoreError(FULL)

    async def append(self, session: str, drafts: Sequence[Draft], *, lease: Lease | None = None, rows: Sequence[StateRow] = ()) -> list[Entry]:
        self._count()
        return await super().append(session, drafts, lease=lease, rows=rows)

    async def barrier(self) -> None:
        self._count()
        await super().barrier()


class Effects:
    """What happened in the world, and how much of it was on record by then."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def tools(self, store: SqliteStore) -> list[Any]:
        @tool(effect="once", risk="LOW")
        async def send_parcel(to: str) -> str:
            """Send a parcel."""
            begun = await store.read("s", kinds=("tool.started",))
            assert len(begun) == len(self.done) + 1, "it begins only where its beginning is on record"
            self.done.append(to)
            return "sent"

        return [send_parcel]


async def attempt(home: Path, refuses_from: int) -> tuple[int, int, int]:
    """A turn with two effects, whose store refuses from there on: how often the store was asked, the effects, and the begun calls on record."""
    store = await RefusingStore.open(str(home), clock=SystemClock())
    assert isinstance(store, RefusingStore)
    store.refuses_from = refuses_from
    effects = Effects()
    replies = [kit.calls(kit.call("send_parcel", name, to=name)) for name in ("c1", "c2")]
    try:
        async with kit.agent_over(store, *replies, "done", tools=effects.tools(store)) as agent:
            await kit.events(agent, session="s", approvals="auto")
    except* NeuralClawError:  # the turn could not be recorded to its end
        assert store.asked >= refuses_from
    async with opened(home, readonly=True) as reader:
        begun = len(await reader.read("s", kinds=("tool.started",)))
    return store.asked, len(effects.done), begun


async def test_no_effect_happens_whose_beginning_could_not_be_recorded(tmp_path: Path) -> None:
    asked, effects, begun = await attempt(tmp_path / "whole", 10**9)
    assert (effects, begun) == (2, 2)
    counts = []
    for number in range(1, asked + 1):
        _, effects, begun = await attempt(tmp_path / f"home{number}", number)
        assert effects <= begun, f"refused from write {number} on"
        counts.append(effects)
    assert counts == sorted(counts)
    assert (counts[0], set(counts)) == (0, {0, 1, 2})
