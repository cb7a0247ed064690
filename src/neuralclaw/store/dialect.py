"""What is said to SQLite in words of its own, beside opening a file (`connection`, `readers`) and its schema (`migrations`).

The other statements of this package are those of any SQL database that has `ON CONFLICT` and `RETURNING`; decision 23 names what differs elsewhere.
"""

import random
import sqlite3
import time
from collections.abc import Sequence

from .schema import COLUMNS

_SHORTEST, _LONGEST = 0.0003, 0.004
"""Seconds between two tries to open a transaction while another process writes."""

_FILLED_IN = ", ".join(f"{name} = iif({name} = '', excluded.{name}, {name})" for name in ("origin", "workspace", "title", "model", "parent", "soul"))
_CONFLICTS = {
    "sessions": f" ON CONFLICT (session) DO UPDATE SET {_FILLED_IN}, front = max(front, excluded.front)",
    "blobs": " ON CONFLICT (digest) DO NOTHING",
    "turns": " ON CONFLICT (session, turn) DO UPDATE SET started = coalesce(turns.started, excluded.started),"
    " finished = coalesce(excluded.finished, turns.finished), status = coalesce(excluded.status, turns.status),"
    " inbound = coalesce(turns.inbound, excluded.inbound)",
}
_NEW = frozenset({"entries", "bodies", "state_changes", "inbound_keys", "outbox", *_CONFLICTS})
"""Tables whose rows replace none."""


def replace(table: str, columns: str, values: str) -> str:
    """The statement that adds rows in place of those with their keys. `values`: the places of the values."""
    return f"INSERT OR REPLACE INTO {table} ({columns}) VALUES {values}"


INSERTS = {
    table: f"INSERT INTO {table} ({columns}) VALUES {{}}{_CONFLICTS.get(table, '')}" if table in _NEW else replace(table, columns, "{}")
    for table, columns in COLUMNS.items()
}
"""The statement that adds rows of each table; `{}` stands for the places of the values."""

STEERING_TAKEN_IN = (  # By the primary key it would look at thousands of queued messages.
    "DELETE FROM inbox INDEXED BY inbox_steering WHERE session = ? AND turn = ? AND queued = 0 AND entry <= ? RETURNING entry"
)
"""Removes the messages that steer a turn up to an entry; values: session, turn, entry."""


def quoted(identifier: str) -> str:
    """A checked name as it stands in a statement."""
    return f'"{identifier}"'


def listed(identifiers: Sequence[str]) -> str:
    """Checked names as they stand in a statement."""
    return ", ".join(map(quoted, identifiers))


COLUMN_TYPES = {"text": "TEXT", "integer": "INTEGER", "real": "REAL", "blob": "BLOB"}
"""The types of the columns of a capability's table."""


def create_table(name: str, columns: Sequence[str], key: str) -> str:
    """The statement that makes a capability's table."""
    return f"CREATE TABLE {name} ({', '.join(columns)}, PRIMARY KEY ({key})) STRICT, WITHOUT ROWID"


def begin(c: sqlite3.Connection, patience: float) -> None:
    """Open a transaction that writes, waiting up to `patience` seconds for those of other processes. Raises `sqlite3.OperationalError`.

    SQLite's own waiting sleeps up to 100 ms at a time, and whoever writes much passes by: with eight processes it let single appends wait for 7 s.
    """
    deadline = time.monotonic() + patience
    pause = _SHORTEST
    while True:
        try:
            c.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
        time.sleep(pause * random.uniform(0.5, 1.5))
        pause = min(2 * pause, _LONGEST)


def foreign_version(c: sqlite3.Connection) -> int:
    """A number that changes when another connection has written."""
    version: int = c.execute("PRAGMA data_version").fetchone()[0]
    return version


def wait_for_locks(c: sqlite3.Connection, milliseconds: int) -> None:
    """How long a statement waits for a lock of another connection."""
    c.execute(f"PRAGMA busy_timeout = {milliseconds}")


def sync_commits(c: sqlite3.Connection, *, sync: bool) -> None:
    """Whether a commit is on the disk when it returns. Inside a transaction this is ignored."""
    c.execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")


def empty_log(c: sqlite3.Connection, milliseconds: int) -> bool:
    """Empty the write-ahead log, waiting so long for readers; false where one still needs it. Raises `sqlite3.Error`."""
    try:
        wait_for_locks(c, milliseconds)
        return not any(busy for busy, _, _ in c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
    finally:
        wait_for_locks(c, 0)


def shorten_log(c: sqlite3.Connection) -> None:
    """Bring what no reader needs of the write-ahead log into the database. Raises `sqlite3.Error`."""
    c.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
