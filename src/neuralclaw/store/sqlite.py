"""`SqliteStore`: the store of one home in one SQLite file, for any number of processes."""

import functools
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from ..capability import Table
from ..errors import StoreError
from ..ports import Clock
from ..types.actions import StandingGrant
from ..types.codec import BUILT_IN, Codec
from ..types.entries import Draft, Entry
from ..types.records import Lease, OpenQuestion, OutboxRow, PutRecord, Record, SessionRow, VerifyReport
from . import outbox, queries, record_store
from .changes import Changes, EntrySubscription
from .connection import check_home, make_home, open_writer, store_error
from .derived_tables import DerivedTables
from .folding import Attach, append_job, unattached
from .journal import Prepared, Row, prepare
from .leases import Acquire, Presence, Release, SetAside, StartTurn, alive, shown
from .queries import Wanted
from .readers import Readers
from .tables import Tables
from .upkeep import Erase, Rebuild
from .verify import verify
from .writer import Barrier, Job, Writer

T = TypeVar("T")

_PATIENCE = 10.0
"""Seconds to wait for a stranger's lock."""
_AT_ONCE = 128
"""Entries that may be read on the event loop; more are read in a worker thread."""
_HEAVY = 1 << 18
"""Bytes to digest on the event loop at most; more are digested in a worker thread."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class SqliteStore:
    """The port `Store` on `<home>/neuralclaw.db`. Made by `await SqliteStore.open(...)`, ended by `aclose`."""

    def __init__(self, home: str, clock: Clock, patience: float, derived: DerivedTables, written: tuple[Presence, sqlite3.Connection] | None) -> None:
        """Use `open`. Without what it is `written` with, the store only reads."""
        self.home = home
        self._clock, self._derived, self._codec = clock, derived, derived.codec
        self._readers = Readers(home, patience, frozen=written is None)
        self._changes = Changes(self._readers, self._codec)
        self._presence = written[0] if written is not None else None
        self._writer = Writer(Tables(written[1], patience, derived), home, self._changes.written) if written is not None else None
        self._leases: set[str] = set()
        """Leases that this store has given out or is asked for."""

    @classmethod
    async def open(
        cls,
        home: str,
        *,
        clock: Clock,
        codec: Codec = BUILT_IN,
        tables: Iterable[Table] = (),
        readonly: bool = False,
        patience: float = _PATIENCE,
    ) -> "SqliteStore":
        """The store of a home, which is made if it is not there, for the kinds of `codec`, with the `tables` of capabilities.

        A table is made here, or made anew from the entries, where it is not there as it is defined. Tables of capabilities that are not named
        stay untouched. Raises `ConfigError` for tables that could not be kept.

        With `readonly` nothing is ever written, not even a lock: it works on a read-only home, a full disk, beside running
        processes and on a record of a newer version; a home without a record reads as empty. `patience`: seconds to wait for
        another program's lock. Raises `StoreError`; `newer` is true when a newer version wrote the record.
        """
        derived = DerivedTables(codec, tables)
        home = os.path.abspath(home)  # noqa: ASYNC240, PTH100
        check_home(home)
        if readonly:
            return cls(home, clock, patience, derived, None)
        connection = None
        try:
            make_home(home)
            connection = await anyio.to_thread.run_sync(open_writer, home, patience)
            store = cls(home, clock, patience, derived, (Presence(home), connection))
        except (sqlite3.Error, OSError) as error:
            if connection is not None:
                connection.close()
            raise store_error(error, home) from error
        if derived.tables:
            await store._attach()
        return store

    async def _attach(self) -> None:
        """Make and fold the tables of capabilities that are not as they are defined."""
        try:
            for table in await self._aside(lambda c: unattached(c, self._derived)):
                await self._write(Attach(table))
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Write and sync what waits, end subscriptions, free this process's leases, close the file."""
        with anyio.CancelScope(shield=True):
            self._changes.close()
            self._readers.close()
            if self._writer is not None:
                await self._writer.aclose()
            if self._presence is not None:
                self._presence.close()

    async def __aenter__(self) -> "SqliteStore":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    # writing

    async def append(self, session: str, drafts: Sequence[Draft], *, lease: Lease | None = None, rows: Sequence[Row] = ()) -> list[Entry]:
        """See `ports.Store`. A caller that is cancelled while its drafts wait for the writer takes them back."""
        heavy = sum(len(blob) for draft in drafts for blob in draft.blobs) > _HEAVY
        prepared = await anyio.to_thread.run_sync(self._prepare, drafts) if heavy else self._prepare(drafts)
        job = append_job(self._derived, [p.kind for p in prepared])
        entries: list[Entry] = await self._write(job(session, prepared, lease, rows, self._clock.now))
        return entries

    def _prepare(self, drafts: Sequence[Draft]) -> list[Prepared]:
        return [prepare(draft, self._codec) for draft in drafts]

    async def put_record(self, space: str, key: str, value: Any, *, expect: int | None = None) -> Record:
        """See `ports.Store`."""
        put = PutRecord(space, key, value, expect)
        record: Record = await self._write(record_store.Put(put, record_store.encoded(put), self._clock.now))
        return record

    async def delivered(self, item: int, *, error: str = "", retry_at: float | None = None) -> OutboxRow:
        """See `ports.Store`."""
        row: OutboxRow = await self._write(outbox.Attempt(item, error, retry_at, self._clock.now))
        return row

    async def barrier(self) -> None:
        """Returns when all that was appended before, by any process, is on the disk."""
        await self._write(Barrier())

    async def set_aside(self, session: str, aside: bool) -> None:
        """Mark a session whose turn does not get on, or take the mark away."""
        await self._write(SetAside(session, aside))

    async def acquire(self, name: str) -> Lease | None:
        """See `ports.Store`. One that was taken for a caller who left meanwhile, or was told of a failure, is free."""
        holder = self._presence.holder if self._presence is not None else ""
        unknown = name not in self._leases
        self._leases.add(name)
        lease: Lease | None = None
        try:
            lease = await self._write(Acquire(self.home, name, holder, unknown))
        finally:
            if lease is None and unknown:
                self._leases.discard(name)
        return lease

    async def release(self, lease: Lease) -> None:
        """Free a lease; one that was lost already stays with who has it."""
        await self._write(Release(lease))
        self._leases.discard(lease.name)

    async def start_turn(self, lease: Lease, session: str, turn: int) -> int:
        """See `ports.Store`. Raises `LeaseLost`."""
        count: int = await self._write(StartTurn(lease, turn))
        return count

    async def erase(self, session: str, entries: Sequence[int] | None, by: str) -> Entry | None:
        """Erase the bodies of these entries (None: all) for good, with their keys and results; headers stay.

        Gives the `erased` entry that says so; None when there was nothing left to erase. Raises `SessionNotFound`.
        """
        erased: Entry | None = await self._write(Erase(session, entries, by, self._clock.now))
        return erased

    async def rebuild(self) -> None:
        """Make the derived tables anew from the entries (`doctor --rebuild`)."""
        await self._write(Rebuild())

    async def _write(self, job: Job) -> Any:
        if self._writer is None:
            raise StoreError(f"the record in {self.home} was opened for reading only; nothing was written")
        return await self._writer.do(job)

    # reading

    async def read(self, session: str, *, after: int = 0, from_turn: int = 0, kinds: Sequence[str] | None = None) -> list[Entry]:
        """See `ports.Store`."""

        entries = self._readers.run(lambda c: queries.entries_after(c, self._codec, Wanted(session, after, from_turn, kinds), _AT_ONCE))
        if len(entries) == _AT_ONCE:
            wanted = Wanted(session, entries[-1].entry, from_turn, kinds)
            entries += await self._aside(lambda c: queries.entries_after(c, self._codec, wanted, -1))
        return entries

    async def rows(
        self, table: str, where: Mapping[str, Any] = _NOTHING, *, order: Sequence[str] = (), descending: bool = False, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """See `ports.Store`."""
        query = queries.Query(table, where, order, descending, limit)
        read = functools.partial(queries.derived_rows, derived=self._derived, query=query, frozen=self._writer is None)
        by_key = set(self._derived.shape(table)[2]) <= where.keys()  # it finds few rows, at once
        return self._readers.run(read) if by_key else await self._aside(read)

    async def record(self, space: str, key: str) -> Record | None:
        """See `ports.Store`."""
        found = self._readers.run(lambda c: record_store.record_rows(c, space, key, whole=True))
        return found[0] if found else None

    async def records(self, space: str, *, prefix: str = "") -> list[Record]:
        """See `ports.Store`."""
        return await self._aside(lambda c: record_store.record_rows(c, space, prefix, whole=False))

    async def outbox(self, *, pending: bool = True) -> list[OutboxRow]:
        """See `ports.Store`."""
        return await self._aside(lambda c: outbox.outbox_rows(c, pending=pending))

    def changes(self, after: int | None = None) -> EntrySubscription:
        """See `ports.Store`. The subscription begins with this call; its `aclose` ends it. Raises `StoreError`."""
        return self._changes.subscribe(after)

    async def session(self, session: str) -> SessionRow | None:
        """The session, or None when there is none of that id."""
        return self._readers.run(lambda c: queries.session_row(c, session, self._alive, self._clock.now()))

    async def sessions(self, *, unfinished: bool = False) -> list[SessionRow]:
        """All sessions, the one that changed last first; with `unfinished` only those that wait to be gone on with."""
        return await self._aside(lambda c: queries.session_rows(c, self._alive, self._clock.now(), unfinished=unfinished))

    async def resolve(self, prefix: str) -> str:
        """The session of that id or unique prefix. Raises `SessionNotFound`, which names the candidates."""
        return self._readers.run(lambda c: queries.find_session(c, prefix))

    async def newest(self, workspace: str, *, left_out: Sequence[str] = ()) -> str | None:
        """See `ports.Store`."""
        return await self._aside(lambda c: queries.newest_session(c, workspace, left_out))

    async def question(self, approval_id: str) -> OpenQuestion | None:
        """See `ports.Store`."""
        return self._readers.run(lambda c: queries.question_row(c, approval_id))

    async def questions(self, *, session: str | None = None, open_only: bool = True) -> list[OpenQuestion]:
        """Questions, oldest first; `open_only`: those that can still be answered."""
        return await self._aside(lambda c: queries.question_rows(c, session, self._clock.now(), open_only=open_only))

    async def blobs(self, digests: Sequence[str]) -> dict[str, bytes]:
        """See `ports.Store`. Bytes that were changed since they were kept are left out too."""
        return await self._aside(lambda c: queries.blob_rows(c, digests)) if digests else {}

    async def result(self, session: str, call_id: str) -> str | None:
        """See `ports.Store`."""
        return await self._aside(lambda c: queries.result_text(c, session, call_id))

    async def grants(self, session: str | None = None, workspace: str | None = None) -> list[StandingGrant]:
        """See `ports.Store`."""
        return self._readers.run(lambda c: queries.grant_rows(c, session, workspace))

    async def holder(self, name: str) -> str | None:
        """See `ports.Store`."""
        rows = self._readers.run(lambda c: c.execute("SELECT holder FROM leases WHERE name = ?", (name,)).fetchall())
        return next((shown(holder) for (holder,) in rows if holder and self._alive(holder)), None)

    async def verify(self) -> VerifyReport:
        """Verify the whole home; reads only."""
        return await self._aside(lambda c: verify(c, self._codec))

    def _alive(self, holder: str) -> bool:
        return alive(self.home, holder)

    async def _aside(self, read: Callable[[sqlite3.Connection], T]) -> T:
        return await anyio.to_thread.run_sync(self._readers.run, read)
