"""Keeping the tables of capabilities: made, brought up to date, and emptied when what they were folded from is erased.

`derived_tables` holds for each of them the digest of its definition, the kinds it is derived from, and the record up to which it was folded. So a
table whose definition changed is made anew, a table whose capability was away takes up what was written meanwhile, and a program that does not
have the capability can empty it when it erases entries of its kinds: it is folded from the beginning when the capability is back.
"""

import logging
import sqlite3
from collections.abc import Iterator, Sequence

import msgspec

from ..errors import StoreError
from ..foreign_code import place_of, reason
from ..types.codec import Codec
from ..types.entries import Entry
from ..types.events import Unreadable
from . import dialect
from .bodies import ENTRY, entry_of
from .derived_tables import CapabilityTable, DerivedTables, Projection, TableRows, lags
from .entry_writer import Append
from .tables import Tables
from .writer import Job

_log = logging.getLogger(__name__)

_CHUNK = 500
_REFUSED = "; nothing of this step was recorded"
_SEEN = 1000
"""Records behind the last folded one that an opening may look at in vain; then it says that they are folded."""


def stored(c: sqlite3.Connection, codec: Codec, *, session: str | None = None, after: int = 0, kinds: frozenset[str] | None = None) -> Iterator[Entry]:
    """Entries in the order of the record, behind record `after`: of a session or of all, of these kinds or of all."""
    place, reached, where = "e.record", after, ""
    values: list[str | int] = []
    if session is not None:  # by its numbers, which rise with the record: by the record each chunk would read the whole session again to sort it
        place, reached, where, values = "e.entry", 0, " AND e.session = ? AND +e.record > ?", [session, after]
    if kinds is not None:
        where += f" AND e.kind IN ({', '.join('?' * len(kinds))})"
        values += sorted(kinds)
    while rows := c.execute(f"{ENTRY} WHERE {place} > ?{where} ORDER BY {place} LIMIT {_CHUNK}", (reached, *values)).fetchall():
        for row in rows:
            entry = entry_of(row, codec)
            reached = entry.header.record if session is None else entry.header.entry
            yield entry


def derive(tables: Tables, projection: Projection, *, session: str | None = None, after: int | None = None) -> None:
    """Make anew what is derived from entries, or with `after` only take up those behind that record; within the writer's transaction.

    It is the one way in which any derived table is made from what is stored.
    """
    if after is None:
        projection.clear(session)
    for entry in stored(tables.connection, tables.derived.codec, session=session, after=after or 0, kinds=projection.kinds):
        projection.take(entry)
        if entry.header.record % _CHUNK == 0:
            tables.flush()
    tables.flush()


class TableProjection:
    """A capability's table, wherever it is kept, as a projection. Its rows belong to no session: they are always made anew as a whole.

    `outcome`: what a failure means to who waits, at the end of its text.
    """

    def __init__(self, connection: sqlite3.Connection, table: CapabilityTable, outcome: str = "") -> None:
        self._connection, self._table, self._outcome = connection, table, outcome
        self._rows = TableRows(connection, table)
        self.kinds: frozenset[str] | None = table.kinds

    def clear(self, session: str | None) -> None:
        _empty(self._connection, self._table.name)

    def take(self, entry: Entry) -> None:
        """Raises `StoreError`, which names the table, where its fold raises."""
        if entry.body is None or isinstance(entry.body, Unreadable):
            return
        try:
            self._table.fold(entry, self._rows)
        except BaseException as error:  # an exit too: the thread of the writer must not end with it
            if self._rows.failure is None:
                raise self._refused(entry, error) from error
        if self._rows.failure is not None:
            raise self._rows.failure

    def _refused(self, entry: Entry, error: BaseException) -> StoreError:
        place = place_of(error)
        said = f"the table {self._table.name} of a capability cannot process an entry of kind {entry.header.kind} ({reason(error)})"
        return StoreError(
            said + self._outcome, hint=f"{f'its fold failed at {place}; ' if place else ''}neuralclaw doctor names the capability and its version"
        )


def refold(tables: Tables, table: CapabilityTable, *, after: int | None = None, outcome: str = "") -> None:
    """Make a capability's table anew from the entries, or take up those behind record `after`. Raises `StoreError` where its fold raises."""
    derive(tables, TableProjection(tables.connection, table, outcome), after=after)
    tables.connection.execute("UPDATE derived_tables SET folded = ? WHERE name = ?", (tables.record, table.name))


def forget_erased(tables: Tables, kinds: frozenset[str]) -> None:
    """Remove from the capabilities' tables what was folded from entries of these kinds that are erased now.

    A table that this program has is made anew; one whose capability is not here is emptied. So is one whose fold raises: the erasing comes first.
    """
    for name, encoded, digest in tables.connection.execute("SELECT name, kinds, digest FROM derived_tables").fetchall():
        if kinds.isdisjoint(msgspec.json.decode(encoded)):
            continue
        table = tables.derived.tables.get(name)
        if table is None or table.digest != digest:
            _empty(tables.connection, name)
            continue
        _refold_or_empty(tables, table, after=None)


def _refold_or_empty(tables: Tables, table: CapabilityTable, *, after: int | None) -> str:
    """Why the table could not be folded and is empty now; "" where it could."""
    try:
        refold(tables, table, after=after)
    except StoreError as error:
        _log.warning("%s; the table was emptied", error.text)
        _empty(tables.connection, table.name)
        return error.text
    return ""


def _empty(c: sqlite3.Connection, name: str) -> None:
    c.execute(f'DELETE FROM "capability_{name}"')
    c.execute("UPDATE derived_tables SET folded = 0 WHERE name = ?", (name,))


class FoldingAppend(Append):
    """An append with entries that are folded into tables of capabilities. It has a transaction of its own: what a fold did is undone with it."""

    __slots__ = ()
    alone = True

    def run(self, tables: Tables) -> list[Entry]:
        mine = {table.name: table for kind in self.kinds for table in tables.derived.of_kind(kind) if _ready(tables, table)}
        entries = super().run(tables)
        for table in mine.values():
            projection = TableProjection(tables.connection, table, _REFUSED)
            for entry in entries:
                if entry.header.kind in table.kinds:
                    projection.take(entry)
            tables.connection.execute("UPDATE derived_tables SET folded = ? WHERE name = ?", (tables.record, table.name))
        return entries


def _ready(tables: Tables, table: CapabilityTable) -> bool:
    """Whether the table is kept by this definition; then all before this transaction is folded into it. Another program's definition may have taken
    its place since it was opened here: that program takes up what is written here."""
    for digest, folded in tables.connection.execute("SELECT digest, folded FROM derived_tables WHERE name = ?", (table.name,)).fetchall():
        if digest == table.digest:
            if folded < tables.record:
                refold(tables, table, after=folded, outcome=_REFUSED)
            return True
    return False


def append_job(derived: DerivedTables, kinds: Sequence[str]) -> type[Append]:
    """The kind of job that writes entries of these kinds."""
    return FoldingAppend if derived.tables and any(derived.of_kind(kind) for kind in kinds) else Append


class Attach(Job):
    """Make a capability's table where it is not there or its definition changed, and fold what it has not taken up; with `anew` everything.

    Gives why the table could not be folded, "" where it could. A fold that raises leaves the table empty and keeps nobody from opening the home: writing
    its kinds and reading it say what is wrong.
    """

    __slots__ = ("_anew", "_table")
    alone = True

    def __init__(self, table: CapabilityTable, *, anew: bool = False) -> None:
        self._table, self._anew = table, anew

    def run(self, tables: Tables) -> str:
        c, table = tables.connection, self._table
        if (table.digest,) not in c.execute("SELECT digest FROM derived_tables WHERE name = ?", (table.name,)).fetchall():
            c.execute(f'DROP TABLE IF EXISTS "{table.stored}"')
            for statement in table.create:
                c.execute(statement)
            kinds = msgspec.json.encode(sorted(table.kinds)).decode()
            c.execute(dialect.replace("derived_tables", "name, digest, kinds, folded", "(?, ?, ?, 0)"), (table.name, table.digest, kinds))
        ((folded,),) = c.execute("SELECT folded FROM derived_tables WHERE name = ?", (table.name,)).fetchall()
        return _refold_or_empty(tables, table, after=None if self._anew else folded)


def unattached(c: sqlite3.Connection, derived: DerivedTables) -> list[CapabilityTable]:
    """The tables that `Attach` has work with."""
    if not derived.tables:
        return []
    known = {name: (digest, folded) for name, digest, folded in c.execute("SELECT name, digest, folded FROM derived_tables")}
    last: int = c.execute("SELECT coalesce(max(record), 0) FROM entries").fetchone()[0]
    found = []
    for table in derived.tables.values():
        digest, folded = known.get(table.name, ("", 0))
        if digest != table.digest or last - folded > _SEEN or lags(c, table, folded):
            found.append(table)
    return found
