"""Rows as values: entries, sessions, questions. Every function reads on a connection it is given."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from ..errors import StoreError
from ..types.codec import Codec
from ..types.entries import Entry, rfc3339
from ..types.events import ApprovalRequested, ApprovalResolved
from ..types.records import OpenQuestion, Prefix, SessionRow, SessionState
from .bodies import body_of, labels_of
from .derived_tables import CapabilityTable, DerivedTables, lags
from .tables import Progress
from .values import prefix_range
from .verified import ENTRY, entry_of

PAGE_BYTES = 1 << 20
"""Bytes of stored bodies with which a page of entries ends: a page with the longest bodies is as easily held as one with many short ones."""


class Wanted(msgspec.Struct, frozen=True):
    """Which entries of a session are read: those above number `after`, of a turn of at least `from_turn`, of these kinds (None: all)."""

    session: str
    after: int = 0
    from_turn: int = 0
    kinds: Sequence[str] | None = None
    verified: bool = False
    """Each entry is held against the chain, whatever its kind."""


def entries_after(c: sqlite3.Connection, codec: Codec, wanted: Wanted, limit: int) -> list[Entry]:
    """At most `limit` entries of a session (-1: all), oldest first."""
    rows = c.execute(*_reading(wanted, limit)).fetchall()
    return [entry_of(row, codec, every=wanted.verified) for row in rows]


def page_after(c: sqlite3.Connection, codec: Codec, wanted: Wanted, limit: int) -> list[Entry]:
    """At most `limit` entries of a session, oldest first; none behind the one with which their bodies are `PAGE_BYTES` or more."""
    entries: list[Entry] = []
    size, rows = 0, c.execute(*_reading(wanted, limit))
    try:
        for row in rows:
            entries.append(entry_of(row, codec, every=wanted.verified))
            size += len(row[-1] or b"")
            if size >= PAGE_BYTES:
                break
    finally:
        rows.close()
    return entries


def _reading(wanted: Wanted, limit: int) -> tuple[str, tuple[Any, ...]]:
    """The statement that reads at most `limit` entries, and its values."""
    session, after, from_turn, kinds = wanted.session, wanted.after, wanted.from_turn, wanted.kinds
    values: list[Any] = [session, after]
    # A plus sign keeps a condition from choosing the index: a turn's entries are found by the turn.
    where = "e.session = ? AND e.entry > ?" if not from_turn else "e.session = ? AND +e.entry > ? AND e.turn >= ?"
    if from_turn:
        values.append(from_turn)
    if kinds is not None:
        where += f" AND e.kind IN ({', '.join('?' * len(kinds))})"
        values += kinds
    order = "+e.entry" if from_turn else "e.entry"
    return f"{ENTRY} WHERE {where} ORDER BY {order} LIMIT ?", (*values, limit)


def records_after(c: sqlite3.Connection, codec: Codec, record: int, limit: int) -> list[Entry]:
    """At most `limit` entries of all sessions with a record number above `record`, in record order."""
    rows = c.execute(f"{ENTRY} WHERE e.record > ? ORDER BY e.record LIMIT ?", (record, limit)).fetchall()
    return [entry_of(row, codec) for row in rows]


class Query(msgspec.Struct, frozen=True):
    """Which rows of a table are read, and in which order. See `ports.Store.rows`."""

    table: str
    where: Mapping[str, Any]
    order: Sequence[str]
    descending: bool
    limit: int | None


def table_rows(c: sqlite3.Connection, derived: DerivedTables, query: Query, *, frozen: bool) -> list[dict[str, Any]] | None:
    """Rows of a table; None for a capability's table that is not kept here as it is defined: it is folded in memory. Raises `StoreError`.

    `frozen`: nobody folds entries into it while this home is read.
    """
    stored, columns, _ = derived.shape(query.table)
    table = derived.tables.get(query.table)
    if table is None:
        return selected(c, stored, columns, query)
    c.execute("BEGIN")  # another version of the capability may make the table anew at any moment
    try:
        digest, folded = _kept(c, table)
        if digest == table.digest and not ((frozen or folded == 0) and lags(c, table, folded)):
            return selected(c, stored, columns, query)
        return [] if not digest and not lags(c, table, 0) else None
    finally:
        if c.in_transaction:
            c.execute("ROLLBACK")


def selected(c: sqlite3.Connection, stored: str, columns: Sequence[str], query: Query) -> list[dict[str, Any]]:
    """Rows of the table that the database calls `stored`. Raises `StoreError` for a column that is not there."""
    if strange := [name for name in (*query.where, *query.order) if name not in columns]:
        raise StoreError(f"the table {query.table} has no column {', '.join(map(str, strange))}: {', '.join(columns)}")
    conditions: list[str] = []
    values: list[Any] = []
    for name, value in query.where.items():
        if isinstance(value, (list, tuple, set, frozenset)):
            there = [one for one in value if one is not None]
            condition = f'"{name}" IN ({", ".join("?" * len(there))})'
            conditions.append(condition if len(there) == len(value) else f'({condition} OR "{name}" IS NULL)')
            values += there
        elif isinstance(value, Prefix):
            first, end = prefix_range(value.text)
            conditions.append(f'"{name}" >= ?' if end is None else f'"{name}" >= ? AND "{name}" < ?')
            values += [first] if end is None else [first, end]
        elif value is None:
            conditions.append(f'"{name}" IS NULL')
        else:
            conditions.append(f'"{name}" = ?')
            values.append(value)
    way = " DESC" if query.descending else ""
    order = " ORDER BY " + ", ".join(f'"{name}"{way}' for name in query.order) if query.order else ""
    listed = ", ".join(f'"{name}"' for name in columns)
    limit = -1 if query.limit is None else query.limit
    rows = c.execute(f'SELECT {listed} FROM "{stored}"{_all_of(conditions)}{order} LIMIT ?', (*values, limit)).fetchall()
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _all_of(conditions: Sequence[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _kept(c: sqlite3.Connection, table: CapabilityTable) -> tuple[str, int]:
    """The digest of the definition by which a capability's table is kept, "" where it was never made, and the record up to which it is folded."""
    found: tuple[str, int] = c.execute("SELECT digest, folded FROM derived_tables WHERE name = ?", (table.name,)).fetchone() or ("", 0)
    return found


def kept_until(c: sqlite3.Connection, table: CapabilityTable) -> int:
    """The record up to which the table is folded by this very definition, 0 where it is not."""
    digest, folded = _kept(c, table)
    return folded if digest == table.digest else 0


def last_record(c: sqlite3.Connection) -> int:
    number: int = c.execute("SELECT coalesce(max(record), 0) FROM entries").fetchone()[0]
    return number


_SESSION = (
    "SELECT s.session, s.origin, s.workspace, s.title, s.model, s.parent, s.soul, s.created, s.aside, l.holder,"
    " EXISTS (SELECT 1 FROM inbox i WHERE i.session = s.session), {} FROM sessions s"
    " LEFT JOIN progress p ON p.session = s.session LEFT JOIN leases l ON l.name = 'session:' || s.session"
).format(", ".join("p." + name for name in Progress.__struct_fields__))
_UNFINISHED = "s.session IN (SELECT session FROM progress WHERE open_turn > 0 UNION SELECT session FROM inbox)"


def session_rows(c: sqlite3.Connection, session: str | None, alive: Callable[[str], bool], now: float, *, unfinished: bool) -> list[SessionRow]:
    """Sessions as they stand at `now` (epoch seconds), the one that changed last first: all, or the one of that id; with `unfinished` only those that
    wait to be gone on with."""
    known: dict[str, bool] = {}

    def asked_once(holder: str) -> bool:
        if holder not in known:
            known[holder] = alive(holder)
        return known[holder]

    where = [*(["s.session = ?"] if session is not None else []), *([_UNFINISHED] if unfinished else [])]
    found = c.execute(f"{_SESSION}{_all_of(where)} ORDER BY s.front DESC, s.session DESC", () if session is None else (session,)).fetchall()
    rows = [_session(c, row, asked_once, now) for row in found]
    return [row for row in rows if not unfinished or row.state in ("unfinished", "set_aside")]


def _session(c: sqlite3.Connection, row: Sequence[Any], alive: Callable[[str], bool], now: float) -> SessionRow:
    session, origin, workspace, title, model, parent, soul, created, aside, holder, pending, of, *columns = row
    p = Progress.of((of, *columns)) if of is not None else Progress(session)
    return SessionRow(
        session=session,
        title=title or p.first_text,
        state=_state(c, p, bool(pending), bool(aside), bool(holder) and alive(holder), now),
        turns=p.turns,
        model=p.model or model,
        origin=origin,
        workspace=workspace,
        created=rfc3339(created),
        updated=rfc3339(p.updated or created),
        usd=None if p.unpriced else p.usd,
        entries=p.entries,
        last_turn=p.started,
        open_turn=p.open_turn,
        pending=bool(pending),
        parent=parent,
        soul=soul,
        labels=frozenset(labels_of(p.labels)),
    )


def _state(c: sqlite3.Connection, p: Progress, pending: bool, aside: bool, held: bool, now: float) -> SessionState:
    if not (p.open_turn or pending):
        return "set_aside" if aside else "idle"
    if p.open_turn and any(_is_open(c, name, now) for name in p.waiting):
        return "waiting"  # also in the moment in which whoever parked it still holds the lease
    if held:
        return "running"
    return "set_aside" if aside else "unfinished"


def _is_open(c: sqlite3.Connection, question: str, now: float) -> bool:
    """Whether a person can still answer it: one that is erased, cannot be read or has expired waits for nobody."""
    found = _question_row(c, question)
    return found is not None and found.is_open(now)


_QUESTION = (
    "SELECT q.session, q.turn, e.time, e.entry, e.kind, e.version, b.data, a.entry, a.kind, a.version, d.data FROM questions q"
    " JOIN entries e ON e.record = q.record JOIN bodies b ON b.record = q.record"
    " LEFT JOIN entries a ON a.record = q.answer LEFT JOIN bodies d ON d.record = q.answer"
)


def question_rows(c: sqlite3.Connection, approval_id: str | None, session: str | None, now: float, *, open_only: bool) -> list[OpenQuestion]:
    """Questions, oldest first: all, the one of that id, those of a session. One whose body was erased or cannot be read is not among them. `open_only`:
    those that can be answered at `now`."""
    named = {"q.id = ?": approval_id, "q.session = ?": session}
    values = [value for value in named.values() if value is not None]
    where = [*(condition for condition, value in named.items() if value is not None), *(["q.answer IS NULL"] if open_only else [])]
    rows = c.execute(f"{_QUESTION}{_all_of(where)} ORDER BY q.record", values).fetchall()
    return [question for row in rows if (question := _question(row)) is not None and (question.is_open(now) or not open_only)]


def _question_row(c: sqlite3.Connection, approval_id: str) -> OpenQuestion | None:
    """The question of that id; None when there is none, its body was erased or cannot be read."""
    row = c.execute(f"{_QUESTION} WHERE q.id = ?", (approval_id,)).fetchone()
    return _question(row) if row else None


def _question(row: Sequence[Any]) -> OpenQuestion | None:
    session, turn, time, entry, kind, version, asked, answer_entry, answer_kind, answer_version, answered = row
    question = body_of(kind, version, asked, session, entry)
    if not isinstance(question, ApprovalRequested):
        return None
    if question.kind == "action":  # of a version without these words: an answer whose extent nobody reads is not offered
        offered = tuple(c for c in question.choices if c not in ("session", "always") or getattr(question.covers, c) is not None)
        question = msgspec.structs.replace(question, choices=offered)
    answer = body_of(answer_kind, answer_version, answered, session, answer_entry) if answered is not None else None
    if answer_entry is not None and not isinstance(answer, ApprovalResolved):
        answer = ApprovalResolved(approval_id=question.approval_id, decision="no", by="unreadable")  # erased, or it cannot be read: no yes is left
    return OpenQuestion(session, turn, rfc3339(time), question, answer if isinstance(answer, ApprovalResolved) else None)
