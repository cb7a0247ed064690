"""Whether the record is as it was written: the chain of headers, every body under its digest, all bytes that bodies name, nothing missing
that was not erased."""

import sqlite3
from collections.abc import Iterator

from ..types import chain
from ..types.codec import BUILT_IN, Codec, foreign
from ..types.entries import Header, blob_digest, named_blobs
from ..types.events import Erased, Unreadable
from ..types.records import BadRecord, VerifyReport
from .bodies import ENTRY, HEADER, body_of, entry_of, header_of

_CHUNK = 500


def verify(c: sqlite3.Connection, codec: Codec) -> VerifyReport:
    """Verify the whole home as it is at one moment; the first bad record ends the walk.

    Found: any change of a header, body, result or kept bytes, a removal, insertion or reordering, a cut that the session's own count
    still remembers, and a body that is as it was written but none of its kind. A body of a kind or version that this program does not know
    is good when its digest is. A tail that was cut together with that count is only found by an anchor outside the home.
    """
    c.execute("BEGIN")  # one snapshot, while others write on
    try:
        return _ChainWalk(c, codec).report()
    finally:
        c.execute("ROLLBACK")


class _ChainWalk:
    def __init__(self, c: sqlite3.Connection, codec: Codec) -> None:
        self._c, self._codec = c, codec
        self._erased = _erasures(c)
        self._missing = 0
        self._bad: BadRecord | None = None
        self._named: dict[str, tuple[int, str]] = {}
        """Digests of kept bytes, and the first record (with its session) that names each."""
        self._unknown: set[int] = set()
        """Records of kinds or versions that this program does not know: what they name only `blob_refs` tells."""

    def report(self) -> VerifyReport:
        count, head, bad = chain.verify(self._headers())
        bad = self._bad or bad or self._cut(count) or _changed_result(self._c) or _stray_body(self._c) or self._blobs()
        return VerifyReport(ok=bad is None, records=count, erased=self._missing, head=head if count else "", bad=bad)

    def _headers(self) -> Iterator[Header]:
        """Each header, and when the chain has found it good, a look at its body."""
        sql = f"SELECT {HEADER}, b.key, b.data FROM entries e LEFT JOIN bodies b ON b.record = e.record WHERE e.record > ? ORDER BY e.record LIMIT ?"
        after = -(2**63)
        while rows := self._c.execute(sql, (after, _CHUNK)).fetchall():
            for *columns, key, data in rows:
                header = header_of(columns)
                yield header
                why = self._body(header, key, data)
                if why:
                    self._bad = BadRecord(header.record, header.session, why)
                    return
                after = header.record

    def _body(self, header: Header, key: bytes | None, data: bytes | None) -> str:
        """What is wrong with a body, "" when nothing is."""
        if key is None or data is None:
            self._missing += 1
            return "" if (header.session, header.entry) in self._erased else "missing"
        if chain.body_digest(key, data).hex() != header.digest:
            return "hash"
        body = body_of(header.kind, header.version, data, header.session, header.entry, self._codec)
        if not isinstance(body, Unreadable):
            for digest in named_blobs(body):
                self._named.setdefault(digest, (header.record, header.session))
        elif body.why == "damaged" and not foreign(header.kind):  # its digest is right: what a capability's own code makes of it says nothing of the record
            return "damaged"
        else:
            self._unknown.add(header.record)
        return ""

    def _blobs(self) -> BadRecord | None:
        """The first record whose bytes are gone or changed; else bytes that no record names."""
        bad = []
        stray = False
        for (digest,) in self._c.execute("SELECT digest FROM blobs ORDER BY digest").fetchall():
            place = self._named.pop(digest, None) or self._named_by_unknown(digest)
            stray = stray or place is None
            if place is not None and any(blob_digest(data) != digest for (data,) in self._c.execute("SELECT data FROM blobs WHERE digest = ?", (digest,))):
                bad.append(BadRecord(*place, "hash"))
        bad += [BadRecord(*place, "missing") for place in self._named.values()]
        if bad:
            return min(bad, key=lambda b: b.record)
        return BadRecord(0, "", "order") if stray else None

    def _named_by_unknown(self, digest: str) -> tuple[int, str] | None:
        sql = "SELECT r.record, e.session FROM blob_refs r JOIN entries e ON e.record = r.record WHERE r.digest = ? ORDER BY r.record"
        return next(((record, session) for record, session in self._c.execute(sql, (digest,)).fetchall() if record in self._unknown), None)

    def _cut(self, count: int) -> BadRecord | None:
        """A session whose last entries are gone, or were added past the program, by its own count."""
        rows = self._c.execute(
            "SELECT p.session, p.entries - e.entries FROM progress p LEFT JOIN (SELECT session, max(entry) AS entries FROM entries GROUP BY session) e"
            " ON e.session = p.session WHERE p.entries IS NOT e.entries ORDER BY p.session LIMIT 1"
        ).fetchall()
        for session, lacking in rows:
            if lacking is None or lacking > 0:
                return BadRecord(count + 1, session, "cut")
            for (last,) in self._c.execute("SELECT max(record) FROM entries WHERE session = ?", (session,)):
                return BadRecord(last, session, "order")
        return None


def _erasures(c: sqlite3.Connection) -> set[tuple[str, int]]:
    """(session, entry) of every body that an `erased` entry names."""
    found: set[tuple[str, int]] = set()
    for row in c.execute(f"{ENTRY} WHERE e.kind = 'erased' ORDER BY e.record"):
        entry = entry_of(row, BUILT_IN)
        if isinstance(entry.body, Erased):  # else the walk comes to it and finds it changed
            found.update((entry.header.session, number) for number in entry.body.entries)
    return found


def _changed_result(c: sqlite3.Connection) -> BadRecord | None:
    for session, record, key, digest, data in c.execute("SELECT session, record, key, digest, data FROM results ORDER BY record"):
        if chain.body_digest(key, data) != digest:
            return BadRecord(record, session, "hash")
    return None


def _stray_body(c: sqlite3.Connection) -> BadRecord | None:
    """A body that belongs to no record."""
    sql = "SELECT b.record FROM bodies b LEFT JOIN entries e ON e.record = b.record WHERE e.record IS NULL ORDER BY b.record LIMIT 1"
    return next((BadRecord(record, "", "order") for (record,) in c.execute(sql)), None)
