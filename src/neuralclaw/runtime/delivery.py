"""Brings answers to the channels that their messages came through: what is due in the outbox is delivered, recorded, and tried again after a failure."""

import logging
from collections.abc import Sequence

import anyio

from .. import lookups
from ..ports import Channel, Clock, Store
from ..types.entries import Entry, Event, event_of
from ..types.events import TurnFinished
from ..types.records import OutboxRow

log = logging.getLogger(__name__)

WAITS = (1.0, 3600.0)
"""Seconds until a delivery that failed is tried again: the first time, and at most; each time twice as long."""
GIVEN_UP = 20
"""Attempts after which an answer is given up: about nine hours after the first."""
LONGEST_ERROR = 500
"""Characters of what a channel failed with that are kept."""
LOOK = 30.0
"""Seconds after which the outbox is looked at again where nothing told of it."""


class Delivery:
    """Delivers for one channel, in one process of the home at a time: whoever runs it holds the lease `delivery:CHANNEL`."""

    def __init__(self, store: Store, clock: Clock, name: str, channel: Channel) -> None:
        self._store, self._clock, self._name, self._channel = store, clock, name, channel
        self._news = anyio.Event()

    def notice(self, entries: Sequence[Entry]) -> None:
        """A turn ended: there may be something to deliver."""
        if any(isinstance(entry.body, TurnFinished) for entry in entries):
            self._news.set()

    async def run(self) -> None:
        """Deliver what is due, then wait for more, until cancelled. Raises `StoreError`."""
        while True:
            self._news = anyio.Event()
            wait = await self.deliver_due()
            with anyio.move_on_after(wait):
                await self._news.wait()

    async def deliver_due(self) -> float:
        """Deliver once what is due now; in how many seconds to look again."""
        next_try = [LOOK]
        for item in await lookups.outbox(
            self._store,
        ):
            if item.channel != self._name:
                continue
            due = item.next_try - self._clock.now()
            if due <= 0:
                item = await self._deliver(item)
                due = item.next_try - self._clock.now()
            if item.state == "pending":
                next_try.append(max(due, 0.0))
        return min(next_try)

    async def _deliver(self, item: OutboxRow) -> OutboxRow:
        """One attempt, recorded. The guard around channels: what one raises is a failed attempt, and the next item follows."""
        event = await self._event(item)
        if event is None:
            return await lookups.delivered(self._store, item.id, error="the end of its turn was erased or cannot be read")
        await self._store.barrier()  # what leaves the machine is on the disk before
        try:
            await self._channel.deliver(item.address, event)
        except Exception as error:
            log.warning("the answer of session %s could not be delivered through %s: %s", item.session, self._name, error)
            first, longest = WAITS
            again = self._clock.now() + min(first * 2**item.attempts, longest) if item.attempts + 1 < GIVEN_UP else None
            return await lookups.delivered(self._store, item.id, error=f"{type(error).__name__}: {error}"[:LONGEST_ERROR], retry_at=again)
        return await lookups.delivered(self._store, item.id)

    async def _event(self, item: OutboxRow) -> Event | None:
        """The end of the turn that the item is of; None where it was erased or cannot be read."""
        ends = await self._store.read(item.session, kinds=("turn.finished",))
        end = next((entry for entry in ends if entry.header.record == item.record), None)
        return event_of(end) if end is not None and isinstance(end.body, TurnFinished) else None
