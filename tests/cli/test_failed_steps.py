"""A step that fails ends the offline provider's turn as failed; what it gave until then is still printed."""

import pytest

from .program import Claw

pytestmark = pytest.mark.anyio


async def test_a_step_that_fails_ends_the_turn_and_those_after_it_are_not_run(claw: Claw) -> None:
    (claw.workspace / "b").write_text("beta\n")
    ran = await claw("run", "read a then read b")
    assert (ran.code, "beta" in ran.out) == (1, False), ran
    assert "ERROR: a" in ran.out
    assert "`read a` failed, so what follows was not done: read b" in ran.err
    whole = await claw("run", "read a then read b", "--output", "json")
    assert (whole.code, whole.json["status"], whole.json["error"]["kind"]) == (1, "failed", "ToolExecutionError"), whole
    assert whole.json["text"].startswith("ERROR: a")


async def test_what_was_done_before_the_step_that_failed_is_on_standard_output(claw: Claw) -> None:
    (claw.workspace / "b").write_text("beta\n")
    ran = await claw("run", "read b then run ls nowhere then calculate 6*7")
    assert ran.code == 1, ran
    assert ran.out.startswith("beta\n")
    assert "42" not in ran.out
    assert ran.err.count("not done: calculate 6*7") == 1


@pytest.mark.parametrize(("task", "approvals", "code"), [("run rm new", "none", 3), ("run sudo ls", "none", 5)])
async def test_a_refusal_decides_before_the_step_that_it_fails(claw: Claw, task: str, approvals: str, code: int) -> None:
    ran = await claw("run", f"{task} then calculate 6*7", "--approvals", approvals)
    assert (ran.code, "42" in ran.out) == (code, False), ran
    ignored = await claw("run", f"{task} then calculate 6*7", "--approvals", approvals, "--refusals", "ignore")
    assert (ignored.code, "42" in ignored.out) == (1, False), ignored


async def test_a_persons_no_leaves_the_step_undone_and_fails_the_turn(claw: Claw) -> None:
    parked = await claw("run", "run rm new then calculate 6*7", "--session", "a", "--approvals", "park", "--output", "json")
    assert parked.code == 3, parked
    (question,) = parked.json["waiting"]
    assert (await claw("approvals", "answer", question, "no")).code == 0
    ran = await claw("run", "--resume", "a")
    assert (ran.code, "42" in ran.out) == (1, False), ran
    assert "so what follows was not done: calculate 6*7" in ran.err


async def test_an_expired_question_fails_the_turn_too(claw: Claw) -> None:
    (claw.home).mkdir(exist_ok=True)
    (claw.home / "config.yaml").write_text("approvals: {expire_days: 0.000001}\n")
    parked = await claw("run", "run rm new then calculate 6*7", "--session", "a", "--approvals", "park")
    ran = parked if parked.code == 1 else await claw("run", "--resume", "a")
    assert (ran.code, "42" in ran.out) == (1, False), ran


async def test_the_next_turn_of_the_session_is_a_new_one(claw: Claw) -> None:
    assert (await claw("run", "read a", "--session", "a")).code == 1
    ran = await claw("run", "calculate 6*7", "--session", "a")
    assert (ran.code, ran.out) == (0, "42\n"), ran


@pytest.mark.parametrize(("task", "code", "told"), [("run rm x", 3, "🚫 Security: terminal: refused"), ("run sudo ls", 5, "🚫 Security: terminal: forbidden")])
async def test_a_refusal_that_left_nothing_else_undone_is_told_once_on_each_stream(claw: Claw, task: str, code: int, told: str) -> None:
    (claw.workspace / "x").touch()
    ran = await claw("run", task, "--approvals", "none")
    assert (ran.code, ran.err.count(told), "offline" in ran.err) == (code, 1, False), ran
    assert ran.out.startswith("ERROR: ")
    whole = await claw("run", task, "--approvals", "none", "--output", "json")
    assert (whole.code, whole.json["error"]["text"]) == (code, f"offline: `{task}` failed"), whole
    more = await claw("run", f"{task} then calculate 6*7", "--approvals", "none")
    assert "so what follows was not done: calculate 6*7" in more.err


async def test_a_failure_that_no_other_line_tells_is_told_as_such(claw: Claw) -> None:
    ran = await claw("run", "read a")
    assert (ran.code, "offline: `read a` failed" in ran.err) == (1, True), ran
    verbose = await claw("run", "read a", "--verbose")
    assert (verbose.code, "failed: a" in verbose.err, "offline: `read a` failed" in verbose.err) == (1, True, False), verbose
    mixed = await claw("run", "read a and run sudo ls", "--approvals", "none")
    assert "🚫" not in mixed.err or "offline: " in mixed.err, mixed
