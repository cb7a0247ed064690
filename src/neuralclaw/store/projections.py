"""What is derived from entries, one function for each kind; the same functions serve the writing of an entry and the rebuilding of a home.

A body is None when it was erased or cannot be read: then only what its header says is counted, and what `kept` still knows of it.
"""

import functools
from collections.abc import Callable
from typing import Any

import msgspec

from ..types.entries import HOME, Header, named_blobs
from ..types.events import ApprovalRequested, ApprovalResolved, Cancel, Compaction, GrantRevoked, Inbound, Message, TurnFinished, TurnStarted
from .bodies import body_of, labels_of
from .state_changes import RetainedFacts
from .tables import Progress, QuestionRow, Tables

_TITLE = 60
"""Characters of a session's title."""


NOTHING = RetainedFacts()


def project(tables: Tables, header: Header, body: Any, kept: RetainedFacts = NOTHING) -> None:
    """Bring the derived rows up to date with one entry more."""
    progress = tables.progress[header.session]
    count(tables, progress, header.entry, header.turn, header.time, header.labels)
    named = kept.blobs.get(header.record) if body is None else named_blobs(body)
    if named:
        for digest in named:
            tables.add("blob_refs", (digest, header.record))
    of_kind = _KINDS.get(header.kind)
    if of_kind is not None and header.session != HOME:
        of_kind(tables, progress, header, body, kept)


def is_projected(kind: str) -> bool:
    """Whether `project` makes more of an entry of this kind than `count` does, and more than rows of the blobs that its body names."""
    return kind in _KINDS


def count(tables: Tables, progress: Progress, entry: int, turn: int, time: int, labels: tuple[str, ...]) -> None:
    """What every entry brings up to date, by its number, turn, time and labels."""
    progress.entries, progress.updated = entry, time
    if turn > progress.last_turn:
        progress.last_turn = turn
    if labels:
        progress.labels = joined(progress.labels, labels)
    tables.touch(progress)


@functools.lru_cache(1024)
def joined(stored: str, labels: tuple[str, ...]) -> str:
    """Stored labels with more of them, as they are stored."""
    return msgspec.json.encode(sorted({*labels_of(stored), *labels})).decode()


def _inbound(tables: Tables, progress: Progress, header: Header, body: Inbound | None, kept: RetainedFacts) -> None:
    queued = kept.inbox.get(header.record) if body is None else body.queued
    if queued is not None:
        tables.wait(progress, header.entry, header.turn, queued)
    if body is not None and not progress.first_text:
        progress.first_text = " ".join(body.text[: _TITLE * 4].split())[:_TITLE]


def _cancel(tables: Tables, progress: Progress, header: Header, body: Cancel | None, kept: RetainedFacts) -> None:
    """A message that is withdrawn waits for no turn any more."""
    if body is not None and body.message is not None:
        tables.take_up(progress, body.message)


def _turn_started(tables: Tables, progress: Progress, header: Header, body: TurnStarted | None, kept: RetainedFacts) -> None:
    if header.turn > progress.started:
        progress.turns += 1
        progress.started = header.turn
    progress.open_turn = header.turn
    progress.waiting = []
    if body is not None:
        progress.model = body.model
    inbound = kept.inbound.get(header.record) if body is None else body.inbound
    if inbound is not None:
        tables.take_up(progress, inbound)
    tables.add("turns", (header.session, header.turn, header.record, None, None, inbound))


def _message(tables: Tables, progress: Progress, header: Header, body: Message | None, kept: RetainedFacts) -> None:
    if body is None:
        row = kept.usage.get(header.record)
        for call_id in kept.calls.get(header.record, ()):
            tables.add("calls", (header.session, call_id, header.record))
        if row is None:
            return
    else:
        tables.take_in(progress, header.turn, body.seen)
        u = body.usage
        row = (header.record, header.session, header.turn, header.time, body.model, u.input, u.cached, u.output, u.usd)
        for call in body.tool_calls:
            tables.add("calls", (header.session, call.id, header.record))
        if body.copied:
            return
    _spend(tables, progress, row)


def _compaction(tables: Tables, progress: Progress, header: Header, body: Compaction | None, kept: RetainedFacts) -> None:
    """A summary that a model wrote was paid for."""
    if body is None:
        row = kept.usage.get(header.record)
    else:
        u = body.usage
        paid = not body.copied and (body.model or u.input or u.output)
        row = (header.record, header.session, header.turn, header.time, body.model or progress.model, u.input, u.cached, u.output, u.usd) if paid else None
    if row is not None:
        _spend(tables, progress, row)


def _spend(tables: Tables, progress: Progress, row: tuple[Any, ...]) -> None:
    *_, usd = row
    if usd is None:
        progress.unpriced += 1
    else:
        progress.usd += usd
    tables.add("usage", row)


def _turn_finished(tables: Tables, progress: Progress, header: Header, body: TurnFinished | None, kept: RetainedFacts) -> None:
    if header.turn == progress.open_turn:
        progress.waiting = kept.waiting.get(header.record, []) if body is None else list(body.waiting)
        if not progress.waiting:
            progress.open_turn = 0
    status = kept.status.get(header.record) if body is None else body.status
    tables.add("turns", (header.session, header.turn, None, header.record, status, None))


def _approval_requested(tables: Tables, progress: Progress, header: Header, body: ApprovalRequested | None, kept: RetainedFacts) -> None:
    name = body.approval_id if body else kept.questions.get(header.record)
    if name is None:
        return
    tables.put_question(QuestionRow(name, header.session, header.turn, header.record))
    if body is not None:
        tables.asked[name] = body.scopes


def _approval_resolved(tables: Tables, progress: Progress, header: Header, body: ApprovalResolved | None, kept: RetainedFacts) -> None:
    name = body.approval_id if body else kept.questions.get(header.record)
    question = tables.questions.get(name) if name else None
    if question is None:
        return
    question.answer = header.record
    tables.put_question(question)
    if body is None or body.decision not in ("session", "always"):
        return
    scopes = tables.asked.get(question.id)
    for place, scope in enumerate(_scopes(tables, question) if scopes is None else scopes):
        row = (header.record, place, header.session, body.decision, scope.get("kind", ""), scope.get("value", ""), scope.get("tool", ""))
        tables.add("scopes", row)


def _grant_revoked(tables: Tables, progress: Progress, header: Header, body: GrantRevoked | None, kept: RetainedFacts) -> None:
    """The grant is gone. Where it cannot be read which one, all that the session gave before are: a yes never comes back by damage."""
    if body is None:
        tables.statements.append(("DELETE FROM scopes WHERE session = ? AND record < ?", (header.session, header.record)))
    else:
        tables.statements.append(("DELETE FROM scopes WHERE record = (SELECT answer FROM questions WHERE id = ?)", (body.grant_id,)))


def _scopes(tables: Tables, question: QuestionRow) -> tuple[dict[str, str], ...]:
    """What a question recorded earlier offered to allow; nothing when its body is gone or cannot be read."""
    sql = "SELECT e.kind, e.version, b.data, e.session, e.entry FROM entries e JOIN bodies b ON b.record = e.record WHERE e.record = ?"
    found = [body_of(*row) for row in tables.connection.execute(sql, (question.record,)).fetchall()]
    return found[0].scopes if found and isinstance(found[0], ApprovalRequested) else ()


_KINDS: dict[str, Callable[[Tables, Progress, Header, Any, RetainedFacts], None]] = {
    "inbound": _inbound,
    "cancel": _cancel,
    "turn.started": _turn_started,
    "message": _message,
    "compaction": _compaction,
    "turn.finished": _turn_finished,
    "approval.requested": _approval_requested,
    "approval.resolved": _approval_resolved,
    "grant.revoked": _grant_revoked,
}
