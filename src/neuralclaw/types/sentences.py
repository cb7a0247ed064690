"""What an event says, to a person and to the log: the one place for every kind. A kind that is added to the union must be added here."""

import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, assert_never

import msgspec

from . import events as e
from .messages import Usage

Sentence = Callable[[Any], str]
SentenceOf = Callable[[e.Body], str]
"""The sentence of an event, also of the kinds that capabilities bring."""
NO_KINDS: Mapping[str, Sentence] = MappingProxyType({})
NO_WORDS: Mapping[str, str] = MappingProxyType({})
NO_FACTS: Mapping[str, Any] = MappingProxyType({})
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
_WORDS = ", with the words: "
_WELL = ("done", "needs_approval", "cancelled")
"""Status of a turn that ended without a problem."""


class EventSummary(NamedTuple):
    """What an event says. `headline`: what happened, without what was said, asked or found; that is `text`, whole, with `link` before it.

    `level`: how much it weighs, as `logging` counts. `facts`: numbers and names for the log, no contents.
    """

    headline: str
    text: str = ""
    level: int = logging.INFO
    facts: Mapping[str, Any] = NO_FACTS
    link: str = ": "

    @property
    def sentence(self) -> str:
        """Headline and text: behind it where that is one line, else below it."""
        text = self.text.rstrip("\n")
        return f"{self.headline}:\n{text}" if "\n" in text else f"{self.headline}{self.link}{text}" if text else self.headline


def sentence(body: e.Body, kinds: Mapping[str, Sentence] = NO_KINDS) -> str:
    """What happened. A text that is in it is whole, and may have several lines. `kinds`: the sentences of the capabilities' own kinds, by kind.

    Of a kind that neither this program nor `kinds` knows it is the kind and its fields.
    """
    own = kinds.get(body.type)
    if own is not None:
        return own(body)
    return summary(body).sentence if isinstance(body, e.AnyBody) else f"{body.type}: {_json(body)}"


def summary(body: e.AnyBody) -> EventSummary:
    """What an event of a built-in kind says."""
    match body:
        case e.Inbound() | e.Cancel() | e.ApprovalRequested() | e.ApprovalResolved():
            return _of_people(body)
        case e.Erased() | e.SessionRenamed() | e.SessionForked() | e.SessionImported():
            return _of_sessions(body)
        case e.GrantGiven() | e.GrantUsed() | e.GrantRevoked():
            return _of_grants(body)
        case e.TurnStarted() | e.Message() | e.Nudge() | e.RetryEvent() | e.LimitHit() | e.Compaction() | e.TurnFinished():
            return _of_turn(body)
        case e.DecisionMade() | e.ToolStarted() | e.ToolFinished():
            return _of_call(body)
        case e.HookRan(hook=hook, event=event, outcome=outcome, blocks=blocks, reason=reason):
            facts = {"hook": hook, "outcome": outcome, "call_id": body.call_id}
            ended = "blocks" if outcome == "blocked" else "fails, which blocks" if blocks else "fails and is passed over" if outcome == "failed" else "passes"
            return EventSummary(f"the hook {hook} ({event}) {ended}", reason, logging.DEBUG if outcome == "passed" else logging.WARNING, facts)
        case e.ErrorEvent(kind=kind, text=text, hint=hint, recoverable=recoverable):
            level = logging.WARNING if recoverable else logging.ERROR
            return EventSummary(f"{kind}: {text}{f' ({hint})' if hint else ''}", level=level, facts={"kind": kind})
        case e.TextDelta(text=text) | e.ReasoningDelta(text=text) | e.ToolOutput(text=text) | e.StatusEvent(text=text) | e.Debug(text=text):
            return EventSummary(text, level=logging.DEBUG)
        case e.Unreadable(why="unknown", kind=kind, version=version, data=data) if data is not None:
            return EventSummary(f"{kind} version {version}, which this program does not know", _json(data), logging.DEBUG)
        case e.Unreadable(text=text):
            return EventSummary(text, level=logging.DEBUG)
        case _:
            assert_never(body)


def _of_grants(body: e.GrantGiven | e.GrantUsed | e.GrantRevoked) -> EventSummary:
    """What becomes of a grant."""
    match body:
        case e.GrantGiven(grant_id=grant, by=by, covers=covers):
            return EventSummary(f"{_who(by)} gives the grant {grant}", covers)
        case e.GrantUsed(grant_id=grant, session=session, call_id=call_id):
            return EventSummary(f"the grant {grant} is used in {session}", facts={"call_id": call_id})
        case e.GrantRevoked(grant_id=grant, by=by):
            return EventSummary(f"{_who(by)} takes back the grant {grant}")
        case _:
            assert_never(body)


def _of_people(body: e.Inbound | e.Cancel | e.ApprovalRequested | e.ApprovalResolved) -> EventSummary:
    """What a person or a program said to the agent, and what it asked them."""
    match body:
        case e.Inbound(text=text, by=by, queued=queued, images=images):
            pictures = f" ({len(images)} picture{'s' if len(images) > 1 else ''})" if images else ""
            return EventSummary(f"{_who(by)} says{pictures}{', for the end of the turn' if queued else ''}", text, logging.DEBUG)
        case e.Cancel(by=by, message=message):
            done = "stops the turn" if message is None else f"withdraws the message of entry {message}"
            return EventSummary(f"{_who(by)} {done}", facts={"by": by})
        case e.ApprovalRequested(approval_id=question, action=action, summary=asked, choices=choices, call_id=call_id, risk=risk):
            text = f"{asked or f'{action.tool} wants to run: {action.show}'} ({', '.join(choices)})"
            return EventSummary(f"question {question} is asked", text, facts={"call_id": call_id, "approval_id": question, "risk": str(risk)})
        case e.ApprovalResolved(approval_id=question, decision=decision, by=by, text=words):
            facts = {"approval_id": question, "decision": decision, "by": by}
            if by == "nobody" and words:
                return EventSummary(f"question {question}", answered(body), facts=facts)
            return EventSummary(f"question {question}: {_answer(body)}", words or "", facts=facts, link=_WORDS)
        case _:
            assert_never(body)


def _of_sessions(body: e.Erased | e.SessionRenamed | e.SessionForked | e.SessionImported) -> EventSummary:
    """What became of a session as a whole."""
    match body:
        case e.Erased(entries=entries, by=by, deleted=True):
            return EventSummary(f"{_who(by)} deleted the session", f"{len(entries)} entries were erased")
        case e.Erased(entries=entries, by=by):
            return EventSummary(f"{_who(by)} erased {'entry' if len(entries) == 1 else 'entries'} {', '.join(map(str, entries))}")
        case e.SessionRenamed(title=title, by=by):
            return EventSummary(f"{_who(by)} names the session", title)
        case e.SessionForked(source=source, turn=turn, by=by):
            return EventSummary(f"{_who(by)} forks the session {source} at the end of turn {turn}")
        case e.SessionImported(source=source, file=file, by=by, turn=turn, digest=digest):
            return EventSummary(f"{_who(by)} imports the session {source} up to the end of turn {turn}", file, facts={"sha256": digest})
        case _:
            assert_never(body)


def _of_turn(body: e.TurnStarted | e.Message | e.Nudge | e.RetryEvent | e.LimitHit | e.Compaction | e.TurnFinished) -> EventSummary:
    """How a turn begins, what the model does in it, and how it ends."""
    facts: dict[str, Any]
    match body:
        case e.TurnStarted(model=model, origin=origin, options=options, digests=digests):
            facts = {"model": model, "origin": origin, "approvals": options.approvals, "settings": digests.get("settings", "")[:12]}
            return EventSummary(f"the turn begins with {model}", facts=facts)
        case e.Message(text=text, tool_calls=calls, model=model, stop=stop, usage=usage):
            did = f"wants to call {', '.join(call.name for call in calls)}" if calls else "failed" if stop == "error" else "answers" if text else "says nothing"
            facts = {"model": model, "stop": stop, "calls": len(calls), **_tokens(usage)}
            return EventSummary(f"{model} {did}{_CUT.get(stop, '')}", text, facts=facts)
        case e.Nudge(text=text):
            return EventSummary("the model is told", text, logging.DEBUG)
        case e.RetryEvent(reason=reason, attempt=attempt, wait_ms=wait, model=model):
            headline = f"{reason.rstrip('.')}. Retrying… (after attempt {attempt}{f', in {wait / 1000:.1f} s' if wait else ''})"
            return EventSummary(headline, level=logging.WARNING, facts={"model": model, "attempt": attempt, "wait_ms": wait})
        case e.LimitHit(kind=kind, text=text):
            return EventSummary(text, level=logging.WARNING, facts={"limit": kind})
        case e.Compaction(text=text, reason=why, messages=count, usage=usage):
            return EventSummary(text, facts={"reason": why, "messages": count, **_tokens(usage)})
        case e.TurnFinished(status=status, text=text, waiting=waiting, usage=usage, duration_ms=duration):
            facts = {"status": status, "ms": duration, **_tokens(usage)}
            if waiting:
                return EventSummary(f"the turn waits for an answer to {', '.join(waiting)}", facts=facts)
            return EventSummary(f"the turn ended, {status.replace('_', ' ')}", text, logging.INFO if status in _WELL else logging.WARNING, facts)
        case _:
            assert_never(body)


def _of_call(body: e.DecisionMade | e.ToolStarted | e.ToolFinished) -> EventSummary:
    """What became of a tool call."""
    facts: dict[str, Any]
    match body:
        case e.DecisionMade(name=name, by="auto"):
            return EventSummary(f"approved by --approvals auto: {name}", level=logging.DEBUG)
        case e.DecisionMade(name=name, decision=decision, risk=risk, reasons=reasons):
            return EventSummary(f"{name} is judged: {decision}, risk {risk}", "; ".join(reasons), logging.DEBUG)
        case e.ToolStarted(call_id=call_id, name=name, arguments=arguments, attempt=attempt, risk=risk, tier=tier):
            facts = {"call_id": call_id, "tool": name, "risk": str(risk), "tier": str(tier)}
            return EventSummary(f"{name} begins{f', attempt {attempt}' if attempt > 1 else ''}", _json(arguments), logging.DEBUG, facts)
        case e.ToolFinished(call_id=call_id, name=name, ok=ok, content=content, error=error, metadata=metadata):
            facts = {"call_id": call_id, "tool": name, "ok": ok, "ms": body.duration_ms, "chars": len(content)}
            child = f", by the session {body.child}" if body.child else ""
            if ok:
                return EventSummary(f"{name} ended well{child}", content, facts=facts)
            facts |= {"kind": metadata["kind"]} if "kind" in metadata else {}
            ended = f"{name} was not run" if body.refused is not None else name if says_itself(body) else f"{name} failed"
            return EventSummary(f"{ended}{child}", error or content, facts=facts)
        case _:
            assert_never(body)


def unbacked_sentence(body: e.TurnFinished) -> str:
    """What is said behind an answer that claims what no call did; "" where it claims no such thing."""
    if not body.unbacked:
        return ""
    texts = list(dict.fromkeys(claim.text for claim in body.unbacked))
    more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
    return f"No finished call of this turn backs this statement: “{texts[0]}”{more}"


def says_itself(body: e.ToolFinished) -> bool:
    """Whether the text of a call that gave nothing back says by itself that it was stopped, or that a person said no to it."""
    return bool(body.metadata.keys() & {"stopped", "no_by"})


def answered(body: e.ApprovalResolved, said: Mapping[str, str] = NO_WORDS) -> str:
    """Who answered a question, and how; `said` has other words for some, by who answered."""
    if body.by == "nobody" and body.text:
        return f"{body.text}, which is a {body.decision}"
    return f"{_answer(body, said)}{_WORDS}{body.text}" if body.text else _answer(body, said)


def _answer(body: e.ApprovalResolved, said: Mapping[str, str] = NO_WORDS) -> str:
    return (said.get(body.by) or _ANSWERED.get(body.by) or f"answered by {body.by}: {{}}").format(body.decision or "with a value")


def _tokens(usage: Usage) -> dict[str, Any]:
    return {"input": usage.input, "cached": usage.cached, "output": usage.output, "usd": usage.usd}


def _who(by: str) -> str:
    return _WHO.get(by, by)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
