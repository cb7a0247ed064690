"""The registry of derived tables: the built-in ones and those of capabilities, their names, columns and definitions."""

import hashlib
import inspect
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from ..capability import Table
from ..errors import ConfigError, StoreError
from ..ports import Rows
from ..types.codec import BUILT_IN, Codec
from ..types.entries import Entry
from . import dialect
from .connection import is_refusal
from .schema import BUILT_IN_TABLES, READABLE, STATE_TABLES, TABLES

_MOST_COLUMNS = 1_000
"""SQLite takes 2,000 in a table."""
_IDENTIFIER = r"[a-z_][a-z0-9_]*"


class CapabilityTable:
    """A capability's table as the store keeps it: `definition`, and its statements. Its identifiers are checked, so they can stand in SQL.

    In the database its name begins with `capability_`, so that no built-in table ever meets it.
    """

    def __init__(self, definition: Table) -> None:
        self.name, self.kinds = definition.name, frozenset(definition.kinds)
        self.fold: Callable[[Entry, Rows], None] = definition.fold
        self.columns, self.key = tuple(definition.columns), tuple(definition.key)
        self.stored = f"capability_{self.name}"
        columns = [f"{dialect.quoted(name)} {dialect.COLUMN_TYPES[kind]}" for name, kind in definition.columns.items()]
        self.create = [dialect.create_table(dialect.quoted(self.stored), columns, dialect.listed(self.key))]
        for number, index in enumerate(definition.indexes, 1):
            self.create.append(f"CREATE INDEX {dialect.quoted(f'index_{self.name}_{number}')} ON {dialect.quoted(self.stored)} ({dialect.listed(index)})")
        one = f"WHERE {' AND '.join(f'{dialect.quoted(name)} = ?' for name in self.key)}"
        self.select = f"SELECT {dialect.listed(self.columns)} FROM {dialect.quoted(self.stored)} {one}"
        self.insert = dialect.replace(dialect.quoted(self.stored), dialect.listed(self.columns), f"({', '.join('?' * len(self.columns))})")
        self.select_all = f"SELECT {dialect.listed(self.columns)} FROM {dialect.quoted(self.stored)}"
        self.remove = f"DELETE FROM {dialect.quoted(self.stored)} {one}"
        shape = [self.name, list(definition.columns.items()), self.key, sorted(self.kinds), definition.indexes, definition.version]
        self.digest = hashlib.sha256(msgspec.json.encode(shape)).hexdigest()
        """It changes when anything but `fold` does."""


class TableRows:
    """The port `Rows` on one capability's table, inside the writer's transaction.

    `failure`: what the database could not do, whatever the fold makes of the exception; an error that a fold raises of its own is none.
    """

    def __init__(self, connection: sqlite3.Connection, table: CapabilityTable) -> None:
        self._connection, self._table = connection, table
        self.failure: sqlite3.Error | None = None

    def get(self, **key: Any) -> dict[str, Any] | None:
        """See `ports.Rows`. Raises `StoreError` where not just the key is named."""
        for row in self._execute(self._table.select, self._key(key)):
            return dict(zip(self._table.columns, row, strict=True))
        return None

    def put(self, **values: Any) -> None:
        """See `ports.Rows`. Raises `StoreError` for a column that the table does not have."""
        if strange := sorted(values.keys() - set(self._table.columns)):
            raise StoreError(f"the table {self._table.name} has no column {', '.join(strange)}")
        self._execute(self._table.insert, [values.get(name) for name in self._table.columns])

    def delete(self, **key: Any) -> None:
        """See `ports.Rows`. Raises `StoreError` where not just the key is named."""
        self._execute(self._table.remove, self._key(key))

    def _execute(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            if not is_refusal(error):
                self.failure = error
            raise

    def _key(self, key: Mapping[str, Any]) -> list[Any]:
        if key.keys() != set(self._table.key):
            raise StoreError(f"the key of the table {self._table.name} is {', '.join(self._table.key)}, not {', '.join(key) or 'nothing'}")
        return [key[name] for name in self._table.key]


class Projection(Protocol):
    """What is derived from entries by folding them in the order of the record."""

    @property
    def kinds(self) -> frozenset[str] | None:
        """The kinds of entries that it is derived from; None: all, also those whose body cannot be read."""
        ...

    def clear(self, session: str | None) -> None:
        """Remove its rows; those of a session, where its rows belong to sessions."""
        ...

    def take(self, entry: Entry) -> None:
        """Fold one more entry."""
        ...


class DerivedTables:
    """Every derived table of a home: `BUILT_IN_TABLES` and those of capabilities. It does not change once it is made.

    Raises `ConfigError` for a table that could not be kept, or that has the name of another.
    """

    def __init__(self, codec: Codec = BUILT_IN, tables: Iterable[Table] = ()) -> None:
        self.codec = codec
        self.tables: dict[str, CapabilityTable] = {}
        self._of_kind: dict[str, tuple[CapabilityTable, ...]] = {}
        for definition in tables:
            self._check(definition)
            table = self.tables[definition.name] = CapabilityTable(definition)
            for kind in table.kinds:
                self._of_kind[kind] = (*self._of_kind.get(kind, ()), table)

    def _check(self, table: Table) -> None:
        name = table.name
        if name in TABLES:
            raise ConfigError(f"a capability's table is called {name}, like the built-in table {name}", hint="a table's name begins with its capability's")
        if name in self.tables:
            raise ConfigError(f"two capabilities have a table called {name}", hint="a table's name begins with its capability's")
        for word in (name, *table.columns, *table.key, *(column for index in table.indexes for column in index)):
            if not re.fullmatch(_IDENTIFIER, word):
                raise ConfigError(f"the table {name!r} of a capability cannot have the name {word!r} in it: it is not of the form [a-z_][a-z0-9_]*")
        if len(table.columns) > _MOST_COLUMNS:
            raise ConfigError(f"the table {name} of a capability has {len(table.columns):,} columns; it may have {_MOST_COLUMNS:,}")
        if inspect.iscoroutinefunction(table.fold):
            raise ConfigError(f"the fold of the table {name} of a capability is an async function: it runs in a transaction and waits for nothing")
        if not table.key:
            raise ConfigError(f"the table {name} of a capability has no key")
        for what, columns in (("key", table.key), *(("index", index) for index in table.indexes)):
            if strange := [column for column in columns if column not in table.columns]:
                raise ConfigError(f"the {what} of the table {name} names {', '.join(strange)}, which is not a column of it")
            if not columns or len(set(columns)) < len(columns):
                raise ConfigError(f"the {what} of the table {name} names no column, or one twice")
        for column, kind in table.columns.items():
            if kind not in dialect.COLUMN_TYPES:
                raise ConfigError(f"the column {column} of the table {name} has the type {kind!r}, which is none of {', '.join(dialect.COLUMN_TYPES)}")
        if strange := [kind for kind in table.kinds if not self.codec.has(kind)]:
            raise ConfigError(f"the table {name} is derived from {', '.join(strange)}, which is not a kind of event that this program records")

    def of_kind(self, kind: str) -> tuple[CapabilityTable, ...]:
        """The capabilities' tables that entries of a kind are folded into."""
        return self._of_kind.get(kind, ())

    def shape(self, name: str) -> tuple[str, Sequence[str], Sequence[str]]:
        """The name in the database, the columns and the key of a table that can be read. Raises `StoreError` where there is none of that name."""
        key = BUILT_IN_TABLES.get(name) or STATE_TABLES.get(name)
        if key is not None:
            return name, READABLE[name].split(", "), key
        table = self.tables.get(name)
        if table is None:
            known = ", ".join(sorted((*BUILT_IN_TABLES, *STATE_TABLES, *self.tables)))
            raise StoreError(f"there is no derived table {name!r}: {known}")
        return table.stored, table.columns, table.key


def lags(c: sqlite3.Connection, table: CapabilityTable, folded: int) -> bool:
    """Whether entries of the table's kinds were written behind record `folded`."""
    marks = ", ".join("?" * len(table.kinds))
    return c.execute(f"SELECT 1 FROM entries WHERE record > ? AND kind IN ({marks}) LIMIT 1", (folded, *sorted(table.kinds))).fetchone() is not None
