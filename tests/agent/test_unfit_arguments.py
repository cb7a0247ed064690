"""What the gate cannot judge since an argument does not fit is an error that the model can mend; a refusal stays one."""

import pytest

from neuralclaw.agent import results
from neuralclaw.agent.state import CallState
from neuralclaw.types.events import ToolFinished
from neuralclaw.types.messages import ToolCall
from neuralclaw.types.risk import Decision, Risk, Tier
from neuralclaw.types.verdicts import RuleMatch, Verdict


def end(*rules: str) -> ToolFinished:
    matches = tuple(RuleMatch(rule, Decision.FORBID, f"because of {rule}") for rule in rules)
    verdict = Verdict(decision=Decision.FORBID, risk=Risk.LOW, tier=Tier.READ, rules=matches)
    body = results.forbidden(CallState(call=ToolCall(id="c", name="t"), questions=[]), "t", verdict).entries[-1]
    assert isinstance(body, ToolFinished)
    return body


@pytest.mark.parametrize("rule", ["access.unfit", "secret.unknown", "secret.unfit", "url.unresolved"])
def test_an_argument_that_does_not_fit_is_an_error_and_no_refusal(rule: str) -> None:
    assert (end(rule).refused, end(rule).error) == (None, f"because of {rule}")


def test_what_policy_forbids_beside_it_stays_a_refusal() -> None:
    assert end("access.unfit", "path.protected").refused is Decision.FORBID
