"""What a home of 100,000 turns costs beside an empty one: `python benchmarks/large_home.py`.

The home is written through the store: a real turn of the product (two model calls, one call of a tool) is read and appended again, ten turns in
each of 10,000 sessions, and one session more of 1,000. Every figure is one fresh process on each of two homes, taken in turn: the large one, and one
with a single turn. The page cache is warm. The model answers at once; journal, gate and chain are real.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

TURNS = 100_000
WORKER = str(Path(__file__).with_name("homes.py"))  # what a process inherits counts as its memory: this one imports nothing of the product

IN_PROCESS = {
    "open and close": "",
    "open, a first turn": "new",
    "open, a turn of the session of 1,000": "long",
}
"""What a process does with Python, and the session its turn is in."""
COMMANDS: dict[str, Sequence[str]] = {
    "run": ("run", "calculate 6*7"),
    "run --session NEW": ("run", "--session", "{new}", "calculate 6*7"),
    "run --continue": ("run", "--continue", "calculate 6*7"),
    "run --resume PREFIX": ("run", "--resume", "lon", "calculate 6*7"),
    "sessions show PREFIX --after": ("sessions", "show", "lon", "--after", "1000000"),
    "sessions list --unfinished": ("sessions", "list", "--unfinished"),
    "approvals list": ("approvals", "list"),
    "sessions list": ("sessions", "list", "--json"),
}


def process(command: Sequence[str], folder: str) -> tuple[float, int]:
    """Seconds of a process and the largest memory it had, in KB."""
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE" and not k.endswith("_API_KEY")} | {"HOME": folder}
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder, env=environ) as running:
        assert running.stderr is not None
        said = running.stderr.read()
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{said.decode()[-3000:]}")
    return time.perf_counter() - began, used.ru_maxrss


def command(name: str, home: str, folder: str, run: int) -> list[str]:
    if name in IN_PROCESS:
        session = IN_PROCESS[name]
        return [sys.executable, WORKER, home, folder, f"new-{run}" if session == "new" else session]
    words = [word.format(new=f"n{run}") for word in COMMANDS[name]]
    return [sys.executable, "-m", "neuralclaw", "--home", home, *words]


def measure(homes: dict[str, str], folder: str, runs: int, names: Sequence[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Median milliseconds and largest memory (MB) of each action on each home; the homes take turns."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name in names:
        taken: dict[str, list[tuple[float, int]]] = {size: [] for size in homes}
        for run in range(runs + 1):
            for size, home in homes.items():
                took = process(command(name, home, folder, run), folder)
                if run:  # the first ones warm the caches
                    taken[size].append(took)
        found[name] = {size: {"ms": statistics.median(s for s, _ in times) * 1000, "mb": max(kb for _, kb in times) / 1024} for size, times in taken.items()}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--only", action="append", choices=[*IN_PROCESS, *COMMANDS], help="measure only this (may be given several times)")
    parser.add_argument("--keep", help="a place for the large home: built where nothing is, used and kept where it stands already")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = f"{options.keep}.work" if options.keep else temporary  # the workspace of its sessions
        Path(folder).mkdir(exist_ok=True)
        homes = {"empty": f"{temporary}/empty", "large": options.keep or f"{temporary}/large"}
        subprocess.run([sys.executable, WORKER, homes["empty"], folder, "long"], check=True)
        began = time.perf_counter()
        if not Path(homes["large"]).exists():
            subprocess.run([sys.executable, WORKER, homes["large"], folder, "--turns", str(options.turns)], check=True)
        built = time.perf_counter() - began
        found = measure(homes, folder, options.runs, options.only or [*IN_PROCESS, *COMMANDS])
        size = sum(file.stat().st_size for file in Path(homes["large"]).glob("neuralclaw.db*"))
        if options.keep is None:
            shutil.rmtree(homes["large"])
    if options.json:
        print(json.dumps({"turns": options.turns, "size_mb": size / 2**20, "actions": found}))
        return
    print(f"{options.turns:,} turns, {size / 2**20:.0f} MB, built in {built:.0f} s")
    for name, of in found.items():
        small, large = of["empty"], of["large"]
        print(f"{name:40} {small['ms']:8.1f} ms {large['ms']:8.1f} ms {large['ms'] / small['ms']:6.2f} x {small['mb']:6.0f} MB {large['mb']:6.0f} MB")


if __name__ == "__main__":
    main()
