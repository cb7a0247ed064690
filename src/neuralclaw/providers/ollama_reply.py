"""A reply of Ollama put together from its lines."""

from typing import Any

import msgspec

from ..types.messages import ModelEvent, ModelInfo, ModelReply, StopReason, ToolCall, Usage
from .reply_assembly import TextRuns, call_of, decode, json_text, number, priced
from .sse import SSEEvent


class _OllamaFunction(msgspec.Struct):
    name: str | None = None
    arguments: Any = msgspec.UNSET


class _OllamaCall(msgspec.Struct):
    id: str | None = None
    function: _OllamaFunction | None = None


class _OllamaMessage(msgspec.Struct):
    content: str | None = None
    thinking: str | None = None
    reasoning_content: str | None = None  # servers that copy Ollama
    tool_calls: list[_OllamaCall] | None = None


class _OllamaLine(msgspec.Struct):
    model: str | None = None
    message: _OllamaMessage | None = None
    done: bool = False
    done_reason: str | None = None
    prompt_eval_count: Any = None
    eval_count: Any = None
    error: Any = None


_decoder = msgspec.json.Decoder(_OllamaLine)

_STOPS: dict[str, StopReason] = {"stop": "end", "length": "length", "load": "error", "unload": "error"}
"""`load` and `unload`: the model was only fetched into memory, or let go."""


class OllamaParts:
    """Collects the lines of one reply; `done`: the last one has come."""

    __slots__ = ("_calls", "_counts", "_finish", "_runs", "done", "error", "model", "seen")

    def __init__(self) -> None:
        self._runs = TextRuns()
        self._calls: list[ToolCall] = []
        self._finish = ""
        self._counts = (0, 0)  # of the prompt and of the answer
        self.model = ""
        self.seen = False
        self.done = False
        self.error: Any = None

    def add(self, event: SSEEvent) -> None:
        """Take in one line. Raises `msgspec.DecodeError` when it is none of the format."""
        line = decode(_decoder, event.data)
        if line.error:
            self.error = line.error
            return
        if line.message is None and not line.done:
            raise msgspec.DecodeError("a line without a message")
        self.seen = True
        self.model = line.model or self.model
        if line.message is not None:
            self._message(line.message)
        if line.done:
            self.done = True
            self._finish = line.done_reason or ""
            self._counts = number(line.prompt_eval_count), number(line.eval_count)

    def take(self) -> list[ModelEvent]:
        """The parts since the last time."""
        return self._runs.take()

    def _message(self, message: _OllamaMessage) -> None:
        self._runs.think(message.thinking or message.reasoning_content or "")
        self._runs.say(message.content or "")
        for call in message.tool_calls or ():
            function = call.function or _OllamaFunction()
            call_id = call.id or f"call_{len(self._calls)}"
            self._calls.append(call_of(call_id, function.name or "", _text(function.arguments)))

    @property
    def withheld(self) -> str:
        return self._finish if self._stop() == "error" else ""

    @property
    def whole(self) -> bool:
        return self.done

    def _stop(self) -> StopReason:
        """Why the model stopped; Ollama says `stop` where it made calls."""
        stop = _STOPS.get(self._finish, "end")
        return "tools" if stop == "end" and self._calls else stop

    def reply(self, info: ModelInfo) -> ModelReply:
        return ModelReply(
            text=self._runs.text,
            tool_calls=tuple(self._calls),
            stop=self._stop(),
            model=self.model,
            reasoning=self._runs.reasoning,
            usage=priced(self._counts[0], 0, self._counts[1], info) if any(self._counts) else Usage(),
        )


def _text(arguments: Any) -> str:
    """Arguments as text: they are an object; older models write it as a string."""
    if arguments is msgspec.UNSET:
        return ""
    return arguments if isinstance(arguments, str) else json_text(arguments)
