"""Tools for a model that has no tool calls of its own: told as JSON in the prompt, read out of the reply. A wrapper around any provider."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Literal

import msgspec

from ...ports import Provider
from ...types.messages import Finished, ModelEvent, ModelInfo, ModelReply, Notice, Request, Retrying, TextPart, ToolMessage
from .call_parser import ToolNames
from .reply_reader import AnswerReader, CallReader
from .tool_prompt import answer_schema, tool_text, without_calls

CallStyle = Literal["native", "text", "none"]

TOOL_SHARE = 2
"""Tools may take one part in so many of the model's window; where they need more, the model answers without them."""

WHOLE_SHARE = 8
"""Their whole descriptions may take one part in so many, else each is told with its first sentence: small models lose the task in long texts."""


class PlainTools:
    """Gives tools to every model of `inner`, by the means that the model has.

    Native calls (`ModelInfo.tools` true): the request passes as it is. False, or a service that refuses tools for this model: the
    tools stand in the system prompt and the calls in the text; a model that can be held to a schema (`ModelInfo.schema`) is held
    to "an answer or a call". `none`, or a window too small for the tools: the model answers without them, and a `Notice` says so.
    """

    def __init__(self, inner: Provider) -> None:
        self._inner = inner
        self._refused: set[str] = set()
        self._told: set[tuple[str, str]] = set()

    def info(self, model: str) -> ModelInfo:
        """What the model can by itself."""
        return self._inner.info(model)

    def count(self, request: Request) -> int:
        return self._inner.count(self._prepared(request)[0])

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return aclosing(self._events(request))

    async def _events(self, request: Request) -> AsyncGenerator[ModelEvent]:
        prepared, how = self._prepared(request)
        if how == "native":
            async with aclosing(self._native(request)) as events:
                async for event in events:
                    yield event
            return
        if how == "none" and request.tools and (notice := self._once(request.model, "none")):
            yield Notice(notice)
        async with aclosing(self._read(request, prepared)) as events:
            async for event in events:
                yield event

    async def _native(self, request: Request) -> AsyncGenerator[ModelEvent]:
        """The reply as it comes; a service that knows no tools for this model is asked again with the tools in the prompt."""
        shown = False
        async with self._inner.stream(request) as events:
            async for event in events:
                if isinstance(event, Finished) and request.tools and event.reply.failure is not None and event.reply.failure.lacks == "tools":
                    failed = event.reply
                    break
                shown = shown or not isinstance(event, Notice | Retrying)
                yield event
            else:
                return
        self._refused.add(request.model)
        if notice := self._once(request.model, "text"):
            yield Notice(notice)
        if shown:
            yield Retrying(1, 0, failed.failure.text if failed.failure else "", request.model, True)
        async with aclosing(self._events(request)) as again:
            async for event in again:
                yield Finished(_with_usage(event.reply, failed)) if isinstance(event, Finished) else event

    async def _read(self, request: Request, prepared: Request) -> AsyncGenerator[ModelEvent]:
        """The reply to the request without tool calls; the calls in its text become calls."""
        names = ToolNames([tool.name for tool in request.tools] if prepared.system != request.system else ())
        held = prepared.answer_schema is not None and bool(names.all)

        def reader() -> AnswerReader | CallReader:
            return AnswerReader(names) if held else CallReader(names)

        reading, shown = reader(), ""
        async with self._inner.stream(prepared) as events:
            async for event in events:
                match event:
                    case TextPart(text) if names.all:
                        if part := reading.feed(text):
                            shown += part
                            yield TextPart(part)
                    case Retrying(discard=True):
                        reading, shown = reader(), ""
                        yield event
                    case Finished(reply) if names.all:
                        if reply.failure is None and (part := reading.close(whole=reply.stop != "length")):
                            shown += part
                            yield TextPart(part)
                        yield Finished(_with_calls(reply, shown, reading))
                    case _:
                        yield event

    def _prepared(self, request: Request) -> tuple[Request, CallStyle]:
        """What the inner provider is asked, and how the model gets its tools."""
        info = self._inner.info(request.model)
        refused = request.model in self._refused
        if info.tools is True and not refused:
            return request, "native"
        calls = any(isinstance(message, ToolMessage) for message in request.messages)
        if not request.tools and not calls and info.tools is not False:
            return request, "native"
        text = "" if info.tools == "none" or not request.tools else self._tool_text(request, info)
        plain = without_calls(request, held=bool(text) and info.schema)
        if not text:
            return plain, "none"
        schema = answer_schema(request.tools, request.answer_schema) if info.schema else request.answer_schema
        return msgspec.structs.replace(plain, system=f"{request.system}\n\n{text}".lstrip(), answer_schema=schema), "text"

    def _tool_text(self, request: Request, info: ModelInfo) -> str:
        """The tools as text, shorter where the window is small, "" where even that is too much (four letters are about a token)."""
        for short, share in ((False, WHOLE_SHARE), (True, TOOL_SHARE)):
            text = tool_text(request.tools, held=info.schema, short=short)
            if len(text) // 4 <= info.context // share:
                return text
        return ""

    def _once(self, model: str, what: str) -> str:
        """The sentence for the person, the first time."""
        if (model, what) in self._told:
            return ""
        self._told.add((model, what))
        if what == "text":
            return f"{model} takes no tool calls: the tools are described in the prompt from now on"
        if self._inner.info(model).tools == "none":
            return f"{model} cannot use tools: it answers without them"
        return f"the window of {model} is too small for the tools: it answers without them"


def _with_calls(reply: ModelReply, shown: str, reading: AnswerReader | CallReader) -> ModelReply:
    """The reply with its calls beside its text."""
    calls = reading.calls if reply.failure is None else ()
    stop = "tools" if calls and reply.stop == "end" else reply.stop
    return msgspec.structs.replace(reply, text=shown, tool_calls=calls, stop=stop)


def _with_usage(reply: ModelReply, before: ModelReply) -> ModelReply:
    """The reply with the tokens of the attempt before; one that was refused before a token cost nothing."""
    used = before.usage
    return msgspec.structs.replace(reply, usage=used + reply.usage) if used.input or used.output else reply
