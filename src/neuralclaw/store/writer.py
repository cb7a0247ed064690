"""The one thread that writes: jobs of many callers become one transaction (group commit)."""

import asyncio
import contextlib
import logging
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import NeuralClawError, StoreError
from ..types.entries import Entry
from . import dialect
from .anchor import Anchorage
from .connection import database, is_refusal, store_error
from .tables import Needs, Tables
from .write_ahead_log import WriteAheadLog, is_sync_failure

_log = logging.getLogger(__name__)

_BATCH = 512
"""Jobs of one transaction at most."""
_SYNC_AFTER = 0.045
"""Seconds after a write when it is brought to the disk, though nobody waits: with the sync itself within 50 ms."""
_SYNC_AGAIN = 1.0
"""Seconds until a sync that failed is tried again."""
_WAL_PATIENCE = 200
"""Milliseconds that emptying the WAL waits for readers; it is tried again later."""


class Job:
    """Something to do in a transaction. When `run` raises, nothing of it is done: it checks first and changes then, or it is `alone`."""

    __slots__ = ("future",)
    sync = False
    """The transaction must be on the disk before this job is done."""
    alone = False
    """It runs in a transaction of its own, may use the connection, and is rolled back when it raises."""
    empties_wal = False
    """Afterwards the WAL is emptied, if no reader needs it: what was erased must not stand there either."""
    future: "asyncio.Future[Any]"

    def needs(self, needs: Needs) -> None:
        """Name what `run` will look at."""

    def run(self, tables: Tables) -> Any:
        """Check, then change `tables`; gives the caller's result. Raises `NeuralClawError`."""


class Barrier(Job):
    __slots__ = ()
    sync = True


class _Stop(Job):
    __slots__ = ()
    sync = True
    alone = True


JobOutcome = tuple["asyncio.Future[Any]", Any, Exception | None]


class Writer:
    """Owns the writing connection, that of `tables`.

    `written` is called on the event loop with the entries of each transaction, before their callers go on.
    """

    def __init__(self, tables: Tables, log: WriteAheadLog, home: str, written: Callable[[Sequence[Entry]], None]) -> None:
        self._tables, self._wal = tables, log
        self.anchorage: Anchorage | None = None
        """What is told of all that is on the disk; set before anything is written."""
        self._home, self._written = home, written
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._held: Job | None = None
        self._unsynced: float | None = None
        self._erased_in_wal = False
        self._synced_version = -1
        self._open = True
        self._paths = database(home), f"{database(home)}-wal"
        self._files = _inode(self._paths[0]), _inode(self._paths[1])
        # A daemon: a program that ends without closing the store ends; what was committed is in the WAL.
        self._thread = threading.Thread(target=self._guard, name="neuralclaw-store", daemon=True)
        self._thread.start()

    async def do(self, job: Job) -> Any:
        """The job's result, after its transaction. A caller that is cancelled while the job still waits takes it back."""
        if not self._open:
            raise StoreError("the record is closed; nothing was written")
        future = job.future = self._loop.create_future()
        self._queue.put(job)
        return await future

    async def aclose(self) -> None:
        """Finish what waits, bring it to the disk, and close the connection."""
        if self._open:
            stop = _Stop()
            stop.future = self._loop.create_future()
            self._open = False
            self._queue.put(stop)
            try:
                await asyncio.shield(stop.future)
            except StoreError as error:  # the entries are in the WAL; only power loss could take them now
                _log.warning("the record was closed without a last sync: %s", error.text)
        self._thread.join()

    def _guard(self) -> None:
        """The thread's top-level guard: whatever goes wrong, nobody waits for ever."""
        batch: list[Job] = []
        stop = False
        while not stop:
            try:
                batch = self._next()
                stop = bool(batch) and isinstance(batch[0], _Stop)
                outcomes, entries = self._batch(batch)
                if stop and self._wal.failed:  # once more: nobody comes after this one
                    outcomes, entries = self._batch(batch)
                erases = bool(batch) and batch[0].empties_wal
                if erases or self._erased_in_wal:
                    self._empty_wal(_WAL_PATIENCE if erases else 0)
            except BaseException as error:
                failure = self._failure(error, self._home)
                outcomes, entries = [(job.future, None, failure) for job in batch], []
                with contextlib.suppress(sqlite3.Error):
                    self._tables.roll_back()
            if stop:
                self._anchor(closing=True)
                with contextlib.suppress(sqlite3.Error):
                    self._tables.connection.close()
            if outcomes:
                self._deliver(outcomes, entries)
            if not stop:
                self._wal.checkpoint()
                self._anchor()

    def _anchor(self, *, closing: bool = False) -> None:
        """Bring the anchor up to date, when it is due; nobody waits for it."""
        if self.anchorage is not None:
            self.anchorage.write(self._tables.connection, closing=closing)

    @staticmethod
    def _failure(error: BaseException, home: str) -> Exception:
        """What those who wait get: an exit of foreign code in this thread ends neither them nor the thread."""
        if isinstance(error, sqlite3.Error):
            return store_error(error, home)
        return error if isinstance(error, Exception) else StoreError(f"writing ended with {type(error).__name__}: {error}; nothing of this step was recorded")

    def _deliver(self, outcomes: list[JobOutcome], entries: list[Entry]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._arrive, outcomes, entries)
        except RuntimeError:  # the loop is closed: nobody waits any more
            self._open = False

    def _arrive(self, outcomes: list[JobOutcome], entries: list[Entry]) -> None:
        if entries:
            self._written(entries)
        for future, value, error in outcomes:
            if not future.done():
                if error is None:
                    future.set_result(value)
                else:
                    future.set_exception(error)

    def _next(self) -> list[Job]:
        """The jobs of the next transaction; none when it is time to sync."""
        job = self._held
        self._held = None
        if job is None:
            wait = None if self._unsynced is None else max(0.0, self._unsynced + _SYNC_AFTER - time.monotonic())
            if wait is None and self._erased_in_wal:
                wait = _SYNC_AGAIN
            if wait is None and self.anchorage is not None:
                wait = self.anchorage.wait()
            try:
                job = self._queue.get(timeout=wait)
            except queue.Empty:
                return []
        batch = [job]
        while not job.alone and len(batch) < _BATCH:
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                break
            if job.alone:
                self._held = job
                break
            batch.append(job)
        return [job for job in batch if not job.future.cancelled()]

    def _batch(self, batch: list[Job]) -> tuple[list[JobOutcome], list[Entry]]:
        late = self._unsynced is not None and time.monotonic() - self._unsynced >= _SYNC_AFTER
        sync = late or any(job.sync for job in batch)
        if not batch and not sync:
            return [], []
        try:
            if sync and self._clean(batch):
                return [(job.future, None, None) for job in batch], []
            return self._transaction(batch, sync)
        except sqlite3.Error as error:
            self._tables.roll_back()
            if not is_refusal(error):
                return self._failed(batch, error), []
            failure: Exception = error
        except (ValueError, TypeError, LookupError, OverflowError, AttributeError) as error:
            self._tables.roll_back()
            failure = error
        return self._one_by_one(batch, failure)

    def _empty_wal(self, patience: int) -> None:
        """What was erased is gone from the WAL too, at once or as soon as no reader needs it; the erasure itself stands."""
        self._erased_in_wal = not self._wal.empty(patience)

    def _failed(self, batch: list[Job], error: sqlite3.Error) -> list[JobOutcome]:
        if is_sync_failure(error):
            self._wal.sync_failed(error)
        if self._unsynced is not None:
            self._unsynced = time.monotonic() + _SYNC_AGAIN
        return [(job.future, None, store_error(error, self._home)) for job in batch]

    def _one_by_one(self, batch: list[Job], failure: Exception) -> tuple[list[JobOutcome], list[Entry]]:
        """A job spoilt the transaction: the others must not pay for it."""
        if len(batch) <= 1:
            refused = StoreError(f"this could not be recorded ({type(failure).__name__}: {failure}); nothing of it was written")
            return [(job.future, None, refused) for job in batch], []
        outcomes: list[JobOutcome] = []
        entries: list[Entry] = []
        for job in batch:
            some, written = self._batch([job])
            outcomes += some
            entries += written
        return outcomes, entries

    def _clean(self, batch: list[Job]) -> bool:
        """Whether only barriers wait and nothing was written, here or by another process, since the last one."""
        if self._wal.failed or self._unsynced is not None or not all(type(job) in (Barrier, _Stop) for job in batch):
            return False
        if batch and type(batch[0]) is _Stop:
            return True
        return dialect.foreign_version(self._tables.connection) == self._synced_version

    def _transaction(self, batch: list[Job], sync: bool) -> tuple[list[JobOutcome], list[Entry]]:
        tables = self._tables
        needs = Needs()
        for job in batch:
            job.needs(needs)
        anew = sync and self._wal.failed
        if anew:
            self._wal.write_anew()
        if sync:  # stands before BEGIN: inside a transaction it would be ignored
            dialect.sync_commits(tables.connection, sync=True)
        try:
            self._check_file()
            tables.begin(needs)
            outcomes = [self._run(job) for job in batch]
            if any(job.alone and outcome[2] is not None for job, outcome in zip(batch, outcomes, strict=True)):
                tables.roll_back()  # what it did before it failed must not stay
                return outcomes, []
            changed = tables.changed or any(job.alone for job in batch)
            if sync:  # a commit that changes no row would sync nothing
                tables.statements.append(("UPDATE meta SET value = value + 1 WHERE name = 'syncs'", ()))
            tables.flush()
            entries = tables.commit()
        finally:
            if sync:
                tables.roll_back_if_open()
                dialect.sync_commits(tables.connection, sync=False)
        if anew:
            self._wal.written_anew()
        if sync:
            self._unsynced, self._synced_version = None, tables.version
            if self.anchorage is not None:
                self.anchorage.synced(tables.record, tables.hash)
        elif changed and self._unsynced is None:
            self._unsynced = time.monotonic()
        return outcomes, entries

    def _check_file(self) -> None:
        """Raises `StoreError` where the files are not those that were opened: what is written to them would be lost."""
        now = _inode(self._paths[0]), _inode(self._paths[1])
        if now[0] == self._files[0] and (now[1] == self._files[1] or self._files[1] is None):
            self._files = now
            return
        raise StoreError(
            f"the record in {self._home} was removed or exchanged while this program ran; nothing of this step was recorded",
            hint="end every program that uses this home, then start again; neuralclaw audit verify says what the record has",
        )

    def _run(self, job: Job) -> JobOutcome:
        try:
            return job.future, job.run(self._tables), None
        except NeuralClawError as error:
            return job.future, None, error


def _inode(path: str) -> int | None:
    """What tells a file from another one in its place; None where there is none."""
    try:
        return os.stat(path).st_ino  # noqa: PTH116
    except OSError:
        return None
