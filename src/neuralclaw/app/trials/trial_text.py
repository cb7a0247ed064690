"""What people read of `models.try`: what is about to happen, how far it is, the table of models side by side, and which could not be tried."""

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from ... import errors
from ...errors import LLMError, NeuralClawError
from .tasks import TASKS

Value = Mapping[str, Any]
MARKS = {True: "pass", False: "FAIL"}


def announcement(names: Sequence[str], tasks: int, costly: Sequence[str]) -> list[str]:
    """What is about to happen, and who pays."""
    some = "1 task" if tasks == 1 else f"{tasks} tasks"
    told = [f"{some} for {_and(names)}, each in a throw-away workspace, about {tasks * 4} model calls a model."]
    if costly:
        told.append(f"These are real calls: what {_and(costly)} charge{'s' if len(costly) == 1 else ''} for them is paid.")
    return told


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def progress_line(values: Sequence[Value]) -> str:
    """A line for the task that has ended; "" as long as no model call was answered."""
    results = values[-1]["results"]
    if not results or not any(value["calls"] for value in values):
        return ""
    last = results[-1]
    return f"{values[-1]['model']}  {len(results)}/{values[-1]['tasks']}  {MARKS[last['passed']]}  {last['task']}"


def failures_of(values: Sequence[Value]) -> list[NeuralClawError]:
    """Why models could not be tried, or not to the end."""
    failures: list[NeuralClawError] = []
    for value in values:
        if (error := value["error"]) is not None:
            kind = getattr(errors, error["kind"], LLMError)
            end = " to the end" if value["calls"] else ""
            failures.append(kind(f"{value['model']} could not be tried{end}: {error['text']}", hint=error["hint"]))
    return failures


def text_of(values: Sequence[Value]) -> str:
    """One row for each task with a mark for each model, the sums, and why tasks failed."""
    width = shutil.get_terminal_size((100, 24)).columns
    first = max(12, *(len(task.name) for task in TASKS)) + 2
    column = max(8, min(max((len(value["model"]) for value in values), default=8), (width - first) // max(1, len(values)) - 2))
    lines = ["TASK".ljust(first) + "  ".join(_fitted(value["model"], column) for value in values).rstrip()]
    for task in TASKS:
        marks = [_mark(value, task.name) for value in values]
        if any(marks):
            lines.append(task.name.ljust(first) + "  ".join((mark or "-").ljust(column) for mark in marks).rstrip())
    for name, totals in _sums(values):
        lines.append(name.ljust(first) + "  ".join(cell.ljust(column) for cell in totals).rstrip())
    for value in values:
        for result in value["results"]:
            if not result["passed"]:
                before = f"{value['model']}  " if len(values) > 1 else ""
                lines.append(f"{before}{result['task']}: {result['why']}")
    return "\n".join(lines)


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
