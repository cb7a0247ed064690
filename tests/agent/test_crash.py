"""Killed at any moment, a turn goes on from its last finished step; a finished call never runs twice."""

import re
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from neuralclaw.errors import SessionBusy, TurnSetAside
from neuralclaw.testing import EventCapture, FunctionProvider, Reply, ScriptedProvider
from neuralclaw.types.messages import Request, ToolMessage
from neuralclaw.types.options import StartOptions

from .kit import agent
from .steps import steps, tools

pytestmark = [pytest.mark.anyio, pytest.mark.full]

ROOT = str(Path(__file__).parents[2])

CHILD = """
import anyio, os, signal, sys
from neuralclaw import Agent
from neuralclaw.testing import FunctionProvider
home, work, where, effect, root = sys.argv[1:]
sys.path.insert(0, root)
from tests.agent.steps import steps, tools

def die():
    os.kill(os.getpid(), signal.SIGKILL)

async def think(request):
    if where == f"model {len(provider.requests)}":
        die()
    return steps(request)

provider = FunctionProvider(think)

async def main():
    async with Agent.open(home=home, workspace=work, provider=provider, tools=tools(work, effect, die if where == "inside" else None)) as a:
        async with a.turn("go", session="s") as events:
            async for event in events:
                print(event.body.type, event.entry, getattr(event.body, "call_id", ""), flush=True)
                if event.body.type == where:
                    die()

anyio.run(main)
"""

STUCK = """
import anyio, os, signal, sys
from neuralclaw import Agent
from neuralclaw.testing import FunctionProvider

async def die(request):
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    async with Agent.open(home=sys.argv[1], workspace=sys.argv[2], provider=FunctionProvider(die)) as a:
        async with a.resume("s") as events:
            async for event in events:
                pass

anyio.run(main)
"""

AGAIN = """
import anyio, os, signal, sys
from neuralclaw import Agent
from neuralclaw.testing import FunctionProvider
home, work, effect, root = sys.argv[1:]
sys.path.insert(0, root)
from tests.agent.steps import steps, tools

def die():
    os.kill(os.getpid(), signal.SIGKILL)

async def think(request):
    return steps(request)

async def yes(question):
    return "once"

async def main():
    async with Agent.open(home=home, workspace=work, provider=FunctionProvider(think), tools=tools(work, effect, die), approver=yes) as a:
        async with a.resume("s") as events:
            async for event in events:
                pass

anyio.run(main)
"""

THINKING = """
import anyio, sys
from neuralclaw import Agent
from neuralclaw.testing import FunctionProvider

async def wait(request):
    print("thinking", flush=True)
    await anyio.sleep_forever()

async def main():
    async with Agent.open(home=sys.argv[1], workspace=sys.argv[2], provider=FunctionProvider(wait)) as a:
        await a.ask("go", session="s")

anyio.run(main)
"""


def crash(home: Path, where: str, effect: str = "pure") -> list[list[str]]:
    """Run a turn in a process that is killed at `where` (an event, `model N`, or `inside` the second tool); the durable events it had printed."""
    work = home.parent / "work"
    work.mkdir()
    command = [sys.executable, "-c", CHILD, str(home), str(work), where, effect, ROOT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return [line.split() for line in done.stdout.splitlines() if " None" not in line]


def again(home: Path, effect: str = "pure", **options: Any) -> Any:
    """The agent of the next process, with the same model and tools."""
    return agent(home, provider=FunctionProvider(think), tools=tools(str(home.parent / "work"), effect), **options)


async def think(request: Request) -> Reply:
    return steps(request)


def ran(home: Path) -> list[str]:
    """What the tools did, in all processes."""
    return (home.parent / "work" / "ran").read_text().splitlines()


KILLS = ["inbound", "turn.started", "message", "decision", "tool.started", "tool.finished", "model 1", "model 2", "model 3"]


@pytest.mark.invariant("journal.finished-once")
@pytest.mark.invariant("journal.one-result")
@pytest.mark.parametrize("where", KILLS)
async def test_a_killed_turn_is_finished_by_the_next_process_and_nothing_finished_runs_twice(home: Path, where: str) -> None:
    printed = crash(home, where)
    async with again(home) as a:
        (row,) = await a.do("sessions.list", unfinished=True)
        assert row["state"] == "unfinished"
        async with a.resume("s") as stream:
            seen = await EventCapture().drain(stream)
        shown = await a.do("sessions.show", session="s")
        report = await a.do("audit.verify")
    end = seen.one("turn.finished")
    assert (end.turn, end.status) == (1, "done")
    assert [e["call_id"] for e in shown["events"] if e["type"] == "tool.finished"] == ["c1", "c2"]
    times = {"c1": ran(home).count("first"), "c2": ran(home).count("second")}
    assert all(times[line[2]] == 1 for line in printed if line[0] == "tool.finished")
    assert times["c1"] <= 1
    assert report["ok"]
    assert [[e["type"], str(e["entry"])] for e in shown["events"]][: len(printed)] == [line[:2] for line in printed]


@pytest.mark.parametrize("effect", ["pure", "idempotent"])
async def test_an_interrupted_call_that_may_be_repeated_is_run_again_without_asking(home: Path, effect: str) -> None:
    crash(home, "inside", effect)
    async with again(home, effect) as a, a.resume("s") as stream:
        seen = await EventCapture().drain(stream)
    assert seen.one("tool.finished").content == "two"
    assert ran(home) == ["first", "second", "second"]


@pytest.mark.invariant("journal.unfinished-asked")
@pytest.mark.parametrize("effects", [("once", "pure"), ("once", "idempotent"), ("idempotent", "once"), ("reconcilable", "idempotent")])
async def test_an_interrupted_call_of_a_tool_that_is_declared_otherwise_now_is_asked_about_by_the_stricter(home: Path, effects: tuple[str, str]) -> None:
    crash(home, "inside", effects[0])
    async with again(home, effects[1], approvals="none") as a, a.resume("s") as stream:
        seen = await EventCapture().drain(stream)
    assert seen.one("tool.finished").error.startswith("may have happened")
    assert ran(home) == ["first", "second"]


@pytest.mark.invariant("journal.unfinished-asked")
@pytest.mark.parametrize("mode", ["none", "auto"])
async def test_an_interrupted_once_call_is_never_run_again_by_a_mode(home: Path, mode: str) -> None:
    crash(home, "inside", "once")
    provider = ScriptedProvider("The second step may have happened.")
    second = tools(str(home.parent / "work"), "once")
    async with agent(home, provider=provider, tools=second, approvals=mode) as a, a.resume("s") as stream:
        seen = await EventCapture().drain(stream)
    finished = seen.one("tool.finished")
    assert finished.ok is False
    assert finished.error.startswith("may have happened")
    told = [m.content for m in provider.requests[0].messages if isinstance(m, ToolMessage)][-1]
    assert told.startswith("may have happened")
    assert ran(home) == ["first", "second"]


@pytest.mark.invariant("journal.unfinished-asked")
@pytest.mark.parametrize(("answer", "expected"), [("once", ["first", "second", "second"]), ("no", ["first", "second"])])
async def test_a_person_decides_whether_an_interrupted_once_call_is_run_again(home: Path, answer: str, expected: list[str]) -> None:
    crash(home, "inside", "once")

    async def approver(question: object) -> str:
        return answer

    async with again(home, "once", approver=approver) as a, a.resume("s") as stream:
        seen = await EventCapture().drain(stream)
    assert "may have happened" in seen.one("approval.requested").reasons[0]
    assert seen.one("tool.finished").ok is (answer == "once")
    assert ran(home) == expected


def crash_again(home: Path, effect: str) -> None:
    """The next process says yes to everything, takes the turn up, and dies in the second step too."""
    words = [sys.executable, "-c", AGAIN, str(home), str(home.parent / "work"), effect, ROOT]
    died = subprocess.run(words, capture_output=True, timeout=30, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr


@pytest.mark.invariant("journal.unfinished-asked")
async def test_a_yes_to_one_repetition_is_none_to_the_next(home: Path) -> None:
    crash(home, "inside", "once")
    crash_again(home, "once")
    assert ran(home) == ["first", "second", "second"]
    asked = []

    async def no(question: Any) -> str:
        asked.append(question.question.hash)
        return "no"

    async with again(home, "once", approver=no) as a, a.resume("s") as stream:
        seen = await EventCapture().drain(stream)
        shown = (await a.do("sessions.show", session="s"))["events"]
    starts = [e for e in shown if e["type"] == "tool.started" and e["call_id"] == "c2"]
    assert [e["attempt"] for e in starts] == [1, 2]
    assert asked == [f"again:c2:{starts[1]['entry']}"]
    assert seen.one("tool.finished").error.startswith("may have happened")
    assert ran(home) == ["first", "second", "second"]


async def test_a_call_that_kills_the_process_each_time_is_not_begun_for_ever(home: Path) -> None:
    crash(home, "inside", "pure")
    for _ in range(3):
        crash_again(home, "pure")
    async with again(home, "pure") as a:
        with pytest.raises(TurnSetAside, match="turn 1"):
            async with a.resume("s") as stream:
                await EventCapture().drain(stream)
    assert ran(home) == ["first", *["second"] * 4]


async def test_recover_finishes_every_unfinished_turn_of_the_home(home: Path) -> None:
    crash(home, "model 2")
    async with again(home) as a:
        async with a.recover() as stream:
            seen = await EventCapture().drain(stream)
        rows = await a.do("sessions.list", unfinished=True)
    assert seen.one("turn.finished").status == "done"
    assert rows == []


async def test_a_turn_that_makes_no_progress_in_three_starts_is_set_aside(home: Path) -> None:
    crash(home, "model 2")
    work = home.parent / "work"
    for _ in range(3):
        died = subprocess.run([sys.executable, "-c", STUCK, str(home), str(work)], capture_output=True, timeout=30, check=False)
        assert died.returncode == -signal.SIGKILL, died.stderr
    async with again(home) as a:
        with pytest.raises(TurnSetAside, match="turn 1"):
            async with a.resume("s") as stream:
                await EventCapture().drain(stream)
        (row,) = await a.do("sessions.list")
        assert row["state"] == "set_aside"
        async with a.resume("s", retry=True) as stream:
            seen = await EventCapture().drain(stream)
        (row,) = await a.do("sessions.list")
    assert seen.one("turn.finished").status == "done"
    assert row["state"] == "idle"


async def test_resuming_what_is_finished_shows_its_end_again(home: Path) -> None:
    async with agent(home, "the answer") as a:
        await a.ask("hi", session="s")
    async with agent(home) as a, a.resume("s") as stream:
        seen = await EventCapture().drain(stream)
    assert seen.types == ["turn.finished"]
    assert seen.one("turn.finished").text == "the answer"


@pytest.mark.invariant("sessions.one-turn")
async def test_a_session_that_runs_in_another_process_is_busy_and_says_where_until_that_dies(home: Path) -> None:
    work = home.parent / "work"
    work.mkdir()
    with subprocess.Popen([sys.executable, "-c", THINKING, str(home), str(work)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "thinking\n"
        async with agent(home, "done") as a:
            with pytest.raises(SessionBusy, match=str(other.pid)):
                await a.ask("me too", session="s")
            other.send_signal(signal.SIGKILL)
            other.wait()
            async with a.resume("s") as stream:
                seen = await EventCapture().drain(stream)
    assert seen.one("turn.finished").status == "done"


KILLED = """
import anyio, os, signal, sys
from neuralclaw import Agent
from neuralclaw.testing import FunctionProvider

async def think(request):
    for text in ("two", "three", "four"):
        await agents[0].desk.send("s", agents[0]._defaults.message(text))
    os.kill(os.getpid(), signal.SIGKILL)

agents = []

async def main():
    async with Agent.open(home=sys.argv[1], workspace=sys.argv[2], provider=FunctionProvider(think)) as a:
        agents.append(a)
        await a.ask("one", session="s")

anyio.run(main)
"""


def queue_of_a_dead_process(home: Path, work: Path) -> None:
    work.mkdir(exist_ok=True)
    assert subprocess.run([sys.executable, "-c", KILLED, str(home), str(work)], timeout=60, check=False).returncode == -signal.SIGKILL


@pytest.mark.invariant("journal.inbound-once")
async def test_recovery_finishes_all_messages_that_waited_in_a_session(home: Path, tmp_path: Path) -> None:
    queue_of_a_dead_process(home, tmp_path / "work")
    async with agent(home, *"abcd", workspace=tmp_path / "work") as opened, opened.recover() as events:
        seen = await EventCapture().drain(events)
    assert [(e.body.status, e.body.text) for e in seen.of("turn.finished")] == [("done", answer) for answer in "abcd"]


@pytest.mark.invariant("journal.inbound-once")
async def test_who_leaves_after_one_turn_does_not_cancel_the_messages_behind_it(home: Path, tmp_path: Path) -> None:
    queue_of_a_dead_process(home, tmp_path / "work")

    provider = ScriptedProvider("a")
    async with agent(home, provider=provider, workspace=tmp_path / "work") as opened:
        async with opened.desk.resume("s", StartOptions(one_turn=True), by="program") as events:
            await EventCapture().drain(events)
        await opened._desk._sessions.idle("s")  # nobody stays for the next one, so it is not begun
    assert len(provider.requests) == 1
    async with agent(home, *"bcd", workspace=tmp_path / "work") as opened, opened.recover() as events:
        seen = await EventCapture().drain(events)
    assert [e.body.status for e in seen.of("turn.finished")] == ["done", "done", "done"]


@pytest.mark.invariant("journal.one-result")
async def test_a_reply_that_is_being_written_when_the_time_is_up_gets_its_results(home: Path, tmp_path: Path) -> None:
    async def think(request: Request) -> Reply:
        stranger = sqlite3.connect(home / "neuralclaw.db", check_same_thread=False, isolation_level=None)
        stranger.execute("BEGIN IMMEDIATE")
        threading.Timer(1.7, stranger.close).start()  # the reply's entry waits for it, and the time is up before
        return Reply(tool_calls=[{"id": "c", "name": "echo", "arguments": {"text": "a"}}])

    async with agent(home, provider=FunctionProvider(think)) as opened, opened.turn("go", session="s", timeout=1.5) as events:
        seen = await EventCapture().drain(events)
    assert seen.one("message").body.tool_calls[0].id == "c"
    assert [e.body.call_id for e in seen.of("tool.finished")] == ["c"]
    assert seen.one("turn.finished").body.status == "timed_out"


@pytest.mark.invariant("journal.unfinished-asked")
async def test_an_approver_that_fails_leaves_an_interrupted_once_call_and_the_result_says_that_it_failed(home: Path) -> None:
    crash(home, "inside", "once")

    async def broken(question: object) -> str:
        raise ValueError("boom")

    async with again(home, "once", approver=broken) as a, a.resume("s") as stream:
        seen = await EventCapture().drain(stream)
    assert re.search(r"\(the approver failed: ValueError: boom \(\S+test_crash\.py:\d+\)\)$", seen.one("tool.finished").error)
    assert "The person says" not in seen.one("tool.finished").content
    assert ran(home) == ["first", "second"]
