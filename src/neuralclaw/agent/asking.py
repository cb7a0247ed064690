"""Questions to a person about one call: recorded, brought to the asker, and what the answer means."""

import hashlib
from datetime import UTC, datetime

import msgspec

from ..errors import AlreadyAnswered
from ..types.actions import Action, Answer, Question, Shown, Verdict
from ..types.events import ApprovalRequested, ApprovalResolved
from ..types.options import ApprovalsMode
from ..types.risk import Decision
from . import results
from .state import CallState
from .turn import Turn

AGAIN_DAYS = 7.0


async def ask(turn: Turn, call: CallState, action: Action, question: Question) -> Answer | None:
    """The yes to this question; None when the call got its result instead (a no, or nobody to ask).

    Raises `Parked` when a person must answer and nobody is there now: the question is then on record and waits.
    """
    mode = turn.options.approvals
    question = msgspec.structs.replace(question, arguments=action.arguments)
    earlier = next((q for q in call.questions if q.hash == question.hash), None)
    answer = await _settle(turn, call, question, earlier, mode)
    if answer.decision in ("no", None):
        assert question.verdict is not None, "the gate's questions carry its verdict"
        await results.refused(turn, call, action, question.verdict, results.CallRefusal(answer.by, answer.text or "", question.summary))
        return None
    return answer


async def may_run_again(turn: Turn, call: CallState, action: Action) -> str | None:
    """Who says that a call which may have happened shall run again. None where nobody does: then it is left."""
    question = _again(turn, call, action)
    mode: ApprovalsMode = "none" if turn.options.approvals == "auto" else turn.options.approvals
    earlier = next((q for q in call.questions if q.hash == question.hash), None)
    answer = await _settle(turn, call, question, earlier, mode)
    if answer.decision in ("no", None):
        await results.left(turn, call, results.CallRefusal(answer.by, answer.text or ""))
        return None
    return answer.by


def _again(turn: Turn, call: CallState, action: Action) -> Question:
    """The question about a call that began and whose end nobody saw. It is about that beginning: a yes to it is none to a later one."""
    started = call.started
    assert started is not None, "only a call that began can have happened"
    about = f"again:{action.call_id}:{call.started_entry}"
    shown = action.arguments.get("command") or msgspec.json.encode(action.arguments).decode()
    return Question(
        approval_id=hashlib.sha256(f"{action.session} {about}".encode()).hexdigest()[:10],
        call_id=action.call_id,
        hash=about,
        action=Shown(tool=action.spec.name, show=str(shown)),
        risk=started.risk,
        tier=started.tier,
        summary=f"{action.spec.name} began this before the program stopped, and it may have happened: run it again?",
        reasons=("this call began before the program stopped and may have happened; run it again?",),
        choices=("once", "no"),
        expires=turn.clock.now() + AGAIN_DAYS * 86_400,
        verdict=Verdict(decision=Decision.ASK, risk=started.risk, tier=started.tier),
    )


async def _settle(turn: Turn, call: CallState, question: Question, earlier: ApprovalRequested | None, mode: ApprovalsMode) -> Answer:
    """The answer that is on record, or the mode's, or a person's."""
    if earlier is not None and (resolved := turn.state.answers.get(earlier.approval_id)) is not None:
        return Answer(approval_id=earlier.approval_id, decision=resolved.decision, by=resolved.by, text=resolved.text)
    if mode == "auto" and question.auto:
        resolved = ApprovalResolved(approval_id=question.approval_id, decision="once", by="auto")
        return await _recorded(turn, *([] if earlier else [requested(question)]), _same_id(resolved, earlier))
    if mode in ("none", "auto"):
        if earlier is not None:
            return await _recorded(turn, ApprovalResolved(approval_id=earlier.approval_id, decision="no", by="nobody"))
        return Answer(approval_id=question.approval_id, decision="no", by="nobody")
    if earlier is None:
        await turn.journal.append(requested(question))
    else:
        question = msgspec.structs.replace(question, approval_id=earlier.approval_id)
    with turn.time.paused():
        answer = await turn.asker.ask(turn.session, question, mode)
    await turn.journal.sync()
    return answer


async def _recorded(turn: Turn, *bodies: ApprovalRequested | ApprovalResolved) -> Answer:
    """Write an answer, the last of the bodies; where somebody was faster, that answer counts."""
    resolved = bodies[-1]
    assert isinstance(resolved, ApprovalResolved), "an answer is written"
    try:
        await turn.journal.append(*bodies)
    except AlreadyAnswered:
        await turn.journal.sync()
        resolved = turn.state.answers[resolved.approval_id]
    return Answer(approval_id=resolved.approval_id, decision=resolved.decision, by=resolved.by, text=resolved.text)


def _same_id(resolved: ApprovalResolved, earlier: ApprovalRequested | None) -> ApprovalResolved:
    return resolved if earlier is None else msgspec.structs.replace(resolved, approval_id=earlier.approval_id)


def requested(question: Question) -> ApprovalRequested:
    """The entry that a question becomes."""
    expires = datetime.fromtimestamp(question.expires, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return ApprovalRequested(
        approval_id=question.approval_id,
        call_id=question.call_id,
        kind=question.kind,
        action=question.action,
        risk=question.risk,
        tier=question.tier,
        summary=question.summary,
        reasons=question.reasons,
        sources=question.sources,
        choices=question.choices,
        covers=question.covers,
        workspace=question.workspace,
        schema=question.schema,
        expires=expires,
        hash=question.hash,
        scopes=tuple({"kind": s.kind, "value": s.value, "tool": s.tool} for s in question.scopes),
    )
