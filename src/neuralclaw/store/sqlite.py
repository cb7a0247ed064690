"""The SQLite store of a home behind the `Store` port."""

import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeVar

import anyio.to_thread

from ..errors import StoreError
from ..ports import Clock
from ..types.actions import Scope
from ..types.entries import Draft, Entry
from ..types.rows import Lease, OpenQuestion, OutboxItem, Result, SessionRow, VerifyReport
from . import reading
from .changes import Changes
from .connection import check_home, make_home, open_writer, store_error
from .jobs import Aside, Ensure, Erase, Rebuild
from .journal import Append, prepare
from .leases import Acquire, Presence, Release, StartTurn, alive, shown
from .readers import Readers
from .verify import verify
from .writer import Barrier, Writer

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds to wait for a stranger's lock."""
_NEAR = 512
"""Entries a reading on the event loop may give; what is longer is read in a worker thread."""


class SqliteStore:
    """The journal of one home. Made by `open`; `aclose` brings everything to the disk and frees this process's leases."""

    def __init__(self, home: str, clock: Clock, *, readonly: bool, patience: float) -> None:
        self._home, self._clock, self._readonly = home, clock, readonly
        self._readers = Readers(home, patience, frozen=readonly)
        self._changes = Changes(self._readers)
        self._presence: Presence | None = None
        self._writer: Writer | None = None
        if not readonly:
            connection = open_writer(home, patience)
            self._presence = Presence(home)
            self._writer = Writer(connection, home, self._changes.written)

    @classmethod
    async def open(cls, home: str, *, clock: Clock, readonly: bool = False, patience: float = PATIENCE) -> "SqliteStore":
        """Open, and make if need be, the record of a home. Raises `StoreError` for a home that cannot be used.

        `readonly` writes nothing at all: it works on a full disk, a read-only home and beside running processes.
        """
        try:
            check_home(home)
            if not readonly:
                make_home(home)
            return cls(home, clock, readonly=readonly, patience=patience)
        except (sqlite3.Error, OSError) as error:
            raise store_error(error, home) from error

    async def append(self, session: str, drafts: Sequence[Draft], *, lease: Lease | None = None, rows: Sequence[OutboxItem | Result] = ()) -> list[Entry]:
        prepared = [prepare(draft) for draft in drafts]
        entries: list[Entry] = await self._write(Append(session, prepared, lease, rows, self._clock.now))
        return entries

    async def barrier(self) -> None:
        await self._write(Barrier())

    async def read(self, session: str, *, after: int = 0, from_turn: int = 0, kinds: Sequence[str] | None = None) -> list[Entry]:
        def near(c: sqlite3.Connection) -> list[Entry]:
            return reading.entries_after(c, session, after=after, from_turn=from_turn, kinds=kinds, limit=_NEAR)

        entries = self._readers.run(near)
        while len(entries) % _NEAR == 0 and entries:
            last = entries[-1].entry

            def more(c: sqlite3.Connection, last: int = last) -> list[Entry]:
                return reading.entries_after(c, session, after=last, from_turn=from_turn, kinds=kinds, limit=_NEAR)

            found = await anyio.to_thread.run_sync(self._readers.run, more)
            if not found:
                break
            entries += found
        return entries

    def changes(self, after: int | None = None) -> AsyncIterator[Sequence[Entry]]:
        return self._changes.subscribe(after)

    async def create_session(self, session: str, *, origin: str, workspace: str, title: str = "", model: str = "") -> SessionRow:
        row = await self.session(session)
        if row is not None and row.workspace:
            return row
        await self._write(Ensure((session, origin, workspace, title, model, int(self._clock.now() * 1_000_000))))
        row = await self.session(session)
        if row is None:
            raise StoreError(f"the session {session} could not be made; nothing else was changed")
        return row

    async def session(self, session: str) -> SessionRow | None:
        return self._readers.run(lambda c: reading.session_row(c, session, self._alive))

    async def sessions(self, *, unfinished: bool = False) -> list[SessionRow]:
        return await self._far(lambda c: reading.session_rows(c, self._alive, unfinished=unfinished))

    async def resolve(self, prefix: str) -> str:
        """The session of that id or unique prefix. Raises `SessionNotFound`."""
        return self._readers.run(lambda c: reading.find_session(c, prefix))

    async def questions(self, *, session: str | None = None, open_only: bool = True) -> list[OpenQuestion]:
        return await self._far(lambda c: reading.question_rows(c, session, open_only=open_only))

    async def known_calls(self, session: str, call_ids: Sequence[str]) -> set[str]:
        return self._readers.run(lambda c: reading.known_calls(c, session, call_ids))

    async def result(self, session: str, call_id: str) -> str | None:
        return await self._far(lambda c: reading.result_text(c, session, call_id))

    async def scopes(self, session: str) -> list[Scope]:
        return self._readers.run(lambda c: reading.scope_rows(c, session))

    async def acquire(self, name: str) -> Lease | None:
        if self._presence is None:
            raise StoreError(f"the record in {self._home} was opened for reading only; nothing was changed")
        lease: Lease | None = await self._write(Acquire(self._home, name, self._presence.holder))
        return lease

    async def release(self, lease: Lease) -> None:
        await self._write(Release(lease))

    async def holder(self, name: str) -> str | None:
        row = self._readers.run(lambda c: c.execute("SELECT holder FROM leases WHERE name = ?", (name,)).fetchone())
        return shown(row[0]) if row and row[0] and self._alive(row[0]) else None

    async def start_turn(self, lease: Lease, session: str, turn: int) -> int:
        count: int = await self._write(StartTurn(lease, turn))
        return count

    async def set_aside(self, session: str, aside: bool) -> None:
        await self._write(Aside(session, aside))

    async def erase(self, session: str, entries: Sequence[int] | None, *, by: str) -> Entry | None:
        """Erase the bodies, keys and shortened results of these entries (None: all of the session) and record that; None: there was nothing."""
        written: Entry | None = await self._write(Erase(session, entries, by, self._clock.now))
        return written

    async def rebuild(self) -> None:
        """Make every derived table anew from the entries."""
        await self._write(Rebuild())

    async def verify(self) -> VerifyReport:
        return await self._far(verify)

    async def aclose(self) -> None:
        self._changes.close()
        if self._writer is not None:
            await self._writer.aclose()
        self._readers.close()
        if self._presence is not None:
            self._presence.close()

    def _alive(self, holder: str) -> bool:
        return alive(self._home, holder)

    async def _far(self, read: Callable[[sqlite3.Connection], T]) -> T:
        return await anyio.to_thread.run_sync(self._readers.run, read)

    async def _write(self, job: Any) -> Any:
        if self._writer is None:
            raise StoreError(f"the record in {self._home} was opened for reading only; nothing was changed")
        return await self._writer.do(job)
