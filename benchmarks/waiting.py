"""What many messages that wait in one session cost, in asks of the same session alone: `python benchmarks/waiting.py`.

Messages are sent at once with `agent.ask`; each gets a turn of its own, one after the other. Each number of them runs in a process of its own. One
ask: the median of 100, one after the other, in a session as long as its window of turns, in the same process. The model answers at once with one
short reply; journal, gate and chain are real. Memory: what the messages add to the largest memory of the process.
"""

import argparse
import cProfile
import json
import pstats
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import anyio

from neuralclaw import Agent
from neuralclaw.testing import FunctionProvider
from neuralclaw.types.messages import Request

ALONE = 100
WINDOW = 20
"""Turns of history that a request holds."""


async def think(request: Request) -> str:
    return "The result is 391."


async def measure(count: int, profile: bool) -> dict[str, float]:
    """Milliseconds of one ask, seconds of `count` at once, and the megabytes that those add."""
    with tempfile.TemporaryDirectory() as folder:
        async with Agent.open(home=f"{folder}/home", workspace=folder, provider=FunctionProvider(think), environ={"HOME": folder}) as agent:

            async def ask(session: str) -> None:
                end = await agent.ask("What is 17 * 23?", session=session)
                assert (end.status, end.text) == ("done", "The result is 391."), end

            times = []
            for number in range(WINDOW + ALONE):
                began = time.perf_counter()
                await ask("alone")
                if number >= WINDOW:
                    times.append(time.perf_counter() - began)
            memory, profiler, began = megabytes(), cProfile.Profile(), time.perf_counter()
            if profile:
                profiler.enable()
            async with anyio.create_task_group() as tasks:
                for _ in range(count):
                    tasks.start_soon(ask, "waiting")
            took = time.perf_counter() - began
            if profile:
                profiler.disable()
                pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(30)
    one = statistics.median(times)
    return {"one_ms": one * 1000, "seconds": took, "times_one": took / one, "mb": megabytes() - memory}


def megabytes() -> float:
    """The largest memory this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="*", type=int, default=[1000, 2000])
    parser.add_argument("--profile", action="store_true", help="where the time goes, on stderr; the figures are then larger")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(anyio.run(measure, options.one, options.profile)))
        return
    more = ["--profile"] if options.profile else []
    found = {count: json.loads(subprocess.check_output([sys.executable, __file__, "--one", str(count), *more])) for count in options.count}
    if options.json:
        print(json.dumps(found))
        return
    for count, f in found.items():
        print(f"{count:6,} waiting {f['seconds']:7.2f} s {f['times_one']:8.0f} times one ({f['one_ms']:.2f} ms) {f['mb']:7.0f} MB")


if __name__ == "__main__":
    main()
