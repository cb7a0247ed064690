"""A command that is made to keep the analysis busy holds up nobody: other sessions go on, and its turn can be stopped."""

import time
from pathlib import Path

import anyio
import pytest

from tests.safety.hostile import DOUBLING, HOSTILE

from .kit import agent, events

pytestmark = pytest.mark.anyio


@pytest.mark.invariant("sessions.no-delay")
@pytest.mark.parametrize("name", ["a variable that doubles", "an output that doubles", "functions that double"])
async def test_another_session_goes_on_while_a_hostile_command_is_analysed(home: Path, name: str) -> None:
    gaps: list[float] = []

    async with agent(home, provider=None, model="offline") as a:
        await events(a, "run ls", session="warm")
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                last = time.monotonic()
                while True:
                    await anyio.sleep(0)
                    gaps.append(time.monotonic() - last)
                    last = time.monotonic()

            async def hostile() -> None:
                refused = await events(a, f"run {HOSTILE[name]}", session="hostile")
                assert refused.one("turn.finished").status in ("needs_approval", "denied")
                assert "safety check" not in str(refused.one("turn.finished").refused)
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            tasks.start_soon(hostile)
            other = await events(a, "calculate 6*7", session="other")
            assert other.one("turn.finished").text == "42"
    assert max(gaps) < 2.0


async def test_a_turn_whose_command_is_analysed_can_be_cancelled(home: Path) -> None:
    async with agent(home, provider=None, model="offline") as a:
        with anyio.fail_after(5):
            async with a.turn(f"run {DOUBLING}", session="s") as stream:
                async for event in stream:
                    if event.type == "message":
                        await a.cancel("s")
                    if event.type == "turn.finished":
                        assert event.body.status in ("cancelled", "needs_approval")
