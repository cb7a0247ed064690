"""Many messages for one session, and many sessions over many processes of one home."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import anyio
import pytest

from neuralclaw.testing import FunctionProvider
from neuralclaw.types.events import TurnFinished
from neuralclaw.types.messages import Request, UserMessage

from .kit import agent

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
MESSAGES = 100
PROCESSES, SESSIONS = 8, 20


@pytest.mark.invariant("sessions.one-turn")
async def test_a_hundred_messages_at_once_get_a_turn_each_one_after_the_other_and_each_its_own_answer(home: Path) -> None:
    thinking = most = 0

    async def think(request: Request) -> str:
        nonlocal thinking, most
        thinking += 1
        most = max(most, thinking)
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        thinking -= 1
        last = request.messages[-1]
        assert isinstance(last, UserMessage)
        return f"answer to {last.text}"

    ends: dict[str, TurnFinished] = {}
    async with agent(home, provider=FunctionProvider(think)) as a:

        async def ask(text: str) -> None:
            ends[text] = await a.ask(text, session="s")

        async with anyio.create_task_group() as tasks:
            for number in range(MESSAGES):
                tasks.start_soon(ask, f"message {number}")
        shown = (await a.do("sessions.show", session="s"))["events"]
    assert {text: (end.status, end.text) for text, end in ends.items()} == {f"message {n}": ("done", f"answer to message {n}") for n in range(MESSAGES)}
    assert most == 1
    messages = [(e["entry"], e["text"]) for e in shown if e["type"] == "inbound"]
    began = [e for e in shown if e["type"] == "turn.started"]
    assert len(messages) == MESSAGES
    assert [(e["inbound"], e["text"]) for e in began] == messages
    assert [e["turn"] for e in began] == list(range(1, MESSAGES + 1))
    edges = [(e["type"], e["turn"]) for e in shown if e["type"] in ("turn.started", "turn.finished")]
    assert edges == [(kind, turn) for turn in range(1, MESSAGES + 1) for kind in ("turn.started", "turn.finished")]


@pytest.mark.full
@pytest.mark.invariant("journal.finished-once")
@pytest.mark.invariant("journal.one-result")
def test_eight_processes_on_one_home_give_every_call_one_result_and_run_every_effect_once(home: Path) -> None:
    words = ("--processes", str(PROCESSES), "--sessions", str(SESSIONS), "--home", str(home), "--json")
    done = subprocess.run([sys.executable, str(ROOT / "benchmarks" / "many_processes.py"), *words], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["together"]
    assert (found["sessions"], found["wrong"]) == (PROCESSES * SESSIONS, [])
    ran = Counter(Path(f"{home}.effects").read_text().split())
    assert ran == {f"p{process}-{number}": 1 for process in range(PROCESSES) for number in range(SESSIONS)}
