"""Records with compare-and-set, and the outbox: state of its own, changed by several processes."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw import lookups
from neuralclaw.errors import LeaseLost, StoreError
from neuralclaw.types.records import Lease, OutboxItem, PutRecord, RecordConflict

from . import kit

pytestmark = pytest.mark.anyio


async def test_a_record_is_kept_changed_and_removed(home: Path) -> None:
    async with kit.opened(home) as store:
        assert await lookups.record(store, "pins", "a") is None
        first = await store.put_record("pins", "a", {"hash": "1", "tools": ["x"]})
        assert await lookups.record(store, "pins", "a") == first
        assert (first.space, first.key, first.value) == ("pins", "a", {"hash": "1", "tools": ["x"]})
        second = await store.put_record("pins", "a", 2, expect=first.version)
        assert second.version > first.version
        gone = await store.put_record("pins", "a", None, expect=second.version)
        assert (gone.value, await lookups.record(store, "pins", "a")) == (None, None)
        again = await store.put_record("pins", "a", False, expect=0)
        assert again.version > second.version, "no two states of a record have one version"
    async with kit.opened(home) as store:
        assert await lookups.record(store, "pins", "a") == again
        await store.rebuild()
        assert await lookups.record(store, "pins", "a") == again
    async with kit.opened(home, readonly=True) as store:
        assert await lookups.record(store, "pins", "a") == again
        with pytest.raises(StoreError, match="opened for reading only"):
            await store.put_record("pins", "a", 1)


async def test_a_record_that_stands_otherwise_than_expected_is_told_and_left(home: Path) -> None:
    async with kit.opened(home) as store:
        for expect in (1, 7):
            with pytest.raises(RecordConflict) as caught:
                await store.put_record("pins", "a", 1, expect=expect)
            assert caught.value.current is None
        first = await store.put_record("pins", "a", 1, expect=0)
        for expect in (0, first.version + 1, -1):
            with pytest.raises(RecordConflict) as caught:
                await store.put_record("pins", "a", None, expect=expect)
            assert caught.value.current == first
        assert await lookups.record(store, "pins", "a") == first


async def test_records_of_a_space_are_listed_by_key(home: Path) -> None:
    async with kit.opened(home) as store:
        for space, key in (("s", "job/2"), ("s", "job/10"), ("s", "job"), ("s", "jobs"), ("s", "é"), ("other", "job/1"), ("s", "a%b")):
            await store.put_record(space, key, key)
        assert [r.key for r in await lookups.records(store, "s")] == ["a%b", "job", "job/10", "job/2", "jobs", "é"]
        assert [r.key for r in await lookups.records(store, "s", prefix="job/")] == ["job/10", "job/2"]
        assert [r.key for r in await lookups.records(store, "s", prefix="%")] == []
        assert [r.value for r in await lookups.records(store, "other")] == ["job/1"]


@pytest.mark.parametrize("value", [object(), "\udc80", float("inf"), [float("nan")], {1: 2}], ids=["no JSON", "no Unicode", "infinite", "no number", "key"])
async def test_a_value_that_would_not_be_read_as_it_was_is_refused(home: Path, value: Any) -> None:
    async with kit.opened(home) as store:
        with pytest.raises(StoreError, match="nothing was changed"):
            await store.put_record("s", "k", value)
        assert await lookups.record(store, "s", "k") is None


async def test_a_record_has_a_name(home: Path) -> None:
    async with kit.opened(home) as store:
        for space, key in (("", "k"), ("s", ""), ("s", "\udc80")):
            with pytest.raises(StoreError, match="nothing was changed"):
                await store.put_record(space, key, 1)


async def test_a_record_that_was_damaged_is_named(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.put_record("s", "k", 1)
        c = kit.raw(home)
        c.execute("UPDATE records SET value = '{'")
        c.close()
        with pytest.raises(StoreError, match="the record s/k is damaged"):
            await lookups.record(store, "s", "k")
        await store.put_record("s", "k", 2)
        assert (found := await lookups.record(store, "s", "k")) is not None
        assert found.value == 2


async def test_a_record_changes_with_the_entries_or_not_at_all(home: Path) -> None:
    async with kit.opened(home) as store:
        (entry,) = await store.append("a", [kit.message()], rows=[PutRecord("s", "last", 1, expect=0)])
        assert entry.entry == 1
        first = await lookups.record(store, "s", "last")
        assert first is not None
        with pytest.raises(RecordConflict) as caught:
            await store.append("a", [kit.message()], rows=[PutRecord("s", "other", 1), PutRecord("s", "last", 2, expect=0)])
        assert caught.value.current == first
        with pytest.raises(StoreError, match="changes a record twice"):
            await store.append("a", [kit.message()], rows=[PutRecord("s", "other", 1), PutRecord("s", "other", 2)])
        with pytest.raises(StoreError, match="cannot be written"):
            await store.append("a", [kit.message()], rows=[PutRecord("s", "other", object())])
        with pytest.raises(LeaseLost):
            await store.append("a", [kit.message()], lease=Lease("session:a", "nobody", 1), rows=[PutRecord("s", "other", 1)])
        assert await lookups.records(store, "s") == [first]
        assert len(await store.read("a")) == 1
        await store.erase("a", None, "owner")
        assert await lookups.record(store, "s", "last") == first, "a record is derived from nothing"


async def test_of_many_changes_at_once_of_one_version_one_is_made(home: Path) -> None:
    async with kit.opened(home) as store, kit.opened(home) as other:
        won: list[int] = []

        async def change(number: int) -> None:
            with suppress(RecordConflict):
                await (store, other)[number % 2].put_record("s", "k", number, expect=0)
                won.append(number)

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(change, number)
        found = await lookups.record(store, "s", "k")
        assert found is not None
        assert [found.value] == won


async def test_two_processes_count_on_one_record_and_lose_nothing(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.put_record("s", "count", 0)
    async with kit.second("count", str(home), "40") as one, kit.second("count", str(home), "40") as two:
        for process in (one, two):
            assert await process.line() == "ready"
        for process in (one, two):
            await process.go()
        made = [await process.lines() for process in (one, two)]
    async with kit.opened(home) as store:
        found = await lookups.record(store, "s", "count")
    assert found is not None
    assert found.value == 80
    assert sorted(int(value) for lines in made for value in lines) == list(range(1, 81)), "each value was written by exactly one of them"


async def test_after_a_kill_no_acknowledged_change_is_lost(home: Path) -> None:
    async with kit.second("count", str(home), "1000000") as process:
        assert await process.line() == "ready"
        await process.go()
        told = [await process.line() for _ in range(20)]
        await process.kill()
        told += (await process.lines())[:-1]  # the last line may be cut
    async with kit.opened(home) as store:
        found = await lookups.record(store, "s", "count")
    assert found is not None
    assert found.value >= int(told[-1]) >= 20


async def test_a_delivery_is_pending_until_it_is_recorded(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.finished()], rows=[OutboxItem("chat:1", "fine", "telegram"), OutboxItem("chat:2", "too")])
        first, second = await lookups.outbox(
            store,
        )
        assert (first.session, first.channel, first.address, first.text, first.state, first.attempts) == ("a", "telegram", "chat:1", "fine", "pending", 0)
        assert (first.next_try, first.error, first.tried, second.channel) == (0.0, "", "", "")
        late = await lookups.delivered(store, first.id, error="no network", retry_at=2_000_000_000.5)
        assert (late.state, late.attempts, late.next_try, late.error) == ("pending", 1, 2_000_000_000.5, "no network")
        assert late.tried
    async with kit.opened(home) as store:
        assert await lookups.outbox(
            store,
        ) == [late, second]
        done = await lookups.delivered(store, first.id)
        assert (done.state, done.attempts, done.error, done.next_try) == ("delivered", 2, "", 0.0)
        assert await lookups.delivered(store, first.id, error="a second process was slower") == done, "what was delivered stays so"
        given_up = await lookups.delivered(store, second.id, error="the chat is gone")
        assert (given_up.state, given_up.error) == ("failed", "the chat is gone")
        assert (
            await lookups.outbox(
                store,
            )
            == []
        )
        assert await lookups.outbox(store, pending=False) == [done, given_up]
        with pytest.raises(StoreError, match="nothing to deliver under the number 99"):
            await lookups.delivered(store, 99)
        await store.erase("a", None, "owner")
        assert [row.text for row in await lookups.outbox(store, pending=False)] == ["", ""]
