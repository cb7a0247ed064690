"""Numbers of turns that the store gives while it writes."""

from pathlib import Path

import anyio
import pytest

from neuralclaw import lookups
from neuralclaw.agent.state import TurnState
from neuralclaw.errors import StoreError
from neuralclaw.types.entries import NEXT, Draft
from neuralclaw.types.records import NewSession

from . import kit

pytestmark = pytest.mark.anyio


async def test_a_message_goes_to_the_open_turn_or_gets_a_number_of_its_own(home: Path) -> None:
    async with kit.opened(home) as store:

        async def turn(draft: Draft) -> int:
            (entry,) = await store.append("a", [draft])
            return entry.turn

        assert await turn(kit.cancel()) == 1, "there is no turn yet"
        assert await turn(kit.inbound(turn=NEXT)) == 2
        assert await turn(kit.inbound(turn=NEXT)) == 3, "the one before waits and has its number"
        assert await turn(kit.cancel()) == 1, "the turn that begins next"
        await store.append("a", [kit.started(2, inbound=2)])
        assert await turn(kit.inbound(turn=None)) == 2, "it steers"
        assert await turn(kit.cancel()) == 2
        assert await turn(kit.inbound(turn=None, queued=True)) == 4
        assert await turn(kit.cancel(message=3)) == 3, "the turn that message 3 will begin"
        await store.append("a", [kit.finished(2, waiting=("Q1",))])
        assert await turn(kit.inbound(turn=None)) == 2, "a turn that waits for a person is open"
        await store.append("a", [kit.finished(2)])
        assert await turn(kit.inbound(turn=NEXT)) == 5
        assert await turn(kit.inbound(turn=None)) == 3, "it steers the turn that begins next"
        assert [e.turn for e in await store.append("b", [kit.inbound(turn=None), kit.inbound(turn=NEXT), kit.started(1), kit.inbound(turn=None)])] == [
            1,
            2,
            1,
            1,
        ]


async def test_messages_of_two_processes_get_numbers_of_their_own(home: Path) -> None:
    async with kit.opened(home) as one, kit.opened(home) as two:
        turns: list[int] = []

        async def send(index: int) -> None:
            (entry,) = await (one if index % 2 else two).append("a", [kit.inbound(turn=NEXT)])
            turns.append(entry.turn)

        for _ in range(5):
            async with anyio.create_task_group() as group:
                for index in range(20):
                    group.start_soon(send, index)
        assert sorted(turns) == list(range(1, 101))


async def test_only_a_message_or_a_cancel_may_leave_its_turn_to_the_store(home: Path) -> None:
    async with kit.opened(home) as store:
        with pytest.raises(StoreError, match="it has no turn"):
            await store.append("a", [Draft(None, kit.message().body)])
        assert await store.read("a") == []


async def test_a_cancel_reaches_a_queued_message_whose_number_was_overtaken(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.inbound(key="1"), kit.started(inbound=1)])
        await store.append("a", [kit.inbound(key="2", turn=None, queued=True), kit.inbound(key="3", turn=None), kit.inbound(key="4", turn=None, queued=True)])
        await store.append("a", [kit.finished(1), kit.started(2, inbound=3), kit.finished(2), kit.started(3, inbound=4), kit.finished(3)])
        (cancel,) = await store.append("a", [kit.cancel()])
        waiting = TurnState.fold(4, await store.read("a")).inbox
    assert cancel.turn == 4
    assert [(message.body.key, message.cancelled_by) for message in waiting] == [("4", "owner")]


async def test_a_start_is_reset_by_an_entry_whose_turn_the_store_gave(home: Path) -> None:
    async with kit.opened(home) as store:
        lease = await store.acquire("session:a")
        assert lease is not None
        assert await lookups.start_turn(store, lease, "a", 1) == 1
        await store.append("a", [kit.inbound(turn=None)], lease=lease)
        assert await lookups.start_turn(store, lease, "a", 1) == 1


async def test_a_session_comes_to_be_with_its_first_message_or_not_at_all(home: Path) -> None:
    new = NewSession(origin="owner", workspace="/w", title="T", model="p:m", parent="above", soul="plain")
    async with kit.opened(home) as store:
        with pytest.raises(StoreError):
            await store.append("a", [kit.inbound(turn=None), kit.message("\ud800")], rows=[new])
        assert await lookups.session(store, "a") is None
        await store.append("a", [kit.inbound(turn=None)], rows=[new])
        row = await lookups.session(store, "a")
        assert row is not None
        assert (row.origin, row.workspace, row.title, row.model, row.parent, row.soul) == ("owner", "/w", "T", "p:m", "above", "plain")
        assert (row.entries, row.state, row.pending) == (1, "unfinished", True)
        await store.append("a", [kit.inbound(turn=None)], rows=[NewSession(origin="program", workspace="/other", parent="x", soul="y")])
        again = await lookups.session(store, "a")
        assert again is not None
        assert (again.origin, again.workspace, again.parent, again.soul) == ("owner", "/w", "above", "plain")
        await store.append("b", [kit.inbound(turn=None)])
        await store.append("b", [kit.message()], rows=[new])
        filled = await lookups.session(store, "b")
        assert filled is not None
        assert (filled.origin, filled.soul) == ("owner", "plain")
    assert kit.raw(home).execute("SELECT count(*) FROM sessions").fetchone() == (2,)
