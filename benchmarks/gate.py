"""What the gate takes to decide about a command: `python benchmarks/gate.py`. 500 everyday commands, each several times; nothing is run."""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.safety.asking import READING, WORKING, fill
from tests.safety.fuzz_run import LineJudge

ROUNDS = 5


async def measure(workspace: Path) -> dict[str, float]:
    """Milliseconds of a decision, the facts about files looked up."""
    fill(workspace)
    judge = LineJudge(workspace, undo=True)
    times = []
    for _ in range(ROUNDS):
        for command in (*READING, *WORKING):
            begun = time.perf_counter()
            await judge.judge(command)
            times.append((time.perf_counter() - begun) * 1000)
    return {"median_ms": statistics.median(times), "p95_ms": statistics.quantiles(times, n=20)[-1]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        found = anyio.run(measure, Path(directory))
    print(json.dumps(found) if options.json else f"median {found['median_ms']:.2f} ms, 95th percentile {found['p95_ms']:.2f} ms; wanted: a median under 1 ms")


if __name__ == "__main__":
    main()
