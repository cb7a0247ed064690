"""Two real processes on one home."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from neuralclaw import lookups
from neuralclaw.errors import LeaseLost, StoreError
from neuralclaw.types.entries import Entry

from ..waiting import until
from . import kit

pytestmark = [pytest.mark.anyio, pytest.mark.full]


async def test_two_processes_write_one_chain_without_holes(home: Path) -> None:
    async with kit.second("append", str(home), "both", "500") as one, kit.second("append", str(home), "both", "500") as two:
        assert [await one.line(), await two.line()] == ["ready", "ready"]
        await one.go()
        await two.go()
        assert [await one.process.wait(), await two.process.wait()] == [0, 0]
    async with kit.opened(home) as store:
        entries = await store.read("both")
        assert [e.entry for e in entries] == list(range(1, 1001))
        assert len({e.body.text for e in entries if e.body is not None and e.body.type == "message"}) == 500  # each text of both
        report = await store.verify()
        assert (report.ok, report.records) == (True, 1000)
        row = await lookups.session(store, "both")
        assert row is not None
        assert (row.entries, row.usd) == (1000, 250.0)


@pytest.mark.invariant("sessions.one-turn")
async def test_after_a_kill_nothing_acknowledged_is_lost_and_the_lease_is_taken_at_once(home: Path) -> None:
    async with kit.opened(home) as store, kit.second("forever", str(home), "work") as other:
        assert await other.line() == "ready"
        assert await store.holder("session:work") == f"pid {other.pid}"
        assert await store.acquire("session:work") is None
        await other.go()
        for _ in range(50):
            last = int(await other.line())
        assert await store.acquire("session:work") is None
        await other.kill()
        acknowledged = [int(line) for line in await other.lines() if line.isdigit()] or [last]
        lease = await store.acquire("session:work")
        assert lease is not None
        assert lease.epoch == 2
        entries = await store.read("work")
        assert len(entries) >= max(acknowledged)
        assert (await store.verify()).ok
        assert await lookups.start_turn(store, lease, "work", 1) == 1
        dead = type(lease)(lease.name, f"{other.pid}-0000000000", 1)
        with pytest.raises(LeaseLost):
            await store.append("work", [kit.message()], lease=dead)
        assert len(await store.read("work")) == len(entries)


async def test_a_kill_between_a_start_and_its_first_entry_is_counted(home: Path) -> None:
    for count in (1, 2, 3):
        async with kit.second("forever", str(home), "work") as other:  # it starts the turn and is killed before an entry
            assert await other.line() == "ready"
            await other.kill()
        async with kit.opened(home) as store:
            assert kit.raw(home).execute("SELECT starts, epoch FROM leases").fetchall() == [(count, count)]
            assert await store.holder("session:work") is None


async def test_of_two_answers_from_two_processes_one_is_taken(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("work", [kit.asked()])
        async with (
            kit.second("answer", str(home), "work", "Q000000001", "once") as one,
            kit.second("answer", str(home), "work", "Q000000001", "no") as two,
        ):
            assert [await one.line(), await two.line()] == ["ready", "ready"]
            await one.go()
            await two.go()
            assert sorted([await one.line(), await two.line()]) == ["AlreadyAnswered", "taken"]
        assert [e.header.kind for e in await store.read("work")] == ["approval.requested", "approval.resolved"]


async def test_every_subscriber_sees_the_entries_of_both_processes_once_and_in_order(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("mine", [kit.message("before")])
        seen: dict[str, list[int]] = {"all": [], "new": [], "from two": []}

        async def follow(name: str, after: int | None) -> None:
            batches = store.changes(after)
            async for batch in batches:
                seen[name] += records(batch)
                if seen[name][-1] == 601:
                    await batches.aclose()

        async with kit.second("append", str(home), "theirs", "300") as other, anyio.create_task_group() as group:
            assert await other.line() == "ready"
            for name, after in (("all", 0), ("new", None), ("from two", 1)):
                group.start_soon(follow, name, after)
            await until(lambda: store._changes.wanted)
            await other.go()
            for i in range(300):
                await store.append("mine", [kit.message(str(i))])
        assert seen == {"all": list(range(1, 602)), "new": list(range(2, 602)), "from two": list(range(2, 602))}


async def test_an_answer_from_another_process_is_seen_while_this_one_only_waits(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("work", [kit.asked()])
        batches = store.changes()
        async with kit.second("answer", str(home), "work", "Q000000001", "once") as other:
            assert await other.line() == "ready"
            await other.go()
            with anyio.fail_after(5):
                batch = await anext(batches)
        assert [e.header.kind for e in batch] == ["approval.resolved"]


async def test_a_stranger_that_keeps_the_file_locked_is_named_and_afterwards_all_goes_on(home: Path) -> None:
    async with kit.opened(home, patience=0.3) as store:
        await store.append("work", [kit.message()])
        async with kit.second("lock", str(home)) as stranger:
            assert await stranger.line() == "ready"
            with pytest.raises(StoreError, match=r"locked; all that was recorded before is kept"):
                await store.append("work", [kit.message()])
            assert len(await store.read("work")) == 1
        await store.append("work", [kit.message()])
        assert (await store.verify()).records == 2


async def test_many_processes_may_make_one_new_home_at_once(home: Path) -> None:
    async with anyio.create_task_group() as group:

        async def one(name: str) -> None:
            async with kit.second("append", str(home), name, "5") as other:
                assert await other.line() == "ready"
                await other.go()
                assert await other.process.wait() == 0

        for i in range(4):
            group.start_soon(one, f"s{i}")
    async with kit.opened(home) as store:
        assert (await store.verify()).records == 20


def records(batch: Sequence[Entry]) -> list[int]:
    return [e.header.record for e in batch]


async def test_a_forked_child_does_not_keep_its_dead_parent_alive(home: Path) -> None:
    async with kit.opened(home) as store, kit.second("fork", str(home)) as parent:
        child = int(await parent.line())
        try:
            assert await parent.line() == "ready"
            assert await store.holder("session:work") == f"pid {parent.pid}"
            assert await store.acquire("session:work") is None
            await parent.kill()
            os.kill(child, 0)  # it lives
            assert await store.holder("session:work") is None
            assert await store.acquire("session:work") is not None
        finally:
            os.kill(child, signal.SIGKILL)
