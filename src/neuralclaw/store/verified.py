"""Entries that decide something, read with a look at whether they are as they were written: a row that was changed past the program decides nothing."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from ..types.chain import START, link
from ..types.codec import BUILT_IN, Codec
from ..types.entries import Entry, Header
from ..types.events import Unreadable
from .bodies import HEADER, body_of, header_of
from .state_changes import is_sealed

DECIDING = frozenset({"approval.requested", "approval.resolved", "grant.given", "grant.revoked", "grant.used", "hook.ran", "inbound", "turn.started"})
"""Kinds whose entries decide what may run, for whom and under which options."""
ENTRY = (
    f"SELECT {HEADER}, p.hash, b.key, s.data, b.data FROM entries e LEFT JOIN bodies b ON b.record = e.record"
    " LEFT JOIN entries p ON p.record = e.record - 1 LEFT JOIN state_changes s ON s.record = e.record"
)
"""What `entry_of` takes."""


def entry_of(row: Sequence[Any], codec: Codec, *, every: bool = False) -> Entry:
    """An entry. It is `Unreadable` where its body is not under its digest; one of `DECIDING` (`every`: of any kind) also where its header does not follow from
    the record before it."""
    *columns, before, key, changes, data = row
    header = header_of(columns)
    if data is None:
        return Entry(header, None)
    body = body_of(header.kind, header.version, data, header.session, header.entry, codec)
    if not isinstance(body, Unreadable) and not (
        _sealed(header, key, data, changes) and (not (every or header.kind in DECIDING) or link(_hash(before, header), header) == header.hash)
    ):
        text = f"entry {header.entry} of session {header.session} is not as it was written"
        return Entry(header, Unreadable(kind=header.kind, version=header.version, why="damaged", text=text))
    return Entry(header, body)


def _sealed(header: Header, key: Any, data: Any, changes: Any) -> bool:
    """Whether a body is under its digest. In a damaged file its columns may be of other types."""
    if not (isinstance(key, bytes) and isinstance(data, bytes) and (changes is None or isinstance(changes, bytes))):
        return False
    return is_sealed(bytes.fromhex(header.digest), key, data, changes or b"")


def _hash(before: bytes | None, header: Header) -> str:
    """The hash of the record before an entry, "" where that is gone."""
    if before is None:
        return START if header.record == 1 else ""
    return before.hex()


def entries_of(c: sqlite3.Connection, session: str, kinds: Sequence[str], *, after: int = 0, codec: Codec = BUILT_IN) -> list[Entry] | None:
    """Those of these kinds in a session behind a record, oldest first. None where entries of the session are gone: what they took back is not known."""
    ((count, last),) = c.execute("SELECT count(*), coalesce(max(entry), 0) FROM entries WHERE session = ?", (session,)).fetchall()
    ((counted,),) = c.execute("SELECT coalesce(max(entries), 0) FROM progress WHERE session = ?", (session,)).fetchall()
    if not count == last == counted:
        return None
    marks = ", ".join("?" * len(kinds))
    rows = c.execute(f"{ENTRY} WHERE e.session = ? AND e.record > ? AND e.kind IN ({marks}) ORDER BY e.entry", (session, after, *kinds)).fetchall()
    return [entry_of(row, codec) for row in rows]


def entry_at(c: sqlite3.Connection, record: int) -> Entry | None:
    """The entry of that record, None where there is none."""
    row = c.execute(f"{ENTRY} WHERE e.record = ?", (record,)).fetchone()
    return entry_of(row, BUILT_IN) if row else None
