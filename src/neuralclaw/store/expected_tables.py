"""The tables as the entries make them, folded into temporary tables beside those that stand: what a verification compares with.

`temporary_tables` has their definitions.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ..errors import StoreError
from ..types.codec import foreign
from ..types.entries import HOME, Entry, Header
from ..types.events import Body, Erased, Inbound, SessionRenamed, Unreadable
from . import temporary_tables
from .bodies import HEADER, entry_of
from .derived_tables import CapabilityTable, DerivedTables
from .folding import TableProjection
from .migrations import VERSION
from .projections import NOTHING, project
from .state_changes import SESSION_FACTS, RetainedFacts, StateChanges, read_changes
from .tables import Needs, Progress, Tables
from .upkeep import keep_facts, recall

_NO_FACTS = ("",) * len(SESSION_FACTS)
_NO_CHANGES = StateChanges()
_OF_SESSIONS = frozenset({"erased", "session.renamed"})
"""Kinds whose bodies tell something of the row of their session."""
_NAMED = 20
"""Sessions that are named as not compared wholly; of more their number is told."""
_MOST = 4096
"""Sessions and questions that are remembered between two chunks."""
_ERASING = (
    f"SELECT {HEADER}, b.data, s.data FROM entries e JOIN bodies b ON b.record = e.record"
    " LEFT JOIN state_changes s ON s.record = e.record WHERE e.kind = 'erased' AND e.record > ? ORDER BY e.record LIMIT 500"
)


class ExpectedTables:
    """Takes every entry in the order of the record; compare after the last `flush`. Its temporary tables go with the transaction."""

    def __init__(self, connection: sqlite3.Connection, derived: DerivedTables) -> None:
        self._c = connection
        self._tables = Tables(connection, 0.0, derived)
        self.stated = _stated(connection)
        """The last record whose state was written before state was recorded."""
        self.unchecked: dict[str, str] = {}
        """Tables of capabilities that cannot be compared, and why."""
        self.kept_tables: dict[str, Sequence[str] | None] = {}
        """The tables of capabilities that the home has, with the statements that make each; None where the definition is not here."""
        self.folds: dict[str, tuple[CapabilityTable, TableProjection, int]] = {}
        self._folded: dict[str, list[tuple[str, TableProjection, int]]] = {}
        self._outbox = 0
        self._run = ""
        self._since: dict[str, int] = {}
        self._keys: list[tuple[str, str, int, int]] = []
        for statement in temporary_tables.CREATE:
            connection.execute(statement)
        self._equip(derived)
        self._read_erasures(derived)

    def _equip(self, derived: DerivedTables) -> None:
        kept = {name: (digest, folded) for name, digest, folded in self._c.execute("SELECT name, digest, folded FROM derived_tables")}
        for name, (digest, folded) in kept.items():
            table = derived.tables.get(name)
            self.kept_tables[f"capability_{name}"] = table.create if table is not None and table.digest == digest else None
            if table is None:
                self.unchecked[name] = "its capability is not here"
            elif table.digest != digest:
                self.unchecked[name] = "it was made by another version of its capability"
            else:
                self._c.execute(temporary_tables.beside(table.create[0]))
                projection = TableProjection(self._c, table)
                self.folds[name] = (table, projection, folded)
                for kind in table.kinds:
                    self._folded.setdefault(kind, []).append((name, projection, folded))

    def uncompared(self) -> list[str]:
        """What could not be compared wholly, and why: tables of capabilities, sessions, and the schema."""
        version = temporary_tables.schema_version(self._c)
        schema = [f"schema: the home says that it has version {version}, and this program knows {VERSION}"] if version > VERSION else []
        newer = self._c.execute("SELECT session, record FROM told_newer ORDER BY record").fetchall()
        sessions = [f"session {session}: from record {record} on it has entries of a newer version of the program" for session, record in newer]
        more = [f"{len(sessions) - _NAMED:,} more sessions: they have entries of a newer version of the program"] if len(sessions) > _NAMED else []
        return [*(f"{name}: {why}" for name, why in sorted(self.unchecked.items())), *sessions[:_NAMED], *more, *schema]

    def _read_erasures(self, derived: DerivedTables) -> None:
        """What was erased, and what stays known of it: it stands in entries that come later."""
        older = RetainedFacts()
        unknown = "t.{0} <= ? AND NOT EXISTS (SELECT 1 FROM bodies b WHERE b.record = t.{0})"
        keep_facts(self._c, older, unknown, (self.stated,))
        keys = "SELECT e.record, k.key FROM inbound_keys k JOIN entries e ON e.session = k.session AND e.entry = k.entry"
        without = "e.record <= ? AND NOT EXISTS (SELECT 1 FROM bodies b WHERE b.record = e.record)"
        older.keys.update(self._c.execute(f"{keys} WHERE {without}", (self.stated,)).fetchall())
        self._outbox = self._c.execute("SELECT count(*) FROM outbox WHERE record <= ?", (self.stated,)).fetchone()[0]
        self._put_facts(older)
        after = 0
        while rows := self._c.execute(_ERASING, (after,)).fetchall():
            for *row, changes in rows:
                entry = entry_of(row, derived.codec)
                after = entry.header.record
                if isinstance(entry.body, Erased):
                    self._c.executemany(temporary_tables.ADD_ERASED, [(entry.header.session, n) for n in entry.body.entries])
                told = _changes(changes)
                if told.erased is not None:
                    self._put_facts(told.erased)

    def _put_facts(self, facts: RetainedFacts) -> None:
        """Keep facts under their records, one row each."""
        of: dict[int, dict[str, Any]] = {}
        for name, values in msgspec.structs.asdict(facts).items():
            for record, value in values.items():
                of.setdefault(record, {})[name] = {record: value}
        rows = [(record, msgspec.json.encode(fields)) for record, fields in of.items()]
        self._c.executemany(temporary_tables.ADD_FACTS, rows)

    def erased(self, session: str, entry: int) -> bool:
        """Whether an entry says that this one was erased."""
        return bool(self._c.execute("SELECT 1 FROM told_erased WHERE session = ? AND entry = ?", (session, entry)).fetchall())

    def look_up(self, rows: Iterable[Sequence[Any]]) -> None:
        """Look up what was made so far of the sessions of these rows, which have them in their second column."""
        self._tables.look_up(Needs(sessions={row[1] for row in rows}))

    def progress(self, session: str) -> Progress:
        """What was made of a session so far; it was looked up since the last `flush`."""
        return self._tables.progress[session]

    def is_folded(self, kind: str) -> bool:
        """Whether a capability's table, or the row of its session, is made of entries of this kind."""
        return kind in self._folded or kind in _OF_SESSIONS

    def take(self, header: Header, body: Body | None, changes: bytes | None) -> None:
        """Fold one more entry, with what it changed beside itself. Its session was looked up before. `body` None: it was erased."""
        tables, session, kind, time = self._tables, header.session, header.kind, header.time
        if body is None or body.__class__ is Unreadable:
            body_read, kept = None, self._facts(header, body)
            key = kept.keys.get(header.record)
        else:
            body_read, kept = body, NOTHING
            key = body.key if isinstance(body, Inbound) else None
        if kind == "approval.resolved":
            recall(tables, kept, header, body_read)
        project(tables, header, body_read, kept)
        if key:
            self._keys.append((key, session, header.entry, header.record))
        told = _changes(changes) if changes is not None else _NO_CHANGES
        if session != self._run and session != HOME:
            self._run = session
            self._since[session] = header.record
            if header.entry == 1 and not told.session:
                self._c.execute(temporary_tables.ADD_SESSION, (session, *_NO_FACTS, time, header.record))
        if told is not _NO_CHANGES:
            self._take_changes(header, told)
        if isinstance(body, Erased) and body.deleted:
            self._c.execute("DELETE FROM told_sessions WHERE session = ?", (session,))
        elif isinstance(body, SessionRenamed):
            self._c.execute(temporary_tables.RENAME, (body.title, session))
        if kept is not NOTHING:
            for channel in kept.outbox.get(header.record, ()):
                self._put_answer(header, channel, None, None)
        if kind in self._folded:
            for name, projection, folded in self._folded[kind]:
                if header.record <= folded and name not in self.unchecked:
                    self._fold(name, projection, Entry(header, body))

    def _facts(self, header: Header, body: Body | None) -> RetainedFacts:
        if body is None:
            for (data,) in self._c.execute("SELECT data FROM told_facts WHERE record = ?", (header.record,)):
                return msgspec.json.decode(data, type=RetainedFacts)
            return NOTHING
        if foreign(header.kind):
            return NOTHING
        self._c.execute(temporary_tables.ADD_NEWER, (header.session, header.record))
        kept, record = RetainedFacts(), header.record  # of a newer version of the program: only the tables tell
        keep_facts(self._c, kept, "t.{} = ?", (record,))
        kept.blobs[record] = [digest for (digest,) in self._c.execute("SELECT digest FROM main.blob_refs WHERE record = ?", (record,))]
        for (queued,) in self._c.execute("SELECT queued FROM main.inbox WHERE session = ? AND entry = ?", (header.session, header.entry)):
            kept.inbox[record] = bool(queued)
        for (key,) in self._c.execute("SELECT key FROM main.inbound_keys WHERE session = ? AND entry = ?", (header.session, header.entry)):
            kept.keys[record] = key
        return kept

    def _take_changes(self, header: Header, changes: StateChanges) -> None:
        if changes.session:
            sql = temporary_tables.SET_SESSION if changes.erased is not None else temporary_tables.FILL_SESSION
            self._c.execute(sql, (header.session, *changes.session, header.time, header.record))
        for answer in changes.outbox:
            self._put_answer(header, answer.channel, answer.address, answer.text)
        for call_id, digest in changes.results:
            row = (header.session, call_id, header.record, bytes.fromhex(digest))
            self._c.execute(temporary_tables.ADD_RESULT, row)

    def _put_answer(self, header: Header, channel: str, address: str | None, text: str | None) -> None:
        self._outbox += 1
        self._c.execute("INSERT INTO told_outbox VALUES (?, ?, ?, ?, ?, ?)", (self._outbox, header.session, header.record, channel, address, text))

    def _fold(self, name: str, projection: TableProjection, entry: Entry) -> None:
        try:
            projection.take(entry)
        except StoreError as error:
            self.unchecked[name] = error.text

    def flush(self) -> None:
        """Write what a chunk of entries made."""
        tables = self._tables
        tables.flush()
        self._c.executemany(temporary_tables.ADD_KEY, self._keys)
        self._c.executemany("UPDATE told_sessions SET since = ? WHERE session = ?", [(record, session) for session, record in self._since.items()])
        self._keys, self._since = [], {}
        if len(tables.progress) > _MOST:
            tables.progress = {}
        if len(tables.questions) > _MOST or len(tables.asked) > _MOST:
            tables.questions, tables.asked = {}, {}


def _changes(data: bytes | None) -> StateChanges:
    """Stored state changes; none where they cannot be read, which their digest tells."""
    try:
        return read_changes(data) if data is not None else StateChanges()
    except ValueError:
        return StateChanges()


def _stated(c: sqlite3.Connection) -> int:
    """Whoever raises the number that is kept of it excuses nothing from the first entry on that has state beside it."""
    kept = c.execute("SELECT value FROM meta WHERE name = 'stated'").fetchone()
    number: int = kept[0] if kept else c.execute("SELECT coalesce(max(record), 0) FROM entries").fetchone()[0]
    first: int | None = c.execute("SELECT min(record) FROM state_changes").fetchone()[0]
    return number if first is None else min(number, first - 1)
