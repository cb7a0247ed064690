"""Tables of capabilities that the database does not hold as they are defined here, folded in memory for those who read them.

So a home that cannot be written, or that an upgraded capability did not open for writing yet, is read as it would be afterwards; and of two versions of
a capability that are open at once each reads its own.
"""

import sqlite3
import threading
from typing import Any

from ..types.codec import Codec
from .derived_tables import CapabilityTable
from .folding import TableProjection, stored
from .queries import Query, kept_until, last_record, selected
from .readers import Readers

_ERASED = "SELECT 1 FROM entries WHERE record > ? AND kind = 'erased' LIMIT 1"


class _Copy:
    """One table in memory, with all records up to `folded`."""

    def __init__(self, connection: sqlite3.Connection, folded: int) -> None:
        self.connection, self.folded = connection, folded


class MemoryTables:
    """Copies of tables, made when they are first read. Used from worker threads."""

    def __init__(self, readers: Readers, codec: Codec) -> None:
        self._readers, self._codec = readers, codec
        self._copies: dict[str, _Copy] = {}
        self._lock = threading.Lock()

    def rows(self, table: CapabilityTable, query: Query) -> list[dict[str, Any]]:
        """Rows of the table as all entries make it. Raises `StoreError`, also where its fold raises."""
        with self._lock:
            return selected(self._current(table).connection, table.stored, table.columns, query)

    def close(self) -> None:
        with self._lock:
            for copy in self._copies.values():
                copy.connection.close()
            self._copies.clear()

    def _current(self, table: CapabilityTable) -> _Copy:
        before = self._copies.get(table.name)
        made: list[_Copy] = []  # a reading that a writer overtook is done again, and what it made is not used
        copy = None
        try:
            copy = self._readers.run(lambda c: self._made(c, table, before, made))
        finally:
            for other in made:
                if other is not copy:
                    other.connection.close()
        if before is not None and before is not copy:
            before.connection.close()
        self._copies[table.name] = copy
        return copy

    def _made(self, c: sqlite3.Connection, table: CapabilityTable, before: _Copy | None, made: list[_Copy]) -> _Copy:
        """The copy from before where nothing was recorded since; else a new one, which begins with what is folded already."""
        c.execute("BEGIN")  # all that is read here is of one moment
        try:
            last = last_record(c)
            if before is not None and before.folded == last:
                return before
            copy = _Copy(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False), 0)
            made.append(copy)
            if before is not None and not c.execute(_ERASED, (before.folded,)).fetchone():
                before.connection.backup(copy.connection)
                copy.folded = before.folded
            else:
                self._begin(c, table, copy)
            projection = TableProjection(copy.connection, table)
            for entry in stored(c, self._codec, after=copy.folded, kinds=table.kinds):
                projection.take(entry)
            copy.folded = last
            return copy
        finally:
            if c.in_transaction:
                c.execute("ROLLBACK")

    def _begin(self, c: sqlite3.Connection, table: CapabilityTable, copy: _Copy) -> None:
        """The table as the database holds it, where it has this definition, else empty."""
        for statement in table.create:
            copy.connection.execute(statement)
        copy.folded = kept_until(c, table)
        if copy.folded:
            copy.connection.executemany(table.insert, c.execute(table.select_all))
