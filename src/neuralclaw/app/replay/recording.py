"""The record of a session as a replay goes through it: what the loop wrote is compared with what it writes now, what others wrote comes in where it came in."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import anyio
import msgspec

from ...errors import AlreadyAnswered, StoreError
from ...types.entries import Draft, Entry
from ...types.events import (
    ApprovalRequested,
    ApprovalResolved,
    Body,
    Cancel,
    Compaction,
    DecisionMade,
    ErrorEvent,
    LimitHit,
    Message,
    Nudge,
    RetryEvent,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from ...types.labels import NONE, Labels, join

LOOP = TurnStarted | Message | RetryEvent | Nudge | DecisionMade | ToolStarted | ToolFinished | ApprovalRequested | LimitHit | Compaction | TurnFinished
"""What only the loop writes."""
BY_LOOP = ("auto", "nobody", "cancelled")
"""By whom the loop itself answers questions."""
COMPARED: dict[type[Body], tuple[str, ...]] = {
    Message: ("text", "tool_calls", "stop", "seen", "environment"),
    Nudge: ("text",),
    DecisionMade: ("call_id", "name", "decision", "by"),
    ToolStarted: ("call_id", "name", "arguments", "attempt"),
    ToolFinished: ("call_id", "name", "ok"),
    ApprovalRequested: ("approval_id", "call_id", "hash"),
    ApprovalResolved: ("approval_id", "decision", "by"),
    LimitHit: ("kind",),
    Compaction: ("reason", "before", "messages", "read_from", "whole_results"),
    ErrorEvent: ("kind", "text"),
    RetryEvent: ("attempt", "model", "discard"),
    TurnFinished: ("status", "text", "data", "model", "models", "usage", "refused", "waiting", "error", "unbacked"),
}
"""What of each entry the loop decides, and what it is compared by; times and durations are no part of it, nor what models and tools gave."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Where a replay goes another way: the number of the recorded entry (0: behind the last one), what it says and what there is now."""

    entry: int
    recorded: Any
    now: Any


class ReplayStopped(StoreError):
    """The replay cannot go on: it ends there."""


class Recording:
    """The entries of a session, of which the first `position` have come in. `life`: what is cancelled where the run must stop from outside."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.position = 0
        self._numbers = [entry.entry for entry in entries]
        self._labels = list(accumulate((entry.header.labels for entry in entries), _joined, initial=NONE))
        self._turns = {entry.turn: place for place, entry in reversed([*enumerate(entries)])}
        self.calls = {call.id: place for place, entry in enumerate(entries) if isinstance(entry.body, Message) for call in entry.body.tool_calls}
        """The calls that were proposed, and the place of the reply that did."""
        self.started = frozenset(entry.body.call_id for entry in entries if isinstance(entry.body, ToolStarted))
        """The calls that began at any time."""
        self.difference: Difference | None = None
        self.interrupted = False
        """The recorded process ended here: the turn is to be gone on with as a next process did."""
        self.at_end = False
        """The record has no more."""
        self.life = anyio.CancelScope()
        self._moved = anyio.Event()

    def coming(self) -> Iterator[Entry]:
        """What follows, from the next entry on."""
        for place in range(self.position, len(self.entries)):
            yield self.entries[place]

    def since(self, number: int, turn: int) -> Iterator[Entry]:
        """What has come in behind the entry of that number and of that turn or a later one."""
        for place in range(bisect_right(self._numbers, number), self.position):
            if self.entries[place].turn >= turn:
                yield self.entries[place]

    def begins(self, turn: int) -> int:
        """The number of the entry before the first one of that turn or a later one; 0 where there is none."""
        return min((self._numbers[place] - 1 for number, place in self._turns.items() if number >= turn), default=0)

    @property
    def labels(self) -> Labels:
        """Those of all that has come in."""
        return self._labels[self.position]

    def next_of_loop(self) -> Entry | None:
        """The next entry that the loop wrote; None at the end of the record."""
        return next((entry for entry in self.coming() if of_loop(entry.body)), None)

    def next_reply(self) -> Message | None:
        """The next reply, where nothing but failed attempts is before it."""
        for entry in self.coming():
            if isinstance(entry.body, Message):
                return entry.body
            if of_loop(entry.body) and not isinstance(entry.body, RetryEvent):
                return None
        return None

    def question_of(self, call_id: str) -> ApprovalRequested | None:
        """The last question about a call that has come in."""
        for place in range(self.position - 1, self.calls.get(call_id, 0) - 1, -1):
            body = self.entries[place].body
            if isinstance(body, ApprovalRequested) and body.call_id == call_id:
                return body
        return None

    def let_in(self, number: int) -> None:
        """What others wrote next comes in, up to the entry of that number."""
        while self.position < len(self.entries) and self.entries[self.position].entry <= number and not of_loop(self.entries[self.position].body):
            self.move(self.position + 1)

    def move(self, position: int) -> None:
        """These many entries have come in."""
        self.position = position
        self._moved.set()
        self._moved = anyio.Event()

    def move_behind(self, entry: Entry) -> None:
        """All entries up to that one have come in."""
        self.move(bisect_right(self._numbers, entry.entry))

    def move_before(self, entry: Entry) -> None:
        """All entries before that one have come in."""
        self.move(bisect_right(self._numbers, entry.entry) - 1)

    async def moved(self) -> None:
        """Returns when more has come in."""
        await self._moved.wait()

    def differ(self, entry: Entry | None, now: Any) -> ReplayStopped:
        """Note that the run goes another way from this entry on. Gives what is to be raised."""
        if self.difference is None:
            recorded = shown(entry.body) if entry is not None and entry.body is not None else None
            self.difference = Difference(entry=entry.entry if entry is not None else 0, recorded=recorded, now=now)
        return ReplayStopped("the replay went another way than the record")

    def stop(self, *, interrupted: bool) -> None:
        """End the run here: the recorded one was interrupted, or the record has no more."""
        self.interrupted, self.at_end = interrupted, not interrupted
        self.life.cancel()

    def cancelled_before(self, entry: Entry | None) -> Entry | None:
        """The cancel that came in before that entry, None where none did."""
        before = (one for one in self.coming() if entry is None or one.entry < entry.entry)
        return next((one for one in before if isinstance(one.body, Cancel)), None)

    def times_out(self) -> bool:
        """Whether the turn's time was up here, before anything else ended."""
        for entry in self.coming():
            if isinstance(entry.body, TurnFinished):
                return False
            if isinstance(entry.body, LimitHit):
                return entry.body.kind == "time"
        return False

    def take(self, drafts: Sequence[Draft]) -> list[Entry]:
        """The recorded entries that these drafts are. Raises `ReplayStopped` where they are others, and `AlreadyAnswered` as the store does."""
        if self.difference is not None:
            raise ReplayStopped("the replay has ended")
        place = self.position
        while place < len(self.entries) and not is_same(drafts[0].body, self.entries[place].body):
            entry = self.entries[place]
            draft = drafts[0].body
            if isinstance(draft, ApprovalResolved) and isinstance(entry.body, ApprovalResolved) and entry.body.approval_id == draft.approval_id:
                raise AlreadyAnswered(f"the question {draft.approval_id} was answered")
            if of_loop(entry.body):
                raise self.differ(entry, shown(draft))
            place += 1
        if place >= len(self.entries):
            self.at_end = True
            raise ReplayStopped("the record ends here")
        for number, more in enumerate(drafts[1:], 1):
            recorded = self.entries[place + number] if place + number < len(self.entries) else None
            if recorded is None or not is_same(more.body, recorded.body):
                raise self.differ(recorded, shown(more.body))
        self.move(place + len(drafts))
        return list(self.entries[place : place + len(drafts)])


def _joined(labels: Labels, more: Sequence[str]) -> Labels:
    return labels if labels.issuperset(more) else join(labels, more)


def of_loop(body: object) -> bool:
    """Whether an entry is one of the loop, and not what came in from elsewhere."""
    if isinstance(body, ApprovalResolved):
        return body.by in BY_LOOP
    return isinstance(body, LOOP) or (isinstance(body, ErrorEvent) and not body.recoverable and body.kind != "TurnSetAside")


def is_same(now: Any, recorded: Any) -> bool:
    """Whether the loop has written the same: kind and what it decides."""
    return type(now) is type(recorded) and shown(now) == shown(recorded)


def shown(body: Any) -> dict[str, Any]:
    """What of a body is compared, as plain values."""
    names = COMPARED.get(type(body))
    plain: dict[str, Any] = msgspec.to_builtins(body)
    if isinstance(body, ToolFinished) and body.refused is not None:
        return {name: plain[name] for name in ("type", "call_id", "name", "ok", "refused")}
    if isinstance(body, TurnFinished) and body.status == "timed_out":
        del plain["text"]  # it names the time that a resumed run was given
    if isinstance(body, Message):
        plain["tool_calls"] = [{"name": call.name, "arguments": call.arguments} for call in body.tool_calls]
    return plain if names is None else {"type": plain["type"], **{name: plain.get(name) for name in names}}
