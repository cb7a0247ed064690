"""The provider behind `tools call`: it proposes the one call its message spells out. No way around the gate, and no model."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import msgspec

from ..types.messages import Failure, Finished, ModelEvent, ModelInfo, Price, Reply, Request, ToolCall, ToolMessage, Usage, UserMessage


class Spelled(msgspec.Struct, frozen=True):
    """The message of a direct call: the JSON of a tool's name and its arguments."""

    tool: str
    arguments: dict[str, object]


class DirectProvider:
    """First proposes the call, then ends with its result as the answer."""

    def info(self, model: str) -> ModelInfo:
        return ModelInfo(price=Price(0.0, 0.0), language=False)

    def count(self, request: Request) -> int:
        return 0

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        yield self._events(request)

    async def _events(self, request: Request) -> AsyncIterator[ModelEvent]:
        yield Finished(reply(request))


def reply(request: Request) -> Reply:
    last, usage = request.messages[-1], Usage(usd=0.0)
    if isinstance(last, ToolMessage):
        return Reply(text=last.content, usage=usage)
    try:
        spelled = msgspec.json.decode(last.text if isinstance(last, UserMessage) else "", type=Spelled)
    except msgspec.DecodeError as error:
        return Reply(stop="error", failure=Failure("LLMError", f"direct: the message spells no tool call: {error}"))
    return Reply(tool_calls=(ToolCall("direct", spelled.tool, spelled.arguments),), stop="tools", usage=usage)
