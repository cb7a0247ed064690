"""What the writer knows inside a transaction, and the rows it is about to write.

Looking a fact up costs a statement, and each statement hands Python's lock to another thread and back. So facts are kept between
transactions as long as no other process has written (`PRAGMA data_version`), and the rows of a whole batch are written with a few
statements of many rows each.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ..types.chain import START
from ..types.entries import Entry

_KEPT = 8192
"""Sessions and leases remembered between transactions; when there are more, all are forgotten."""
_SIZES = (64, 16, 4, 1)
"""Rows of one statement; fixed sizes, so that SQLite's prepared statements are used again."""

_INSERTS = {
    "sessions": "INSERT INTO sessions (session, origin, workspace, title, model, created) VALUES {} ON CONFLICT (session) DO UPDATE SET"
    " origin = iif(origin = '', excluded.origin, origin), workspace = iif(workspace = '', excluded.workspace, workspace),"
    " title = iif(title = '', excluded.title, title), model = iif(model = '', excluded.model, model)",
    "entries": "INSERT INTO entries VALUES {}",
    "bodies": "INSERT INTO bodies VALUES {}",
    "results": "INSERT OR REPLACE INTO results VALUES {}",
    "progress": "INSERT OR REPLACE INTO progress VALUES {}",
    "turns": "INSERT INTO turns VALUES {} ON CONFLICT (session, turn) DO UPDATE SET started = coalesce(turns.started, excluded.started),"
    " finished = coalesce(excluded.finished, turns.finished), status = coalesce(excluded.status, turns.status)",
    "questions": "INSERT OR REPLACE INTO questions VALUES {}",
    "calls": "INSERT OR REPLACE INTO calls VALUES {}",
    "scopes": "INSERT OR REPLACE INTO scopes VALUES {}",
    "usage": "INSERT OR REPLACE INTO usage VALUES {}",
    "leases": "INSERT OR REPLACE INTO leases VALUES {}",
    "inbound_keys": "INSERT INTO inbound_keys VALUES {}",
    "outbox": "INSERT INTO outbox (session, record, address, text) VALUES {}",
}


class Progress(msgspec.Struct):
    """A session's derived row. `started` is the highest turn that was begun, `open_turn` the one that has no final end, or 0.

    `waiting`: the questions of the last end of the open turn. `pending`: entry numbers of messages that no turn has taken up,
    each with its `queued`. `updated` in epoch microseconds; `unpriced` counts replies of unknown price.
    """

    session: str
    entries: int = 0
    last_turn: int = 0
    turns: int = 0
    started: int = 0
    open_turn: int = 0
    waiting: list[str] = []
    pending: dict[int, bool] = {}
    first_text: str = ""
    model: str = ""
    updated: int = 0
    usd: float = 0.0
    unpriced: int = 0

    def row(self) -> tuple[Any, ...]:
        waiting = msgspec.json.encode(self.waiting).decode() if self.waiting else ""
        pending = msgspec.json.encode(list(self.pending.items())).decode() if self.pending else ""
        head = (self.session, self.entries, self.last_turn, self.turns, self.started, self.open_turn)
        return (*head, waiting, pending, self.first_text, self.model, self.updated, self.usd, self.unpriced)

    @classmethod
    def of(cls, row: Sequence[Any]) -> "Progress":
        waiting = msgspec.json.decode(row[6], type=list[str]) if row[6] else []
        pending = dict(msgspec.json.decode(row[7], type=list[tuple[int, bool]])) if row[7] else {}
        values = (*row[:6], waiting, pending, *row[8:])
        return cls(*values)


class LeaseRow(msgspec.Struct):
    """A lease; `holder` is "" when it is free."""

    name: str
    holder: str = ""
    epoch: int = 0
    turn: int = 0
    starts: int = 0


class QuestionRow(msgspec.Struct):
    """Where a question and its answer stand, by record."""

    id: str
    session: str
    turn: int
    record: int
    answer: int | None = None


class Needs(msgspec.Struct):
    """What a batch of jobs wants to have looked up."""

    sessions: set[str] = msgspec.field(default_factory=set)
    leases: set[str] = msgspec.field(default_factory=set)
    keys: set[str] = msgspec.field(default_factory=set)
    questions: set[str] = msgspec.field(default_factory=set)


class Tables:
    """The facts and rows of the writer's transaction. Used by the writer thread alone."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.version = -1
        self._texts: dict[tuple[str, int], str] = {}
        self.forget()

    def forget(self) -> None:
        """Drop every fact and every row that is not written."""
        self.record, self.hash, self.time, self._headed = 0, START, 0, False
        self.progress: dict[str, Progress] = {}
        self.leases: dict[str, LeaseRow] = {}
        self._clear()

    def _clear(self) -> None:
        self.rows: dict[str, list[tuple[Any, ...]]] = {}
        self.keys: dict[str, tuple[str, int]] = {}
        self.questions: dict[str, QuestionRow] = {}
        self.asked: dict[str, bytes] = {}
        """Stored bodies of the questions of this batch, by id."""
        self.statements: list[tuple[str, tuple[Any, ...]]] = []
        self.entries: list[Entry] = []
        self._progress: set[str] = set()
        self._leases: set[str] = set()
        self._questions: set[str] = set()

    def begin(self, needs: Needs) -> None:
        """Open the transaction and look up what is needed and not known."""
        c = self.connection
        c.execute("BEGIN IMMEDIATE")
        version: int = c.execute("PRAGMA data_version").fetchone()[0]
        if version != self.version or len(self.progress) > _KEPT or len(self.leases) > _KEPT:
            self.forget()
            self.version = version
        if not self._headed:
            row = c.execute("SELECT record, hash, time FROM entries ORDER BY record DESC LIMIT 1").fetchone()
            if row is not None:
                self.record, self.hash, self.time = row[0], row[1].hex(), row[2]
            self._headed = True
        self.look_up(needs)

    def look_up(self, needs: Needs) -> None:
        sessions = needs.sessions - self.progress.keys()
        for row in self._select("SELECT * FROM progress WHERE session IN ({})", sessions):
            self.progress[row[0]] = Progress.of(row)
        for session in sessions - self.progress.keys():
            self.progress[session] = Progress(session)
        leases = needs.leases - self.leases.keys()
        for row in self._select("SELECT * FROM leases WHERE name IN ({})", leases):
            self.leases[row[0]] = LeaseRow(*row)
        for name in leases - self.leases.keys():
            self.leases[name] = LeaseRow(name)
        for row in self._select("SELECT * FROM inbound_keys WHERE key IN ({})", needs.keys):
            self.keys[row[0]] = (row[1], row[2])
        for row in self._select("SELECT * FROM questions WHERE id IN ({})", needs.questions):
            self.questions[row[0]] = QuestionRow(*row)

    def _select(self, sql: str, wanted: Iterable[str]) -> list[tuple[Any, ...]]:
        names = list(wanted)
        rows: list[tuple[Any, ...]] = []
        for start, size in _pieces(len(names)):
            rows += self.connection.execute(self._text(sql, size, "?"), names[start : start + size]).fetchall()
        return rows

    def _text(self, sql: str, size: int, item: str) -> str:
        text = self._texts.get((sql, size))
        if text is None:
            text = self._texts[sql, size] = sql.format(", ".join([item] * size))
        return text

    def add(self, table: str, row: tuple[Any, ...]) -> None:
        """A row to be written with the batch."""
        rows = self.rows.get(table)
        if rows is None:
            self.rows[table] = [row]
        else:
            rows.append(row)

    def touch(self, progress: Progress) -> None:
        self._progress.add(progress.session)

    def touch_lease(self, lease: LeaseRow) -> None:
        self._leases.add(lease.name)

    def put_question(self, row: QuestionRow) -> None:
        self.questions[row.id] = row
        self._questions.add(row.id)

    @property
    def changed(self) -> bool:
        return bool(self.rows or self.statements or self._progress or self._leases or self._questions)

    def flush(self) -> None:
        """Write the rows; the transaction stays open and may get more."""
        for name in self._progress:
            self.add("progress", self.progress[name].row())
        for name in self._leases:
            lease = self.leases[name]
            self.add("leases", (lease.name, lease.holder, lease.epoch, lease.turn, lease.starts))
        for name in self._questions:
            q = self.questions[name]
            self.add("questions", (q.id, q.session, q.turn, q.record, q.answer))
        for table, rows in self.rows.items():
            self._insert(table, rows)
        for sql, values in self.statements:
            self.connection.execute(sql, values)
        self.rows, self.statements = {}, []
        self._progress, self._leases, self._questions = set(), set(), set()

    def _insert(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        item = "(" + ", ".join("?" * len(rows[0])) + ")"
        for start, size in _pieces(len(rows)):
            values = rows[start] if size == 1 else [value for row in rows[start : start + size] for value in row]
            self.connection.execute(self._text(_INSERTS[table], size, item), values)

    def commit(self) -> list[Entry]:
        """End the transaction; gives the entries it wrote."""
        self.connection.execute("COMMIT")
        entries = self.entries
        self._clear()
        return entries

    def roll_back(self) -> None:
        """Undo the transaction and forget what was thought to be true in it."""
        self.forget()
        self.version = -1
        self.roll_back_if_open()

    def roll_back_if_open(self) -> None:
        """The same where the transaction was not ended; else nothing."""
        if self.connection.in_transaction:
            self.forget()
            self.version = -1
            self.connection.execute("ROLLBACK")


def _pieces(count: int) -> Iterable[tuple[int, int]]:
    """(start, size) of the statements that cover `count` rows."""
    start = 0
    for size in _SIZES:
        while count - start >= size:
            yield start, size
            start += size
