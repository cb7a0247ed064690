"""Erasing bodies for good, and making the derived tables anew from the entries."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import SessionNotFound
from ..types.entries import Draft, Entry
from ..types.events import Erased
from .journal import prepare, write
from .projections import Kept, project
from .reading import ENTRY, entry_of
from .tables import Needs, Progress, QuestionRow, Tables
from .writer import Job

_DERIVED = ("progress", "turns", "questions", "scopes", "usage", "calls")
_CHUNK = 500


class Rebuild(Job):
    """Derive everything anew; the same rows come out."""

    __slots__ = ()
    alone = True

    def run(self, tables: Tables) -> None:
        derive(tables, None)


class Erase(Job):
    """Erase bodies with their keys and results, append the `erased` entry that says so, and derive the session anew."""

    __slots__ = ("_by", "_entries", "_now", "_session")
    alone = True
    empties_wal = True

    def __init__(self, session: str, entries: Sequence[int] | None, by: str, now: Callable[[], float]) -> None:
        self._session, self._entries, self._by, self._now = session, entries, by, now

    def needs(self, needs: Needs) -> None:
        needs.sessions.add(self._session)

    def run(self, tables: Tables) -> Entry | None:
        """The `erased` entry; None when there was nothing left to erase."""
        c = tables.connection
        progress = tables.progress[self._session]
        if not progress.entries:
            raise SessionNotFound(f"there is no session {self._session!r}; nothing was erased", hint="neuralclaw sessions list shows all")
        found = _erasable(c, self._session, self._entries)
        if not found:
            return None
        records = [(record,) for _, record in found]
        c.executemany("DELETE FROM bodies WHERE record = ?", records)
        c.executemany("DELETE FROM results WHERE record = ?", records)
        c.executemany("UPDATE outbox SET text = '' WHERE record = ? AND state <> 'pending'", records)
        draft = Draft(progress.last_turn, Erased(entries=tuple(entry for entry, _ in found), by=self._by))
        erased = write(tables, self._session, prepare(draft), self._now())
        tables.flush()
        derive(tables, self._session)
        return erased


def _erasable(c: sqlite3.Connection, session: str, entries: Sequence[int] | None) -> list[tuple[int, int]]:
    """(entry, record) of what has a body and may lose it. What says that something was erased stays."""
    sql = "SELECT e.entry, e.record FROM entries e JOIN bodies b ON b.record = e.record WHERE e.session = ? AND e.kind <> 'erased'"
    rows: list[tuple[int, int]] = c.execute(sql + " ORDER BY e.entry", (session,)).fetchall()
    wanted = None if entries is None else set(entries)
    return [row for row in rows if wanted is None or row[0] in wanted]


def derive(tables: Tables, session: str | None) -> None:
    """Make the derived rows of a session, or of all, anew from the entries, within the writer's transaction."""
    c = tables.connection
    kept = _kept(c, session)
    for table in _DERIVED:
        if session is None:
            c.execute(f"DELETE FROM {table}")
        else:
            c.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
    tables.progress = {} if session is None else {**tables.progress, session: Progress(session)}
    tables.questions.clear()
    for header, body in _all(c, session):
        if header.session not in tables.progress:
            tables.progress[header.session] = Progress(header.session)
        _recall(tables, kept, header.kind, header.record, body)
        project(tables, header, body, kept)
        if header.record % _CHUNK == 0:
            tables.flush()
    tables.flush()


def _all(c: sqlite3.Connection, session: str | None) -> Iterator[tuple[Any, Any]]:
    after = 0
    where = "" if session is None else " AND e.session = ?"
    values = () if session is None else (session,)
    while True:
        rows = c.execute(f"{ENTRY} WHERE e.record > ?{where} ORDER BY e.record LIMIT {_CHUNK}", (after, *values)).fetchall()
        for row in rows:
            entry = entry_of(row)
            yield entry.header, entry.body
        if not rows:
            return
        after = rows[-1][0]


def _recall(tables: Tables, kept: Kept, kind: str, record: int, body: Any) -> None:
    """The question that an answer is about must be at hand when the answer is projected."""
    if kind != "approval.resolved":
        return
    name = body.approval_id if body is not None else kept.questions.get(record)
    if name and name not in tables.questions:
        row = tables.connection.execute("SELECT * FROM questions WHERE id = ?", (name,)).fetchone()
        if row:
            tables.questions[name] = QuestionRow(*row)


def _kept(c: sqlite3.Connection, session: str | None) -> Kept:
    """What only the derived tables know: it belongs to entries whose bodies are gone."""
    where, values = ("", ()) if session is None else (" AND t.session = ?", (session,))
    kept = Kept()
    gone = "NOT EXISTS (SELECT 1 FROM bodies b WHERE b.record = t.{})"
    for row in c.execute(f"SELECT * FROM usage t WHERE {gone.format('record')}{where}", values):
        kept.usage[row[0]] = row
    for name, record in c.execute(f"SELECT id, record FROM questions t WHERE {gone.format('record')}{where}", values):
        kept.questions[record] = name
    for name, answer in c.execute(f"SELECT id, answer FROM questions t WHERE answer IS NOT NULL AND {gone.format('answer')}{where}", values):
        kept.questions[answer] = name
    for name, record in c.execute(f"SELECT call_id, record FROM calls t WHERE {gone.format('record')}{where}", values):
        kept.calls.setdefault(record, []).append(name)
    return kept
