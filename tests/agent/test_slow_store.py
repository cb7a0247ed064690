"""A store that is slow, or fails for a moment: no turn goes on from a state that does not know what was written, and nobody else pays for it."""

import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw import Agent, tool
from neuralclaw.app.clock import SystemClock
from neuralclaw.errors import StoreError
from neuralclaw.store import SqliteStore
from neuralclaw.testing import FakeClock, FunctionProvider, Reply
from neuralclaw.types.entries import Entry
from neuralclaw.types.messages import Request
from neuralclaw.types.records import Lease

from ..waiting import until
from .kit import agent, agent_over, call, calls, events

pytestmark = pytest.mark.anyio


class Locked:
    """A stranger that holds the write lock of a home's database, from `take` until `free`."""

    def __init__(self, home: Path) -> None:
        self._connection = sqlite3.connect(home / "neuralclaw.db", isolation_level=None, check_same_thread=False)

    def take(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def free(self) -> None:
        self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()


@contextmanager
def stranger(home: Path):  # type: ignore[no-untyped-def]
    locked = Locked(home)
    try:
        yield locked
    finally:
        locked.close()


@pytest.mark.full
@pytest.mark.invariant("journal.one-result")
@pytest.mark.parametrize("ends_by", ["cancel", "time"])
async def test_a_turn_that_is_stopped_while_the_store_waits_gets_each_result_once(home: Path, ends_by: str) -> None:
    locks: list[Locked] = []

    @tool(risk="LOW", effect="once")
    async def work() -> str:
        "Work, while a stranger takes the record."
        locks[0].take()
        return "worked"

    async with agent(home, calls(call("work", "c1")), "done", tools=[work]) as a:
        with stranger(home) as locked:
            locks.append(locked)
            async with anyio.create_task_group() as tasks:

                async def stop() -> None:
                    await until(lambda: locked._connection.in_transaction)
                    if ends_by == "cancel":
                        tasks.start_soon(a.cancel, "s")
                    with anyio.move_on_after(2.6):  # longer than a result was waited for before
                        await anyio.Event().wait()
                    locked.free()

                tasks.start_soon(stop)
                with anyio.fail_after(8):
                    seen = await events(a, session="s", **({"timeout": 1.0} if ends_by == "time" else {}))
        shown = await a.do("sessions.show", session="s")
        assert (await a.do("audit.verify"))["ok"]
    results = [e for e in shown["events"] if e["type"] == "tool.finished"]
    assert [(e["call_id"], e["ok"]) for e in results] == [("c1", True)]
    assert seen.one("turn.finished").status == ("cancelled" if ends_by == "cancel" else "timed_out")


class Faulty(SqliteStore):
    """The real store; `fails` names methods whose next call fails."""

    fails: set[str]

    async def release(self, lease: Lease) -> None:
        self._fault("release")
        await super().release(lease)

    async def append(self, session: str, drafts: Sequence[Any], **more: Any) -> list[Entry]:
        self._fault(f"append {session}")
        return await super().append(session, drafts, **more)

    def changes(self, after: int | None = None) -> Any:
        return self._failing(super().changes(after))

    async def _failing(self, entries: AsyncIterator[Sequence[Entry]]) -> AsyncIterator[Sequence[Entry]]:
        async for some in entries:
            self._fault("changes")
            yield some

    def _fault(self, name: str) -> None:
        if name in self.fails:
            self.fails.remove(name)
            raise StoreError(f"{name} failed for a moment")


async def faulty(home: Path, *fails: str) -> Faulty:
    store = await Faulty.open(str(home), clock=SystemClock())
    assert isinstance(store, Faulty)
    store.fails = set(fails)
    return store


def echoing() -> FunctionProvider:
    async def reply(request: Request) -> Reply:
        return Reply(f"answer to {request.messages[-1].text}")

    return FunctionProvider(reply)


async def test_a_release_that_fails_ends_no_session_and_the_session_goes_on(home: Path) -> None:
    async with agent_over(await faulty(home, "release"), provider=echoing()) as a:
        assert (await a.ask("one", session="s")).text == "answer to one"
        assert (await a.ask("two", session="s")).text == "answer to two"
        assert (await a.ask("three", session="other")).text == "answer to three"


async def test_a_lease_that_could_not_be_given_back_is_given_back_later(home: Path) -> None:
    store, clock = await faulty(home, "release"), FakeClock(time.time())
    async with agent_over(store, provider=echoing(), clock=clock) as a:
        await a.ask("one", session="s")
        await until(lambda: _free(store))
    assert 1.0 in clock.slept, "the wait is one of the clock that was given"


async def _unfinished(a: Agent) -> bool:
    return bool((await a.do("sessions.list"))[0]["state"] == "unfinished")


async def _free(store: SqliteStore) -> bool:
    return await store.holder("session:s") is None


async def test_a_follower_that_cannot_read_cancels_no_turn(home: Path) -> None:
    going, go = anyio.Event(), anyio.Event()

    async def reply(request: Request) -> Reply:
        if request.messages[-1].text == "slow":
            going.set()
            await go.wait()
        return Reply("answered")

    store = await faulty(home)
    async with agent_over(store, provider=FunctionProvider(reply)) as a, anyio.create_task_group() as tasks:
        ends = []

        async def slow() -> None:
            ends.append(await a.ask("slow", session="s"))

        tasks.start_soon(slow)
        await going.wait()
        store.fails.add("changes")
        await a.ask("quick", session="other")
        await until(lambda: "changes" not in store.fails)
        go.set()
    assert [(end.status, end.text) for end in ends] == [("done", "answered")]


async def test_after_a_follower_failed_what_others_write_is_seen_again(home: Path) -> None:
    store = await faulty(home)
    working = anyio.Event()

    async def reply(request: Request) -> Reply:
        working.set()
        await anyio.sleep_forever()
        return Reply("never")

    async with agent_over(store, provider=FunctionProvider(reply)) as a, agent(home) as other, anyio.create_task_group() as tasks:
        ends = []

        async def ask() -> None:
            ends.append(await a.ask("slow", session="s"))

        tasks.start_soon(ask)
        await working.wait()
        store.fails.add("changes")
        await other.cancel("s")
    assert [end.status for end in ends] == ["cancelled"]


async def test_a_turn_whose_step_cannot_be_recorded_stops_is_told_and_can_be_resumed(home: Path) -> None:
    store = await faulty(home)

    async def reply(request: Request) -> Reply:
        store.fails.add("append s")
        return Reply("lost")

    async with agent_over(store, provider=FunctionProvider(reply)) as a:
        with pytest.raises(StoreError, match="failed for a moment"):
            await a.ask("one", session="s")
        await until(lambda: _unfinished(a))
    async with agent(home, "found") as a, a.resume("s") as stream:
        ends = [event.text async for event in stream if event.type == "turn.finished"]
    assert ends == ["found"]
