"""What happened, in one sentence for a person: the one place that says it for every kind of event. A kind that is added to the union must be added here."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, assert_never, cast

import msgspec

from .events import (
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    Body,
    Cancel,
    Debug,
    DecisionMade,
    Erased,
    ErrorEvent,
    GrantRevoked,
    Inbound,
    LimitHit,
    Message,
    Nudge,
    ReasoningDelta,
    RetryEvent,
    StatusEvent,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    Unreadable,
)

Sentence = Callable[[Any], str]
NO_KINDS: Mapping[str, Sentence] = MappingProxyType({})
_WHO = {"owner": "the owner", "program": "a program", "agent": "an agent", "auto": "--approvals auto"}
_ANSWERED = {
    "owner": "answered: {}",
    "program": "answered by a program: {}",
    "auto": "answered by --approvals auto: {}",
    "expired": "its time is over, which is a {}",
    "withdrawn": "withdrawn by a new message, which is a {}",
    "nobody": "no one can be asked, which is a {}",
    "cancelled": "not needed any more",
}
_CUT = {"length": ", cut off by the limit of its output", "cancelled": ", cut off since the turn was stopped"}


def sentence(body: Body, kinds: Mapping[str, Sentence] = NO_KINDS) -> str:
    """What happened. A text that stands in it is whole, and may have several lines. `kinds`: the sentences of the capabilities' own kinds, by kind."""
    own = kinds.get(body.type)
    return own(body) if own is not None else _sentence(cast(AnyBody, body))


def _sentence(body: AnyBody) -> str:
    match body:
        case Inbound() | Cancel() | Erased() | GrantRevoked() | ApprovalRequested() | ApprovalResolved():
            return _said(body)
        case TurnStarted() | Message() | Nudge() | RetryEvent() | LimitHit() | TurnFinished():
            return _turned(body)
        case DecisionMade() | ToolStarted() | ToolFinished():
            return _called(body)
        case ErrorEvent(kind=kind, text=text, hint=hint):
            return f"{kind}: {text}{f' ({hint})' if hint else ''}"
        case TextDelta(text=text) | ReasoningDelta(text=text) | ToolOutput(text=text) | StatusEvent(text=text) | Debug(text=text):
            return text
        case Unreadable(why="unknown", kind=kind, version=version, data=data) if data is not None:
            return f"{kind} version {version}, which this program does not know: {_json(data)}"
        case Unreadable(text=text):
            return text
        case _:
            assert_never(body)


def _said(body: Inbound | Cancel | Erased | GrantRevoked | ApprovalRequested | ApprovalResolved) -> str:
    """What a person or a program said to the agent, and what it asked them."""
    match body:
        case Inbound(text=text, by=by, queued=queued, images=images):
            pictures = f" ({len(images)} picture{'s' if len(images) > 1 else ''})" if images else ""
            return _with(f"{_who(by)} says{pictures}{', for the end of the turn' if queued else ''}", text)
        case Cancel(by=by, message=message):
            return f"{_who(by)} stops the turn" if message is None else f"{_who(by)} withdraws the message of entry {message}"
        case Erased(entries=entries, by=by):
            return f"{_who(by)} erased {'entry' if len(entries) == 1 else 'entries'} {', '.join(map(str, entries))}"
        case GrantRevoked(grant_id=grant, by=by):
            return f"{_who(by)} takes back the grant {grant}"
        case ApprovalRequested(approval_id=question, action=action, summary=summary, choices=choices):
            return f"question {question}: {summary or f'{action.tool} wants to run: {action.show}'} ({', '.join(choices)})"
        case ApprovalResolved(approval_id=question):
            return f"question {question}: {answered(body)}"
        case _:
            assert_never(body)


def _turned(body: TurnStarted | Message | Nudge | RetryEvent | LimitHit | TurnFinished) -> str:
    """How a turn begins, what the model does in it, and how it ends."""
    match body:
        case TurnStarted(model=model):
            return f"the turn begins with {model}"
        case Message(text=text, tool_calls=calls, model=model, stop=stop):
            did = f"wants to call {', '.join(call.name for call in calls)}" if calls else "failed" if stop == "error" else "answers" if text else "says nothing"
            return _with(f"{model} {did}{_CUT.get(stop, '')}", text)
        case Nudge(text=text):
            return _with("the model is told", text)
        case RetryEvent(reason=reason, attempt=attempt, wait_ms=wait):
            return f"{reason.rstrip('.')}. Retrying… (after attempt {attempt}{f', in {wait / 1000:.1f} s' if wait else ''})"
        case LimitHit(text=text):
            return text
        case TurnFinished(status=status, text=text, waiting=waiting):
            return f"the turn waits for an answer to {', '.join(waiting)}" if waiting else _with(f"the turn ended, {status.replace('_', ' ')}", text)
        case _:
            assert_never(body)


def _called(body: DecisionMade | ToolStarted | ToolFinished) -> str:
    """What became of a tool call."""
    match body:
        case DecisionMade(name=name, by="auto"):
            return f"approved by --approvals auto: {name}"
        case DecisionMade(name=name, decision=decision, risk=risk, reasons=reasons):
            return _with(f"{name} is judged: {decision}, risk {risk}", "; ".join(reasons))
        case ToolStarted(name=name, arguments=arguments, attempt=attempt):
            return f"{name} begins{f', attempt {attempt}' if attempt > 1 else ''}: {_json(arguments)}"
        case ToolFinished(name=name, ok=True, content=content):
            return _with(f"{name} ended well", content)
        case ToolFinished(name=name, refused=refused, error=error, content=content, metadata=metadata):
            told = error or content  # of a call that was stopped, or that a person said no to, it says so itself
            itself = metadata.keys() & {"stopped", "no_by"} or told.startswith("not run: ")
            return _with(f"{name} was not run" if refused is not None else name if itself else f"{name} failed", told)
        case _:
            assert_never(body)


def answered(body: ApprovalResolved, said: Mapping[str, str] = _ANSWERED) -> str:
    """Who answered a question, and how; `said` has other words for some, by who answered."""
    told = (said.get(body.by) or _ANSWERED.get(body.by) or f"answered by {body.by}: {{}}").format(body.decision or "with a value")
    return f"{told}, with the words: {body.text}" if body.text else told


def _who(by: str) -> str:
    return _WHO.get(by, by)


def _with(told: str, text: str) -> str:
    """What happened with its text: behind it where that is one line, else below it."""
    text = text.rstrip("\n")
    return f"{told}:\n{text}" if "\n" in text else f"{told}: {text}" if text else told


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
