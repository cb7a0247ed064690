"""A message whose turn cannot begin is withdrawn: it leaves the session as it was, and its sender is told."""

import shutil

import pytest

from .program import Claw
from .test_run import ASK, SLEEP

pytestmark = pytest.mark.anyio


async def _without_workspace(claw: Claw, session: str) -> None:
    """A session whose answered turn cannot go on: its workspace was deleted."""
    work = claw.workspace.parent / "lost"
    work.mkdir()
    (claw.home / "config.yaml").write_text(ASK)
    parked = await claw("run", "calculate 6 * 7", "--approvals", "park", "--session", session, "--workspace", str(work), "--output", "json")
    await claw("approvals", "answer", parked.json["waiting"][0], "no")
    shutil.rmtree(work)


async def test_a_message_that_no_turn_can_begin_with_is_withdrawn_and_a_cancel_closes_all_of_the_session(claw: Claw) -> None:
    await _without_workspace(claw, "del3")
    refused = await claw("run", "--session", "del3", "second message")
    assert (refused.code, refused.out) == (1, ""), refused
    assert "your message was withdrawn" in refused.err
    assert "neuralclaw sessions cancel del3" in refused.err
    sent = await claw("sessions", "send", "del3", "third message")
    assert sent.code == 1, sent
    stopped = await claw("sessions", "cancel", "del3")
    assert (stopped.code, stopped.out) == (0, "cancelled turn 1 of del3\n"), stopped
    assert (await claw("sessions", "list", "--unfinished", "--json")).json == []
    assert (await claw("recover")).code == 0
    events = (await claw("sessions", "show", "del3", "--json")).json["events"]
    assert not any(e["type"] == "turn.started" and e["text"] == "second message" for e in events)
    resumed = await claw("run", "--resume", "del3")
    assert (resumed.code, resumed.err.count("Cancelled")) == (130, 1), resumed


async def test_the_next_message_of_the_session_has_its_own_turn_and_the_withdrawn_ones_ended_without_a_run(claw: Claw) -> None:
    await _without_workspace(claw, "del3")
    await claw("run", "--session", "del3", "second message")
    await claw("sessions", "cancel", "del3")
    (claw.home / "config.yaml").unlink()
    done = await claw("run", "--session", "del3", "calculate 1 + 1", "--output", "json")
    assert (done.code, done.json["text"]) == (0, "2"), done
    events = (await claw("sessions", "show", "del3", "--json")).json["events"]
    ends = {event["turn"]: event["status"] for event in events if event["type"] == "turn.finished"}
    assert ends == {1: "cancelled", 2: "cancelled", 3: "done"}
    assert (await claw("sessions", "list", "--unfinished", "--json")).json == []


async def test_a_cancel_withdraws_what_waits_behind_the_turn(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    await claw("run", "calculate 6 * 7", "--approvals", "park", "--session", "w")
    for text in ("calculate 1 + 1", "calculate 2 + 2"):
        waits = await claw("run", "--session", "w", text, "--approvals", "park")
        assert waits.code == 3, waits
    stopped = await claw("sessions", "cancel", "w")
    assert (stopped.code, stopped.out) == (0, "cancelled turn 1 of w\n"), stopped
    assert (await claw("sessions", "list", "--unfinished", "--json")).json == []
    assert (await claw("sessions", "show", "w", "--json")).json["state"] == "idle"


async def test_a_turn_that_was_cancelled_before_is_no_failure_of_recover(claw: Claw) -> None:
    with claw.started(*SLEEP, "--session", "k") as run:
        run.until("tool.started")
    (claw.home / "gone").mkdir()
    stopped = await claw("sessions", "cancel", "k")
    assert stopped.code == 0, stopped
    assert (await claw("recover")).code == 0
