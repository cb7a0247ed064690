"""The one event stream. Each subscriber has its own bounded buffer and delays nobody.

Durable events come in the order of the journal, each once, whichever process wrote them: a hole in the numbers is read from the
journal. When a buffer is full, passing events are dropped and durable ones are read again later.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

from ..ports import Clock, Store
from ..types.entries import Entry, Event, rfc3339
from ..types.events import Inbound, Passing
from .buffer import BUFFER, Buffer, EventView
from .turnstream import Topic, TurnStream


class Subscription:
    """The events of one session after entry `after`; `seq` rises by one over them."""

    def __init__(self, store: Store, session: str, after: int, *, buffer: int, shown: EventView) -> None:
        self._store, self._session, self._seen, self._event_of = store, session, after, shown.event_of
        self._buffer = Buffer(buffer, behind=True, sentence_of=shown.sentence_of)
        self.offer, self.fail = self._buffer.offer, self._buffer.fail

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        buffer = self._buffer
        while True:
            if buffer.items:
                event = await self._take(buffer.items.popleft())
                if event is not None:
                    return buffer.numbered(event)
            elif buffer.behind:
                buffer.caught_up()
                buffer.items.extend(await self._store.read(self._session, after=self._seen))
            else:
                await buffer.news()

    async def _take(self, item: Entry | Event) -> Event | None:
        """The event to show next, or None where the item was shown before or has nothing to show."""
        if isinstance(item, Event):
            return item
        if item.entry <= self._seen:
            return None
        if item.entry > self._seen + 1:
            missing = [e for e in await self._store.read(self._session, after=self._seen) if e.entry < item.entry]
            if missing:
                self._buffer.items.extendleft(reversed([*missing, item]))
                return None
        self._seen = item.entry
        return self._event_of(item)


class Bus:
    """Hands entries and passing events to the subscribers of their session."""

    def __init__(self, store: Store, clock: Clock, shown: EventView | None = None) -> None:
        self._store, self._clock, self._shown = store, clock, shown or EventView()
        self._subscriptions: dict[str, list[Subscription]] = {}
        self._topics: dict[str, Topic] = {}
        self._listeners: list[Callable[[Sequence[Entry]], None]] = []

    def listen(self, listener: Callable[[Sequence[Entry]], None]) -> None:
        """Hand every entry of every session to `listener` too, some twice. It must return at once."""
        self._listeners.append(listener)

    @asynccontextmanager
    async def subscribe(self, session: str, *, after: int, buffer: int = BUFFER) -> AsyncIterator[Subscription]:
        """The events of a session with an entry number above `after`, and passing ones from now on."""
        subscription = Subscription(self._store, session, after, buffer=buffer, shown=self._shown)
        self._subscriptions.setdefault(session, []).append(subscription)
        try:
            yield subscription
        finally:
            rest = [s for s in self._subscriptions[session] if s is not subscription]
            if rest:
                self._subscriptions[session] = rest
            else:
                del self._subscriptions[session]

    @contextmanager
    def turn(self, session: str, *, key: str = "", number: int | None = None, after: int = 0) -> Iterator[TurnStream]:
        """The events of the turn that the message of this key will begin or steer, or of turn `number` from the entry above `after` on."""
        stream = TurnStream(self._store, session, self._shown, key=key, number=number, after=after)
        topic = self._topics.setdefault(session, Topic())
        topic.add(stream)
        try:
            yield stream
        finally:
            topic.remove(stream)
            if not topic:
                self._topics.pop(session, None)

    def follow(self, stream: TurnStream, entry: Entry, turn: int | None) -> None:
        """The stream's message stood in the journal before, as this entry; `turn` is what it began or was seen by, None while it waits."""
        assert isinstance(entry.body, Inbound), "a message is followed"
        stream.follow(entry, entry.body, turn)
        self._topics[stream.session].await_message(stream)

    def awaited(self, session: str) -> bool:
        """Whether somebody here waits for a turn of this session that has not begun."""
        return session in self._topics and self._topics[session].awaited

    def close(self, error: Exception) -> None:
        """End every stream with this error once all before it was read: nothing will come any more."""
        for topic in self._topics.values():
            topic.fail(error)

    def publish(self, entries: Sequence[Entry]) -> None:
        for listener in self._listeners:
            listener(entries)
        for entry in entries:
            for subscription in self._subscriptions.get(entry.header.session, ()):
                subscription.offer(entry)
            topic = self._topics.get(entry.header.session)
            if topic is not None:
                topic.publish(entry)

    def show(self, session: str, turn: int, body: Passing) -> None:
        subscriptions, topic = self._subscriptions.get(session, ()), self._topics.get(session)
        if subscriptions or topic is not None:
            event = Event(body=body, session=session, turn=turn, seq=0, time=rfc3339(round(self._clock.now() * 1_000_000)))
            for subscription in subscriptions:
                subscription.offer(event)
            if topic is not None:
                topic.show(event)

    def readers(self, session: str, until: int | None) -> list[TurnStream | Subscription]:
        """Who is told when work on the session fails that had taken up its entries up to `until` (None: any): all but those whose message came later."""
        topic = self._topics.get(session)
        return [*self._subscriptions.get(session, ()), *(topic.readers(until) if topic is not None else ())]
