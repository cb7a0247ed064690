"""A reply of Anthropic's Messages put together from its events."""

from typing import Any

import msgspec

from ..types.content import mend
from ..types.messages import ModelEvent, ModelInfo, ModelReply, ReasoningState, StopReason, ToolCall, Usage
from .anthropic_messages_request import API
from .reply_assembly import TextRuns, call_of, decode, json_text, number, priced
from .sse import SSEEvent


class _MessagesBlock(msgspec.Struct):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str = ""
    id: str = ""
    name: str = ""
    input: Any = None


class _MessagesDelta(msgspec.Struct):
    """Of a block or of the message."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None
    stop_details: Any = None


class _MessagesMessage(msgspec.Struct):
    model: str = ""
    usage: Any = None


class _MessagesEvent(msgspec.Struct):
    type: str = ""
    message: _MessagesMessage | None = None
    index: int = 0
    content_block: _MessagesBlock | None = None
    delta: _MessagesDelta | None = None
    usage: Any = None
    error: Any = None


_decoder = msgspec.json.Decoder(_MessagesEvent)

_STOPS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "error",  # the service paused tools of its own, of which we offer none: the answer is not whole
    "refusal": "error",
}


class _OpenBlock:
    """A block that is still arriving."""

    __slots__ = ("block", "json", "thinking")

    def __init__(self, block: _MessagesBlock) -> None:
        self.block = block
        self.json: list[str] = []
        self.thinking = [block.thinking or ""]

    def call(self) -> ToolCall:
        """Arguments come in fragments; where none came, the block began with all of them."""
        text = "".join(self.json) or ("" if self.block.input is None else json_text(self.block.input))
        return call_of(self.block.id, self.block.name, text)

    def item(self) -> dict[str, Any] | None:
        """Thinking as it must go back; without its signature the service would refuse it."""
        if self.block.type == "redacted_thinking" and self.block.data:
            return {"type": "redacted_thinking", "data": self.block.data}
        if self.block.type == "thinking" and self.block.signature:
            return {"type": "thinking", "thinking": mend("".join(self.thinking)), "signature": self.block.signature}
        return None


class MessagesParts:
    """Collects the events of one reply of the model asked for as `model`; `done`: `message_stop` has come."""

    __slots__ = ("_asked", "_at", "_blocks", "_counts", "_details", "_finish", "_runs", "done", "error", "model", "seen")

    def __init__(self, model: str) -> None:
        self._asked = model
        self._runs = TextRuns()
        self._blocks: list[_OpenBlock] = []
        self._at: dict[int, _OpenBlock] = {}
        self._counts: dict[str, Any] = {}
        self._finish = ""
        self._details: Any = None
        self.model = ""
        self.seen = False
        self.done = False
        self.error: Any = None

    def add(self, event: SSEEvent) -> None:
        """Take in one event; kinds that are not known are passed over, as the format asks. Raises `msgspec.DecodeError`."""
        found = decode(_decoder, event.data)
        match found.type or event.name:
            case "message_start":
                self.seen = True
                if found.message is not None:
                    self.model = found.message.model
                    self._count(found.message.usage)
            case "content_block_start" if found.content_block is not None:
                self.seen = True
                self._begin(found.index, found.content_block)
            case "content_block_delta" if found.delta is not None:
                self._go_on(self._at.get(found.index), found.delta)
            case "message_delta":
                self._count(found.usage)
                if found.delta is not None and found.delta.stop_reason:
                    self._finish, self._details = found.delta.stop_reason, found.delta.stop_details
            case "message_stop":
                self.done = True
            case "error":
                self.error = found.error or msgspec.json.decode(event.data) or "an error without words"
            case _:
                pass

    def take(self) -> list[ModelEvent]:
        """The parts since the last time."""
        return self._runs.take()

    def _begin(self, index: int, block: _MessagesBlock) -> None:
        started = _OpenBlock(block)
        self._blocks.append(started)
        self._at[index] = started
        if block.type == "text":
            self._runs.say(block.text or "")
        elif block.type == "thinking":
            self._runs.think(block.thinking or "")

    def _go_on(self, started: _OpenBlock | None, delta: _MessagesDelta) -> None:
        if started is None:
            raise msgspec.DecodeError("a piece of a block that never began")
        match delta.type:
            case "text_delta":
                self._runs.say(delta.text or "")
            case "thinking_delta":
                started.thinking.append(delta.thinking or "")
                self._runs.think(delta.thinking or "")
            case "signature_delta":
                started.block.signature = delta.signature
            case "input_json_delta":
                started.json.append(delta.partial_json or "")
            case _:
                pass

    def _count(self, usage: Any) -> None:
        """Counts are totals so far: later ones replace earlier ones, and what is not named keeps its value."""
        if isinstance(usage, dict):
            self._counts |= {name: value for name, value in usage.items() if value is not None}

    @property
    def withheld(self) -> str:
        """`refusal`, with the service's category and words behind colons where it gives them."""
        if self._stop() != "error":
            return ""
        details = self._details if isinstance(self._details, dict) else {}
        return ": ".join([self._finish, *(str(details[name]) for name in ("category", "explanation") if details.get(name))])

    @property
    def whole(self) -> bool:
        return self.done and self.seen

    def _stop(self) -> StopReason:
        """Why the model stopped; calls count as calls even where a service says `end_turn`."""
        stop = _STOPS.get(self._finish, "end")
        return "tools" if stop == "end" and any(started.block.type == "tool_use" for started in self._blocks) else stop

    def reply(self, info: ModelInfo) -> ModelReply:
        items = tuple(item for started in self._blocks if (item := started.item()) is not None)
        return ModelReply(
            text=self._runs.text,
            tool_calls=tuple(started.call() for started in self._blocks if started.block.type == "tool_use"),
            stop=self._stop(),
            model=self.model,
            reasoning=self._runs.reasoning,
            state=ReasoningState(API, self._asked, items) if items else None,
            usage=usage_of(self._counts, info),
        )


_CACHE_WRITE = 0.25
"""What writing into the cache costs above the price of a token that is only read: 1.25 times it, for the five minutes that we ask for."""


def usage_of(counts: dict[str, Any], info: ModelInfo) -> Usage:
    """Tokens and money. The service counts read, written and other prompt tokens apart; without counts, or with nothing but zeros, both are unknown."""
    kept, written = number(counts.get("cache_read_input_tokens")), number(counts.get("cache_creation_input_tokens"))
    usage = priced(number(counts.get("input_tokens")) + kept + written, kept, number(counts.get("output_tokens")), info)
    if not usage.input and not usage.output:
        return Usage()
    if info.price is None or usage.usd is None:
        return usage
    return msgspec.structs.replace(usage, usd=usage.usd + written * _CACHE_WRITE * info.price.of(usage.input).input / 1_000_000)
