"""`recover` tells of several sessions: every line about one begins with its name."""

import pytest

from .program import Claw
from .test_run import ASK, SLEEP

pytestmark = pytest.mark.anyio


async def test_recover_names_the_session_of_a_turn_that_fails_is_refused_or_asks(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    for session, then in (("failing", "read nothing.txt"), ("refused", "run sudo ls"), ("asking", "calculate 1 + 1")):
        parked = await claw("run", f"calculate 6 * 7 then {then}", "--approvals", "park", "--session", session, "--output", "json")
        assert (await claw("approvals", "answer", parked.json["waiting"][0], "once")).code == 0
    recovered = await claw("recover", "--approvals", "park")
    assert recovered.code == 0, recovered
    told = {line.split(": ")[0] for line in (recovered.out + recovered.err).splitlines() if line}
    assert told - {"ERROR"} == {"failing", "refused", "asking"}, recovered


async def test_recover_names_the_session_of_a_turn_that_was_cancelled(claw: Claw) -> None:
    with claw.started(*SLEEP, "--session", "stopped") as run:
        run.until("tool.started")
        run.process.kill()
    with claw.started(*SLEEP, "--session", "other") as run:
        run.until("tool.started")
    recovered = await claw("recover")
    assert {line.split(": ")[0] for line in (recovered.out + recovered.err).splitlines() if line} == {"stopped", "other"}, recovered
