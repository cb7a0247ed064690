"""Whether a turn gets dearer when a tool gave back 20 MB of metadata before it: turns of such a session and of one without, taken in turn.

    python benchmarks/large_metadata.py

Each pair of sessions has a first turn, whose tool gives back one line of text and a dictionary beside it: 20 MB in one session, an empty one in the
other. Then both have turns of two model calls and one call of a `pure` tool, in turn; then the home is closed and opened again, and they go on. All
turns are within the window of turns that a request is made of. The model answers at once; journal, gate and chain are real.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from neuralclaw import Agent, tool
from neuralclaw.testing import FunctionProvider, Reply
from neuralclaw.types.messages import Request, ToolMessage, UserMessage
from neuralclaw.types.tools import ToolResult

TURNS = 9
"""Turns of each session before the home is opened again, and after: with the first one fewer than the 20 that the window holds."""
KINDS = ("without", "20 MB")


async def think(request: Request) -> Reply:
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        return Reply("That is the result.")
    size = last.text.removeprefix("list ") if isinstance(last, UserMessage) and last.text.startswith("list ") else None
    if size is not None:
        return Reply(tool_calls=[{"name": "rows", "arguments": {"characters": int(size)}}])
    return Reply(tool_calls=[{"name": "calculate", "arguments": {"expression": "17*23"}}])


@tool(risk="LOW", effect="pure")
async def rows(characters: int) -> ToolResult:
    "List rows: metadata of so many characters."
    return ToolResult(content="listed", metadata={f"row {n}": "x" * 990 for n in range(characters // 1000)})


@asynccontextmanager
async def opened(folder: str) -> AsyncGenerator[Agent]:
    async with Agent.open(home=f"{folder}/home", workspace=folder, provider=FunctionProvider(think), tools=[rows], environ={"HOME": folder}) as agent:
        yield agent


async def turn(agent: Agent, session: str, text: str) -> float:
    began = time.perf_counter()
    end = await agent.ask(text, session=session)
    assert end.status == "done", end
    return (time.perf_counter() - began) * 1000


async def turns(agent: Agent, pairs: int) -> dict[str, list[float]]:
    """Milliseconds of the turns of each kind of session."""
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for number in range(TURNS):
        for pair in range(pairs):
            for kind in KINDS if number % 2 else reversed(KINDS):
                found[kind].append(await turn(agent, f"{kind[:2]}-{pair}", "What is 17 * 23?"))
    return found


async def measure(pairs: int, size: int) -> dict[str, dict[str, float]]:
    """Median milliseconds of the first turn, of those after it and of those after the home was opened again, for each kind of session."""
    first: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        async with opened(folder) as agent:
            await turn(agent, "warm", "What is 17 * 23?")
        async with opened(folder) as agent:
            for pair in range(pairs):
                for kind, characters in zip(KINDS, (0, size), strict=True):
                    first[kind].append(await turn(agent, f"{kind[:2]}-{pair}", f"list {characters}"))
            later = await turns(agent, pairs)
        async with opened(folder) as agent:
            again = await turns(agent, pairs)
    measured: dict[str, Any] = {"its own turn": first, "turns after it": later, "after opening again": again}
    return {name: {kind: statistics.median(times) for kind, times in found.items()} for name, found in measured.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20, help="sessions of each kind")
    parser.add_argument("--size", type=int, default=20_000_000, help="characters of metadata")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = anyio.run(measure, options.pairs, options.size)
    if options.json:
        print(json.dumps(found))
        return
    for name, ms in found.items():
        plain, heavy = (ms[kind] for kind in KINDS)
        print(f"{name:20} {plain:9.2f} ms {heavy:9.2f} ms {heavy / plain:8.2f} x")


if __name__ == "__main__":
    main()
