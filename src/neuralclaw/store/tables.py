"""What the writer knows inside a transaction, and the rows it is about to write.

Looking a fact up costs a statement, and each statement hands Python's lock to another thread and back. So facts are kept between
transactions as long as no other process has written (`dialect.foreign_version`), and the rows of a whole batch are written with a few
statements of many rows each.
"""

import sqlite3
from collections.abc import Iterable
from typing import Any

import msgspec

from ..errors import StoreError
from ..types.chain import START
from ..types.entries import HOME, Entry
from . import dialect
from .bodies import labels_of
from .derived_tables import DerivedTables
from .migrations import VERSION, check_schema
from .schema import LEASES, PROGRESS, QUESTIONS, RECORDS

_KEPT = 8192
"""Sessions and leases remembered between transactions; when there are more, all are forgotten."""
_SIZES = (64, 16, 4, 1)
"""Rows of one statement; fixed sizes, so that SQLite's prepared statements are used again."""

_LOOK_UPS = {
    "progress": f"SELECT {PROGRESS} FROM progress WHERE session IN ({{}})",
    "leases": f"SELECT {LEASES} FROM leases WHERE name IN ({{}})",
    "inbound_keys": "SELECT key, session, entry FROM inbound_keys WHERE key IN ({})",
    "questions": f"SELECT {QUESTIONS} FROM questions WHERE id IN ({{}})",
    "blobs": "SELECT digest FROM blobs WHERE digest IN ({})",
}


class Progress(msgspec.Struct):
    """A session's derived row. `started` is the highest turn that was begun, `open_turn` the one that has no final end, or 0.

    `steering` counts the messages that wait and are not queued. `waiting`: the questions of the last end of the open turn. `labels`: those of all
    entries, as sorted JSON. `updated` in epoch microseconds; `unpriced` counts replies of unknown price.
    """

    session: str
    entries: int = 0
    last_turn: int = 0
    turns: int = 0
    started: int = 0
    open_turn: int = 0
    steering: int = 0
    waiting: list[str] = []
    labels: str = "[]"
    first_text: str = ""
    model: str = ""
    updated: int = 0
    usd: float = 0.0
    unpriced: int = 0

    def row(self) -> tuple[Any, ...]:
        """The columns `PROGRESS`, and the schema that its writer knows."""
        waiting = msgspec.json.encode(self.waiting).decode() if self.waiting else ""
        head = (self.session, self.entries, self.last_turn, self.turns, self.started, self.open_turn, self.steering)
        return (*head, waiting, self.labels, self.first_text, self.model, self.updated, self.usd, self.unpriced, VERSION)

    @classmethod
    def of(cls, row: Iterable[Any]) -> "Progress":
        """From the columns `PROGRESS`."""
        progress = cls(*row)
        text: Any = progress.waiting
        progress.waiting = list(labels_of(text)) if text else []
        return progress


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
    blobs: set[str] = msgspec.field(default_factory=set)
    records: set[tuple[str, str]] = msgspec.field(default_factory=set)
    outbox: set[int] = msgspec.field(default_factory=set)


class RecordRow(msgspec.Struct, frozen=True):
    """A record as it is kept: `value` is JSON, `updated` in epoch microseconds."""

    space: str
    key: str
    value: str
    version: int
    updated: int


class Tables:
    """The facts and rows of the writer's transaction. Used by the writer thread alone."""

    def __init__(self, connection: sqlite3.Connection, patience: float, derived: DerivedTables) -> None:
        self.connection, self._patience, self.derived = connection, patience, derived
        dialect.wait_for_locks(connection, 0)  # `begin` waits; nothing else of a transaction has to
        self.version = -1
        self._texts: dict[tuple[str, int], str] = {}
        self._seen = (0, START)
        """Number and hash of the last record that was read here or committed."""
        self.forget()

    def forget(self) -> None:
        """Drop every fact and every row that is not written."""
        self.record, self.hash, self._headed = 0, START, False
        self.front = ""
        """The session that changed last, where this process knows."""
        self.progress: dict[str, Progress] = {}
        self.leases: dict[str, LeaseRow] = {}
        self._clear()

    def _clear(self) -> None:
        self.rows: dict[str, list[tuple[Any, ...]]] = {}
        self.keys: dict[str, tuple[str, int]] = {}
        self.questions: dict[str, QuestionRow] = {}
        self.asked: dict[str, tuple[dict[str, str], ...]] = {}
        """The scopes of this batch's questions, by id."""
        self.kept: set[str] = set()
        """Those blobs that were asked for and are there."""
        self.records: dict[tuple[str, str], RecordRow] = {}
        """Those records that were asked for and are there."""
        self.record_version = 0
        """The highest version that a record had; known where a record was asked for."""
        self.outbox: set[int] = set()
        """Those items of the outbox that were asked for and are there."""
        self._fronts: dict[str, tuple[int, int]] = {}
        """Sessions of this batch that came to the front: the time of their last change, and its record."""
        self._inbox: dict[str, dict[int, tuple[int, bool]]] = {}
        """Messages of this batch that wait: session, entry, then turn and whether it is queued."""
        self.statements: list[tuple[str, tuple[Any, ...]]] = []
        self.entries: list[Entry] = []
        self._progress: set[str] = set()
        self._leases: set[str] = set()
        self._questions: set[str] = set()

    def begin(self, needs: Needs) -> None:
        """Open the transaction and look up what is needed and not known. Raises `StoreError` where a newer program has migrated the home meanwhile, and
        where the record went back."""
        c = self.connection
        dialect.begin(c, self._patience)
        version = dialect.foreign_version(c)
        if version != self.version or len(self.progress) > _KEPT or len(self.leases) > _KEPT:
            self.forget()
            check_schema(c)
            self.version = version
        if not self._headed:
            for record, link in c.execute("SELECT record, hash FROM entries ORDER BY record DESC LIMIT 1"):
                self.record, self.hash = record, link.hex()
            self._check_seen()
            self._seen, self._headed = (self.record, self.hash), True
        self.look_up(needs)

    def _check_seen(self) -> None:
        """Raises `StoreError` where a record that was here once is gone or another one, as where an older copy was put in place: writing on would hide it."""
        number, seen = self._seen
        found = self.connection.execute("SELECT hash FROM entries WHERE record = ?", (number,)).fetchone() if number else None
        if number and (found is None or found[0].hex() != seen):
            raise StoreError(
                f"the record was changed while this program ran: record {number} is not there as it was; nothing of this step was recorded",
                hint="end every program that uses this home, then: neuralclaw audit verify",
            )

    def look_up(self, needs: Needs) -> None:
        if sessions := needs.sessions - self.progress.keys():
            for row in self._select(_LOOK_UPS["progress"], sessions):
                progress = Progress.of(row)
                self.progress[progress.session] = progress
            for session in sessions - self.progress.keys():
                self.progress[session] = Progress(session)
        if leases := needs.leases - self.leases.keys():
            for row in self._select(_LOOK_UPS["leases"], leases):
                lease = LeaseRow(*row)
                self.leases[lease.name] = lease
            for name in leases - self.leases.keys():
                self.leases[name] = LeaseRow(name)
        if needs.keys:
            for key, session, entry in self._select(_LOOK_UPS["inbound_keys"], needs.keys):
                self.keys[key] = (session, entry)
        if needs.questions:
            for row in self._select(_LOOK_UPS["questions"], needs.questions):
                question = QuestionRow(*row)
                self.questions[question.id] = question
        if needs.blobs:
            self.kept.update(digest for (digest,) in self._select(_LOOK_UPS["blobs"], needs.blobs))
        if needs.records:
            self._look_up_records(needs.records)
        for item in needs.outbox:
            self.outbox.update(number for (number,) in self.connection.execute("SELECT id FROM outbox WHERE id = ?", (item,)))

    def _look_up_records(self, wanted: Iterable[tuple[str, str]]) -> None:
        for place in wanted:
            for row in self.connection.execute(f"SELECT {RECORDS} FROM records WHERE space = ? AND key = ?", place):
                self.records[place] = RecordRow(*row)
        for (version,) in self.connection.execute("SELECT value FROM meta WHERE name = 'records'"):
            self.record_version = version

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

    def put_blobs(self, blobs: dict[str, bytes]) -> None:
        """Keep bytes under their digests, where they are not kept yet. `Needs.blobs` named them."""
        for digest in blobs.keys() - self.kept:
            self.kept.add(digest)
            self.add("blobs", (digest, blobs[digest]))

    def put_record(self, space: str, key: str, value: str | None, now: int) -> RecordRow | None:
        """Keep a record (None: remove it), under a version that no record had before. `Needs.records` named it."""
        self.record_version += 1
        self.statements.append(("UPDATE meta SET value = ? WHERE name = 'records'", (self.record_version,)))
        if value is None:
            self.records.pop((space, key), None)
            self.statements.append(("DELETE FROM records WHERE space = ? AND key = ?", (space, key)))
            return None
        row = self.records[space, key] = RecordRow(space, key, value, self.record_version, now)
        self.statements.append((dialect.replace("records", RECORDS, "(?, ?, ?, ?, ?)"), msgspec.structs.astuple(row)))
        return row

    def put_attempt(self, item: int, state: str, error: str, next_try: int, now: int) -> None:
        """Record what became of an attempt to deliver something. What was delivered stays delivered, whatever a second process says later; what was given
        up stays so, unless it has arrived after all: an attempt that was under way while its answer was erased brings nothing back."""
        settled = "state <> 'delivered'" if state == "delivered" else "state = 'pending'"
        sql = f"UPDATE outbox SET state = ?, attempts = attempts + 1, next_try = ?, error = ?, tried = ? WHERE id = ? AND {settled}"
        self.statements.append((sql, (state, next_try, error, now, item)))

    def come_to_front(self, session: str, time: int, record: int) -> None:
        """A session changed: it comes before all others, which is written only where it did not stand there before.

        So an order by `sessions.front` is the order of the last changes, and a session that goes on alone costs no statement.
        """
        if session != HOME and (session != self.front or self._fronts):
            self.front = session
            self._fronts[session] = time, record

    def wait(self, progress: Progress, entry: int, turn: int, queued: bool) -> None:
        """A message waits for a turn."""
        self._inbox.setdefault(progress.session, {})[entry] = (turn, queued)
        progress.steering += not queued

    def waits(self, session: str) -> bool:
        """Whether a message of the session waits for a turn."""
        return bool(self._inbox.get(session)) or bool(self.connection.execute("SELECT 1 FROM inbox WHERE session = ? LIMIT 1", (session,)).fetchall())

    def take_up(self, progress: Progress, entry: int) -> None:
        """The turn of this message begins, or the message is withdrawn."""
        waits = self._inbox.get(progress.session, {}).pop(entry, None)
        if waits is not None:
            progress.steering -= not waits[1]
            return
        for (queued,) in self.connection.execute("DELETE FROM inbox WHERE session = ? AND entry = ? RETURNING queued", (progress.session, entry)).fetchall():
            progress.steering -= not queued

    def take_in(self, progress: Progress, turn: int, seen: int) -> None:
        """Messages that steer this turn stood in a request that had all entries up to `seen`. Costs no statement where none steers."""
        if not progress.steering:
            return
        here = self._inbox.get(progress.session, {})
        found = [entry for entry, (of, queued) in here.items() if of == turn and not queued and entry <= seen]
        for entry in found:
            del here[entry]
        taken = self.connection.execute(dialect.STEERING_TAKEN_IN, (progress.session, turn, seen)).fetchall()
        progress.steering -= len(found) + len(taken)

    def turn_of(self, session: str, entry: int) -> int | None:
        """The turn of an entry, None where there is none of that number."""
        for _, of, number, turn, *_ in self.rows.get("entries", ()):
            if (of, number) == (session, entry):
                return int(turn)
        for (turn,) in self.connection.execute("SELECT turn FROM entries WHERE session = ? AND entry = ?", (session, entry)):
            return int(turn)
        return None

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
        for session, (moment, record) in self._fronts.items():
            self.add("sessions", (session, "", "", "", "", "", "", moment, record))
        self._fronts = {}
        if self._inbox:
            for session, waits in self._inbox.items():
                for entry, (turn, queued) in waits.items():
                    self.add("inbox", (session, entry, turn, int(queued)))
            self._inbox = {}
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
            self.connection.execute(self._text(dialect.INSERTS[table], size, item), values)

    def commit(self) -> list[Entry]:
        """End the transaction; gives the entries it wrote."""
        self.connection.execute("COMMIT")
        self._seen = self.record, self.hash
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
