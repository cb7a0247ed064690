"""A wrapper around any provider that calls it again after a failure that may pass."""

import math
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing

import anyio
import msgspec

from ..ports import Clock, Provider
from ..types.messages import Failure, Finished, ModelEvent, ModelInfo, ModelReply, Request, Retrying


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """`attempts` in all, and the bounds of the backoff in seconds (2, 4, 8, … up to the larger one)."""

    attempts: int = 3
    min_seconds: float = 2.0
    max_seconds: float = 30.0


def spread() -> float:
    """A number from 0 to 1, so that many clients that failed together do not come back together."""
    return int.from_bytes(os.urandom(2), "big") / 65535


class RetryProvider:
    """Repeats a failed request where the failure says that this may help; the same request, so the same bytes.

    Before each wait it yields `Retrying`, with `discard` when parts of the failed attempt were already given out. The wait is
    the larger of the backoff and what the service asked for. After the last attempt the failure itself is the reply. So it is
    where the service asks for a wait that nobody will make: one above `max_seconds` where another model can be asked, or one that
    is longer than the turn has left; it then says when to try again.
    """

    def __init__(self, inner: Provider, clock: Clock, policy: RetryPolicy = RetryPolicy(), jitter: Callable[[], float] = spread) -> None:  # noqa: B008
        self._inner = inner
        self._clock = clock
        self._policy = policy
        self._jitter = jitter

    def info(self, model: str) -> ModelInfo:
        return self._inner.info(model)

    def count(self, request: Request) -> int:
        return self._inner.count(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return aclosing(self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[ModelEvent]:
        attempt = 0
        while True:
            attempt += 1
            shown = False
            reply = ModelReply(stop="error", failure=Failure("LLMUnavailableError", "the provider gave no reply", retryable=False))
            async with self._inner.stream(request) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        reply = event.reply
                        break
                    shown = True
                    yield event
            failure = reply.failure
            if failure is None or not failure.retryable or attempt >= self._policy.attempts:
                yield Finished(_counted(reply, attempt))
                return
            wait = self._wait(attempt, failure)
            if self._too_long(wait, failure, request):
                yield Finished(_counted(self._later(reply, failure), attempt))
                return
            yield Retrying(attempt, round(wait * 1000), failure.text, request.model, shown)
            await self._clock.sleep(wait)

    def _wait(self, attempt: int, failure: Failure) -> float:
        policy = self._policy
        backoff = min(policy.max_seconds, policy.min_seconds * 2.0 ** (attempt - 1) * (1 + self._jitter() / 4))
        return max(backoff, failure.retry_after or 0.0)

    def _too_long(self, wait: float, failure: Failure, request: Request) -> bool:
        """Whether the service asks for a wait that is better not begun."""
        asked = failure.retry_after
        if asked is None or asked <= 0:
            return False
        return (request.others and asked > self._policy.max_seconds) or wait >= time_left()

    def _later(self, reply: ModelReply, failure: Failure) -> ModelReply:
        """The reply, its failure saying when the service can be asked again."""
        seconds = failure.retry_after or 0.0
        text = f"{failure.text}; it can be asked again {moment(self._clock.now(), seconds)}"
        return msgspec.structs.replace(reply, failure=msgspec.structs.replace(failure, text=text))


def time_left() -> float:
    """Seconds until the turn that runs here is stopped; infinite where it has no limit."""
    deadline = anyio.current_effective_deadline()
    return deadline - anyio.current_time() if math.isfinite(deadline) else math.inf


def moment(now: float, seconds: float) -> str:
    """The time `seconds` after `now` (Unix time) for a person: `in 2 min, at 14:05:30 UTC`, with the date where it is another day."""
    at = time.gmtime(math.ceil(now + seconds))
    day = "" if at[:3] == time.gmtime(now)[:3] else time.strftime("%Y-%m-%d ", at)
    length = f"{math.ceil(seconds)} s" if seconds < 120 else f"{math.ceil(seconds / 60)} min" if seconds < 7200 else f"{math.ceil(seconds / 3600)} h"
    return f"in {length}, at {day}{time.strftime('%H:%M:%S', at)} UTC"


def _counted(reply: ModelReply, attempts: int) -> ModelReply:
    """The reply, its failure saying how often it was tried."""
    if reply.failure is None or attempts == 1:
        return reply
    failure = msgspec.structs.replace(reply.failure, text=f"{reply.failure.text} (tried {attempts} times)")
    return msgspec.structs.replace(reply, failure=failure)
