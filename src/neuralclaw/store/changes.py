"""Entries as they are written, by any process: every subscriber sees each once, in record order.

All that happens here happens on the event loop, but for one watching thread that looks whether another process has written.
"""

import asyncio
import contextlib
import sqlite3
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator, Sequence

import anyio
import anyio.to_thread

from ..errors import StoreError
from ..types.codec import Codec
from ..types.entries import Entry
from . import dialect
from .queries import last_record, records_after
from .readers import Readers

_LOOK = 0.015
"""Seconds between two looks while things happen (one costs a few microseconds, waking up a hundred)."""
_IDLE_LOOK, _IDLE_AFTER = 0.06, 128
"""The same after so many looks that found nothing, about two seconds: a program that only waits costs a quarter of a percent of a core."""
_BUFFER = 2048
"""Entries that wait for one subscriber; beyond that it reads them again from the journal."""
_CHUNK = 256
"""Entries of one reading."""


class EntrySubscription(AsyncIterator[Sequence[Entry]]):
    """One subscriber. `aclose` ends it; one that is dropped ends by itself."""

    def __init__(self, hub: "Changes", position: int) -> None:
        self._hub, self._position = hub, position
        self._buffer: deque[Sequence[Entry]] = deque()
        self._waiting = 0
        self._news = anyio.Event()
        self._closed = False

    def offer(self, entries: Sequence[Entry]) -> None:
        self._waiting += len(entries)
        if self._waiting > _BUFFER:
            self._buffer.clear()  # it is slow: the journal has them
        else:
            self._buffer.append(entries)
        self.wake()

    def wake(self) -> None:
        self._news.set()

    async def __anext__(self) -> Sequence[Entry]:
        while not self._closed:
            if self._hub.failure is not None:
                raise self._hub.failure
            if self._buffer and self._buffer[0][0].header.record <= self._position + 1:
                batch = self._buffer.popleft()
                self._waiting -= len(batch)
                fresh = [e for e in batch if e.header.record > self._position]
            elif self._position < self._hub.position:
                fresh = await self._hub.read(self._position)
                if not self._buffer:
                    self._waiting = 0
            else:
                self._news = anyio.Event()
                await self._news.wait()
                continue
            if fresh:
                self._position = fresh[-1].header.record
                return fresh
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self._closed = True
        self._hub.leave(self)
        self.wake()


class Changes:
    """The subscribers of one process and the thread that watches for them."""

    def __init__(self, readers: Readers, codec: Codec) -> None:
        self._readers, self.codec = readers, codec
        self._loop = asyncio.get_running_loop()
        self._subscribers: weakref.WeakSet[EntrySubscription] = weakref.WeakSet()
        self._watcher: _Watcher | None = None
        self.position = 0
        self.failure: StoreError | None = None

    def subscribe(self, after: int | None) -> EntrySubscription:
        """A subscriber to all after record `after`, or to what is written from now on."""
        if not self._subscribers:
            self._rest()  # one that watched for nobody may be about to end
            self.failure = None
            self.position = self._readers.run(last_record)
        subscription = EntrySubscription(self, self.position if after is None else after)
        self._subscribers.add(subscription)
        if self._watcher is None:
            self._watcher = _Watcher(self, self._readers, self._loop, self.position)
            self._watcher.start()
        return subscription

    async def read(self, after: int) -> list[Entry]:
        return await anyio.to_thread.run_sync(self._readers.run, lambda c: records_after(c, self.codec, after, _CHUNK))

    def written(self, entries: Sequence[Entry]) -> None:
        """Entries that this process has written: passed on at once, unless another process wrote before them."""
        if not self._subscribers:
            self._rest()
        elif entries[0].header.record == self.position + 1:
            self.arrived(entries)
        elif self._watcher is not None:
            self._watcher.look_now()

    def arrived(self, entries: Sequence[Entry]) -> None:
        """Entries in record order; those seen before are left out. A gap is left to the subscribers' own reading."""
        fresh = [e for e in entries if e.header.record > self.position] if entries[0].header.record <= self.position else entries
        if fresh:
            self.position = fresh[-1].header.record
            for subscriber in list(self._subscribers):
                subscriber.offer(fresh)
        if not self._subscribers:
            self._rest()

    def failed(self, error: StoreError) -> None:
        self.failure = error
        for subscriber in list(self._subscribers):
            subscriber.wake()
        self._rest()

    def leave(self, subscription: EntrySubscription) -> None:
        self._subscribers.discard(subscription)
        if not self._subscribers:
            self._rest()

    @property
    def wanted(self) -> bool:
        return bool(self._subscribers)

    def _rest(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None

    def close(self) -> None:
        """End every subscription and the watching thread."""
        for subscriber in list(self._subscribers):
            subscriber._closed = True
            subscriber.wake()
        self._subscribers.clear()
        watcher = self._watcher
        self._rest()
        if watcher is not None:
            watcher.join()


class _Watcher(threading.Thread):
    """Looks for what other processes write, on a connection of its own (one with an open reading would be blind)."""

    def __init__(self, hub: Changes, readers: Readers, loop: asyncio.AbstractEventLoop, position: int) -> None:
        super().__init__(name="neuralclaw-changes", daemon=True)
        self._hub, self._readers, self._loop, self._position = hub, readers, loop, position
        self._wake = threading.Event()
        self._ended = False

    def look_now(self) -> None:
        self._wake.set()

    def stop(self) -> None:
        self._ended = True
        self._wake.set()

    def run(self) -> None:
        try:
            if self._readers.frozen:
                self._watch_files()
            else:
                self._readers.run_alone(self._watch)
        except StoreError as error:
            self._tell(self._hub.failed, error)

    def _watch(self, c: sqlite3.Connection) -> None:
        version, quiet = -1, 0
        while not self._ended and self._hub.wanted:
            now = dialect.foreign_version(c)
            quiet += 1
            if now != version:
                version, quiet = now, 0
                self._pass_on(c)
            self._wake.wait(_LOOK if quiet < _IDLE_AFTER else _IDLE_LOOK)
            self._wake.clear()

    def _watch_files(self) -> None:
        """A home that must not be written is opened anew for each look: the way to open it changes with its files."""
        while not self._ended and self._hub.wanted:
            self._readers.run(self._pass_on)
            self._wake.wait(_LOOK)
            self._wake.clear()

    def _pass_on(self, c: sqlite3.Connection) -> None:
        self._position = max(self._position, self._hub.position)  # what this process wrote was passed on already
        while not self._ended:
            entries = records_after(c, self._hub.codec, self._position, _CHUNK)
            if not entries:
                return
            self._position = entries[-1].header.record
            self._tell(self._hub.arrived, entries)

    def _tell(self, hear: object, value: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(hear, value)  # type: ignore[arg-type]
