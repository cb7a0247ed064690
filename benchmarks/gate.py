"""What the gate takes to decide about a command: `python benchmarks/gate.py`. 250 reading, 250 working and 250 attacking commands; nothing is run.

Only the first decision about each line counts, so that nothing that is kept from an earlier one helps."""

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
from tests.safety.fuzz_lines import lines
from tests.safety.fuzz_run import LineJudge

EACH, SEED = 250, 12
WARM_UP = ("ls", "make", "git -c core.pager=x log", "echo $(date) | wc -l", "curl https://a.example", "touch a")


async def measure(workspace: Path) -> dict[str, float]:
    """Milliseconds of a decision, the facts about files looked up."""
    fill(workspace)
    judge = LineJudge(workspace, undo=True)
    attacking = list(dict.fromkeys(line.text for line in lines(SEED, 4 * EACH)))[:EACH]
    for command in WARM_UP:  # loads the grammar and the tables
        await judge.judge(command)
    times: dict[str, list[float]] = {"reading": [], "working": [], "attacking": []}
    for corpus, commands in zip(times, (READING, WORKING, attacking), strict=True):
        for command in commands:
            begun = time.perf_counter()
            await judge.judge(command)
            times[corpus].append((time.perf_counter() - begun) * 1000)
    every = [one for found in times.values() for one in found]
    medians = {f"{corpus}_ms": statistics.median(found) for corpus, found in times.items()}
    return {"median_ms": statistics.median(every), "p95_ms": statistics.quantiles(every, n=20)[-1], **medians}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        found = anyio.run(measure, Path(directory))
    each = ", ".join(f"{corpus} {found[f'{corpus}_ms']:.2f}" for corpus in ("reading", "working", "attacking"))
    line = f"median {found['median_ms']:.2f} ms, 95th percentile {found['p95_ms']:.2f} ms; medians: {each}; wanted: a median under 1 ms"
    print(json.dumps(found) if options.json else line)


if __name__ == "__main__":
    main()
