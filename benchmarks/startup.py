"""How long commands take to start, as ratios to `python -c pass` in the same run.

    python benchmarks/startup.py [--runs 20]

The commands take turns, so that a busy minute hits everyone; the median of each counts.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

PROGRAM = [sys.executable, "-m", "neuralclaw"]
SCRIPT = Path(sys.executable).with_name("neuralclaw")


def commands(folder: str) -> dict[str, Sequence[str]]:
    program = [str(SCRIPT)] if SCRIPT.exists() else PROGRAM
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "--version": [*program, "--version"],
        "--help": [*program, "--help"],
        "run (offline)": [*program, "run", "--home", f"{folder}/home", "calculate 6*7"],
    }


def once(command: Sequence[str], folder: str) -> float:
    # Compiled modules are kept, as in any installation: an environment that forbids it would measure the compiler.
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE" and not k.endswith("_API_KEY")}
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=folder, env=environ)
    return time.perf_counter() - began


def measure(runs: int) -> dict[str, float]:
    """Median milliseconds of each command."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = commands(folder)
        times: dict[str, list[float]] = {name: [] for name in wanted}
        for number in range(runs + 2):
            for name, command in wanted.items():
                took = once(command, folder)
                if number >= 2:  # the first ones warm the caches
                    times[name].append(took)
    return {name: statistics.median(found) * 1000 for name, found in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options.runs)
    if options.json:
        print(json.dumps(found))
        return
    base = found["python -c pass"]
    for name, ms in found.items():
        print(f"{name:16} {ms:8.1f} ms {ms / base:6.1f} x")


if __name__ == "__main__":
    main()
