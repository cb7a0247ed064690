"""Questions to a person about one call, as values: what is asked, how it stands on record, and what an approvals mode answers by itself.

Nothing here writes or waits: `agent.toolcalls` does.
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from ..types.actions import Action
from ..types.events import ApprovalRequested, ApprovalResolved
from ..types.grants import Scope
from ..types.options import ApprovalsMode
from ..types.questions import Answer, Question, Shown
from ..types.risk import Decision
from ..types.verdicts import Verdict
from .state import CallState

REPEAT_DAYS = 7.0
"""How long the question whether a call may be repeated waits for its answer."""


class Settlement(msgspec.Struct, frozen=True):
    """How a question stands. `entries` are to be written before anything follows from it, in one transaction; they may lose to an answer that somebody
    else was faster with. `answer` None: a person is to be asked.

    `question` has the id under which it stands on record.
    """

    question: Question
    answer: Answer | None = None
    entries: tuple[ApprovalRequested | ApprovalResolved, ...] = ()


def settle(question: Question, asked: Sequence[ApprovalRequested], answers: Mapping[str, ApprovalResolved], mode: ApprovalsMode) -> Settlement:
    """What is known of the question after these questions of its call and these answers, else what the mode answers."""
    earlier = next((q for q in asked if q.hash == question.hash), None)
    if earlier is not None:
        question = msgspec.structs.replace(question, approval_id=earlier.approval_id)
    name, request = question.approval_id, () if earlier is not None else (requested(question),)
    if earlier is not None and name in answers:
        return Settlement(question, answer_of(answers[name]))
    if mode == "auto" and question.auto:
        resolved = ApprovalResolved(approval_id=name, decision="once", by="auto")
        return Settlement(question, answer_of(resolved), (*request, resolved))
    if mode in ("none", "auto"):
        resolved = ApprovalResolved(approval_id=name, decision="no", by="nobody")
        return Settlement(question, answer_of(resolved), () if earlier is None else (resolved,))
    return Settlement(question, None, request)


def answer_of(resolved: ApprovalResolved) -> Answer:
    """The answer that an entry holds."""
    return Answer(approval_id=resolved.approval_id, decision=resolved.decision, by=resolved.by, text=resolved.text)


def is_no(answer: Answer) -> bool:
    """Whether the answer keeps the call from running; one without a decision does."""
    return answer.decision in ("no", None)


def withdrawn(calls: Sequence[CallState], answers: Mapping[str, ApprovalResolved]) -> list[ApprovalResolved]:
    """The end of each open question about these calls, for which nobody need answer any more."""
    names = [q.approval_id for call in calls for q in call.questions if q.approval_id not in answers]
    return [ApprovalResolved(approval_id=name, decision="no", by="cancelled") for name in names]


def superseded(call: CallState, question: Question, answers: Mapping[str, ApprovalResolved]) -> list[ApprovalResolved]:
    """The end of each open question about this call that is another one than what is asked now: an answer to it would have no effect."""
    names = [q.approval_id for q in call.questions if q.hash != question.hash and q.approval_id not in answers]
    return [ApprovalResolved(approval_id=name, decision="no", by="withdrawn") for name in names]


def repeat_question(call: CallState, action: Action, now: float) -> Question:
    """The question about a call that began and whose end nobody saw. It is about that beginning: a yes to it is none to a later one.

    `now` in epoch seconds.
    """
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
        expires=now + REPEAT_DAYS * 86_400,
        verdict=Verdict(decision=Decision.ASK, risk=started.risk, tier=started.tier),
    )


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
        scopes=tuple(_scope(scope) for scope in question.scopes),
    )


def _scope(scope: Scope) -> dict[str, str]:
    """A scope as it stands on record."""
    stored = {"kind": scope.kind, "value": scope.value, "tool": scope.tool}
    return {**stored, "definition": scope.definition} if scope.definition else stored
