"""The write-ahead log: when it is brought into the database, and what happens after a sync that failed.

Linux reports a failed sync once to each open file, marks the pages as written and may drop them; the next sync succeeds and says nothing of them (PostgreSQL
calls this "fsyncgate"). SQLite's own checkpoints sync the log too, and ignore what comes of it. So checkpoints are ours, and after a failure the log is written
anew, byte by byte, before a sync counts again. That is possible because the system keeps such pages in memory for a while.
"""

import contextlib
import logging
import os
import sqlite3

from . import dialect
from .connection import database

_log = logging.getLogger(__name__)

CHECKPOINT_BYTES = 4_000_000
"""How much the log grows between two checkpoints: about 1,000 pages of 4 KiB, SQLite's own default."""
MARKER = "unsynced-"
"""How files in `locks` begin that say: the log of this home was not synced when it should have been."""
_CHUNK = 1 << 20


class WriteAheadLog:
    """The log of one home, for its writing connection. Used by the writer thread alone."""

    def __init__(self, connection: sqlite3.Connection, home: str, patience: float) -> None:
        self._connection, self._patience = connection, patience
        self._path = f"{database(home)}-wal"
        self._locks = os.path.join(home, "locks")  # noqa: PTH118
        self._marker = os.path.join(self._locks, f"{MARKER}{os.getpid()}-{os.urandom(5).hex()}")  # noqa: PTH118
        self._markers = {os.path.join(self._locks, name) for name in os.listdir(self._locks) if name.startswith(MARKER)}  # noqa: PTH118, PTH208
        self._checkpointed = 0
        self.failed = bool(self._markers)
        """Whether a sync failed, here or in a process that has ended, and the log was not written anew since."""

    def sync_failed(self, error: Exception) -> None:
        """From now on no sync counts until the log was written anew; also for a process that opens the home later."""
        if not self.failed:
            _log.error("what was recorded could not be brought to the disk: %s; nothing that needs it begins until it is there", error)
        self.failed = True
        self._markers.add(self._marker)
        with contextlib.suppress(OSError):  # a disk that takes no file: this process knows it, and the next one gets the error itself
            os.close(os.open(self._marker, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))

    def write_anew(self) -> None:
        """Write every byte of the log again and sync it. Raises `sqlite3.Error`: it is not on the disk then."""
        dialect.begin(self._connection, self._patience)  # nobody else writes to it meanwhile
        try:
            with contextlib.suppress(FileNotFoundError), open(self._path, "r+b", buffering=0) as file:  # noqa: PTH123
                _write_again(file.fileno())
                os.fsync(file.fileno())
        except OSError as error:
            raise sqlite3.OperationalError(f"{self._path}: {error.strerror or error}") from error
        finally:
            self._connection.execute("ROLLBACK")

    def written_anew(self) -> None:
        """The log was written anew, and a sync succeeded after that."""
        _log.warning("all that was recorded is on the disk again")
        self.failed = False
        for marker in self._markers:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(marker)  # noqa: PTH108
        self._markers.clear()

    def checkpoint(self) -> None:
        """Bring the log into the database where it has grown enough; readers and other writers go on meanwhile."""
        if self.failed:
            return
        try:
            size = os.stat(self._path).st_size  # noqa: PTH116
        except OSError:  # not there yet, or not readable now
            return
        if size < self._checkpointed:  # it was begun again
            self._checkpointed = 0
        if size - self._checkpointed < CHECKPOINT_BYTES:
            return
        self._checkpointed = size
        try:
            dialect.shorten_log(self._connection)
        except sqlite3.Error as error:
            self._not_done(error, "the write-ahead log could not be brought into the database yet")

    def empty(self, milliseconds: int) -> bool:
        """Empty the log, waiting so long for readers; false where one needs it, or where it could not be done."""
        if self.failed:
            return False
        try:
            return dialect.empty_log(self._connection, milliseconds)
        except sqlite3.Error as error:
            self._not_done(error, "what was erased could not be removed from the write-ahead log yet")
            return False

    def _not_done(self, error: sqlite3.Error, what: str) -> None:
        _log.warning("%s: %s", what, error)
        if is_sync_failure(error):
            self.sync_failed(error)


def is_sync_failure(error: sqlite3.Error) -> bool:
    """Whether after this error pages may be lost that count as written."""
    return (getattr(error, "sqlite_errorname", "") or "").startswith("SQLITE_IOERR")


def _write_again(fd: int) -> None:
    """Write the bytes of a file to where they stand."""
    start = 0
    while piece := os.pread(fd, _CHUNK, start):
        start += os.pwrite(fd, piece, start)
