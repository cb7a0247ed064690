"""SIGKILL while a hook runs, at each place where one does: nothing is done twice, nothing goes past the hook, and the hook runs again under its id."""

import multiprocessing
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until

from ..agent.kit import agent
from . import killed_turn
from .kit import hook, keeps, script, settings, told

pytestmark = pytest.mark.anyio

EVENTS = ("before_turn", "before_tool", "before_approval", "after_approval", "after_tool", "after_turn")
FORKS = multiprocessing.get_context("forkserver")
SECONDS = 20.0


def killed(home: Path) -> None:
    """Run the turn in a process of its own, which its hook kills."""
    process = FORKS.Process(target=killed_turn.live, args=(str(home),))
    process.start()
    process.join(SECONDS)
    assert process.exitcode == -signal.SIGKILL


async def settle(home: Path) -> None:
    """Until nothing is left of the hook that killed its agent."""
    pid = (home.parent / "own" / "hook.pid").read_text().strip()
    await until(lambda: ended(Path(f"/proc/{pid}/stat")))


def ended(stat: Path) -> bool:
    try:
        return " Z " in stat.read_text()
    except (FileNotFoundError, ProcessLookupError):  # it may end while it is read
        return True


def replies(event: str) -> list[Any]:
    """What the model still says after the turn was killed at this event."""
    pays = killed_turn.calls(killed_turn.call("pay", "c1", amount=7))
    return [] if event == "after_turn" else [pays, "done"] if event == "before_turn" else ["done"]


@pytest.mark.invariant("hooks.recorded")
@pytest.mark.parametrize(
    ("event", "again"),
    [
        ("before_turn", "blocks"),
        ("before_tool", "blocks"),
        ("before_approval", "passes"),
        ("after_approval", "blocks"),
        ("after_tool", "passes"),
        ("after_turn", "passes"),
        *(pytest.param(*one, marks=pytest.mark.full) for one in [("before_turn", "passes"), ("before_tool", "passes"), ("after_approval", "passes")]),
        *(pytest.param(*one, marks=pytest.mark.full) for one in [("before_approval", "blocks"), ("after_turn", "blocks")]),
    ],
)
async def test_a_turn_whose_process_is_killed_while_a_hook_runs_goes_on_behind_that_hook(home: Path, event: str, again: str) -> None:
    own = home.parent / "own"
    kept = keeps(home)
    ends = "exit 0" if again == "passes" else "echo not twice >&2; exit 2"
    text = f"cat >> {own}/killer.jsonl; echo >> {own}/killer.jsonl\nif [ -e {own}/first ]; then {ends}; fi\n"
    killer = script(home, "killer.sh", f"#!/bin/sh\n{text}echo $$ > {own}/hook.pid; touch {own}/first; kill -9 $(cat {own}/pid); exec sleep 60\n")
    settings(home, *(hook(one, kept, name=one) for one in EVENTS), hook(event, killer, name="killer"))
    killed(home)
    await settle(home)

    async def answers(question: Any) -> str:
        return "no" if event == "after_tool" else "once"  # what may have happened is not done again

    async with agent(home, *replies(event), tools=[killed_turn.ledger_tool(str(own))], approver=answers) as a:
        async with a.resume("s") as stream:
            seen = [one async for one in stream]
        record = [one["type"] for one in (await a.do("sessions.show", session="s"))["events"]]
    end = [one.body for one in seen if one.type == "turn.finished"][-1]
    told_of = told(home, "killer")
    assert len(told_of) == (1 if event == "after_tool" else 2)
    assert len({line["run_id"] for line in told_of}) == 1
    paid = (own / "ledger").read_text() if (own / "ledger").exists() else ""
    ran = again == "passes" or event in ("after_tool", "after_turn")
    assert paid == ("7\n" if ran else "")
    assert (record.count("tool.finished"), record.count("turn.finished")) == (0 if event == "before_turn" and again == "blocks" else 1, 1)
    assert event != "after_tool" or "may have happened" in next(one.body.content for one in seen if one.type == "tool.finished")
    assert end.status == ("done" if again == "passes" or event == "after_tool" else "denied")
    others = [line["hook_event_name"] for line in told(home) if line["hook_event_name"] != "after_tool"]
    attempts = 2 if event == "after_tool" else 1  # whether to run the call again is asked, with its hooks
    assert [one for one in EVENTS if others.count(one) > (1 if one.endswith("turn") else attempts)] == []
