"""The same turn in frameworks that others wrote, each in an environment of its own so that their requirements do not meet.

    python benchmarks/peers.py             sets up all of them (some minutes, once) and runs one turn of each

`benchmarks/turn.py --peers` measures them beside our own contenders, in the same run. Each is used as in a program that stays up: streaming, its own
OpenAI client for Chat Completions, made once with its connections kept, the agent made once too (in strands one for each conversation, which it
holds), one tool, a fresh conversation a turn; what it would send home is switched off.
"""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from instant import server

Turn = Callable[[int], Awaitable[str]]
"""One whole turn; the number makes sessions of parallel turns distinct. Returns the answer."""
PLACE = Path(__file__).resolve().parent.parent / ".bench-parts"
CLIENT: dict[str, Any] = {"api_key": "none", "max_retries": 0, "timeout": 600}
"""No retry, and no failure where 1,000 connections at once take longer than the five seconds of the default."""
QUESTION = "Which is larger, 17 * 23 or 400?"

REQUIREMENTS = {
    "pydantic-ai": ("pydantic-ai-slim[openai]==2.68.0",),
    "openai-agents": ("openai-agents==0.24.0",),
    "langchain": ("langchain==1.4.7", "langchain-openai==1.7.3"),
    "agno": ("agno==3.1.10", "openai"),
    "strands": ("strands-agents[openai]==1.62.0",),
}
"""Peer -> what its environment is made of."""


def calculate(expression: str) -> str:
    """Calculate.

    Args:
        expression: The product to calculate.
    """
    left, _, right = expression.partition("*")
    return str(int(left) * int(right))


@asynccontextmanager
async def pydantic_ai(url: str) -> AsyncGenerator[Turn]:
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    agent = Agent(OpenAIChatModel("instant", provider=OpenAIProvider(openai_client=AsyncOpenAI(base_url=url, **CLIENT))), tools=[calculate])

    async def turn(number: int) -> str:
        async with agent.run_stream(QUESTION) as result:
            return "".join([piece async for piece in result.stream_text(delta=True, debounce_by=None)])

    yield turn


@asynccontextmanager
async def openai_agents(url: str) -> AsyncGenerator[Turn]:
    from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    model = OpenAIChatCompletionsModel(model="instant", openai_client=AsyncOpenAI(base_url=url, **CLIENT))
    agent = Agent(name="instant", model=model, tools=[function_tool(calculate)])

    async def turn(number: int) -> str:
        result = Runner.run_streamed(agent, QUESTION)
        async for _ in result.stream_events():
            pass
        return str(result.final_output)

    yield turn


@asynccontextmanager
async def langchain(url: str) -> AsyncGenerator[Turn]:
    from langchain.agents import create_agent
    from langchain.tools import tool
    from langchain_openai import ChatOpenAI

    agent: Any = create_agent(ChatOpenAI(model="instant", base_url=url, streaming=True, **CLIENT), tools=[tool(calculate)])

    async def turn(number: int) -> str:
        text = ""
        async for chunk, _ in agent.astream({"messages": [{"role": "user", "content": QUESTION}]}, stream_mode="messages"):
            if type(chunk).__name__ == "AIMessageChunk":
                text += chunk.text
        return text

    yield turn


@asynccontextmanager
async def agno(url: str) -> AsyncGenerator[Turn]:
    from agno.agent import Agent
    from agno.models.openai.like import OpenAILike

    agent = Agent(model=OpenAILike(id="instant", base_url=url, **CLIENT), tools=[calculate], telemetry=False)

    async def turn(number: int) -> str:
        events = agent.arun(QUESTION, stream=True, session_id=f"turn-{number}")
        return "".join([event.content async for event in events if type(event).__name__ == "RunContentEvent"])

    yield turn


@asynccontextmanager
async def strands(url: str) -> AsyncGenerator[Turn]:
    from openai import AsyncOpenAI
    from strands import Agent, tool
    from strands.models.openai import OpenAIModel

    made = tool(calculate)
    async with AsyncOpenAI(base_url=url, **CLIENT) as client:
        model = OpenAIModel(client=client, model_id="instant")

        async def turn(number: int) -> str:
            agent = Agent(model=model, tools=[made], callback_handler=None)  # it holds one conversation
            pieces: list[str] = [event["data"] async for event in agent.stream_async(QUESTION) if "data" in event]
            return "".join(pieces)

        yield turn


PEERS = {"pydantic-ai": pydantic_ai, "openai-agents": openai_agents, "langchain": langchain, "agno": agno, "strands": strands}


def python_of(name: str) -> str:
    """The Python of a peer's environment, made if it is not there."""
    place = PLACE / name
    python = place / "bin" / "python"
    if not (place / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "anyio", *REQUIREMENTS[name]], check=True)
        (place / "ready").touch()
    return str(python)


async def once(name: str, url: str) -> str:
    """The answer of one turn."""
    async with PEERS[name](url) as turn:
        return await turn(0)


def main() -> None:
    with server() as address:
        for name in PEERS:
            command = [python_of(name), __file__, name, f"{address}/v1"]
            print(f"{name:14} {subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()}")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(asyncio.run(once(*sys.argv[1:])))
    else:
        main()
