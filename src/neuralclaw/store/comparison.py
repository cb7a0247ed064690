"""Comparing the tables that stand with those that the entries make: the first row that was changed, removed or added past the program."""

import sqlite3
from collections.abc import Iterator, Sequence

import msgspec

from ..types.entries import blob_digest
from ..types.records import BadRecord
from .expected_tables import ExpectedTables
from .schema import BUILT_IN_TABLES, COLUMNS, PROGRESS
from .state_changes import SESSION_FACTS, is_sealed, text_digest
from .temporary_tables import schema_version, strange_schema

NOT_DERIVED = {
    "leases.*": "who holds a session now. A forged lease keeps a turn from starting, or lets another process take it over; it lets nothing run",
    "records.*": "values that capabilities keep for themselves and change in place; what must be provable they write as events",
    "sessions.aside": "whether a turn that does not get on is left alone; forged, a turn waits or is tried again",
    "sessions.front": "the order of sessions; it is checked to be a record in which the session changed",
    "outbox.state": "how far a delivery is; forged, an answer is delivered twice or not at all, never another answer or to somebody else",
    "outbox.attempts": "as outbox.state",
    "outbox.next_try": "as outbox.state",
    "outbox.error": "as outbox.state",
    "outbox.tried": "as outbox.state",
    "progress.by_schema": "which version of the program wrote the row",
    "reservations.*": "what model calls have reserved; forged, a turn stops too early, or a cap is passed by what was taken away",
    "meta.*": "counters that only rise",
    "derived_tables.*": "how far a capability's table is folded; if that is wrong the table is made again, and its content is compared",
}
"""Columns that are no function of the entries, and what follows from that."""


KNOWN = "t.session COLLATE BINARY NOT IN (SELECT session FROM temp.told_newer)"
"""What a session with entries of a newer version of the program should have in its tables is not known here."""


def _before_newer(record: str) -> str:
    """That a row, by the record it was written last with, is older than every entry of a newer version in its session: what it must be is known."""
    return f"NOT EXISTS (SELECT 1 FROM temp.told_newer n WHERE n.session = t.session COLLATE BINARY AND n.record <= coalesce({record}, 1 << 62))"


class _Pair(msgspec.Struct, frozen=True):
    """A table that stands and the one it must be like. `record` and `session` are expressions over `t`, a row of either."""

    table: str
    told: str
    key: Sequence[str]
    columns: Sequence[str]
    record: str
    session: str = "t.session"
    only: str = "1"
    """Which rows are compared, over `t`, a row that is told, and `s`, the one that stands."""
    added: str = ""
    """Which rows that stand must be told, over `t`; "": as `only`."""
    filled: bool = False
    """Whether a column that is told to be empty may have anything."""


_ENTRY = "(SELECT e.record FROM entries e WHERE e.session = t.session AND e.entry = t.entry)"
_LAST = "(SELECT max(e.record) FROM entries e WHERE e.session = t.session)"
LAST = "(SELECT e.record FROM entries e WHERE e.session = p.session AND e.entry = p.entries)"
"""The record of a session's last entry, by its row of `progress`."""
FIRST = "(SELECT e.record FROM entries e WHERE e.session = t.session AND e.entry = 1)"
_OF = "(SELECT e.session FROM entries e WHERE e.record = t.record)"
_LAST_WRITTEN = {"usage": "record", "calls": "record", "turns": "finished", "questions": "answer"}
_FIRST_WRITTEN = {"turns": "coalesce(t.started, t.finished)"}
"""The columns that tell with which records rows were written, where rows of a session can be compared up to its first entry of a newer version."""
_BY_HEADERS = ("session", "entries", "last_turn", "labels", "updated")
"""Columns of `progress` that headers alone tell, which every version has."""
_PLACES = {
    "progress": _LAST,
    "inbox": _ENTRY,
    "turns": "coalesce(t.started, t.finished)",
}


def compare(c: sqlite3.Connection, expected: ExpectedTables) -> BadRecord | None:
    """The difference that concerns the earliest record; None where all tables are as the entries make them."""
    stated = expected.stated
    newer = bool(c.execute("SELECT 1 FROM temp.told_newer LIMIT 1").fetchall())
    found = [bad for pair in _pairs(expected, stated, newer) for bad in _differences(c, pair)]
    found += [bad for bad in (_fronts(c), _answers(c, stated), _results(c), _blobs(c), _schema(c, expected)) if bad is not None]
    return min(found, key=lambda bad: (bad.record or 2**63, bad.table, bad.column), default=None)


def _pairs(expected: ExpectedTables, stated: int, newer: bool) -> Iterator[_Pair]:
    def older(record: str) -> str:
        return _before_newer(record) if newer else "1"

    known = KNOWN if newer else "1"
    for name, key in BUILT_IN_TABLES.items():
        columns = tuple((PROGRESS if name == "progress" else COLUMNS[name]).split(", "))
        place, session, only, added = _PLACES.get(name, "t.record"), "t.session", known, known
        if name == "blob_refs":
            session, only, added = _OF, "1", "1"
        elif name in _LAST_WRITTEN and newer:
            last = _LAST_WRITTEN[name]
            only = f"{older(f't.{last}')} AND {older(f'coalesce(s.{last}, 0)')}"
            added = older(_FIRST_WRITTEN.get(name, "t.record"))
        elif name == "scopes" and newer:  # what a newer entry took back is gone
            only, added = f"{older('t.record')} AND (s.record IS NOT NULL OR {KNOWN})", older("t.record")
        yield _Pair(name, name, key, columns, place, session, only, added)
    if newer:
        yield _Pair("progress", "progress", ("session",), _BY_HEADERS, _LAST)
        yield _Pair("sessions", "told_sessions", ("session",), ("session", *SESSION_FACTS), FIRST, only=f"coalesce({FIRST}, 0) > {stated}", filled=True)
    yield _Pair("inbound_keys", "told_keys", ("key",), ("key", "session", "entry"), _ENTRY, only=older(_ENTRY))
    yield _Pair("sessions", "told_sessions", ("session",), ("session", "created"), FIRST)
    yield _Pair("sessions", "told_sessions", ("session",), ("session", *SESSION_FACTS), FIRST, only=f"{known} AND coalesce({FIRST}, 0) > {stated}")
    facts = ("id", "session", "record", "channel")
    yield _Pair("outbox", "told_outbox", ("session", "record", "id"), facts, "t.record", only=f"{older('t.record')} AND t.record > {stated}")
    result = ("session", "call_id", "record", "digest")
    yield _Pair("results", "told_results", result[:2], result, "t.record", only=f"{older('t.record')} AND t.record > {stated}")
    for name, (table, _, _) in expected.folds.items():
        if name not in expected.unchecked:
            yield _Pair(table.stored, table.stored, table.key, table.columns, "0", "''")


def _differences(c: sqlite3.Connection, pair: _Pair) -> Iterator[BadRecord]:
    told = f'temp."{pair.told}"'
    stands = f'main."{pair.table}"' if pair.table == pair.told else pair.table  # of an older schema a view may stand in for it
    # Byte for byte, whatever collation a table of the home was given: under NOCASE another workspace would look like the one on record.
    same_key = " AND ".join(f's."{name}" = t."{name}" COLLATE BINARY' for name in pair.key)
    values = [name for name in pair.columns if name not in pair.key]
    absent = f's."{pair.key[0]}" IS NULL'
    unlike = [f's."{name}" IS NOT t."{name}" COLLATE BINARY' + (f""" AND t."{name}" <> ''""" if pair.filled else "") for name in values]
    columns = "".join(f", {one}" for one in unlike)
    differs = " OR ".join([absent, *unlike])
    one = f"SELECT {pair.record}, {pair.session}, {absent}{columns} FROM {told} t LEFT JOIN {stands} s ON {same_key} WHERE ({differs}) AND {pair.only} LIMIT 1"
    for record, session, missing, *changed in c.execute(one).fetchall():
        column = next((name for name, different in zip(values, changed, strict=True) if different), "")
        yield BadRecord(record or 0, session or "", "missing" if missing else "hash", pair.table, "" if missing else column)
    added = f"SELECT {pair.record}, {pair.session} FROM {stands} t LEFT JOIN {told} s ON {same_key} WHERE {absent} AND {pair.added or pair.only} LIMIT 1"
    for record, session in c.execute(added).fetchall():
        yield BadRecord(record or 0, session or "", "order", pair.table)


def _fronts(c: sqlite3.Connection) -> BadRecord | None:
    """A place in the order of sessions is a record of the session since another one changed last. It was a time before schema 6."""
    if schema_version(c) < 6:
        return None
    sql = (
        f"SELECT {FIRST}, t.session FROM sessions t JOIN temp.told_sessions s ON s.session = t.session"
        f" JOIN temp.progress p ON p.session = t.session WHERE t.front NOT BETWEEN s.since AND {LAST} LIMIT 1"
    )
    return next((BadRecord(record or 0, session, "hash", "sessions", "front") for record, session in c.execute(sql).fetchall()), None)


def _answers(c: sqlite3.Connection, stated: int) -> BadRecord | None:
    """The texts and addresses of the outbox, by the digests that the entries have of them."""
    sql = (
        "SELECT t.record, t.session, t.address, t.text, s.address, s.text, EXISTS (SELECT 1 FROM bodies b WHERE b.record = t.record)"
        " FROM outbox t JOIN temp.told_outbox s ON s.id = t.id WHERE t.record > ?"
    )
    for record, session, address, text, told, digest, there in c.execute(sql, (stated,)):
        if not there:
            told, digest = "", text_digest("")
        if address != told or text_digest(text) != digest:
            return BadRecord(record, session, "hash", "outbox", "address" if address != told else "text")
    return None


def _results(c: sqlite3.Connection) -> BadRecord | None:
    for session, record, key, digest, data in c.execute("SELECT session, record, key, digest, data FROM results ORDER BY record"):
        if not is_sealed(digest, key, data):
            return BadRecord(record, session, "hash", "results", "data")
    return None


def _blobs(c: sqlite3.Connection) -> BadRecord | None:
    """Bytes that are gone, changed, or named by no record."""
    named = "SELECT r.record, e.session FROM temp.blob_refs r JOIN entries e ON e.record = r.record"
    gone = f"{named} LEFT JOIN blobs b ON b.digest = r.digest WHERE b.digest IS NULL ORDER BY r.record LIMIT 1"
    found = [BadRecord(record, session, "missing", "blobs") for record, session in c.execute(gone).fetchall()]
    for digest, data in c.execute("SELECT digest, data FROM blobs ORDER BY digest"):
        places = c.execute(f"{named} WHERE r.digest = ? ORDER BY r.record LIMIT 1", (digest,)).fetchall()
        if not places:
            found.append(BadRecord(0, "", "order", "blobs"))
        elif blob_digest(data) != digest:
            ((record, session),) = places
            found.append(BadRecord(record, session, "hash", "blobs", "data"))
    return min(found, key=lambda bad: bad.record or 2**63, default=None)


def _schema(c: sqlite3.Connection, expected: ExpectedTables) -> BadRecord | None:
    name = strange_schema(c, expected.kept_tables)
    return BadRecord(0, "", "order", name) if name else None
