"""Responses: the conformance suite, the service's own spellings read by the official SDK too, and what only this format has."""

from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import openai
import pytest

from neuralclaw.ports import Net, Provider
from neuralclaw.providers.model_service import ModelEndpoint
from neuralclaw.providers.responses import ResponsesProvider
from neuralclaw.providers.responses_reply import ResponseParts
from neuralclaw.providers.sse import SSEDecoder
from neuralclaw.types.messages import AssistantMessage, Image, ModelInfo, ModelReply, Price, ReasoningState, Request, ToolCall, ToolMessage, UserMessage

from .conformance import KEY, REQUEST, Bench, EventStreamWire, ProviderConformance
from .loopback import LoopbackServer, Response, Seen, grant_for, loopback, net
from .responses_streams import SCRIPTS, TIME, WEATHER, Script, call, event, message, reasoning

pytestmark = pytest.mark.full


def refused(status: int, error: object) -> Response:
    return Response([msgspec.json.encode({"error": error})], status=status, kind="application/json")


def service(server: LoopbackServer, **more: Any) -> ModelEndpoint:
    return ModelEndpoint(name="mine", base_url=server.url, api_key=KEY, key_name="MINE_API_KEY", api="responses", **more)


class ResponsesWire(EventStreamWire):
    def provider(self, net: Net, server: LoopbackServer) -> Provider:
        told = service(server, models={"m": ModelInfo(price=Price(1, 2, 0.1))})
        return ResponsesProvider(net, grant_for(told.host), told)

    def text(self, *pieces: str, reasoning: str = "") -> list[bytes]:
        return Script(*([globals()["reasoning"](reasoning)] if reasoning else []), message(*pieces)).events

    def calls(self, *calls: tuple[str, str, str]) -> list[bytes]:
        return Script(*(call(*made) for made in calls)).events

    def limit(self, body: dict[str, Any]) -> int:
        return int(body["max_output_tokens"])

    def authorized(self, headers: dict[str, str]) -> bool:
        return headers.get("authorization") == f"Bearer {KEY}"

    def refusal(self, why: str) -> Response:
        status, text, code = {
            "key": (401, f"Incorrect API key provided: {KEY}.", "invalid_api_key"),
            "model": (400, "The requested model 'm' does not exist.", "model_not_found"),
            "context": (400, "Your input exceeds the context window of this model. Please adjust your input and try again.", "context_length_exceeded"),
            "rate": (429, "Rate limit reached for m", "rate_limit_exceeded"),
            "quota": (429, "You exceeded your current quota", "insufficient_quota"),
            "overloaded": (503, f"Our servers are currently overloaded ({KEY})", "server_error"),
            "request": (400, "No tool output found for function call call_1.", None),
        }[why]
        return refused(status, {"message": text, "type": "error", "param": None, "code": code})

    def error_event(self) -> bytes:
        return event({"type": "error", "sequence_number": 9, "code": "server_error", "message": f"boom {KEY}", "param": None})


class TestResponses(ProviderConformance):
    wire = ResponsesWire()


@pytest.fixture
async def bench() -> AsyncGenerator[Bench]:
    async with loopback() as server, net() as connections:
        yield Bench(ResponsesWire(), server, connections)


def assembled(*pieces: bytes) -> ModelReply:
    """The reply from the bytes alone, without a network."""
    decoder, parts = SSEDecoder(), ResponseParts("m")
    for found in [found for piece in pieces for found in decoder.feed(piece)] + decoder.close():
        parts.add(found)
    return parts.reply(ModelInfo())


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_cut_of_every_stream_gives_the_same_reply(name: str) -> None:
    data = b"".join(SCRIPTS[name].events)
    whole = assembled(data)
    for place in range(0, len(data) + 1, 1 if len(data) < 4000 else 3):
        assert assembled(data[:place], data[place:]) == whole


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.anyio
async def test_the_official_sdk_accumulates_the_same_reply(bench: Bench, name: str) -> None:
    bench.server.says(Response(SCRIPTS[name].events))
    reply = await bench.reply()
    async with openai.AsyncOpenAI(base_url=bench.server.url, api_key=KEY, max_retries=0) as client, client.responses.stream(model="m", input="Hi") as stream:
        snapshot: Any = None
        async for found in stream:
            snapshot = found.response if found.type in ("response.completed", "response.incomplete") else snapshot
    messages = [item for item in snapshot.output if item.type == "message"]
    texts = ["".join(getattr(part, "text", None) or getattr(part, "refusal", "") for part in item.content) for item in messages]
    assert reply.text == "\n\n".join(texts)
    assert reply.model == snapshot.model
    made = [(item.call_id, item.name, msgspec.json.decode(item.arguments)) for item in snapshot.output if item.type == "function_call"]
    assert [(found.id, found.name, found.arguments) for found in reply.tool_calls] == made
    thought = [item for item in snapshot.output if item.type == "reasoning"]
    assert reply.reasoning == "\n\n".join(part.text for item in thought for part in [*item.summary, *(item.content or ())])
    assert (reply.usage.input, reply.usage.cached, reply.usage.output) == (
        snapshot.usage.input_tokens,
        snapshot.usage.input_tokens_details.cached_tokens,
        snapshot.usage.output_tokens,
    )
    assert (reply.stop == "length") == (snapshot.status == "incomplete")
    sealed = [item.encrypted_content for item in thought if item.encrypted_content]
    assert [item["encrypted_content"] for item in (reply.state.items if reply.state else ()) if item.get("encrypted_content")] == sealed


@pytest.mark.parametrize("name", SCRIPTS)
def test_what_only_the_last_event_says_is_shown_too(name: str) -> None:
    script = SCRIPTS[name]
    whole = assembled(*script.events)
    assert assembled(script.events[0], script.events[-1]) == whole
    for lost in ("delta", "output_item.added", "output_item.done", "done"):
        kept = [event(value) for value in script.values[:-1] if not value["type"].endswith(lost)] + script.events[-1:]
        assert assembled(*kept) == whole, lost
    spoken = [event({key: field for key, field in value.items() if key != "output_index"}) for value in script.values]
    assert assembled(*spoken) == whole, "a server that does not number its items"


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_last_event_without_the_items_takes_nothing_away(name: str) -> None:
    script = SCRIPTS[name]
    last = script.values[-1]
    short = event({**last, "response": {key: value for key, value in last["response"].items() if key != "output"}})
    for kept in (script.values[:-1], [value for value in script.values[:-1] if not value["type"].endswith("delta")]):
        assert assembled(*(event(value) for value in kept), short) == assembled(*script.events)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_server_that_numbers_every_item_0_is_understood(name: str) -> None:
    script = SCRIPTS[name]
    renumbered = [event(value | ({"output_index": 0} if "output_index" in value else {})) for value in script.values]
    assert assembled(*renumbered) == assembled(*script.events)


def test_what_was_shown_stands_where_the_finished_item_says_otherwise() -> None:
    script = Script(message("Hello ", "there"))
    script.output[0]["content"][0]["text"] = "Something else"
    assert assembled(*script.events).text == "Hello there"


# --- the request --------------------------------------------------------------------------------------------------------------


async def asked(bench: Bench, request: Request) -> dict[str, Any]:
    bench.server.says(Response(SCRIPTS["text"].events))
    await bench.reply(request)
    return bench.server.seen[-1].json


@pytest.mark.anyio
async def test_the_request_has_the_form_that_the_service_expects(bench: Bench) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
    body = await asked(bench, msgspec.structs.replace(REQUEST, environment="It is noon.", answer_schema=schema, top_p=0.9))
    assert bench.server.seen[0].path == "/v1/responses"
    assert body == {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is the weather?"}]},
            {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city":"Köln","z":1}'},
            {"type": "function_call", "call_id": "call_2", "name": "weather", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "rain"},
            {"type": "function_call_output", "call_id": "call_2", "output": "ERROR: not JSON\n\nIt is noon."},
        ],
        "tools": [
            {
                "type": "function",
                "name": "weather",
                "description": "The weather.",
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
                "strict": False,
            }
        ],
        "parallel_tool_calls": True,
        "include": ["reasoning.encrypted_content"],
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": False}},
        "temperature": 0.5,
        "top_p": 0.9,
        "max_output_tokens": 100,
        "stream": True,
        "store": False,
    }


@pytest.mark.parametrize("sees", [True, False])
@pytest.mark.anyio
async def test_pictures_go_along_or_are_named(bench: Bench, sees: bool) -> None:
    told = service(bench.server, models={"m": ModelInfo(images=sees)})
    async with net() as connections:
        bench.provider = ResponsesProvider(connections, grant_for(told.host), told)
        body = await asked(bench, Request(model="m", messages=(UserMessage("What is it?", images=(Image("image/png", b"\x89PNG", "cat.png"),)),)))
    content = body["input"][0]["content"]
    if sees:
        assert content[1] == {"type": "input_image", "image_url": "data:image/png;base64,iVBORw==", "detail": "auto"}
    else:
        assert len(content) == 1
        assert "cat.png" in content[0]["text"]


def after(reply: ModelReply, model: str = "m", text: str | None = None) -> Request:
    """The next request of a turn whose model said `reply`."""
    said = AssistantMessage(reply.text if text is None else text, reply.tool_calls, reply.reasoning, reply.state)
    results = tuple(ToolMessage(made.id, made.name, "done") for made in reply.tool_calls)
    return Request(model=model, messages=(UserMessage("Go."), said, *results))


@pytest.mark.anyio
async def test_reasoning_goes_back_to_the_model_that_made_it_before_the_calls_it_led_to(bench: Bench) -> None:
    bench.server.says(Response(SCRIPTS["sealed reasoning before each call"].events))
    reply = await bench.reply()
    journal = msgspec.json.decode(msgspec.json.encode(reply), type=ModelReply)
    body = await asked(bench, after(journal))
    assert [(item["type"], item.get("encrypted_content") or item.get("call_id")) for item in body["input"][1:]] == [
        ("reasoning", "AAA"),
        ("function_call", "call_a"),
        ("reasoning", "BBB"),
        ("function_call", "call_b"),
        ("function_call_output", "call_a"),
        ("function_call_output", "call_b"),
    ]
    assert body["input"][1] == {"type": "reasoning", "id": "rs_0", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "AAA"}
    assert body["input"][2] == {"type": "function_call", **WEATHER}
    for other in (after(journal, "another"), msgspec.structs.replace(after(journal), messages=_with_api(after(journal), "messages"))):
        body = await asked(bench, other)
        assert [item["type"] for item in body["input"][1:]] == ["function_call", "function_call", "function_call_output", "function_call_output"]


def _with_api(request: Request, api: str) -> Any:
    return tuple(
        msgspec.structs.replace(found, state=msgspec.structs.replace(found.state, api=api)) if isinstance(found, AssistantMessage) and found.state else found
        for found in request.messages
    )


@pytest.mark.anyio
async def test_a_remark_and_the_answer_go_back_apart_unless_the_text_was_changed(bench: Bench) -> None:
    bench.server.says(Response(SCRIPTS["a remark and the answer"].events))
    reply = await bench.reply()
    assert reply.text == "I look.\n\nIt rains."
    body = await asked(bench, after(reply))
    assert [(item["type"], item.get("content"), item.get("phase")) for item in body["input"][1:]] == [
        ("reasoning", None, None),
        ("message", "I look.", "commentary"),
        ("reasoning", None, None),
        ("message", "It rains.", "final_answer"),
    ]
    body = await asked(bench, after(reply, text="Changed."))
    assert [item["content"] for item in body["input"][1:] if item["type"] == "message"] == ["Changed."]


@pytest.mark.anyio
async def test_a_call_that_is_no_longer_there_is_not_sent_back(bench: Bench) -> None:
    bench.server.says(Response(SCRIPTS["sealed reasoning before each call"].events))
    reply = await bench.reply()
    more = msgspec.structs.replace(reply, tool_calls=(reply.tool_calls[1], ToolCall("call_c", "now")))
    body = await asked(bench, after(more))
    assert [item["call_id"] for item in body["input"] if item["type"] == "function_call"] == ["call_b", "call_c"]


def test_reasoning_that_could_not_be_read_again_is_not_kept() -> None:
    assert assembled(*Script(reasoning("Hm."), TIME).events).state is None
    clear = assembled(*Script(reasoning(clear="Hm."), TIME).events).state
    assert isinstance(clear, ReasoningState)
    assert clear.items[0]["content"] == [{"type": "reasoning_text", "text": "Hm."}]


# --- refusals and failures ----------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_an_optional_parameter_that_a_model_refuses_is_left_out_from_then_on(bench: Bench) -> None:
    def answer(seen: Seen) -> Response:
        if "include" in seen.json:
            return refused(400, {"message": "Encrypted content is not supported with this model.", "param": "include", "code": None})
        if "temperature" in seen.json:
            return refused(400, {"message": "Unsupported parameter: 'temperature' is not supported with this model.", "param": "temperature", "code": None})
        if "text" in seen.json:
            return refused(400, {"message": "Invalid parameter: 'text.format' of type 'json_schema' is not supported with this model.", "param": "text.format"})
        return Response(SCRIPTS["text"].events)

    bench.server.answer = answer
    request = msgspec.structs.replace(REQUEST, answer_schema={"type": "object"})
    for _ in range(2):
        await bench.reply(request)
    assert len(bench.server.seen) == 5
    assert not {"include", "temperature", "text"} & set(bench.server.seen[-1].json)
    assert bench.server.seen[-1].json["max_output_tokens"] == 100


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"code": "server_error", "message": "The server had an error"}, "LLMUnavailableError", True),
        ({"code": "rate_limit_exceeded", "message": "Rate limit reached"}, "LLMRateLimitError", True),
        ({"code": "insufficient_quota", "message": "You exceeded your current quota"}, "LLMRateLimitError", False),
        ({"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."}, "LLMContextLengthError", False),
        ({"code": "invalid_prompt", "message": "Invalid prompt"}, "LLMError", False),
        ({"code": "invalid_base64_image", "message": "Not an image"}, "LLMError", False),
        ({"code": "bio_policy", "message": "No"}, "LLMError", False),
        (None, "LLMUnavailableError", True),
    ],
)
@pytest.mark.anyio
async def test_a_failed_response_keeps_its_kind(bench: Bench, error: dict[str, Any] | None, kind: str, retryable: bool) -> None:
    bench.server.says(Response(Script(message("Hi"), status="failed", error=error).events))
    assert (await bench.fails(kind, retryable=retryable)).text == "Hi"
    if error is not None:
        started = Script(message("Hi")).events[:5]
        for spelled in ({"type": "error", "error": error}, {"type": "error", **error}, {"error": error}):
            bench.server.says(Response([*started, event(spelled)]))
            await bench.fails(kind, retryable=retryable)


@pytest.mark.parametrize(
    ("status", "reason", "kind", "retryable"),
    [
        ("incomplete", "content_filter", "LLMError", False),
        ("incomplete", "whim", "LLMUnavailableError", True),
        ("cancelled", None, "LLMUnavailableError", True),
    ],
)
@pytest.mark.anyio
async def test_an_answer_that_the_service_stopped_is_a_failure(bench: Bench, status: str, reason: str | None, kind: str, retryable: bool) -> None:
    bench.server.says(Response(Script(message("Hi"), status=status, incomplete_details={"reason": reason} if reason else None).events))
    await bench.fails(kind, retryable=retryable)


@pytest.mark.anyio
async def test_a_refusal_is_shown_as_the_answer(bench: Bench) -> None:
    bench.server.says(Response(SCRIPTS["a refusal"].events))
    reply = await bench.reply()
    assert (reply.text, reply.stop) == ("I can't help.", "end")


@pytest.mark.anyio
async def test_events_of_the_services_own_tools_change_nothing(bench: Bench) -> None:
    events = Script(message("Hi")).events
    foreign = event({"type": "response.output_item.done", "output_index": 7, "item": {"type": "web_search_call", "id": "ws_1", "status": "completed"}})
    bench.server.says(Response([*events[:2], foreign, event({"type": "response.web_search_call.searching", "output_index": 7}), *events[2:]]))
    reply = await bench.reply()
    assert (reply.text, reply.stop, reply.tool_calls) == ("Hi", "end", ())
