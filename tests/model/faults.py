"""A store that fails where it is told to: at a chosen write, before or after the real one, or by the death of its process."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from neuralclaw.errors import StoreError
from neuralclaw.store import SqliteStore
from neuralclaw.types.entries import Draft, Entry
from neuralclaw.types.events import ToolFinished, ToolStarted
from neuralclaw.types.records import Lease, SetAside, TurnAttempt


@dataclass
class Fault:
    """The `nth` write of the kind `write` from now on (0: the next). `done`: it is done, and reported as failed. `dies`: the process dies there."""

    write: str
    nth: int
    done: bool
    dies: bool


@dataclass
class Record:
    """What all stores of a home wrote, for whoever looks from outside: written is written, whatever the writer was told."""

    finished: set[str] = field(default_factory=set)
    """Calls with a result."""
    struck: list[str] = field(default_factory=list)
    """Faults that came true since this was emptied."""
    die: Callable[[], None] = lambda: None
    """Called where a process dies: kills it where it is a real one."""


class FaultyStore:
    """The real store of one process, behind which nothing is simulated. What it does not name is the real store's own."""

    def __init__(self, store: SqliteStore, record: Record, touched: Callable[[], None]) -> None:
        self._store, self._record, self._touched = store, record, touched
        self.fault: Fault | None = None
        self.dead = False
        self.running = 0
        """Writes that have begun and have no end yet."""
        self.started: dict[str, int] = {}
        """The record of the latest beginning of each call."""
        self.given: list[Lease] = []
        """Every lease that this process was ever given."""
        self.kept: set[str] = set()
        """Leases that were not given back, as far as this process knows. It keeps such a one, uses it for its next turn, and tries again on a timer."""
        self.durable = 0
        """The highest record that a barrier of this process stood behind."""
        self._written = 0
        self._calls: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append(self, session: str, drafts: Sequence[Draft], **more: Any) -> list[Entry]:
        kind = {TurnAttempt: "start_turn", SetAside: "set_aside"}.get(type(next(iter(more.get("rows", ())), None)), "append")
        entries: list[Entry] = await self._write(kind, lambda: self._append(session, drafts, **more))
        return entries

    async def _append(self, session: str, drafts: Sequence[Draft], **more: Any) -> list[Entry]:
        entries = await self._store.append(session, drafts, **more)
        for entry in entries:
            body = entry.body
            self._written = max(self._written, entry.header.record)
            if isinstance(body, ToolStarted) and "label" in body.arguments:
                self.started[body.arguments["label"]] = entry.header.record
                self._calls[body.call_id] = body.arguments["label"]
            elif isinstance(body, ToolFinished) and body.call_id in self._calls:
                self._record.finished.add(self._calls[body.call_id])
        return entries

    async def barrier(self) -> None:
        written = self._written
        await self._write("barrier", self._store.barrier)
        self.durable = max(self.durable, written)

    async def acquire(self, name: str) -> Lease | None:
        lease: Lease | None = await self._write("acquire", lambda: self._store.acquire(name))
        if lease is not None:
            self.given.append(lease)
        return lease

    async def release(self, lease: Lease) -> None:
        self.kept.add(lease.name)
        await self._write("release", lambda: self._store.release(lease))
        self.kept.discard(lease.name)

    async def rebuild(self) -> None:
        await self._write("rebuild", self._store.rebuild)

    async def aclose(self) -> None:
        """Close; a dead process gives nothing back: its lock is gone, and that is all that others see."""
        if self.dead:
            presence = self._store._presence
            assert presence is not None, "a store that writes has a lock"
            presence.leave()
        await self._store.aclose()

    def die(self) -> None:
        """From now on nothing that this process does is written."""
        self.dead = True
        self._touched()

    async def _write(self, kind: str, write: Callable[[], Awaitable[Any]]) -> Any:
        fault = self._due(kind)
        self.running += 1
        try:
            if fault is not None and not fault.done:
                self._strike(fault)
            if self.dead:
                raise StoreError("the process is dead; nothing was written")
            value = await write()
            if fault is not None:
                self._strike(fault)
            return value
        finally:
            self.running -= 1
            self._touched()

    def _due(self, kind: str) -> Fault | None:
        fault = self.fault
        if fault is None or fault.write != kind or self.dead:
            return None
        if fault.nth:
            fault.nth -= 1
            return None
        self.fault = None
        return fault

    def _strike(self, fault: Fault) -> None:
        told = f"{fault.write} {'done and reported as failed' if fault.done else 'failed'}"
        self._record.struck.append(told)
        self.dead = self.dead or fault.dies
        if fault.dies:
            self._record.die()
        raise StoreError(told)
