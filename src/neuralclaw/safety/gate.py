"""The gate: the only maker of grants. It writes and asks nothing."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from ..errors import PermissionDeniedError
from ..ports import Clock, Facts
from ..types.actions import Action, action_hash, earlier_hash
from ..types.entries import blob_digest
from ..types.facts import FactSheet, Wants
from ..types.grants import Envelope, Grant, StandingGrant
from ..types.ids import new_id
from ..types.options import Policy, encoded_policy
from ..types.questions import Answers
from ..types.risk import Decision, Risk, Tier
from ..types.signals import Denied, Parked
from ..types.tools import ToolSpec
from ..types.urls import parse
from ..types.verdicts import RuleMatch, Verdict
from . import flow_private, flow_reads, host_rules, place_grants, question_wording, scopes
from .analysis import Analysis, UnfitArgument, analyse
from .bounds import QUICK_TEXT, AnalysisBounds, Exceeded
from .call_sentences import sentence
from .command_line import CommandLine
from .home_paths import with_homes
from .outbound_places import OutboundPlaces
from .paths import under
from .question_wording import JudgedAction
from .rules import decide

log = logging.getLogger(__name__)

DAY = 86_400.0
NO_ADDRESSES: Mapping[str, tuple[str, ...]] = {}
Beside = Callable[[Callable[[Callable[[], float] | None], Any]], Awaitable[Any]]
"""Runs work where it holds up nobody and gives it a clock, in seconds, that counts its time."""


class FetchChain(msgspec.Struct, frozen=True):
    """What holds for a call and for where its answers lead: standing grants, the hosts that were looked up, each once, and the grant before."""

    standing: Sequence[StandingGrant] = ()
    addresses: Mapping[str, tuple[str, ...]] = NO_ADDRESSES
    within: Grant | None = None


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
        action = with_homes(action, self._policy)
        judged = await self._guarded(action)
        if judged.verdict.decision is Decision.ASK and (answers.by_hash or not self._standing(action, judged, answers.standing)):
            judged = await self._held_to_files(action, judged)
        verdict = judged.verdict
        if verdict.decision is Decision.FORBID:
            raise Denied(verdict)
        envelope = host_rules.as_asked(judged.envelope)
        hash = action_hash(action, envelope)
        earlier = earlier_hash(action, envelope)
        if earlier in answers.by_hash and hash not in answers.by_hash:
            hash = earlier  # a yes that was given before an upgrade is one to the same call
        if verdict.decision is Decision.ASK:
            verdict = self._answered(action, answers, judged, hash)
            judged = await self._looked_up(action, judged)
            if judged.verdict.decision is Decision.FORBID:
                raise Denied(judged.verdict)
        return self._grant(action, judged, verdict, hash, FetchChain(answers.standing))

    def _grant(self, action: Action, judged: JudgedAction, verdict: Verdict, hash: str, chain: FetchChain) -> Grant:
        chain = msgspec.structs.replace(chain, addresses={**chain.addresses, **judged.envelope.addresses})
        return Grant(
            session=action.session,
            call_id=action.call_id,
            tool=action.spec.name,
            arguments=action.arguments,
            workspace=action.workspace,
            hash=hash,
            envelope=judged.envelope,
            verdict=verdict,
            judge=lambda before, url: self._follow(action, before, url, chain),
            judge_place=self._places(action, judged) if judged.envelope.network else None,
            within=chain.within,
            lookup_seconds=judged.sheet.lookup_seconds,
            labels=flow_reads.labels_of_result(judged.analysis, judged.sheet, judged.envelope),
        )

    def _places(self, action: Action, judged: JudgedAction) -> Callable[[str, int], Awaitable[tuple[str, ...]]]:
        return OutboundPlaces(self._facts.look, action, self._policy, judged.envelope.hosts, judged.analysis.line).judge

    async def _follow(self, action: Action, before: Grant, url: str, chain: FetchChain) -> Grant:
        """What `Grant.follow` gives: the same call at the address to which the answer under `before` leads."""
        fetched = next((touch for touch in action.spec.touches if touch.kind == "url"), None)
        if fetched is None:
            raise PermissionDeniedError(f"{action.spec.name} fetches nothing, so nothing is followed")
        moved = flow_private.led_to(action, str(before.arguments.get(fetched.argument)), url)
        moved = msgspec.structs.replace(moved, arguments=led_to(action, before, url, fetched.argument))
        judged = await self._guarded(moved, chain.addresses)
        verdict = judged.verdict
        if verdict.decision is Decision.ASK and (found := scopes.used(judged.parts, chain.standing)):
            judged = await self._looked_up(moved, judged)
            verdict = allowed(judged.verdict, found) if judged.verdict.decision is Decision.ASK else judged.verdict
        approved = host_rules.asked_before(verdict, before.verdict) and all(url.host in chain.addresses for url in judged.analysis.urls)
        if verdict.decision is not Decision.ALLOW and not approved:
            hint = "a call of its own for that address can be asked about" if verdict.decision is Decision.ASK else ""
            raise PermissionDeniedError("; ".join(verdict.reasons), hint=hint)
        if host_rules.is_released(verdict) and not (before.verdict and host_rules.is_released(before.verdict)):
            raise PermissionDeniedError(f"an answer from outside redirects inside: {verdict.reasons[0]}", hint="a call of its own for that address is allowed")
        hash = action_hash(moved, host_rules.as_asked(judged.envelope))
        return self._grant(moved, judged, verdict, hash, msgspec.structs.replace(chain, within=before))

    async def judge(self, action: Action, standing: Sequence[StandingGrant] = ()) -> Verdict:
        """The verdict under these standing grants, without a grant for the call: what `policy explain` and `--dry-run` show."""
        action = with_homes(action, self._policy)
        judged = await self._guarded(action)
        if judged.verdict.decision is not Decision.ASK:
            return judged.verdict
        found = self._standing(action, judged, standing)
        return allowed(judged.verdict, found) if found else judged.verdict

    def _standing(self, action: Action, judged: JudgedAction, standing: Sequence[StandingGrant]) -> tuple[StandingGrant, ...]:
        """The standing grants that cover the whole call now: those for its parts, else those for its places."""
        now = self._clock.now()
        held = [grant for grant in standing if grant.holds(now)]
        parts = scopes.used(judged.parts, held)
        return parts or place_grants.covering(action, self._policy, judged.analysis, judged.verdict, judged.sheet, held)

    def standing_grant(self, hosts: Sequence[str] = (), read: Sequence[str] = (), write: Sequence[str] = ()) -> Grant:
        """A grant for what the owner configured, to be made at start. No tool call can use it: it has no call and no tool."""
        envelope = Envelope(read=tuple(read), write=tuple(write), hosts=tuple(hosts), network=bool(hosts))
        return Grant(session="", call_id="", tool="", arguments={}, workspace="", hash="", envelope=envelope)

    async def _held_to_files(self, action: Action, judged: JudgedAction) -> JudgedAction:
        """The same action, held to every file of code in its directories where its words do not tell which of them it runs."""
        line = judged.analysis.line
        if line is None or line.only_reads or not line.loads_files:
            return judged
        places = {action.workspace, *(root for root in self._policy.allowed_paths for c in line.commands if c.cwd and under(c.cwd, root))}
        return await self._guarded(action, asked=judged, more=Wants(trees=tuple(sorted(places))))

    async def _looked_up(self, action: Action, judged: JudgedAction) -> JudgedAction:
        """The same action with the network addresses of its hosts, which were not looked up as long as it asked."""
        return await self._guarded(action, asked=judged, more=Wants(hosts=judged.sheet.unasked_hosts)) if judged.sheet.unasked_hosts else judged

    async def _guarded(
        self, action: Action, known: Mapping[str, tuple[str, ...]] = NO_ADDRESSES, asked: JudgedAction | None = None, more: Wants | None = None
    ) -> JudgedAction:
        """The top-level guard of the kernel: whatever fails while judging means no. `known`: hosts that were looked up before; `asked`: the same action as
        it was judged without the facts `more`, which are looked up now."""
        try:
            judged = await (self._judge(action, known) if asked is None or more is None else self._with_more(action, asked, more))
        except Exceeded as exceeded:
            judged = JudgedAction(failed(f"what the call does cannot be worked out: {exceeded.reason}", rule="shell.bounds"))
        except UnfitArgument as unfit:
            judged = JudgedAction(failed(str(unfit), rule="argument.unfit"))
        except Exception as error:
            log.warning("the gate could not judge a call: %s: %s", type(error).__name__, error)
            judged = JudgedAction(failed(f"the safety check itself failed ({type(error).__name__}: {error}), so the call is refused"))
        return msgspec.structs.replace(judged, verdict=msgspec.structs.replace(judged.verdict, policy=self.policy_digest))

    @cached_property
    def policy_digest(self) -> str:
        """SHA-256 (hex) of the policy."""
        return blob_digest(encoded_policy(self._policy))

    async def _judge(self, action: Action, known: Mapping[str, tuple[str, ...]]) -> JudgedAction:
        if not isinstance(action.spec, ToolSpec):
            return JudgedAction(failed("the tool is not known, so the call is refused", rule="tool.unknown"))
        analysis = self._quick(action)
        if analysis is not None:
            judged = _judged(action, self._policy, analysis, await self._look(action, analysis, known))
        else:
            long = await self._beside(lambda clock: analyse(action, self._policy, self._shell, AnalysisBounds(clock)))
            sheet = await self._look(action, long, known)
            judged = await self._beside(lambda _: _judged(action, self._policy, long, sheet))
        if not judged.sheet.unasked_hosts or _holds_back(action, judged.verdict):
            return judged
        return await self._with_more(action, judged, Wants(hosts=judged.sheet.unasked_hosts))

    async def _with_more(self, action: Action, judged: JudgedAction, more: Wants) -> JudgedAction:
        """The action judged again, with what its hosts lead to, or with the files that it may run."""
        found = await self._facts.look(action, more)
        sheet = msgspec.structs.replace(judged.sheet, code={**judged.sheet.code, **found.code})
        if more.hosts:
            addresses = {**sheet.addresses, **found.addresses}
            sheet = msgspec.structs.replace(sheet, addresses=addresses, nat64=found.nat64, lookup_seconds=found.lookup_seconds, unasked_hosts=())
        again: JudgedAction = await self._beside(lambda _: _judged(action, self._policy, judged.analysis, sheet))
        return again

    def _quick(self, action: Action) -> Analysis | None:
        """The analysis of an ordinary call, in about the time that a change to another thread takes; None when it needs longer."""
        if any(len(str(action.arguments.get(t.argument, ""))) > QUICK_TEXT for t in action.spec.touches if t.kind == "command"):
            return None
        analysis = analyse(action, self._policy, self._shell, AnalysisBounds.quick(self._clock.monotonic))
        return None if analysis.line is not None and analysis.line.exceeded else analysis

    async def _look(self, action: Action, analysis: Analysis, known: Mapping[str, tuple[str, ...]]) -> FactSheet:
        """All facts but the network addresses of hosts: to look up a name tells it to the name's own server."""
        wants = analysis.wants
        if wants is None:
            return FactSheet()
        sheet = await self._facts.look(action, msgspec.structs.replace(wants, hosts=()))
        unasked = tuple(host for host in wants.hosts if host not in known)
        return msgspec.structs.replace(sheet, addresses={**known, **sheet.addresses}, unasked_hosts=unasked) if wants.hosts else sheet

    def _answered(self, action: Action, answers: Answers, judged: JudgedAction, hash: str) -> Verdict:
        """The verdict to run under when a person said yes to this very call or to all its parts; raises `Denied` after a no, `Parked` without an answer."""
        verdict = judged.verdict
        answer = answers.by_hash.get(hash)
        if answer is not None and answer.decision in ("once", "session", "always"):
            return verdict
        if answer is not None:
            said = answer.by if answer.by in ("withdrawn", "expired", "cancelled") else "a no"
            raise Denied(refused(verdict, f"the question about it was answered with {said}" if said == "a no" else f"the question about it was {said}"))
        if found := self._standing(action, judged, answers.standing):
            return allowed(verdict, found)
        expires = self._clock.now() + self._policy.expire_days * DAY
        raise Parked(question_wording.build(action, judged, hash=hash, expires=expires, make_id=self._make_id))


def led_to(action: Action, before: Grant, url: str, name: str) -> dict[str, Any]:
    """The arguments of the call at the address to which an answer leads: secrets go to the origin alone that the person was asked about."""
    arguments = {**before.arguments, name: url}
    old, new = parse(str(before.arguments.get(name))), parse(url)
    if new.problem is not None or (old.scheme, old.place) != (new.scheme, new.place):
        arguments |= {touch.argument: None for touch in action.spec.touches if touch.kind == "secrets"}
    return arguments


async def here(work: Callable[[Callable[[], float] | None], Any]) -> Any:
    """Work that is done at once, without a clock."""
    return work(None)


def _holds_back(action: Action, verdict: Verdict) -> bool:
    """Whether the hosts of the call are not looked up before a person says yes: a name can carry what its writer has read, as the rest of an address can."""
    if verdict.decision is not Decision.ASK:
        return verdict.decision is Decision.FORBID
    return flow_private.can_carry(action) or any(rule.id.startswith("flow.") for rule in verdict.rules)


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
