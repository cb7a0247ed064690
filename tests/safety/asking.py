"""How many everyday commands ask: `python -m tests.safety.asking` prints the table of docs/gate.md, `--list` the commands that ask."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import anyio

from neuralclaw.types.risk import Decision

from .fuzz_run import LineJudge

HERE = Path(__file__).parent
READING = (HERE / "everyday_reading.txt").read_text().splitlines()
WORKING = (HERE / "everyday_working.txt").read_text().splitlines()
SCRIPTS = ("run.sh", "build.sh", "scripts/test.sh", "scripts/build.py", "configure", "gradlew", "main")


def fill(workspace: Path) -> None:
    """The scripts that the commands name, and directories in which they work."""
    for name in SCRIPTS:
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text("#!/bin/sh\n")
        (workspace / name).chmod(0o755)
    for name in ("src", "tests", "docs"):
        (workspace / name).mkdir()


async def asking(workspace: Path, commands: Sequence[str], *, sandbox: bool) -> dict[Decision, list[str]]:
    """The commands by what the gate decides of them at trust low. `sandbox`: with one that has no network, under undo; else with neither."""
    judge = LineJudge(workspace, undo=sandbox, confined=sandbox)
    found: dict[Decision, list[str]] = {decision: [] for decision in Decision}
    for command in commands:
        found[(await judge.judge(command)).decision].append(command)
    return found


async def table(workspace: Path) -> tuple[str, list[str]]:
    """The rows of the page, and the commands that ask."""
    rows, asked = [], []
    for name, commands in (("reading", READING), ("working", WORKING)):
        for words, sandbox in (("with a sandbox and undo", True), ("without them", False)):
            found = await asking(workspace, commands, sandbox=sandbox)
            run, ask, refused = (len(found[decision]) for decision in (Decision.ALLOW, Decision.ASK, Decision.FORBID))
            rows.append(f"| {len(commands)} {name} | {words} | {run} | {ask} | {refused} |")
            asked += [f"{name}, {words}: {one}" for decision in (Decision.ASK, Decision.FORBID) for one in found[decision]] if sandbox else []
    return "\n".join(rows), asked


async def main() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        fill(Path(directory))
        rows, asked = await table(Path(directory))
    print(rows, *(asked if "--list" in sys.argv else ()), sep="\n")  # noqa: T201


if __name__ == "__main__":
    anyio.run(main)
