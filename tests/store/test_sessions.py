"""What is derived for `sessions list`, questions and scopes; leases; rebuilding and erasing."""

import threading
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from neuralclaw import lookups
from neuralclaw.errors import LeaseLost, SessionNotFound
from neuralclaw.runtime.record_verbs import RecordQueries
from neuralclaw.store import SqliteStore
from neuralclaw.testing import FakeClock
from neuralclaw.types.entries import Draft
from neuralclaw.types.events import GrantRevoked
from neuralclaw.types.grants import Scope
from neuralclaw.types.records import Lease, NewSession, SessionRow, SetAside, StoredResult

from . import kit

pytestmark = pytest.mark.anyio

DERIVED = ("progress", "inbox", "turns", "questions", "scopes", "usage", "calls", "blob_refs")


async def state(store: SqliteStore, session: str = "a") -> str:
    row = await lookups.session(store, session)
    assert row is not None
    waits = [r.session for r in await store.sessions(unfinished=True)]
    assert (session in waits) == (row.state in ("unfinished", "set_aside"))
    return row.state


async def test_a_session_is_made_once_and_shown_with_what_its_entries_say(home: Path) -> None:
    async with kit.opened(home, clock=FakeClock()) as store:
        made = await kit.made(store, "work", NewSession(origin="owner", workspace="/w", model="p:m", soul="plain"))
        assert (made.state, made.turns, made.model, made.usd, made.title, made.entries) == ("idle", 0, "p:m", 0.0, "", 0)
        assert await kit.made(store, "work", NewSession(origin="program", workspace="/other", soul="other")) == made
        await kit.a_life(store)
        assert await lookups.session(store, "work") == SessionRow(
            session="work",
            title="tidy up the desk",
            state="unfinished",
            turns=2,
            model="offline:offline",
            origin="owner",
            workspace="/w",
            created="2027-01-15T08:00:00.000Z",
            updated="2027-01-15T08:00:00.000Z",
            usd=None,
            entries=13,
            last_turn=2,
            open_turn=2,
            pending=True,
            parent="",
            soul="plain",
            labels=frozenset({"agent", "external:web", "owner", "private"}),
        )
        await store.append("named", [kit.inbound("x" * 100), kit.started(), kit.message(usd=0.5), kit.message(usd=0.25), kit.finished()])
        named = await kit.made(store, "named", NewSession(origin="owner", workspace="/w", title="Given"))
        assert (named.title, named.usd, named.workspace, named.state) == ("Given", 0.75, "/w", "idle")
        assert {r.session for r in await store.sessions()} == {"work", "named"}
        assert await lookups.session(store, "nobody") is None


async def test_the_state_of_a_session_follows_its_turn(home: Path) -> None:
    async with kit.opened(home) as store:
        await kit.made(store, "a", NewSession(origin="owner", workspace="/w"))
        assert await state(store) == "idle"
        await store.append("a", [kit.inbound()])
        assert await state(store) == "unfinished"
        lease = await store.acquire("session:a")
        assert lease is not None
        assert await state(store) == "running"
        await store.append("a", [kit.started()], lease=lease)
        assert await state(store) == "running"
        await store.append("a", [kit.message(seen=1), kit.asked("Q1"), kit.asked("Q2"), kit.finished(waiting=("Q1", "Q2"))], lease=lease)
        assert await state(store) == "waiting", "although the lease is not given back yet"
        await store.release(lease)
        assert await state(store) == "waiting"
        await store.append("a", [kit.inbound("also", queued=True)])
        assert await state(store) == "waiting"
        await store.append("a", [kit.answered("Q1")])
        assert await state(store) == "waiting"
        await store.append("a", [kit.answered("Q2", "no")])
        assert await state(store) == "unfinished"
        await store.append("a", [kit.message("end", seen=4), kit.finished()])
        assert await state(store) == "unfinished"  # the queued message
        await store.append("a", [kit.started(2, inbound=7)])
        await store.append("a", [], rows=[SetAside(True)])
        assert await state(store) == "set_aside"
        await store.append("a", [], rows=[SetAside(False)])
        await store.append("a", [kit.finished(2)])
        assert await state(store) == "idle"


async def test_a_message_that_was_seen_is_not_pending_and_a_queued_one_is(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.inbound(), kit.started(), kit.inbound("steer"), kit.inbound("later", queued=True)])
        await store.append("a", [kit.message(seen=4), kit.finished()])
        assert await state(store) == "unfinished"
        await store.append("a", [kit.started(2, inbound=4), kit.message(turn=2, seen=4), kit.finished(2)])
        assert await state(store) == "idle"


async def test_a_turn_that_says_again_that_it_starts_counts_once(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.inbound(), kit.started(), kit.started(), kit.finished(), kit.inbound(turn=2), kit.started(2, inbound=5)])
        row = await lookups.session(store, "a")
        assert row is not None
        assert (row.turns, row.last_turn) == (2, 2)


async def test_a_prefix_finds_its_session_or_names_the_candidates(home: Path) -> None:
    async with kit.opened(home) as store:
        for name in ("alpha", "alpine", "beta", "al"):
            await kit.made(store, name, NewSession(origin="owner", workspace="/w"))
        assert await lookups.resolve(store, "b") == "beta"
        assert await lookups.resolve(store, "al") == "al"
        assert await lookups.resolve(store, "alph") == "alpha"
        with pytest.raises(SessionNotFound, match="alpha, alpine"):
            await lookups.resolve(store, "alp")
        for unknown in ("x", "", "alphabet", "%"):
            with pytest.raises(SessionNotFound, match="there is no session"):
                await lookups.resolve(store, unknown)


async def test_grants_hold_for_the_session_or_for_the_workspace(home: Path) -> None:
    push = {"kind": "program", "value": "git push", "tool": "terminal"}
    host = {"kind": "host", "value": "example.org", "tool": "web_fetch"}
    async with kit.opened(home) as store:
        await store.append("a", [kit.asked("Q1", scopes=(push,)), kit.asked("Q2", scopes=(host,)), kit.asked("Q3", scopes=({**push, "value": "rm"},))])
        await store.append("a", [kit.answered("Q1", "session"), kit.answered("Q3", "once")])
        await store.append("a", [kit.answered("Q2", "always")])
        mine = await store.grants("a", "/w")
        assert [(g.grant_id, g.lasts, g.scopes) for g in mine] == [
            ("Q1", "session", (Scope("program", "git push", "terminal"),)),
            ("Q2", "always", (Scope("host", "example.org", "web_fetch"),)),
        ]
        assert [g.grant_id for g in await store.grants("b", "/w")] == ["Q2"]
        assert [g.grant_id for g in await store.grants("b", "/elsewhere")] == []
        assert await store.grants() == mine


async def test_a_yes_whose_question_did_not_say_what_it_covers_is_no_grant(home: Path) -> None:
    """So were questions before `covers`: their `always` held everywhere and for everything of the program."""
    push = {"kind": "program", "value": "git push", "tool": "terminal"}
    async with kit.opened(home) as store:
        await store.append("a", [kit.asked("Q1", scopes=(push,), workspace=""), kit.answered("Q1", "always")])
        assert await store.grants() == await store.grants("a", "/w") == await store.grants("a", "") == []


async def test_a_question_that_does_not_say_what_a_standing_answer_covers_offers_none(home: Path) -> None:
    """A home of a version before `covers` may have one open."""
    async with kit.opened(home) as store:
        await store.append("a", [kit.asked("Q1", scopes=({"kind": "program", "value": "git push", "tool": "terminal"},), workspace="")])
        found = await lookups.question(store, "Q1")
        assert found is not None
        assert found.question.choices == ("once", "no")
        assert [q.question.choices for q in await store.questions()] == [("once", "no")]


async def test_grants_of_a_workspace_with_any_name_are_found(home: Path) -> None:
    push = {"kind": "program", "value": "git push", "tool": "terminal"}
    async with kit.opened(home) as store:
        for number, workspace in enumerate(("/w", '/w "q"', "/w\\x", "/wé\n")):
            await store.append("a", [kit.asked(f"Q{number}", scopes=(push,), workspace=workspace), kit.answered(f"Q{number}", "always")])
        for number, workspace in enumerate(("/w", '/w "q"', "/w\\x", "/wé\n")):
            assert [g.grant_id for g in await store.grants("b", workspace)] == [f"Q{number}"]


async def test_a_revoked_grant_counts_no_more_in_any_process_and_after_a_rebuild(home: Path) -> None:
    push = {"kind": "program", "value": "git push", "tool": "terminal"}
    async with kit.opened(home) as store, kit.opened(home) as other:
        for name in ("Q1", "Q2", "Q3"):
            await store.append("a", [kit.asked(name, scopes=(push,)), kit.answered(name, "always")])
        await store.append("a", [Draft(1, GrantRevoked(grant_id="Q1", by="owner"))])
        assert [g.grant_id for g in await store.grants()] == [g.grant_id for g in await other.grants("b", "/w")] == ["Q2", "Q3"]
        await store.rebuild()
        assert [g.grant_id for g in await store.grants()] == ["Q2", "Q3"]
        revoked = (await store.read("a", kinds=("grant.revoked",)))[0]
        kit.damage(home, revoked.header.record)
        await store.append("a", [kit.asked("Q4", scopes=(push,)), kit.answered("Q4", "session")])
        await store.rebuild()
        assert [g.grant_id for g in await store.grants()] in ([], ["Q4"]), "damage takes yeses away and brings none back"


@pytest.mark.invariant("sessions.one-turn")
async def test_a_lease_is_held_by_one_and_a_stale_one_writes_nothing(home: Path) -> None:
    async with kit.opened(home) as one, kit.opened(home) as two:
        lease = await one.acquire("session:a")
        assert lease is not None
        assert lease.epoch == 1
        assert await one.acquire("session:a") is None
        assert await two.acquire("session:a") is None
        await one.append("a", [kit.message()], lease=lease)
        await one.release(lease)
        assert await one.holder("session:a") is None
        newer = await two.acquire("session:a")
        assert newer is not None
        assert newer.epoch == 2
        with pytest.raises(LeaseLost, match="another process has taken over a"):
            await one.append("a", [kit.message(), kit.inbound(key="k")], lease=lease)
        with pytest.raises(LeaseLost):
            await lookups.start_turn(one, lease, "a", 1)
        await one.release(lease)  # not its own any more: stays
        assert await one.acquire("session:a") is None
        await one.append("a", [kit.inbound(key="k")])  # the key was not taken by the refused step
        with pytest.raises(LeaseLost):
            await two.append("a", [kit.message()], lease=Lease("session:never", "1-x", 1))
        assert len(await two.read("a")) == 2


async def test_a_lease_that_was_taken_for_a_caller_who_left_can_be_taken_again(home: Path) -> None:
    async with kit.opened(home) as store, kit.opened(home) as other:
        stranger, begun = kit.raw(home), threading.Event()
        stranger.execute("BEGIN IMMEDIATE")
        assert store._writer is not None
        store._writer._tables.connection.set_trace_callback(lambda statement: begun.set() if statement.startswith("BEGIN") else None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.acquire, "session:a")
            assert await anyio.to_thread.run_sync(begun.wait, 5)  # too late to be taken back
            tasks.cancel_scope.cancel()
        stranger.close()
        assert await store.acquire("session:b") is not None  # that write is over
        assert await other.acquire("session:a") is None
        lease = await store.acquire("session:a")
        assert lease is not None
        assert lease.epoch == 2
        assert await store.acquire("session:a") is None


async def test_starts_that_leave_no_entry_are_counted(home: Path) -> None:
    async with kit.opened(home) as store:
        lease = await store.acquire("session:a")
        assert lease is not None
        assert [await lookups.start_turn(store, lease, "a", 1) for _ in range(2)] == [1, 2]
        await store.append("a", [kit.message(turn=1)])  # without the lease: not the turn's own
        assert await lookups.start_turn(store, lease, "a", 1) == 3
        await store.append("a", [kit.message(turn=1)], lease=lease)
        assert await lookups.start_turn(store, lease, "a", 1) == 1
        await store.release(lease)
        lease = await store.acquire("session:a")
        assert lease is not None
        assert await lookups.start_turn(store, lease, "a", 1) == 2
        assert await lookups.start_turn(store, lease, "a", 2) == 1


def derived(home: Path) -> dict[str, list[Any]]:
    c = kit.raw(home)
    return {table: c.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in DERIVED}


async def test_a_rebuild_gives_the_same_rows(home: Path) -> None:
    async with kit.opened(home) as store:
        for session in ("work", "other"):
            await kit.a_life(store, session)
        await store.append("work", [kit.asked("open", turn=2), kit.picture(b"png", turn=2), kit.finished(2, waiting=("open",))])
        before = derived(home)
        assert all(before.values())
        c = kit.raw(home)
        for table in DERIVED:
            c.execute(f"DELETE FROM {table}")
        await store.rebuild()
        assert derived(home) == before
        await store.erase("work", [3, 4, 6, 7], "owner")  # a priced message, its question, the answer, a result
        erased = derived(home)
        await store.rebuild()
        assert derived(home) == erased
        assert {table: erased[table] for table in ("usage", "calls", "questions", "turns")} == {t: before[t] for t in ("usage", "calls", "questions", "turns")}
        (more,) = await store.append("work", [kit.message(turn=2)])
        assert more.entry == 18
        assert (await store.verify()).ok


@pytest.mark.invariant("audit.erasure-shown")
async def test_rebuilding_and_erasing_amid_many_writers_spoils_nothing(home: Path) -> None:
    async with kit.opened(home) as store:
        await kit.a_life(store, "old")

        async def writes(session: str) -> None:
            await kit.a_life(store, session)

        async with anyio.create_task_group() as group:
            for i in range(60):
                group.start_soon(writes, f"s{i}")
                if i % 20 == 10:
                    group.start_soon(store.rebuild)
                    group.start_soon(store.erase, "old", [i // 10], "owner")
        before = derived(home)
        await store.rebuild()
        assert derived(home) == before
        report = await store.verify()
        assert (report.ok, report.erased) == (True, 3)


async def test_erasing_takes_bodies_keys_and_results_and_leaves_a_record_that_verifies(home: Path) -> None:
    secret = "the-secret-word"
    async with kit.opened(home) as store:
        await store.append("a", [kit.inbound(secret), kit.message(secret), kit.tool_finished("c1")], rows=[StoredResult("c1", secret)])
        await store.append("b", [kit.inbound(secret[::-1])])
        erased = await store.erase("a", [1, 3], "owner")
        assert erased is not None
        assert [e.body is None for e in await store.read("a")] == [True, False, True, False]
        assert await lookups.result(store, "a", "c1") is None
        report = await store.verify()
        assert (report.ok, report.records, report.erased) == (True, 5, 2)
        assert await store.erase("a", [1, 3], "owner") is None
        assert await store.erase("a", None, "owner") is not None
        row = await lookups.session(store, "a")
        assert row is not None
        assert row.title == ""
        report = await store.verify()
        assert (report.ok, report.records, report.erased) == (True, 6, 3)
        with pytest.raises(SessionNotFound):
            await store.erase("nobody", None, "owner")
        assert secret.encode() not in (home / "neuralclaw.db-wal").read_bytes()
    assert secret.encode() not in (home / "neuralclaw.db").read_bytes()
    kit.raw(home).execute("DELETE FROM bodies WHERE record = 4")
    async with kit.opened(home) as store:
        report = await store.verify()
        assert report.bad is not None
        assert (report.bad.record, report.bad.why) == (4, "missing")


class NoList(SqliteStore):
    """A store whose list of all sessions nobody may ask for."""

    async def sessions(self, *, session: str | None = None, unfinished: bool = False) -> list[SessionRow]:
        assert session is not None, "all sessions were read to find one"
        return await super().sessions(session=session, unfinished=unfinished)


async def test_a_session_is_found_by_its_beginning_without_reading_the_others(home: Path) -> None:
    async with await NoList.open(str(home), clock=FakeClock()) as store:
        for name in ("work-1", "work-2", "other"):
            await store.append(name, [kit.inbound("hello")])
        shown = RecordQueries(store, "/w").session
        assert (await shown(session="oth"))["session"] == "other"
        assert (await shown(session="work-2"))["session"] == "work-2"
        with pytest.raises(SessionNotFound, match="work-1, work-2"):
            await shown(session="work")
        with pytest.raises(SessionNotFound, match="nothing"):
            await shown(session="nothing")


async def test_the_newest_session_of_a_workspace_is_the_one_that_changed_last(home: Path) -> None:
    clock = FakeClock()
    async with await NoList.open(str(home), clock=clock) as store:
        for name, workspace in (("a", "/w"), ("b", "/w"), ("c", "/v"), ("tools", "/w"), ("a", "/w")):
            clock.advance(1)
            await store.append(name, [kit.inbound("hello")], rows=[NewSession(origin="owner", workspace=workspace)])
        assert await lookups.newest(store, "/w") == "a"
        assert await lookups.newest(store, "/w", left_out=["a", "tools"]) == "b"
        assert await lookups.newest(store, "/v") == "c"
        assert await lookups.newest(store, "/elsewhere") is None
        assert (await RecordQueries(store, "/w", ("tools",)).session())["session"] == "a"
        clock.advance(1)
        await kit.made(store, "made", NewSession(origin="owner", workspace="/w"))
        assert await lookups.newest(store, "/w") == "made"
