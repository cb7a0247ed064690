"""A gate that does not take the yes that is on record."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from neuralclaw import tool
from neuralclaw.agent.loop import run_turn
from neuralclaw.testing import ScriptedProvider
from neuralclaw.types.actions import Action
from neuralclaw.types.events import ApprovalResolved, DecisionMade, ToolFinished, TurnFinished
from neuralclaw.types.grants import Grant, StandingGrant
from neuralclaw.types.options import TurnOptions
from neuralclaw.types.questions import Answers, Question, Shown
from neuralclaw.types.risk import Decision, Risk, Tier
from neuralclaw.types.signals import Parked
from neuralclaw.types.verdicts import Verdict

from ..store.kit import opened
from .kit import call, calls
from .turns import begin_turn

pytestmark = pytest.mark.anyio


VERDICT = Verdict(decision=Decision.ASK, risk=Risk.LOW, tier=Tier.READ, auto=True)


class ForgetfulGate:
    """Asks the same question about a call each time, whatever was answered."""

    async def authorize(self, action: Action, answers: Answers) -> Grant:
        await anyio.lowlevel.checkpoint()  # who asks for ever can be stopped here
        name, shown = "thequestion", Shown(tool=action.spec.name, show="go")
        raise Parked(
            Question(approval_id=name, call_id=action.call_id, hash="same", action=shown, choices=("once", "no"), expires=4e9, verdict=VERDICT, auto=True)
        )

    async def judge(self, action: Action, standing: Sequence[StandingGrant] = ()) -> Verdict:
        return VERDICT


async def test_a_call_that_is_asked_about_again_after_a_yes_is_forbidden(home: Path) -> None:
    ran: list[str] = []

    @tool(risk="LOW")
    async def go() -> str:
        "Go."
        ran.append("go")
        return "went"

    provider = ScriptedProvider(calls(call("go")), "done")
    async with opened(home) as store:
        options = TurnOptions(model="test:model", workspace=store.home, approvals="auto")
        turn = await begin_turn(store, provider, tools=[go], options=options, gate=ForgetfulGate())
        with anyio.fail_after(5):
            await run_turn(turn)
        bodies = [entry.body for entry in await store.read("s")]
    assert [(body.approval_id, body.decision) for body in bodies if isinstance(body, ApprovalResolved)] == [("thequestion", "once")]
    assert [(body.decision, body.by) for body in bodies if isinstance(body, DecisionMade)] == [(Decision.FORBID, "policy")]
    (end,) = [body for body in bodies if isinstance(body, ToolFinished)]
    assert end.refused is Decision.FORBID
    assert (end.error or "").startswith("forbidden by policy: the safety check asks again")
    assert [body.status for body in bodies if isinstance(body, TurnFinished)] == ["denied"]
    assert ran == []
