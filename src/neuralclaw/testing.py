"""The public test kit: a scripted provider, a function as a provider, a clock that only moves when told, and event capture.

Fakes are for speed and for faults. They implement the ports like any other adapter.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec

from .ports import Desk
from .types import messages as m
from .types.entries import Event
from .types.events import Inbound


class Reply(msgspec.Struct, kw_only=False):
    """A reply as a test writes it: text, and tool calls as `{"name": …, "arguments": {…}}` (an `id` is made up when absent)."""

    text: str = ""
    tool_calls: Sequence[Mapping[str, Any]] = ()
    usage: m.Usage = m.Usage(usd=0.0)
    stop: m.StopReason | None = None
    failure: m.Failure | None = None
    reasoning: str = ""


class FunctionProvider:
    """`async f(request) -> Reply` as a Provider. `request` has `messages`, `tools` and `model`; the text is streamed word by word."""

    def __init__(self, function: Callable[[m.Request], Awaitable[Reply | str]], *, info: m.ModelInfo | None = None) -> None:
        self._function = function
        self._info = info or m.ModelInfo(price=m.Price(0.0, 0.0))
        self.requests: list[m.Request] = []

    def info(self, model: str) -> m.ModelInfo:
        return self._info

    def count(self, request: m.Request) -> int:
        return sum(len(str(message)) for message in request.messages) // 4

    @asynccontextmanager
    async def stream(self, request: m.Request) -> AsyncIterator[AsyncIterator[m.ModelEvent]]:
        self.requests.append(request)
        yield self._events(request)

    async def _events(self, request: m.Request) -> AsyncIterator[m.ModelEvent]:
        reply = await self._function(request)
        if isinstance(reply, str):
            reply = Reply(reply)
        if reply.reasoning:
            yield m.ReasoningPart(reply.reasoning)
        if reply.failure is None:
            for word in _words(reply.text):
                yield m.TextPart(word)
        yield m.Finished(finished(reply, request.model, len(self.requests)))


def finished(reply: Reply, model: str, nth: int) -> m.ModelReply:
    """The reply as a provider hands it over."""
    calls = tuple(_call(c, nth, i) for i, c in enumerate(reply.tool_calls))
    stop = reply.stop or ("error" if reply.failure else "tools" if calls else "end")
    return m.ModelReply(text=reply.text, tool_calls=calls, stop=stop, model=model, usage=reply.usage, failure=reply.failure, reasoning=reply.reasoning)


def _call(call: Mapping[str, Any], nth: int, place: int) -> m.ToolCall:
    arguments = call.get("arguments", {})
    if not isinstance(arguments, Mapping):
        return m.ToolCall(call.get("id") or f"call_{nth}_{place}", call["name"], {}, "the arguments were not a JSON object")
    return m.ToolCall(call.get("id") or f"call_{nth}_{place}", call["name"], dict(arguments), call.get("error"))


def _words(text: str) -> list[str]:
    return [w + " " for w in text.split(" ")[:-1]] + [text.split(" ")[-1]] if text else []


class ScriptedProvider(FunctionProvider):
    """Gives its replies one after the other; a request beyond the last one fails the test with `AssertionError`."""

    def __init__(self, *replies: Reply | str, info: m.ModelInfo | None = None) -> None:
        super().__init__(self._next, info=info)
        self._replies = list(replies)

    async def _next(self, request: m.Request) -> Reply | str:
        assert self._replies, f"the script has no reply left for request {len(self.requests)}"
        return self._replies.pop(0)


class QueueChannel:
    """A channel without a network, by the name `name`: `say` puts a message in, `delivered` has what came out, as address and event.

    The first `failures` deliveries fail with `ConnectionError`.
    """

    def __init__(self, name: str, *, failures: int = 0) -> None:
        self.name, self.failures = name, failures
        self.delivered: list[tuple[str, Event]] = []
        self._put, self._said = anyio.create_memory_object_stream[tuple[str, Inbound]](100)
        self._arrived = anyio.Event()

    def say(self, text: str, *, session: str, key: str, address: str = "room", sender: str = "somebody") -> None:
        """Somebody writes to the channel, and wants the answer where they wrote."""
        inbound = Inbound(text=text, key=key, by="owner", sender=sender, channel=self.name, address=address, reply_to=address)
        self._put.send_nowait((session, inbound))

    async def serve(self, desk: Desk) -> None:
        async for session, inbound in self._said:
            await desk.send(session, inbound)

    async def deliver(self, address: str, event: Event) -> None:
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the channel is not reached")
        self.delivered.append((address, event))
        self._arrived.set()

    async def arrived(self, count: int) -> list[tuple[str, Event]]:
        """What was delivered, once there are `count` of them."""
        while len(self.delivered) < count:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        return self.delivered

    def close(self) -> None:
        """Nobody writes any more."""
        self._put.close()
        self._said.close()


class FakeClock:
    """A clock that does not move; `sleep` moves it and returns at once, and remembers what was slept."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._now = now
        self._monotonic = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        self._now += seconds
        self._monotonic += seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)
        await anyio.lowlevel.checkpoint()


class EventCapture:
    """Collects events and answers what tests ask of them."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.events: list[Event] = list(events)

    async def drain(self, events: AsyncIterator[Event]) -> "EventCapture":
        async for event in events:
            self.events.append(event)
        return self

    @property
    def types(self) -> list[str]:
        return [e.body.type for e in self.events]

    def of(self, kind: str) -> list[Event]:
        return [e for e in self.events if e.body.type == kind]

    def one(self, kind: str) -> Event:
        found = self.of(kind)
        assert len(found) == 1, f"{len(found)} events of type {kind}, not one: {self.types}"
        return found[0]
