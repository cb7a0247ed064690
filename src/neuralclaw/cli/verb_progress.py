"""The command of a verb that says how far it is: lines on standard error while it runs, and what there is where it is stopped."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from ..capability import Verb
from ..channels.screen import Screen
from . import output
from .interrupts import CANCELLED, CommandRun, run_command

ProgressNotice = Callable[[str], None]
GetValue = Callable[[Mapping[str, Any], ProgressNotice], Awaitable[Any]]
"""Runs the verb with these arguments."""
ShowValue = Callable[[Any], int]
"""Shows a value and gives the exit code of the command."""


class VerbProgress:
    """The value so far; at a terminal its line."""

    def __init__(self, row: Verb) -> None:
        self._row = row
        self.value: Any = None
        self.seen = self.told = self.ended = self.stopped = False
        """`seen`: there is a value. `told`: one of them had a line."""

    def saw(self, err: Screen, value: Any) -> None:
        """The verb has come so far."""
        self.value, self.seen = output.plain(value), True
        line = self._row.progress(self.value) if self._row.progress is not None else ""
        self.told = self.told or bool(line)
        if line and err.tty:
            err.line(line, "dim")


def run_verb(row: Verb, given: Mapping[str, Any], get: GetValue, show: ShowValue) -> int:
    """Run the verb to its end. The first Ctrl-C, SIGTERM or SIGHUP stops it; then, and where it fails, what there is so far is shown."""
    progress = VerbProgress(row)
    try:
        run_command(lambda run: _run(given, get, progress, run), hang_up=True)
    finally:
        if not progress.ended and progress.told:
            show(progress.value)
    if progress.stopped:
        output.err().line("stopped: this was done so far" if progress.seen else "stopped", "yellow")
    code = show(progress.value) if progress.seen or not progress.stopped else 0
    return CANCELLED if progress.stopped else code


async def _run(given: Mapping[str, Any], get: GetValue, progress: VerbProgress, run: CommandRun) -> int:
    err = output.screen(run.flow.err)
    with anyio.CancelScope() as scope:

        async def cancel() -> None:
            scope.cancel()

        run.how = cancel
        arguments = {**given, "progress": lambda value: progress.saw(err, value)}
        progress.value = await get(arguments, lambda text: err.line(text, "yellow"))
    progress.stopped, progress.ended = scope.cancelled_caught, True
    return 0
