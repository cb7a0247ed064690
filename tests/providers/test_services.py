"""Services by their names: each is spoken to in its own format, and what only one of them does is understood and given back."""

from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import pytest

from neuralclaw import plugins
from neuralclaw.ports import Net
from neuralclaw.providers.chat_completions import ChatProvider
from neuralclaw.providers.known_services import KNOWN, resolve
from neuralclaw.providers.model_service import ModelEndpoint
from neuralclaw.types.messages import AssistantMessage, ModelReply, Request, ToolCall, ToolMessage, Usage, UserMessage

from .conformance import KEY, Bench
from .loopback import LoopbackServer, Response, grant_for, loopback, net
from .streams import STREAMS, chunk
from .test_chat import ChatWire, event

SIGNED = {"google": {"thought_signature": "EjQKMgEMOdbHJChLX75Q"}}


@pytest.fixture
async def connections() -> AsyncGenerator[Net]:
    async with net() as made:
        yield made


@pytest.fixture
async def server() -> AsyncGenerator[LoopbackServer]:
    async with loopback() as made:
        yield made


def at_home(server: LoopbackServer, connections: Net, name: str) -> Bench:
    """A bench whose provider takes the server for that service's own address."""
    bench = Bench(ChatWire(), server, connections)
    known = KNOWN[name]
    told = ModelEndpoint(
        name=name, base_url=server.url, api_key=KEY, key_name=known.keys[0], own=True, default_model=known.model, echo_reasoning=known.echo_reasoning
    )
    bench.provider = ChatProvider(connections, grant_for(told.host), told)
    return bench


def said(*chunks: dict[str, Any]) -> Response:
    return Response([*(event(value) for value in chunks), b"data: [DONE]\n\n"])


def after(reply: ModelReply, model: str) -> Request:
    """The next request of a turn whose model said `reply`."""
    results = tuple(ToolMessage(made.id, made.name, "done") for made in reply.tool_calls)
    return Request(model=model, messages=(UserMessage("Go."), AssistantMessage(reply.text, reply.tool_calls, reply.reasoning, reply.state), *results))


@pytest.mark.parametrize("name", [name for name, known in KNOWN.items() if known.api == "chat"])
@pytest.mark.anyio
async def test_every_compatible_service_needs_a_key_and_no_more(server: LoopbackServer, connections: Net, name: str) -> None:
    known = KNOWN[name]
    service = resolve(name, {name: {"base_url": server.url}}, dict.fromkeys(known.keys, KEY))
    bench = Bench(ChatWire(), server, connections)
    bench.provider = plugins.load(f"provider.{service.api}")(connections, grant_for(service.host), service)
    server.says(Response(STREAMS["two calls interleaved after text"].events))
    reply = await bench.reply(Request(model="", messages=(UserMessage("Hi"),)))
    assert (reply.stop, [call.name for call in reply.tool_calls]) == ("tools", ["weather", "time"])
    seen = server.seen[0]
    assert (seen.path, seen.json["model"]) == ("/v1/chat/completions", known.model)
    assert seen.headers.get("authorization") == (f"Bearer {KEY}" if known.keys else None)


@pytest.mark.parametrize("index", [0, None])
@pytest.mark.anyio
async def test_google_numbers_every_call_0_or_not_at_all_counts_nothing_and_gets_its_signatures_back(
    server: LoopbackServer, connections: Net, index: int | None
) -> None:
    bench = at_home(server, connections, "google")
    model = KNOWN["google"].model
    calls = [
        {"id": "jm4o", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Köln"}'}, "extra_content": SIGNED},
        {"id": "x7pq", "type": "function", "function": {"name": "time", "arguments": "{}"}},
    ]
    numbered = [call if index is None else {"index": index, **call} for call in calls]
    server.says(said(*(chunk({"role": "assistant", "tool_calls": [call]}) for call in numbered), chunk({"role": "assistant"}, "stop")))
    reply = await bench.reply(Request(model=model, messages=(UserMessage("Go."),)))
    assert reply.tool_calls == (ToolCall("jm4o", "weather", {"city": "Köln"}), ToolCall("x7pq", "time", {}))
    assert (reply.stop, reply.usage) == ("tools", Usage())
    journal = msgspec.json.decode(msgspec.json.encode(reply), type=ModelReply)
    await bench.finished(after(journal, model))
    first, second = server.seen[-1].json["messages"][1]["tool_calls"]
    assert first["extra_content"] == SIGNED
    assert "extra_content" not in second
    await bench.finished(after(journal, "gemini-4-argon"))
    first, second = server.seen[-1].json["messages"][1]["tool_calls"]
    assert first["extra_content"] != SIGNED, "a signature is one model's own"
    assert "extra_content" not in second


@pytest.mark.anyio
async def test_google_takes_calls_of_other_models_only_with_its_word_for_them(server: LoopbackServer, connections: Net) -> None:
    history = after(ModelReply(tool_calls=(ToolCall("a", "weather"), ToolCall("b", "time"))), "m")
    for name, dummy in (("google", {"google": {"thought_signature": "skip_thought_signature_validator"}}), ("groq", None)):
        server.says(Response(STREAMS["text"].events))
        await at_home(server, connections, name).reply(history)
        assert [call.get("extra_content") for call in server.seen[-1].json["messages"][1]["tool_calls"]] == [dummy, None]


@pytest.mark.parametrize("name", ["nvidia", "deepseek"])
@pytest.mark.anyio
async def test_reasoning_content_is_kept_apart_and_goes_back_where_it_is_wanted(server: LoopbackServer, connections: Net, name: str) -> None:
    bench = at_home(server, connections, name)
    call = {"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "time", "arguments": "{}"}}]}
    server.says(
        said(
            chunk({"role": "assistant", "content": None, "reasoning_content": "Hm, "}),
            chunk({"reasoning_content": "the time."}),
            chunk(call),
            chunk({}, "tool_calls"),
        )
    )
    reply = await bench.reply(Request(model="", messages=(UserMessage("Go."),)))
    assert (reply.text, reply.reasoning, reply.stop) == ("", "Hm, the time.", "tools")
    await bench.reply(after(reply, ""))
    assert server.seen[-1].json["messages"][1].get("reasoning_content") == ("Hm, the time." if name == "deepseek" else None)


@pytest.mark.parametrize(
    ("name", "model", "status", "body", "follows"),
    [
        (
            "groq",
            "llama3-70b-8192",
            404,
            {"error": {"message": "The model `llama3-70b-8192` does not exist", "code": "model_not_found"}},
            "openai/gpt-oss-120b",
        ),
        ("groq", "llama3-70b-8192", 400, {"error": {"message": "The model has been decommissioned", "code": "model_decommissioned"}}, "openai/gpt-oss-120b"),
        ("deepseek", "deepseek-chat", 400, {"error": {"message": "Model Not Exist"}}, "deepseek-flash"),
        (
            "nvidia",
            "meta/llama-3.3-70b-instruct",
            410,
            {
                "status": 410,
                "title": "Gone",
                "detail": "The model 'meta/llama-3.3-70b-instruct' has reached its end of life on 2026-09-01T00:00:00Z and is no longer available.",
            },
            "nvidia/nemotron-3-super-120b-a12b",
        ),
    ],
)
@pytest.mark.anyio
async def test_a_withdrawn_model_is_named_with_its_successor(
    server: LoopbackServer, connections: Net, name: str, model: str, status: int, body: object, follows: str
) -> None:
    server.says(Response([msgspec.json.encode(body)], status=status, kind="application/json"))
    reply = await at_home(server, connections, name).finished(Request(model=model, messages=(UserMessage("Hi"),)))
    assert reply.failure is not None
    assert reply.failure.kind == "LLMModelError"
    assert reply.failure.text.startswith(f"{name} has withdrawn {model}; its successor is {follows}")
    assert reply.failure.hint == f"--model {name}:{follows}"


@pytest.mark.anyio
async def test_a_server_elsewhere_withdrew_nothing(server: LoopbackServer, connections: Net) -> None:
    service = resolve("groq", {"groq": {"base_url": server.url}}, {})
    bench = Bench(ChatWire(), server, connections)
    bench.provider = ChatProvider(connections, grant_for(service.host), service)
    server.says(Response([b'{"error": {"message": "no such model", "code": "model_not_found"}}'], status=404, kind="application/json"))
    reply = await bench.finished(Request(model="llama3-70b-8192", messages=(UserMessage("Hi"),)))
    assert reply.failure is not None
    assert reply.failure.text.startswith("groq does not know the model llama3-70b-8192")
    assert reply.failure.hint.startswith("groq itself has withdrawn it, its successor is ")
