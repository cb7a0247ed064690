"""What is said to SQLite about temporary tables beside those of a home, which a verification fills and compares with.

One of a built-in derived table has its name, so the projections that write a home write it too, on a connection that only reads.
"""

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from .migrations import MIGRATIONS, VERSION
from .schema import BUILT_IN_TABLES, COLUMNS
from .state_changes import SESSION_FACTS

_SHOWING = ("trigger ", "view ")
_NO_ROOM = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN")
_FACTS = ", ".join(SESSION_FACTS)
_MARKS = ", ".join("?" * len(SESSION_FACTS))

_NUMBERS = frozenset(
    "record entry turn turns queued started finished inbound answer place time input cached output entries last_turn open_turn steering updated unpriced"
    " by_schema".split()
)


def _typed(columns: str) -> str:
    """The columns with their types: SQLite finds a number by the index of a column only where both columns are numbers."""
    return ", ".join(f"{name} {'INTEGER' if name in _NUMBERS else 'REAL' if name == 'usd' else 'TEXT'}" for name in columns.split(", "))


CREATE = (
    *(f"CREATE TEMP TABLE {name} ({_typed(COLUMNS[name])}, PRIMARY KEY ({', '.join(key)})) WITHOUT ROWID" for name, key in BUILT_IN_TABLES.items()),
    "CREATE INDEX temp.inbox_steering ON inbox (session, turn, entry) WHERE queued = 0",
    f"CREATE TEMP TABLE told_sessions (session TEXT PRIMARY KEY, {_FACTS}, created INTEGER, record INTEGER, since INTEGER) WITHOUT ROWID",
    "CREATE TEMP TABLE told_outbox (id INTEGER PRIMARY KEY, session TEXT, record INTEGER, channel TEXT, address TEXT, text TEXT)",
    "CREATE TEMP TABLE told_results (session TEXT, call_id TEXT, record INTEGER, digest BLOB, PRIMARY KEY (session, call_id)) WITHOUT ROWID",
    "CREATE TEMP TABLE told_keys (key TEXT PRIMARY KEY, session TEXT, entry INTEGER, record INTEGER) WITHOUT ROWID",
    "CREATE TEMP TABLE told_facts (record INTEGER PRIMARY KEY, data)",
    "CREATE TEMP TABLE told_erased (session TEXT, entry INTEGER, PRIMARY KEY (session, entry)) WITHOUT ROWID",
    "CREATE TEMP TABLE told_newer (session TEXT PRIMARY KEY, record INTEGER) WITHOUT ROWID",
)
"""`told_` tables have other columns than those they are compared with. In `told_outbox` the text is its SHA-256 (hex); it and the address are null where
the answer is erased. `told_facts`: what stays known of erased bodies. `told_newer`: sessions with entries of a newer version of the
program, and the first of them."""

ADD_SESSION = f"INSERT OR IGNORE INTO told_sessions VALUES (?, {_MARKS}, ?, ?, 0)"
FILL_SESSION, SET_SESSION = (
    f"INSERT INTO told_sessions VALUES (?, {_MARKS}, ?, ?, 0) ON CONFLICT (session) DO UPDATE SET {', '.join(told.format(name) for name in SESSION_FACTS)}"
    for told in ("{0} = iif({0} = '', excluded.{0}, {0})", "{0} = excluded.{0}")
)
RENAME = "UPDATE told_sessions SET title = ? WHERE session = ?"
ADD_RESULT = "INSERT OR REPLACE INTO told_results VALUES (?, ?, ?, ?)"
ADD_KEY = "INSERT OR REPLACE INTO told_keys VALUES (?, ?, ?, ?)"
ADD_FACTS = "INSERT OR REPLACE INTO told_facts VALUES (?, ?)"
ADD_ERASED = "INSERT OR IGNORE INTO told_erased VALUES (?, ?)"
ADD_NEWER = "INSERT OR IGNORE INTO told_newer VALUES (?, ?)"


def beside(create: str) -> str:
    """The statement that makes a capability's table as a temporary one."""
    return create.replace("CREATE TABLE", "CREATE TEMP TABLE", 1)


@contextmanager
def writable(c: sqlite3.Connection) -> Iterator[None]:
    """Inside, a connection that only reads may have temporary tables, and does not wait for locks; afterwards it is as before."""
    (query_only,), (patience,) = (c.execute(f"PRAGMA {name}").fetchone() for name in ("query_only", "busy_timeout"))
    c.execute("PRAGMA query_only = 0")  # it forbids temporary tables too
    try:
        yield
    finally:
        c.execute(f"PRAGMA query_only = {query_only}")
        c.execute(f"PRAGMA busy_timeout = {patience}")


@contextmanager
def in_memory(c: sqlite3.Connection) -> Iterator[None]:
    """Inside, temporary tables are kept in memory."""
    (place,) = c.execute("PRAGMA temp_store").fetchone()
    c.execute("PRAGMA temp_store = MEMORY")
    try:
        yield
    finally:
        c.execute(f"PRAGMA temp_store = {place}")


def is_without_room(c: sqlite3.Connection, error: sqlite3.OperationalError) -> bool:
    """Whether the files of temporary tables could not be written, and memory was not tried yet."""
    (place,) = c.execute("PRAGMA temp_store").fetchone()
    return place != 2 and str(getattr(error, "sqlite_errorname", "")).startswith(_NO_ROOM)


def schema_version(c: sqlite3.Connection) -> int:
    """The version of the schema that a home says it has."""
    version: int = c.execute("PRAGMA main.user_version").fetchone()[0]
    return version


def strange_schema(c: sqlite3.Connection, kept: Mapping[str, Sequence[str] | None]) -> str:
    """What of the schema is not the program's own in the version that the file says it has, by its kind and name: something added, gone or defined otherwise.
    "" where there is nothing. `kept`: the tables of capabilities with the statements that make each, None where they are not known.

    Of a newer version only views and triggers are told, which would show or write what nobody recorded.
    """
    version = schema_version(c)
    unseen = {table for table, statements in kept.items() if statements is None}
    there = {what: sql for what, (sql, table) in _schema_of(c).items() if table not in unseen or what.startswith(_SHOWING)}
    made = {_of_statement(one): " ".join(one.split()) for statements in kept.values() for one in statements or ()}
    if version < VERSION and there == _own_schema(VERSION) | made:
        return "schema version"
    own = _own_schema(version) | made
    strange = [what for what in there.keys() | own.keys() if there.get(what) != own.get(what) and (version <= VERSION or what.startswith(_SHOWING))]
    return min(strange, default="").removeprefix("table ")


def _of_statement(create: str) -> str:
    """Kind and name of what a capability's statement makes."""
    words, name, _ = create.split('"', 2)
    return f"{words.split()[1].lower()} {name}"


def broken_index(c: sqlite3.Connection) -> str:
    """An index that has not what its table has, or what else of the file is not as SQLite writes it; "" where there is nothing.

    A table is read by its indexes, so that a row that one of them lacks is not shown. It is compared by its rows.
    """
    for (table,) in c.execute("SELECT DISTINCT tbl_name FROM main.sqlite_master WHERE type = 'index'").fetchall():
        (told, *_), *_ = c.execute(f"""PRAGMA main.integrity_check("{table.replace('"', '""')}")""").fetchall()
        if told != "ok":
            named = re.search(r"\bindex (\S+)$", told)
            return f"index {named[1]}" if named else "database file"
    return ""


def _own_schema(version: int) -> dict[str, str]:
    """What the program makes in this version of it."""
    own = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for step in MIGRATIONS[:version]:
            step(own)
        return {what: sql for what, (sql, _) in _schema_of(own).items()}
    finally:
        own.close()


def _schema_of(c: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    """Kind and name of everything that a statement made -> the statement, which tells collations and constraints too, and the table that it is of."""
    made = c.execute("SELECT type, name, sql, tbl_name FROM main.sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {f"{kind} {name}": (" ".join(sql.split()), table) for kind, name, sql, table in made}
