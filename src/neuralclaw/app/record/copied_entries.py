"""What another session has of one: the entries that requests are made of, as copies that name each other and cost nothing."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import msgspec

from ...agent.context import KINDS
from ...types.entries import Entry
from ...types.events import Body, Cancel, Compaction, Inbound, Message, TurnStarted

COPIED = (*KINDS, "turn.finished")
"""The kinds of entries that are copied."""


def those_of_turns(entries: Sequence[Entry]) -> list[Entry]:
    """The entries without messages that no turn began with or saw, and without cancels of such messages."""
    begun = {entry.body.inbound for entry in entries if isinstance(entry.body, TurnStarted)}
    seen = {entry.turn: entry.body.seen for entry in entries if isinstance(entry.body, Message)}

    def belongs(entry: Entry) -> bool:
        if isinstance(entry.body, Inbound):
            return entry.entry in begun or (not entry.body.queued and entry.entry <= seen.get(entry.turn, 0))
        return not isinstance(entry.body, Cancel) or entry.body.message in begun

    return [entry for entry in entries if belongs(entry)]


class CopiedEntries:
    """Entries of a session as those of another: they are numbered from 2 on, and name each other by these numbers. Keys of messages begin with `prefix`."""

    def __init__(self, entries: Sequence[Entry], prefix: str) -> None:
        self._entries, self._prefix = entries, prefix
        self._numbers = [entry.entry for entry in entries]

    def bodies(self) -> list[tuple[Entry, Body]]:
        """Each entry with the body of its copy."""
        return [(entry, self._copy(entry)) for entry in self._entries]

    def _copy(self, entry: Entry) -> Body:
        body, replace = entry.body, msgspec.structs.replace
        if isinstance(body, Inbound):
            return replace(body, key=f"{self._prefix}:{entry.entry}", reply_to="")
        if isinstance(body, TurnStarted):
            return replace(body, inbound=self._same(body.inbound), history_from=self._from(body.history_from))
        if isinstance(body, Message):
            return replace(body, seen=bisect_right(self._numbers, body.seen) + 1, copied=True)
        if isinstance(body, Cancel) and body.message is not None:
            return replace(body, message=self._same(body.message))
        if isinstance(body, Compaction):
            return replace(body, before=self._from(body.before), read_from=self._from(body.read_from), copied=True)
        assert isinstance(body, Body), "what cannot be read is not copied"
        return body

    def _same(self, number: int) -> int:
        """The number of the copy of an entry; 0 where it has none."""
        place = bisect_left(self._numbers, number)
        return place + 2 if place < len(self._numbers) and self._numbers[place] == number else 0

    def _from(self, number: int) -> int:
        """The number of the first copy of that entry or a later one; 0: of all."""
        return bisect_left(self._numbers, number) + 2 if number else 0
