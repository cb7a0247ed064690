"""The time of a hook beside the time of a question: whichever ends first, the call does not run, and the record says why."""

from pathlib import Path
from typing import Any

import pytest

from ..agent.kit import agent, call, calls, events
from .kit import hook, runs, script, settings

pytestmark = pytest.mark.anyio

AT_ONCE = 1e-9
"""Days after which a question expires."""
DELETE = calls(call("delete_file", path="a.txt"))


@pytest.fixture
def victim(home: Path) -> Path:
    path = home.parent / "work" / "a.txt"
    path.parent.mkdir()
    path.write_text("x")
    return path


def slow(home: Path, event: str, **more: Any) -> dict[str, Any]:
    return hook(event, script(home, "slow.sh", "#!/bin/sh\nexec sleep 60\n"), timeout=0.2, **more)


async def _yes(question: Any) -> str:
    return "once"


@pytest.mark.parametrize(("event", "asked"), [("before_approval", False), ("after_approval", True)])
async def test_where_the_time_of_the_hook_ends_first_its_failure_refuses_the_call(home: Path, victim: Path, event: str, asked: bool) -> None:
    settings(home, slow(home, event, name="guard"))
    async with agent(home, DELETE, "done", approver=_yes) as a:
        seen = await events(a)
    [finished] = seen.of("tool.finished")
    assert bool(seen.of("approval.requested")) == asked
    assert [(ran.outcome, ran.blocks) for ran in runs(seen)] == [("failed", True)]
    assert "guard" in finished.error
    assert "longer than 0.2 s" in finished.error
    assert victim.exists()


@pytest.mark.parametrize("choice", ["block", "pass"])
async def test_where_the_time_of_the_question_ends_first_it_is_a_no_whatever_the_hook_does_then(home: Path, victim: Path, choice: str) -> None:
    settings(home, slow(home, "after_approval", on_failure=choice))
    async with agent(home, DELETE, "done", approvals="ask", present=True, settings={"approvals.expire_days": AT_ONCE}) as a:
        seen = await events(a)
    [answer], [finished] = seen.of("approval.resolved"), seen.of("tool.finished")
    assert (answer.decision, answer.by) == ("no", "expired")
    assert "nobody answered the question in time" in finished.error
    assert [ran.outcome for ran in runs(seen)] == ["failed"]
    assert victim.exists()


async def test_a_hook_that_lets_the_question_pass_late_asks_it_and_nobody_answers(home: Path, victim: Path) -> None:
    settings(home, slow(home, "before_approval", on_failure="pass"))
    async with agent(home, DELETE, "done", approvals="ask", present=True, settings={"approvals.expire_days": AT_ONCE}) as a:
        seen = await events(a)
    assert [(answer.decision, answer.by) for answer in seen.of("approval.resolved")] == [("no", "expired")]
    assert victim.exists()


async def test_the_time_of_a_turn_that_ends_while_a_hook_runs_runs_nothing(home: Path, victim: Path) -> None:
    settings(home, slow(home, "after_approval") | {"timeout": 60})
    async with agent(home, DELETE, approver=_yes, timeout=0.5) as a:
        seen = await events(a)
    assert seen.of("turn.finished")[-1].status == "timed_out"
    assert not seen.of("tool.started")
    assert victim.exists()


async def test_a_secret_that_a_hook_prints_is_not_kept_or_shown(home: Path, victim: Path) -> None:
    key = "sk-proj-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"
    settings(home, hook("before_tool", script(home, "tells.sh", f"#!/bin/sh\necho 'the key is {key}' >&2\nexit 2\n"), name="tells"))
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home.parent), "OPENAI_API_KEY": key}
    async with agent(home, DELETE, "done", environ=env) as a:
        seen = await events(a, session="s")
        shown = str([event.to_dict() for event in seen.events]) + str(await a.do("sessions.show", session="s")) + str(await a.do("hooks.test", name="tells"))
    assert "the key is" in shown
    assert key not in shown
