"""Rows as values: entries, sessions, questions, scopes. Every function reads on a connection it is given."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ..errors import SessionNotFound, StoreError
from ..types.actions import Scope
from ..types.entries import Entry, Header, decode_body, rfc3339
from ..types.events import VERSIONS, ApprovalRequested, ApprovalResolved, Durable
from ..types.rows import OpenQuestion, SessionRow, SessionState
from .tables import Progress

ENTRY = "SELECT e.*, b.data FROM entries e LEFT JOIN bodies b ON b.record = e.record"

_kinds: frozenset[str] = frozenset(str(t.__struct_config__.tag) for t in Durable.__args__)
_labels: dict[str, tuple[str, ...]] = {}


def labels_of(text: str) -> tuple[str, ...]:
    """Stored labels. What cannot be read stands for itself, so that a verification finds it changed."""
    known = _labels.get(text)
    if known is None:
        try:
            known = msgspec.json.decode(text, type=tuple[str, ...])
        except msgspec.DecodeError:
            known = (text,)
        if len(_labels) > 256:
            _labels.clear()
        _labels[text] = known
    return known


def header_of(row: Sequence[Any]) -> Header:
    return Header(
        record=row[0],
        session=row[1],
        entry=row[2],
        turn=row[3],
        kind=row[4],
        version=row[5],
        time=row[6],
        labels=labels_of(row[7]),
        digest=row[8].hex(),
        hash=row[9].hex(),
    )


def entry_of(row: Sequence[Any]) -> Entry:
    """An entry from a row of `ENTRY`. Raises `StoreError` for a body that cannot be read."""
    header = header_of(row)
    if row[10] is None:
        return Entry(header, None)
    try:
        return Entry(header, decode_body(header.kind, header.version, row[10]))
    except (msgspec.DecodeError, KeyError) as error:
        place = f"entry {header.entry} of session {header.session}"
        if header.kind not in _kinds or header.version > VERSIONS.get(header.kind, 1):
            raise StoreError(
                f"{place} was written by a newer version of the program; nothing was changed", hint="install the newer version", newer=True
            ) from error
        raise StoreError(f"{place} is damaged ({error}); nothing was changed", hint="neuralclaw audit verify names the first bad record") from error


def entries_after(c: sqlite3.Connection, session: str, *, after: int, from_turn: int, kinds: Sequence[str] | None, limit: int) -> list[Entry]:
    """At most `limit` entries of a session (-1: all), oldest first."""
    values: list[Any] = [session, after]
    # A plus sign keeps a condition from choosing the index: a turn's entries are found by the turn.
    where = "e.session = ? AND e.entry > ?" if not from_turn else "e.session = ? AND +e.entry > ? AND e.turn >= ?"
    if from_turn:
        values.append(from_turn)
    if kinds is not None:
        where += f" AND e.kind IN ({', '.join('?' * len(kinds))})"
        values += kinds
    order = "+e.entry" if from_turn else "e.entry"
    rows = c.execute(f"{ENTRY} WHERE {where} ORDER BY {order} LIMIT ?", (*values, limit)).fetchall()
    return [entry_of(row) for row in rows]


def records_after(c: sqlite3.Connection, record: int, limit: int) -> list[Entry]:
    """At most `limit` entries of all sessions with a record number above `record`, in record order."""
    rows = c.execute(f"{ENTRY} WHERE e.record > ? ORDER BY e.record LIMIT ?", (record, limit)).fetchall()
    return [entry_of(row) for row in rows]


def last_record(c: sqlite3.Connection) -> int:
    number: int = c.execute("SELECT coalesce(max(record), 0) FROM entries").fetchone()[0]
    return number


_SESSION = (
    "SELECT s.origin, s.workspace, s.title, s.model, s.created, s.aside, l.holder, s.session, {} FROM sessions s"
    " LEFT JOIN progress p ON p.session = s.session LEFT JOIN leases l ON l.name = 'session:' || s.session"
).format(", ".join("p." + name for name in Progress.__struct_fields__))


def session_row(c: sqlite3.Connection, session: str, alive: Callable[[str], bool]) -> SessionRow | None:
    row = c.execute(f"{_SESSION} WHERE s.session = ?", (session,)).fetchone()
    return _session(c, row, alive) if row else None


def session_rows(c: sqlite3.Connection, alive: Callable[[str], bool], *, unfinished: bool) -> list[SessionRow]:
    """All sessions, the one that changed last first; with `unfinished` only those that wait to be gone on with."""
    known: dict[str, bool] = {}

    def asked_once(holder: str) -> bool:
        if holder not in known:
            known[holder] = alive(holder)
        return known[holder]

    where = " WHERE p.open_turn > 0 OR p.pending <> ''" if unfinished else ""
    rows = [_session(c, row, asked_once) for row in c.execute(f"{_SESSION}{where}").fetchall()]
    rows.sort(key=lambda r: (r.updated, r.session), reverse=True)
    return [row for row in rows if not unfinished or row.state == "unfinished"]


def _session(c: sqlite3.Connection, row: Sequence[Any], alive: Callable[[str], bool]) -> SessionRow:
    origin, workspace, title, model, created, aside, holder, session = row[:8]
    p = Progress.of(row[8:]) if row[8] is not None else Progress(session)
    return SessionRow(
        session=session,
        title=title or p.first_text,
        state=_state(c, p, bool(aside), bool(holder) and alive(holder)),
        turns=p.turns,
        model=p.model or model,
        origin=origin,
        workspace=workspace,
        created=rfc3339(created),
        updated=rfc3339(max(p.updated, created)),
        usd=None if p.unpriced else p.usd,
        entries=p.entries,
        last_turn=p.started,
        open_turn=p.open_turn,
    )


def _state(c: sqlite3.Connection, p: Progress, aside: bool, held: bool) -> SessionState:
    if not (p.open_turn or p.pending):
        return "set_aside" if aside else "idle"
    if p.open_turn and any(_is_open(c, name) for name in p.waiting):
        return "waiting"  # also in the moment in which whoever parked it still holds the lease
    if held:
        return "running"
    return "set_aside" if aside else "unfinished"


def _is_open(c: sqlite3.Connection, question: str) -> bool:
    return c.execute("SELECT 1 FROM questions WHERE id = ? AND answer IS NULL", (question,)).fetchone() is not None


def find_session(c: sqlite3.Connection, prefix: str) -> str:
    """The one session of that id, else the only one whose id begins so. Raises `SessionNotFound`."""
    if c.execute("SELECT 1 FROM sessions WHERE session = ?", (prefix,)).fetchone():
        return prefix
    beyond = prefix + "\U0010ffff"
    rows = c.execute("SELECT session FROM sessions WHERE session >= ? AND session < ? ORDER BY session LIMIT 6", (prefix, beyond)).fetchall() if prefix else []
    names: list[str] = [row[0] for row in rows]
    if len(names) == 1:
        return names[0]
    hint = "neuralclaw sessions list shows all"
    if not names:
        raise SessionNotFound(f"there is no session {prefix!r}; nothing was changed", hint=hint)
    listed = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    raise SessionNotFound(f"several sessions begin with {prefix!r}: {listed}; nothing was changed", hint=hint)


def question_rows(c: sqlite3.Connection, session: str | None, *, open_only: bool) -> list[OpenQuestion]:
    """Questions, oldest first; those whose body was erased are not shown."""
    where = [*(["q.session = ?"] if session is not None else []), *(["q.answer IS NULL"] if open_only else [])]
    rows = c.execute(
        "SELECT q.session, q.turn, e.time, b.data, a.data FROM questions q JOIN entries e ON e.record = q.record"
        " JOIN bodies b ON b.record = q.record LEFT JOIN bodies a ON a.record = q.answer"
        f"{' WHERE ' + ' AND '.join(where) if where else ''} ORDER BY q.record",
        (session,) if session is not None else (),
    ).fetchall()
    try:
        return [OpenQuestion(s, turn, rfc3339(time), _requested.decode(q), _resolved.decode(a) if a else None) for s, turn, time, q, a in rows]
    except msgspec.DecodeError as error:
        raise StoreError(f"a recorded question is damaged ({error}); nothing was changed", hint="neuralclaw audit verify names the first bad record") from error


_requested = msgspec.json.Decoder(ApprovalRequested)
_resolved = msgspec.json.Decoder(ApprovalResolved)


def scope_rows(c: sqlite3.Connection, session: str) -> list[Scope]:
    rows = c.execute(
        "SELECT kind, value, tool, record, place FROM scopes WHERE session = ? AND decision = 'session'"
        " UNION SELECT kind, value, tool, record, place FROM scopes WHERE decision = 'always' ORDER BY record, place",
        (session,),
    ).fetchall()
    return list(dict.fromkeys(Scope(kind, value, tool) for kind, value, tool, _, _ in rows))


def result_text(c: sqlite3.Connection, session: str, call_id: str) -> str | None:
    row = c.execute("SELECT data FROM results WHERE session = ? AND call_id = ?", (session, call_id)).fetchone()
    return row[0].decode("utf-8", "surrogatepass") if row else None


def known_calls(c: sqlite3.Connection, session: str, call_ids: Sequence[str]) -> set[str]:
    marks = ", ".join("?" * len(call_ids))
    return {row[0] for row in c.execute(f"SELECT call_id FROM calls WHERE session = ? AND call_id IN ({marks})", (session, *call_ids))}
