"""Invariants of a whole agent that no single room can prove."""

import itertools
import sqlite3
from pathlib import Path

import anyio
import pytest

from neuralclaw import tool
from neuralclaw.testing import FunctionProvider, Reply

from .kit import agent, call, calls, events

pytestmark = pytest.mark.anyio


@pytest.mark.invariant("journal.started-first")
async def test_before_an_effect_its_start_is_written_and_synced(home: Path) -> None:
    seen: list[tuple[int, int]] = []

    @tool(risk="LOW", effect="once")
    async def act(step: int) -> str:
        "Look at the record from outside, at the moment of the effect."
        with sqlite3.connect(f"file:{home / 'neuralclaw.db'}?mode=ro", uri=True) as outside:
            started = outside.execute("SELECT count(*) FROM entries WHERE kind = 'tool.started'").fetchone()[0]
            synced = int(outside.execute("SELECT value FROM meta WHERE name = 'syncs'").fetchone()[0])
        outside.close()
        seen.append((started, synced))
        return f"step {step}"

    steps = [calls(call("act", step=step)) for step in range(6)]
    async with agent(home, *steps, "done", tools=[act]) as opened:
        before = await events(opened)
    assert before.one("turn.finished").status == "done"
    assert [started for started, _ in seen] == [1, 2, 3, 4, 5, 6]
    syncs = [synced for _, synced in seen]
    assert all(earlier < later for earlier, later in itertools.pairwise(syncs)), syncs


@pytest.mark.invariant("sessions.no-delay")
async def test_a_session_that_hangs_delays_no_other(home: Path) -> None:
    hanging, go_on = anyio.Event(), anyio.Event()

    @tool(risk="LOW", effect="pure")
    async def wait() -> str:
        "Hang until the other session is done."
        hanging.set()
        await go_on.wait()
        return "waited"

    async def think(request: object) -> Reply | str:
        text = str(request)
        if "slow" not in text:
            return "quick"
        return "slow is done" if "waited" in text else calls(call("wait"))

    async with agent(home, provider=FunctionProvider(think), tools=[wait]) as opened, anyio.create_task_group() as group:

        async def slow() -> None:
            assert (await opened.ask("slow", session="slow")).text == "slow is done"

        group.start_soon(slow)
        with anyio.fail_after(5):
            await hanging.wait()
            for _ in range(3):
                assert (await opened.ask("now", session="other")).text == "quick"
        go_on.set()
