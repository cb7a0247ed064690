"""A copy of a home's database as it is at one moment, while others write on."""

import os
import sqlite3
from contextlib import closing

from ..errors import StoreError
from .connection import connect, database, store_error
from .readers import Readers

_PATIENCE = 10.0


def check_record(home: str) -> None:
    """Raise `StoreError` for a home without a record."""
    if not os.path.exists(database(home)):  # noqa: PTH110
        raise StoreError(f"there is no record in {home}; nothing was copied", hint="name another home with --home")


def copy_database(home: str, folder: str) -> None:
    """Copy the database of a home, with what is in its log, into a directory that has none. It is on the disk afterwards.

    Nothing is written to the home but what every reader writes; beside a home that cannot be written, not even that. Raises `StoreError` for a home
    without a record, and where it cannot be read or the copy not be written.
    """
    check_record(home)
    target = database(folder)
    readers = Readers(home, _PATIENCE, frozen=not os.access(home, os.W_OK))
    try:
        readers.run_alone(lambda source: _copy(source, target, folder))
    finally:
        readers.close()


def _copy(source: sqlite3.Connection, target: str, folder: str) -> None:
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        with closing(connect(target, "?mode=rw", _PATIENCE)) as copy:
            copy.execute("PRAGMA synchronous = FULL")
            source.backup(copy)  # in one step: it is a reading transaction, and others write on beside it
            copy.execute("PRAGMA journal_mode = WAL")  # that is no part of what is copied
    except (sqlite3.Error, OSError) as error:
        raise _not_copied(error, folder) from error


def _not_copied(error: sqlite3.Error | OSError, folder: str) -> StoreError:
    """The database could not be copied: the cause, and that the home is as it was."""
    told = store_error(error, folder)
    return StoreError(f"the record could not be copied into {folder}: {error}; the home is as it was", hint=told.hint)
