"""The gate: the only maker of grants. It writes and asks nothing."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from ..ports import Clock, Facts
from ..types.actions import Action, action_hash, earlier_hash
from ..types.facts import FactSheet
from ..types.grants import Envelope, Grant, StandingGrant
from ..types.ids import new_id
from ..types.options import Policy
from ..types.questions import Answers
from ..types.risk import Decision, Risk, Tier
from ..types.signals import Denied, Parked
from ..types.tools import ToolSpec
from ..types.verdicts import RuleMatch, Verdict
from . import question_wording, scopes
from .analysis import Analysis, analyse
from .bounds import QUICK_TEXT, AnalysisBounds, Exceeded
from .call_sentences import sentence
from .command_line import CommandLine
from .question_wording import JudgedAction
from .rules import decide

log = logging.getLogger(__name__)

DAY = 86_400.0
Beside = Callable[[Callable[[Callable[[], float] | None], Any]], Awaitable[Any]]
"""Runs work where it holds up nobody and gives it a clock, in seconds, that counts its time."""


class PolicyGate:
    """Judges every call under one policy. `shell` is `safety.shell.analyse`, handed in so that a start without commands does not load it;
    `beside` runs what takes longer than an ordinary command, off the event loop, and gives it a clock of seconds; without one such work is done at once
    and only its steps are counted. `make_id` gives approval ids.
    """

    def __init__(
        self,
        policy: Policy,
        facts: Facts,
        clock: Clock,
        shell: Callable[..., CommandLine],
        *,
        beside: Beside | None = None,
        make_id: Callable[[], str] = new_id,
    ) -> None:
        self._policy, self._facts, self._clock, self._shell, self._make_id = policy, facts, clock, shell, make_id
        self._beside = beside or here

    async def authorize(self, action: Action, answers: Answers) -> Grant:
        """A grant for exactly this call. Raises `Denied(verdict)`, or `Parked(question)` when a person must answer and has not yet."""
        judged = await self._guarded(action)
        verdict, envelope = judged.verdict, judged.envelope
        if verdict.decision is Decision.FORBID:
            raise Denied(verdict)
        hash = action_hash(action, envelope)
        earlier = earlier_hash(action, envelope)
        if earlier in answers.by_hash and hash not in answers.by_hash:
            hash = earlier  # a yes that was given before an upgrade is one to the same call
        if verdict.decision is Decision.ASK:
            verdict = self._answered(action, answers, judged, hash)
        return Grant(
            session=action.session,
            call_id=action.call_id,
            tool=action.spec.name,
            arguments=action.arguments,
            workspace=action.workspace,
            hash=hash,
            envelope=envelope,
            verdict=verdict,
        )

    async def judge(self, action: Action, standing: Sequence[StandingGrant] = ()) -> Verdict:
        """The verdict under these standing grants, without a grant for the call: what `policy explain` and `--dry-run` show."""
        judged = await self._guarded(action)
        if judged.verdict.decision is not Decision.ASK:
            return judged.verdict
        found = scopes.used(judged.parts, standing)
        return allowed(judged.verdict, found) if found else judged.verdict

    def standing_grant(self, hosts: Sequence[str] = (), read: Sequence[str] = (), write: Sequence[str] = ()) -> Grant:
        """A grant for what the owner configured, to be made at start. No tool call can use it: it has no call and no tool."""
        envelope = Envelope(read=tuple(read), write=tuple(write), hosts=tuple(hosts), network=bool(hosts))
        return Grant(session="", call_id="", tool="", arguments={}, workspace="", hash="", envelope=envelope)

    async def _guarded(self, action: Action) -> JudgedAction:
        """The top-level guard of the kernel: whatever fails while judging means no."""
        try:
            return await self._judge(action)
        except Exceeded as exceeded:
            return JudgedAction(failed(f"what the call does cannot be worked out: {exceeded.reason}", rule="shell.bounds"))
        except Exception as error:
            log.warning("the gate could not judge a call: %s: %s", type(error).__name__, error)
            verdict = failed(f"the safety check itself failed ({type(error).__name__}: {error}), so the call is refused")
            return JudgedAction(verdict)

    async def _judge(self, action: Action) -> JudgedAction:
        if not isinstance(action.spec, ToolSpec):
            return JudgedAction(failed("the tool is not known, so the call is refused", rule="tool.unknown"))
        analysis = self._quick(action)
        if analysis is not None:
            sheet = await self._look(action, analysis)
            return _judged(action, self._policy, analysis, sheet)
        analysis = await self._beside(lambda clock: analyse(action, self._policy, self._shell, AnalysisBounds(clock)))
        long, sheet = analysis, await self._look(action, analysis)
        judged: JudgedAction = await self._beside(lambda _: _judged(action, self._policy, long, sheet))
        return judged

    def _quick(self, action: Action) -> Analysis | None:
        """The analysis of an ordinary call, in about the time that a change to another thread takes; None when it needs longer."""
        if any(len(str(action.arguments.get(t.argument, ""))) > QUICK_TEXT for t in action.spec.touches if t.kind == "command"):
            return None
        analysis = analyse(action, self._policy, self._shell, AnalysisBounds.quick(self._clock.monotonic))
        return None if analysis.line is not None and analysis.line.exceeded else analysis

    async def _look(self, action: Action, analysis: Analysis) -> FactSheet:
        return FactSheet() if analysis.wants is None else await self._facts.look(action, analysis.wants)

    def _answered(self, action: Action, answers: Answers, judged: JudgedAction, hash: str) -> Verdict:
        """The verdict to run under when a person said yes to this very call or to all its parts; raises `Denied` after a no, `Parked` without an answer."""
        verdict = judged.verdict
        answer = answers.by_hash.get(hash)
        if answer is not None and answer.decision in ("once", "session", "always"):
            return verdict
        if answer is not None:
            said = answer.by if answer.by in ("withdrawn", "expired", "cancelled") else "a no"
            raise Denied(refused(verdict, f"the question about it was answered with {said}" if said == "a no" else f"the question about it was {said}"))
        if found := scopes.used(judged.parts, answers.standing):
            return allowed(verdict, found)
        expires = self._clock.now() + self._policy.expire_days * DAY
        raise Parked(question_wording.build(action, judged, hash=hash, expires=expires, make_id=self._make_id))


async def here(work: Callable[[Callable[[], float] | None], Any]) -> Any:
    """Work that is done at once, without a clock."""
    return work(None)


def _judged(action: Action, policy: Policy, analysis: Analysis, sheet: FactSheet) -> JudgedAction:
    findings = decide(action, policy, analysis, sheet)
    verdict, envelope = findings.verdict(), findings.envelope()
    if verdict.decision is not Decision.ASK:
        return JudgedAction(verdict, envelope, analysis, sheet)
    parts = scopes.parts_of(action, policy, analysis, verdict, sheet)
    return JudgedAction(verdict, envelope, analysis, sheet, sentence(action, analysis, verdict, sheet), parts)


def failed(reason: str, *, rule: str = "gate.error") -> Verdict:
    """The verdict on what could not be judged."""
    return Verdict(decision=Decision.FORBID, risk=Risk.CRITICAL, tier=Tier.SYSTEM_CRITICAL, rules=(RuleMatch(rule, Decision.FORBID, reason),), understood=False)


def refused(verdict: Verdict, reason: str) -> Verdict:
    """The same verdict after a person's no: what asked is forbidden now."""
    no = RuleMatch("approval.no", Decision.FORBID, reason)
    return msgspec.structs.replace(verdict, decision=Decision.FORBID, rules=(no, *verdict.rules), auto=False)


def allowed(verdict: Verdict, grants: Sequence[StandingGrant]) -> Verdict:
    """The same verdict under standing grants that cover the whole call: they answer what asked, and are named in its place."""
    said = tuple(RuleMatch(f"grant.{g.grant_id}", Decision.ALLOW, f"grant {g.grant_id} covers it: {g.covers}") for g in grants)
    rules = (*said, *(rule for rule in verdict.rules if rule.decision is not Decision.ASK))
    return msgspec.structs.replace(verdict, decision=Decision.ALLOW, rules=rules, auto=False)
