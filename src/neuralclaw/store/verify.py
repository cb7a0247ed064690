"""`audit verify`: the chain over all headers, every body's digest, and what is missing without a record of its erasure."""

import hmac
import sqlite3
from collections.abc import Iterator

from ..types.chain import verify as walk
from ..types.entries import Header, decode_body
from ..types.events import Erased
from ..types.rows import BadRecord, VerifyReport
from .reading import header_of


def verify(c: sqlite3.Connection) -> VerifyReport:
    """Check the whole record in one reading. `anchor` stays null: a cut tail is found by an anchor outside the home."""
    c.execute("BEGIN")
    try:
        count, head, bad = walk(_headers(c))
        bodies_bad, erased = _bodies(c, bad.record if bad else None)
        worst = min((b for b in (bad, bodies_bad, _counts(c, bad)) if b is not None), key=lambda b: b.record, default=None)
    finally:
        c.execute("ROLLBACK")
    records = count if worst is None else worst.record - 1
    return VerifyReport(ok=worst is None, records=records, erased=erased, head=head, bad=worst)


def _headers(c: sqlite3.Connection) -> Iterator[Header]:
    for row in c.execute("SELECT * FROM entries ORDER BY record"):
        yield header_of(row)


def _bodies(c: sqlite3.Connection, before: int | None) -> tuple[BadRecord | None, int]:
    """The first body that is not what its header says, and how many are erased on record."""
    allowed = _erased(c)
    erased = 0
    rows = c.execute("SELECT e.record, e.session, e.entry, e.digest, b.key, b.data FROM entries e LEFT JOIN bodies b ON b.record = e.record ORDER BY e.record")
    for record, session, entry, digest, key, data in rows:
        if before is not None and record >= before:
            break
        if data is None:
            if (session, entry) not in allowed:
                return BadRecord(record, session, "missing"), erased
            erased += 1
        elif not hmac.compare_digest(hmac.digest(key, data, "sha256"), digest):
            return BadRecord(record, session, "hash"), erased
    return None, erased


def _erased(c: sqlite3.Connection) -> set[tuple[str, int]]:
    """The entries whose erasure is on record."""
    found: set[tuple[str, int]] = set()
    rows = c.execute("SELECT e.session, e.version, b.data FROM entries e JOIN bodies b ON b.record = e.record WHERE e.kind = 'erased'")
    for session, version, data in rows:
        body = decode_body("erased", version, data)
        if isinstance(body, Erased):
            found.update((session, entry) for entry in body.entries)
    return found


def _counts(c: sqlite3.Connection, bad: BadRecord | None) -> BadRecord | None:
    """Results whose text is not what was recorded, and bodies that belong to no entry."""
    if bad is not None:
        return None
    for session, record, key, digest, data in c.execute("SELECT session, record, key, digest, data FROM results ORDER BY record"):
        if not hmac.compare_digest(hmac.digest(key, data, "sha256"), digest):
            return BadRecord(record, session, "hash")
    stray = c.execute("SELECT b.record FROM bodies b LEFT JOIN entries e ON e.record = b.record WHERE e.record IS NULL ORDER BY b.record LIMIT 1").fetchone()
    return BadRecord(stray[0], "", "order") if stray else None
