"""The events of one turn, for whoever sent its message or follows it by its number."""

from collections import deque
from collections.abc import AsyncIterator, Sequence

import anyio

from ..ports import Store
from ..types.entries import Entry, Event, event_of
from ..types.events import ErrorEvent, Inbound, Message, TurnFinished, TurnStarted

BUFFER = 1024
"""Events a slow reader may lag behind before passing ones are dropped; durable ones are read again from the journal."""


class TurnStream:
    """Iterates over the events of one turn up to its `turn.finished`; `seq` rises by one.

    The turn is the one that the message of entry `message` begins or steers, or that of `number`. A message that waits behind a turn which parks
    waits for the answer too: then the stream ends with the end of that turn. `finished` is the end that was shown.
    """

    def __init__(self, store: Store, session: str, *, key: str = "", number: int | None = None, after: int = 0, buffer: int = BUFFER) -> None:
        self.session, self.key = session, key
        self.number = number
        self.message_entry = self.message_turn = 0
        self.finished: TurnFinished | None = None
        self._store, self._seen, self._limit = store, after, buffer
        self._sure = number is not None  # the turn is known to be the one that is meant
        self._behind = number is not None
        self._first: deque[Entry] = deque()
        self._last: Entry | None = None
        self._buffer: deque[Entry | Event] = deque()
        self._failure: Exception | None = None
        self._wake = anyio.Event()
        self._seq = 0

    def accepted(self, entry: Entry, message: Inbound) -> None:
        """The message is on record. One that is not queued belongs to the turn of its entry, unless that ends without having seen it."""
        self.message_entry, self.message_turn = entry.entry, entry.turn
        if not message.queued:
            self.number = entry.turn

    def began(self, turn: int) -> None:
        """The message began this turn."""
        self.number, self._sure = turn, True

    def follow(self, entry: int, turn: int | None) -> None:
        """The message stood in the journal before, as this entry; its turn, where it has begun, is read from there."""
        self.message_entry, self._seen = entry, entry - 1
        if turn is not None:
            self.began(turn)
            self._behind = True
            self._wake.set()

    def show_first(self, entries: Sequence[Entry]) -> None:
        """Show these, of before, ahead of everything else: questions that the reader may answer."""
        self._first.extend(entries)

    def show_parked(self, entries: Sequence[Entry]) -> None:
        """The message waits, for an answer to these questions; the last of the entries, the end of the parked turn, ends the stream too."""
        self._first.extend(entries[:-1])
        self._last = entries[-1] if entries else None

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
        while self.finished is None:
            if self._first:
                event = event_of(self._first.popleft())
                if event is not None:
                    return self._numbered(event)
            elif self._buffer:
                event = self._take(self._buffer.popleft())
                if event is not None:
                    return event
            elif self._behind and self.number is not None:
                self._behind = False
                entries = await self._store.read(self.session, after=self._seen, from_turn=self.number)
                self._buffer.extendleft(reversed([entry for entry in entries if entry.turn == self.number]))
            elif self._last is not None and self.number is None:
                body, event = self._last.body, event_of(self._last)
                self._last = None
                if event is not None and isinstance(body, TurnFinished):
                    self.finished = body
                    return self._numbered(event)
            elif self._failure is not None:
                raise self._failure
            else:
                self._wake = anyio.Event()
                await self._wake.wait()
        raise StopAsyncIteration

    def _take(self, item: Entry | Event) -> Event | None:
        """The event to show next, or None where the item was shown before or is not of this turn."""
        if isinstance(item, Event):
            return self._numbered(item)
        event = event_of(item)
        if item.entry <= self._seen or event is None:
            return None
        self._seen = item.entry
        body = item.body
        if isinstance(body, TurnStarted) and body.inbound == self.message_entry:
            self.began(item.turn)
        elif isinstance(body, Message) and item.turn == self.number and body.seen >= self.message_entry:
            self._sure = True
        elif isinstance(body, TurnFinished):
            return self._end(event, body)
        return self._numbered(event)

    def _end(self, event: Event, body: TurnFinished) -> Event | None:
        """The end of the turn that is meant, or of the one that everything waits for; of another one nothing is shown."""
        if body.waiting or (self._sure and event.turn == self.number):
            self.finished = body
            return self._numbered(event)
        return None

    def _numbered(self, event: Event) -> Event:
        self._seq += 1
        return Event(body=event.body, session=event.session, turn=event.turn, seq=self._seq, time=event.time, entry=event.entry, labels=event.labels)


class Topic:
    """The streams of one session. An entry reaches those of its turn and no other, however many wait."""

    def __init__(self) -> None:
        self._keys: dict[str, TurnStream] = {}
        self._messages: dict[int, list[TurnStream]] = {}
        self._turns: dict[int, list[TurnStream]] = {}
        self._all: dict[int, TurnStream] = {}

    def __bool__(self) -> bool:
        return bool(self._all)

    def add(self, stream: TurnStream) -> None:
        self._all[id(stream)] = stream
        if stream.key:
            self._keys[stream.key] = stream
        if stream.number is not None:
            self._turns.setdefault(stream.number, []).append(stream)

    def await_message(self, stream: TurnStream) -> None:
        """The stream's message is of an earlier entry; what it begins is what is waited for."""
        self._keys.pop(stream.key, None)
        if stream.number is not None:
            self._turns.setdefault(stream.number, []).append(stream)
        else:
            self._messages.setdefault(stream.message_entry, []).append(stream)

    def remove(self, stream: TurnStream) -> None:
        del self._all[id(stream)]
        self._keys.pop(stream.key, None)
        for places, place in ((self._messages, stream.message_entry), (self._turns, stream.number)):
            rest = [other for other in places.get(place or 0, ()) if other is not stream]
            if rest:
                places[place or 0] = rest
            else:
                places.pop(place or 0, None)

    def publish(self, entry: Entry) -> None:
        body = entry.body
        if isinstance(body, Inbound) and (stream := self._keys.pop(body.key, None)) is not None:
            self._accepted(stream, entry, body)
        elif isinstance(body, TurnStarted):
            self._began(entry.turn, self._messages.pop(body.inbound, []))
        for stream in self._turns.get(entry.turn, ()):
            stream.offer(entry)
        if (isinstance(body, TurnFinished) and body.waiting) or (isinstance(body, ErrorEvent) and not entry.turn):
            for waiting in self._messages.values():
                for stream in waiting:
                    stream.offer(entry)

    def _accepted(self, stream: TurnStream, entry: Entry, body: Inbound) -> None:
        stream.accepted(entry, body)
        self._messages[entry.entry] = [stream]
        if stream.number is not None:
            self._turns.setdefault(stream.number, []).append(stream)
        else:
            stream.offer(entry)

    def _began(self, turn: int, streams: Sequence[TurnStream]) -> None:
        for stream in streams:
            if stream.number is not None and stream.number != turn:
                self._turns[stream.number] = [other for other in self._turns[stream.number] if other is not stream]
            there = self._turns.setdefault(turn, [])
            if stream not in there:
                there.append(stream)
            stream.number = turn

    def show(self, event: Event) -> None:
        for stream in self._turns.get(event.turn, ()):
            stream.offer(event)

    def fail(self, error: Exception) -> None:
        for stream in self._all.values():
            stream.fail(error)
