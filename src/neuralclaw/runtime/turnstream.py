"""The events of one turn, for whoever sent its message or follows it by its number."""

from collections import deque
from collections.abc import AsyncIterator, Sequence

from ..ports import Store
from ..types.entries import Entry, Event
from ..types.events import ApprovalRequested, ApprovalResolved, ErrorEvent, Inbound, Message, TurnFinished, TurnStarted
from .buffer import BUFFER, Buffer, EventView


class TurnStream:
    """Iterates over the events of one turn up to its `turn.finished`, and the messages that are queued behind it meanwhile, in the order of the
    journal; `seq` rises by one.

    The turn is the one that the message of entry `message` begins or steers, or that of `number`. A message that waits behind a turn which parks
    waits for the answer too: then the stream ends with the end of that turn. `finished` is the end that was shown; `sure`: the turn is known to be
    the one that is meant.
    """

    def __init__(self, store: Store, session: str, shown: EventView, *, key: str = "", number: int | None = None, after: int = 0) -> None:
        self.session, self.key, self._event_of = session, key, shown.event_of
        self.number = number
        self.message_entry = self.message_turn = 0
        self.finished: TurnFinished | None = None
        self._store, self._seen = store, after
        self._complete = 0
        """Entries up to this one were looked for in the journal."""
        self.sure = number is not None
        self._first: deque[Entry | Event] = deque()
        self._shown: set[int] = set()
        """Entries that were shown ahead: one that was written meanwhile may come in once more."""
        self._buffer = Buffer(BUFFER, behind=number is not None, sentence_of=shown.sentence_of)
        self.offer, self.fail = self._buffer.offer, self._buffer.fail

    def accepted(self, entry: Entry, message: Inbound) -> None:
        """The message is on record. One that is not queued belongs to the turn of its entry, unless that ends without having seen it."""
        self.message_entry, self.message_turn = entry.entry, entry.turn
        if not message.queued:
            self.number = entry.turn

    def began(self, turn: int) -> None:
        """The message began this turn."""
        self.number, self.sure = turn, True

    def follow(self, entry: Entry, message: Inbound, turn: int | None) -> None:
        """The message stood in the journal before, as this entry; its turn, where it is known, is read from there."""
        if not self.message_entry:
            self.accepted(entry, message)
            self._seen = entry.entry - 1
        if turn is not None:
            self.began(turn)
        self._buffer.behind = self.number is not None
        self._buffer.wake()

    def waits_for(self, until: int | None) -> bool:
        """Whether its message is one of the entries up to `until` (None: is on record), or it follows a turn by its number."""
        if not self.message_entry:
            return self.number is not None
        return until is None or self.message_entry <= until

    @property
    def ended(self) -> bool:
        """Whether the turn's end has come in, though nobody has read it yet."""
        return any(isinstance(item, Entry) and isinstance(item.body, TurnFinished) and item.turn == self.number for item in self._buffer.items)

    def show_first(self, entries: Sequence[Entry]) -> None:
        """Show these, of before, ahead of everything else: questions that the reader may answer."""
        self._first.extend(entries)
        self._shown.update(entry.entry for entry in entries)

    def tell_first(self, event: Event) -> None:
        """Show this passing event ahead of what comes."""
        self._first.append(event)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        buffer = self._buffer
        while self.finished is None:
            event: Event | None = None
            if self._first:
                first = self._first.popleft()
                event = first if isinstance(first, Event) else self._event_of(first)
            elif buffer.items and not (buffer.behind and not buffer.hole):
                event = await self._take(buffer.items.popleft())
            elif buffer.behind and self.number is not None:
                buffer.caught_up()
                entries = await self._store.read(self.session, after=self._seen, from_turn=self.number)
                buffer.items.extendleft(reversed([entry for entry in entries if self._shows(entry)]))
            else:
                await buffer.news()
            if event is not None:
                return buffer.numbered(event)
        raise StopAsyncIteration

    def _shows(self, entry: Entry) -> bool:
        return entry.turn == self.number or queued(entry)

    async def _take(self, item: Entry | Event) -> Event | None:
        """The event to show next, or None where the item was shown before or is not of this turn."""
        if isinstance(item, Event):
            return item
        event = self._event_of(item)
        if item.entry <= self._seen or event is None:
            return None
        if self._seen and self.number is not None and item.entry > max(self._seen, self._complete) + 1:
            self._complete = item.entry
            between = await self._store.read(self.session, after=self._seen, from_turn=self.number)
            missing = [entry for entry in between if entry.entry < item.entry and self._shows(entry)]
            if missing:  # another task or process wrote it, and tells of it later
                self._buffer.items.extendleft(reversed([*missing, item]))
                return None
        self._seen = item.entry
        if item.entry in self._shown:
            return None
        body = event.body
        if isinstance(body, TurnStarted) and body.inbound == self.message_entry:
            self.began(item.turn)
        elif isinstance(body, Message) and item.turn == self.number and body.seen >= self.message_entry:
            self.sure = True
        elif isinstance(body, TurnFinished):
            return self._end(event, body)
        return event

    def _end(self, event: Event, body: TurnFinished) -> Event | None:
        """The end of the turn that is meant, or of the one that everything waits for; of another one nothing is shown."""
        if body.waiting or (self.sure and event.turn == self.number):
            self.finished = body
            return event
        return None


def queued(entry: Entry) -> bool:
    """Whether the entry is a message that waits for the end of the turn that runs."""
    return isinstance(entry.body, Inbound) and entry.body.queued


class Topic:
    """The streams of one session. An entry reaches those of its turn and no other, however many wait, but for a message that is queued behind it."""

    def __init__(self) -> None:
        self._keys: dict[str, list[TurnStream]] = {}
        self._messages: dict[int, list[TurnStream]] = {}
        self._turns: dict[int, list[TurnStream]] = {}
        self._all: dict[int, TurnStream] = {}

    def __bool__(self) -> bool:
        return bool(self._all)

    def add(self, stream: TurnStream) -> None:
        self._all[id(stream)] = stream
        if stream.key:
            self._keys.setdefault(stream.key, []).append(stream)
        if stream.number is not None:
            self._turns.setdefault(stream.number, []).append(stream)

    def await_message(self, stream: TurnStream) -> None:
        """The stream's message is of an earlier entry; what it begins, or steers, is what is waited for."""
        self._forget_key(stream)
        for places, place in ((self._messages, stream.message_entry), (self._turns, stream.number)):
            if place is not None and stream not in places.setdefault(place, []):
                places[place].append(stream)

    @property
    def awaited(self) -> bool:
        """Whether somebody waits for a turn that has not begun."""
        return bool(self._messages or self._keys)

    def _forget_key(self, stream: TurnStream) -> None:
        rest = [other for other in self._keys.get(stream.key, ()) if other is not stream]
        if rest:
            self._keys[stream.key] = rest
        else:
            self._keys.pop(stream.key, None)

    def remove(self, stream: TurnStream) -> None:
        del self._all[id(stream)]
        self._forget_key(stream)
        for places, place in ((self._messages, stream.message_entry), (self._turns, stream.number)):
            rest = [other for other in places.get(place or 0, ()) if other is not stream]
            if rest:
                places[place or 0] = rest
            else:
                places.pop(place or 0, None)

    def publish(self, entry: Entry) -> None:
        body = entry.body
        if isinstance(body, Inbound) and body.key in self._keys:
            for stream in self._keys.pop(body.key):
                self._accepted(stream, entry, body)
        elif isinstance(body, TurnStarted):
            self._began(entry.turn, self._messages.pop(body.inbound, []))
        for stream in self._turns.get(entry.turn, ()):
            stream.offer(entry)
        if queued(entry):
            for stream in [stream for turn, streams in self._turns.items() if turn != entry.turn for stream in streams]:
                stream.offer(entry)
        if isinstance(body, ErrorEvent) and not entry.turn:
            for stream in self._all.values():
                stream.offer(entry)
        elif isinstance(body, ApprovalRequested | ApprovalResolved) or (isinstance(body, TurnFinished) and body.waiting):
            for stream in [stream for waiting in self._messages.values() for stream in waiting if stream.number != entry.turn]:
                stream.offer(entry)  # what stands between them and their turn

    def _accepted(self, stream: TurnStream, entry: Entry, body: Inbound) -> None:
        stream.accepted(entry, body)
        self._messages.setdefault(entry.entry, []).append(stream)
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

    def readers(self, until: int | None) -> list[TurnStream]:
        """The streams that wait for what the entries up to `until` ask for (None: for anything on record)."""
        return [stream for stream in self._all.values() if stream.waits_for(until)]

    def fail(self, error: Exception) -> None:
        for stream in self._all.values():
            stream.fail(error)
