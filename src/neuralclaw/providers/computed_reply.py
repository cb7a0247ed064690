"""Providers that are no model: a function from the request to the reply."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing

from ..types.messages import Finished, ModelEvent, ModelInfo, ModelReply, Price, Request, TextPart


class ComputedProvider:
    """Behind the `Provider` port, deterministic and free: a subclass says what `reply` is. The text is streamed line by line."""

    def reply(self, request: Request) -> ModelReply:
        """The same reply every time for the same request."""
        raise NotImplementedError

    def info(self, model: str) -> ModelInfo:
        return ModelInfo(price=Price(0.0, 0.0), language=False)

    def count(self, request: Request) -> int:
        """Nothing is counted: there are no tokens."""
        return 0

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return aclosing(self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[ModelEvent]:
        reply = self.reply(request)
        for line in reply.text.splitlines(keepends=True):
            yield TextPart(line)
        yield Finished(reply)
