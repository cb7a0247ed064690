"""Whether a turn gets dearer as its session gets longer: the cost of turns around 100 and around 1,000 of one session.

    python benchmarks/long_session.py

Each turn is two model calls and one call of a `pure` tool, with an instant model in the process; journal, gate and chain are real.
"""

import argparse
import json
import statistics
import tempfile
import time

import anyio

from neuralclaw import Agent
from neuralclaw.testing import FunctionProvider, Reply
from neuralclaw.types.messages import Request, ToolMessage


async def think(request: Request) -> Reply:
    if isinstance(request.messages[-1], ToolMessage):
        return Reply("The result is 391.")
    return Reply(tool_calls=[{"name": "calculate", "arguments": {"expression": "17*23"}}])


async def measure(turns: int, around: int) -> list[float]:
    """Seconds of each turn; `around` more than `turns` are run."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        async with Agent.open(home=f"{folder}/home", workspace=folder, provider=FunctionProvider(think), environ={"HOME": folder}) as agent:
            for _ in range(turns + around):
                began = time.perf_counter()
                end = await agent.ask("What is 17 * 23?", session="long")
                times.append(time.perf_counter() - began)
                assert end.status == "done", end
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--around", type=int, default=40, help="turns on each side that the median is taken of")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    times = anyio.run(measure, 1000, options.around)
    early, late = (statistics.median(times[at - options.around : at + options.around]) * 1000 for at in (100, 1000))
    if options.json:
        print(json.dumps({"turn 100": early, "turn 1000": late}))
        return
    print(f"turn   100 {early:7.2f} ms\nturn 1,000 {late:7.2f} ms {late / early:6.2f} x")


if __name__ == "__main__":
    main()
