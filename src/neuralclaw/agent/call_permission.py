"""The right of a call to run: judged, a person asked where policy wants it, the uses of grants and the answers on record.

`agent.toolcalls` brings calls here one after the other, and runs those that may run.
"""

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from ..errors import AlreadyAnswered, GrantSpent, NeuralClawError
from ..types.actions import Action
from ..types.entries import HOME, Draft
from ..types.events import ApprovalResolved, GrantUsed
from ..types.grants import Grant, StandingGrant
from ..types.labels import AGENT
from ..types.options import ApprovalsMode
from ..types.questions import Answer, Question
from ..types.risk import Effect, Risk
from ..types.signals import Denied, Parked
from ..types.tools import Show, ToolContext, ToolResult, ToolSpec, unseen
from ..types.verdicts import Verdict
from . import call_hooks, call_questions, results
from .link_history import result_origin
from .results import CallEnd, Outcome
from .state import CallState
from .turn import Turn, TurnRecord


class AllowedCall(msgspec.Struct, frozen=True):
    """A call that may run. `by`: whose word lets it (`policy`, or the `by` of an answer)."""

    call: CallState
    action: Action
    grant: Grant
    by: str = "policy"

    @property
    def spec(self) -> ToolSpec:
        return self.action.spec

    @property
    def verdict(self) -> Verdict:
        assert self.grant.verdict is not None, "a call's grant carries its verdict"
        return self.grant.verdict

    @property
    def alone(self) -> bool:
        """Others wait for it: its risk is high, or somebody had to say yes."""
        return self.verdict.risk >= Risk.HIGH or self.by != "policy"


async def withdraw(turn: TurnRecord, ends: Sequence[ApprovalResolved]) -> None:
    """End questions that nobody need answer any more; one that somebody just answered stays answered."""
    for end in ends:
        with suppress(AlreadyAnswered):
            await turn.journal.append(end)


async def authorize_beside(turn: Turn, call: CallState, action: Action) -> AllowedCall | None:
    """The call, if it may run beside its neighbours: LOW or MEDIUM, and nobody to ask. Writes and asks nothing."""
    if call.started is not None:
        return None
    try:
        allowed = AllowedCall(call, action, await turn.equipment.gate.authorize(action, turn.record.state.answers_for(call)))
    except (Denied, Parked):
        return None
    answered = turn.record.state.answers_for(call).by_hash
    if allowed.alone or allowed.grant.hash in answered:  # a yes is told to hooks, and held to be a person's, where the call waits
        allowed.grant.close()
        return None
    return allowed


async def authorize(turn: Turn, call: CallState, action: Action) -> AllowedCall | CallEnd:
    """The right to run the call, a person asked where policy wants it; its end where it has none. Raises `Parked`, see `ask`."""
    by = "policy"
    if call.started is not None:
        repeat = await allow_repeat(turn, call, action)
        if isinstance(repeat, CallEnd):
            return repeat
        by = repeat
    standing: tuple[StandingGrant, ...] | None = None
    agreed: set[str] = set()
    while True:
        own = use_of(turn, call)
        answers = msgspec.structs.replace(turn.record.state.answers_for(call), standing=tuple(one.without(own.use) for one in standing or ()))
        try:
            grant = await turn.equipment.gate.authorize(action, answers)
            if not await spend(turn, own, grant, standing or ()):
                grant.close()
                standing = None
                continue
            said = answers.by_hash.get(grant.hash)
            if said is not None and (blocked := await call_hooks.after_approval(turn, call, action, grant.verdict, said)) is not None:
                grant.close()
                return blocked
            return AllowedCall(call, action, grant, said.by if said and by == "policy" else by)
        except Denied as denied:
            return results.forbidden(call, action.spec.name, denied.verdict)
        except Parked as parked:
            question = msgspec.structs.replace(parked.question, arguments=action.arguments)
        if question.hash in agreed:  # the yes is on record: asked once more, it would be asked for ever
            return results.asked_again(call, action.spec.name, question)
        if standing is None:
            standing = tuple(await turn.store.grants(turn.session, turn.record.options.workspace))
            if standing:
                continue
        if (blocked := await call_hooks.before_approval(turn, call, action, question)) is not None:
            return blocked
        answer = await ask(turn, call, question, turn.record.options.approvals)
        if call_questions.is_no(answer):
            await call_hooks.after_approval(turn, call, action, question.verdict, answer)
            return results.refused(call, action.spec.name, question, answer)
        agreed.add(question.hash)


def use_of(turn: Turn, call: CallState) -> GrantUsed:
    """The use that this run of the call makes of a grant."""
    attempt = 1 if call.started is None else call.started.attempt + 1
    return GrantUsed(grant_id="", session=turn.session, turn=turn.record.state.number, call_id=call.call.id, attempt=attempt)


async def spend(turn: Turn, own: GrantUsed, grant: Grant, standing: Sequence[StandingGrant]) -> bool:
    """Record the use of each counted grant that lets the call run, before it begins; False where one has no use left by now. A use that is on record was
    made before the program stopped: it is the same one."""
    named = grant.verdict.rule_ids if grant.verdict is not None else ()
    for one in standing:
        if one.uses is None or f"grant.{one.grant_id}" not in named or own.use in one.used:
            continue
        try:
            await turn.store.append(HOME, [Draft(0, msgspec.structs.replace(own, grant_id=one.grant_id), AGENT)])
        except GrantSpent:
            return False
    return True


async def allow_repeat(turn: Turn, call: CallState, action: Action) -> str | CallEnd:
    """Whose word lets a call run again that began in an earlier run and has no result (`policy`, or a person's), else its end. Raises `Parked`.

    What ran then may have been declared otherwise than the tool is now: the stricter effect counts.
    """
    assert call.started is not None, "only a call that began runs again"
    effect = max(action.spec.effect, call.started.effect)
    if effect <= Effect.IDEMPOTENT:
        return "policy"
    if effect is Effect.RECONCILABLE:
        happened = await probe(turn, call, action)
        if isinstance(happened, Outcome):
            return await call_hooks.after_tool(turn, call, end_of(turn, happened))
        if happened is False:
            return "policy"
    mode = turn.record.options.approvals
    question = call_questions.repeat_question(call, action, turn.clock.now())
    if (blocked := await call_hooks.before_approval(turn, call, action, question)) is not None:
        return blocked
    answer = await ask(turn, call, question, "none" if mode == "auto" else mode)
    blocked = await call_hooks.after_approval(turn, call, action, question.verdict, answer)
    return results.left(call, answer) if call_questions.is_no(answer) else blocked or answer.by


async def probe(turn: Turn, call: CallState, action: Action) -> Outcome | bool | None:
    """What the tool can tell about a call that began: its outcome, False if it did not happen, None if that is unknown."""
    try:
        grant = await turn.equipment.gate.authorize(action, turn.record.state.answers_for(call))
    except (Denied, Parked):
        return None
    before = call.started.before if call.started else {}
    try:
        found = await turn.equipment.tools.probe(grant, context(turn, call, before))
        return Outcome(call, action, found, labels=grant.labels) if isinstance(found, ToolResult) else found
    except NeuralClawError:
        return None
    finally:
        grant.close()


async def ask(turn: Turn, call: CallState, question: Question, mode: ApprovalsMode) -> Answer:
    """The answer that is on record, the mode's own, or a person's, for whom the turn's time stands still.

    Raises `Parked` when a person must answer and nobody is there now: the question is then on record and waits.
    """
    await withdraw(turn.record, call_questions.superseded(call, question, turn.record.state.answers))
    settled = call_questions.settle(question, call.questions, turn.record.state.answers, mode)
    if settled.entries:
        try:
            await turn.record.journal.append(*settled.entries)
        except AlreadyAnswered:
            await turn.record.journal.sync()
            return call_questions.answer_of(turn.record.state.answers[settled.question.approval_id])
    if settled.answer is not None:
        return settled.answer
    with turn.record.time.paused():
        answer = await turn.asker.ask(turn.session, settled.question, mode)
    await turn.record.journal.sync()
    return answer


def end_of(turn: Turn, outcome: Outcome) -> CallEnd:
    """The end of a call that ran in this turn."""
    equipment = turn.equipment
    frame = results.ResultFrame(equipment.redaction, turn.record.options.limits.result_chars, equipment.tools.find("read_result"))
    links, private = result_origin(outcome.action, outcome.result, outcome.labels, turn.record.journal.conversation.links)
    return results.finished(msgspec.structs.replace(outcome, links=links, private=private), frame)


def context(turn: Turn, call: CallState, before: dict[str, str | None], show: Show = unseen) -> ToolContext:
    """What a tool is told of its call."""
    return ToolContext(
        session=turn.session, turn=turn.record.state.number, call_id=call.call.id, workspace=turn.record.options.workspace, before=before, show=show
    )
