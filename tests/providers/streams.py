"""Recorded streams in the spellings of real services, and the reply that each must become."""

from collections.abc import Sequence
from typing import Any

import msgspec

from neuralclaw.types.messages import ModelReply, ToolCall, Usage


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """One `chat.completion.chunk`."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m-2026", "choices": choices, **more}


def call(index: int | None, arguments: str | None = None, *, id: str | None = None, name: str | None = None) -> dict[str, Any]:
    """A fragment of a tool call, fields left out where they are None."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    fields = (("index", index), ("id", id), ("type", "function" if id else None), ("function", function))
    return {"tool_calls": [{key: value for key, value in fields if value is not None}]}


USAGE = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020, "prompt_tokens_details": {"cached_tokens": 600}}
COUNTED = Usage(1000, 600, 20, 0.0)


class Recorded:
    """A stream: its chunks, the reply. `standard` ones are what the official SDK understands too."""

    def __init__(self, chunks: Sequence[dict[str, Any]], reply: ModelReply, *, standard: bool = True, done: bool = True) -> None:
        self.chunks = list(chunks)
        self.reply = reply
        self.standard = standard
        self.events = [b"data: " + msgspec.json.encode(value) + b"\n\n" for value in chunks]
        if done:
            self.events.append(b"data: [DONE]\n\n")

    @property
    def data(self) -> bytes:
        return b"".join(self.events)


def _reply(text: str = "", *calls: ToolCall, stop: Any = None, reasoning: str = "", usage: Usage = COUNTED) -> ModelReply:
    return ModelReply(text=text, tool_calls=calls, stop=stop or ("tools" if calls else "end"), model="m-2026", reasoning=reasoning, usage=usage)


_WEATHER = ToolCall("call_a", "weather", {"city": "Köln 🌧", "days": [1, 2]})
_TIME = ToolCall("call_b", "time", {"zone": "Europe/Berlin"})
_END = chunk(None, usage=USAGE)

STREAMS: dict[str, Recorded] = {
    "text": Recorded(
        [*(chunk({"role": "assistant", "content": text}) for text in ("", "Grüße, ", "🌍 und\r\n", "¶ Ende")), chunk({}, "stop"), _END],
        _reply("Grüße, 🌍 und\r\n¶ Ende"),
    ),
    "one call": Recorded(
        [
            chunk({"role": "assistant", "content": None, **call(0, "", id="call_a", name="weather")}),
            chunk(call(0, '{"ci')),
            chunk(call(0, 'ty":"Köln ')),
            chunk(call(0, '🌧","days":[1,')),
            chunk(call(0, "2]}")),
            chunk({}, "tool_calls"),
            _END,
        ],
        _reply("", _WEATHER),
    ),
    "two calls interleaved after text": Recorded(
        [
            chunk({"role": "assistant", "content": "Let me look."}),
            chunk(call(0, "", id="call_a", name="weather")),
            chunk(call(1, "", id="call_b", name="time")),
            chunk(call(1, '{"zone":"Eu')),
            chunk(call(0, '{"city":"Köln 🌧",')),
            chunk(call(1, 'rope/Berlin"}')),
            chunk(call(0, '"days":[1,2]}')),
            chunk({}, "tool_calls"),
            _END,
        ],
        _reply("Let me look.", _WEATHER, _TIME),
    ),
    "reasoning_content": Recorded(
        [chunk({"reasoning_content": "Hm, "}), chunk({"reasoning_content": "easy."}), chunk({"content": "42"}), chunk({}, "stop"), _END],
        _reply("42", reasoning="Hm, easy."),
    ),
    "reasoning under two names": Recorded(
        [chunk({"reasoning": "Hm.", "reasoning_content": "Hm."}), chunk({"content": "42"}), chunk({}, "stop"), _END],
        _reply("42", reasoning="Hm."),
    ),
    "reasoning as typed pieces": Recorded(
        [
            chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]}),
            chunk({"content": [{"type": "text", "text": "42"}]}),
            chunk({}, "stop"),
            _END,
        ],
        _reply("42", reasoning="Hm."),
        standard=False,
    ),
    "length": Recorded([chunk({"content": "and so"}), chunk({}, "length"), _END], _reply("and so", stop="length")),
    "an empty answer": Recorded([chunk({"role": "assistant", "content": ""}), chunk({}, "stop"), _END], _reply("")),
    "stop although there is a call": Recorded(
        [chunk(call(0, '{"zone":"Europe/Berlin"}', id="call_b", name="time")), chunk({}, "stop"), _END], _reply("", _TIME)
    ),
    "the name in every delta": Recorded(
        [
            chunk(call(0, "", id="call_b", name="time")),
            chunk(call(0, '{"zone":', id="call_b", name="time")),
            chunk(call(0, '"Europe/Berlin"}', id="call_b", name="time")),
            chunk({}, "tool_calls"),
            _END,
        ],
        _reply("", _TIME),
        standard=False,
    ),
    "whole calls without index": Recorded(
        [
            chunk(call(None, '{"city":"Köln 🌧","days":[1,2]}', id="call_a", name="weather")),
            chunk(call(None, '{"zone":"Europe/Berlin"}', id="call_b", name="time")),
            chunk({}, "tool_calls"),
            _END,
        ],
        _reply("", _WEATHER, _TIME),
        standard=False,
    ),
    "whole calls all numbered 0": Recorded(
        [
            chunk(call(0, '{"city":"Köln 🌧","days":[1,2]}', id="call_a", name="weather")),
            chunk(call(0, '{"zone":"Europe/Berlin"}', id="call_b", name="time")),
            chunk({}, "stop"),
            _END,
        ],
        _reply("", _WEATHER, _TIME),
        standard=False,
    ),
    "calls without ids": Recorded(
        [
            chunk(call(None, '{"zone":"Europe/Berlin"}', name="time")),
            chunk(call(None, '{"zone":"UTC"}', name="time")),
            chunk({}, "tool_calls"),
            _END,
        ],
        _reply("", ToolCall("call_0", "time", {"zone": "Europe/Berlin"}), ToolCall("call_1", "time", {"zone": "UTC"})),
        standard=False,
    ),
    "another id in every delta": Recorded(
        [
            chunk(call(0, '{"zone":', id="x1", name="time")),
            chunk(call(0, '"Europe/', id="x2", name="time")),
            chunk(call(0, 'Berlin"}', id="x3", name="time")),
            chunk({}, "tool_calls"),
            _END,
        ],
        _reply("", ToolCall("x1", "time", {"zone": "Europe/Berlin"})),
        standard=False,
    ),
    "arguments as an object": Recorded(
        [
            chunk({"tool_calls": [{"index": 0, "id": "call_b", "function": {"name": "time", "arguments": {"zone": "Europe/Berlin"}}}]}),
            chunk({}, "tool_calls"),
            _END,
        ],
        _reply("", _TIME),
        standard=False,
    ),
    "a call without arguments": Recorded(
        [chunk(call(0, "", id="call_c", name="now")), chunk({}, "tool_calls"), _END], _reply("", ToolCall("call_c", "now", {}))
    ),
    "the old function_call": Recorded(
        [
            chunk({"function_call": {"name": "time", "arguments": ""}}),
            chunk({"function_call": {"arguments": '{"zone":"UTC"}'}}),
            chunk({}, "function_call"),
            _END,
        ],
        _reply("", ToolCall("call_0", "time", {"zone": "UTC"})),
        standard=False,
    ),
    "usage with every chunk": Recorded([chunk({"content": "Hi"}, usage={**USAGE, "completion_tokens": 1}), chunk({}, "stop", usage=USAGE)], _reply("Hi")),
    "DeepSeek's count of cached tokens": Recorded(
        [chunk({"content": "Hi"}), chunk({}, "stop", usage={"prompt_tokens": 1000, "completion_tokens": 20, "prompt_cache_hit_tokens": 600})], _reply("Hi")
    ),
    "no usage at all": Recorded([chunk({"content": "Hi"}), chunk({}, "stop")], _reply("Hi", usage=Usage())),
    "no [DONE]": Recorded([chunk({"content": "Hi"}), chunk({}, "stop"), _END], _reply("Hi"), done=False),
    "no finish reason but [DONE]": Recorded([chunk({"content": "Hi"}), _END], _reply("Hi"), standard=False),
}
