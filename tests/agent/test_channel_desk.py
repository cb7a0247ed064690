"""What a channel hands in is on the disk when the call returns: it may be acknowledged to where it came from, and a power cut loses nothing."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw import Agent, tool
from neuralclaw.app.background_work import run_services
from neuralclaw.app.capabilities import Capabilities, LoadedCapability
from neuralclaw.capability import Capability, CapabilityContext, Inbound
from neuralclaw.errors import StoreError
from neuralclaw.ports import Desk
from neuralclaw.runtime.channel_desk import ChannelDesk
from neuralclaw.types.options import TurnOptions

from ..model.faults import Fault, FaultyStore, Record
from ..store import kit
from ..waiting import until
from .deliveries import Post
from .kit import agent_over, call, calls

pytestmark = pytest.mark.anyio


@tool(risk="HIGH", effect="once")
async def launch() -> str:
    "Launch."
    return "launched"


@asynccontextmanager
async def over(home: Path, *replies: Any) -> AsyncIterator[tuple[Agent, FaultyStore, ChannelDesk]]:
    """An agent, the store that says up to where a barrier stood, and a channel's desk."""
    async with kit.opened(home) as real:
        store = FaultyStore(real, Record(), lambda: None)
        async with agent_over(store, *replies, tools=[launch]) as a:  # type: ignore[arg-type]
            yield a, store, ChannelDesk(a.desk, store, str(home), TurnOptions(model="", workspace=str(home.parent)), "post")  # type: ignore[arg-type]


def said(text: str = "hello", key: str = "1") -> Inbound:
    return Inbound(text=text, key=key, by="owner", sender="somebody", channel="post", address="room", reply_to="room")


async def last(store: Any, kind: str, session: str = "s") -> int:
    """The record of the newest entry of a kind."""
    return int((await store.read(session, kinds=(kind,)))[-1].header.record)


async def parked(a: Agent) -> str:
    """A session `p` that waits for an answer; the id of its question."""
    turn = await a.ask("go", session="p", approvals="park")
    return turn.waiting[0]


Acts = Callable[[Agent, Desk], Awaitable[tuple[str, str]]]


async def sends(a: Agent, desk: Desk) -> tuple[str, str]:
    await desk.send("s", said())
    return "s", "inbound"


async def queues(a: Agent, desk: Desk) -> tuple[str, str]:
    await desk.queue("s", said())
    return "s", "inbound"


async def steers(a: Agent, desk: Desk) -> tuple[str, str]:
    await parked(a)
    await desk.steer("p", said())
    return "p", "inbound"


async def answers(a: Agent, desk: Desk) -> tuple[str, str]:
    await desk.answer(await parked(a), "no", by="owner")
    return "p", "approval.resolved"


async def cancels(a: Agent, desk: Desk) -> tuple[str, str]:
    await parked(a)
    await desk.cancel("p", by="owner")
    return "p", "cancel"


async def commands(a: Agent, desk: Desk) -> tuple[str, str]:
    await parked(a)
    await desk.do("sessions.cancel", session="p")
    return "p", "cancel"


@pytest.mark.parametrize("act", [sends, queues, steers, answers, cancels, commands])
async def test_what_a_channel_is_told_of_as_done_survives_a_power_cut(home: Path, act: Acts) -> None:
    async with over(home, calls(call("launch")), "fine", "fine") as (a, store, desk):
        session, kind = await act(a, desk)
        assert store.durable >= await last(store, kind, session)


async def test_a_turn_that_a_channel_follows_begins_with_a_message_on_the_disk(home: Path) -> None:
    async with over(home, "fine") as (_, store, desk):
        async with desk.turn("s", said()) as events:
            assert store.durable >= await last(store, "inbound")
            assert [event.type async for event in events][-1] == "turn.finished"


async def test_an_ordinary_turn_waits_for_no_barrier(home: Path) -> None:
    async with over(home, "fine", "fine") as (a, store, _):
        await a.ask("hello", session="s")
        await a.desk.send("s", said())
        await a.desk.queue("s", said(key="2"))
        assert store.durable == 0


async def test_a_message_that_could_not_be_brought_to_the_disk_is_not_acknowledged_and_sent_again_it_is_the_same(home: Path) -> None:
    async with over(home, "fine") as (_, store, desk):
        store.fault = Fault("barrier", 0, done=False, dies=False)
        with pytest.raises(StoreError, match="barrier failed"):
            await desk.send("s", said())
        again = await desk.send("s", said())
        assert again.before is not None
        assert store.durable >= again.before.header.record
        assert len(await store.read("s", kinds=("inbound",))) == 1


async def test_a_channel_has_this_desk_where_it_is_made_and_where_it_serves(home: Path) -> None:
    durable: list[bool] = []

    async with over(home, "fine", "fine") as (a, store, _):

        class Room(Post):
            def __init__(self, context: CapabilityContext) -> None:
                super().__init__()
                self._own = context.desk

            async def serve(self, desk: Desk) -> None:
                for key, used in (("1", desk), ("2", self._own)):
                    accepted = await used.send(f"s{key}", said(key=key))
                    record = await last(store, "inbound", f"s{key}")
                    durable.append(accepted.entry == 1 and store.durable >= record)

        room = Capability(name="room", summary="A room.", channels={"post": Room})
        a._home.capability_parts = Capabilities([LoadedCapability("room", "1", "room", value=room)]).for_client(a._home.capability_parts._client)  # type: ignore[attr-defined]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run_services, a._home, a.desk)
            await until(lambda: len(durable) == 2)
            tasks.cancel_scope.cancel()
    assert durable == [True, True]
