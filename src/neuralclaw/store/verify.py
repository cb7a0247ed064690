"""Whether the record is as it was written: the chain of headers, every body under its digest, nothing missing that was not erased."""

import hmac
import sqlite3
from collections.abc import Iterator

import msgspec

from ..types import chain
from ..types.entries import Header
from ..types.events import Erased
from ..types.rows import BadRecord, VerifyReport
from .reading import header_of

_erased = msgspec.json.Decoder(Erased)
_CHUNK = 500


def verify(c: sqlite3.Connection) -> VerifyReport:
    """Verify the whole home as it is at one moment; the first bad record ends the walk.

    Found: any change of a header, body or result, a removal, insertion or reordering, and a cut that the session's own count
    still remembers. A tail that was cut together with that count is only found by an anchor outside the home.
    """
    c.execute("BEGIN")  # one snapshot, while others write on
    try:
        return _Walk(c).report()
    finally:
        c.execute("ROLLBACK")


class _Walk:
    def __init__(self, c: sqlite3.Connection) -> None:
        self._c = c
        self._erased = _erasures(c)
        self._missing = 0
        self._bad: BadRecord | None = None

    def report(self) -> VerifyReport:
        count, head, bad = chain.verify(self._headers())
        bad = self._bad or bad or self._cut(count) or _changed_result(self._c) or _stray_body(self._c)
        return VerifyReport(ok=bad is None, records=count, erased=self._missing, head=head if count else "", bad=bad)

    def _headers(self) -> Iterator[Header]:
        """Each header, and when the chain has found it good, a look at its body."""
        sql = "SELECT e.*, b.key, b.data FROM entries e LEFT JOIN bodies b ON b.record = e.record WHERE e.record > ? ORDER BY e.record LIMIT ?"
        after = -(2**63)
        while rows := self._c.execute(sql, (after, _CHUNK)).fetchall():
            for row in rows:
                header = header_of(row)
                yield header
                if row[10] is None:
                    if (header.session, header.entry) not in self._erased:
                        self._bad = BadRecord(header.record, header.session, "missing")
                        return
                    self._missing += 1
                elif hmac.digest(row[10], row[11], "sha256") != row[8]:
                    self._bad = BadRecord(header.record, header.session, "hash")
                    return
            after = rows[-1][0]

    def _cut(self, count: int) -> BadRecord | None:
        """A session whose last entries are gone, or were added past the program, by its own count."""
        row = self._c.execute(
            "SELECT p.session, p.entries - e.entries FROM progress p LEFT JOIN (SELECT session, max(entry) AS entries FROM entries GROUP BY session) e"
            " ON e.session = p.session WHERE p.entries IS NOT e.entries ORDER BY p.session LIMIT 1"
        ).fetchone()
        if row is None:
            return None
        if row[1] is None or row[1] > 0:
            return BadRecord(count + 1, row[0], "cut")
        last: int = self._c.execute("SELECT max(record) FROM entries WHERE session = ?", (row[0],)).fetchone()[0]
        return BadRecord(last, row[0], "order")


def _erasures(c: sqlite3.Connection) -> set[tuple[str, int]]:
    """(session, entry) of every body that an `erased` entry names."""
    found: set[tuple[str, int]] = set()
    rows = c.execute("SELECT e.session, b.data FROM entries e JOIN bodies b ON b.record = e.record WHERE e.kind = 'erased' ORDER BY e.record")
    for session, data in rows:
        try:
            body = _erased.decode(data)
        except msgspec.DecodeError:
            continue  # the walk comes to it and finds it changed
        found.update((session, entry) for entry in body.entries)
    return found


def _changed_result(c: sqlite3.Connection) -> BadRecord | None:
    for session, record, key, digest, data in c.execute("SELECT session, record, key, digest, data FROM results ORDER BY record"):
        if hmac.digest(key, data, "sha256") != digest:
            return BadRecord(record, session, "hash")
    return None


def _stray_body(c: sqlite3.Connection) -> BadRecord | None:
    """A body that belongs to no record."""
    row = c.execute("SELECT b.record FROM bodies b LEFT JOIN entries e ON e.record = b.record WHERE e.record IS NULL ORDER BY b.record LIMIT 1").fetchone()
    return BadRecord(row[0], "", "order") if row else None
