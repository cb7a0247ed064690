"""The schema as ordered steps; `PRAGMA user_version` says how many a file has had."""

import sqlite3
from collections.abc import Callable

from ..errors import StoreError


def _first(c: sqlite3.Connection) -> None:
    """Journal, what is derived from it, and state of its own."""
    for statement in (*_JOURNAL, *_DERIVED, *_STATE):
        c.execute(statement)
    c.execute("INSERT INTO meta (name, value) VALUES ('syncs', 0)")


_JOURNAL = (
    # Headers are kept for ever; a body and the key of its digest are erased together.
    """CREATE TABLE entries (
        record INTEGER PRIMARY KEY, session TEXT NOT NULL, entry INTEGER NOT NULL, turn INTEGER NOT NULL, kind TEXT NOT NULL,
        version INTEGER NOT NULL, time INTEGER NOT NULL, labels TEXT NOT NULL, digest BLOB NOT NULL, hash BLOB NOT NULL) STRICT""",
    "CREATE UNIQUE INDEX entries_number ON entries (session, entry)",
    "CREATE INDEX entries_turn ON entries (session, turn)",
    "CREATE INDEX entries_erased ON entries (record) WHERE kind = 'erased'",
    "CREATE TABLE bodies (record INTEGER PRIMARY KEY, key BLOB NOT NULL, data BLOB NOT NULL) STRICT",
    # The whole text of a shortened result. `record` is that of the call's `tool.finished`.
    """CREATE TABLE results (
        session TEXT NOT NULL, call_id TEXT NOT NULL, record INTEGER NOT NULL, key BLOB NOT NULL, digest BLOB NOT NULL, data BLOB NOT NULL,
        PRIMARY KEY (session, call_id)) STRICT""",
    "CREATE INDEX results_record ON results (record)",
    # Bytes that bodies name by their SHA-256 (hex), each kept once.
    "CREATE TABLE blobs (digest TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT",
)

_DERIVED = (
    # One row a session: counters and what decides its state. `waiting` is a short JSON list, '' when empty; `labels` a sorted one.
    # `steering` counts the rows of `inbox` that are not queued.
    """CREATE TABLE progress (
        session TEXT PRIMARY KEY, entries INTEGER NOT NULL, last_turn INTEGER NOT NULL, turns INTEGER NOT NULL, started INTEGER NOT NULL,
        open_turn INTEGER NOT NULL, steering INTEGER NOT NULL, waiting TEXT NOT NULL, labels TEXT NOT NULL, first_text TEXT NOT NULL, model TEXT NOT NULL,
        updated INTEGER NOT NULL, usd REAL NOT NULL, unpriced INTEGER NOT NULL) STRICT, WITHOUT ROWID""",
    "CREATE INDEX progress_open ON progress (session) WHERE open_turn > 0",
    # Messages that no turn has taken up.
    """CREATE TABLE inbox (
        session TEXT NOT NULL, entry INTEGER NOT NULL, turn INTEGER NOT NULL, queued INTEGER NOT NULL, PRIMARY KEY (session, entry)) STRICT, WITHOUT ROWID""",
    "CREATE INDEX inbox_steering ON inbox (session, turn, entry) WHERE queued = 0",
    # `inbound`: the entry number of the message that began the turn.
    """CREATE TABLE turns (
        session TEXT NOT NULL, turn INTEGER NOT NULL, started INTEGER, finished INTEGER, status TEXT, inbound INTEGER,
        PRIMARY KEY (session, turn)) STRICT, WITHOUT ROWID""",
    "CREATE TABLE questions (id TEXT PRIMARY KEY, session TEXT NOT NULL, turn INTEGER NOT NULL, record INTEGER NOT NULL, answer INTEGER) STRICT, WITHOUT ROWID",
    "CREATE INDEX questions_session ON questions (session, record)",
    "CREATE INDEX questions_open ON questions (record) WHERE answer IS NULL",
    "CREATE TABLE calls (session TEXT NOT NULL, call_id TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (session, call_id)) STRICT, WITHOUT ROWID",
    """CREATE TABLE scopes (
        record INTEGER NOT NULL, place INTEGER NOT NULL, session TEXT NOT NULL, decision TEXT NOT NULL, kind TEXT NOT NULL, value TEXT NOT NULL,
        tool TEXT NOT NULL, PRIMARY KEY (record, place)) STRICT, WITHOUT ROWID""",
    "CREATE INDEX scopes_session ON scopes (session)",
    "CREATE INDEX scopes_always ON scopes (record) WHERE decision = 'always'",
    """CREATE TABLE usage (
        record INTEGER PRIMARY KEY, session TEXT NOT NULL, turn INTEGER NOT NULL, time INTEGER NOT NULL, model TEXT NOT NULL, input INTEGER NOT NULL,
        cached INTEGER NOT NULL, output INTEGER NOT NULL, usd REAL) STRICT""",
    "CREATE INDEX usage_session ON usage (session)",
    # Which records name which blob.
    "CREATE TABLE blob_refs (digest TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (digest, record)) STRICT, WITHOUT ROWID",
    "CREATE INDEX blob_refs_record ON blob_refs (record)",
)

_STATE = (
    """CREATE TABLE sessions (
        session TEXT PRIMARY KEY, origin TEXT NOT NULL, workspace TEXT NOT NULL, title TEXT NOT NULL, model TEXT NOT NULL, parent TEXT NOT NULL,
        soul TEXT NOT NULL, created INTEGER NOT NULL, aside INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID""",
    # `starts`: how often `turn` was begun without leaving an entry. The row stays when the lease is free, so that epochs only rise.
    """CREATE TABLE leases (
        name TEXT PRIMARY KEY, holder TEXT NOT NULL, epoch INTEGER NOT NULL, turn INTEGER NOT NULL, starts INTEGER NOT NULL) STRICT, WITHOUT ROWID""",
    "CREATE TABLE inbound_keys (key TEXT PRIMARY KEY, session TEXT NOT NULL, entry INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    """CREATE TABLE outbox (
        id INTEGER PRIMARY KEY, session TEXT NOT NULL, record INTEGER NOT NULL, address TEXT NOT NULL, text TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'pending') STRICT""",
    "CREATE INDEX outbox_pending ON outbox (id) WHERE state = 'pending'",
    # `syncs` changes with every barrier: a commit that changes nothing would sync nothing.
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID",
)


def _second(c: sqlite3.Connection) -> None:
    """Records, tables of capabilities, deliveries with their attempts; a call and the newest session of a workspace are found without a scan."""
    for statement in _SECOND:
        c.execute(statement)
    c.execute("INSERT INTO meta (name, value) VALUES ('records', 0)")


_RECORDS = """CREATE {}TABLE records (
        space TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, version INTEGER NOT NULL, updated INTEGER NOT NULL,
        PRIMARY KEY (space, key)) STRICT, WITHOUT ROWID"""
# One row for each table of a capability: its definition, the kinds (JSON) that it is derived from, the record up to which it was folded.
_DERIVED_TABLES = """CREATE {}TABLE derived_tables (
        name TEXT PRIMARY KEY, digest TEXT NOT NULL, kinds TEXT NOT NULL, folded INTEGER NOT NULL) STRICT, WITHOUT ROWID"""
_SECOND = (
    _RECORDS.format(""),
    _DERIVED_TABLES.format(""),
    "CREATE INDEX calls_id ON calls (call_id)",
    "CREATE INDEX sessions_workspace ON sessions (workspace, created)",
    # `next_try` and `tried` in epoch microseconds, 0: at once, never.
    "ALTER TABLE outbox ADD COLUMN channel TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE outbox ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE outbox ADD COLUMN next_try INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE outbox ADD COLUMN error TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE outbox ADD COLUMN tried INTEGER NOT NULL DEFAULT 0",
)
_IN_PLACE_OF_SECOND = (
    _RECORDS.format("TEMP "),
    _DERIVED_TABLES.format("TEMP "),
    """CREATE TEMP VIEW outbox AS SELECT id, session, record, address, text, state, '' AS channel, 0 AS attempts, 0 AS next_try, '' AS error, 0 AS tried
        FROM main.outbox""",
)


def _third(c: sqlite3.Connection) -> None:
    """The sessions of a workspace in the order of their last changes, by an index."""
    for statement in _THIRD:
        c.execute(statement)


# `front`: the time (epoch microseconds) at which the session changed after another session had; the order by it is that of the last changes.
_THIRD = (
    "ALTER TABLE sessions ADD COLUMN front INTEGER NOT NULL DEFAULT 0",
    "UPDATE sessions SET front = max(created, coalesce((SELECT p.updated FROM progress p WHERE p.session = sessions.session), 0))",
    "DROP INDEX sessions_workspace",
    "CREATE INDEX sessions_front ON sessions (workspace, front)",
)
# A process of the schemas 2 and 3 that is open while this one migrates goes on writing, and the older one knows nothing of `front`. Every writer writes a
# row of `progress` for a session that changed; `by_schema` of that row is 0 when its writer is older than the fourth schema.
_FOURTH = (
    "ALTER TABLE progress ADD COLUMN by_schema INTEGER NOT NULL DEFAULT 0",
    "UPDATE sessions SET front = max(front, coalesce((SELECT p.updated FROM progress p WHERE p.session = sessions.session), 0))",
    "UPDATE progress SET by_schema = 4",
    """CREATE TRIGGER progress_of_older_writers AFTER INSERT ON progress WHEN new.by_schema < 4
        BEGIN UPDATE sessions SET front = max(front, new.updated) WHERE session = new.session; END""",
)


def _fourth(c: sqlite3.Connection) -> None:
    """The order of the last changes also holds for what processes of older schemas write after the migration."""
    for statement in _FOURTH:
        c.execute(statement)


def _fifth(c: sqlite3.Connection) -> None:
    """What an entry changes beside itself is on record. The state of entries up to `stated` was written before, and no entry tells it."""
    for statement in _FIFTH:
        c.execute(statement)


_STATE_CHANGES = "CREATE {}TABLE state_changes (record INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT"
_FIFTH = (
    _STATE_CHANGES.format(""),
    "INSERT INTO meta (name, value) VALUES ('stated', (SELECT coalesce(max(record), 0) FROM entries))",
    "UPDATE progress SET by_schema = 5",
)
_RESERVATIONS = """CREATE {}TABLE reservations (
        id TEXT PRIMARY KEY, session TEXT NOT NULL, root_session TEXT NOT NULL, root_turn INTEGER NOT NULL, time INTEGER NOT NULL, usd REAL NOT NULL,
        tokens INTEGER NOT NULL, state TEXT NOT NULL) STRICT, WITHOUT ROWID"""
_SIXTH = (
    # `state`: open (the call runs, or its process died), spent (its cost is known and not on record), child (on record in another session).
    _RESERVATIONS.format(""),
    "CREATE INDEX reservations_root ON reservations (root_session, root_turn)",
    "CREATE INDEX reservations_time ON reservations (time) WHERE state <> 'child'",
    "DROP INDEX usage_session",
    "CREATE INDEX usage_turn ON usage (session, turn)",
    "CREATE INDEX usage_time ON usage (time, usd)",
    "UPDATE progress SET by_schema = 6",
    # `front` is the record in which the session changed after another one had: times may go back.
    """UPDATE sessions SET front = coalesce((SELECT e.record FROM progress p JOIN entries e ON e.session = p.session AND e.entry = p.entries
        WHERE p.session = sessions.session), 0)""",
    "DROP TRIGGER progress_of_older_writers",
    """CREATE TRIGGER progress_of_older_writers AFTER INSERT ON progress WHEN new.by_schema < 4
        BEGIN UPDATE sessions SET front = (SELECT max(record) FROM entries) WHERE session = new.session; END""",
)


def _sixth(c: sqlite3.Connection) -> None:
    """What model calls may cost is reserved; what a turn, a session and a day have cost is found by an index. Sessions stand in the order of the record."""
    for statement in _SIXTH:
        c.execute(statement)


_IN_PLACE_OF_THIRD = """CREATE TEMP VIEW sessions AS SELECT s.session, s.origin, s.workspace, s.title, s.model, s.parent, s.soul, s.created, s.aside,
    max(s.created, coalesce(p.updated, 0)) AS front FROM main.sessions s LEFT JOIN main.progress p ON p.session = s.session"""

MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_first, _second, _third, _fourth, _fifth, _sixth)
VERSION = len(MIGRATIONS)


def stand_in(c: sqlite3.Connection) -> None:
    """On a connection that only reads a file of an older version: what today's statements read and the file lacks, empty, in the connection's memory."""
    version: int = c.execute("PRAGMA user_version").fetchone()[0]
    if 0 < version < VERSION:
        c.execute("PRAGMA temp_store = MEMORY")
        older = (*(_IN_PLACE_OF_SECOND if version < 2 else ()), *((_IN_PLACE_OF_THIRD,) if version < 4 else ()))
        if version < 5:
            older = (*older, _STATE_CHANGES.format("TEMP "))
        for statement in (*older, _RESERVATIONS.format("TEMP ")):
            c.execute(statement)


def check_schema(c: sqlite3.Connection) -> None:
    """Raises `StoreError` where the schema is newer than this program's: what it would write might lack what newer programs rely on."""
    version: int = c.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise StoreError(
            f"a newer version of the program has changed the record to schema {version}, and this one knows {VERSION}; this step was not recorded",
            hint="end this program and start the newer version; reading commands still work",
            newer=True,
        )


def migrate(c: sqlite3.Connection) -> None:
    """Bring a file to today's schema in one transaction. The caller keeps other processes out."""
    c.execute("BEGIN IMMEDIATE")
    try:
        version: int = c.execute("PRAGMA user_version").fetchone()[0]
        for step in MIGRATIONS[version:]:
            step(c)
        c.execute(f"PRAGMA user_version = {VERSION}")
        c.execute("COMMIT")
    except sqlite3.Error:
        if c.in_transaction:
            c.execute("ROLLBACK")
        raise
