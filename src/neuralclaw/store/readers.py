"""Connections that only read; for a home that must not be written, in a way that writes nothing at all."""

import os
import sqlite3
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ..errors import StoreError, UsageError
from .bodies import stored_text
from .connection import connect, database, store_error
from .home_exchange import refuse_half_restored
from .migrations import migrate, stand_in

if TYPE_CHECKING:
    import tempfile

T = TypeVar("T")
Seen = tuple[object, ...]
"""What the files looked like when a connection was opened."""

_RETRIES = 50


def _patiently(c: sqlite3.Connection, read: Callable[[sqlite3.Connection], T]) -> T:
    """What `read` gives, also where a text is no UTF-8 (SQLite's own way of reading text is the quicker one)."""
    try:
        return read(c)
    except sqlite3.OperationalError as error:
        if not str(error).startswith("Could not decode to UTF-8"):
            raise
    c.text_factory = stored_text
    try:
        return read(c)
    finally:
        c.text_factory = str


_REFUSED_VALUES = ("Error binding parameter", "too many SQL variables")
"""How SQLite's errors about values of a statement begin."""


def wrong_value(error: Exception) -> UsageError:
    """What is told of a value that no statement takes, whichever way it came: nothing is wrong with the record."""
    if isinstance(error, UnicodeEncodeError):
        return UsageError(f"nothing on record can be {error.object!r:.80}: it is not Unicode")
    return UsageError(f"nothing on record can be so ({error})")


class Readers:
    """A few connections for any thread; each is used by one at a time.

    With `frozen` nothing is written: without a `-wal` file beside the database it is opened as immutable, and opened again when
    the files change; an immutable reading that a writer overtook is done again. A home without a database reads as empty.
    """

    def __init__(self, home: str, patience: float, *, frozen: bool) -> None:
        self._home, self._path, self._patience, self.frozen = home, database(home), patience, frozen
        self._idle: deque[tuple[sqlite3.Connection, Seen]] = deque()
        self._copies: list[tempfile.TemporaryDirectory[str]] = []
        self._closed = False

    def run(self, read: Callable[[sqlite3.Connection], T]) -> T:
        """What `read` gives on one of the connections. Raises `StoreError`."""
        for _ in range(_RETRIES):
            seen = self._look()
            try:
                value = self._once(seen, read)
            except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
                if seen != self._look():
                    continue
                raise wrong_value(error) if str(error).startswith(_REFUSED_VALUES) else store_error(error, self._home) from error
            except (UnicodeEncodeError, OverflowError) as error:
                raise wrong_value(error) from error
            if seen == self._look():
                return value
        raise StoreError(f"the record in {self._home} changes too fast to be read; nothing was changed", hint="try again")

    def run_alone(self, read: Callable[[sqlite3.Connection], T]) -> T:
        """The same on a connection that nobody else gets, for something long. Raises `StoreError`."""
        try:
            c = self.open()
            try:
                c.text_factory = stored_text
                return read(c)
            finally:
                c.close()
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            raise store_error(error, self._home) from error

    def _once(self, seen: Seen, read: Callable[[sqlite3.Connection], T]) -> T:
        c = self._take(seen)
        good = False
        try:
            value = _patiently(c, read)
            good = True
        finally:
            # An idle reader beside a WAL would keep the last writer from clearing it away.
            if good and not self._closed and seen[:1] != ("wal",):
                self._idle.append((c, seen))
            else:
                c.close()
        return value

    def _take(self, seen: Seen) -> sqlite3.Connection:
        while self._idle:
            try:
                c, opened = self._idle.popleft()
            except IndexError:  # another thread took the last one
                break
            if opened == seen:
                return c
            c.close()
        return self.open(seen)

    def _look(self) -> Seen:
        if not self.frozen:
            return ()
        try:
            status = os.stat(self._path)  # noqa: PTH116
        except FileNotFoundError:
            return ("missing",)
        if os.path.exists(self._path + "-wal"):  # noqa: PTH110
            return ("wal", status.st_ino)
        return ("still", status.st_ino, status.st_mtime_ns, status.st_size)

    def open(self, seen: Seen | None = None) -> sqlite3.Connection:
        """A new connection, the caller's own. Raises `sqlite3.Error` or `OSError`."""
        seen = self._look() if seen is None else seen
        if not self.frozen:
            c = connect(self._path, "?mode=rw", self._patience)
            c.execute("PRAGMA query_only = 1")
            return c
        if seen[0] != "missing":
            c = connect(self._path, "?mode=ro&immutable=1", self._patience) if seen[0] == "still" else self._beside_wal()
            if c.execute("PRAGMA user_version").fetchone()[0]:
                stand_in(c)
                return c
            c.close()  # another process is about to make it
        refuse_half_restored(self._home)
        c = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        migrate(c)
        return c

    def _beside_wal(self) -> sqlite3.Connection:
        c = connect(self._path, "?mode=ro", self._patience)
        try:
            c.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            c.close()
            if not getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_FULL", "SQLITE_IOERR")):
                raise
            # A left-over WAL without its shared memory, and no place to make one: read a copy, WAL included.
            import shutil  # both cost 10 ms, and hardly ever are they needed
            import tempfile

            copy = tempfile.TemporaryDirectory(prefix="neuralclaw-")
            self._copies.append(copy)
            target = database(copy.name)
            shutil.copyfile(self._path, target)
            shutil.copyfile(self._path + "-wal", target + "-wal")
            c = connect(target, "?mode=rw", self._patience)  # a copy of our own
        return c

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.popleft()[0].close()
        for copy in self._copies:
            copy.cleanup()
