"""The calls of one reply: prepared, judged, run, recorded. Every call ends with exactly one result.

Neighbouring LOW and MEDIUM calls run together unless one writes what the other touches; a HIGH or CRITICAL call, and one that a
person was asked about, waits for those before it and holds those after it.
"""

from typing import Any

import anyio
import msgspec

from ..errors import NeuralClawError, StoreError, ToolValidationError
from ..types.actions import Action, Grant, StandingGrant, Verdict
from ..types.events import DecisionMade, ToolOutput, ToolStarted
from ..types.logcontext import about
from ..types.risk import Decision, Effect, Risk
from ..types.signals import Denied, Parked, Retry
from ..types.tools import Show, ToolContext, ToolResult, ToolSpec, unseen
from . import circuit_breakers, results
from .asking import ask, may_run_again
from .call_conflicts import conflict
from .live_output import LiveOutput
from .results import Outcome
from .state import CallState
from .turn import Turn


class Ready(msgspec.Struct, frozen=True):
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
    """Bring every open call of the last reply to its result. Raises `Parked` when a person must answer and nobody is there now."""
    state, breakers = turn.state, turn.options.limits
    if state.messages[-1].stop == "length":
        await results.not_run(turn, state.open, "the reply was cut off before its end")
        return
    group: list[Ready] = []
    for call in tuple(state.open):
        if circuit_breakers.repeats(state, call, breakers):
            await run_group(turn, group)
            await results.not_run(turn, state.open, "the same call with the same arguments came again")
            await turn.journal.append(circuit_breakers.repeated(state, call, breakers))
            return
        await admit(turn, call, group)
        if circuit_breakers.too_many_errors(state, breakers):
            break
    await run_group(turn, group)
    await results.not_run(turn, state.open, "too many errors before it")


async def admit(turn: Turn, call: CallState, group: list[Ready]) -> None:
    """Take the call into the group of those that run together, or run the group first where the call must wait for it.

    A call that waited is judged again: what ran before it may have changed what it touches.
    """
    action = await prepare(turn, call)
    if action is None:
        return
    if group:
        ready = await glance(turn, call, action)
        if ready is not None and not any(conflict(action, ready.grant, r.action, r.grant) for r in group):
            group.append(ready)
            return
        if ready is not None:
            ready.grant.close()
        await run_group(turn, group)
    ready = await authorize(turn, call, action)
    if ready is None:
        return
    group.append(ready)
    if ready.alone:
        await run_group(turn, group)


async def prepare(turn: Turn, call: CallState) -> Action | None:
    """The action the call stands for; what is wrong with the call becomes its result."""
    spec = turn.equipment.tools.find(call.call.name)
    if spec is None:
        await results.failed(turn, call, unknown_tool(call.call.name, [d.name for d in turn.equipment.definitions]))
        return None
    if call.call.error is not None:
        await results.failed(turn, call, call.call.error)
        return None
    try:
        arguments = turn.equipment.tools.prepare(spec.name, call.call.arguments)
    except ToolValidationError as error:
        await results.failed(turn, call, results.told(error))
        return None
    return _action(turn, call, spec, arguments)


def unknown_tool(name: str, names: list[str]) -> str:
    """Says that there is no such tool, which are near to it in name, and which there are."""
    import difflib  # costs start-up time, and few calls come here

    near = difflib.get_close_matches(name.lower(), names, 3, 0.5)
    meant = f"; did you mean {' or '.join(near)}?" if near else ";"
    return f"there is no tool named {name[:80]!r}{meant} the tools are: {', '.join(sorted(names))}"


def _action(turn: Turn, call: CallState, spec: ToolSpec, arguments: dict[str, Any]) -> Action:
    options = turn.options
    return Action(
        session=turn.session,
        turn=turn.state.number,
        call_id=call.call.id,
        spec=spec,
        arguments=arguments,
        workspace=options.workspace,
        trust=options.trust,
        origin=options.origin,
        soul=options.soul,
        labels=turn.journal.labels,
    )


async def glance(turn: Turn, call: CallState, action: Action) -> Ready | None:
    """The call, if it may run beside its neighbours: LOW or MEDIUM, and nobody to ask. Records nothing."""
    if call.started is not None:
        return None
    try:
        ready = Ready(call, action, await turn.equipment.gate.authorize(action, turn.state.answers_for(call)))
    except (Denied, Parked):
        return None
    if ready.alone:
        ready.grant.close()
        return None
    return ready


async def authorize(turn: Turn, call: CallState, action: Action) -> Ready | None:
    """The right to run the call, a person asked where policy wants it; None when the call got a result instead."""
    again = "policy"
    if call.started is not None:
        said_again = await repeatable(turn, call, action)
        if said_again is None:
            return None
        again = said_again
    standing: tuple[StandingGrant, ...] | None = None
    while True:
        answers = msgspec.structs.replace(turn.state.answers_for(call), standing=standing or ())
        try:
            grant = await turn.equipment.gate.authorize(action, answers)
            said = answers.by_hash.get(grant.hash)
            return Ready(call, action, grant, said.by if said and again == "policy" else again)
        except Denied as denied:
            await results.refused(turn, call, action, denied.verdict, results.CallRefusal("policy"))
            return None
        except Parked as parked:
            if standing is None:
                standing = tuple(await turn.store.grants(turn.session, turn.options.workspace))
                if standing:
                    continue
            if await ask(turn, call, action, parked.question) is None:
                return None


async def repeatable(turn: Turn, call: CallState, action: Action) -> str | None:
    """Whose word lets a call run again that began in an earlier run and has no result (`policy`, or a person's); None: it gets its result here."""
    if action.spec.effect in (Effect.PURE, Effect.IDEMPOTENT):
        return "policy"
    if action.spec.effect is Effect.RECONCILABLE:
        happened = await probe(turn, call, action)
        if isinstance(happened, ToolResult):
            await results.record(turn, Outcome(call, action.spec, happened))
            return None
        if happened is False:
            return "policy"
    return await may_run_again(turn, call, action)


async def probe(turn: Turn, call: CallState, action: Action) -> ToolResult | bool | None:
    """What the tool can tell about a call that began: its result, False if it did not happen, None if that is unknown."""
    try:
        grant = await turn.equipment.gate.authorize(action, turn.state.answers_for(call))
    except (Denied, Parked):
        return None
    before = call.started.before if call.started else {}
    try:
        return await turn.equipment.tools.probe(grant, context(turn, call, before))
    except NeuralClawError:
        return None
    finally:
        grant.close()


async def run_group(turn: Turn, group: list[Ready]) -> None:
    """Record that the group's calls begin, run them together, record each result as it comes. Leaves the group empty.

    The beginning of a call, each run of it anew, and the decision that allows it are one transaction, on the disk before any effect that is not `pure`.
    """
    if not group:
        return
    await turn.journal.append(*(entry for ready in group for entry in begin(ready)))
    if any(ready.spec.effect is not Effect.PURE for ready in group):
        await turn.journal.barrier()
    if len(group) == 1:
        await run_one(turn, group[0])
    else:
        await run_together(turn, group)
    group.clear()


def begin(ready: Ready) -> tuple[DecisionMade, ToolStarted]:
    verdict, name, call_id = ready.verdict, ready.spec.name, ready.call.call.id
    decision = DecisionMade(
        call_id=call_id,
        name=name,
        decision=Decision.ALLOW,
        risk=verdict.risk,
        tier=verdict.tier,
        reasons=tuple(r.reason for r in verdict.rules),
        hash=ready.grant.hash,
        by=ready.by,
    )
    started = ToolStarted(
        call_id=call_id,
        name=name,
        arguments=ready.grant.arguments,
        risk=verdict.risk,
        tier=verdict.tier,
        effect=ready.spec.effect,
        before=ready.grant.envelope.digests,
        attempt=1 if ready.call.started is None else ready.call.started.attempt + 1,
    )
    return decision, started


async def run_together(turn: Turn, group: list[Ready]) -> None:
    failures: list[StoreError | Parked] = []

    async def one(ready: Ready) -> None:
        try:
            await run_one(turn, ready)
        except (StoreError, Parked) as failure:
            failures.append(failure)

    async with anyio.create_task_group() as tasks:
        for ready in group:
            tasks.start_soon(one, ready)
    if failures:
        raise failures[0]


async def run_one(turn: Turn, ready: Ready) -> None:
    """Run one call under its grant and record its result; the grant is used up."""
    begun = turn.clock.monotonic()
    call_id = ready.call.call.id
    live = LiveOutput(turn.equipment.redaction, lambda text: turn.show(ToolOutput(call_id=call_id, text=text)))
    try:
        with about(call_id=call_id):
            result = await turn.equipment.tools.call(ready.grant, context(turn, ready.call, {}, live.take))
    except Retry as retry:
        result = ToolResult(ok=False, error=retry.text)
    except StoreError:
        raise
    except NeuralClawError as error:
        metadata = getattr(error, "metadata", {})
        result = ToolResult(ok=False, error=results.told(error), metadata={**metadata, "kind": error.kind})
    finally:
        ready.grant.close()
        live.end()
    await results.record(turn, Outcome(ready.call, ready.spec, result, round((turn.clock.monotonic() - begun) * 1000)))


def context(turn: Turn, call: CallState, before: dict[str, str | None], show: Show = unseen) -> ToolContext:
    return ToolContext(session=turn.session, turn=turn.state.number, call_id=call.call.id, workspace=turn.options.workspace, before=before, show=show)
