"""The log as a reader of the event stream: from an event to a line. Contents stay out of it at INFO: what was said, asked and found is in the journal."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, assert_never

from .. import config
from .._version import __version__
from ..errors import NeuralClawError
from ..log import LogWriter
from ..secrets import Redactor
from ..types.entries import Entry, Event, event_of
from ..types.events import (
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
from ..types.messages import Usage
from ..types.sentences import sentence

LOGGER = "neuralclaw.events"
MEGABYTE = 1_000_000


class LogMessage(NamedTuple):
    """An event as a line: how weighty it is, what happened, the numbers."""

    level: int
    message: str
    fields: dict[str, Any]


def open_log(loaded: config.LoadedSettings, redactor: Redactor) -> LogWriter:
    """The log of this home, opened; `problem` says why it is not kept where it cannot be written."""
    settings = loaded.settings.logging
    folder = config.absolute(settings.log_dir, loaded.env.get("HOME", ""), loaded.home) if settings.log_dir else f"{loaded.home}/logs"
    log_writer = LogWriter(folder, level=settings.level, max_bytes=settings.max_file_size_mb * MEGABYTE, backups=settings.backup_count, redact=redactor.redact)
    log_writer.open(whole_process=config.process_environment.ours)
    log_writer.note(logging.INFO, "neuralclaw.app", "process started", version=__version__, home=loaded.home, config=loaded.file)
    for kind, why in redactor.left_out:
        log_writer.note(logging.DEBUG, "neuralclaw.secrets", f"the value of {kind} is not looked for in texts: it is {why}")
    return log_writer


class ErrorLogging:
    """Around an agent's life: an error that ends it stands in the log in full, and goes on without a secret in its sentence."""

    def __init__(self, log_writer: LogWriter, redact: Callable[[str], str]) -> None:
        self._log_writer, self._redact = log_writer, redact

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, BaseExceptionGroup):
            for inner in error.exceptions:
                self.__exit__(kind, inner, trace)
        elif isinstance(error, Exception):
            self._log_writer.failure(error)
            error.args = tuple(self._redact(arg) if isinstance(arg, str) else arg for arg in error.args)
            if isinstance(error, NeuralClawError):
                error.text, error.hint = self._redact(error.text), self._redact(error.hint)


class _SessionProgress:
    """What was told of one session: up to which entry, when that was written, and the decisions on calls that are not finished."""

    __slots__ = ("before", "decisions", "entry")

    def __init__(self, before: int) -> None:
        self.entry, self.before = 0, before
        self.decisions: dict[str, DecisionMade] = {}


class EventLog:
    """Takes the entries of the sessions that this process drives, each once, whichever way it hears of them."""

    REMEMBERED = 1_000
    """Sessions that are kept in mind; beyond that the one told of longest ago that is not driven any more is forgotten."""

    def __init__(self, log_writer: LogWriter, driving: Callable[[str], bool], told: Callable[[Body], str] = sentence) -> None:
        self._log_writer, self._driving, self._told = log_writer, driving, told
        self._sessions: dict[str, _SessionProgress] = {}  # the one told of last stands last

    def entries(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            session = entry.header.session
            told = self._sessions.get(session)
            if (told is not None and entry.entry <= told.entry) or not self._driving(session):
                continue
            told = self._sessions.pop(session, None) or self._new(entry)
            self._sessions[session] = told
            ms = round((entry.header.time - told.before) / 1000)
            told.entry, told.before = entry.entry, entry.header.time
            event = event_of(entry)
            if event is not None:
                self._note(event, told, ms)

    def _new(self, entry: Entry) -> _SessionProgress:
        if len(self._sessions) >= self.REMEMBERED:
            for session in [name for name in self._sessions if not self._driving(name)][: len(self._sessions) - self.REMEMBERED + 1]:
                del self._sessions[session]
        return _SessionProgress(entry.header.time)

    def _note(self, event: Event, told: _SessionProgress, ms: int) -> None:
        body = event.body
        decision = None
        if isinstance(body, DecisionMade):
            told.decisions[body.call_id] = body
        elif isinstance(body, ToolFinished):
            decision = told.decisions.pop(body.call_id, None)
        elif isinstance(body, TurnFinished) and not body.waiting:
            told.decisions.clear()
        if isinstance(body, AnyBody):
            found = line(body, ms=ms, decision=decision)
            written = [found] if found is not None else []
        else:
            written = lines_of_capability(body, self._told)
        for written_line in written:
            self._log_writer.note(
                written_line.level, LOGGER, written_line.message, session=event.session, turn=event.turn, entry=event.entry, **written_line.fields
            )


def lines_of_capability(body: Body, told: Callable[[Body], str]) -> list[LogMessage]:
    """The kind alone at INFO, and what happened, which may tell contents, at DEBUG."""
    return [LogMessage(logging.INFO, body.type, {}), LogMessage(logging.DEBUG, told(body), {"kind": body.type})]


def line(body: AnyBody, *, ms: int, decision: DecisionMade | None = None) -> LogMessage | None:
    """The line of a built-in kind; None for what passes. `ms`: since the entry before it; `decision`: the one on a finished call."""
    match body:
        case TurnStarted(model=model, origin=origin, options=options, digests=digests):
            started = {"model": model, "origin": origin, "approvals": options.approvals, "settings": digests.get("settings", "")[:12]}
            return LogMessage(logging.INFO, "turn started", started)
        case Message(model=model, usage=usage, stop=stop, tool_calls=calls):
            return LogMessage(logging.INFO, "model replied", {"model": model, "stop": stop, "calls": len(calls), "ms": ms, **tokens(usage)})
        case RetryEvent(attempt=attempt, wait_ms=wait, reason=reason, model=model):
            return LogMessage(
                logging.WARNING, "model call failed, another try follows", {"model": model, "attempt": attempt, "wait_ms": wait, "reason": reason}
            )
        case ToolStarted(call_id=call_id, name=name, risk=risk, tier=tier):
            return LogMessage(logging.DEBUG, "tool call started", {"call_id": call_id, "tool": name, "risk": str(risk), "tier": str(tier)})
        case ToolFinished():
            return finished_call(body, decision)
        case ApprovalRequested(approval_id=approval_id, call_id=call_id, risk=risk):
            return LogMessage(logging.INFO, "a person is asked", {"call_id": call_id, "approval_id": approval_id, "risk": str(risk)})
        case ApprovalResolved(approval_id=approval_id, decision=said, by=by):
            return LogMessage(logging.INFO, "the question is answered", {"approval_id": approval_id, "decision": said, "by": by})
        case Cancel(by=by):
            return LogMessage(logging.INFO, "cancel", {"by": by})
        case LimitHit(kind=kind, text=text):
            return LogMessage(logging.WARNING, text, {"limit": kind})
        case ErrorEvent(kind=kind, text=text, recoverable=recoverable):
            return LogMessage(logging.WARNING if recoverable else logging.ERROR, text, {"kind": kind})
        case TurnFinished(status=status, usage=usage, duration_ms=duration, waiting=waiting):
            level = logging.INFO if status in ("done", "needs_approval", "cancelled") else logging.WARNING
            return LogMessage(level, "turn parked" if waiting else "turn finished", {"status": status, "ms": duration, **tokens(usage)})
        case Erased() | GrantRevoked() | Inbound() | Nudge() | DecisionMade() | Unreadable():
            return LogMessage(logging.INFO if isinstance(body, Erased | GrantRevoked) else logging.DEBUG, sentence(body), {})  # the others tell contents
        case TextDelta() | ReasoningDelta() | ToolOutput() | StatusEvent() | Debug():
            return None  # not recorded
        case _:
            assert_never(body)


def finished_call(body: ToolFinished, decision: DecisionMade | None) -> LogMessage:
    fields: dict[str, Any] = {"call_id": body.call_id, "tool": body.name, "ok": body.ok, "ms": body.duration_ms, "chars": len(body.content)}
    if decision is not None:
        fields |= {"decision": str(decision.decision), "by": decision.by, "risk": str(decision.risk), "tier": str(decision.tier)}
    if not body.ok and "kind" in body.metadata:
        fields["kind"] = body.metadata["kind"]
    return LogMessage(logging.INFO, "tool call finished", fields)


def tokens(usage: Usage) -> dict[str, Any]:
    return {"input": usage.input, "cached": usage.cached, "output": usage.output, "usd": usage.usd}
