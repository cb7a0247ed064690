"""Tools for a model that has no tool calls of its own: told as JSON in the prompt, read out of the reply. A wrapper around any provider.

The model reads its earlier calls and their results as text, too.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, Literal

import msgspec

from ...ports import Provider
from ...types.messages import (
    AssistantMessage,
    ChatMessage,
    Finished,
    ModelEvent,
    ModelInfo,
    ModelReply,
    Notice,
    Request,
    Retrying,
    TextPart,
    ToolCall,
    ToolDef,
    ToolMessage,
    UserMessage,
)
from .call_parser import ToolNames
from .reply_reader import AnswerReader, CallReader

CallStyle = Literal["native", "text", "none"]

TOOL_SHARE = 2
"""Tools may take one part in so many of the model's window; where they need more, the model answers without them."""

WHOLE_SHARE = 8
"""Their whole descriptions may take one part in so many, else each is told with its first sentence: small models lose the task in long texts."""

PLAIN = """\
# Tools

To use a tool, reply with this JSON object and nothing else:
{"tool": "NAME", "arguments": {"ARGUMENT": VALUE}}
For several tools at once, reply with a JSON list of such objects. You are told the results; then use another tool or answer.
When no tool is needed, or you know the answer, reply in plain text without JSON.
"""
HELD = """\
# Tools

Reply with one JSON object, always. To use a tool:
{"tool": "NAME", "arguments": {"ARGUMENT": VALUE}}
You are told the result. When no tool is needed, or you know the answer:
{"answer": "..."}
"""
EXAMPLE = 'When the person says `read notes.txt`, you reply {"tool": "read_file", "arguments": {"path": "notes.txt"}}.\n'
"""One example of a whole reply, where there is the tool: without it small models write the tool's name for its arguments."""
LISTED = "\nTools (`?` may be left out):\n"
THEN = 'Now reply with {"answer": …} that says it, or use a different tool.'
"""Without these words small models that are held to a schema make the same call again and again."""
MOST_ENUM = 12
LARGEST = 999_999_999
_sorted = msgspec.json.Encoder(order="sorted")


class PlainTools:
    """Gives tools to every model of `inner`, by the means that the model has.

    Native calls (`ModelInfo.tools` true): the request passes as it is. False, or a service that refuses tools for this model: the
    tools are in the system prompt and the calls in the text; a model that can be held to a schema (`ModelInfo.schema`) is held
    to "an answer or a call". `none`, or a window too small for the tools: the model answers without them, and a `Notice` says so.
    """

    def __init__(self, inner: Provider) -> None:
        self._inner = inner
        self._refused: set[str] = set()
        self._noticed: set[tuple[str, str]] = set()

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
        if (model, what) in self._noticed:
            return ""
        self._noticed.add((model, what))
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


def tool_text(tools: Sequence[ToolDef], *, held: bool, short: bool = False) -> str:
    """What is behind the system prompt; `short`: only the first sentence of each description."""
    example = EXAMPLE if any(tool.name == "read_file" for tool in tools) else ""
    lines = [f"- {tool.name}({_arguments(tool.parameters)}): {_description(tool.description, short)}" for tool in tools]
    return (HELD if held else PLAIN) + example + LISTED + "\n".join(lines)


def answer_schema(tools: Sequence[ToolDef], answer: dict[str, Any] | None) -> dict[str, Any]:
    """An answer, or a call of one of the tools. `answer`: the schema of the answer, None for text."""
    said = {"answer": answer if answer is not None else {"type": "string"}}
    each = [{"tool": {"const": tool.name}, "arguments": _alone(tool.parameters)} for tool in tools]
    return {"anyOf": [_object(fields) for fields in (said, *each)]}


def without_calls(request: Request, *, held: bool) -> Request:
    """The request with its history as text: one message of the user, one of the assistant in turn, the environment in the last."""
    history: list[ChatMessage] = []
    for message in request.messages:
        _add(history, _as_text(message, held))
    if request.environment:
        _add(history, UserMessage(request.environment, "nudge"))
    return msgspec.structs.replace(request, messages=tuple(history), tools=(), environment="")


def _alone(parameters: dict[str, Any]) -> dict[str, Any]:
    """The schema where it can be inside another: references would point elsewhere there, so any object will do."""
    return _with_ends(parameters) if parameters and b'"$ref"' not in _sorted.encode(parameters) else {"type": "object"}


def _with_ends(schema: Any) -> Any:
    """The schema with a largest value for every whole number: a small model that is held to a schema writes zeros without end where it may."""
    if isinstance(schema, list):
        return [_with_ends(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: part if name in ("default", "enum", "const") else _with_ends(part) for name, part in schema.items()}
    return made if schema.get("type") != "integer" else {"maximum": LARGEST, **made}


def _object(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _as_text(message: ChatMessage, held: bool) -> UserMessage | AssistantMessage:
    match message:
        case ToolMessage():
            if held:
                return UserMessage(f"{message.name} gave this result:\n{message.content}\n\n{THEN}", "nudge", message.images)
            return UserMessage(f"Result of {message.name}:\n{message.content}", "nudge", message.images)
        case AssistantMessage():
            text = message.text if not held or message.tool_calls or not message.text else _sorted.encode({"answer": message.text}).decode()
            return AssistantMessage("\n".join(part for part in (text, _calls(message.tool_calls)) if part))
        case UserMessage():
            return message


def _calls(calls: Sequence[ToolCall]) -> str:
    each = [f'{{"tool": {_sorted.encode(call.name).decode()}, "arguments": {_sorted.encode(call.arguments).decode()}}}' for call in calls]
    return each[0] if len(each) == 1 else f"[{', '.join(each)}]" if each else ""


def _add(history: list[ChatMessage], message: UserMessage | AssistantMessage) -> None:
    """Put the message behind the others, as one with its neighbour of the same role."""
    last = history[-1] if history else None
    if isinstance(last, UserMessage) and isinstance(message, UserMessage):
        kind = "task" if "task" in (last.kind, message.kind) else message.kind
        history[-1] = UserMessage(f"{last.text}\n\n{message.text}", kind, last.images + message.images)
    elif isinstance(last, AssistantMessage) and isinstance(message, AssistantMessage):
        history[-1] = AssistantMessage(f"{last.text}\n{message.text}")
    else:
        history.append(message)


def _arguments(schema: dict[str, Any]) -> str:
    required = schema.get("required") or ()
    return ", ".join(f"{name}{'' if name in required else '?'}: {_kind(part)}" for name, part in (schema.get("properties") or {}).items())


def _kind(schema: Any, depth: int = 0) -> str:
    """A type in a few letters: `string`, `"a" | "b"`, `[string]`, `{x: number}`."""
    if not isinstance(schema, dict) or depth > 3:
        return "any"
    if "const" in schema:
        return _sorted.encode(schema["const"]).decode()
    if schema.get("enum") and len(schema["enum"]) <= MOST_ENUM:
        return " | ".join(_sorted.encode(value).decode() for value in schema["enum"])
    either = schema.get("anyOf") or schema.get("oneOf")
    if either:
        return " | ".join(dict.fromkeys(_kind(part, depth + 1) for part in either))
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " | ".join(str(name) for name in kind)
    if kind == "array":
        return f"[{_kind(schema.get('items'), depth + 1)}]"
    if kind == "object" and schema.get("properties"):
        return "{" + ", ".join(f"{name}: {_kind(part, depth + 1)}" for name, part in schema["properties"].items()) + "}"
    return str(kind)


def _description(text: str, short: bool) -> str:
    """In one line. Examples are left out: they show the arguments alone, in another form than a call has here, and small models copy them."""
    line = " ".join(" ".join(part for part in text.splitlines() if not part.lstrip().startswith("Example:")).split())
    return line.partition(". ")[0] if short else line
