"""The bounded buffer of one reader of events, which delays nobody."""

from collections import deque
from typing import NamedTuple

import anyio

from ..types.entries import Entry, Event, EventOf, event_of, with_sentence
from ..types.sentences import SentenceOf, sentence

BUFFER = 1024
"""Events a slow reader may lag behind before passing ones are dropped; durable ones are read again from the journal."""


class EventView(NamedTuple):
    """How entries are shown. `event_of`: the event of one, without secrets; `sentence_of`: what an event says to a person."""

    event_of: EventOf = event_of
    sentence_of: SentenceOf = sentence


class Buffer:
    """Entries and passing events in the order they came. `behind`: the journal has more; where an entry did not fit (`hole`), behind the items."""

    def __init__(self, limit: int, *, behind: bool, sentence_of: SentenceOf = sentence) -> None:
        self.items: deque[Entry | Event] = deque()
        self.behind, self.hole = behind, False
        self.failure: Exception | None = None
        self._limit, self._sentence_of = limit, sentence_of
        self._wake = anyio.Event()
        self._seq = 0

    def offer(self, item: Entry | Event) -> None:
        """Take it in, where there is room. Behind a hole nothing is taken in: the reader finds it in the journal, passing events are gone."""
        if not self.hole and len(self.items) < self._limit:
            self.items.append(item)
        elif isinstance(item, Entry):
            self.behind = self.hole = True
        self._wake.set()

    def fail(self, error: Exception) -> None:
        """The reader gets this error once all before it was read."""
        self.failure = error
        self._wake.set()

    def caught_up(self) -> None:
        """The journal is being read: from now on items are taken in again."""
        self.behind = self.hole = False

    def wake(self) -> None:
        self._wake.set()

    async def news(self) -> None:
        """Returns when something came in. Raises the failure."""
        if self.failure is not None:
            raise self.failure
        self._wake = anyio.Event()
        await self._wake.wait()

    def numbered(self, event: Event) -> Event:
        """The event as the next one of this reader: `seq` rises by one, and a capability's event has its sentence."""
        self._seq += 1
        return with_sentence(event, self._seq, self._sentence_of)
