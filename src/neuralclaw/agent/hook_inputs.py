"""What hooks are told, as JSON values: the same for a turn and for a trial of one hook."""

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from ..types.actions import Origin
from ..types.hooks import HookDefinition, HookInput
from ..types.questions import Answer
from ..types.risk import Risk, Tier
from ..types.verdicts import Verdict


def of_call(name: str, arguments: dict[str, Any], call_id: str) -> HookInput:
    """Which call it is about."""
    return {"tool_name": name, "tool_input": arguments, "call_id": call_id}


def of_verdict(verdict: Verdict, attempt: int) -> HookInput:
    """What a hook before a tool is told besides."""
    return {"attempt": attempt, "risk": str(verdict.risk), "tier": str(verdict.tier), "powers": [str(one) for one in verdict.powers]}


def of_result(*, ok: bool, content: str, error: str | None, attempt: int) -> HookInput:
    """What a hook after a tool is told besides; `content` is the whole result, before it is shortened for the model."""
    return {"attempt": attempt, "tool_response": {"ok": ok, "content": content, "error": error}}


def of_question(summary: str, reasons: Sequence[str], risk: Risk | None, tier: Tier | None) -> HookInput:
    """What a hook before an approval is told besides."""
    return {"question": summary, "reasons": list(reasons), "risk": str(risk or ""), "tier": str(tier or "")}


def of_answer(answer: Answer) -> HookInput:
    """What a hook after an approval is told besides."""
    return {"approval_id": answer.approval_id, "decision": answer.decision, "by": answer.by}


def whole_input(hook: HookDefinition, told: HookInput, *, session: str, turn: int, workspace: str, origin: Origin) -> HookInput:
    """All that a hook is told, but for the id of the run."""
    return {
        "hook_event_name": hook.event,
        "hook": hook.name,
        "session_id": session,
        "turn": turn,
        "cwd": workspace,
        "origin": {"who": origin.who, "present": origin.present},
        **told,
    }


def run_id_of(hook: HookDefinition, told: HookInput) -> str:
    """The same for the same command and input, also when the turn is gone on with: whether somebody is there does not count."""
    steady = {name: value for name, value in told.items() if name != "origin"}
    return hashlib.sha256(msgspec.json.encode([steady, hook.command], order="deterministic")).hexdigest()[:16]
