"""A reading session lives as long as the call that it works for: it is stopped with it, and gone on with after a crash."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw import Reply, Request
from neuralclaw.errors import UsageError
from neuralclaw.testing import EventCapture, FunctionProvider

from .kit import content_of, in_turn, is_reading, opened, provider, reads, run

pytestmark = pytest.mark.anyio
ROOT = str(Path(__file__).parents[2])
CALL = reads({"type": "integer"}, path="a.txt")
KILLED = """
import os, signal, sys
import anyio
root, where, path = sys.argv[1:]
sys.path.insert(0, root)
from pathlib import Path
from tests.reading.kit import in_turn, opened, provider, reads, run

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def ended(entries):
    if any(e.header.session.startswith("read-") and e.header.kind == "turn.finished" for e in entries):
        die()

async def main():
    reading = die if where == "model" else (lambda request: '{"value": 7}')
    async with opened(Path(path), provider(in_turn(reads({"type": "integer"}, path="a.txt"), "done"), reading)) as agent:
        if where == "end":
            agent.desk.listen(ended)
        await run(agent)

anyio.run(main)
"""


def file(tmp_path: Path, text: str = "seven 7") -> None:
    (tmp_path / "work").mkdir(exist_ok=True)
    (tmp_path / "work/a.txt").write_text(text)


def killed(tmp_path: Path, where: str) -> None:
    """A turn whose process is killed while the reading model is asked (`model`), or when the reading session has ended (`end`)."""
    file(tmp_path)
    done = subprocess.run([sys.executable, "-c", KILLED, ROOT, where, str(tmp_path)], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize(("where", "asked"), [("model", 1), ("end", 0)])
async def test_a_killed_reading_goes_on_with_what_it_had_and_a_finished_one_is_not_paid_twice(tmp_path: Path, where: str, asked: int) -> None:
    killed(tmp_path, where)
    file(tmp_path, "changed since")
    (tmp_path / "home/config.yaml").write_text("agent: {max_sessions: 1}\n")
    model = provider(in_turn(CALL, "done"), lambda request: '{"value": 7}' if content_of(request) == "seven 7" else "wrong")
    async with opened(tmp_path, model) as agent:
        async with agent.resume("s") as stream:
            events = await EventCapture().drain(stream)
        rows = await agent.do("sessions.list")
        report = await agent.do("audit.verify")
    assert events.one("tool.finished").content == '{"value":7}'
    assert events.one("turn.finished").status == "done"
    assert sum(is_reading(request) for request in model.requests) == asked
    assert {row["state"] for row in rows} == {"idle"}
    assert len(rows) == 2
    assert report["ok"]


async def test_a_reading_whose_call_has_ended_is_ended_without_a_model(tmp_path: Path) -> None:
    killed(tmp_path, "model")
    model = provider(in_turn("done"), lambda request: pytest.fail("nobody waits for it"))
    async with opened(tmp_path, model) as agent:
        await agent.do("sessions.cancel", session="s")
        async with agent.resume("s") as stream:
            await EventCapture().drain(stream)
        async for _ in agent.desk.recover(by="owner"):
            pass
        rows = await agent.do("sessions.list")
        (child,) = [row["session"] for row in rows if row["parent"]]
        shown = await agent.do("sessions.show", session=child)
    assert shown["events"][-1]["status"] == "cancelled"
    assert {row["state"] for row in rows} == {"idle"}


async def test_recovery_finishes_a_turn_and_its_reading(tmp_path: Path) -> None:
    killed(tmp_path, "model")
    model = provider(in_turn(CALL, "done"), lambda request: '{"value": 7}')
    async with opened(tmp_path, model) as agent:
        async for _ in agent.desk.recover(by="owner"):
            pass
        rows = {row["session"]: row for row in await agent.do("sessions.list")}
        shown = await agent.do("sessions.show", session="s")
    assert {row["state"] for row in rows.values()} == {"idle"}
    assert shown["events"][-1]["status"] == "done"
    assert sum(is_reading(request) for request in model.requests) == 1


@pytest.mark.parametrize("how", ["cancel", "timeout"])
async def test_a_reading_is_stopped_with_the_turn_that_waits_for_it(tmp_path: Path, how: str) -> None:
    file(tmp_path)
    asked = anyio.Event()

    async def think(request: Request) -> Reply:
        if is_reading(request):
            asked.set()
            await anyio.sleep_forever()
        return Reply("", tool_calls=[CALL])

    ended = EventCapture()
    async with opened(tmp_path, FunctionProvider(think)) as agent:

        async def turn() -> None:
            options: dict[str, Any] = {"timeout": 0.5} if how == "timeout" else {}
            ended.events = (await run(agent, **options)).events

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn)
            await asked.wait()
            if how == "cancel":
                await agent.cancel("s")
        rows = await agent.do("sessions.list")
        (child,) = [row["session"] for row in rows if row["parent"]]
        shown = await agent.do("sessions.show", session=child)
    assert ended.one("turn.finished").status == ("cancelled" if how == "cancel" else "timed_out")
    assert shown["events"][-1]["status"] == "cancelled"
    assert {row["state"] for row in rows} == {"idle"}


async def test_a_reading_needs_no_room_among_the_turns_that_run_at_once(tmp_path: Path) -> None:
    file(tmp_path)
    (tmp_path / "home").mkdir()
    (tmp_path / "home/config.yaml").write_text("agent: {max_sessions: 1}\n")
    async with opened(tmp_path, provider(in_turn(CALL, "done"), lambda request: '{"value": 7}')) as agent:
        assert (await run(agent, timeout=20)).one("turn.finished").status == "done"


async def test_nobody_speaks_to_a_reading_session_and_it_is_never_the_newest(tmp_path: Path) -> None:
    file(tmp_path)
    async with opened(tmp_path, provider(in_turn(CALL, "done"), lambda request: '{"value": 7}')) as agent:
        child = (await run(agent)).one("tool.finished").child
        with pytest.raises(UsageError, match="is no conversation; nothing was recorded"):
            await agent.ask("send everything", session=child)
        with pytest.raises(UsageError, match="is no conversation"):
            await agent.steer("send everything", session=child)
        assert (await agent.do("sessions.show"))["session"] == "s"


async def test_two_readings_of_one_reply_run_at_once_each_in_its_own_session(tmp_path: Path) -> None:
    file(tmp_path)
    both, waiting = anyio.Event(), list[Request]()

    async def think(request: Request) -> Reply:
        if is_reading(request):
            waiting.append(request)
            if len(waiting) == 2:
                both.set()
            await both.wait()
            return Reply('{"value": 7}')
        return Reply("done") if len(request.messages) > 1 else Reply("", tool_calls=[CALL, CALL | {"arguments": {**CALL["arguments"], "question": "And?"}}])

    async with opened(tmp_path, FunctionProvider(think)) as agent:
        events = await run(agent)
    assert [event.content for event in events.of("tool.finished")] == ['{"value":7}'] * 2
    assert len({event.child for event in events.of("tool.finished")}) == 2
