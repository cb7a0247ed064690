"""Recorded streams of Anthropic's Messages, and the reply that each must become."""

from collections.abc import Sequence
from typing import Any

import msgspec

from neuralclaw.types.messages import ModelReply, ReasoningState, StopReason, ToolCall, Usage

USAGE = {"input_tokens": 300, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 600, "output_tokens": 1}
"""1,000 prompt tokens: 600 from the cache, 100 written into it."""

COUNTED = Usage(1000, 600, 20, 0.0)


def event(kind: str, **fields: Any) -> bytes:
    """One event in the service's own framing."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), msgspec.json.encode({"type": kind, **fields}))


def start(usage: dict[str, Any] = USAGE) -> bytes:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m-2026", "content": [], "stop_reason": None, "stop_sequence": None}
    return event("message_start", message={**message, "usage": usage})


def delta(index: int, kind: str, **fields: Any) -> bytes:
    return event("content_block_delta", index=index, delta={"type": kind, **fields})


def text(index: int, *pieces: str) -> list[bytes]:
    begun = event("content_block_start", index=index, content_block={"type": "text", "text": ""})
    return [begun, *(delta(index, "text_delta", text=piece) for piece in pieces), event("content_block_stop", index=index)]


def thinking(index: int, *pieces: str, signature: str = "c2lnbmVk") -> list[bytes]:
    begun = event("content_block_start", index=index, content_block={"type": "thinking", "thinking": "", "signature": ""})
    said = [delta(index, "thinking_delta", thinking=piece) for piece in pieces]
    signed = [delta(index, "signature_delta", signature=signature)] if signature else []
    return [begun, *said, *signed, event("content_block_stop", index=index)]


def redacted(index: int, data: str) -> list[bytes]:
    return [event("content_block_start", index=index, content_block={"type": "redacted_thinking", "data": data}), event("content_block_stop", index=index)]


def call(index: int, call_id: str, name: str, *arguments: str, given: Any = None) -> list[bytes]:
    begun = event("content_block_start", index=index, content_block={"type": "tool_use", "id": call_id, "name": name, "input": given or {}})
    said = [delta(index, "input_json_delta", partial_json=piece) for piece in arguments]
    return [begun, *said, event("content_block_stop", index=index)]


def end(reason: str = "end_turn", usage: dict[str, Any] | None = None, **details: Any) -> list[bytes]:
    counts = {"output_tokens": 20} if usage is None else usage
    return [event("message_delta", delta={"stop_reason": reason, "stop_sequence": None, **details}, usage=counts), event("message_stop")]


PING = event("ping")


class Recorded:
    """A stream: its events, the reply. `standard` ones are what the official SDK understands too."""

    def __init__(self, events: Sequence[bytes], reply: ModelReply, *, standard: bool = True) -> None:
        self.events = list(events)
        self.reply = reply
        self.standard = standard

    @property
    def data(self) -> bytes:
        return b"".join(self.events)


def _reply(
    said: str = "", *calls: ToolCall, stop: StopReason = "end", reasoning: str = "", items: tuple[dict[str, Any], ...] = (), usage: Usage = COUNTED
) -> ModelReply:
    state = ReasoningState("messages", "m", items) if items else None
    return ModelReply(text=said, tool_calls=calls, stop="tools" if calls else stop, model="m-2026", reasoning=reasoning, state=state, usage=usage)


_WEATHER = ToolCall("toolu_a", "weather", {"city": "Köln 🌧", "days": [1, 2]})
_TIME = ToolCall("toolu_b", "time", {"zone": "Europe/Berlin"})
_SIGNED = {"type": "thinking", "thinking": "Hm, easy.", "signature": "c2lnbmVk"}
_HIDDEN = {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"}

STREAMS: dict[str, Recorded] = {
    "text": Recorded([start(), PING, *text(0, "Grüße, ", "🌍 und\r\n", "¶ Ende"), *end()], _reply("Grüße, 🌍 und\r\n¶ Ende")),
    "two texts": Recorded([start(), *text(0, "one "), *text(1, "two"), *end("stop_sequence")], _reply("one two")),
    "thinking, text, two calls": Recorded(
        [
            start(),
            *thinking(0, "Hm, ", "easy."),
            *text(1, "Let me look."),
            *call(2, "toolu_a", "weather", "", '{"ci', 'ty": "Köln 🌧", "days"', ": [1, 2]}"),
            PING,
            *call(3, "toolu_b", "time", '{"zone": "Europe/Berlin"}'),
            *end("tool_use"),
        ],
        _reply("Let me look.", _WEATHER, _TIME, reasoning="Hm, easy.", items=(_SIGNED,)),
    ),
    "interleaved and hidden thinking": Recorded(
        [start(), *redacted(0, "ZW5jcnlwdGVk"), *text(1, "a"), *thinking(2, "Hm, easy."), *text(3, "b"), *end()],
        _reply("ab", reasoning="Hm, easy.", items=(_HIDDEN, _SIGNED)),
    ),
    "thinking whose words are kept back": Recorded(
        [start(), *thinking(0), *text(1, "42"), *end()], _reply("42", items=({"type": "thinking", "thinking": "", "signature": "c2lnbmVk"},))
    ),
    "thinking without a signature": Recorded([start(), *thinking(0, "Hm", signature=""), *text(1, "42"), *end()], _reply("42", reasoning="Hm")),
    "a call without arguments": Recorded([start(), *call(0, "toolu_a", "time"), *end("tool_use")], _reply("", ToolCall("toolu_a", "time", {}))),
    "a call whose arguments come at once": Recorded(
        [start(), *call(0, "toolu_b", "time", given={"zone": "Europe/Berlin"}), *end("tool_use")], _reply("", _TIME)
    ),
    "cut off": Recorded([start(), *text(0, "on and"), *end("max_tokens")], _reply("on and", stop="length")),
    "window full": Recorded([start(), *text(0, "on and"), *end("model_context_window_exceeded")], _reply("on and", stop="length")),
    "counts at the end": Recorded([start({"input_tokens": 1, "output_tokens": 1}), *text(0, "Hi"), *end(usage={**USAGE, "output_tokens": 20})], _reply("Hi")),
    "unknown kinds": Recorded(
        [
            start(),
            event("something_new", value={"deep": [1]}),
            event("content_block_start", index=0, content_block={"type": "server_tool_use", "id": "srv", "name": "web", "input": {}}),
            delta(0, "input_json_delta", partial_json='{"q"'),
            delta(0, "something_delta", value=1),
            event("content_block_stop", index=0),
            *text(1, "Hi"),
            *end(),
        ],
        _reply("Hi"),
        standard=False,
    ),
    "no counts, no names of events": Recorded(
        [
            b'data: {"type":"message_start","message":{"model":"m-2026"}}\n\n',
            b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hel"}}\n\n',
            b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}\n\n',
            b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n',
            b'data: {"type":"message_stop"}\n\n',
        ],
        _reply("Hello", usage=Usage()),
        standard=False,
    ),
}
