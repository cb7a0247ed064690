"""What a turn costs: two streamed model calls and one tool call against an instant server on loopback.

    python benchmarks/turn.py                  every contender, as ratios to a bare loop on the official SDK
    python benchmarks/turn.py thin sdk         only these
    python benchmarks/turn.py --peers          frameworks that others wrote too (benchmarks/peers.py)

Each contender runs in a process of its own, in turns, and the best of its rounds counts. Milliseconds differ from machine to
machine; the ratios are what `docs/` shows and CI holds. To add a contender, write one function and put it into CONTENDERS.
"""

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import anyio
from instant import ANSWER, many_files, server
from peers import CLIENT, PEERS, QUESTION, Turn, python_of

Contender = Callable[[str], AbstractAsyncContextManager[Turn]]

SCHEMA = {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]}


# --- the contenders ---------------------------------------------------------------------------------------------------------


def calculate(expression: str) -> str:
    """The local function that the bare loops call."""
    left, _, right = expression.partition("*")
    return str(int(left) * int(right))


TOOL = {"type": "function", "function": {"name": "calculate", "description": "Calculate.", "parameters": SCHEMA}}


def _sdk_client(url: str, **options: Any) -> Any:
    import openai

    return openai.AsyncOpenAI(base_url=url, **CLIENT, **options)


@asynccontextmanager
async def sdk(url: str) -> AsyncGenerator[Turn]:
    """A bare loop on the official SDK as its documentation shows it: what everything is compared with."""
    async with _sdk_client(url) as client:
        yield _sdk_turn(client)


@asynccontextmanager
async def sdk_aiohttp(url: str) -> AsyncGenerator[Turn]:
    """The same over the SDK's own aiohttp transport."""
    import openai

    async with _sdk_client(url, http_client=openai.DefaultAioHttpClient()) as client:
        yield _sdk_turn(client)


def _sdk_turn(client: Any) -> Turn:
    async def turn(number: int) -> str:
        messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
        while True:
            text, calls = "", {}
            stream = await client.chat.completions.create(model="instant", messages=messages, tools=[TOOL], stream=True, stream_options={"include_usage": True})
            async for chunk in stream:
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    for piece in choice.delta.tool_calls or ():
                        call = calls.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
                        call["id"] += piece.id or ""
                        call["name"] += piece.function.name or ""
                        call["arguments"] += piece.function.arguments or ""
            if not calls:
                return text
            wire = [{"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}} for c in calls.values()]
            messages.append({"role": "assistant", "content": text or None, "tool_calls": wire})
            messages.extend({"role": "tool", "tool_call_id": c["id"], "content": calculate(**json.loads(c["arguments"]))} for c in calls.values())

    return turn


@asynccontextmanager
async def sdk_raw(url: str) -> AsyncGenerator[Turn]:
    """The SDK for endpoint, authentication and errors, its raw bytes decoded by our own code, over its aiohttp transport."""
    import openai

    from neuralclaw.providers.chat_completions_reply import ChatParts
    from neuralclaw.providers.sse import SSEDecoder
    from neuralclaw.types.messages import ModelInfo

    async with _sdk_client(url, http_client=openai.DefaultAioHttpClient()) as client:
        create = client.chat.completions.with_streaming_response.create

        async def turn(number: int) -> str:
            messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
            while True:
                parts, decoder = ChatParts(), SSEDecoder()
                options = {"include_usage": True}
                async with create(model="instant", messages=messages, tools=[TOOL], stream=True, stream_options=options) as response:
                    async for data in response.iter_bytes():
                        for event in decoder.feed(data):
                            parts.add(event)
                reply = parts.reply(ModelInfo())
                calls = reply.tool_calls
                if not calls:
                    return reply.text
                wire = [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": json.dumps(c.arguments)}} for c in calls]
                messages.append({"role": "assistant", "content": reply.text or None, "tool_calls": wire})
                messages.extend({"role": "tool", "tool_call_id": c.id, "content": calculate(**c.arguments)} for c in calls)

        yield turn


@asynccontextmanager
async def thin(url: str) -> AsyncGenerator[Turn]:
    """Our provider alone, retries around it and a grant before it, in a bare loop."""
    from neuralclaw.providers.chat_completions import ChatProvider
    from neuralclaw.providers.model_service import ModelEndpoint
    from neuralclaw.providers.retry import RetryProvider
    from neuralclaw.sandbox.net import HttpNet
    from neuralclaw.testing import FakeClock
    from neuralclaw.types.grants import Envelope, Grant
    from neuralclaw.types.messages import AssistantMessage, ChatMessage, Finished, ModelReply, Request, ToolDef, ToolMessage, UserMessage

    tools = (ToolDef("calculate", "Calculate.", SCHEMA),)
    service = ModelEndpoint(name="instant", base_url=url)
    envelope = Envelope(hosts=(service.host,), network=True)
    grant = Grant(session="home", call_id="", tool="", arguments={}, workspace="/", hash="", envelope=envelope)
    net = HttpNet()
    provider = RetryProvider(ChatProvider(net, grant, service), FakeClock())

    async def ask(request: Request) -> ModelReply:
        async with provider.stream(request) as events:
            async for event in events:
                if isinstance(event, Finished):
                    return event.reply
        raise AssertionError("no reply")

    async def turn(number: int) -> str:
        messages: list[ChatMessage] = [UserMessage(QUESTION)]
        while True:
            reply = await ask(Request(model="instant", messages=tuple(messages), tools=tools))
            assert reply.failure is None, reply.failure
            if not reply.tool_calls:
                return reply.text
            messages.append(AssistantMessage(reply.text, reply.tool_calls))
            messages.extend(ToolMessage(call.id, call.name, calculate(**call.arguments)) for call in reply.tool_calls)

    try:
        yield turn
    finally:
        await net.aclose()


@asynccontextmanager
async def agent(url: str, api: str = "chat") -> AsyncGenerator[Turn]:
    """The whole product: each turn in a session of its own, journal on disk, gate, chain, events and tools included."""
    from neuralclaw import Agent

    with tempfile.TemporaryDirectory() as home:
        environ = {"PATH": os.environ["PATH"], "HOME": home}
        address = url if api in ("chat", "responses") else url.removesuffix("/v1")
        settings = {"llm.providers": {"instant": {"api": api, "base_url": address, "models": {"instant": {"tools": True}}}}}
        async with Agent.open(home=f"{home}/data", workspace=home, model="instant:instant", settings=settings, environ=environ) as opened:

            async def turn(number: int) -> str:
                return (await opened.ask(QUESTION, session=f"turn-{number}")).text

            yield turn


@asynccontextmanager
async def labelled(url: str) -> AsyncGenerator[Turn]:
    """The same with content from outside in play from the first message on, and a tool that sends: its arguments are held against the owner's words."""
    from neuralclaw import Agent, tool

    @tool(risk="LOW", effect="pure", sinks=["network.send"], source="external", name="calculate")
    async def calculate_elsewhere(expression: str) -> str:
        "Calculate."
        return calculate(expression)

    with tempfile.TemporaryDirectory() as home:
        environ = {"PATH": os.environ["PATH"], "HOME": home}
        settings = {"llm.providers": {"instant": {"api": "chat", "base_url": url, "models": {"instant": {"tools": True}}}}}
        given: dict[str, Any] = {"environ": environ, "tools": [calculate_elsewhere], "settings": settings, "trust": "high"}
        async with Agent.open(home=f"{home}/data", workspace=home, model="instant:instant", **given) as opened:

            async def turn(number: int) -> str:
                reply = await opened.ask(f"{QUESTION} Send 17 * 23 to the calculator.", session=f"turn-{number}")
                assert not reply.refused, reply
                return reply.text

            with open(f"{home}/AGENTS.md", "w") as instructions:  # noqa: ASYNC230, PTH123
                instructions.write("Be brief.")
            yield turn


CONTENDERS: dict[str, Contender] = {
    "sdk": sdk,
    "sdk_aiohttp": sdk_aiohttp,
    "sdk_raw": sdk_raw,
    "thin": thin,
    "agent": agent,
    "agent, labels": labelled,
    **{f"agent, {api}": partial(agent, api=api) for api in ("responses", "messages", "ollama")},
}
BASELINE = "sdk"


# --- the measurement --------------------------------------------------------------------------------------------------------


async def measure(name: str, url: str, turns: int, at_once: int) -> dict[str, float]:
    """Median milliseconds of a turn alone, tasks a second with `at_once` of them begun together, and what each of those adds to the largest memory, in KB."""
    async with (CONTENDERS | PEERS)[name](url) as turn:
        for number in range(20):
            assert await turn(number) == ANSWER
        times = []
        for number in range(turns):
            began = time.perf_counter()
            await turn(1000 + number)
            times.append(time.perf_counter() - began)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            for number in range(at_once):
                tasks.start_soon(turn, 100_000 + number)
        took = time.perf_counter() - began
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    return {"ms": statistics.median(times) * 1000, "tasks_per_second": at_once / took, "kb": grown / at_once}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contender", nargs="*", choices=[*CONTENDERS, *PEERS, []], help="which to run (the baseline always runs)")
    parser.add_argument("--peers", action="store_true", help="frameworks that others wrote too")
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    many_files()
    if options.one:
        print(json.dumps(asyncio.run(measure(options.one, options.url, options.turns, options.at_once))))
        return
    everyone = [*CONTENDERS, *(name for name in PEERS if options.peers or name in options.contender)]
    names = [name for name in everyone if not options.contender or name in options.contender or name == BASELINE]
    best = run(names, options.turns, options.at_once, options.rounds)
    if options.json:
        print(json.dumps(best))
    else:
        show(best)


def run(names: Sequence[str], turns: int, at_once: int, rounds: int) -> dict[str, dict[str, float]]:
    """The best of all rounds for each name; the rounds alternate, so that a busy minute hits everyone."""
    best: dict[str, dict[str, float]] = {}
    with server() as address:
        for _ in range(rounds):
            for name in names:
                python = python_of(name) if name in PEERS else sys.executable
                command = [python, __file__, "--one", name, "--url", f"{address}/v1", "--turns", str(turns), "--at-once", str(at_once)]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
                found = json.loads(done.stdout.splitlines()[-1])
                old = best.get(name, found)
                best[name] = {
                    "ms": min(old["ms"], found["ms"]),
                    "tasks_per_second": max(old["tasks_per_second"], found["tasks_per_second"]),
                    "kb": min(old["kb"], found["kb"]),
                }
    return best


def show(best: dict[str, dict[str, float]]) -> None:
    base = best[BASELINE]
    print(f"{'':16} {'ms a turn':>10} {'of ' + BASELINE:>8} {'tasks/s':>9} {'times ' + BASELINE:>10} {'KB each':>9}")
    for name, found in best.items():
        cost, rate = found["ms"] / base["ms"], found["tasks_per_second"] / base["tasks_per_second"]
        print(f"{name:16} {found['ms']:10.2f} {cost:8.2f} {found['tasks_per_second']:9.0f} {rate:10.1f} {found['kb']:9.0f}")


if __name__ == "__main__":
    main()
