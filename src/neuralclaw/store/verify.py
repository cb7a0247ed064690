"""Whether the record is as it was written: the chain of headers, every body under its digest and readable, nothing missing that was not erased, and
every table as the entries make it."""

import sqlite3
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import islice
from types import NoneType
from typing import TypeVar

from ..types import chain
from ..types.chain import is_keyed_digest
from ..types.codec import foreign
from ..types.entries import Header, named_blobs
from ..types.events import Body, Unreadable
from ..types.records import BadRecord, VerifyReport
from .bodies import HEADER, body_of, header_of, labels_of
from .comparison import compare
from .derived_tables import DerivedTables
from .expected_tables import ExpectedTables
from .mending import Mend, state_mends
from .projections import is_projected, joined
from .state_changes import is_sealed
from .temporary_tables import broken_index, in_memory, is_without_room, writable

T = TypeVar("T")
_CHUNK = 500
_WalkedRow = tuple[int, str, int, int, str, int, int, str, bytes, bytes, bytes | None, bytes | None, bytes | None]
"""The columns of `_WALK`."""
_WALK = (
    f"SELECT {HEADER}, b.key, b.data, s.data FROM entries e LEFT JOIN bodies b ON b.record = e.record"
    " LEFT JOIN state_changes s ON s.record = e.record ORDER BY e.record"
)


def verify(c: sqlite3.Connection, derived: DerivedTables) -> VerifyReport:
    """Verify the whole home as it is at one moment; the first bad record ends the walk.

    Found: any change of a header, body, result or kept bytes, a removal, insertion or reordering, a cut that the session's own count still remembers, a body
    that is as it was written but none of its kind, any row of a table that is not as the entries make it (`comparison.NOT_DERIVED` names the columns that no
    entry tells of), an index that has not what its table has, and a definition that is not the program's. A body of a kind or version that this program does
    not know is good when its digest is. A tail that was cut together with what was derived from it is only found by an anchor outside the home.

    Nothing is written but temporary tables, which SQLite keeps in files of its own for as long as they are large; in memory where there is no room.
    """
    return _at_one_moment(c, derived, lambda walk: walk.report())


def mends_of(c: sqlite3.Connection, derived: DerivedTables) -> list[Mend]:
    """What makes the state that entries tell of as they tell it; nothing where the record itself is not whole. Only reads, as `verify` does."""
    return _at_one_moment(c, derived, lambda walk: walk.mends())


def _at_one_moment(c: sqlite3.Connection, derived: DerivedTables, read: "Callable[[_Walk], T]") -> T:
    with writable(c):
        try:
            return _in_snapshot(c, derived, read)
        except sqlite3.OperationalError as error:
            if not is_without_room(c, error):
                raise
        with in_memory(c):
            return _in_snapshot(c, derived, read)


def _in_snapshot(c: sqlite3.Connection, derived: DerivedTables, read: "Callable[[_Walk], T]") -> T:
    c.execute("BEGIN")  # one snapshot, while others write on
    try:
        return read(_Walk(c, derived))
    finally:
        if c.in_transaction:
            c.execute("ROLLBACK")  # the temporary tables with it


_TYPES = (int, str, int, int, str, int, int, str, bytes, bytes, *[bytes | NoneType] * 3)
"""The types of a walked row: in a damaged file a column may have another one."""


class _Walk:
    def __init__(self, c: sqlite3.Connection, derived: DerivedTables) -> None:
        self._c, self._codec = c, derived.codec
        self._expected = ExpectedTables(c, derived)
        self._missing = 0
        self._walk = chain.ChainWalk()
        self._quoted = chain.Quoted()
        self._labels: dict[str, tuple[tuple[str, ...], str]] = {}
        self._kinds: dict[tuple[str, int], tuple[Callable[[bytes], Body] | None, bool, str]] = {}

    def report(self) -> VerifyReport:
        broken = broken_index(self._c)
        unlike = BadRecord(0, "", "hash", broken) if broken else None
        count, head, bad = self._chain()
        if broken.startswith("index "):  # what is read by it may be wrong
            bad = unlike
        elif bad is None:
            bad = self._cut(count) or self._stray() or compare(self._c, self._expected) or unlike
        unchecked = tuple(self._expected.uncompared())
        return VerifyReport(ok=bad is None, records=count, erased=self._missing, head=head if count else "", bad=bad, unchecked=unchecked)

    def mends(self) -> list[Mend]:
        count, _, bad = self._chain()
        return [] if bad or self._cut(count) or self._stray() else state_mends(self._c, self._expected.stated)

    def _chain(self) -> tuple[int, str, BadRecord | None]:
        """Walk the record in order: how many records are good, the hash of the last one, and the first that is not."""
        walk, rows = self._walk, self._c.execute(_WALK)
        try:
            while chunk := rows.fetchmany(_CHUNK):
                self._expected.look_up(chunk)
                at = 0
                while (at := self._take_plain(chunk, at)) < len(chunk):
                    if (bad := self._take_row(chunk[at])) is not None:
                        return walk.count, walk.head, bad
                    at += 1
                self._expected.flush()
        finally:
            rows.close()
        return walk.count, walk.head, None

    def _take_plain(self, chunk: Sequence[_WalkedRow], begin: int) -> int:
        """Take records that are the next ones, as they were written, and of a built-in kind, as nearly all are. Gives the place of the first that is not
        plainly so. `_take_row` does the same step by step, says what is wrong, and takes twice as long."""
        walk, expected, known, kinds, run, follows = self._walk, self._expected, self._labels, self._kinds, None, False
        first, count, head = walk.count, walk.count, walk.head
        for record, session, entry, turn, kind, version, time, stored, digest, link, key, data, changes in islice(chunk, begin, None):
            if not (digest.__class__ is link.__class__ is key.__class__ is data.__class__ is bytes and session.__class__ is kind.__class__ is str):
                break
            if session != run:
                run, progress, place, follows = session, expected.progress(session), self._quoted[session], False
            if record != count + 1 or entry != progress.entries + 1:
                break
            if not (turn.__class__ is version.__class__ is time.__class__ is int and stored.__class__ is str):  # a text would look as a number does
                break
            if changes is not None and changes.__class__ is not bytes:
                break
            labels, written = known.get(stored) or self._read_labels(stored)
            decode, only_counted, of_kind = kinds.get((kind, version)) or self._read_kind(kind, version)
            text = f'{head}\n[{record},{place},{entry},{turn},{of_kind},{time},{written},"{digest.hex()}"]'
            if sha256(text.encode()).digest() != link or not is_keyed_digest(digest, key, data + b"\0" + changes if changes else data) or decode is None:
                break
            try:
                body = decode(data)
            except (ValueError, RecursionError):
                break
            count, head = record, link.hex()
            if only_counted and follows and changes is None and not named_blobs(body):
                progress.entries, progress.updated = entry, time  # as `projections.count` does; the session is touched already
                if turn > progress.last_turn:
                    progress.last_turn = turn
                if labels:
                    progress.labels = joined(progress.labels, labels)
                continue
            follows = True
            header = Header(
                record=record, session=session, entry=entry, turn=turn, kind=kind, version=version, time=time, labels=labels, digest=digest.hex(), hash=head
            )
            expected.take(header, body, changes)
        walk.count, walk.head = count, head
        return begin + count - first

    def _read_labels(self, stored: str) -> tuple[tuple[str, ...], str]:
        """Stored labels, and as the chain has them."""
        if len(self._labels) >= _CHUNK:
            self._labels.clear()
        labels = labels_of(stored)
        self._labels[stored] = labels, chain.labels_text(labels)
        return self._labels[stored]

    def _read_kind(self, kind: str, version: int) -> tuple[Callable[[bytes], Body] | None, bool, str]:
        """What decodes bodies of a kind, whether nothing but blobs can be made of them, and both as the chain has them."""
        only_counted = not (is_projected(kind) or self._expected.is_folded(kind))
        found = self._kinds[kind, version] = (self._codec.built_in_decoder(kind, version), only_counted, f"{self._quoted[kind]},{version}")
        return found

    def _take_row(self, row: _WalkedRow) -> BadRecord | None:
        """Take the next record; what is wrong with it."""
        if not all(isinstance(value, kind) for value, kind in zip(row, _TYPES, strict=True)):
            return BadRecord(self._walk.count + 1, row[1] if isinstance(row[1], str) else "", "hash")
        header = header_of(row[:10])
        if (bad := self._walk.take(header, self._expected.progress(header.session).entries)) is not None:
            return bad
        why = self._take(header, row[8], *row[10:])
        return BadRecord(header.record, header.session, why) if why else None

    def _take(self, header: Header, digest: bytes, key: bytes | None, data: bytes | None, changes: bytes | None) -> str:
        """What is wrong with a body, "" when nothing is."""
        body: Body | None = None
        if key is None or data is None:
            self._missing += 1
            if changes is not None or not self._expected.erased(header.session, header.entry):
                return "missing"
        else:
            if not is_sealed(digest, key, data, changes or b""):
                return "hash"
            body = body_of(header.kind, header.version, data, header.session, header.entry, self._codec)
            # Its digest is right: what a capability's own code makes of it says nothing of the record.
            if type(body) is Unreadable and body.why == "damaged" and not foreign(header.kind):
                return "damaged"
        self._expected.take(header, body, changes)
        return ""

    def _cut(self, count: int) -> BadRecord | None:
        """A session whose last entries are gone, or were added past the program, by its own count."""
        rows = self._c.execute(
            "SELECT p.session, p.entries - e.entries FROM main.progress p LEFT JOIN (SELECT session, max(entry) AS entries FROM entries GROUP BY session) e"
            " ON e.session = p.session WHERE p.entries IS NOT e.entries ORDER BY p.session LIMIT 1"
        ).fetchall()
        for session, lacking in rows:
            if lacking is None or lacking > 0:
                return BadRecord(count + 1, session, "cut")
            for (last,) in self._c.execute("SELECT max(record) FROM entries WHERE session = ?", (session,)):
                return BadRecord(last, session, "order")
        return None

    def _stray(self) -> BadRecord | None:
        """A body, or what was changed beside one, that belongs to no record."""
        for table in ("bodies", "state_changes"):
            sql = f"SELECT b.record FROM {table} b LEFT JOIN entries e ON e.record = b.record WHERE e.record IS NULL ORDER BY b.record LIMIT 1"
            for (record,) in self._c.execute(sql).fetchall():
                return BadRecord(record, "", "order")
        return None
