"""Ollama's own form: the conformance suite, recorded streams, and what only this format has."""

from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from neuralclaw.ports import Net, Provider
from neuralclaw.providers.jsonlines import JSONLinesDecoder
from neuralclaw.providers.known_services import resolve
from neuralclaw.providers.model_service import ModelEndpoint
from neuralclaw.providers.ollama import OllamaProvider
from neuralclaw.providers.ollama_reply import OllamaParts
from neuralclaw.providers.sse import MAX_EVENT_BYTES, SSETooLarge
from neuralclaw.types.messages import AssistantMessage, Image, ModelInfo, ModelReply, Price, Request, StopReason, ToolCall, ToolMessage, Usage, UserMessage

from .conformance import KEY, REQUEST, Bench, ProviderConformance
from .loopback import LoopbackServer, Response, Seen, grant_for, loopback, net

COUNTS = {"total_duration": 5, "load_duration": 1, "prompt_eval_count": 1000, "prompt_eval_duration": 2, "eval_count": 20, "eval_duration": 2}


def base(server: LoopbackServer) -> str:
    """The server's address without `/v1`."""
    return server.url.removesuffix("/v1")


def line(**fields: Any) -> bytes:
    return msgspec.json.encode({"model": "m-2026", "created_at": "2026-11-21T07:00:00.5Z", **fields}) + b"\n"


def say(content: str = "", **more: Any) -> bytes:
    return line(message={"role": "assistant", "content": content, **more}, done=False)


def call(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    return {"function": {"index": 0, "name": name, "arguments": arguments}, **more}


def end(reason: str | None = "stop", counts: dict[str, int] | None = None) -> bytes:
    why = {"done_reason": reason} if reason else {}
    return line(message={"role": "assistant", "content": ""}, done=True, **why, **(COUNTS if counts is None else counts))


def refused(status: int, message: str, **more: Any) -> Response:
    return Response([msgspec.json.encode({"error": message, **more})], status=status, kind="application/json; charset=utf-8")


def service(server: LoopbackServer, **more: Any) -> ModelEndpoint:
    return ModelEndpoint(name="mine", base_url=base(server), api_key=KEY, key_name="MINE_API_KEY", api="ollama", **more)


def value(arguments: str) -> Any:
    """Arguments as they stand in a line: a value of any kind, a text where they are no JSON."""
    try:
        return msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        return arguments


class OllamaWire:
    kind = "application/x-ndjson"
    spare = 0
    cached = 0

    def provider(self, net: Net, server: LoopbackServer) -> Provider:
        told = service(server, models={"m": ModelInfo(price=Price(1, 2, 0.1))})
        return OllamaProvider(net, grant_for(told.host), told)

    def text(self, *pieces: str, reasoning: str = "") -> list[bytes]:
        return [*([say(thinking=reasoning)] if reasoning else []), *(say(piece) for piece in pieces), end()]

    def calls(self, *calls: tuple[str, str, str]) -> list[bytes]:
        return [*(say(tool_calls=[call(name, value(arguments), id=call_id)]) for call_id, name, arguments in calls), end()]

    def variants(self, data: bytes) -> list[bytes]:
        return [data.replace(b"\n", b"\r\n"), b"\n\n" + data.replace(b"\n", b"\n\n"), data.removesuffix(b"\n")]

    def malformed(self) -> list[bytes]:
        return [
            b"{not json\n",
            b"\xff\xfe\n",
            b"17\n",
            b"[]\n",
            b"{}\n",
            b'{"message": 5}\n',
            b'{"message": {"content": 5}}\n',
            b'{"error":' + b"[" * 100_000 + b"\n",
        ]

    def empty(self) -> list[bytes]:
        return [b"", b"\n\n", b"data: [DONE]\n\n"]

    def limit(self, body: dict[str, Any]) -> int:
        return int(body["options"]["num_predict"])

    def authorized(self, headers: dict[str, str]) -> bool:
        return headers.get("authorization") == f"Bearer {KEY}"

    def refusal(self, why: str) -> Response:
        return refused(
            *{
                "key": (401, f"unauthorized {KEY}"),
                "model": (404, 'model "m" not found, try pulling it first'),
                "context": (400, "the prompt is longer than the context length currently available to the model; shorten the prompt"),
                "rate": (429, "too many concurrent requests"),
                "quota": (429, "you have reached your weekly usage limit"),
                "overloaded": (503, f"server busy, please try again.  maximum pending requests exceeded {KEY}"),
                "request": (400, "json: cannot unmarshal string into Go struct field ChatRequest.messages"),
            }[why]
        )

    def error_event(self) -> bytes:
        return msgspec.json.encode({"error": f"an error was encountered while running the model {KEY}"}) + b"\n"


class TestOllama(ProviderConformance):
    wire = OllamaWire()


@pytest.fixture
async def bench() -> AsyncGenerator[Bench]:
    async with loopback() as server, net() as connections:
        yield Bench(OllamaWire(), server, connections)


async def asked(bench: Bench, request: Request, **more: Any) -> Seen:
    """The request as it arrives at a service of which `more` is known."""
    bench.server.says(Response([say("Hi"), end()]))
    told = service(bench.server, **more)
    async with net() as connections:
        bench.provider = OllamaProvider(connections, grant_for(told.host), told)
        await bench.reply(request)
    return bench.server.seen[-1]


# --- streams ----------------------------------------------------------------------------------------------------------------


def _reply(said: str = "", *calls: ToolCall, stop: StopReason = "end", reasoning: str = "", usage: Usage | None = None) -> ModelReply:
    counted = Usage(1000, 0, 20, 0.0) if usage is None else usage
    return ModelReply(text=said, tool_calls=calls, stop="tools" if calls else stop, model="m-2026", reasoning=reasoning, usage=counted)


STREAMS: dict[str, tuple[list[bytes], ModelReply]] = {
    "text": ([say("Grüße, "), say("🌍 und\r\n"), say("¶ Ende"), end()], _reply("Grüße, 🌍 und\r\n¶ Ende")),
    "text in the last line": ([line(message={"role": "assistant", "content": "Hi"}, done=True, done_reason="stop", **COUNTS)], _reply("Hi")),
    "thinking": ([say(thinking="Hm, "), say(thinking="easy."), say("42"), end()], _reply("42", reasoning="Hm, easy.")),
    "calls without ids": (
        [
            say("Let me look."),
            say(tool_calls=[call("weather", {"city": "Köln 🌧", "days": [1, 2]})]),
            say(tool_calls=[call("time", {}), call("time", {"z": 1})]),
            end(),
        ],
        _reply(
            "Let me look.", ToolCall("call_0", "weather", {"city": "Köln 🌧", "days": [1, 2]}), ToolCall("call_1", "time"), ToolCall("call_2", "time", {"z": 1})
        ),
    ),
    "a call in the last line": (
        [line(message={"role": "assistant", "content": "", "tool_calls": [call("time", {}, id="x1")]}, done=True, done_reason="stop", **COUNTS)],
        _reply("", ToolCall("x1", "time")),
    ),
    "arguments as text, and none": (
        [say(tool_calls=[call("time", '{"z": 1}'), {"function": {"name": "time"}}]), end()],
        _reply("", ToolCall("call_0", "time", {"z": 1}), ToolCall("call_1", "time")),
    ),
    "cut off": ([say("on and"), end("length")], _reply("on and", stop="length")),
    "no reason, no counts": ([say("Hi"), end(None, {})], _reply("Hi", usage=Usage())),
    "the prompt was known already": ([say("Hi"), end(counts={"eval_count": 20})], _reply("Hi", usage=Usage(0, 0, 20, 0.0))),
    "nothing to say": ([end()], _reply("")),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.anyio
async def test_every_recorded_stream_gives_its_reply(bench: Bench, name: str) -> None:
    lines, reply = STREAMS[name]
    data = b"".join(lines)
    free = service(bench.server)
    async with net() as connections:
        bench.provider = OllamaProvider(connections, grant_for(free.host), free)
        for pieces in (lines, [data], [data[place : place + 1] for place in range(len(data))]):
            bench.server.says(Response(pieces))
            assert await bench.reply() == reply


@pytest.mark.parametrize("name", STREAMS)
def test_every_cut_of_every_stream_gives_the_same_reply(name: str) -> None:
    lines, reply = STREAMS[name]
    data = b"".join(lines)
    for place in range(len(data) + 1):
        decoder, parts = JSONLinesDecoder(), OllamaParts()
        for found in [*decoder.feed(data[:place]), *decoder.feed(data[place:]), *decoder.close()]:
            parts.add(found)
        assert (parts.reply(ModelInfo(price=Price(0, 0, 0))), parts.whole) == (reply, True)


def test_a_line_without_end_is_refused_before_it_fills_the_memory() -> None:
    decoder, piece = JSONLinesDecoder(), b"x" * (1 << 20)
    for _ in range(MAX_EVENT_BYTES // len(piece)):
        assert decoder.feed(piece) == []
    with pytest.raises(SSETooLarge):
        decoder.feed(piece)


@pytest.mark.parametrize("reason", ["load", "unload"])
@pytest.mark.anyio
async def test_a_model_that_was_only_loaded_has_not_answered(bench: Bench, reason: str) -> None:
    bench.server.says(Response([end(reason)]))
    await bench.fails("LLMUnavailableError", retryable=True)


# --- requests ---------------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_the_request_has_the_form_that_ollama_expects(bench: Bench) -> None:
    messages = (*REQUEST.messages, AssistantMessage("Rain.", reasoning="not needed"), UserMessage("And now?"))
    seen = await asked(bench, msgspec.structs.replace(REQUEST, messages=messages, top_p=0.9, environment="It is noon."))
    assert seen.path == "/api/chat"
    assert seen.json == {
        "model": "m",
        "stream": True,
        "truncate": False,
        "shift": False,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What is the weather?"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": "call_1", "function": {"name": "weather", "arguments": {"city": "Köln", "z": 1}}},
                    {"id": "call_2", "function": {"name": "weather", "arguments": {}}},
                ],
            },
            {"role": "tool", "tool_name": "weather", "tool_call_id": "call_1", "content": "rain"},
            {"role": "tool", "tool_name": "weather", "tool_call_id": "call_2", "content": "ERROR: not JSON"},
            {"role": "assistant", "content": "Rain."},
            {"role": "user", "content": "And now?\n\nIt is noon."},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "weather", "description": "The weather.", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
            }
        ],
        "options": {"temperature": 0.5, "top_p": 0.9, "num_predict": 100},
    }


@pytest.mark.anyio
async def test_a_window_is_asked_for_where_the_owner_gave_one(bench: Bench) -> None:
    facts = {"m": ModelInfo(context=65536)}
    assert (await asked(bench, REQUEST, models=facts, windows=frozenset({"m"}))).json["options"]["num_ctx"] == 65536
    assert "num_ctx" not in (await asked(bench, REQUEST, models=facts)).json["options"]


@pytest.mark.anyio
async def test_the_window_is_what_the_owner_said_else_small_and_it_costs_nothing_here() -> None:
    facts = {"big": {"context": 65536}, "plain": {"tools": False}, "paid": {"price": {"input": 1, "output": 2}}, "none": None}
    free = Price(0, 0, 0)
    async with net() as connections:
        here = resolve("ollama", {"ollama": {"models": facts}}, {})
        made = OllamaProvider(connections, grant_for(here.host), here)
        assert made.info("big") == ModelInfo(context=65536, price=free)
        assert made.info("plain") == ModelInfo(context=8192, tools=False, price=free)
        assert made.info("paid").price == Price(1, 2)
        assert made.info("llama3.2") == made.info("") == made.info("none") == ModelInfo(context=8192, price=free)
        assert made.info("gpt-oss:120b-cloud").price is None
        there = resolve("ollama", {}, {"OLLAMA_HOST": "https://ollama.com"})
        assert OllamaProvider(connections, grant_for(there.host), there).info("gpt-oss:120b").price is None


@pytest.mark.anyio
async def test_thinking_goes_back_with_the_calls_it_led_to(bench: Bench) -> None:
    said = AssistantMessage("", (ToolCall("a", "weather"),), reasoning="Look first.")
    seen = await asked(bench, msgspec.structs.replace(REQUEST, messages=(UserMessage("Go"), said, ToolMessage("a", "weather", "rain"))))
    assert seen.json["messages"][2]["thinking"] == "Look first."


@pytest.mark.anyio
async def test_pictures_go_along_and_are_named_for_a_model_that_cannot_see(bench: Bench) -> None:
    request = Request(model="m", messages=(UserMessage("What is it?", images=(Image("image/png", b"\x89PNG", "cat.png"),)),))
    (message,) = (await asked(bench, request, models={"m": ModelInfo(images=True)})).json["messages"]
    assert message == {"role": "user", "content": "What is it?", "images": ["iVBORw=="]}
    (message,) = (await asked(bench, request)).json["messages"]
    assert "images" not in message
    assert "cat.png" in message["content"]


@pytest.mark.anyio
async def test_a_schema_for_the_answer_goes_along(bench: Bench) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert (await asked(bench, msgspec.structs.replace(REQUEST, answer_schema=schema))).json["format"] == schema
    assert "tools" not in (await asked(bench, REQUEST, models={"m": ModelInfo(tools=False)})).json


# --- what to do when it does not work ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "kind", "hint"),
    [
        (refused(404, "model 'm' not found"), "LLMModelError", "ollama pull m"),
        (OllamaWire().refusal("model"), "LLMModelError", "ollama pull m"),
        (OllamaWire().refusal("context"), "LLMContextLengthError", "llm.providers.mine.models.m.context"),
        (refused(400, "the input length exceeds the context length"), "LLMContextLengthError", "llm.providers.mine.models.m.context"),
    ],
)
@pytest.mark.anyio
async def test_a_refusal_says_what_to_do(bench: Bench, response: Response, kind: str, hint: str) -> None:
    bench.server.says(response)
    failure = (await bench.fails(kind, retryable=False)).failure
    assert failure is not None
    assert hint in failure.hint


@pytest.mark.parametrize(
    ("message", "lacks"),
    [
        ('"m" does not support tools', "tools"),
        ("registry.ollama.ai/library/m:latest does not support tools", "tools"),
        ("this model is missing data required for image input", "images"),
        ('"m" does not support vision', "images"),
    ],
)
@pytest.mark.anyio
async def test_what_a_model_lacks_is_told_apart(bench: Bench, message: str, lacks: str) -> None:
    bench.server.says(refused(400, message))
    failure = (await bench.fails("LLMModelError", retryable=False)).failure
    assert failure is not None
    assert failure.lacks == lacks
    assert len(bench.server.seen) == 1


@pytest.mark.anyio
async def test_where_nothing_runs_the_hint_is_to_start_it(bench: Bench) -> None:
    async with loopback() as gone:
        nowhere = f"127.0.0.1:{gone.port}"
    told = resolve("ollama", {}, {"OLLAMA_HOST": nowhere})
    async with net() as connections:
        bench.provider = OllamaProvider(connections, grant_for(told.host), told)
        failure = (await bench.fails("LLMUnavailableError", retryable=True)).failure
    assert failure is not None
    assert "ollama serve" in failure.hint


@pytest.mark.anyio
async def test_a_server_without_a_key_gets_none(bench: Bench) -> None:
    bench.server.says(Response([say("Hi"), end()]))
    told = resolve("ollama", {}, {"OLLAMA_HOST": base(bench.server).partition("://")[2]})
    async with net() as connections:
        bench.provider = OllamaProvider(connections, grant_for(told.host), told)
        assert (await bench.reply(msgspec.structs.replace(REQUEST, model=""))).text == "Hi"
    seen = bench.server.seen[-1]
    assert "authorization" not in seen.headers
    assert seen.json["model"] == "llama3.2"
