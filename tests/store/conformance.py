"""What every implementation of the port `Store` does. A subclass gives `opening`: it opens a store of one and the same home, as often as it is called.

Only the port is used, so another database joins with a class of a few lines (see `test_conformance`).
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest

from neuralclaw import lookups
from neuralclaw.errors import AlreadyAnswered, LeaseLost, SessionNotFound, StoreError, UnknownQuestion
from neuralclaw.ports import Store
from neuralclaw.types import events as ev
from neuralclaw.types.entries import Draft, Entry, blob_digest
from neuralclaw.types.records import DuplicateInbound, NewSession, OutboxItem, PutRecord, RecordConflict, SetAside, StoredResult

from . import kit, readings

Opening = Callable[..., AbstractAsyncContextManager[Store]]
"""Opens a store with `codec` and `tables`, or those that it is given."""


class StoreConformance:
    """Every test opens the home anew, so that what it reads is what was kept."""

    async def test_entries_are_read_as_they_were_given_back(self, opening: Opening) -> None:
        async with opening() as store:
            written = await store.append("a", [kit.inbound(), kit.started()])
            written += await store.append("a", [kit.message(), kit.finished(), kit.inbound(turn=2), kit.started(2, inbound=5)])
            await store.append("b", [kit.message()])
            await store.barrier()
        async with opening() as store:
            assert await store.read("a") == written
            assert [e.entry for e in written] == [1, 2, 3, 4, 5, 6]
            assert [e.header.record for e in written] == [1, 2, 3, 4, 5, 6]
            assert await store.read("a", after=4) == written[4:]
            assert await store.read("a", from_turn=2) == written[4:]
            assert [e.entry for e in await store.read("a", kinds=("inbound",))] == [1, 5]
            assert await store.read("nobody") == []
            report = await store.verify()
            assert (report.ok, report.records) == (True, 7)

    async def test_a_step_is_recorded_whole_or_not_at_all(self, opening: Opening) -> None:
        async with opening() as store:
            await store.append("a", [kit.inbound(key="k")])
            with pytest.raises(DuplicateInbound) as caught:
                await store.append("b", [kit.message(), kit.inbound(key="k")], rows=[OutboxItem("x", "y"), PutRecord("s", "k", 1)])
            assert (caught.value.session, caught.value.entry) == ("a", 1)
            with pytest.raises(StoreError, match="does not name all bytes"):
                await store.append("b", [kit.message(), Draft(1, kit.message().body, blobs=(b"x",))])
            with pytest.raises(StoreError, match="bytes that it names are not kept"):
                await store.append("b", [kit.message(), kit.picture(b"png", with_bytes=False)])
            assert await store.read("b") == []
            assert (
                await lookups.outbox(
                    store,
                )
                == []
            )
            assert await lookups.records(store, "s") == []

    async def test_bytes_are_kept_under_their_digests(self, opening: Opening) -> None:
        async with opening() as store:
            await store.append("a", [kit.picture(b"png")])
            await store.append("b", [kit.picture(b"png", with_bytes=False)])
            assert await lookups.blobs(store, [blob_digest(b"png"), blob_digest(b"gif")]) == {blob_digest(b"png"): b"png"}

    async def test_a_question_is_answered_once(self, opening: Opening) -> None:
        scope = {"kind": "program", "value": "git push", "tool": "terminal"}
        async with opening() as store, opening() as other:
            await store.append("a", [kit.inbound(), kit.started(), kit.asked("Q1", scopes=(scope,)), kit.asked("Q2")])
            assert [q.question.approval_id for q in await other.questions()] == ["Q1", "Q2"]
            await other.append("a", [kit.answered("Q1", "session")])
            with pytest.raises(AlreadyAnswered):
                await store.append("a", [kit.answered("Q1", "no")])
            with pytest.raises(UnknownQuestion):
                await store.append("b", [kit.answered("Q2")])
            assert [q.question.approval_id for q in await store.questions(session="a")] == ["Q2"]
            assert [q.question.approval_id for q in await store.questions(session="a", open_only=False)] == ["Q1", "Q2"]
            found = await lookups.question(store, "Q1")
            assert found is not None
            assert found.answer is not None
            assert (found.session, found.turn, found.answer.decision) == ("a", 1, "session")
            assert await lookups.question(store, "Q3") is None
            assert [g.grant_id for g in await store.grants("a", "/w")] == ["Q1"]
            assert await store.grants("b", "/w") == []
            assert [g.grant_id for g in await store.grants()] == ["Q1"]

    async def test_a_lease_is_held_by_one_and_an_old_one_writes_nothing(self, opening: Opening) -> None:
        async with opening() as store, opening() as other:
            lease = await store.acquire("session:a")
            assert lease is not None
            assert await other.acquire("session:a") is None
            assert await store.acquire("session:a") is None
            assert await other.holder("session:a") is not None
            assert [await lookups.start_turn(store, lease, "a", 1) for _ in range(2)] == [1, 2]
            await store.append("a", [kit.inbound(), kit.started()], lease=lease)
            assert await lookups.start_turn(store, lease, "a", 1) == 1
            await store.release(lease)
            assert await store.holder("session:a") is None
            taken = await other.acquire("session:a")
            assert taken is not None
            assert taken.epoch > lease.epoch
            for write in (store.append("a", [kit.message()], lease=lease), lookups.start_turn(store, lease, "a", 1)):
                with pytest.raises(LeaseLost):
                    await write
            assert len(await store.read("a")) == 2

    async def test_sessions_are_found_and_listed(self, opening: Opening) -> None:
        async with opening() as store:
            await store.append("alpha", [kit.inbound("first words"), kit.started(), kit.message(usd=0.5)], rows=[NewSession(origin="owner", workspace="/w")])
            await store.append("beta", [kit.inbound()], rows=[NewSession(origin="owner", workspace="/v", title="named")])
            await store.append("beta", [kit.started(), kit.message(), kit.finished()])
        async with opening() as store:
            rows = {row.session: row for row in await store.sessions()}
            assert [row.session for row in await store.sessions()] == ["beta", "alpha"]
            assert (rows["alpha"].title, rows["alpha"].state, rows["alpha"].open_turn, rows["alpha"].usd) == ("first words", "unfinished", 1, 0.5)
            assert (rows["beta"].title, rows["beta"].state, rows["beta"].turns, rows["beta"].workspace) == ("named", "idle", 1, "/v")
            assert await lookups.session(store, "alpha") == rows["alpha"]
            assert await lookups.session(store, "gamma") is None
            assert [row.session for row in await store.sessions(unfinished=True)] == ["alpha"]
            assert await lookups.resolve(store, "al") == "alpha"
            with pytest.raises(SessionNotFound):
                await lookups.resolve(store, "gamma")
            assert (await lookups.newest(store, "/w"), await lookups.newest(store, "/v", left_out=("beta",)), await lookups.newest(store, "/")) == (
                "alpha",
                None,
                None,
            )
            await store.append("alpha", [], rows=[SetAside(True)])
            row = await lookups.session(store, "alpha")
            assert row is not None
            assert row.state == "set_aside"

    async def test_whole_results_and_deliveries_are_kept_beside_entries(self, opening: Opening) -> None:
        async with opening() as store:
            await store.append("a", [kit.tool_finished("c1")], rows=[StoredResult("c1", "all of it"), OutboxItem("chat:1", "fine", "telegram")])
        async with opening() as store:
            assert await lookups.result(store, "a", "c1") == "all of it"
            assert await lookups.result(store, "b", "c1") is None
            (item,) = await lookups.outbox(
                store,
            )
            assert (item.channel, item.address, item.text, item.state) == ("telegram", "chat:1", "fine", "pending")
            assert (await lookups.delivered(store, item.id, error="no network", retry_at=5.0)).next_try == 5.0
            assert (await lookups.delivered(store, item.id)).state == "delivered"
            assert (
                await lookups.outbox(
                    store,
                )
                == []
            )

    async def test_subscribers_see_what_any_store_of_the_home_writes_in_order(self, opening: Opening) -> None:
        async with opening() as store, opening() as other:
            first = await store.append("a", [kit.inbound()])
            changes, late = store.changes(0), store.changes()
            seen: list[Entry] = []
            expected = [*first, *await other.append("b", [kit.message()]), *await store.append("a", [kit.message()])]
            with anyio.fail_after(5):
                while len(seen) < 3:
                    seen += await anext(changes)
                assert seen == expected
                rest: list[Entry] = []
                while len(rest) < 2:
                    rest += await anext(late)
            assert rest == expected[1:]

    async def test_built_in_tables_are_rows(self, opening: Opening) -> None:
        async with opening() as store:
            await store.append("a", [kit.inbound(), kit.started(), kit.message(calls=("c1", "c2")), kit.finished()])
            await store.append("b", [kit.message(calls=("c1",), usd=2.0)])
        async with opening() as store:
            assert [row["session"] for row in await store.rows("calls", {"call_id": "c1"}, order=("record",))] == ["a", "b"]
            assert [row["call_id"] for row in await store.rows("calls", {"session": "a", "call_id": ["c2", "c3"]})] == ["c2"]
            assert await store.rows("calls", {"call_id": []}) == []
            assert [row["usd"] for row in await store.rows("usage", order=("usd",), descending=True, limit=1)] == [2.0]
            assert [row["status"] for row in await store.rows("turns", {"session": "a"})] == ["done"]
            for wrong in (store.rows("bodies"), store.rows("calls", {"body": 1}), store.rows("calls", order=("body",))):
                with pytest.raises(StoreError):
                    await wrong

    async def test_a_capabilitys_table_is_folded_with_its_entries(self, opening: Opening) -> None:
        async with opening() as store:
            await store.append("home", [readings.added("Emma", 474), readings.added("Ulysses"), readings.finished("Emma")])
            with pytest.raises(StoreError, match="reading_books"):
                await store.append("home", [readings.added("Utopia", -1)])
        async with opening() as store:
            assert [row["title"] for row in await store.rows("reading_books", {"finished": None})] == ["Ulysses"]
            assert [type(entry.body) for entry in await store.read("home")] == [readings.Added, readings.Added, readings.Finished]
        async with opening(codec=kit.BUILT_IN, tables=()) as store:
            assert [isinstance(entry.body, ev.Unreadable) for entry in await store.read("home")] == [True] * 3
            assert (await store.verify()).ok
            with pytest.raises(StoreError):
                await store.rows("reading_books")
        async with opening(tables=[readings.table(version=2, fold=lambda entry, rows: rows.put(title=entry.body.title, pages=0))]) as store:
            assert [row["pages"] for row in await store.rows("reading_books")] == [0, 0]

    async def test_a_record_is_changed_by_compare_and_set(self, opening: Opening) -> None:
        async with opening() as store, opening() as other:
            first = await store.put_record("s", "a/1", {"x": [1, None]}, expect=0)
            assert await lookups.record(other, "s", "a/1") == first
            second = await other.put_record("s", "a/1", "two", expect=first.version)
            with pytest.raises(RecordConflict) as caught:
                await store.put_record("s", "a/1", "three", expect=first.version)
            assert caught.value.current == second
            await store.append("a", [kit.message()], rows=[PutRecord("s", "a/2", 2, expect=0), PutRecord("s", "b", 3)])
            assert [(r.key, r.value) for r in await lookups.records(other, "s", prefix="a/")] == [("a/1", "two"), ("a/2", 2)]
            await store.put_record("s", "b", None)
            assert await lookups.record(other, "s", "b") is None
            assert await lookups.records(other, "t") == []

    async def test_of_many_who_change_one_version_one_succeeds(self, opening: Opening) -> None:
        async with opening() as store, opening() as other:
            outcomes: list[Any] = []

            async def change(which: Store, value: int) -> None:
                try:
                    outcomes.append(await which.put_record("s", "k", value, expect=0))
                except RecordConflict as error:
                    outcomes.append(error)

            async with anyio.create_task_group() as group:
                for value in range(10):
                    group.start_soon(change, (store, other)[value % 2], value)
            assert [type(outcome) for outcome in outcomes].count(RecordConflict) == 9
