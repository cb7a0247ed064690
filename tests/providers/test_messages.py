"""Anthropic's Messages: the conformance suite, recorded streams, and what only this format has."""

from collections.abc import AsyncGenerator, Iterable
from typing import Any

import anthropic
import msgspec
import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from pydantic import TypeAdapter

from neuralclaw.ports import Net, Provider
from neuralclaw.providers.anthropic_messages import VERSION, MessagesFormat, MessagesProvider
from neuralclaw.providers.anthropic_messages_reply import MessagesParts
from neuralclaw.providers.model_service import ModelEndpoint
from neuralclaw.providers.sse import SSEDecoder
from neuralclaw.types.messages import (
    AssistantMessage,
    Image,
    ModelInfo,
    Price,
    ReasoningState,
    Request,
    ToolCall,
    ToolDef,
    ToolMessage,
    Usage,
    UserMessage,
)

from . import messages_streams as streams
from .conformance import KEY, REQUEST, Bench, EventStreamWire, ProviderConformance
from .loopback import LoopbackServer, Response, Seen, grant_for, loopback, net
from .messages_streams import STREAMS, event

pytestmark = pytest.mark.full

SEEING = ModelInfo(images=True)


def base(server: LoopbackServer) -> str:
    """The server's address without `/v1`."""
    return server.url.removesuffix("/v1")


def refused(status: int, kind: str, message: str, **headers: str) -> Response:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return Response([msgspec.json.encode(body)], status=status, kind="application/json", headers=headers)


def service(server: LoopbackServer, **more: Any) -> ModelEndpoint:
    return ModelEndpoint(name="mine", base_url=base(server), api_key=KEY, key_name="MINE_API_KEY", api="messages", **more)


class MessagesWire(EventStreamWire):
    def provider(self, net: Net, server: LoopbackServer) -> Provider:
        told = service(server, models={"m": ModelInfo(price=Price(1, 2, 0.1))})
        return MessagesProvider(net, grant_for(told.host), told)

    def text(self, *pieces: str, reasoning: str = "") -> list[bytes]:
        thought = streams.thinking(0, reasoning) if reasoning else []
        return [self._start(), *thought, *streams.text(len(reasoning[:1]), *pieces), *streams.end()]

    def calls(self, *calls: tuple[str, str, str]) -> list[bytes]:
        blocks = []
        for index, (call_id, name, arguments) in enumerate(calls):
            half = len(arguments) // 2
            blocks += streams.call(index, call_id, name, "", arguments[:half], arguments[half:])
        return [self._start(), *blocks, *streams.end("tool_use")]

    def _start(self) -> bytes:
        return streams.start({"input_tokens": 400, "cache_read_input_tokens": 600, "cache_creation_input_tokens": 0, "output_tokens": 1})

    def authorized(self, headers: dict[str, str]) -> bool:
        return headers.get("x-api-key") == KEY and headers.get("anthropic-version") == VERSION

    def refusal(self, why: str) -> Response:
        return refused(
            *{
                "key": (401, "authentication_error", f"invalid x-api-key: {KEY}"),
                "model": (404, "not_found_error", "model: m"),
                "context": (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
                "rate": (429, "rate_limit_error", "This request would exceed your organization's rate limit"),
                "quota": (400, "invalid_request_error", "Your credit balance is too low to access the API"),
                "overloaded": (529, "overloaded_error", f"Overloaded ({KEY})"),
                "request": (400, "invalid_request_error", "messages: at least one message is required"),
            }[why]
        )

    def error_event(self) -> bytes:
        return event("error", error={"type": "overloaded_error", "message": f"Overloaded {KEY}"})


class TestMessages(ProviderConformance):
    wire = MessagesWire()


@pytest.fixture
async def bench() -> AsyncGenerator[Bench]:
    async with loopback() as server, net() as connections:
        yield Bench(MessagesWire(), server, connections)


async def asked(bench: Bench, request: Request, info: ModelInfo = SEEING, events: list[bytes] | None = None) -> Seen:
    """The request as it arrives."""
    bench.server.says(Response(events or STREAMS["text"].events))
    told = service(bench.server, models={request.model: info})
    async with net() as connections:
        bench.provider = MessagesProvider(connections, grant_for(told.host), told)
        await bench.reply(request)
    return bench.server.seen[-1]


# --- streams ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.anyio
async def test_every_recorded_stream_gives_its_reply(bench: Bench, name: str) -> None:
    recorded = STREAMS[name]
    free = service(bench.server, models={"m": ModelInfo(price=Price(0, 0, 0))})
    async with net() as connections:
        bench.provider = MessagesProvider(connections, grant_for(free.host), free)
        for pieces in (recorded.events, [recorded.data], [recorded.data[place : place + 1] for place in range(len(recorded.data))]):
            bench.server.says(Response(pieces))
            assert await bench.reply() == recorded.reply


@pytest.mark.parametrize("name", STREAMS)
def test_every_cut_of_every_stream_gives_the_same_reply(name: str) -> None:
    recorded = STREAMS[name]
    for data in (recorded.data, recorded.data.replace(b"\n", b"\r\n")):
        for place in range(len(data) + 1):
            decoder, parts = SSEDecoder(), MessagesParts("m")
            for found in [*decoder.feed(data[:place]), *decoder.feed(data[place:]), *decoder.close()]:
                parts.add(found)
            got = parts.reply(ModelInfo(price=Price(0, 0, 0)))
            assert (got, parts.whole) == (recorded.reply, True)


@pytest.mark.parametrize("name", [name for name, recorded in STREAMS.items() if recorded.standard])
@pytest.mark.anyio
async def test_the_official_sdk_accumulates_the_same_reply(bench: Bench, name: str) -> None:
    recorded = STREAMS[name]
    bench.server.says(Response(recorded.events))
    async with (
        anthropic.AsyncAnthropic(base_url=base(bench.server), api_key=KEY, max_retries=0) as client,
        client.messages.stream(model="m", max_tokens=100, messages=[{"role": "user", "content": "Hi"}]) as stream,
    ):
        message = await stream.get_final_message()
    blocks, reply = message.content, recorded.reply
    assert "".join(block.text for block in blocks if block.type == "text") == reply.text
    assert "".join(block.thinking for block in blocks if block.type == "thinking") == reply.reasoning
    assert [(block.id, block.name, block.input) for block in blocks if block.type == "tool_use"] == [
        (made.id, made.name, made.arguments) for made in reply.tool_calls
    ]
    kept = [block.to_dict() for block in blocks if block.type == "redacted_thinking" or (block.type == "thinking" and block.signature)]
    assert kept == list(reply.state.items if reply.state else ())
    usage = message.usage
    written, read = usage.cache_creation_input_tokens or 0, usage.cache_read_input_tokens or 0
    assert (message.model, usage.input_tokens + written + read, read, usage.output_tokens) == (
        reply.model,
        reply.usage.input,
        reply.usage.cached,
        reply.usage.output,
    )
    sent = bench.server.seen[-1]
    assert (sent.path, sent.headers["anthropic-version"]) == ("/v1/messages", VERSION)


@pytest.mark.anyio
async def test_writing_into_the_cache_costs_a_quarter_more(bench: Bench) -> None:
    bench.server.says(Response(STREAMS["text"].events))
    usage = (await bench.reply()).usage
    assert usage.usd == pytest.approx((300 * 1 + 100 * 1.25 + 600 * 0.1 + 20 * 2) / 1e6)


@pytest.mark.anyio
async def test_counts_of_nothing_are_no_counts(bench: Bench) -> None:
    nothing = {"input_tokens": 0, "output_tokens": 0}
    bench.server.says(Response([streams.start(nothing), *streams.text(0, "Hi"), *streams.end(usage=nothing)]))
    assert (await bench.reply()).usage == Usage()


@pytest.mark.parametrize(
    ("reason", "details", "kind", "retryable", "words"),
    [
        ("refusal", {}, "LLMError", False, "mine refuses to answer"),
        (
            "refusal",
            {"stop_details": {"type": "refusal", "category": "cyber", "explanation": "It could do harm."}},
            "LLMError",
            False,
            "cyber: It could do harm.",
        ),
        ("pause_turn", {}, "LLMUnavailableError", True, "pause_turn"),
    ],
)
@pytest.mark.anyio
async def test_an_answer_that_the_service_stopped_is_a_failure(bench: Bench, reason: str, details: Any, kind: str, retryable: bool, words: str) -> None:
    bench.server.says(Response([streams.start(), *streams.thinking(0, "Hm"), *streams.text(1, "I"), *streams.end(reason, **details)]))
    reply = await bench.fails(kind, retryable=retryable)
    assert reply.failure is not None
    assert words in reply.failure.text
    assert reply.state is None


@pytest.mark.parametrize(
    ("kind", "message", "failure", "retryable"),
    [
        ("rate_limit_error", "Slow down", "LLMRateLimitError", True),
        ("api_error", "Internal server error", "LLMUnavailableError", True),
        ("invalid_request_error", "prompt is too long: 2 tokens > 1 maximum", "LLMContextLengthError", False),
        ("request_too_large", "Request exceeds the maximum size", "LLMContextLengthError", False),
        ("authentication_error", "invalid x-api-key", "LLMAuthError", False),
        ("permission_error", "Your API key may not", "LLMAuthError", False),
        ("billing_error", "Pay first", "LLMRateLimitError", False),
        ("invalid_request_error", "no", "LLMError", False),
    ],
)
@pytest.mark.anyio
async def test_an_error_in_mid_stream_keeps_its_kind(bench: Bench, kind: str, message: str, failure: str, retryable: bool) -> None:
    bench.server.says(Response([streams.start(), *streams.text(0, "Hi")[:2], event("error", error={"type": kind, "message": message})]))
    assert (await bench.fails(failure, retryable=retryable)).text == "Hi"


@pytest.mark.anyio
async def test_a_piece_of_a_block_that_never_began_is_a_failure(bench: Bench) -> None:
    bench.server.says(Response([streams.start(), streams.delta(3, "text_delta", text="Hi"), *streams.end()]))
    await bench.fails("LLMUnavailableError", retryable=True)


# --- requests ---------------------------------------------------------------------------------------------------------------

CACHED = {"cache_control": {"type": "ephemeral"}}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


@pytest.mark.anyio
async def test_the_request_has_the_form_that_the_service_expects(bench: Bench) -> None:
    seen = await asked(bench, msgspec.structs.replace(REQUEST, top_p=1.0, environment="It is noon."))
    assert (seen.path, seen.headers["anthropic-version"], seen.headers["x-api-key"]) == ("/v1/messages", "2026-10-21", KEY)
    assert seen.json == {
        "model": "m",
        "max_tokens": 100,
        "stream": True,
        "system": [{"type": "text", "text": "Be brief.", **CACHED}],
        "tools": [{"name": "weather", "description": "The weather.", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}, **CACHED}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "What is the weather?", **CACHED}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Köln", "z": 1}},
                    {"type": "tool_use", "id": "call_2", "name": "weather", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "call_1", "content": [text("rain")]},
                    {"type": "tool_result", "tool_use_id": "call_2", "content": [text("ERROR: not JSON", **CACHED), text("It is noon.")]},
                ],
            },
        ],
    }


def plain(value: Any) -> Any:
    """What validation gave, its lazy iterators read to the end."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, Iterable) and not isinstance(value, str) else value


@pytest.mark.anyio
async def test_the_official_sdk_knows_every_field_of_the_request(bench: Bench) -> None:
    state = ReasoningState("messages", "m", ({"type": "thinking", "thinking": "Hm", "signature": "s"}, {"type": "redacted_thinking", "data": "d"}))
    messages = (
        UserMessage("What is it?", images=(Image("image/png", b"\x89PNG"),)),
        AssistantMessage("Let me look.", (ToolCall("a", "weather", {"city": "Köln"}),), state=state),
        ToolMessage("a", "weather", "no", False),
    )
    body = (await asked(bench, msgspec.structs.replace(REQUEST, messages=messages, answer_schema={"type": "object"}, environment="now"))).json
    known = TypeAdapter[Any](MessageCreateParamsStreaming)  # must outlive what it gave
    assert plain(known.validate_python(body)) == body, "what the SDK does not know is dropped"


@pytest.mark.anyio
async def test_a_limit_is_sent_where_the_request_has_none(bench: Bench) -> None:
    assert (await asked(bench, Request(model="m", messages=(UserMessage("Hi"),)))).json["max_tokens"] == 4096


@pytest.mark.anyio
async def test_what_changes_from_turn_to_turn_stands_behind_the_last_breakpoint(bench: Bench) -> None:
    first = msgspec.structs.replace(REQUEST, environment="It is noon.")
    second = msgspec.structs.replace(REQUEST, environment="It is one.", messages=(*REQUEST.messages, AssistantMessage("Rain."), UserMessage("And now?")))
    one, two = [(await asked(bench, request)).json for request in (first, second)]
    kept = len(one["messages"])
    last = one["messages"][-1]["content"][-1]["content"]
    assert last[-2]["cache_control"]
    assert last.pop() == text("It is noon.")
    for body in (one, two):
        for turn in body["messages"]:
            for block in turn["content"]:
                for part in (block, *block.get("content", ())):
                    part.pop("cache_control", None)
    assert two["messages"][:kept] == one["messages"]
    assert (one["tools"], one["system"]) == (two["tools"], two["system"])


@pytest.mark.anyio
async def test_breakpoints_of_results_are_on_whole_blocks_but_where_the_environment_stands_inside(bench: Bench) -> None:
    def calling(call_id: str) -> tuple[AssistantMessage, ToolMessage]:
        return AssistantMessage("", (ToolCall(call_id, "weather"),)), ToolMessage(call_id, "weather", "rain")

    request = msgspec.structs.replace(REQUEST, messages=(UserMessage("Go"), *calling("a"), *calling("b")))
    for environment in ("", "It is noon."):
        wire = (await asked(bench, msgspec.structs.replace(request, environment=environment))).json["messages"]
        (first,), (second,) = (turn["content"] for turn in wire if turn["content"][0]["type"] == "tool_result")
        assert first == {"type": "tool_result", "tool_use_id": "a", "content": [text("rain")], **CACHED}
        inside = [text("rain", **CACHED), text(environment)] if environment else [text("rain")]
        assert second == {"type": "tool_result", "tool_use_id": "b", "content": inside, **({} if environment else CACHED)}


@pytest.mark.anyio
async def test_no_request_has_more_than_four_breakpoints(bench: Bench) -> None:
    turns = tuple(message for _ in range(10) for message in (UserMessage("a"), AssistantMessage("b")))
    seen = await asked(bench, msgspec.structs.replace(REQUEST, messages=(*turns, UserMessage("c"))))
    assert seen.body.count(b"cache_control") == 4


@pytest.mark.anyio
async def test_users_and_assistant_take_turns_and_results_come_first_and_in_order(bench: Bench) -> None:
    calls = (ToolCall("a", "t"), ToolCall("b", "t"))
    messages = (
        UserMessage("one"),
        UserMessage("two"),
        AssistantMessage("", calls),
        ToolMessage("b", "t", "B"),
        UserMessage("hurry", "steering"),
        ToolMessage("a", "t", " ", False),
        AssistantMessage(""),
        UserMessage(" "),
        UserMessage("three"),
    )
    wire = (await asked(bench, Request(model="m", messages=messages, environment="now"))).json["messages"]
    assert [turn["role"] for turn in wire] == ["user", "assistant", "user"]
    for turn in wire:
        for block in turn["content"]:
            for part in (block, *block.get("content", ())):
                part.pop("cache_control", None)
    assert wire[0]["content"] == [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert wire[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "is_error": True},
        {"type": "tool_result", "tool_use_id": "b", "content": [text("B")]},
        {"type": "text", "text": "hurry"},
        {"type": "text", "text": "three"},
        {"type": "text", "text": "now"},
    ]


@pytest.mark.anyio
async def test_ids_and_names_of_other_services_are_written_as_this_one_takes_them(bench: Bench) -> None:
    rounds = tuple(
        message
        for call_id in ("call_0", "call_0", "fc|1 ü")
        for message in (AssistantMessage("", (ToolCall(call_id, "" if "|" in call_id else "a.b"),)), ToolMessage(call_id, "a.b", call_id))
    )
    wire = (await asked(bench, Request(model="m", messages=(UserMessage("Go"), *rounds), tools=REQUEST.tools))).json["messages"]
    calls = [block for turn in wire for block in turn["content"] if block["type"] == "tool_use"]
    results = [block for turn in wire for block in turn["content"] if block["type"] == "tool_result"]
    assert [call["name"] for call in calls] == ["a_b", "a_b", "unnamed"]
    assert [call["id"] for call in calls] == [result["tool_use_id"] for result in results]
    assert len({call["id"] for call in calls}) == 3
    assert calls[0]["id"] == "call_0"
    assert all(call["id"].replace("_", "").isalnum() and call["id"].isascii() for call in calls)


@pytest.mark.anyio
async def test_thinking_goes_back_unchanged_to_the_same_model_and_to_no_other(bench: Bench) -> None:
    recorded = STREAMS["thinking, text, two calls"]
    bench.server.says(Response(recorded.events))
    reply = await bench.reply()
    said = AssistantMessage(reply.text, reply.tool_calls, reply.reasoning, reply.state)
    results = tuple(ToolMessage(call.id, call.name, "ok") for call in reply.tool_calls)
    request = msgspec.structs.replace(REQUEST, messages=(UserMessage("Go"), said, *results))
    assert reply.state is not None

    def first(seen: Seen) -> list[dict[str, Any]]:
        content: list[dict[str, Any]] = seen.json["messages"][1]["content"]
        return content

    back = first(await asked(bench, request))
    assert back[0] == {"type": "thinking", "thinking": "Hm, easy.", "signature": "c2lnbmVk"}
    assert [block["type"] for block in back] == ["thinking", "text", "tool_use", "tool_use"]
    assert first(await asked(bench, msgspec.structs.replace(request, model="other")))[0]["type"] == "text"
    foreign = msgspec.structs.replace(said, state=ReasoningState("responses", "m", reply.state.items))
    assert first(await asked(bench, msgspec.structs.replace(request, messages=(UserMessage("Go"), foreign, *results))))[0]["type"] == "text"


@pytest.mark.anyio
async def test_pictures_go_along_and_are_named_for_a_model_that_cannot_see(bench: Bench) -> None:
    request = Request(
        model="m",
        messages=(UserMessage("What is it?", images=(Image("image/png", b"\x89PNG", "cat.png"),)), UserMessage("", images=(Image("image/gif", b"GIF"),))),
    )
    (turn,) = (await asked(bench, request)).json["messages"]
    assert [block["type"] for block in turn["content"]] == ["image", "text", "image"]
    assert turn["content"][0] == {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}
    (turn,) = (await asked(bench, request, ModelInfo())).json["messages"]
    assert [block["type"] for block in turn["content"]] == ["text", "text"]
    assert "cat.png" in turn["content"][0]["text"]


@pytest.mark.anyio
async def test_a_history_with_calls_names_its_tools_where_none_may_be_called(bench: Bench) -> None:
    body = (await asked(bench, msgspec.structs.replace(REQUEST, tools=()))).json
    assert (body["tools"], body["tool_choice"]) == ([{"name": "weather", "input_schema": {"type": "object"}, **CACHED}], {"type": "none"})
    body = (await asked(bench, msgspec.structs.replace(REQUEST, messages=(UserMessage("Hi"),)), ModelInfo(tools=False))).json
    assert not {"tools", "tool_choice"} & set(body)


@pytest.mark.anyio
async def test_a_schema_for_the_answer_is_closed_and_left_out_where_it_is_refused(bench: Bench) -> None:
    schema = {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "object", "properties": {}}}}}
    request = Request(model="m", messages=(UserMessage("Hi"),), answer_schema=schema)
    items = {"type": "object", "properties": {}, "additionalProperties": False}
    expected = {"type": "object", "properties": {"list": {"type": "array", "items": items}}, "additionalProperties": False}
    assert (await asked(bench, request)).json["output_config"] == {"format": {"type": "json_schema", "schema": expected}}

    def answer(seen: Seen) -> Response:
        if "output_config" in seen.json:
            return refused(400, "invalid_request_error", "output_config.format.schema: For 'number' type, property 'minimum' is not supported")
        return Response(STREAMS["text"].events)

    async with net() as connections:
        bench.provider = MessagesWire().provider(connections, bench.server)
        bench.server.answer = answer
        for _ in range(2):
            await bench.reply(request)
    assert ["output_config" in seen.json for seen in bench.server.seen] == [True, True, False, False]


@pytest.mark.anyio
async def test_a_refused_capability_is_told_apart(bench: Bench) -> None:
    for message, lacks in (("m does not support tools", "tools"), ("this model does not support image input", "images")):
        bench.server.says(refused(400, "invalid_request_error", message))
        failure = (await bench.fails("LLMModelError", retryable=False)).failure
        assert failure is not None
        assert failure.lacks == lacks


@pytest.mark.anyio
async def test_only_the_services_own_address_gets_the_key_in_its_own_form_alone(bench: Bench) -> None:
    for own in (True, False):
        bench.server.says(Response(STREAMS["text"].events))
        told = service(bench.server, own=own)
        async with net() as connections:
            bench.provider = MessagesProvider(connections, grant_for(told.host), told)
            await bench.reply()
        headers = bench.server.seen[-1].headers
        assert headers["x-api-key"] == KEY
        assert headers.get("authorization") == (None if own else f"Bearer {KEY}")


def test_a_tool_without_words_has_no_description() -> None:
    told = ModelEndpoint(name="mine", base_url="http://x", api="messages")
    body = MessagesFormat().body(Request(model="m", messages=(), tools=(ToolDef("t", "", {}),)), ModelInfo(), told, frozenset())
    assert msgspec.json.decode(body)["tools"] == [{"name": "t", "input_schema": {"type": "object"}, **CACHED}]
