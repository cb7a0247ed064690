"""Against a model service that others wrote: npm `@copilotkit/aimock`, on loopback, with its own scripted answers and faults."""

import subprocess
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import openai
import pytest

from neuralclaw.ports import Net
from neuralclaw.providers.anthropic_messages import MessagesProvider
from neuralclaw.providers.chat_completions import ChatProvider
from neuralclaw.providers.http import HttpProvider
from neuralclaw.providers.model_service import ModelEndpoint
from neuralclaw.providers.ollama import OllamaProvider
from neuralclaw.providers.responses import ResponsesProvider
from neuralclaw.providers.retry import RetryProvider
from neuralclaw.testing import FakeClock
from neuralclaw.types.messages import AssistantMessage, Finished, ModelEvent, ModelReply, Request, Retrying, TextPart, ToolDef, ToolMessage, UserMessage

from ..parts import node, npm_package
from ..waiting import until
from .loopback import free_port, grant_for, net

pytestmark = [pytest.mark.anyio, pytest.mark.full]

TEXT = "Grüße 🌍🌧 aus Köln; das Wetter ist heute freundlich und der Rhein hat Wasser. 👩‍👩‍👧"
CALLS = [{"id": "call_a", "name": "weather", "arguments": {"city": "Köln 🌧"}}, {"id": "call_b", "name": "time", "arguments": {"zone": "Europe/Berlin"}}]
FIXTURES: list[dict[str, Any]] = [
    {"match": {"userMessage": "say"}, "response": {"content": TEXT}},
    {"match": {"userMessage": "think"}, "response": {"content": "42", "reasoning": "Hm, easy."}},
    {"match": {"userMessage": "work", "hasToolResult": False}, "response": {"content": "Let me look.", "toolCalls": CALLS}},
    {"match": {"userMessage": "work", "hasToolResult": True}, "response": {"content": "It rains."}},
    {"match": {"userMessage": "cut"}, "response": {"content": TEXT}, "truncateAfterChunks": 3},
    {"match": {"userMessage": "malformed"}, "response": {"content": TEXT}, "chaos": {"malformedRate": 1.0}},
    {"match": {"userMessage": "drop"}, "response": {"content": TEXT}, "chaos": {"dropRate": 1.0}},
    {"match": {"userMessage": "disconnect"}, "response": {"content": TEXT}, "chaos": {"disconnectRate": 1.0}},
    {
        "match": {"userMessage": "key"},
        "response": {"error": {"message": "Incorrect API key", "type": "invalid_request_error", "code": "invalid_api_key"}, "status": 401},
    },
]


LIMITED: list[dict[str, Any]] = [
    {
        "match": {"userMessage": "limited", "sequenceIndex": 0},
        "response": {"error": {"message": "Slow down", "type": "rate_limit_error"}, "status": 429, "retryAfter": 3},
    },
    {"match": {"userMessage": "limited"}, "response": {"content": "Now then."}},
]


SPOKEN: dict[str, tuple[type[ChatProvider | ResponsesProvider | MessagesProvider | OllamaProvider], str, str]] = {
    "chat": (ChatProvider, "/v1", "gpt-4o"),
    "responses": (ResponsesProvider, "/v1", "o3"),
    "messages": (MessagesProvider, "", "claude-sonnet-5-5"),
    "ollama": (OllamaProvider, "", "llama3.2"),
}
"""Each format: who speaks it, where its base URL ends, a model."""


def _for(api: str, fixture: dict[str, Any]) -> dict[str, Any]:
    """The fixture for one format alone: what comes first counts for each."""
    match = fixture["match"]
    return {**fixture, "match": {**match, "userMessage": f"{match['userMessage']} {api}"}}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running aimock; letters come in chunks of 7, so that characters are cut."""
    place: Path = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    place.write_bytes(msgspec.json.encode({"fixtures": FIXTURES + [_for(api, fixture) for api in SPOKEN for fixture in LIMITED]}))
    port = free_port()
    program = npm_package("@copilotkit/aimock", "1.43.0") / "dist" / "cli.js"
    command = [str(node()), str(program), "-p", str(port), "-f", str(place), "-c", "7", "--log-level", "silent", "--strict"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
async def connections(address: str) -> AsyncGenerator[Net]:
    async def answers() -> bool:
        try:
            async with aiohttp.ClientSession() as session, session.get(f"{address}/health") as response:
                return response.status == 200
        except aiohttp.ClientConnectionError:
            return False

    await until(answers)
    async with net() as made:
        yield made


TOOLS = (ToolDef("weather", "The weather.", {"type": "object"}), ToolDef("time", "The time.", {"type": "object"}))


@pytest.fixture(params=SPOKEN)
def made(request: pytest.FixtureRequest, address: str, connections: Net) -> HttpProvider:
    kind, path, model = SPOKEN[request.param]
    service = ModelEndpoint(name="peer", base_url=address + path, api_key="sk-peer", key_name="PEER_API_KEY", default_model=model, api=request.param)
    return kind(connections, grant_for(service.host), service)


def asking(text: str, model: str = "") -> Request:
    return Request(model=model, messages=(UserMessage(text),), tools=TOOLS, timeout=10)


async def events_of(made: HttpProvider | RetryProvider, request: Request) -> list[ModelEvent]:
    async with made.stream(request) as events:
        return [event async for event in events]


async def reply_of(made: HttpProvider | RetryProvider, request: Request) -> ModelReply:
    last = (await events_of(made, request))[-1]
    assert isinstance(last, Finished)
    return last.reply


async def test_a_text_with_cut_characters_arrives_whole(made: HttpProvider) -> None:
    events = await events_of(made, asking("say"))
    last = events[-1]
    assert isinstance(last, Finished)
    assert (last.reply.text, last.reply.stop) == (TEXT, "end")
    assert "".join(event.text for event in events if isinstance(event, TextPart)) == TEXT
    assert last.reply.usage.input > 0 or not isinstance(made, ChatProvider), "elsewhere it counts nothing"


async def test_the_sdk_reads_the_same_text(address: str, connections: Net) -> None:
    async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="sk-peer") as client:
        stream = await client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "say"}], stream=True)
        pieces = [choice.delta.content or "" async for chunk in stream for choice in chunk.choices]
    assert "".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16") == TEXT


async def test_a_turn_with_two_calls_and_their_results(made: HttpProvider) -> None:
    reply = await reply_of(made, asking("work"))
    assert (reply.text, reply.stop) == ("Let me look.", "tools")
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("weather", {"city": "Köln 🌧"}), ("time", {"zone": "Europe/Berlin"})]
    assert len({call.id for call in reply.tool_calls}) == 2
    results = tuple(ToolMessage(call.id, call.name, "rain") for call in reply.tool_calls)
    history = (UserMessage("work"), AssistantMessage(reply.text, reply.tool_calls), *results)
    answer = await reply_of(made, Request(model="", messages=history, tools=TOOLS))
    assert (answer.text, answer.stop) == ("It rains.", "end")


async def test_reasoning_is_kept_apart(made: HttpProvider) -> None:
    reply = await reply_of(made, asking("think", "o3" if isinstance(made, ChatProvider) else ""))
    assert (reply.text, reply.reasoning) == ("42", "Hm, easy.")


@pytest.mark.parametrize("fault", ["cut", "malformed", "drop", "disconnect"])
async def test_its_faults_are_failures_and_never_answers(made: HttpProvider, fault: str) -> None:
    reply = await reply_of(made, asking(fault))
    assert reply.failure is not None
    assert (reply.failure.kind, reply.failure.retryable) == ("LLMUnavailableError", True)


async def test_a_rate_limit_is_waited_out(made: HttpProvider, request: pytest.FixtureRequest) -> None:
    clock = FakeClock()
    events = await events_of(RetryProvider(made, clock), asking(f"limited {request.node.callspec.params['made']}"))
    assert [event.attempt for event in events if isinstance(event, Retrying)] == [1]
    assert clock.slept == [3.0]
    last = events[-1]
    assert isinstance(last, Finished)
    assert last.reply.text == "Now then."


async def test_a_refused_key_is_named(made: HttpProvider) -> None:
    reply = await reply_of(made, asking("key"))
    assert reply.failure is not None
    assert reply.failure.kind == "LLMAuthError"
    assert "PEER_API_KEY" in reply.failure.text
