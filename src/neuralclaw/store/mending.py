"""Rows of state tables made anew from what the record tells of them: for `doctor --rebuild`, where the record itself is whole.

The texts of the outbox, results kept apart and kept bytes cannot be made anew: the record has their digests.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from .comparison import FIRST, KNOWN, LAST
from .schema import COLUMNS, USAGE
from .state_changes import SESSION_FACTS
from .tables import Tables
from .writer import Job

Mend = tuple[str, tuple[Any, ...]]
"""A statement with its values. It changes a row only where it still is as it was when it was found wrong."""

_SET = ", ".join(f"{name} = ?" for name in SESSION_FACTS)
_TOLD, _STORED = (", ".join(f"{table}.{name}" for name in SESSION_FACTS) for table in "ts")
_FACTS_DIFFER = " OR ".join(f"s.{name} IS NOT t.{name} COLLATE BINARY" for name in SESSION_FACTS)
_IN_ORDER = f"coalesce(s.front BETWEEN t.since AND {LAST}, 0)"
_SESSIONS = (
    f"SELECT t.session, t.created, t.since, s.session IS NULL, s.created, s.front, {_IN_ORDER}, {_TOLD}, {_STORED} FROM temp.told_sessions t"
    f" LEFT JOIN main.sessions s ON s.session = t.session COLLATE BINARY LEFT JOIN temp.progress p ON p.session = t.session WHERE {KNOWN}"
    f" AND coalesce({FIRST}, 0) > ? AND (s.session IS NULL OR s.created IS NOT t.created OR {_FACTS_DIFFER}"
    f" OR NOT {_IN_ORDER})"
)
_ADDED = f"SELECT t.session FROM main.sessions t LEFT JOIN temp.told_sessions s ON s.session = t.session COLLATE BINARY WHERE s.session IS NULL AND {KNOWN}"
_KEYS = (
    "SELECT t.key, t.session, t.entry FROM temp.told_keys t LEFT JOIN main.inbound_keys s ON s.key = t.key COLLATE BINARY"
    f" WHERE (s.key IS NULL OR s.session IS NOT t.session COLLATE BINARY OR s.entry IS NOT t.entry) AND {KNOWN}"
)
_KEYS_ADDED = (
    f"SELECT t.key, t.session, t.entry FROM main.inbound_keys t LEFT JOIN temp.told_keys s ON s.key = t.key COLLATE BINARY WHERE s.key IS NULL AND {KNOWN}"
)
_COST_COLUMNS = COLUMNS["usage"].split(", ")
_COSTS = (
    f"SELECT {', '.join(f't.{name}' for name in _COST_COLUMNS)} FROM temp.usage t LEFT JOIN main.usage s ON s.record = t.record"
    f" WHERE {KNOWN} AND ({' OR '.join(f's.{name} IS NOT t.{name} COLLATE BINARY' for name in _COST_COLUMNS)})"
)
"""Costs of entries that were erased, which the record tells in another entry: a row is written once and never changes."""


def state_mends(c: sqlite3.Connection, stated: int) -> list[Mend]:
    """For every row of `sessions`, `inbound_keys` and `usage` that is not as the record tells; `stated`: the state of earlier records is not known."""
    return [*_session_mends(c, stated), *_key_mends(c), *_cost_mends(c)]


def _session_mends(c: sqlite3.Connection, stated: int) -> Iterator[Mend]:
    count = len(SESSION_FACTS)
    for session, created, since, missing, was_created, front, in_order, *facts in c.execute(_SESSIONS, (stated,)).fetchall():
        told, was = facts[:count], facts[count:]
        if missing:
            columns = f"session, {', '.join(SESSION_FACTS)}, created, front"
            absent = "WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE session = ?)"
            yield f"INSERT INTO sessions ({columns}) SELECT ?{', ?' * (count + 2)} {absent}", (session, *told, created, since, session)
            continue
        where = " AND ".join(f"{name} IS ?" for name in ("session", "created", "front", *SESSION_FACTS))
        place = front if in_order else since
        yield f"UPDATE sessions SET {_SET}, created = ?, front = ? WHERE {where}", (*told, created, place, session, was_created, front, *was)
    for (session,) in c.execute(_ADDED).fetchall():
        yield "DELETE FROM sessions WHERE session = ?1 AND NOT EXISTS (SELECT 1 FROM entries WHERE session = ?1)", (session,)


def _key_mends(c: sqlite3.Connection) -> Iterator[Mend]:
    for row in c.execute(_KEYS_ADDED).fetchall():
        yield "DELETE FROM inbound_keys WHERE key = ? AND session = ? AND entry = ?", row
    for row in c.execute(_KEYS).fetchall():
        yield "DELETE FROM inbound_keys WHERE key = ?", row[:1]
        yield "INSERT INTO inbound_keys (key, session, entry) VALUES (?, ?, ?)", row


def _cost_mends(c: sqlite3.Connection) -> Iterator[Mend]:
    for row in c.execute(_COSTS).fetchall():
        yield "DELETE FROM usage WHERE record = ?", row[:1]
        yield f"INSERT INTO usage ({USAGE}) VALUES ({', '.join('?' * len(row))})", row


class MendState(Job):
    """Make these changes in one transaction."""

    __slots__ = ("_mends",)
    alone = True

    def __init__(self, mends: Sequence[Mend]) -> None:
        self._mends = mends

    def run(self, tables: Tables) -> None:
        for sql, values in self._mends:
            tables.connection.execute(sql, values)
