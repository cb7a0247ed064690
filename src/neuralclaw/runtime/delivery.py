"""Brings answers to the channels that their messages came through: what is due in the outbox is delivered, recorded, and tried again after a failure.

Answers to one address keep their order: the next one waits until the one before it has arrived or is given up. Addresses do not wait for each other.
Each answer arrives at least once: where it is not known whether it has arrived, it is delivered again.
"""

import logging
import math
from collections.abc import Sequence

import anyio
from anyio.abc import TaskGroup

from .. import lookups
from ..agent.journal import RECORD_SECONDS
from ..agent.redaction import Searched
from ..errors import AgentError, LeaseLost, StoreError
from ..foreign_code import innermost, reason, run_foreign
from ..ports import Channel, Clock, Redaction, Store
from ..types.entries import Entry, Event
from ..types.events import TurnFinished
from ..types.records import DeliveryAttempt, Lease, OutboxRow
from ..types.signals import Undeliverable
from .backoff import Backoff

log = logging.getLogger(__name__)

WAITS = Backoff(first=1.0, longest=3600.0)
"""Seconds until a delivery that failed is tried again: the first time, and at most; each time twice as long."""
GIVEN_UP = 20
"""Attempts after which an answer is given up: about eight hours after the first."""
TIME_LIMIT = 60.0
"""Seconds that one delivery may take: connecting, sending a long answer in several pieces, and the pause of up to half a minute that chat services ask
for fit in. It is cancelled then, and delivered again later."""
AT_ONCE = 8
"""Deliveries of one channel that run at the same time: a bot of a chat service may send about 30 messages a second, and one takes some 0.2 s."""
RETRIES_AT_ONCE = 4
"""How many of these may be answers that failed before: addresses that hang leave room for the others."""
LONGEST_ERROR = 500
"""Characters of what a channel failed with that are kept."""
STORE_AGAIN = Backoff(first=1.0, longest=30.0)
"""Seconds until what the store could not read or record is tried again: the first time, and at most."""
LOOK = 30.0
"""Seconds after which the outbox is looked at again where nothing told of it."""
PAUSE = 9
"""How many times as long as a look took the next one is put off: with 10,000 answers that wait, looking takes a tenth of the time and not all of it."""


class Delivery:
    """Delivers for one channel, in one process of the home at a time: whoever runs it holds the lease of the channel. `limit`: seconds for a delivery."""

    def __init__(self, store: Store, clock: Clock, redaction: Redaction, name: str, channel: Channel, limit: float = TIME_LIMIT) -> None:
        self._store, self._clock, self._redaction, self._name, self._channel, self._limit = store, clock, redaction, name, channel, limit
        self._news = anyio.Event()
        self._busy: set[str] = set()
        """Addresses whose answers are on their way."""
        self._slots, self._retries = anyio.CapacityLimiter(AT_ONCE), anyio.CapacityLimiter(RETRIES_AT_ONCE)
        self._store_failures = 0

    def notice(self, entries: Sequence[Entry]) -> None:
        """A turn ended: there may be something to deliver."""
        if any(isinstance(entry.body, TurnFinished) for entry in entries):
            self._news.set()

    async def run(self, lease: Lease) -> None:
        """Deliver what is due, then wait for more, until cancelled. Raises `LeaseLost` where another process delivers now."""
        self._busy.clear()
        async with anyio.create_task_group() as tasks:
            while True:
                self._news, began = anyio.Event(), self._clock.monotonic()
                wait = await self._begin_due(tasks, lease)
                await self._clock.sleep(PAUSE * (self._clock.monotonic() - began))
                with anyio.move_on_after(wait):
                    await self._news.wait()

    async def _begin_due(self, tasks: TaskGroup, lease: Lease) -> float:
        """Begin to deliver to each address for which something is due; in how many seconds to look again."""
        busy = set(self._busy)  # one that ends while the outbox is read stands there as it was before
        try:
            pending = await lookups.outbox(self._store, channel=self._name)
        except StoreError as error:
            return self._failed("the outbox of the channel %s cannot be read", error)
        of_address: dict[str, list[OutboxRow]] = {}
        for item in pending:
            of_address.setdefault(item.address, []).append(item)
        wait = LOOK
        for address, items in of_address.items():
            if address in busy:
                continue
            due = self._due(items[0])
            if due > 0:
                wait = min(wait, due)
            else:
                self._busy.add(address)
                tasks.start_soon(self._deliver_to, address, items, lease)
        return wait

    def _due(self, item: OutboxRow) -> float:
        """Seconds until the item is delivered, 0: now. Where they are more than was ever waited for, the clock was set back meanwhile."""
        wait = item.next_try - self._clock.now()
        return wait if 0 < wait <= WAITS.after(item.attempts) else 0.0

    async def _deliver_to(self, address: str, items: Sequence[OutboxRow], lease: Lease) -> None:
        """The answers to one address in their order, up to one that has to be tried again."""
        try:
            for item in items:
                if self._due(item) > 0 or (await self._deliver(item, lease)).state == "pending":
                    return
        except LeaseLost:
            raise
        except StoreError as error:
            await self._clock.sleep(self._failed("the answers of the channel %s wait", error))
        finally:
            self._busy.discard(address)
            self._news.set()

    async def _deliver(self, item: OutboxRow, lease: Lease) -> OutboxRow:
        """One attempt, recorded; the item as it stands then. Raises `StoreError` where nothing was delivered, and `LeaseLost`."""
        if item.attempts:
            async with self._retries:
                attempt = await self._attempt(item, lease)
        else:
            attempt = await self._attempt(item, lease)
        return await self._recorded(attempt)

    async def _attempt(self, item: OutboxRow, lease: Lease) -> DeliveryAttempt:
        """Deliver within the time limit. Cancelled, it is recorded only where the answer has arrived: else that is not known, and it stays to be delivered."""
        arrived = False
        error = AgentError(f"it did not return within {self._limit:g} s; whether the answer arrived is not known")

        async def deliver(event: Event) -> None:
            nonlocal arrived
            await self._channel.deliver(item.address, event)
            arrived = anyio.current_effective_deadline() > -math.inf  # one that returns because it was stopped has not brought it

        async with self._slots:
            event = await self._ready(item, lease)
            if event is None:
                return DeliveryAttempt(item.id, "the end of its turn was erased or cannot be read")
            try:
                with anyio.move_on_after(self._limit):
                    await run_foreign(f"the channel {self._name}", lambda: deliver(event))
            except AgentError as failure:
                error = failure
            except anyio.get_cancelled_exc_class():
                if arrived:
                    await self._recorded(DeliveryAttempt(item.id))
                raise
        return DeliveryAttempt(item.id) if arrived else self._failure(item, error)

    async def _ready(self, item: OutboxRow, lease: Lease) -> Event | None:
        """The end of the turn that the item is of, on the disk before it leaves the machine; None where it was erased or cannot be read."""
        if not await lookups.holds(self._store, lease):
            raise LeaseLost(f"another process has taken over {lease.name}; it delivers the answers that wait")
        turns = await self._store.rows("turns", {"session": item.session, "finished": item.record})
        ends = await self._store.read(item.session, from_turn=turns[0]["turn"] if turns else 0, kinds=("turn.finished",))
        end = next((entry for entry in ends if entry.header.record == item.record), None)
        await self._store.barrier()
        self._store_failures = 0
        return Searched(self._redaction).event(end) if end is not None and isinstance(end.body, TurnFinished) else None

    def _failure(self, item: OutboxRow, error: AgentError) -> DeliveryAttempt:
        """What is recorded of an attempt that failed, without secrets: tried again later, or given up."""
        cause = innermost(error.__cause__) if error.__cause__ is not None else error
        told = error.text if cause is error else reason(cause)
        text = self._redaction.redact(told)[:LONGEST_ERROR]
        log.warning("the answer of session %s could not be delivered through %s: %s", item.session, self._name, text)
        last = isinstance(cause, Undeliverable) or item.attempts + 1 >= GIVEN_UP
        return DeliveryAttempt(item.id, text, None if last else self._clock.now() + WAITS.after(item.attempts + 1))

    async def _recorded(self, attempt: DeliveryAttempt) -> OutboxRow:
        """Record an attempt; tried until it is on record, because what has arrived would be delivered again, and once where this is being cancelled."""
        for wait in STORE_AGAIN.waits():
            try:
                with anyio.move_on_after(RECORD_SECONDS, shield=True):
                    return await lookups.delivered(self._store, attempt.item, error=attempt.error, retry_at=attempt.retry_at)
            except StoreError as error:
                log.warning("a delivery of the channel %s cannot be recorded and is tried again in %g s: %s", self._name, wait, error.text)
            await self._clock.sleep(wait)
        raise AssertionError("the waits have no end")

    def _failed(self, what: str, error: StoreError) -> float:
        """The store failed, which is in the log; in how many seconds to try again."""
        self._store_failures += 1
        wait = STORE_AGAIN.after(self._store_failures)
        log.warning(f"{what}, and this is tried again in %g s: %s", self._name, wait, error.text)
        return wait
