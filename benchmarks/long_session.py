"""Whether a turn gets dearer as its session gets longer: the cost of turns around 100 of one session and around 1,000 of another, taken in turn.

    python benchmarks/long_session.py

Each turn is two model calls and one call of a `pure` tool, with an instant model in the process; journal, gate and chain are real.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Sequence

import anyio

from neuralclaw import Agent
from neuralclaw.testing import FunctionProvider, Reply
from neuralclaw.types.messages import Request, ToolMessage


async def think(request: Request) -> Reply:
    if isinstance(request.messages[-1], ToolMessage):
        return Reply("The result is 391.")
    return Reply(tool_calls=[{"name": "calculate", "arguments": {"expression": "17*23"}}])


async def measure(places: Sequence[int], around: int) -> list[float]:
    """The median milliseconds of the turns around each place. Both sessions are as long as they must be first; then each has a turn after the other's."""
    times: list[list[float]] = [[] for _ in places]
    with tempfile.TemporaryDirectory() as folder:
        async with Agent.open(home=f"{folder}/home", workspace=folder, provider=FunctionProvider(think), environ={"HOME": folder}) as agent:

            async def turn(place: int) -> float:
                began = time.perf_counter()
                end = await agent.ask("What is 17 * 23?", session=f"of-{place}")
                assert end.status == "done", end
                return time.perf_counter() - began

            for place in places:
                for _ in range(place - around):
                    await turn(place)
            for _ in range(2 * around):
                for found, place in zip(times, places, strict=True):
                    found.append(await turn(place))
    return [statistics.median(found) * 1000 for found in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--around", type=int, default=40, help="turns on each side that the median is taken of")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    early, late = anyio.run(measure, (100, 1000), options.around)
    if options.json:
        print(json.dumps({"turn 100": early, "turn 1000": late}))
        return
    print(f"turn   100 {early:7.2f} ms\nturn 1,000 {late:7.2f} ms {late / early:6.2f} x")


if __name__ == "__main__":
    main()
