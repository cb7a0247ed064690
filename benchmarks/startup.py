"""How long commands take to start, as ratios to `python -c pass` in the same run.

    python benchmarks/startup.py [--runs 20] [--cold-runs 5]

The commands take turns, so that a busy minute hits everyone; the median of each counts. `warm`: as in daily use. `uncompiled`: no compiled module is
there, and none is kept. `cold`: the files of Python, of the product and of what it imports are taken out of the page cache before each run; pages that
another process has mapped stay there, as they do on a machine in use.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

PROGRAM = [sys.executable, "-m", "neuralclaw"]
SCRIPT = Path(sys.executable).with_name("neuralclaw")
WAYS = ("warm", "uncompiled", "cold")


def commands(folder: str) -> dict[str, Sequence[str]]:
    program = [str(SCRIPT)] if SCRIPT.exists() else PROGRAM
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "--version": [*program, "--version"],
        "--help": [*program, "--help"],
        "run (offline)": [*program, "run", "--home", f"{folder}/home", "calculate 6*7"],
    }


def environment(way: str, folder: str) -> Mapping[str, str]:
    """Compiled modules are kept, as in any installation, unless the compiler is what is measured."""
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE" and not k.endswith("_API_KEY")}
    return environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": f"{folder}/none"} if way == "uncompiled" else environ


def files() -> list[str]:
    """The files that a start may read: Python itself, its library, installed packages, the product."""
    import neuralclaw

    roots = {Path(os.__file__).parent, Path(sys.prefix), Path(neuralclaw.__file__).parent}
    found = [str(path) for root in roots for path in root.rglob("*") if path.suffix in (".py", ".pyc", ".so", ".pth", "") and path.is_file()]
    return [str(Path(sys.executable).resolve()), *found]


def forget(paths: Sequence[str]) -> None:
    """Take files out of the page cache."""
    for path in paths:
        try:
            file = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)


def once(command: Sequence[str], folder: str, environ: Mapping[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=folder, env=environ)
    return time.perf_counter() - began


def measure(runs: int, way: str) -> dict[str, float]:
    """Median milliseconds of each command."""
    paths = files() if way == "cold" else []
    os.sync()  # only what is on the disk can leave the page cache
    with tempfile.TemporaryDirectory() as folder:
        wanted, environ = commands(folder), environment(way, folder)
        times: dict[str, list[float]] = {name: [] for name in wanted}
        for number in range(runs + 2):
            for name, command in wanted.items():
                forget(paths)
                took = once(command, folder, environ)
                if number >= 2:  # the first ones warm the caches
                    times[name].append(took)
    return {name: statistics.median(found) * 1000 for name, found in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--cold-runs", type=int, default=5, help="runs of each other way")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {way: measure(options.runs if way == "warm" else options.cold_runs, way) for way in WAYS}
    if options.json:
        print(json.dumps(found))
        return
    for way, of in found.items():
        base = of["python -c pass"]
        for name, ms in of.items():
            print(f"{way:12} {name:16} {ms:8.1f} ms {ms / base:6.1f} x")


if __name__ == "__main__":
    main()
