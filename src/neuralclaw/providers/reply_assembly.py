"""What every wire format needs to put a reply together: runs of text, calls from fragments of JSON, tokens into money."""

import json
from typing import Any, TypeVar

import msgspec

from ..types.content import mend
from ..types.messages import (
    AssistantMessage,
    ChatMessage,
    ModelEvent,
    ModelInfo,
    ReasoningPart,
    Request,
    TextPart,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)

T = TypeVar("T")

MAX_NAME = 256
"""Characters of a name, of a model or a tool, that is taken over from a service; no real one is near."""


def with_environment(request: Request) -> tuple[ChatMessage, ...]:
    """The messages with the environment at the end of the last one: what a person said last, or a result, stays the last thing said.

    A message of its own would do as well for the model and for caches, but servers take the last user's message for what was asked.
    """
    *before, last = request.messages or (UserMessage(""),)
    if not request.environment:
        return request.messages
    match last:
        case UserMessage(text):
            last = msgspec.structs.replace(last, text=f"{text}\n\n{request.environment}" if text else request.environment)
        case ToolMessage():
            last = msgspec.structs.replace(last, content=f"{last.content}\n\n{request.environment}")
        case AssistantMessage():
            return (*request.messages, UserMessage(request.environment, "nudge"))
    return (*before, last)


def decode(decoder: "msgspec.json.Decoder[T]", data: bytes) -> T:
    """One event's JSON; the slower parser takes the halves of characters that services written in JavaScript cut in two. Raises `msgspec.DecodeError`."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except RecursionError as error:
        raise msgspec.DecodeError("nested too deeply") from error
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError("it is not UTF-8") from error
    except msgspec.DecodeError:
        if b"\\u" not in data:
            raise
        try:
            return msgspec.convert(json.loads(data), decoder.type)
        except (ValueError, RecursionError) as error:
            raise msgspec.DecodeError(str(error)) from error


def json_text(value: Any) -> str:
    """A JSON value as text. Halves of characters stay escaped, so that nobody takes the text for valid."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(value)


def sound(items: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    """JSON objects as they can be written again: a half of a character becomes the replacement character."""
    try:
        msgspec.json.encode(items)
    except UnicodeEncodeError:
        return tuple(json.loads(mend(json.dumps(items, ensure_ascii=False))))
    return items


class TextRuns:
    """The text and the reasoning of a reply as they arrive; what was not handed out yet waits in runs of one kind."""

    __slots__ = ("_half", "_reasoning", "_text", "_waiting")

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._waiting: list[tuple[list[str], list[str]]] = []  # (the kind, its run of text) that was not handed out
        self._half = ""

    def say(self, text: str) -> None:
        self._part(text, self._text)

    def think(self, text: str) -> None:
        self._part(text, self._reasoning)

    def take(self) -> list[ModelEvent]:
        """The parts since the last time. Neighbours that one read of the network brought are one part."""
        waiting, self._waiting = self._waiting, []
        return [TextPart("".join(run)) if kind is self._text else ReasoningPart("".join(run)) for kind, run in waiting]

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        return "".join(self._reasoning)

    def _part(self, text: str, kind: list[str]) -> None:
        if not text:
            return
        if self._half or "\ud800" <= text[-1] <= "\udfff":
            text = self._whole(text)
        if not text:
            return
        kind.append(text)
        if self._waiting and self._waiting[-1][0] is kind:
            self._waiting[-1][1].append(text)
        else:
            self._waiting.append((kind, [text]))

    def _whole(self, text: str) -> str:
        """The text after the held half of a character, without the half it ends in, which is held for the next."""
        text = self._half + text
        self._half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
        return mend(text[:-1] if self._half else text)


def json_object(text: str) -> dict[str, Any] | None:
    """The JSON object that the text is, else None."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def call_of(call_id: str, name: str, text: str) -> ToolCall:
    """A call from the text of its arguments ("": none). What cannot be read is not echoed: the call has `{}` and an error."""
    call_id, name, text = mend(call_id), _printable(mend(name)), mend(text.strip())
    arguments = json_object(text) if text else {}
    if not name:
        return ToolCall(call_id, "", {}, "the call names no tool")
    if arguments is None:
        return ToolCall(call_id, name, {}, "the arguments are not a JSON object; send the call again with valid JSON")
    return ToolCall(call_id, name, arguments)


def _printable(name: str) -> str:
    """A tool's name as it can be shown and kept: no tool has a name that this changes."""
    return name if len(name) <= MAX_NAME and name.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in name[:MAX_NAME])


def priced(prompt: int, cached: int, completion: int, info: ModelInfo) -> Usage:
    """Tokens with their money, `prompt` counting the cached ones too; `usd` None where the price is not known."""
    cached = min(cached, prompt)
    if info.price is None:
        return Usage(prompt, cached, completion)
    price = info.price.of(prompt)
    kept = price.input if price.cached is None else price.cached
    return Usage(prompt, cached, completion, ((prompt - cached) * price.input + cached * kept + completion * price.output) / 1_000_000)


def number(value: Any) -> int:
    """A count from a service, 0 for what is none."""
    return int(value) if isinstance(value, int | float) and 0 < value < 1e15 else 0
