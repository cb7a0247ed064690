"""A reply of Chat Completions put together from its chunks, in all the spellings that compatible services use."""

import json
from typing import Any

import msgspec

from ..types.messages import ModelEvent, ModelInfo, ReasoningPart, StopReason, TextPart, ToolCall, Usage


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: Any = None
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None


class _Choice(msgspec.Struct):
    index: int | None = 0
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    model: str | None = None
    usage: Any = None
    error: Any = None


_decoder = msgspec.json.Decoder(_Chunk)


def _decode(data: bytes) -> _Chunk:
    """A chunk; the slower parser takes the halves of characters that services written in JavaScript cut in two."""
    try:
        return _decoder.decode(data)
    except msgspec.ValidationError:
        raise
    except RecursionError as error:
        raise msgspec.DecodeError("nested too deeply") from error
    except msgspec.DecodeError:
        if b"\\u" not in data:
            raise
        try:
            return msgspec.convert(json.loads(data), _Chunk)
        except ValueError as error:
            raise msgspec.DecodeError(str(error)) from error


def _mend(text: str) -> str:
    """The text with halves of characters joined; a half alone becomes the replacement character."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


_STOPS: dict[str, StopReason] = {
    "stop": "end",
    "eos": "end",
    "tool_calls": "tools",
    "function_call": "tools",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "error",
    "error": "error",
    "abort": "error",
    "insufficient_system_resource": "error",
}


class _Slot:
    """A tool call that is still arriving."""

    __slots__ = ("arguments", "id", "name")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []

    def add(self, call_id: str, function: _Function) -> None:
        self.id = self.id or call_id
        if function.name and function.name != self.name:  # llama_cpp.server repeats the whole name in every delta
            self.name += function.name
        if isinstance(function.arguments, str):
            self.arguments.append(function.arguments)
        elif isinstance(function.arguments, dict):
            self.arguments.append(msgspec.json.encode(function.arguments).decode())

    def unfinished(self, name: str) -> bool:
        """Whether a delta of that name goes on with this call although its id or index does not say so."""
        text = "".join(self.arguments).strip()
        return name in ("", self.name) and bool(text) and _object(text) is None

    def call(self, number: int) -> ToolCall:
        call_id = self.id or f"call_{number}"
        text = _mend("".join(self.arguments).strip())
        arguments = _object(text) if text else {}
        if not self.name:
            return ToolCall(call_id, "", {}, "the call names no tool")
        if arguments is None:
            return ToolCall(call_id, self.name, {}, "the arguments are not a JSON object; send the call again with valid JSON")
        return ToolCall(call_id, self.name, arguments)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class ReplyParts:
    """Collects the chunks of one reply.

    `finish` is the service's own finish reason, "" while none has come; `seen`: a choice has come; `done`: `[DONE]` has;
    `error`: the error object that stood in the stream.
    """

    __slots__ = ("_by_index", "_half", "_reasoning", "_slots", "_text", "_waiting", "done", "error", "finish", "model", "seen", "usage")

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._waiting: list[tuple[list[str], list[str]]] = []  # (the kind, its run of text) that was not handed out
        self._half = ""
        self._slots: list[_Slot] = []
        self._by_index: dict[int, _Slot] = {}
        self.model = ""
        self.finish = ""
        self.seen = False
        self.done = False
        self.usage: dict[str, Any] | None = None
        self.error: Any = None

    def add(self, data: bytes) -> None:
        """Take in one chunk. Raises `msgspec.DecodeError` when it is no chunk."""
        chunk = _decode(data)
        if chunk.error:
            self.error = chunk.error
            return
        if chunk.model:
            self.model = chunk.model
        if isinstance(chunk.usage, dict) and chunk.usage:
            self.usage = chunk.usage
        for choice in chunk.choices or ():
            if choice.index:  # only one answer was asked for
                continue
            self.seen = True
            if choice.finish_reason:
                self.finish = choice.finish_reason
            if choice.delta is not None:
                self._delta(choice.delta)

    def _delta(self, delta: _Delta) -> None:
        reasoning = delta.reasoning_content or delta.reasoning  # proxies send the same under both names
        if isinstance(reasoning, str) and reasoning:
            self._part(reasoning, self._reasoning)
        if delta.content:
            self._content(delta.content)
        if isinstance(delta.refusal, str) and delta.refusal:
            self._part(delta.refusal, self._text)
        for call in delta.tool_calls or ():
            self._call(call)
        if delta.function_call is not None:
            self._call(_Call(index=0, function=delta.function_call))

    def _content(self, content: Any) -> None:
        """Text, or Mistral's list of typed pieces."""
        if isinstance(content, str):
            self._part(content, self._text)
        elif isinstance(content, list):
            for piece in content:
                if not isinstance(piece, dict):
                    continue
                if isinstance(piece.get("text"), str):
                    self._part(piece["text"], self._text)
                for thought in piece.get("thinking") or ():
                    if isinstance(thought, dict) and isinstance(thought.get("text"), str):
                        self._part(thought["text"], self._reasoning)

    def _part(self, text: str, kind: list[str]) -> None:
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
        return _mend(text[:-1] if self._half else text)

    def take(self) -> list[ModelEvent]:
        """The parts since the last time. Neighbours that one read of the network brought are one part."""
        waiting, self._waiting = self._waiting, []
        return [TextPart("".join(run)) if kind is self._text else ReasoningPart("".join(run)) for kind, run in waiting]

    def _call(self, call: _Call) -> None:
        function = call.function or _Function()
        slot = self._slot(call, function.name or "")
        if slot is None:
            slot = _Slot()
            self._slots.append(slot)
            if call.index is not None:
                self._by_index[call.index] = slot
        slot.add(call.id or "", function)

    def _slot(self, call: _Call, name: str) -> _Slot | None:
        """The call that a delta belongs to, None for a new one.

        By index, as the format says. Without one by id, else the last call while it lacks something. A new id under a used
        index is a new call (Google numbers every call 0), unless the call there is still half-way (some servers make up an id
        for every delta).
        """
        if call.index is not None:
            slot = self._by_index.get(call.index)
            if slot is None or not call.id or slot.id in ("", call.id):
                return slot
            return slot if slot.unfinished(name) else None
        if call.id:
            return next((slot for slot in self._slots if slot.id == call.id), None)
        if not self._slots:
            return None
        last = self._slots[-1]
        return last if not name or last.unfinished(name) else None

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        return "".join(self._reasoning)

    def calls(self) -> tuple[ToolCall, ...]:
        """The assembled calls, in the order in which they began."""
        return tuple(slot.call(number) for number, slot in enumerate(self._slots))

    def stop(self) -> StopReason:
        """Why the model stopped; calls count as calls even where a service says `stop`."""
        stop = _STOPS.get(self.finish, "end")
        return "tools" if stop == "end" and self._slots else stop


def usage_of(wire: dict[str, Any] | None, info: ModelInfo) -> Usage:
    """Tokens and money. Without a usage object from the service both are unknown: zero tokens, no price."""
    if wire is None:
        return Usage()
    given, made = _number(wire.get("prompt_tokens")), _number(wire.get("completion_tokens"))
    details = wire.get("prompt_tokens_details")
    cached = _number(details.get("cached_tokens")) if isinstance(details, dict) else 0
    cached = cached or _number(wire.get("prompt_cache_hit_tokens")) or _number(wire.get("cached_tokens"))  # DeepSeek; Moonshot
    cached = min(cached, given)
    if info.price is None:
        cost = wire.get("cost")  # OpenRouter, in USD
        return Usage(given, cached, made, float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None)
    kept = info.price.input if info.price.cached is None else info.price.cached
    return Usage(given, cached, made, ((given - cached) * info.price.input + cached * kept + made * info.price.output) / 1_000_000)


def _number(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and 0 < value < 1e15 else 0
