"""Entries that cannot be read are named and stepped over; they harm no other session, and nothing that they tell of runs again."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw import Agent
from neuralclaw.app.clock import SystemClock
from neuralclaw.errors import StoreError
from neuralclaw.store import SqliteStore
from neuralclaw.testing import EventCapture, FunctionProvider
from neuralclaw.types.entries import Entry

from ..store import readings
from ..waiting import until
from .kit import agent, agent_over
from .steps import steps, tools

pytestmark = pytest.mark.anyio

DAMAGED, FOREIGN = b'{"type": "tool.finished", "ok": 3', b'{"type": "mood", "value": "fine"}'


def spoil(home: Path, kind: str, session: str, data: bytes = DAMAGED) -> None:
    """Overwrite the body of the session's last entry of this kind."""
    with sqlite3.connect(home / "neuralclaw.db") as c:
        (record,) = c.execute("SELECT max(record) FROM entries WHERE session = ? AND kind = ?", (session, kind)).fetchone()
        c.execute("UPDATE bodies SET data = ? WHERE record = ?", (data, record))
    c.close()


async def stopped_behind_first(home: Path, session: str = "s") -> None:
    """A turn that was interrupted in its second model call: its first call has run."""
    waits = anyio.Event()

    async def think(request):  # type: ignore[no-untyped-def]
        if len(request.messages) > 1:
            waits.set()
            await anyio.sleep_forever()
        return steps(request)

    async with agent(home, provider=FunctionProvider(think), tools=tools(str(home.parent), "pure")) as a, anyio.create_task_group() as tasks:
        tasks.start_soon(a.desk.send, session, a._defaults.message("go"))
        await waits.wait()
        a.closing()
        tasks.cancel_scope.cancel()


async def stepper(request):  # type: ignore[no-untyped-def]
    return steps(request)


async def again(home: Path) -> Agent:
    return agent(home, provider=FunctionProvider(stepper), tools=tools(str(home.parent), "pure"))  # type: ignore[return-value]


async def test_a_damaged_entry_is_named_shown_in_its_place_and_harms_no_other_session(home: Path) -> None:
    async with agent(home, "one", "two") as a:
        await a.ask("first", session="s")
        await a.ask("second", session="other")
    spoil(home, "message", "s")
    async with agent(home, "three", "four") as a:
        rows = {row["session"]: row["state"] for row in await a.do("sessions.list")}
        shown = await a.do("sessions.show", session="s")
        exported = await a.do("audit.show")
        report = await a.do("audit.verify")
        await a.do("doctor", rebuild=True)
        assert (await a.ask("third", session="s")).text == "three"
        assert (await a.ask("fourth", session="other")).text == "four"
    assert rows == {"s": "idle", "other": "idle"}
    assert [e["type"] for e in shown["events"]] == ["inbound", "turn.started", "unreadable", "turn.finished"]
    assert (shown["events"][2]["kind"], shown["events"][2]["why"]) == ("message", "damaged")
    assert len(exported) == 8
    assert (report["ok"], report["bad"]["session"], report["bad"]["record"]) == (False, "s", 3)


async def test_an_entry_of_an_unknown_kind_is_shown_as_it_is(home: Path) -> None:
    async with agent(home, "one") as a:
        await a.ask("first", session="s")
    with sqlite3.connect(home / "neuralclaw.db") as c:
        c.execute("UPDATE entries SET kind = 'mood' WHERE kind = 'message'")
    c.close()
    spoil(home, "mood", "s", FOREIGN)
    async with agent(home, "two") as a:
        shown = (await a.do("sessions.show", session="s"))["events"][2]
        assert (await a.ask("second", session="s")).text == "two"
    assert (shown["type"], shown["kind"], shown["why"], shown["data"]) == ("unreadable", "mood", "unknown", {"type": "mood", "value": "fine"})


@pytest.mark.invariant("journal.finished-once")
async def test_a_turn_with_a_damaged_entry_is_named_and_nothing_of_it_runs_again(home: Path) -> None:
    await stopped_behind_first(home, "s")
    await stopped_behind_first(home, "whole")
    spoil(home, "tool.finished", "s")
    seen = EventCapture()
    async with agent(home, provider=FunctionProvider(stepper), tools=tools(str(home.parent), "pure")) as a, a.recover() as stream:
        await seen.drain(stream)
    named = seen.one("error")
    assert (named.session, named.kind, named.entry) == ("s", "StoreError", None)
    assert "entry" in named.text
    assert [(end.session, end.status) for end in seen.of("turn.finished")] == [("whole", "done")]
    assert (home.parent / "ran").read_text().splitlines() == ["first", "first", "second"]
    async with agent(home, provider=FunctionProvider(stepper)) as a, a.resume("s") as stream:
        with pytest.raises(StoreError, match="cannot go on"):
            await EventCapture().drain(stream)


async def test_a_turn_goes_on_past_what_a_capability_noted_that_is_gone(home: Path) -> None:
    await stopped_behind_first(home, "s")
    async with await SqliteStore.open(str(home), clock=SystemClock(), codec=readings.CODEC, tables=[readings.BOOKS]) as store:
        await store.append("s", [readings.added("Emma", turn=1)])
    async with agent(home, provider=FunctionProvider(stepper), tools=tools(str(home.parent), "pure")) as a, a.resume("s") as stream:
        seen = EventCapture()
        await seen.drain(stream)
        shown = (await a.do("sessions.show", session="s"))["events"]
        report = await a.do("audit.verify")
    assert seen.one("turn.finished").status == "done"
    assert (home.parent / "ran").read_text().splitlines() == ["first", "second"], "what was finished is not run again"
    assert [e["data"]["title"] for e in shown if e["type"] == "unreadable"] == ["Emma"]
    assert report["ok"]


@pytest.mark.parametrize("kind", ["tool.finished", "turn.started"])
async def test_a_new_message_ends_a_turn_that_cannot_be_read_and_goes_on(home: Path, kind: str) -> None:
    await stopped_behind_first(home, "s")
    spoil(home, kind, "s")
    async with agent(home, "a fresh start") as a:
        end = await a.ask("again", session="s")
        shown = await a.do("sessions.show", session="s")
    assert (end.status, end.text) == ("done", "a fresh start")
    assert [(e["turn"], e["status"]) for e in shown["events"] if e["type"] == "turn.finished"] == [(1, "failed"), (2, "done")]
    assert (home.parent / "ran").read_text() == "first\n"


async def damaged_message(home: Path) -> None:
    """A message waits in session `s`, and cannot be read."""
    async with agent(home) as a:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(a.desk.send, "s", a._defaults.message("lost"))
            await anyio.lowlevel.checkpoint()
            a.closing()
        await a._home.store.barrier()
    spoil(home, "inbound", "s")


class Keeping(SqliteStore):
    """The real store, whose leases are given back when they may be."""

    go: anyio.Event

    async def release(self, lease: Any) -> None:
        await self.go.wait()
        await super().release(lease)


@pytest.mark.parametrize("damaged", [True, False])
async def test_a_message_that_comes_while_a_failed_run_ends_is_not_failed_with_it(home: Path, damaged: bool) -> None:
    if damaged:
        await damaged_message(home)
    else:  # another failure, told only when the lease is given back
        await stopped_behind_first(home, "s")
        (home.parent / "work").rename(home.parent / "moved")
    store = await Keeping.open(str(home), clock=SystemClock())
    assert isinstance(store, Keeping)
    store.go = anyio.Event()
    ends, told = [], EventCapture()

    async def ask() -> None:
        ends.append((await a.ask("next", session="s")).status)

    async def recover() -> None:
        async with a.recover() as stream:
            await told.drain(stream)

    async with agent_over(store, provider=FunctionProvider(stepper), tools=tools(str(home.parent), "pure")) as a:
        if not damaged:
            (home.parent / "work").rmdir()
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(recover)
                await until(lambda: "s" in a._desk._sessions._runs and a._desk._sessions._runs["s"].ending)
                if not damaged:
                    (home.parent / "moved").rename(home.parent / "work")
                tasks.start_soon(ask)
                await until(lambda: "s" in a._desk._bus._topics and a._desk._bus._topics["s"]._keys)
                store.go.set()
        shown = (await a.do("sessions.show", session="s"))["events"]
    assert told.one("error").kind == ("StoreError" if damaged else "WorkspaceError")
    assert ends == ["done"]
    assert not [e for e in shown if e["type"] == "cancel"], "no message was withdrawn"


class Late(Keeping):
    """The same for a process that is not told of what others write."""

    async def changes(self, after: int | None = None) -> AsyncIterator[Sequence[Entry]]:
        await anyio.sleep_forever()
        yield []


@pytest.mark.parametrize("queued", [True, False])
async def test_what_another_process_leaves_while_the_lease_is_given_back_is_taken_up(home: Path, queued: bool) -> None:
    store = await Late.open(str(home), clock=SystemClock())
    assert isinstance(store, Late)
    store.go = anyio.Event()
    async with agent_over(store, "one", "two") as a, agent(home) as other:
        with anyio.fail_after(5):
            await a.ask("first", session="s")
            await until(lambda: a._desk._sessions._runs["s"].ending)
            await (other.queue("second", session="s") if queued else other.steer("second", session="s"))
            store.go.set()
            await until(lambda: _ended(other, 2))


async def _ended(a: Agent, count: int) -> bool:
    return sum(e["type"] == "turn.finished" for e in (await a.do("sessions.show", session="s"))["events"]) == count


async def test_a_waiting_message_that_is_damaged_is_named_and_stops_no_other(home: Path) -> None:
    await damaged_message(home)
    async with agent(home, "two") as a:
        seen = EventCapture()
        with anyio.fail_after(5):
            async with a.recover() as stream:
                await seen.drain(stream)
            assert seen.one("error").session == "s"
            assert (await a.ask("next", session="s")).text == "two"
