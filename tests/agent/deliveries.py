"""A channel that does at each address what a test wants, and its delivery over a real store."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from neuralclaw import lookups
from neuralclaw.agent.redaction import NO_REDACTION
from neuralclaw.ports import Desk, Redaction
from neuralclaw.runtime.delivery import TIME_LIMIT, Delivery
from neuralclaw.testing import FakeClock
from neuralclaw.types import events as ev
from neuralclaw.types.entries import Draft, Event
from neuralclaw.types.records import OutboxItem, OutboxRow

from ..waiting import until

Act = Callable[[Event], Awaitable[Any]]


async def hang(event: Event) -> None:
    await anyio.sleep_forever()


async def fail(event: Event) -> None:
    raise ConnectionError("the channel is not reached")


class Post:
    """A channel: `acts` says what a delivery to an address does; where it returns, the answer has arrived."""

    def __init__(self, **acts: Act) -> None:
        self.acts = acts
        self.begun: list[tuple[str, str]] = []
        self.arrived: list[tuple[str, str]] = []
        self.events: list[Event] = []

    async def serve(self, desk: Desk) -> None:
        await anyio.sleep_forever()

    async def deliver(self, address: str, event: Event) -> None:
        self.begun.append((address, event.text))
        self.events.append(event)
        if address in self.acts:
            await self.acts[address](event)
        self.arrived.append((address, event.text))

    async def has(self, *wanted: tuple[str, str]) -> None:
        """Returns when these have arrived."""
        await until(lambda: set(wanted) <= set(self.arrived))


async def answer(store: Any, address: str, text: str, *, session: str = "s", attempts: int = 0) -> list[Any]:
    """A turn that ended with this answer for the address, and so many attempts that failed."""
    entries: list[Any] = await store.append(session, [Draft(1, ev.TurnFinished(status="done", text=text))], rows=[OutboxItem(address, text, "post")])
    for _ in range(attempts):
        await lookups.delivered(store, (await rows(store))[-1].id, error="not yet", retry_at=1.0)
    return entries


async def rows(store: Any) -> list[OutboxRow]:
    return await lookups.outbox(store, pending=False)


async def states(store: Any) -> list[tuple[str, str, int]]:
    """Text, state and attempts of each answer."""
    return [(row.text, row.state, row.attempts) for row in await rows(store)]


class Delivering:
    """A delivery that runs. Its clock stands still."""

    def __init__(self, store: Any, delivery: Delivery, clock: FakeClock, tasks: Any) -> None:
        self._store, self._delivery, self._clock, self.tasks = store, delivery, clock, tasks

    async def say(self, address: str, text: str, session: str = "s") -> None:
        """One more answer, of which the delivery is told."""
        self._delivery.notice(await answer(self._store, address, text, session=session))

    def later(self, seconds: float) -> None:
        """So much later, the outbox is looked at."""
        self._clock.advance(seconds)
        self._delivery._news.set()


@asynccontextmanager
async def delivering(
    store: Any, post: Post, *, limit: float = TIME_LIMIT, clock: FakeClock | None = None, redaction: Redaction = NO_REDACTION
) -> AsyncIterator[Delivering]:
    clock = clock or FakeClock()
    lease = await store.acquire("channel:post")
    assert lease is not None
    delivery = Delivery(store, clock, redaction, "post", post, limit)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(delivery.run, lease)
        with anyio.fail_after(30):
            yield Delivering(store, delivery, clock, tasks)
        tasks.cancel_scope.cancel()
    await store.release(lease)
