"""Erasing bodies for good, and making the derived tables anew from the entries."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from ..errors import SessionNotFound
from ..types.entries import Draft, Entry, Header
from ..types.events import Erased, Inbound, Unreadable
from .bodies import labels_of
from .entry_writer import prepare, write
from .folding import derive, forget_erased, stored
from .projections import project
from .schema import BUILT_IN_TABLES, QUESTIONS, USAGE
from .state_changes import SESSION_FACTS, RetainedFacts, StateChanges
from .tables import Needs, Progress, QuestionRow, Tables
from .temporary_tables import broken_index
from .writer import Job

_ANSWERS_ERASED = """UPDATE outbox SET text = '', address = '', next_try = 0,
    error = CASE state WHEN 'pending' THEN 'the answer was erased before it was delivered' WHEN 'failed' THEN 'the answer was erased' ELSE '' END,
    state = CASE state WHEN 'pending' THEN 'failed' ELSE state END
    WHERE (text <> '' OR address <> '') AND NOT EXISTS (SELECT 1 FROM bodies b WHERE b.record = outbox.record)"""
"""Takes out of the outbox what is erased: the text, its address, and what a channel said of it. What waits to be delivered is given up."""


class Rebuild(Job):
    """Derive the built-in tables anew; the same rows come out. An index that has not what its table has is made anew before."""

    __slots__ = ()
    alone = True

    def run(self, tables: Tables) -> None:
        if broken_index(tables.connection):
            tables.connection.execute("REINDEX")
        rebuild(tables)


class Erase(Job):
    """Erase bodies with their keys and results, append the `erased` entry that says so, and make anew what was derived from them.

    `deletes`: the whole session goes, and its row with it.
    """

    __slots__ = ("_by", "_deletes", "_entries", "_now", "_session")
    alone = True
    empties_wal = True

    def __init__(self, session: str, entries: Sequence[int] | None, by: str, now: Callable[[], float], *, deletes: bool = False) -> None:
        self._session, self._entries, self._by, self._now, self._deletes = session, entries, by, now, deletes

    def needs(self, needs: Needs) -> None:
        needs.sessions.add(self._session)

    def run(self, tables: Tables) -> Entry | None:
        """The `erased` entry; None when there was nothing left to erase."""
        c = tables.connection
        progress = tables.progress[self._session]
        if not progress.entries:
            raise SessionNotFound(f"there is no session {self._session!r}; nothing was erased", hint="neuralclaw sessions list shows all")
        found = _erasable(c, self._session, self._entries)
        if not found and not self._deletes:
            return None
        records = [(record,) for _, record, _ in found]
        if self._entries is None or _names_session(tables, self._session, found):
            c.execute("UPDATE sessions SET title = '' WHERE session = ?", (self._session,))
        digests = {digest for record in records for (digest,) in c.execute("SELECT digest FROM blob_refs WHERE record = ?", record)}
        c.executemany("DELETE FROM bodies WHERE record = ?", records)
        c.executemany("DELETE FROM results WHERE record = ?", records)
        c.executemany("DELETE FROM state_changes WHERE record = ?", records)
        c.execute(_ANSWERS_ERASED)
        draft = Draft(progress.last_turn, Erased(entries=tuple(entry for entry, _, _ in found), by=self._by, deleted=self._deletes))
        left = _left(c, self._session, records)
        if self._deletes:
            left = msgspec.structs.replace(left, session=())
        erased = write(tables, self._session, prepare(draft, tables.derived.codec, left), self._now())
        tables.flush()
        if self._deletes:
            c.execute("DELETE FROM sessions WHERE session = ?", (self._session,))
            tables.front = ""
        rebuild(tables, self._session)
        forget_erased(tables, frozenset({erased.header.kind, *(kind for _, _, kind in found)}))
        unnamed = "DELETE FROM blobs WHERE digest = ? AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.digest = blobs.digest)"
        c.executemany(unnamed, [(digest,) for digest in digests])
        return erased


def _left(c: sqlite3.Connection, session: str, records: Sequence[tuple[int]]) -> StateChanges:
    """What stays known of a session and of records that are erased now."""
    facts: tuple[str, ...] = ()
    for row in c.execute(f"SELECT {', '.join(SESSION_FACTS)} FROM sessions WHERE session = ?", (session,)):
        facts = row
    left = RetainedFacts()
    some = msgspec.json.encode([record for (record,) in records]).decode()
    keep_facts(c, left, "t.{} IN (SELECT value FROM json_each(?))", (some,))
    among = "SELECT {} FROM {} WHERE t.record IN (SELECT value FROM json_each(?)) ORDER BY {}"
    for record, channel in c.execute(among.format("record, channel", "outbox t", "id"), (some,)):
        left.outbox.setdefault(record, []).append(channel)
    keys = "SELECT e.record, k.key FROM inbound_keys k JOIN entries e ON e.session = k.session AND e.entry = k.entry"
    for record, key in c.execute(f"{keys} WHERE e.record IN (SELECT value FROM json_each(?))", (some,)):
        left.keys[record] = key
    return StateChanges(session=facts, erased=left)


def _erasable(c: sqlite3.Connection, session: str, entries: Sequence[int] | None) -> list[tuple[int, int, str]]:
    """(entry, record, kind) of what has a body and may lose it. What says that something was erased stays."""
    sql = "SELECT e.entry, e.record, e.kind FROM entries e JOIN bodies b ON b.record = e.record WHERE e.session = ? AND e.kind <> 'erased' ORDER BY e.entry"
    wanted = None if entries is None else set(entries)
    return [row for row in c.execute(sql, (session,)).fetchall() if wanted is None or row[0] in wanted]


def _names_session(tables: Tables, session: str, erased: Sequence[tuple[int, int, str]]) -> bool:
    """Whether the session's title was given by an entry that is erased, or is the beginning of a message that is erased or cannot be read.

    Without it the next message names it.
    """
    titles = tables.connection.execute("SELECT title FROM sessions WHERE session = ?", (session,)).fetchall()
    beginning = titles[0][0].removesuffix("…") if titles else ""
    if any(kind == "session.renamed" for _, _, kind in erased):
        return True
    messages = {record for _, record, kind in erased if kind == "inbound"}
    if not beginning or not messages:
        return False
    said = stored(tables.connection, tables.derived.codec, session=session, kinds=frozenset({"inbound"}))
    bodies = [entry.body for entry in said if entry.header.record in messages]
    return any(not isinstance(body, Inbound) or " ".join(body.text.split()).startswith(beginning) for body in bodies)


def rebuild(tables: Tables, session: str | None = None) -> None:
    """Make the built-in derived tables anew from the entries, or the rows of a session in them, within the writer's transaction."""
    derive(tables, _BuiltIn(tables, _kept(tables, session)), session=session)


class _BuiltIn:
    """The built-in derived tables as one projection: their rows depend on one another."""

    kinds: frozenset[str] | None = None

    def __init__(self, tables: Tables, kept: RetainedFacts) -> None:
        self._tables, self._kept = tables, kept

    def clear(self, session: str | None) -> None:
        tables, c = self._tables, self._tables.connection
        for table in BUILT_IN_TABLES:
            if session is None:
                c.execute(f"DELETE FROM {table}")
            elif table == "blob_refs":
                c.execute("DELETE FROM blob_refs WHERE record IN (SELECT record FROM entries WHERE session = ?)", (session,))
            else:
                c.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
        tables.progress = {} if session is None else {**tables.progress, session: Progress(session)}
        tables.questions.clear()
        tables.asked.clear()

    def take(self, entry: Entry) -> None:
        tables, header = self._tables, entry.header
        body = None if isinstance(entry.body, Unreadable) else entry.body
        if header.session not in tables.progress:
            tables.progress[header.session] = Progress(header.session)
        recall(tables, self._kept, header, body)
        project(tables, header, body, self._kept)


def recall(tables: Tables, kept: RetainedFacts, header: Header, body: Any) -> None:
    """The question that an answer is about must be at hand when the answer is projected."""
    if header.kind != "approval.resolved":
        return
    name = body.approval_id if body is not None else kept.questions.get(header.record)
    if name and name not in tables.questions:
        for row in tables.connection.execute(f"SELECT {QUESTIONS} FROM questions WHERE id = ?", (name,)):
            tables.questions[name] = QuestionRow(*row)


def _kept(tables: Tables, session: str | None) -> RetainedFacts:
    """What only the derived tables know: it belongs to entries whose bodies are gone or cannot be read."""
    c, kept = tables.connection, RetainedFacts()
    where, values = ("", ()) if session is None else (" AND t.session = ?", (session,))
    keep_facts(c, kept, "NOT EXISTS (SELECT 1 FROM bodies b WHERE b.record = t.{})" + where, values)
    for entry in stored(c, tables.derived.codec, session=session):
        if isinstance(entry.body, Unreadable):
            record, h = entry.header.record, entry.header
            keep_facts(c, kept, "t.{} = ?", (record,))
            kept.blobs[record] = [digest for (digest,) in c.execute("SELECT digest FROM blob_refs WHERE record = ?", (record,))]
            for (queued,) in c.execute("SELECT queued FROM inbox WHERE session = ? AND entry = ?", (h.session, h.entry)):
                kept.inbox[record] = bool(queued)
    return kept


def keep_facts(c: sqlite3.Connection, kept: RetainedFacts, which: str, values: tuple[Any, ...]) -> None:
    """Add what the stored tables know of some records: `which` has a place for the column of `t` that holds their number."""

    def rows(columns: str, table: str, record: str) -> Iterator[tuple[Any, ...]]:
        yield from c.execute(f"SELECT {record}, {columns} FROM main.{table} t WHERE t.{record} IS NOT NULL AND {which.format(record)}", values).fetchall()

    for record, *columns in rows(USAGE, "usage", "record"):
        kept.usage[record] = tuple(columns)
    for record, name in (*rows("id", "questions", "record"), *rows("id", "questions", "answer")):
        kept.questions[record] = name
    for record, name in rows("call_id", "calls", "record"):
        kept.calls.setdefault(record, []).append(name)
    for record, inbound in rows("inbound", "turns", "started"):
        kept.inbound[record] = inbound
    for record, status in rows("status", "turns", "finished"):
        kept.status[record] = status
    parked = "SELECT t.finished, p.waiting FROM main.turns t JOIN main.progress p ON p.session = t.session AND p.open_turn = t.turn"
    for record, waiting in c.execute(f"{parked} WHERE {which.format('finished')} AND p.waiting <> ''", values).fetchall():
        kept.waiting[record] = list(labels_of(waiting))
