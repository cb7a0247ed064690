"""A reply of Chat Completions put together from its chunks, in all the spellings that compatible services use."""

from typing import Any

import msgspec

from ..types.messages import ModelEvent, ModelInfo, ModelReply, ReasoningState, StopReason, ToolCall, Usage
from .chat_completions_request import API
from .reply_assembly import TextRuns, call_of, decode, json_object, json_text, number, priced
from .sse import SSEEvent


class _ChatFunction(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class _ChatCall(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _ChatFunction | None = None
    extra_content: Any = None


class _ChatDelta(msgspec.Struct):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: Any = None
    tool_calls: list[_ChatCall] | None = None
    function_call: _ChatFunction | None = None


class _ChatChoice(msgspec.Struct):
    index: int | None = 0
    delta: _ChatDelta | None = None
    finish_reason: str | None = None


class _ChatChunk(msgspec.Struct):
    choices: list[_ChatChoice] | None = None
    model: str | None = None
    usage: Any = None
    error: Any = None


_decoder = msgspec.json.Decoder(_ChatChunk)

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


class _CallSlot:
    """A tool call that is still arriving."""

    __slots__ = ("arguments", "extra", "id", "name")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.extra: dict[str, Any] | None = None

    def add(self, call_id: str, function: _ChatFunction) -> None:
        self.id = self.id or call_id
        if function.name and function.name != self.name:  # llama_cpp.server repeats the whole name in every delta
            self.name += function.name
        if isinstance(function.arguments, str):
            self.arguments.append(function.arguments)
        elif isinstance(function.arguments, dict):
            self.arguments.append(json_text(function.arguments))

    def unfinished(self, name: str) -> bool:
        """Whether a delta of that name continues with this call although its id or index does not say so."""
        text = "".join(self.arguments).strip()
        return name in ("", self.name) and bool(text) and json_object(text) is None

    def call(self, number: int) -> ToolCall:
        return call_of(self.id or f"call_{number}", self.name, "".join(self.arguments))


class ChatParts:
    """Collects the chunks of one reply.

    `finish` is the service's own finish reason, "" while none has come; `seen`: a choice has come; `done`: `[DONE]` has;
    `error`: the error object that was in the stream.
    """

    __slots__ = ("_asked", "_by_index", "_slots", "done", "error", "finish", "model", "runs", "seen", "usage")

    def __init__(self, asked: str = "") -> None:
        self.runs = TextRuns()
        self._asked = asked
        self._slots: list[_CallSlot] = []
        self._by_index: dict[int, _CallSlot] = {}
        self.model = ""
        self.finish = ""
        self.seen = False
        self.done = False
        self.usage: dict[str, Any] | None = None
        self.error: Any = None

    def add(self, event: SSEEvent) -> None:
        """Take in one chunk, or `[DONE]`. Raises `msgspec.DecodeError` when it is no chunk."""
        if event.data.strip() == b"[DONE]":
            self.done = True
            return
        chunk = decode(_decoder, event.data)
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

    def take(self) -> list[ModelEvent]:
        """The parts since the last time."""
        return self.runs.take()

    def _delta(self, delta: _ChatDelta) -> None:
        reasoning = delta.reasoning_content or delta.reasoning  # proxies send the same under both names
        if isinstance(reasoning, str) and reasoning:
            self.runs.think(reasoning)
        if delta.content:
            self._content(delta.content)
        if isinstance(delta.refusal, str) and delta.refusal:
            self.runs.say(delta.refusal)
        for call in delta.tool_calls or ():
            self._call(call)
        if delta.function_call is not None:
            self._call(_ChatCall(index=0, function=delta.function_call))

    def _content(self, content: Any) -> None:
        """Text, or Mistral's list of typed pieces."""
        if isinstance(content, str):
            self.runs.say(content)
        elif isinstance(content, list):
            for piece in content:
                if not isinstance(piece, dict):
                    continue
                if isinstance(piece.get("text"), str):
                    self.runs.say(piece["text"])
                thoughts = piece.get("thinking")
                for thought in thoughts if isinstance(thoughts, list) else ():
                    if isinstance(thought, dict) and isinstance(thought.get("text"), str):
                        self.runs.think(thought["text"])

    def _call(self, call: _ChatCall) -> None:
        function = call.function or _ChatFunction()
        slot = self._slot(call, function.name or "")
        if slot is None:
            slot = _CallSlot()
            self._slots.append(slot)
            if call.index is not None:
                self._by_index[call.index] = slot
        slot.add(call.id or "", function)
        if isinstance(call.extra_content, dict) and call.extra_content:
            slot.extra = call.extra_content

    def _slot(self, call: _ChatCall, name: str) -> _CallSlot | None:
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
    def withheld(self) -> str:
        return self.finish if self._stop() == "error" else ""

    @property
    def whole(self) -> bool:
        return bool(self.finish) or (self.done and self.seen)

    def _stop(self) -> StopReason:
        """Why the model stopped; calls count as calls even where a service says `stop`."""
        stop = _STOPS.get(self.finish, "end")
        return "tools" if stop == "end" and self._slots else stop

    def reply(self, info: ModelInfo) -> ModelReply:
        calls = tuple(slot.call(number) for number, slot in enumerate(self._slots))
        signed = tuple({"call_id": call.id, "extra_content": slot.extra} for call, slot in zip(calls, self._slots, strict=True) if slot.extra)
        return ModelReply(
            text=self.runs.text,
            tool_calls=calls,
            stop=self._stop(),
            model=self.model,
            reasoning=self.runs.reasoning,
            state=ReasoningState(API, self._asked, signed) if signed else None,
            usage=usage_of(self.usage, info),
        )


def usage_of(wire: dict[str, Any] | None, info: ModelInfo) -> Usage:
    """Tokens and money. Without a usage object from the service both are unknown: zero tokens, no price."""
    if wire is None:
        return Usage()
    prompt, completion = number(wire.get("prompt_tokens")), number(wire.get("completion_tokens"))
    details = wire.get("prompt_tokens_details")
    cached = number(details.get("cached_tokens")) if isinstance(details, dict) else 0
    cached = cached or number(wire.get("prompt_cache_hit_tokens")) or number(wire.get("cached_tokens"))  # DeepSeek; Moonshot
    usage = priced(prompt, cached, completion, info)
    if info.price is None:
        cost = wire.get("cost")  # OpenRouter, in USD
        known = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e9  # NaN, negative or absurd: not known
        return Usage(usage.input, usage.cached, completion, float(cost) if known else None)  # type: ignore[arg-type]
    return usage
