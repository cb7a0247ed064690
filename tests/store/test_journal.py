"""Writing and reading entries in one process."""

import stat
from pathlib import Path

import anyio
import pytest

from neuralclaw import lookups
from neuralclaw.errors import AlreadyAnswered, StoreError, UnknownQuestion
from neuralclaw.testing import FakeClock
from neuralclaw.types import chain
from neuralclaw.types.entries import HOME
from neuralclaw.types.records import DuplicateInbound, OutboxItem, StoredResult

from ..waiting import until
from . import kit

pytestmark = pytest.mark.anyio


async def test_what_was_appended_is_read_back_in_order_with_numbers_and_a_chain(home: Path) -> None:
    async with kit.opened(home) as store:
        written = [
            *await store.append("a", [kit.inbound(), kit.started()]),
            *await store.append("b", [kit.inbound()]),
            *await store.append("a", [kit.message()]),
        ]
        assert [(e.header.record, e.header.session, e.entry) for e in written] == [(1, "a", 1), (2, "a", 2), (3, "b", 1), (4, "a", 3)]
        assert chain.verify(e.header for e in written) == (4, written[-1].header.hash, None)
        assert await store.read("a") == [written[0], written[1], written[3]]
        assert written[0].header.labels == ("owner", "private")
    async with kit.opened(home) as store:
        assert await store.read("b") == [written[2]]
        (more,) = await store.append("b", [kit.message()])
        assert (more.header.record, more.entry) == (5, 2)


async def test_reading_takes_what_was_asked_for(home: Path) -> None:
    async with kit.opened(home) as store:
        for turn in range(1, 101):
            await store.append("a", [kit.inbound(turn=turn), kit.started(turn), kit.message(turn=turn)])
        assert [e.entry for e in await store.read("a")] == list(range(1, 301))
        assert [e.entry for e in await store.read("a", after=297)] == [298, 299, 300]
        assert [e.entry for e in await store.read("a", from_turn=100)] == [298, 299, 300]
        assert [e.entry for e in await store.read("a", from_turn=30)] == list(range(88, 301))
        assert [e.entry for e in await store.read("a", from_turn=99, kinds=["message", "inbound"])] == [295, 297, 298, 300]
        assert await store.read("nobody") == []


async def test_the_time_of_an_entry_is_what_the_clock_said(home: Path) -> None:
    clock = FakeClock()
    async with kit.opened(home, clock=clock) as store:
        (first,) = await store.append("a", [kit.message()])
        clock.advance(-3600)
        (second,) = await store.append("a", [kit.message()])
        assert first.header.time - second.header.time == 3_600_000_000
        assert [entry.entry for entry in await store.read("a")] == [1, 2]
        assert (await store.verify()).ok


@pytest.mark.invariant("journal.inbound-once")
async def test_a_key_is_accepted_once_in_the_home_and_names_the_entry_that_has_it(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.message(), kit.inbound(key="k")])
        with pytest.raises(DuplicateInbound) as caught:
            await store.append("b", [kit.message(), kit.inbound(key="k")])
        assert (caught.value.session, caught.value.entry) == ("a", 2)
        assert await store.read("b") == []
        await store.append("a", [kit.inbound(key=""), kit.inbound(key="")])


@pytest.mark.invariant("journal.inbound-once")
async def test_of_many_that_bring_one_key_at_once_one_is_taken(home: Path) -> None:
    taken: list[int] = []
    refused: list[int] = []

    async with kit.opened(home) as store:

        async def bring(session: str) -> None:
            try:
                taken.append((await store.append(session, [kit.inbound(key="k")]))[0].header.record)
            except DuplicateInbound as error:
                refused.append(error.entry)

        async with anyio.create_task_group() as group:
            for i in range(50):
                group.start_soon(bring, f"s{i}")
        assert (taken, refused) == ([1], [1] * 49)


async def test_the_first_answer_wins_and_one_to_no_question_is_named(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.asked()])
        with pytest.raises(UnknownQuestion, match="Q999"):
            await store.append("a", [kit.answered("Q999")])
        with pytest.raises(UnknownQuestion):
            await store.append("b", [kit.answered()])
        await store.append("a", [kit.answered(decision="no")])
        with pytest.raises(AlreadyAnswered, match="Q000000001"):
            await store.append("a", [kit.message(), kit.answered(decision="once")])
        assert [e.header.kind for e in await store.read("a")] == ["approval.requested", "approval.resolved"]
        (question,) = await store.questions(open_only=False)
        assert question.answer is not None
        assert question.answer.decision == "no"
        assert await store.questions() == []


async def test_rows_stand_beside_their_entries(home: Path) -> None:
    async with kit.opened(home) as store:
        whole = "é" * 100_000 + "\ud800"
        await store.append("a", [kit.tool_finished("c9")], rows=[StoredResult("c9", whole), OutboxItem("telegram:1", "fine")])
        assert await lookups.result(store, "a", "c9") == whole
        assert await lookups.result(store, "b", "c9") is None
    assert kit.raw(home).execute("SELECT address, text, state FROM outbox").fetchall() == [("telegram:1", "fine", "pending")]


async def test_call_ids_of_a_session_are_known(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.message(calls=("c1", "c2"))])

        async def known(session: str, *call_ids: str) -> list[str]:
            return [row["call_id"] for row in await store.rows("calls", {"session": session, "call_id": call_ids})]

        assert await known("a", "c1", "c3") == ["c1"]
        assert await known("b", "c1") == []
        assert await known("a") == []


async def test_text_that_is_no_unicode_is_refused_and_harms_nobody_else(home: Path) -> None:
    async with kit.opened(home) as store:
        with pytest.raises(StoreError, match="cannot be written"):
            await store.append("a", [kit.message("\ud800")])
        failures: list[str] = []

        async def one(session: str) -> None:
            try:
                await store.append(session, [kit.message()])
            except StoreError as error:
                failures.append(error.text)

        async with anyio.create_task_group() as group:
            for session in ("a", "\ud800", "b", "c"):
                group.start_soon(one, session)
        assert len(failures) == 1
        report = await store.verify()
        assert (report.ok, report.records) == (True, 3)


async def test_a_thousand_callers_at_once_share_transactions_and_lose_nothing(home: Path) -> None:
    async with kit.opened(home) as store:

        async def turn(session: str) -> None:
            for i in range(3):
                (entry,) = await store.append(session, [kit.message()])
                assert entry.entry == i + 1

        async with anyio.create_task_group() as group:
            for i in range(1000):
                group.start_soon(turn, f"s{i}")
        report = await store.verify()
        assert (report.ok, report.records) == (True, 3000)


async def test_a_barrier_changes_a_row_and_is_shared_by_all_who_wait(home: Path) -> None:
    async with kit.opened(home) as store:

        def syncs() -> int:
            return int(kit.raw(home).execute("SELECT value FROM meta WHERE name = 'syncs'").fetchone()[0])

        before = syncs()
        await store.append("a", [kit.message()])
        await store.barrier()
        assert syncs() == before + 1
        await store.barrier()  # nothing was written: nothing to sync
        assert syncs() == before + 1

        async def step(session: str) -> None:
            await store.append(session, [kit.message()])
            await store.barrier()

        async with anyio.create_task_group() as group:
            for i in range(200):
                group.start_soon(step, f"s{i}")
        assert before + 1 < syncs() < before + 50


async def test_a_barrier_is_one_commit_under_full_synchronous(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.message()])
        await store.barrier()  # idle from here on: nothing is left to sync
        assert store._writer is not None
        connection = store._writer._tables.connection
        statements: list[str] = []
        connection.set_trace_callback(lambda sql: statements.append(" ".join(sql.split()[:4])))
        await store.append("a", [kit.message()])
        await store.barrier()
        connection.set_trace_callback(None)
    wanted = ["PRAGMA synchronous = FULL", "BEGIN IMMEDIATE", "UPDATE meta SET value", "COMMIT", "PRAGMA synchronous = NORMAL"]
    assert [s for s in statements if s in wanted][-5:] == wanted


async def test_a_write_is_synced_soon_though_nobody_waits(home: Path) -> None:
    async with kit.opened(home) as store:
        before = kit.raw(home).execute("SELECT value FROM meta WHERE name = 'syncs'").fetchone()
        await store.append("a", [kit.message()])
        await until(lambda: kit.raw(home).execute("SELECT value FROM meta WHERE name = 'syncs'").fetchone() != before)


async def test_a_cancelled_caller_leaves_a_whole_record(home: Path) -> None:
    async with kit.opened(home) as store:
        for _ in range(20):
            with anyio.move_on_after(0):
                await store.append("a", [kit.message(), kit.message()])
        entries = await store.read("a")
        assert len(entries) % 2 == 0
        assert (await store.verify()).ok


async def test_only_the_owner_can_read_the_home(home: Path) -> None:
    inner = home / "deep" / "inner"
    async with kit.opened(inner) as store:
        await store.append("a", [kit.message()])
        assert stat.S_IMODE(inner.stat().st_mode) == 0o700
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in inner.rglob("*") if p.is_file()}
        assert {"neuralclaw.db", "neuralclaw.db-wal"} < modes.keys()
        assert set(modes.values()) == {0o600}
        assert len(list((inner / "locks").iterdir())) == 2  # the upgrade's and this process's
    inner.chmod(0o755)
    async with kit.opened(inner):
        assert stat.S_IMODE(inner.stat().st_mode) == 0o700


async def test_what_belongs_to_no_session_stands_in_home_and_is_no_session(home: Path) -> None:
    async with kit.opened(home) as store:
        (entry,) = await store.append(HOME, [kit.message(turn=0)])
        assert (entry.header.session, entry.turn) == ("home", 0)
        assert await store.sessions() == []
        assert (await store.verify()).ok


async def test_a_closed_store_says_so(home: Path) -> None:
    async with kit.opened(home) as store:
        pass
    with pytest.raises(StoreError, match="closed"):
        await store.append("a", [kit.message()])
