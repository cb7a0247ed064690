"""A service that sends what no service should: the turn gets one clear failure or a sound reply, never an error out of the blue."""

from typing import Any

import msgspec
import pytest

from neuralclaw.providers import service_errors
from neuralclaw.providers.anthropic_messages import MessagesProvider
from neuralclaw.providers.chat_completions import ChatProvider
from neuralclaw.providers.model_service import ModelEndpoint
from neuralclaw.providers.ollama import OllamaProvider
from neuralclaw.providers.responses import ResponsesProvider
from neuralclaw.types.messages import Finished, ModelReply
from tests.growth import growth

from .conformance import KEY, REQUEST
from .loopback import Response, grant_for, loopback, net

pytestmark = pytest.mark.anyio

PROVIDERS: dict[str, Any] = {"chat": ChatProvider, "responses": ResponsesProvider, "messages": MessagesProvider, "ollama": OllamaProvider}
HALF = b'"\\ud800"'
"""The first half of a character, alone: JSON, but no text that can be written again."""


async def reply_to(api: str, *events: bytes, status: int = 200, headers: dict[str, str] | None = None) -> ModelReply:
    """What the provider makes of these events."""
    pieces = [event + b"\n" if api == "ollama" else b"data: " + event + b"\n\n" for event in events]
    async with loopback() as server, net() as connections:
        kind = "application/json" if status != 200 else "application/x-ndjson" if api == "ollama" else "text/event-stream"
        server.says(Response(pieces if status == 200 else events, status=status, headers=headers, kind=kind))
        service = ModelEndpoint(name="mine", base_url=server.url, api_key=KEY, key_name="MINE_API_KEY", api=api)
        async with PROVIDERS[api](connections, grant_for(service.host), service).stream(REQUEST) as parts:
            last = [part async for part in parts][-1]
    assert isinstance(last, Finished)
    msgspec.json.encode(last.reply)  # it can be recorded
    return last.reply


def chat(delta: bytes, more: bytes = b"") -> bytes:
    return b'{"choices":[{"delta":' + delta + b',"finish_reason":"stop"}]' + more + b"}"


HALVES = {
    "chat name": ("chat", chat(b'{"tool_calls":[{"index":0,"id":' + HALF + b',"function":{"name":' + HALF + b',"arguments":"{}"}}]}')),
    "chat arguments": ("chat", chat(b'{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":{"a":' + HALF + b"}}}]}")),
    "chat extra": ("chat", chat(b'{"tool_calls":[{"index":0,"id":"a","function":{"name":"x"},"extra_content":{"a":' + HALF + b"}}]}")),
    "chat model": ("chat", chat(b'{"content":"a"}', b',"model":' + HALF)),
    "chat error": ("chat", b'{"error":{"message":{"a":' + HALF + b'},"code":' + HALF + b"}}"),
    "messages input": ("messages", b'{"type":"content_block_start","content_block":{"type":"tool_use","id":"a","name":"x","input":{"a":' + HALF + b"}}}"),
    "messages data": ("messages", b'{"type":"content_block_start","content_block":{"type":"redacted_thinking","data":' + HALF + b"}}"),
    "messages model": ("messages", b'{"type":"message_start","message":{"model":' + HALF + b"}}"),
    "responses arguments": ("responses", b'{"type":"response.output_item.done","item":{"type":"function_call","name":"x","arguments":{"a":' + HALF + b"}}}"),
    "responses sealed": ("responses", b'{"type":"response.output_item.done","item":{"type":"reasoning","encrypted_content":' + HALF + b"}}"),
    "ollama arguments": ("ollama", b'{"message":{"tool_calls":[{"function":{"name":"x","arguments":{"a":' + HALF + b'}}}]},"done":true}'),
    "ollama model": ("ollama", b'{"model":' + HALF + b',"message":{"content":"a"},"done":true}'),
}
ENDS = {"chat": b"[DONE]", "messages": b'{"type":"message_stop"}', "responses": b'{"type":"response.completed","response":{}}', "ollama": b'{"done":true}'}


@pytest.mark.parametrize("name", HALVES)
async def test_half_a_character_in_any_place_spoils_nothing(name: str) -> None:
    api, event = HALVES[name]
    reply = await reply_to(api, event, ENDS[api])
    assert "error" in name or reply.failure is None
    if "arguments" in name or "input" in name:
        assert reply.tool_calls[0].arguments == {}
        assert reply.tool_calls[0].error


@pytest.mark.parametrize("api", PROVIDERS)
async def test_an_event_that_is_no_utf8_is_a_failure(api: str) -> None:
    field = {
        "chat": chat(b'{"content":"\xff"}'),
        "messages": b'{"type":"\xff"}',
        "responses": b'{"type":"\xff"}',
        "ollama": b'{"message":{"content":"\xff"}}',
    }
    reply = await reply_to(api, field[api], ENDS[api])
    assert reply.failure is not None
    assert reply.failure.kind == "LLMUnavailableError"
    assert "cannot be read" in reply.failure.text


@pytest.mark.parametrize("cost", [b"-5", b"1" + b"0" * 400, b"1e300", b'NaN,"u":"\\ud800"', b"true", b'"3"'])
async def test_a_cost_that_is_none_is_not_counted(cost: bytes) -> None:
    reply = await reply_to("chat", chat(b'{"content":"a"}', b',"usage":{"prompt_tokens":-7,"completion_tokens":1e30,"cost":' + cost + b"}"), b"[DONE]")
    assert (reply.text, reply.usage.input, reply.usage.output, reply.usage.usd) == ("a", 0, 0, None)


async def test_thinking_of_another_form_is_passed_over() -> None:
    reply = await reply_to("chat", chat(b'{"content":[{"thinking":5},{"text":"a"}]}'), b"[DONE]")
    assert (reply.failure, reply.text) == (None, "a")


async def test_names_of_models_and_tools_are_short_and_can_be_shown() -> None:
    call = b'{"tool_calls":[{"index":0,"id":"a","function":{"name":"x\\u001b[2J' + b"y" * 100_000 + b'"}}]}'
    reply = await reply_to("chat", chat(call, b',"model":"m\\u001b[2J"'), b"[DONE]")
    assert reply.model == REQUEST.model
    assert reply.tool_calls[0].name.isprintable()
    assert len(reply.tool_calls[0].name) <= 256


DATES = ["1e300", "Mon, 01 Jan 2020 00:00:00 +9999999999999999", "Mon, 01 Jan 99999999999999999999 00:00:00 GMT", "Fri, 01 Jan 9999 00:00:00 GMT"]


@pytest.mark.parametrize("date", DATES)
async def test_an_absurd_wait_is_at_most_a_day(date: str) -> None:
    reply = await reply_to("chat", b"{}", status=429, headers={"Retry-After": date})
    assert reply.failure is not None
    assert reply.failure.kind == "LLMRateLimitError"
    assert (reply.failure.retry_after or 0) <= 31 * 86_400


def test_a_complaint_of_megabytes_holds_nothing_up() -> None:
    service = ModelEndpoint(name="mine", base_url="http://127.0.0.1", api_key=KEY)

    def failure(words: int) -> str:
        return service_errors.failure(service_errors.complaint_of(0, {"message": "model " * words}), service, "m").text

    assert len(failure(2_000_000)) < 500
    assert growth(lambda: failure(20_000), lambda: failure(2_000_000)) < 10  # 100 where all of it is searched


@pytest.mark.parametrize("form", [0, 400])
def test_a_key_that_is_cut_in_two_is_not_shown(form: int) -> None:
    service = ModelEndpoint(name="mine", base_url="http://127.0.0.1", api_key=KEY)
    for spaces in (1990, 7990):
        text = " " * spaces + KEY + " " * 9000
        found = service_errors.complaint(400, b"x" + text.encode()) if form else service_errors.complaint_of(0, {"message": text})
        assert KEY[:8] not in service_errors.failure(found, service, "m").text
