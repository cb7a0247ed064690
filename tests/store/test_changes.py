"""Subscribers of one process."""

import gc
from pathlib import Path

import anyio
import pytest

from ..waiting import until
from . import kit

pytestmark = pytest.mark.anyio


async def test_a_subscriber_begins_with_the_call_and_not_with_its_first_look(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.message("before")])
        batches = store.changes()
        written = await store.append("a", [kit.message("after")])
        with anyio.fail_after(5):
            assert await anext(batches) == written


async def test_what_was_written_before_the_first_look_is_seen_once(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.message()] * 5)
        batches = store.changes(2)
        await store.append("a", [kit.message()] * 5)
        seen: list[int] = []
        with anyio.fail_after(5):
            while seen[-1:] != [10]:
                seen += [e.entry for e in await anext(batches)]
            await store.append("a", [kit.message()])
            seen += [e.entry for e in await anext(batches)]
        assert seen == [3, 4, 5, 6, 7, 8, 9, 10, 11]


@pytest.mark.invariant("sessions.no-delay")
async def test_a_slow_subscriber_delays_nobody_and_misses_nothing(home: Path) -> None:
    async with kit.opened(home) as store:
        slow, quick = store.changes(), store.changes()
        quick_seen: list[int] = []
        for _ in range(50):
            await store.append("a", [kit.message()] * 100)
            with anyio.fail_after(5):
                quick_seen += [e.entry for e in await anext(quick)]
        assert quick_seen == list(range(1, 5001))
        assert sum(len(batch) for batch in slow._buffer) <= 2048  # the rest is read from the journal again
        slow_seen: list[int] = []
        with anyio.fail_after(5):
            while len(slow_seen) < 5000:
                slow_seen += [e.entry for e in await anext(slow)]
        assert slow_seen == quick_seen
        written = await store.append("a", [kit.message()])
        with anyio.fail_after(5):
            assert await anext(slow) == written


async def test_one_that_left_or_was_dropped_costs_nothing_more(home: Path) -> None:
    async with kit.opened(home) as store:
        kept, dropped = store.changes(), store.changes()
        await kept.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(kept)
        assert store._changes.wanted
        del dropped
        gc.collect()
        await store.append("a", [kit.message()])
        await until(lambda: not store._changes.wanted and store._changes._watcher is None)
        again = store.changes()
        written = await store.append("a", [kit.message()])
        with anyio.fail_after(5):
            assert await anext(again) == written


async def test_closing_the_store_ends_its_subscribers(home: Path) -> None:
    ended = anyio.Event()

    async with anyio.create_task_group() as group, kit.opened(home) as store:

        async def follow() -> None:
            async for _ in store.changes():
                pass
            ended.set()

        group.start_soon(follow)
        await until(lambda: store._changes.wanted)
    assert ended.is_set()


async def test_a_reader_of_a_home_that_must_not_be_written_follows_too(home: Path) -> None:
    async with kit.opened(home, readonly=True) as reader:
        batches = reader.changes()
        async with kit.opened(home) as store:
            written = await store.append("a", [kit.message()])
            with anyio.fail_after(5):
                assert await anext(batches) == written
