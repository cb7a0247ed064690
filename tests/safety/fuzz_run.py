"""Fuzzes the gate: `python -m tests.safety.fuzz_run --seed 1 --lines 100000` prints every line that is called LOW, is allowed, and changes something.

Lines are judged in this process by the real gate, under the settings as they come and without undo; those called LOW and allowed run in a sandbox.
"""

import argparse
import logging
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import anyio

from neuralclaw import config
from neuralclaw.app.clock import SystemClock
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.tools.terminal import terminal
from neuralclaw.types.actions import Action
from neuralclaw.types.risk import Decision, Risk
from neuralclaw.types.verdicts import Verdict

from .fuzz_lines import FuzzLine, lines
from .fuzz_sandbox import changes_of, prepare

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
TERMINAL = terminal(None, {}).spec  # type: ignore[arg-type]
BATCH = 2000


class FuzzReport(NamedTuple):
    """What came of the lines: how many were judged and run, which ones changed something, which ones the gate could not judge."""

    judged: int
    ran: int
    wrong: list[FuzzLine]
    crashed: list[str]


class LineJudge:
    """The gate as `policy explain` has it, for commands in one workspace. `undo`: it covers all; `confined`: a sandbox holds commands."""

    def __init__(self, workspace: Path, *, undo: bool = False, confined: bool = True) -> None:
        policy = config.policy(config.Settings(), own_data=[f"{workspace}/../home"], person_home="")

        async def lacks(_: str, __: bool) -> str | None:
            return None if undo else ""

        async def unconfined() -> bool:
            return not confined

        facts = SystemFacts(policy, SYSTEM_PATH, undo_lacks=lacks, unconfined=unconfined)
        self._gate = PolicyGate(policy, facts, SystemClock(), analyse)
        self._workspace = str(workspace)

    async def judge(self, text: str) -> Verdict:
        """The verdict on a command line."""
        return await self._gate.judge(Action(session="s", turn=1, call_id="c", spec=TERMINAL, arguments={"command": text}, workspace=self._workspace))


def reads(verdict: Verdict) -> bool:
    """Whether the gate lets a line run because it only reads."""
    return verdict.decision is Decision.ALLOW and verdict.risk is Risk.LOW


def is_crash(verdict: Verdict) -> bool:
    """Whether the gate failed while it judged."""
    return any("safety check itself failed" in reason for reason in verdict.reasons)


async def fuzz(place: Path, found: Iterable[FuzzLine], *, run_at_most: int | None = None) -> FuzzReport:
    """Judge these lines in `place`, which is prepared, and run those called LOW. `run_at_most`: of them the first so many different ones."""
    judge = LineJudge(place)
    low: dict[str, FuzzLine] = {}
    crashed = []
    count = 0
    for line in found:
        count += 1
        verdict = await judge.judge(line.text)
        if is_crash(verdict):
            crashed.append(line.text)
        if reads(verdict):
            low.setdefault(line.text, line)
    chosen = list(low.values())[:run_at_most]
    changes = changes_of(place, [line.text for line in chosen])
    return FuzzReport(count, len(chosen), [line for line, changed in zip(chosen, changes, strict=True) if changed], crashed)


async def minimised(place: Path, text: str) -> str:
    """A shorter line that is still called LOW and still changes something: pieces are left out while that holds."""
    judge = LineJudge(place)

    async def shows(candidates: Sequence[str]) -> str | None:
        low = [one for one in candidates if reads(await judge.judge(one))]
        changes = changes_of(place, low) if low else []
        return next((one for one, changed in zip(low, changes, strict=True) if changed), None)

    return await _shortened(text, shows)


async def _shortened(text: str, shows: Callable[..., object]) -> str:
    size = max(1, len(text) // 2)
    while size:
        shorter = await shows([text[:at] + text[at + size :] for at in range(0, len(text), max(1, size // 2))])  # type: ignore[misc]
        if isinstance(shorter, str):
            text = shorter
            size = min(size, len(text))
        else:
            size //= 2
    return text


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lines", type=int, default=5000)
    parser.add_argument("--minimise", type=int, default=0, metavar="N", help="shorten the first N wrong lines of each kind")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    counted, ran, wrong, crashed = 0, 0, [], []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        place = Path(directory)
        prepare(place)
        made = lines(options.seed, options.lines)
        while batch := list(islice(made, BATCH)):
            report = await fuzz(place, batch)
            counted, ran = counted + report.judged, ran + report.ran
            wrong += report.wrong
            crashed += report.crashed
            print(f"seed {options.seed}: {counted} judged, {ran} called LOW and run, {len(wrong)} changed something, {len(crashed)} crashed", flush=True)  # noqa: T201
        shown: Counter[str] = Counter()
        for line in wrong:
            shown[line.kind] += 1
            if shown[line.kind] <= options.minimise:
                line = line._replace(text=await minimised(place, line.text))
            print(f"{line.kind}: {line.text!r}")  # noqa: T201
        for text in crashed:
            print(f"crashed: {text!r}")  # noqa: T201


if __name__ == "__main__":
    anyio.run(main)
