"""Trying again, around any provider: waits, bounds and what is passed on. What needs a server is in the conformance suite."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from neuralclaw.providers.retry import RetryPolicy, RetryProvider, spread
from neuralclaw.testing import FakeClock
from neuralclaw.types.messages import Failure, Finished, ModelEvent, ModelInfo, ModelReply, Request, Retrying, TextPart, UserMessage

pytestmark = pytest.mark.anyio
REQUEST = Request(model="m", messages=(UserMessage("Hi"),))


class Scripted:
    """A provider whose streams are written down."""

    def __init__(self, *streams: Sequence[ModelEvent]) -> None:
        self.streams = list(streams)
        self.open = 0

    def info(self, model: str) -> ModelInfo:
        return ModelInfo(context=17)

    def count(self, request: Request) -> int:
        return 3

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return self._stream()

    @asynccontextmanager
    async def _stream(self) -> AsyncGenerator[AsyncIterator[ModelEvent]]:
        self.open += 1
        events = self.streams.pop(0) if len(self.streams) > 1 else self.streams[0]

        async def each() -> AsyncGenerator[ModelEvent]:
            for event in events:
                yield event

        try:
            yield each()
        finally:
            self.open -= 1


def failed(wait: float | None = None, *, retryable: bool = True) -> Finished:
    return Finished(ModelReply(stop="error", failure=Failure("LLMRateLimitError", "slow down", "", retryable, wait)))


async def events_of(inner: Scripted, clock: FakeClock, jitter: float = 0.0, **policy: float) -> list[ModelEvent]:
    provider = RetryProvider(inner, clock, RetryPolicy(**policy), lambda: jitter)  # type: ignore[arg-type]
    async with provider.stream(REQUEST) as events:
        return [event async for event in events]


async def test_waits_double_within_their_bounds() -> None:
    clock = FakeClock()
    await events_of(Scripted([failed()]), clock, attempts=8)
    assert clock.slept == [2, 4, 8, 16, 30, 30, 30]


@pytest.mark.parametrize("jitter", [0.0, 0.5, 1.0])
async def test_jitter_spreads_the_waits_and_keeps_the_bounds(jitter: float) -> None:
    clock = FakeClock()
    await events_of(Scripted([failed()]), clock, jitter, attempts=6)
    assert clock.slept[0] == 2 * (1 + jitter / 4)
    assert all(2 <= wait <= 30 for wait in clock.slept)
    assert all(0 <= spread() <= 1 for _ in range(100))


async def test_the_larger_of_backoff_and_the_services_wish_is_waited() -> None:
    clock = FakeClock()
    got = await events_of(Scripted([failed(90.5)], [failed(1.0)], [Finished(ModelReply(text="ok"))]), clock)
    assert clock.slept == [90.5, 4]
    assert [event for event in got if isinstance(event, Retrying)] == [
        Retrying(1, 90_500, "slow down", "m", False),
        Retrying(2, 4000, "slow down", "m", False),
    ]


async def test_parts_of_a_failed_attempt_are_declared_void() -> None:
    inner = Scripted([TextPart("half"), failed()], [TextPart("whole"), Finished(ModelReply(text="whole"))])
    got = await events_of(inner, FakeClock())
    assert got == [TextPart("half"), Retrying(1, 2000, "slow down", "m", True), TextPart("whole"), Finished(ModelReply(text="whole"))]
    assert inner.open == 0


async def test_one_attempt_means_no_retry_and_the_failure_as_it_is() -> None:
    clock = FakeClock()
    assert await events_of(Scripted([failed()]), clock, attempts=1) == [failed()]
    assert clock.slept == []


async def test_a_stream_without_an_end_is_a_failure() -> None:
    (last,) = await events_of(Scripted([]), FakeClock())
    assert isinstance(last, Finished)
    assert last.reply.failure is not None


async def test_leaving_early_closes_the_inner_stream() -> None:
    inner = Scripted([TextPart("a"), TextPart("b"), Finished(ModelReply(text="ab"))])
    async with RetryProvider(inner, FakeClock()).stream(REQUEST) as events:
        assert await anext(events) == TextPart("a")
        assert inner.open == 1
    assert inner.open == 0


async def test_what_is_known_of_models_is_the_inner_providers_word() -> None:
    provider = RetryProvider(Scripted([]), FakeClock())
    assert (provider.info("m").context, provider.count(REQUEST)) == (17, 3)
