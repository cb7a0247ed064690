"""The event stream: a slow subscriber loses passing events only, and delays nobody."""

from pathlib import Path

import pytest

from neuralclaw.runtime.bus import Bus
from neuralclaw.store import SqliteStore
from neuralclaw.testing import FakeClock
from neuralclaw.types.entries import Draft
from neuralclaw.types.events import Cancel, TextDelta

from .kit import agent, call, calls

pytestmark = pytest.mark.anyio


@pytest.mark.invariant("sessions.no-delay")
async def test_a_full_buffer_drops_passing_events_and_reads_durable_ones_again(home: Path) -> None:
    clock = FakeClock()
    async with await SqliteStore.open(str(home), clock=clock) as store:
        bus = Bus(store, clock)
        async with bus.subscribe("s", after=0, buffer=3) as slow, bus.subscribe("s", after=0) as fast:
            for number in range(10):
                bus.show("s", 1, TextDelta(text=str(number)))
                bus.publish(await store.append("s", [Draft(1, Cancel(by=str(number)))]))
            seen = [await anext(slow) for _ in range(12)]
            assert [e.by for e in seen if e.entry is not None] == [str(n) for n in range(10)]
            assert sum(e.entry is None for e in seen) < 10
            assert [e.seq for e in seen] == list(range(1, 13))
            all_of_it = [await anext(fast) for _ in range(20)]
    assert [e.by for e in all_of_it if e.entry is not None] == [str(n) for n in range(10)]
    assert sum(e.entry is None for e in all_of_it) == 10


async def test_entries_of_another_process_are_read_where_the_numbers_have_a_hole(home: Path) -> None:
    clock = FakeClock()
    async with await SqliteStore.open(str(home), clock=clock) as store, await SqliteStore.open(str(home), clock=clock) as other:
        bus = Bus(store, clock)
        async with bus.subscribe("s", after=0) as events:
            bus.publish(await store.append("s", [Draft(1, Cancel(by="a"))]))
            await other.append("s", [Draft(1, Cancel(by="b"))])
            bus.publish(await store.append("s", [Draft(1, Cancel(by="c"))]))
            assert [(await anext(events)).by for _ in range(3)] == ["a", "b", "c"]


async def test_a_failure_reaches_the_subscriber_after_all_before_it(home: Path) -> None:
    clock = FakeClock()
    async with await SqliteStore.open(str(home), clock=clock) as store:
        bus = Bus(store, clock)
        async with bus.subscribe("s", after=0) as events:
            bus.publish(await store.append("s", [Draft(1, Cancel(by="a"))]))
            for reader in bus.readers("s", None):
                reader.fail(RuntimeError("over"))
            assert (await anext(events)).by == "a"
            with pytest.raises(RuntimeError, match="over"):
                await anext(events)


async def test_a_question_that_is_shown_ahead_while_it_comes_in_is_shown_once(home: Path) -> None:
    async with agent(home, calls(call("delete_file", path="a")), approvals="park") as a:
        (home.parent / "work" / "a").write_text("x")
        await a.ask("go", session="s")
        entries = await a._home.store.read("s")
        (asked,) = [entry for entry in entries if entry.header.kind == "approval.requested"]
        with a._desk._bus.turn("s", number=1) as stream:
            stream.show_first([asked])
            types = [event.type async for event in stream]
    assert types.count("approval.requested") == 1
