"""Messages of a session that no turn has taken up."""

from collections import deque
from collections.abc import Iterator

import msgspec

from ..types.entries import Entry
from ..types.events import Cancel, Inbound, Message, TurnStarted
from ..types.labels import Labels


class Waiting(msgspec.Struct):
    """A message that waits, with the place of its entry in the session and in the home's record, its turn and labels. `cancelled_by`: it was withdrawn
    before its turn began."""

    entry: int
    record: int
    turn: int
    labels: Labels
    body: Inbound
    cancelled_by: str | None = None


class Inbox:
    """Messages in the order they came: the oldest begins the next turn, unless the running turn has seen it.

    A message that is not queued belongs to the turn of its entry and steers that turn while it runs; when that turn ends without having
    seen it, it begins a turn like any other. Taking one in or out costs the same however many wait.
    """

    def __init__(self) -> None:
        self._waiting: deque[Waiting] = deque()
        self._steering: dict[int, Waiting] = {}
        """Those that are not queued, by entry."""
        self.lost: Inbound | None = None
        """The message that began the last turn whose beginning cannot be read."""

    def apply(self, entry: Entry) -> None:
        """Take in one more entry of the session."""
        body = entry.body
        if isinstance(body, Inbound):
            message = Waiting(entry.entry, entry.header.record, entry.turn, frozenset(entry.header.labels), body)
            self._waiting.append(message)
            if not body.queued:
                self._steering[message.entry] = message
        elif isinstance(body, TurnStarted):
            self._remove(body.inbound)
        elif entry.header.kind == TurnStarted.__struct_config__.tag and self._waiting:
            self.lost = self._waiting[0].body  # it cannot be read, but some message began it: the oldest
            self._remove(self._waiting[0].entry)
        elif isinstance(body, Message) and self._steering:
            for number in [m.entry for m in self._steering.values() if m.entry <= body.seen and m.turn == entry.turn]:
                self._remove(number)

    def withdraw(self, cancel: Cancel) -> None:
        """Mark the message that a cancel names, or the oldest: its turn ends as it begins."""
        for message in self._waiting:
            if cancel.message in (None, message.entry):
                message.cancelled_by = message.cancelled_by or cancel.by
                return

    def withdrawn_by(self, entry: int) -> str | None:
        """Who withdrew the message of that entry; None where nobody did."""
        return next((message.cancelled_by for message in self._waiting if message.entry == entry), None)

    def _remove(self, entry: int) -> None:
        self._steering.pop(entry, None)
        if self._waiting and self._waiting[0].entry == entry:
            self._waiting.popleft()
        else:
            self._waiting = deque(message for message in self._waiting if message.entry != entry)

    def __iter__(self) -> Iterator[Waiting]:
        return iter(self._waiting)

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def oldest(self) -> Waiting:
        """The message that begins the next turn; there must be one."""
        return self._waiting[0]

    def steers(self, turn: int) -> bool:
        """Whether a message waits that this turn must show to the model before it goes on."""
        return any(message.turn == turn for message in self._steering.values())
