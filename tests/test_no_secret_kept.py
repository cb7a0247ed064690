"""A configured key that a model says, a tool prints, a person pastes or an error quotes stands nowhere afterwards."""

import json
import logging
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from neuralclaw import Agent, tool
from neuralclaw.errors import NeuralClawError, ToolNotFoundError
from neuralclaw.secrets.spellings import spellings
from neuralclaw.testing import Reply, finished
from neuralclaw.types import messages as m
from neuralclaw.types.entries import Event

from .cli.program import Claw

pytestmark = pytest.mark.anyio

KEY = "qT7-vv81_kkZp03xYw/q=9"
PASSWORD = 'so "long" a pass-word'
B64 = b64encode(KEY.encode()).decode()
MARK = "[REDACTED:OPENAI_API_KEY]"
ENV = {"OPENAI_API_KEY": KEY}
SETTINGS = {"mcp.servers.x.command": "x", "mcp.servers.x.env.DB": PASSWORD, "logging.level": "DEBUG", "agent.max_tool_result_chars": 300}


class Pieces:
    """A model that streams each reply in pieces of `size` characters."""

    def __init__(self, size: int, *replies: Reply) -> None:
        self._size, self._replies = size, list(replies)
        self.requests: list[m.Request] = []

    def info(self, model: str) -> m.ModelInfo:
        return m.ModelInfo(price=m.Price(0.0, 0.0))

    def count(self, request: m.Request) -> int:
        return 0

    @asynccontextmanager
    async def stream(self, request: m.Request) -> AsyncIterator[AsyncIterator[m.ModelEvent]]:
        self.requests.append(request)
        yield self._events(self._replies.pop(0), len(self.requests))

    async def _events(self, reply: Reply, nth: int) -> AsyncIterator[m.ModelEvent]:
        for at in range(0, len(reply.reasoning), self._size):
            yield m.ReasoningPart(reply.reasoning[at : at + self._size])
        for at in range(0, len(reply.text), self._size):
            yield m.TextPart(reply.text[at : at + self._size])
        yield m.Finished(finished(reply, "x", nth))


@tool(risk="LOW", effect="pure")
async def leak(text: str) -> str:
    "Prints and logs what it knows."
    logging.getLogger("neuralclaw.leak").warning("the key is %s", KEY)
    return f"given {text}\n" + "-" * 280 + f"{KEY}\n{B64}\n{PASSWORD}"


@tool(risk="LOW")
async def quote() -> str:
    "Fails with the key in its words."
    raise RuntimeError(f"401 for {KEY} and {json.dumps(PASSWORD)}")


@tool(risk="LOW")
async def long() -> str:
    "Prints so much that the key is cut in the middle."
    return "-" * 290 + KEY + "-" * 100


def everything(home: Path) -> Iterator[tuple[str, str]]:
    """Every file of the home, its bytes as text."""
    for path in home.rglob("*"):
        if path.is_file() and path.name != "config.yaml":
            yield path.name, path.read_bytes().decode(errors="replace")


def found(text: str) -> list[str]:
    return [spelling for value in (KEY, PASSWORD) for spelling in spellings(value) if spelling in text]


def leaks(home: Path) -> list[tuple[str, list[str]]]:
    return [(name, there) for name, text in everything(home) if (there := found(text))]


def shown(events: list[Event], kind: str) -> str:
    return "".join(event.body.text for event in events if event.body.type == kind)


@pytest.mark.invariant("secrets.nowhere")
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
async def test_a_key_that_is_said_printed_and_pasted_is_in_no_event_prompt_journal_or_log(home: Path, tmp_path: Path, size: int) -> None:
    replies = [
        Reply(
            f"I use {KEY}.",
            [{"name": "leak", "arguments": {"text": f"{KEY} and {KEY.encode().hex()}"}}, {"name": "quote", "arguments": {}}, {"name": "long", "arguments": {}}],
        ),
        Reply("", [{"name": "read_result", "arguments": {"call_id": "call_1_0"}}]),
        Reply(f"It was {KEY}, so {B64}, and {PASSWORD}!", reasoning=f"the person said {KEY} aloud"),
    ]
    model = Pieces(size, *replies)
    async with Agent.open(home=home, workspace=tmp_path, provider=model, tools=[leak, quote, long], settings=SETTINGS, environ=ENV) as agent:
        async with agent.turn(f"my key is {KEY}\nand {json.dumps(PASSWORD)}", session="s") as stream:
            events = [event async for event in stream]
        lines = "\n".join(json.dumps(event.to_dict(), ensure_ascii=False) for event in events)
        record = json.dumps(msgspec.to_builtins(await agent.do("sessions.show", session="s")), ensure_ascii=False)
        assert leaks(home) == []
    assert [found(text) for text in (lines, record, msgspec.json.encode(model.requests).decode())] == [[], [], []]
    assert leaks(home) == []
    assert KEY[:9] not in lines
    assert events[-1].body.status == "done"
    assert shown(events, "text.delta").endswith(f"It was {MARK}, so {MARK}, and [REDACTED:mcp.servers.x.env.DB]!")
    assert shown(events, "reasoning.delta") == f"the person said {MARK} aloud"
    assert f"given {MARK} and {MARK}" in lines
    log = (home / "logs" / "neuralclaw.jsonl").read_text()
    assert f"the key is {MARK}" in log
    assert "RuntimeError" in log


@pytest.mark.invariant("secrets.nowhere")
async def test_what_was_recorded_before_a_key_was_configured_is_told_to_no_model(home: Path, tmp_path: Path) -> None:
    async with Agent.open(home=home, workspace=tmp_path, provider=Pieces(5, Reply(f"noted: {KEY}")), environ={}) as agent:
        await agent.ask(f"remember {KEY}", session="s")
    assert leaks(home) != []
    model = Pieces(5, Reply("what?"))
    async with Agent.open(home=home, workspace=tmp_path, provider=model, environ=ENV) as agent:
        await agent.ask("and now?", session="s")
    asked = msgspec.json.encode(model.requests).decode()
    assert found(asked) == []
    assert f"noted: {MARK}" in asked


class Failing(Pieces):
    """A model whose service quotes the key."""

    async def _events(self, reply: Reply, nth: int) -> AsyncIterator[m.ModelEvent]:
        raise RuntimeError(f"no such key: {KEY}")
        yield m.TextPart("")


@pytest.mark.invariant("secrets.nowhere")
async def test_an_error_that_quotes_a_key_tells_it_nobody(home: Path, tmp_path: Path) -> None:
    value = Reply("", failure=m.Failure("LLMAuthError", f"401: {KEY} is wrong", hint=f"replace {KEY}"))
    for model in (Failing(1, Reply("x")), Pieces(1, value)):
        async with Agent.open(home=home, workspace=tmp_path, provider=model, environ=ENV) as agent, agent.turn("go") as stream:
            events = [event.to_dict() async for event in stream]
        assert events[-1]["status"] == "failed"
        assert found(json.dumps(events)) == []
        assert MARK in events[-1]["error"]["text"]
    with pytest.raises(ToolNotFoundError) as raised:
        async with Agent.open(home=home, workspace=tmp_path, provider=Pieces(1), environ=ENV) as agent:
            await agent.do("tools.show", name=KEY)
    assert isinstance(raised.value, NeuralClawError)
    assert [found(text) for text in (str(raised.value), raised.value.text, raised.value.hint)] == [[], [], []]
    assert leaks(home) == []


@pytest.mark.invariant("secrets.nowhere")
async def test_the_program_prints_no_key_that_a_person_pastes_or_a_file_holds(home: Path, tmp_path: Path) -> None:
    claw = Claw(home, tmp_path / "work")
    (claw.workspace / "notes.txt").write_text(f"key: {KEY}\n")
    (home / ".env").write_text(f"OPENAI_API_KEY='{KEY}'\n")
    ran = await claw("run", "--model", "offline", "--output", "stream-json", f"read notes.txt then echo {KEY} then run cat notes.txt")
    assert ran.code == 0, ran
    assert found(ran.out + ran.err) == []
    assert ran.lines[-1]["text"].count(MARK) >= 2
    wrong = await claw("run", "--model", f"openai-{KEY}:x", "hello")
    assert wrong.code == 78, wrong
    assert found(wrong.err) == []
    assert [(name, there) for name, there in leaks(home) if name != ".env"] == []
