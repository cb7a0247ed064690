"""The calls of one reply: prepared, judged, begun, run, recorded. Every call ends with exactly one result.

The way of a call goes in one direction, and each step gives either what the next one takes or the call's end (`CallEnd`):

    prepare -> Action -> authorize (ask) -> AllowedCall -> begin -> run_tool -> Outcome -> record

Neighbouring LOW and MEDIUM calls run together unless one writes what the other touches; a HIGH or CRITICAL call, and one that a
person was asked about, waits for those before it and holds those after it. Only this module writes entries about calls;
`call_questions` and `results` make them.
"""

from collections.abc import Sequence
from contextlib import suppress

import anyio
import msgspec

from ..errors import AlreadyAnswered, GrantSpent, NeuralClawError, StoreError, ToolValidationError
from ..types.actions import Action
from ..types.entries import HOME, Draft
from ..types.events import ApprovalResolved, DecisionMade, GrantUsed, ToolOutput, ToolStarted
from ..types.grants import Grant, StandingGrant
from ..types.labels import AGENT, join
from ..types.logcontext import about
from ..types.options import ApprovalsMode
from ..types.questions import Answer, Question
from ..types.redaction_marks import redaction_mark
from ..types.risk import Decision, Effect, Power, Risk
from ..types.signals import Denied, Parked, Retry
from ..types.tools import Show, ToolContext, ToolResult, ToolSpec, unseen
from ..types.verdicts import Verdict
from . import call_questions, circuit_breakers, results
from .call_conflicts import conflict
from .context import read_texts
from .live_output import LiveOutput
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


async def run_calls(turn: Turn) -> None:
    """Bring every open call of the last reply to its result.

    Raises `Parked` when a person must answer and nobody is there now: the question is then on record, the call and those behind it stay open.
    """
    state, breakers = turn.record.state, turn.record.options.limits
    if state.messages[-1].stop == "length":
        await stop_calls(turn.record, "the reply was cut off before its end")
        return
    group: list[AllowedCall] = []
    for call in tuple(state.open):
        if circuit_breakers.repeats(state, call, breakers):
            await run_group(turn, group)
            await stop_calls(turn.record, "the same call with the same arguments came again")
            await turn.record.journal.append(circuit_breakers.repeated(state, call, breakers))
            return
        await admit(turn, call, group)
        if circuit_breakers.too_many_errors(state, breakers):
            break
    await run_group(turn, group)
    await stop_calls(turn.record, "too many errors before it")


async def stop_calls(turn: TurnRecord, why: str) -> None:
    """End every open call without running it, and first the questions about them; whoever just answered one was faster, and it changes nothing."""
    calls = tuple(turn.state.open)
    if not calls:
        return
    await withdraw(turn, call_questions.withdrawn(calls, turn.state.answers))
    await record(turn, results.not_run(calls, why))


async def withdraw(turn: TurnRecord, ends: Sequence[ApprovalResolved]) -> None:
    """End questions that nobody need answer any more; one that somebody just answered stays answered."""
    for end in ends:
        with suppress(AlreadyAnswered):
            await turn.journal.append(end)


async def end_unrun(turn: TurnRecord, call: CallState, end: CallEnd) -> None:
    """End a call without running it, and first what is asked about it."""
    await withdraw(turn, call_questions.withdrawn((call,), turn.state.answers))
    await record(turn, end)


async def record(turn: TurnRecord, end: CallEnd) -> None:
    """Write how a call ended."""
    await turn.journal.append(*end.entries, labels=join(turn.journal.labels, end.labels), rows=end.rows, blobs=end.blobs)


async def admit(turn: Turn, call: CallState, group: list[AllowedCall]) -> None:
    """Take the call into the group of those that run together, or run the group first where the call must wait for it.

    A call that waited is judged again: what ran before it may have changed what it touches.
    """
    action = prepare(turn, call)
    if isinstance(action, CallEnd):
        await end_unrun(turn.record, call, action)
        return
    if group:
        beside = await authorize_beside(turn, call, action)
        if beside is not None and not any(conflict(action, beside.grant, other.action, other.grant) for other in group):
            group.append(beside)
            return
        if beside is not None:
            beside.grant.close()
        await run_group(turn, group)
    allowed = await authorize(turn, call, action)
    if isinstance(allowed, CallEnd):
        await end_unrun(turn.record, call, allowed)
        return
    group.append(allowed)
    if allowed.alone:
        await run_group(turn, group)


def prepare(turn: Turn, call: CallState) -> Action | CallEnd:
    """The action the call stands for; its end where something is wrong with the call."""
    tools, options = turn.equipment.tools, turn.record.options
    spec = tools.find(call.call.name)
    if spec is None:
        return results.unknown(call, [definition.name for definition in turn.equipment.definitions])
    if call.call.error is not None:
        return results.failed(call, call.call.error)
    try:
        arguments = tools.prepare(spec.name, call.call.arguments)
    except ToolValidationError as error:
        return results.failed(call, results.error_text(error))
    mark = redaction_mark(arguments) if spec.effect is not Effect.PURE or Power.NETWORK in spec.powers else ""
    if mark:
        return results.failed(call, results.HOLDS_A_MARK.format(mark))
    conversation = turn.record.journal.conversation
    private, pages = read_texts(conversation, turn.equipment.tools, spec)
    return Action(
        session=turn.session,
        turn=turn.record.state.number,
        call_id=call.call.id,
        spec=spec,
        arguments=arguments,
        workspace=options.workspace,
        trust=options.trust,
        origin=options.origin,
        soul=options.soul,
        labels=turn.record.journal.labels,
        said=conversation.said() if options.origin.who != "agent" else (),
        private_results=private,
        page_texts=pages,
        read_values=conversation.read_values,
    )


async def authorize_beside(turn: Turn, call: CallState, action: Action) -> AllowedCall | None:
    """The call, if it may run beside its neighbours: LOW or MEDIUM, and nobody to ask. Writes and asks nothing."""
    if call.started is not None:
        return None
    try:
        allowed = AllowedCall(call, action, await turn.equipment.gate.authorize(action, turn.record.state.answers_for(call)))
    except (Denied, Parked):
        return None
    if allowed.alone:
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
        answer = await ask(turn, call, question, turn.record.options.approvals)
        if call_questions.is_no(answer):
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
        if isinstance(happened, ToolResult):
            return end_of(turn, Outcome(call, action.spec, happened))
        if happened is False:
            return "policy"
    mode = turn.record.options.approvals
    answer = await ask(turn, call, call_questions.repeat_question(call, action, turn.clock.now()), "none" if mode == "auto" else mode)
    return results.left(call, answer) if call_questions.is_no(answer) else answer.by


async def probe(turn: Turn, call: CallState, action: Action) -> ToolResult | bool | None:
    """What the tool can tell about a call that began: its result, False if it did not happen, None if that is unknown."""
    try:
        grant = await turn.equipment.gate.authorize(action, turn.record.state.answers_for(call))
    except (Denied, Parked):
        return None
    before = call.started.before if call.started else {}
    try:
        return await turn.equipment.tools.probe(grant, context(turn, call, before))
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


async def run_group(turn: Turn, group: list[AllowedCall]) -> None:
    """Record that the group's calls begin, run them together, record each result as it comes. Leaves the group empty.

    The beginning of a call, each run of it anew, and the decision that allows it are one transaction, on the disk before any effect that is not `pure`.
    """
    if not group:
        return
    await turn.record.journal.append(*(entry for allowed in group for entry in begin(allowed)))
    if any(allowed.spec.effect is not Effect.PURE for allowed in group):
        await turn.record.journal.barrier()
    if len(group) == 1:
        await run_one(turn, group[0])
    else:
        await run_together(turn, group)
    group.clear()


def begin(allowed: AllowedCall) -> tuple[DecisionMade, ToolStarted]:
    """The entries of a call that begins."""
    verdict, name, call_id = allowed.verdict, allowed.spec.name, allowed.call.call.id
    decision = DecisionMade(
        call_id=call_id,
        name=name,
        decision=Decision.ALLOW,
        risk=verdict.risk,
        tier=verdict.tier,
        reasons=tuple(r.reason for r in verdict.rules),
        hash=allowed.grant.hash,
        by=allowed.by,
        rules=verdict.rule_ids,
        policy=verdict.policy,
    )
    started = ToolStarted(
        call_id=call_id,
        name=name,
        arguments=allowed.grant.arguments,
        risk=verdict.risk,
        tier=verdict.tier,
        effect=allowed.spec.effect,
        before=allowed.grant.envelope.digests,
        attempt=1 if allowed.call.started is None else allowed.call.started.attempt + 1,
    )
    return decision, started


async def run_together(turn: Turn, group: list[AllowedCall]) -> None:
    """Run the calls at once; a failure of the store or a tool that parks is raised when all have ended."""
    failures: list[StoreError | Parked] = []

    async def one(allowed: AllowedCall) -> None:
        try:
            await run_one(turn, allowed)
        except (StoreError, Parked) as failure:
            failures.append(failure)

    async with anyio.create_task_group() as tasks:
        for allowed in group:
            tasks.start_soon(one, allowed)
    if failures:
        raise failures[0]


async def run_one(turn: Turn, allowed: AllowedCall) -> None:
    """Run one call that has begun, and record its result."""
    await record(turn.record, end_of(turn, await run_tool(turn, allowed)))


async def run_tool(turn: Turn, allowed: AllowedCall) -> Outcome:
    """What the tool gave back, its failure too; the grant is used up. Raises `Parked`."""
    begun = turn.clock.monotonic()
    call_id = allowed.call.call.id
    live = LiveOutput(turn.equipment.redaction, lambda text: turn.show(ToolOutput(call_id=call_id, text=text)))
    try:
        with about(call_id=call_id):
            result = await turn.equipment.tools.call(allowed.grant, context(turn, allowed.call, {}, live.take))
    except Retry as retry:
        result = ToolResult(ok=False, error=retry.text)
    except NeuralClawError as error:
        metadata = getattr(error, "metadata", {})
        result = ToolResult(ok=False, error=results.error_text(error), metadata={**metadata, "kind": error.kind})
    finally:
        allowed.grant.close()
        live.end()
    return Outcome(allowed.call, allowed.spec, result, round((turn.clock.monotonic() - begun) * 1000), allowed.grant.labels)


def end_of(turn: Turn, outcome: Outcome) -> CallEnd:
    """The end of a call that ran in this turn."""
    equipment = turn.equipment
    frame = results.ResultFrame(equipment.redaction, turn.record.options.limits.result_chars, equipment.tools.find("read_result"))
    return results.finished(outcome, frame)


def context(turn: Turn, call: CallState, before: dict[str, str | None], show: Show = unseen) -> ToolContext:
    """What a tool is told of its call."""
    return ToolContext(
        session=turn.session, turn=turn.record.state.number, call_id=call.call.id, workspace=turn.record.options.workspace, before=before, show=show
    )
