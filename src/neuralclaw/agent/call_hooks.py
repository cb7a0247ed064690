"""Hooks around a turn, its calls and their approvals. A hook can block what it is about, and nothing else.

Every run is on record when it has ended, before anything follows from it; one that is on record for the same hook and input is not run again.
"""

import msgspec

from ..types.actions import Action
from ..types.events import HookRan, ToolFinished
from ..types.hooks import HookDefinition, HookInput, HookSubject
from ..types.questions import Answer, Question
from ..types.risk import Decision, Power, Risk, Tier
from ..types.verdicts import RuleMatch, Verdict
from . import hook_inputs, results
from .redaction import redacted
from .results import CallEnd
from .state import CallState
from .turn import Turn

_FORBID = Verdict(decision=Decision.FORBID, risk=Risk.MEDIUM, tier=Tier.READ)


def concern(turn: Turn, action: Action) -> bool:
    """Whether there may be a hook before this call, whatever powers it is found to have: then it waits for those before it."""
    hooks = turn.equipment.hooks
    return hooks is not None and bool(hooks.of(HookSubject(event="before_tool", tools=_names(action), powers=tuple(Power))))


async def before_turn(turn: Turn) -> HookRan | None:
    """The hook that keeps the turn from beginning, if one does."""
    if turn.equipment.hooks is None:
        return None
    started = turn.record.state.started
    return await _run(turn, HookSubject(event="before_turn"), {"prompt": started.text if started is not None else ""})


async def after_turn(turn: Turn, status: str, text: str) -> HookRan | None:
    """The hook that keeps the text back that the turn ends with, if one does."""
    if turn.equipment.hooks is None:
        return None
    return await _run(turn, HookSubject(event="after_turn"), {"status": status, "text": text})


async def before_tool(turn: Turn, call: CallState, action: Action) -> CallEnd | None:
    """The end of the call where a hook blocks it. What the gate forbids anyway no hook is asked about."""
    if not concern(turn, action):
        return None
    verdict = await turn.equipment.gate.judge(action)
    if verdict.decision is Decision.FORBID:
        return None
    attempt = 1 if call.started is None else call.started.attempt + 1
    told = _of_call(action) | hook_inputs.of_verdict(verdict, attempt)
    ran = await _run(turn, HookSubject(event="before_tool", tools=_names(action), powers=verdict.may), told, action.call_id)
    return _blocked(call, action, verdict, ran)


async def after_tool(turn: Turn, call: CallState, end: CallEnd) -> CallEnd:
    """The end of a call that ran, without its result where a hook keeps that back. The call stays one that ran."""
    body, spec = end.entries[-1], turn.equipment.tools.find(call.call.name)
    if turn.equipment.hooks is None or spec is None or not isinstance(body, ToolFinished):
        return end
    started = call.started
    arguments = started.arguments if started is not None else call.call.arguments
    result = hook_inputs.of_result(ok=body.ok, content=_whole(end, body), error=body.error, attempt=started.attempt if started is not None else 1)
    told = hook_inputs.of_call(spec.name, arguments, body.call_id) | result
    ran = await _run(turn, HookSubject(event="after_tool", tools=(spec.name, *spec.aliases), powers=spec.powers), told, body.call_id)
    if ran is None:
        return end
    return kept_back(end, f"{spec.name} ran, and the hook {ran.hook} keeps its result back: {ran.reason}", ran.hook)


def kept_back(end: CallEnd, text: str, hook: str = "") -> CallEnd:
    """The end of a call that ran, with this text in place of its result; what it changed stays known."""
    body = end.entries[-1]
    assert isinstance(body, ToolFinished), "a call that ran ends with its result"
    kept = ToolFinished(
        call_id=body.call_id,
        name=body.name,
        ok=body.ok,
        content=text,
        error=None if body.ok else text,
        metadata={"hook": hook} if hook else {},
        duration_ms=body.duration_ms,
        changes=body.changes,
        child=body.child,
        usage=body.usage,
    )
    return CallEnd((*end.entries[:-1], kept), end.labels)


def _whole(end: CallEnd, body: ToolFinished) -> str:
    """The result before it was shortened: the model could ask for the rest with `read_result`, which is not the tool that the hook is about."""
    return next((row.content for row in end.rows if row.call_id == body.call_id), body.content)


async def before_approval(turn: Turn, call: CallState, action: Action, question: Question) -> CallEnd | None:
    """The end of the call where a hook refuses it, so that nobody is asked. A question that is on record has been before its hooks."""
    if turn.equipment.hooks is None or any(one.hash == question.hash for one in call.questions):
        return None
    asked = hook_inputs.of_question(question.summary, question.reasons, question.risk, question.tier)
    powers = question.verdict.may if question.verdict is not None else ()
    ran = await _run(turn, HookSubject(event="before_approval", tools=_names(action), powers=powers), _of_call(action) | asked, action.call_id)
    return _blocked(call, action, question.verdict or _FORBID, ran)


async def after_approval(turn: Turn, call: CallState, action: Action, verdict: Verdict | None, answer: Answer) -> CallEnd | None:
    """The end of the call where a hook refuses it in spite of a yes. For a no it is told, and changes nothing."""
    if turn.equipment.hooks is None:
        return None
    told = _of_call(action) | hook_inputs.of_answer(answer)
    powers = verdict.may if verdict is not None else ()
    ran = await _run(turn, HookSubject(event="after_approval", tools=_names(action), powers=powers), told, action.call_id, answer.approval_id)
    return _blocked(call, action, verdict or _FORBID, ran)


def _names(action: Action) -> tuple[str, ...]:
    return action.spec.name, *action.spec.aliases


def _of_call(action: Action) -> HookInput:
    return hook_inputs.of_call(action.spec.name, action.arguments, action.call_id)


def _blocked(call: CallState, action: Action, verdict: Verdict, ran: HookRan | None) -> CallEnd | None:
    """The call, forbidden by the hook."""
    if ran is None:
        return None
    rule = RuleMatch(f"hook.{ran.hook}", Decision.FORBID, f"the hook {ran.hook} blocks it: {ran.reason}")
    return results.forbidden(call, action.spec.name, msgspec.structs.replace(verdict, decision=Decision.FORBID, rules=(rule, *verdict.rules), auto=False))


async def _run(turn: Turn, subject: HookSubject, told: HookInput, call_id: str | None = None, approval_id: str | None = None) -> HookRan | None:
    """Run the hooks of an event one after the other; the first that blocks. Before something happens, the others are not run then."""
    assert turn.equipment.hooks is not None, "asked only where there are hooks"
    first: HookRan | None = None
    for hook in turn.equipment.hooks.of(subject):
        ran = await _run_one(turn, hook, told, call_id, approval_id)
        if ran.blocks and first is None:
            first = ran
            if subject.event.startswith("before_"):
                break
    return first


async def _run_one(turn: Turn, hook: HookDefinition, told: HookInput, call_id: str | None, approval_id: str | None) -> HookRan:
    """How the hook ended, on record: its run, or one that is on record already."""
    assert turn.equipment.hooks is not None, "asked only where there are hooks"
    options, state = turn.record.options, turn.record.state
    whole = hook_inputs.whole_input(hook, told, session=turn.session, turn=state.number, workspace=options.workspace, origin=options.origin)
    clean: HookInput = redacted(whole, turn.equipment.redaction)
    run_id = hook_inputs.run_id_of(hook, clean)
    known = state.hooks.get(run_id)
    if known is not None and _counts(known, hook):
        return known
    result = await turn.equipment.hooks.run(hook, clean | {"run_id": run_id})
    ran = HookRan(
        hook=hook.name, event=hook.event, run_id=run_id, digest=hook.digest, call_id=call_id, approval_id=approval_id, **msgspec.structs.asdict(result)
    )
    await turn.record.journal.append(ran)
    return ran


def _counts(known: HookRan, hook: HookDefinition) -> bool:
    """Whether a run on record stands for one of now: of the program that is pinned now. A failure does where it passed and the owner still wants that."""
    if known.hook != hook.name or known.event != hook.event or known.digest != hook.digest or not hook.digest:
        return False
    return known.outcome != "failed" or (not known.blocks and hook.on_failure == "pass")
