"""The one event stream. Each subscriber has its own bounded buffer and delays nobody.

Durable events come in the order of the journal, each once, whichever process wrote them: a hole in the numbers is read from the
journal. When a buffer is full, passing events are dropped and durable ones are read again later.
"""

from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import anyio

from ..ports import Clock, Store
from ..types.entries import Entry, Event, event_of, rfc3339
from ..types.events import Passing

BUFFER = 1024
"""Events a slow subscriber may lag behind before passing ones are dropped."""


class Subscription:
    """The events of one session after entry `after`, those that `wanted` lets through; `seq` rises by one over them."""

    def __init__(self, store: Store, session: str, after: int, *, wanted: Callable[[Event], bool], buffer: int) -> None:
        self._store, self._session, self._seen, self._limit, self._wanted = store, session, after, buffer, wanted
        self._buffer: deque[Entry | Event] = deque()
        self._behind = True
        self._failure: Exception | None = None
        self._wake = anyio.Event()
        self._seq = 0

    def offer(self, item: Entry | Event) -> None:
        if len(self._buffer) >= self._limit:
            self._behind = self._behind or isinstance(item, Entry)
        else:
            self._buffer.append(item)
        self._wake.set()

    def fail(self, error: Exception) -> None:
        """End the stream with this error once all before it was read."""
        self._failure = error
        self._wake.set()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while True:
            if self._buffer:
                event = await self._take(self._buffer.popleft())
                if event is not None:
                    return event
            elif self._behind:
                self._behind = False
                self._buffer.extend(await self._store.read(self._session, after=self._seen))
            elif self._failure is not None:
                raise self._failure
            else:
                self._wake = anyio.Event()
                await self._wake.wait()

    async def _take(self, item: Entry | Event) -> Event | None:
        """The event to show next, or None where the item was shown before or has nothing to show."""
        if isinstance(item, Event):
            return self._numbered(item)
        if item.entry <= self._seen:
            return None
        if item.entry > self._seen + 1:
            missing = [e for e in await self._store.read(self._session, after=self._seen) if e.entry < item.entry]
            if missing:
                self._buffer.extendleft(reversed([*missing, item]))
                return None
        self._seen = item.entry
        event = event_of(item)
        return None if event is None else self._numbered(event)

    def _numbered(self, event: Event) -> Event | None:
        if not self._wanted(event):
            return None
        self._seq += 1
        return Event(body=event.body, session=event.session, turn=event.turn, seq=self._seq, time=event.time, entry=event.entry, labels=event.labels)


class Bus:
    """Hands entries and passing events to the subscribers of their session."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._subscriptions: dict[str, list[Subscription]] = {}
        self._listeners: list[Callable[[Sequence[Entry]], None]] = []

    def listen(self, listener: Callable[[Sequence[Entry]], None]) -> None:
        """Hand every entry of every session to `listener` too, some twice. It must return at once."""
        self._listeners.append(listener)

    @asynccontextmanager
    async def subscribe(
        self, session: str, *, after: int, wanted: Callable[[Event], bool] = lambda _: True, buffer: int = BUFFER
    ) -> AsyncIterator[Subscription]:
        """The events of a session with an entry number above `after`, and passing ones from now on."""
        subscription = Subscription(self._store, session, after, wanted=wanted, buffer=buffer)
        self._subscriptions.setdefault(session, []).append(subscription)
        try:
            yield subscription
        finally:
            rest = [s for s in self._subscriptions[session] if s is not subscription]
            if rest:
                self._subscriptions[session] = rest
            else:
                del self._subscriptions[session]

    def publish(self, entries: Sequence[Entry]) -> None:
        for listener in self._listeners:
            listener(entries)
        for entry in entries:
            for subscription in self._subscriptions.get(entry.header.session, ()):
                subscription.offer(entry)

    def show(self, session: str, turn: int, body: Passing) -> None:
        if session in self._subscriptions:
            event = Event(body=body, session=session, turn=turn, seq=0, time=rfc3339(round(self._clock.now() * 1_000_000)))
            for subscription in self._subscriptions[session]:
                subscription.offer(event)

    def fail(self, session: str, error: Exception) -> None:
        for subscription in self._subscriptions.get(session, ()):
            subscription.fail(error)
