"""`SqliteStore`: the store of one home in one SQLite file, for any number of processes."""

import functools
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import msgspec

from ..capability import Table
from ..errors import StoreError
from ..ports import Clock
from ..types.codec import BUILT_IN, Codec
from ..types.entries import Draft, Entry
from ..types.grants import StandingGrant
from ..types.records import AnchorReport, BadRecord, Lease, OpenQuestion, Prefix, PutRecord, Record, SessionRow, StateRow, VerifyReport
from . import queries, record_store
from .anchor import Anchorage, AnchorFile, AnchorMark, AnchorPlace, check_anchor, check_marks, read_marks, report_of
from .changes import Changes, EntrySubscription
from .connection import check_home, make_home, open_writer, store_error
from .derived_tables import DerivedTables
from .entry_writer import Prepared, prepare
from .folding import Attach, append_job, unattached
from .given_grants import job_of
from .home_exchange import refuse_restoring
from .leases import Acquire, Presence, Release, alive, shown
from .memory_tables import MemoryTables
from .mending import MendState
from .queries import Wanted
from .readers import Readers
from .schema import BULKY
from .standing import grant_rows
from .tables import Tables
from .upkeep import Erase, Rebuild
from .values import check_position, check_query, check_text
from .verify import mends_of, verify
from .write_ahead_log import WriteAheadLog
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
        self._anchor: AnchorFile | None = None
        self._places: Callable[[], Sequence[AnchorPlace]] = tuple
        self._memory = MemoryTables(self._readers, self._codec)
        self._changes = Changes(self._readers, self._codec)
        self._presence = written[0] if written is not None else None
        self._writer = None
        if written is not None:
            log = WriteAheadLog(written[1], home, patience)
            self._writer = Writer(Tables(written[1], patience, derived), log, home, self._changes.written)
        self.failed_tables: dict[str, str] = {}
        """Tables of capabilities that could not be folded from their entries when this store was opened or rebuilt, and why."""
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
        presence = connection = None
        try:
            refuse_restoring(home)
            make_home(home)
            presence = Presence(home)  # before the database is opened: a restore exchanges it only where nobody is present
            refuse_restoring(home)
            connection = await anyio.to_thread.run_sync(open_writer, home, patience)
            store = cls(home, clock, patience, derived, (presence, connection))
        except BaseException as error:
            if connection is not None:
                connection.close()
            if presence is not None:
                presence.close()
            if isinstance(error, sqlite3.Error | OSError | UnicodeDecodeError):
                raise store_error(error, home) from error
            raise
        if derived.tables:
            await store._attach()
        return store

    def keep_anchor(self, anchor: AnchorFile | None, places: Callable[[], Sequence[AnchorPlace]] = tuple) -> None:
        """Keep the head of the record in a file outside the home too, from now on, and verify the record with it; None: nowhere.

        `places`: gives what it is verified with besides, when it is verified; others write there.
        """
        self._anchor, self._places = anchor, places
        if self._writer is not None:
            self._writer.anchorage = Anchorage(anchor) if anchor is not None else None

    async def _attach(self) -> None:
        """Make and fold the tables of capabilities that are not as they are defined."""
        try:
            for table in await self._aside(lambda c: unattached(c, self._derived)):
                await self._fold(Attach(table), table.name)
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Write and sync what waits, end subscriptions, free this process's leases, close the file."""
        with anyio.CancelScope(shield=True):
            self._changes.close()
            self._memory.close()
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

    async def append(self, session: str, drafts: Sequence[Draft], *, lease: Lease | None = None, rows: Sequence[StateRow] = ()) -> list[Entry]:
        """See `ports.Store`. A caller that is cancelled while its drafts wait for the writer takes them back."""
        check_text("the name of a session", session)
        heavy = sum(len(blob) for draft in drafts for blob in draft.blobs) > _HEAVY
        prepared = await anyio.to_thread.run_sync(self._prepare, drafts) if heavy else self._prepare(drafts)
        kinds = [p.kind for p in prepared]
        job = job_of(append_job(self._derived, kinds), kinds)
        entries: list[Entry] = await self._write(job(session, prepared, lease, rows, self._clock.now))
        return entries

    def _prepare(self, drafts: Sequence[Draft]) -> list[Prepared]:
        return [prepare(draft, self._codec) for draft in drafts]

    async def put_record(self, space: str, key: str, value: Any, *, expect: int | None = None) -> Record:
        """See `ports.Store`."""
        put = PutRecord(space, key, value, expect)
        record: Record = await self._write(record_store.Put(put, record_store.encoded(put), self._clock.now))
        return record

    async def barrier(self) -> None:
        """Returns when all that was appended before, by any process, is on the disk."""
        await self._write(Barrier())

    async def acquire(self, name: str) -> Lease | None:
        """See `ports.Store`. One that was taken for a caller who left meanwhile, or was told of a failure, is free."""
        check_text("the name of a lease", name)
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

    async def erase(self, session: str, entries: Sequence[int] | None, by: str, *, deletes: bool = False) -> Entry | None:
        """Erase the bodies of these entries (None: all) for good, with their keys and results, the answers of the outbox and the title made of them.

        An answer that waits to be delivered is given up. What stays: headers, where the session began and with which model, the keys of its messages, so
        that none is accepted again, what was spent, and records that a capability has put for itself.
        `deletes`: the session is no more. Where it began and with which model is gone too, and what comes later under its name begins anew.
        Gives the `erased` entry that says so; None when there was nothing left to erase. Raises `SessionNotFound`.
        """
        erased: Entry | None = await self._write(Erase(session, entries, by, self._clock.now, deletes=deletes))
        return erased

    async def rebuild(self) -> None:
        """Make the derived tables anew from the entries (`doctor --rebuild`): the built-in ones together, then each of a capability on its own. Where the
        record itself is whole, rows of sessions, keys and costs that are not as it tells are put right too.

        A table whose fold raises is left empty, keeps no other from being made, and stands in `failed_tables`.
        """
        await self._mend()  # first: the sums of a session take in costs of erased entries from their rows
        await self._write(Rebuild())
        for table in self._derived.tables.values():
            await self._fold(Attach(table, anew=True), table.name)
        await self._mend()  # again: where the count of a session was forged, the record looked cut before

    async def _mend(self) -> None:
        if mends := await self._aside(lambda c: mends_of(c, self._derived)):
            await self._write(MendState(mends))

    async def _fold(self, job: Attach, name: str) -> None:
        why: str = await self._write(job)
        self.failed_tables.pop(name, None)
        if why:
            self.failed_tables[name] = why

    async def _write(self, job: Job) -> Any:
        if self._writer is None:
            raise StoreError(f"the record in {self.home} was opened for reading only; nothing was written")
        return await self._writer.do(job)

    # reading

    async def read(
        self,
        session: str,
        *,
        after: int = 0,
        from_turn: int = 0,
        kinds: Sequence[str] | None = None,
        verified: bool = False,
        limit: int | None = None,
    ) -> list[Entry]:
        """See `ports.Store`."""
        first = Wanted(session, after, from_turn, kinds, verified)
        if limit is not None:
            return await self._aside(lambda c: queries.page_after(c, self._codec, first, limit))
        entries = self._readers.run(lambda c: queries.entries_after(c, self._codec, first, _AT_ONCE))
        if len(entries) == _AT_ONCE:
            wanted = msgspec.structs.replace(first, after=entries[-1].entry)
            entries += await self._aside(lambda c: queries.entries_after(c, self._codec, wanted, -1))
        return entries

    async def rows(
        self, table: str, where: Mapping[str, Any] = _NOTHING, *, order: Sequence[str] = (), descending: bool = False, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """See `ports.Store`."""
        check_query(table, where, order, limit)
        query = queries.Query(table, where, order, descending, limit)
        read = functools.partial(queries.table_rows, derived=self._derived, query=query, frozen=self._writer is None)
        key = self._derived.shape(table)[2]
        few = table not in BULKY and all(name in where and not isinstance(where[name], Prefix) for name in key)
        found = self._readers.run(read) if few else await self._aside(read)
        if found is None:
            found = await anyio.to_thread.run_sync(self._memory.rows, self._derived.tables[table], query)
        return found

    def derives(self, table: str) -> bool:
        """Whether it was opened with a capability's table of that name."""
        return table in self._derived.tables

    def changes(self, after: int | None = None) -> EntrySubscription:
        """See `ports.Store`. The subscription begins with this call; its `aclose` ends it. Raises `StoreError` and `UsageError`."""
        if after is not None:
            check_position("the record after which changes are told", after)
        return self._changes.subscribe(after)

    async def sessions(self, *, session: str | None = None, unfinished: bool = False) -> list[SessionRow]:
        """See `ports.Store`."""

        def read(c: sqlite3.Connection) -> list[SessionRow]:
            return queries.session_rows(c, session, self._alive, self._clock.now(), unfinished=unfinished)

        return self._readers.run(read) if session is not None else await self._aside(read)

    async def questions(self, *, approval_id: str | None = None, session: str | None = None, open_only: bool = True) -> list[OpenQuestion]:
        """See `ports.Store`."""

        def read(c: sqlite3.Connection) -> list[OpenQuestion]:
            return queries.question_rows(c, approval_id, session, self._clock.now(), open_only=open_only)

        return self._readers.run(read) if approval_id is not None else await self._aside(read)

    async def grants(self, session: str | None = None, workspace: str | None = None) -> list[StandingGrant]:
        """See `ports.Store`."""
        return self._readers.run(lambda c: grant_rows(c, session, workspace))

    async def holder(self, name: str) -> str | None:
        """See `ports.Store`."""
        rows = self._readers.run(lambda c: c.execute("SELECT holder FROM leases WHERE name = ?", (name,)).fetchall())
        return next((shown(holder) for (holder,) in rows if holder and self._alive(holder)), None)

    async def verify(self) -> VerifyReport:
        """Verify the whole home, with its anchors; reads only."""
        report = await self._aside(self._with_file)
        anchors = await anyio.to_thread.run_sync(self._reports)
        return msgspec.structs.replace(report, anchors=anchors, ok=report.ok and all(one.ok for one in anchors))

    def _reports(self) -> tuple[AnchorReport, ...]:
        found = [place.report(self._check) for place in self._places()]
        return tuple(one for one in found if one is not None)

    def _check(self, mark: AnchorMark) -> BadRecord | None:
        return self._readers.run(lambda c: check_anchor(c, mark))

    def _with_file(self, c: sqlite3.Connection) -> VerifyReport:
        if self._anchor is None:
            return verify(c, self._derived)
        marks, unreadable = read_marks(self._anchor)  # before the record: it may be written on meanwhile
        report = verify(c, self._derived)
        anchor, bad = check_marks(c, marks)
        return msgspec.structs.replace(report, anchor=unreadable or anchor, bad=report.bad or bad, ok=report.ok and bad is None and unreadable is None)

    async def accept_anchor(self) -> AnchorReport:
        """See `ports.Store`."""
        if self._anchor is None:
            raise StoreError("this home has no place for an anchor: no state directory is known", hint="set HOME or XDG_STATE_HOME")
        await self.barrier()
        report = await self._aside(lambda c: verify(c, self._derived))
        if not report.ok or not report.records:
            what = "the record is not whole" if report.records else "the record is empty"
            raise StoreError(f"{what}: its head was not accepted, and the anchor is as it was", hint="neuralclaw audit verify")
        try:
            now = self._clock.now()
            mark, *_ = [await anyio.to_thread.run_sync(file.write, report.records, report.head, now) for file in self._anchor.files]
        except OSError as error:
            raise StoreError(f"the anchor {self._anchor.path} cannot be written ({error}); nothing was changed", hint="neuralclaw doctor") from error
        for place in await anyio.to_thread.run_sync(self._places):
            await anyio.to_thread.run_sync(place.accept, mark, self._check)
        return report_of(self._anchor.path, mark, None)

    def _alive(self, holder: str) -> bool:
        return alive(self.home, holder)

    async def _aside(self, read: Callable[[sqlite3.Connection], T]) -> T:
        return await anyio.to_thread.run_sync(self._readers.run, read)
