"""`neuralclaw models try`: models side by side over small real tasks, as a table."""

import argparse
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from .. import config
from ..app.settings_verbs import settings_desk
from ..app.trials.tasks import TASKS
from ..app.trials.trial_verb import asked, chosen, full_names, paid
from ..capability import Verb
from ..channels.nonblocking_output import NonblockingOutput
from ..channels.screen import Screen
from ..config import process_environment
from . import output, verb_rows
from .interrupts import CANCELLED, CommandRun, run_command

Value = Mapping[str, Any]
MARKS = {True: "pass", False: "FAIL"}


def try_command(row: Verb, args: argparse.Namespace) -> int:
    """Run `models try` by its row."""
    return run_command(lambda run: _tried(row, args, run), hang_up=True)


async def _tried(row: Verb, args: argparse.Namespace, run: CommandRun) -> int:
    """Try them and show what came of it; Ctrl-C shows what was measured so far."""
    flow, given = run.flow, verb_rows.given(row, args)
    wanted, err = asked(**given), output.screen(flow.err)
    watched = _TrialProgress(err)
    ended = False
    try:
        async with settings_desk(config.SettingsRequest(args.home, process_environment.environ)) as desk:
            config.refuse_caps(desk.loaded)
            names = await full_names(desk.models, wanted.models)
            _announce(err, names, len(chosen(wanted.tasks)) * wanted.runs, [name for name in names if paid(desk.loaded, name)])
            with anyio.CancelScope() as scope:

                async def cancel() -> None:
                    scope.cancel()

                run.how = cancel
                await desk.do(row, progress=watched.saw, **given)
        ended = True
    finally:
        if not ended and watched.measured:
            _report(args, flow, watched.value)
    if scope.cancelled_caught:
        err.line("stopped: this was measured so far", "yellow")
    _report(args, flow, watched.value)
    return CANCELLED if scope.cancelled_caught else int(any(value["error"] for value in watched.value))


def _report(args: argparse.Namespace, flow: NonblockingOutput, values: Sequence[Value]) -> None:
    """Show what was measured, and on standard error which models could not be tried."""
    if args.json:
        output.json_line(values, flow.out)
    else:
        show(values, output.screen(flow.out))
    err = output.screen(flow.err)
    for value in values:
        if value["error"] is not None:
            end = " to the end" if value["calls"] else ""
            err.trouble(value["error"]["kind"], f"{value['model']} could not be tried{end}: {value['error']['text']}")
            if value["error"]["hint"]:
                err.line(f"   {value['error']['hint']}", "dim")


def _announce(err: Screen, names: Sequence[str], tasks: int, costly: Sequence[str]) -> None:
    """What is about to happen, and who pays."""
    some = "1 task" if tasks == 1 else f"{tasks} tasks"
    err.line(f"{some} for {_and(names)}, each in a throw-away workspace, about {tasks * 4} model calls a model.", "dim")
    if costly:
        err.line(f"These are real calls: what {_and(costly)} charge{'s' if len(costly) == 1 else ''} for them is paid.", "yellow")


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


class _TrialProgress:
    """The value so far; at a terminal a line for each task as it ends."""

    def __init__(self, err: Screen) -> None:
        self._err = err
        self.value: list[dict[str, Any]] = []

    @property
    def measured(self) -> bool:
        """Whether any model call was answered."""
        return any(value["calls"] for value in self.value)

    def saw(self, value: list[dict[str, Any]]) -> None:
        self.value = value
        results = value[-1]["results"]
        if self._err.tty and results:
            last = results[-1]
            self._err.line(f"{value[-1]['model']}  {len(results)}/{value[-1]['tasks']}  {MARKS[last['passed']]}  {last['task']}", "dim")


def show(values: Sequence[Value], screen: Screen) -> None:
    """One row for each task with a mark for each model, the sums, and why tasks failed."""
    width = shutil.get_terminal_size((100, 24)).columns
    first = max(12, *(len(task.name) for task in TASKS)) + 2
    column = max(8, min(max((len(value["model"]) for value in values), default=8), (width - first) // max(1, len(values)) - 2))
    screen.line("TASK".ljust(first) + "  ".join(_fitted(value["model"], column) for value in values).rstrip(), "bold")
    for task in TASKS:
        marks = [_mark(value, task.name) for value in values]
        if any(marks):
            screen.line(task.name.ljust(first) + "  ".join((mark or "-").ljust(column) for mark in marks).rstrip())
    for name, cells in _sums(values):
        screen.line(name.ljust(first) + "  ".join(cell.ljust(column) for cell in cells).rstrip(), "bold" if name == "passes" else "")
    for value in values:
        for result in value["results"]:
            if not result["passed"]:
                before = f"{value['model']}  " if len(values) > 1 else ""
                screen.line(f"{before}{result['task']}: {result['why']}", "dim")


def _fitted(text: str, width: int) -> str:
    return (text if len(text) <= width else "…" + text[1 - width :]).ljust(width)


def _mark(value: Value, task: str) -> str:
    """`pass`, `FAIL`, or how often it passed of several runs; "" where it was not run."""
    found = [result["passed"] for result in value["results"] if result["task"] == task]
    if len(found) < 2:
        return MARKS[found[0]] if found else ""
    return f"{sum(found)}/{len(found)}"


def _sums(values: Sequence[Value]) -> list[tuple[str, list[str]]]:
    usage = [value["usage"] for value in values]
    return [
        ("passes", [f"{value['passes']} of {value['tasks']}" for value in values]),
        ("calls", [f"{value['calls']}" for value in values]),
        ("tokens in", [f"{one['input']:,}" for one in usage]),
        ("cached", [f"{one['cached']:,}" for one in usage]),
        ("tokens out", [f"{one['output']:,}" for one in usage]),
        ("cost, USD", ["unknown" if one["usd"] is None else f"{one['usd']:.4f}" for one in usage]),
        ("time, s", [f"{value['duration_ms'] / 1000:.1f}" for value in values]),
    ]
