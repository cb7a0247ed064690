"""Chat Completions: the conformance suite, the spellings of real services, and what only this format has."""

import time
from collections.abc import AsyncGenerator
from email.utils import formatdate
from typing import Any

import anyio
import msgspec
import openai
import pytest
from openai.lib.streaming.chat import ChatCompletionStreamState

from neuralclaw.ports import Net, Provider
from neuralclaw.providers.chat_completions import ChatProvider
from neuralclaw.providers.chat_completions_reply import ChatParts
from neuralclaw.providers.model_service import ModelEndpoint
from neuralclaw.providers.sse import SSEDecoder
from neuralclaw.types.messages import ModelInfo, Price

from .conformance import KEY, REQUEST, Bench, EventStreamWire, ProviderConformance
from .loopback import LoopbackServer, Response, Seen, grant_for, loopback, net
from .refusals import LACKING, REFUSALS
from .streams import STREAMS, USAGE, call, chunk

pytestmark = pytest.mark.full


def event(value: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"


def refused(status: int, error: object, **headers: str) -> Response:
    return Response([msgspec.json.encode(error)], status=status, kind="application/json", headers=headers)


def service(server: LoopbackServer, **more: Any) -> ModelEndpoint:
    return ModelEndpoint(name="mine", base_url=server.url, api_key=KEY, key_name="MINE_API_KEY", **more)


class ChatWire(EventStreamWire):
    spare = 2  # the usage and [DONE]

    def provider(self, net: Net, server: LoopbackServer) -> Provider:
        told = service(server, models={"m": ModelInfo(price=Price(1, 2, 0.1))})
        return ChatProvider(net, grant_for(told.host), told)

    def text(self, *pieces: str, reasoning: str = "") -> list[bytes]:
        thought = [chunk({"reasoning_content": reasoning})] if reasoning else []
        return self._events(*thought, *(chunk({"content": piece}) for piece in pieces), finish="stop")

    def calls(self, *calls: tuple[str, str, str]) -> list[bytes]:
        chunks = []
        for index, (call_id, name, arguments) in enumerate(calls):
            half = len(arguments) // 2
            chunks += [chunk(call(index, "", id=call_id, name=name)), chunk(call(index, arguments[:half])), chunk(call(index, arguments[half:]))]
        return self._events(*chunks, finish="tool_calls")

    def _events(self, *chunks: dict[str, Any], finish: str) -> list[bytes]:
        wire = [event(value) for value in (chunk({"role": "assistant", "content": ""}), *chunks, chunk({}, finish), chunk(None, usage=USAGE))]
        return [*wire, b"data: [DONE]\n\n"]

    def authorized(self, headers: dict[str, str]) -> bool:
        return headers.get("authorization") == f"Bearer {KEY}"

    def refusal(self, why: str) -> Response:
        status, message, code = {
            "key": (401, f"Incorrect API key provided: {KEY}.", "invalid_api_key"),
            "model": (404, "The model `m` does not exist or you do not have access to it.", "model_not_found"),
            "context": (400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded"),
            "rate": (429, "Rate limit reached", "rate_limit_exceeded"),
            "quota": (429, "You exceeded your current quota", "insufficient_quota"),
            "overloaded": (503, f"The engine is overloaded ({KEY})", None),
            "request": (400, "Invalid value: 'tool'", "invalid_value"),
        }[why]
        return refused(status, {"error": {"message": message, "type": "error", "param": None, "code": code}})

    def error_event(self) -> bytes:
        return event({"error": {"message": f"boom {KEY}", "type": "server_error", "code": None}})


class TestChatCompletions(ProviderConformance):
    wire = ChatWire()


@pytest.fixture
async def bench() -> AsyncGenerator[Bench]:
    async with loopback() as server, net() as connections:
        yield Bench(ChatWire(), server, connections)


def assembled(pieces: list[bytes]) -> ChatParts:
    """The reply's parts from the bytes alone, without a network."""
    decoder, parts = SSEDecoder(), ChatParts()
    for found in [found for piece in pieces for found in decoder.feed(piece)] + decoder.close():
        parts.add(found)
    return parts


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.anyio
async def test_every_spelling_of_a_stream_gives_its_reply(bench: Bench, name: str) -> None:
    recorded = STREAMS[name]
    free = service(bench.server, models={"m": ModelInfo(price=Price(0, 0, 0))})
    async with net() as connections:
        bench.provider = ChatProvider(connections, grant_for(free.host), free)
        for pieces in (recorded.events, [recorded.data], [recorded.data[place : place + 1] for place in range(len(recorded.data))]):
            bench.server.says(Response(pieces))
            assert await bench.reply() == recorded.reply


@pytest.mark.parametrize("name", STREAMS)
def test_every_cut_of_every_stream_gives_the_same_reply(name: str) -> None:
    recorded = STREAMS[name]
    for data in (recorded.data, recorded.data.replace(b"\n", b"\r\n")):
        for place in range(len(data) + 1):
            parts = assembled([data[:place], data[place:]])
            got = parts.reply(ModelInfo())
            expected = (recorded.reply.text, recorded.reply.reasoning, recorded.reply.tool_calls, recorded.reply.stop)
            assert (got.text, got.reasoning, got.tool_calls, got.stop) == expected


@pytest.mark.parametrize("name", [name for name, recorded in STREAMS.items() if recorded.standard])
@pytest.mark.anyio
async def test_the_official_sdk_accumulates_the_same_reply(bench: Bench, name: str) -> None:
    recorded = STREAMS[name]
    bench.server.says(Response(recorded.events))
    state: Any = ChatCompletionStreamState()
    async with openai.AsyncOpenAI(base_url=bench.server.url, api_key=KEY, max_retries=0) as client:
        stream = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}], stream=True)
        usage = None
        async for found in stream:
            state.handle_chunk(found)
            usage = found.usage or usage
    snapshot, reply = state.current_completion_snapshot, recorded.reply
    message = snapshot.choices[0].message
    assert (message.content or "", snapshot.model) == (reply.text, reply.model)
    calls = [(made.id, made.function.name, msgspec.json.decode(made.function.arguments or "{}")) for made in message.tool_calls or ()]
    assert calls == [(made.id, made.name, made.arguments) for made in reply.tool_calls]
    extra = message.model_extra or {}
    assert (extra.get("reasoning_content") or extra.get("reasoning") or "") == reply.reasoning
    assert (usage.prompt_tokens, usage.completion_tokens) == (reply.usage.input, reply.usage.output) if usage else reply.usage.input == 0


# --- what only this format has ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("who", "status", "body", "kind"), REFUSALS)
@pytest.mark.anyio
async def test_the_refusals_of_many_services_are_understood(bench: Bench, who: str, status: int, body: object, kind: str) -> None:
    html = isinstance(body, str)
    bench.server.says(
        Response([body.encode() if isinstance(body, str) else msgspec.json.encode(body)], status=status, kind="text/html" if html else "application/json")
    )
    reply = await bench.fails(kind, retryable=False)
    assert reply.failure is not None
    assert str(status) in reply.failure.text
    assert not {"<", "{", "["} & set(reply.failure.text)


@pytest.mark.parametrize(("who", "status", "body", "lacks"), LACKING)
@pytest.mark.anyio
async def test_a_model_that_lacks_what_it_was_asked_for_is_told_apart(bench: Bench, who: str, status: int, body: object, lacks: str) -> None:
    bench.server.says(refused(status, body))
    failure = (await bench.fails("LLMModelError", retryable=False)).failure
    assert failure is not None
    assert failure.lacks == lacks
    assert f"({status})" in failure.text


@pytest.mark.parametrize("message", ["m does not support tool_choice", "parallel tool calls are off", "this tool does not exist"])
@pytest.mark.anyio
async def test_other_words_about_tools_say_nothing_of_what_a_model_lacks(bench: Bench, message: str) -> None:
    bench.server.says(refused(400, {"error": {"message": message}}))
    failure = (await bench.fails("LLMError", retryable=False)).failure
    assert failure is not None
    assert failure.lacks == ""


@pytest.mark.parametrize("own_date", [True, False])
@pytest.mark.anyio
async def test_retry_after_may_be_a_date(bench: Bench, own_date: bool) -> None:
    now = time.time() + (86_400 if own_date else 0)  # the clock of the service that wrote the date counts
    headers = {"Retry-After": formatdate(now + 60, usegmt=True)} | ({"Date": formatdate(now, usegmt=True)} if own_date else {})
    bench.server.says(refused(503, {}, **headers))
    reply = await bench.fails("LLMUnavailableError", retryable=True)
    assert reply.failure is not None
    assert reply.failure.retry_after is not None
    assert 50 < reply.failure.retry_after <= 60
    for nonsense in ("soon", "-5", "nan", "inf", ""):
        bench.server.says(refused(503, {}, **{"Retry-After": nonsense}))
        reply = await bench.fails("LLMUnavailableError", retryable=True)
        assert reply.failure is not None
        assert reply.failure.retry_after is None


@pytest.mark.anyio
async def test_the_last_event_needs_no_line_end(bench: Bench) -> None:
    bench.server.says(Response([event(chunk({"content": "Hi"})), event(chunk({}, "stop")).rstrip()]))
    assert (await bench.reply()).text == "Hi"


@pytest.mark.anyio
async def test_a_long_message_of_a_service_is_shortened(bench: Bench) -> None:
    bench.server.says(refused(400, {"error": {"message": "no\n" * 10_000}}))
    reply = await bench.fails("LLMError", retryable=False)
    assert reply.failure is not None
    assert len(reply.failure.text) < 400
    assert "\n" not in reply.failure.text


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"message": "slow down", "code": 429}, "LLMRateLimitError", True),
        ({"message": "Provider returned error", "code": 502, "metadata": {"raw": "upstream"}}, "LLMUnavailableError", True),
        ({"message": "This model's maximum context length is 10", "code": "context_length_exceeded"}, "LLMContextLengthError", False),
        ("a bare string", "LLMUnavailableError", True),
    ],
)
@pytest.mark.anyio
async def test_an_error_in_mid_stream_keeps_its_kind(bench: Bench, error: object, kind: str, retryable: bool) -> None:
    bench.server.says(Response([event(chunk({"content": "Hi"})), event({"error": error})]))
    reply = await bench.fails(kind, retryable=retryable)
    assert reply.text == "Hi"


@pytest.mark.anyio
async def test_an_error_object_with_status_200_keeps_its_kind(bench: Bench) -> None:
    bench.server.says(refused(200, {"error": {"message": "Invalid API key", "code": 401}}))
    await bench.fails("LLMAuthError", retryable=False)


@pytest.mark.anyio
async def test_a_complaint_that_does_not_go_away_ends_in_a_failure(bench: Bench) -> None:
    bench.server.says(
        refused(400, {"error": {"message": "temperature, top_p, max_tokens and stream_options are not supported", "code": "unsupported_parameter"}})
    )
    await bench.fails("LLMError", retryable=False)
    assert len(bench.server.seen) == 5


@pytest.mark.parametrize(("finish", "kind", "retryable"), [("content_filter", "LLMError", False), ("error", "LLMUnavailableError", True)])
@pytest.mark.anyio
async def test_an_answer_that_the_service_stopped_is_a_failure(bench: Bench, finish: str, kind: str, retryable: bool) -> None:
    bench.server.says(Response([event(chunk({"content": "Hi"})), event(chunk({}, finish)), b"data: [DONE]\n\n"]))
    await bench.fails(kind, retryable=retryable)


@pytest.mark.anyio
async def test_the_halves_of_a_character_that_were_cut_apart_are_joined(bench: Bench) -> None:
    first, second = (b'data: {"choices":[{"index":0,"delta":{"content":"%b"}}]}\n\n' % half for half in (b"Hi \\ud83c", b"\\udf0d!"))
    bench.server.says(Response([first, second, event(chunk({}, "stop"))]))
    assert (await bench.reply()).text == "Hi 🌍!"


async def succeeds(bench: Bench) -> None:
    assert (await bench.reply()).failure is None


@pytest.mark.anyio
async def test_an_optional_parameter_that_a_model_refuses_is_left_out_from_then_on(bench: Bench) -> None:
    def answer(seen: Seen) -> Response:
        if "stream_options" in seen.json:
            return refused(400, {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted: stream_options"}]})
        if "max_tokens" in seen.json:
            message = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
            return refused(400, {"error": {"message": message, "param": "max_tokens", "code": "unsupported_parameter"}})
        if "temperature" in seen.json:
            message = "Unsupported value: 'temperature' does not support 0.5 with this model."
            return refused(400, {"error": {"message": message, "param": "temperature", "code": "unsupported_value"}})
        return Response(STREAMS["text"].events)

    bench.server.answer = answer
    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(succeeds, bench)
    asked = len(bench.server.seen)
    await succeeds(bench)
    assert len(bench.server.seen) == asked + 1
    body = bench.server.seen[-1].json
    assert body["max_completion_tokens"] == REQUEST.max_tokens
    assert not {"max_tokens", "temperature", "stream_options"} & set(body)


@pytest.mark.anyio
async def test_the_request_has_the_form_that_services_expect(bench: Bench) -> None:
    bench.server.says(Response(STREAMS["text"].events))
    await bench.reply()
    seen = bench.server.seen[0]
    assert seen.path == "/v1/chat/completions"
    assert seen.json == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is the weather?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Köln","z":1}'}},
                    {"id": "call_2", "type": "function", "function": {"name": "weather", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "rain"},
            {"role": "tool", "tool_call_id": "call_2", "content": "ERROR: not JSON"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "weather", "description": "The weather.", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
            }
        ],
        "temperature": 0.5,
        "max_tokens": 100,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


@pytest.mark.anyio
async def test_a_model_without_tool_support_is_told_of_no_tools(bench: Bench) -> None:
    bench.server.says(Response(STREAMS["text"].events))
    told = service(bench.server, models={"m": ModelInfo(tools=False)})
    async with net() as connections:
        bench.provider = ChatProvider(connections, grant_for(told.host), told)
        await bench.reply()
    assert "tools" not in bench.server.seen[0].json


@pytest.mark.anyio
async def test_a_used_up_grant_is_a_failure_that_is_not_tried_again(bench: Bench) -> None:
    told = service(bench.server)
    grant = grant_for(told.host)
    grant.close()
    async with net() as connections:
        bench.provider = ChatProvider(connections, grant, told)
        await bench.fails("PermissionDeniedError", retryable=False)
    assert bench.server.seen == []


@pytest.mark.anyio
async def test_a_service_without_a_key_gets_no_authorization(bench: Bench) -> None:
    bench.server.says(Response(STREAMS["text"].events))
    told = ModelEndpoint(name="mine", base_url=bench.server.url)
    async with net() as connections:
        bench.provider = ChatProvider(connections, grant_for(told.host), told)
        await bench.reply()
    assert "authorization" not in bench.server.seen[0].headers
