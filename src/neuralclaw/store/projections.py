"""What is derived from entries, one function for each kind; the same functions serve the writing of an entry and the rebuilding of a home.

A body is None when it was erased: then only what its header says is counted, and what `kept` still knows of it.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from ..types.entries import HOME, Header, encode_body
from ..types.events import ApprovalRequested, ApprovalResolved, Inbound, Message, TurnFinished, TurnStarted
from .tables import Progress, QuestionRow, Tables

_TITLE = 60
"""Characters of a session's title."""

_requested = msgspec.json.Decoder(ApprovalRequested)


class Kept(msgspec.Struct):
    """What the derived tables know of erased bodies and no entry tells any more: money that was spent, and which question was meant."""

    usage: dict[int, tuple[Any, ...]] = msgspec.field(default_factory=dict)
    """Rows of `usage`, by record."""
    questions: dict[int, str] = msgspec.field(default_factory=dict)
    """Question ids, by the record of the question and by that of its answer."""
    calls: dict[int, list[str]] = msgspec.field(default_factory=dict)
    """Call ids, by the record of their message: they stay taken."""


NOTHING = Kept()


def project(tables: Tables, header: Header, body: Any, kept: Kept = NOTHING) -> None:
    """Bring the derived rows up to date with one entry more."""
    progress = tables.progress[header.session]
    progress.entries = header.entry
    progress.updated = header.time
    if header.turn > progress.last_turn:
        progress.last_turn = header.turn
    of_kind = _KINDS.get(header.kind)
    if of_kind is not None and header.session != HOME:
        of_kind(tables, progress, header, body, kept)
    tables.touch(progress)


def _inbound(tables: Tables, progress: Progress, header: Header, body: Inbound | None, kept: Kept) -> None:
    if body is None:
        return
    progress.pending = {**progress.pending, header.entry: body.queued}
    if not progress.first_text:
        progress.first_text = " ".join(body.text[: _TITLE * 4].split())[:_TITLE]


def _turn_started(tables: Tables, progress: Progress, header: Header, body: TurnStarted | None, kept: Kept) -> None:
    if header.turn > progress.started:
        progress.turns += 1
        progress.started = header.turn
    progress.open_turn = header.turn
    progress.waiting = []
    if body is not None:
        progress.model = body.model
        progress.pending = {entry: queued for entry, queued in progress.pending.items() if entry != body.inbound}
    tables.add("turns", (header.session, header.turn, header.record, None, None))


def _message(tables: Tables, progress: Progress, header: Header, body: Message | None, kept: Kept) -> None:
    if body is None:
        row = kept.usage.get(header.record)
        for call_id in kept.calls.get(header.record, ()):
            tables.add("calls", (header.session, call_id, header.record))
        if row is None:
            return
    else:
        if progress.pending:
            progress.pending = {entry: queued for entry, queued in progress.pending.items() if queued or entry > body.seen}
        u = body.usage
        row = (header.record, header.session, header.turn, header.time, body.model, u.input, u.cached, u.output, u.usd)
        for call in body.tool_calls:
            tables.add("calls", (header.session, call.id, header.record))
    if row[8] is None:
        progress.unpriced += 1
    else:
        progress.usd += row[8]
    tables.add("usage", row)


def _turn_finished(tables: Tables, progress: Progress, header: Header, body: TurnFinished | None, kept: Kept) -> None:
    if header.turn == progress.open_turn:
        if body is not None and body.waiting:
            progress.waiting = list(body.waiting)
        else:
            progress.open_turn, progress.waiting = 0, []
    tables.add("turns", (header.session, header.turn, None, header.record, body.status if body else None))


def _approval_requested(tables: Tables, progress: Progress, header: Header, body: ApprovalRequested | None, kept: Kept) -> None:
    name = body.approval_id if body else kept.questions.get(header.record)
    if name is None:
        return
    tables.put_question(QuestionRow(name, header.session, header.turn, header.record))
    if body is not None:
        tables.asked[name] = encode_body(body)


def _approval_resolved(tables: Tables, progress: Progress, header: Header, body: ApprovalResolved | None, kept: Kept) -> None:
    name = body.approval_id if body else kept.questions.get(header.record)
    question = tables.questions.get(name) if name else None
    if question is None:
        return
    question.answer = header.record
    tables.put_question(question)
    if body is None or body.decision not in ("session", "always"):
        return
    data = tables.asked.get(question.id)
    if data is None:
        found = tables.connection.execute("SELECT data FROM bodies WHERE record = ?", (question.record,)).fetchone()
        data = found[0] if found else None
    scopes = _requested.decode(data).scopes if data else ()
    for place, scope in enumerate(scopes):
        row = (header.record, place, header.session, body.decision, scope.get("kind", ""), scope.get("value", ""), scope.get("tool", ""))
        tables.add("scopes", row)


_KINDS: dict[str, Callable[[Tables, Progress, Header, Any, Kept], None]] = {
    "inbound": _inbound,
    "turn.started": _turn_started,
    "message": _message,
    "turn.finished": _turn_finished,
    "approval.requested": _approval_requested,
    "approval.resolved": _approval_resolved,
}
