"""The gate of a replay: decisions as they are on record. Its grants allow nothing, since nothing runs under them."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from ..types.actions import Action
from ..types.events import ApprovalRequested, DecisionMade
from ..types.grants import Envelope, Grant, StandingGrant
from ..types.questions import Answers, Question, Shown
from ..types.risk import Decision, Risk, Tier
from ..types.signals import Denied, Parked
from ..types.verdicts import RuleMatch, Verdict

Recorded = Callable[[str], Awaitable[ApprovalRequested | DecisionMade | None]]
"""What comes next on record about a call: a question, a decision, or neither."""


class RecordedGate:
    """The port `Gate` over a record. `asked`: gives the last question that was asked about a call."""

    def __init__(self, recorded: Recorded, asked: Callable[[str], ApprovalRequested | None]) -> None:
        self._recorded, self._asked = recorded, asked

    async def authorize(self, action: Action, answers: Answers) -> Grant:
        """See `ports.Gate`. Of a call that nothing is on record of, a grant: what follows shows what became of it."""
        found = await self._recorded(action.call_id)
        if isinstance(found, ApprovalRequested):
            raise Parked(_question(found, _verdict(Decision.ASK, found.risk, found.tier, found.reasons)))
        if found is None:
            return _grant(action, "", _verdict(Decision.ALLOW, None, None, ()))
        verdict = _of_decision(found)
        if found.decision is Decision.ALLOW:
            return _grant(action, found.hash, verdict)
        if found.decision is Decision.FORBID:
            raise Denied(verdict)
        asked = self._asked(action.call_id)
        raise Parked(_question(asked, verdict) if asked is not None else _unasked(action, found, verdict))

    async def judge(self, action: Action, standing: Sequence[StandingGrant] = ()) -> Verdict:
        """See `ports.Gate`."""
        found = await self._recorded(action.call_id)
        return _of_decision(found) if isinstance(found, DecisionMade) else _verdict(Decision.ALLOW, None, None, ())


def _grant(action: Action, digest: str, verdict: Verdict) -> Grant:
    return Grant(
        session=action.session,
        call_id=action.call_id,
        tool=action.spec.name,
        arguments=action.arguments,
        workspace=action.workspace,
        hash=digest,
        envelope=Envelope(),
        verdict=verdict,
    )


def _of_decision(body: DecisionMade) -> Verdict:
    rules = body.rules or tuple("recorded" for _ in body.reasons)
    reasons = (*body.reasons, *("" for _ in rules[len(body.reasons) :]))
    matches = tuple(RuleMatch(rule, body.decision, reason) for rule, reason in zip(rules, reasons, strict=False))
    return Verdict(decision=body.decision, risk=body.risk, tier=body.tier, rules=matches, policy=body.policy)


def _verdict(decision: Decision, risk: Risk | None, tier: Tier | None, reasons: tuple[str, ...]) -> Verdict:
    rules = tuple(RuleMatch("recorded", decision, reason) for reason in reasons)
    return Verdict(decision=decision, risk=risk or Risk.LOW, tier=tier or Tier.READ, rules=rules)


def _question(body: ApprovalRequested, verdict: Verdict) -> Question:
    """The question as it was asked."""
    return Question(
        approval_id=body.approval_id,
        call_id=body.call_id,
        hash=body.hash,
        action=body.action,
        risk=body.risk,
        tier=body.tier,
        summary=body.summary,
        reasons=body.reasons,
        sources=body.sources,
        choices=body.choices,
        covers=body.covers,
        workspace=body.workspace,
        expires=datetime.fromisoformat(body.expires).timestamp(),
        auto=True,
        verdict=verdict,
    )


def _unasked(action: Action, body: DecisionMade, verdict: Verdict) -> Question:
    """A question that is not on record, since nobody was there."""
    shown = Shown(tool=action.spec.name, show="")
    return Question(approval_id="", call_id=action.call_id, hash=body.hash, action=shown, risk=body.risk, tier=body.tier, expires=0.0, verdict=verdict)
