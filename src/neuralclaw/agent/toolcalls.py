"""The calls of one reply: prepared, judged, begun, run, recorded. Every call ends with exactly one result.

The way of a call goes in one direction, and each step gives either what the next one takes or the call's end (`CallEnd`):

    prepare -> Action -> authorize (ask) -> AllowedCall -> begin -> run_tool -> Outcome -> record

Neighbouring LOW and MEDIUM calls run together unless one writes what the other touches; a HIGH or CRITICAL call, and one that a
person was asked about, waits for those before it and holds those after it. Only this module, `call_permission` and `call_hooks` write entries about calls;
`call_questions` and `results` make them.
"""

import anyio

from ..errors import NeuralClawError, StoreError, ToolValidationError
from ..types.actions import Action
from ..types.events import DecisionMade, ToolOutput, ToolStarted
from ..types.labels import AGENT, join
from ..types.logcontext import about
from ..types.redaction_marks import redaction_mark
from ..types.risk import Decision, Effect, Power
from ..types.signals import Parked, Retry
from ..types.tools import ToolResult
from . import call_hooks, call_questions, circuit_breakers, results
from .call_conflicts import conflict
from .call_permission import AllowedCall, authorize, authorize_beside, context, end_of, withdraw
from .live_output import LiveOutput
from .results import CallEnd, Outcome
from .state import CallState
from .turn import Turn, TurnRecord


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
    if group and call_hooks.concern(turn, action):
        await run_group(turn, group)  # a hook sees what those before it have done
    if (blocked := await call_hooks.before_tool(turn, call, action)) is not None:
        await end_unrun(turn.record, call, blocked)
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
        private_results=conversation.links.private_texts,
        private_links=conversation.links.private_links,
        private_read=conversation.links.private_read or options.origin.who == "agent",
        known_links=conversation.links.known,
        read_values=conversation.read_values,
    )


async def run_group(turn: Turn, group: list[AllowedCall]) -> None:
    """Record that the group's calls begin, run them together, record each result as it comes. Leaves the group empty.

    The beginning of a call, each run of it anew, and the decision that allows it are one transaction, on the disk before any effect that is not `pure`.
    """
    if not group:
        return
    read = join(*(allowed.grant.labels for allowed in group if not allowed.spec.gives_values))  # what is killed may have written what it read
    await turn.record.journal.append(*(entry for allowed in group for entry in begin(allowed)), labels=join(turn.record.journal.labels, AGENT, read))
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
    end = end_of(turn, await run_tool(turn, allowed))
    try:
        held = await call_hooks.after_tool(turn, allowed.call, end)
    except anyio.get_cancelled_exc_class():
        unseen = f"{allowed.spec.name} ran; the turn was stopped before its hooks had read the result, which is kept back"
        await record(turn.record, call_hooks.kept_back(end, unseen))
        raise
    await record(turn.record, held)


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
    return Outcome(allowed.call, allowed.action, result, round((turn.clock.monotonic() - begun) * 1000), allowed.grant.labels)
