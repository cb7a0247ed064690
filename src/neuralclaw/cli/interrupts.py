"""One run of a command that takes its time: its output opened, its signals watched. The first Ctrl-C or SIGTERM stops the turn, the second leaves at once."""

import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import anyio
from anyio.abc import TaskStatus

from ..channels.nonblocking_output import NonblockingOutput

CANCELLED = 130
LAST_SECONDS = 0.1
"""How long leaving at once waits for what is on its way to the screen."""


class CommandRun:
    """What a running command has: its output `flow`, and what a signal does.

    `how` is what the first one does; without it the whole run is given up. `interrupt`, where it is set, is what every Ctrl-C
    does instead: a chat stays. With `hang_up` the end of the terminal (SIGHUP) is a first signal too; without it the process ends there and then,
    which leaves a turn that can be gone on with.
    """

    def __init__(self, flow: NonblockingOutput, *, hang_up: bool) -> None:
        self.flow, self._hang_up = flow, hang_up
        self.how: Callable[[], Coroutine[Any, Any, None]] | None = None
        self.interrupt: Callable[[], Coroutine[Any, Any, None]] | None = None
        self.stopped = False

    async def serve(self, work: Callable[..., Awaitable[int]], *given: object) -> int:
        """Do the work, which is called with what is given and this run, and which the signals stop; its exit code.

        Raises the `OSError` of output that cannot be written.
        """
        code = CANCELLED
        async with anyio.create_task_group() as group:
            await group.start(self._watch, group.cancel_scope)
            group.start_soon(self.flow.watch)
            code = await work(*given, self)
            group.cancel_scope.cancel()
        return CANCELLED if self.stopped and self.flow.given_up else code

    async def _watch(self, whole: anyio.CancelScope, *, task_status: TaskStatus[None]) -> None:
        ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN  # by nohup
        watched = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if self._hang_up and not ignored else [])]
        with anyio.open_signal_receiver(*watched) as signals:
            task_status.started()
            async with anyio.create_task_group() as group:
                async for number in signals:
                    if number == signal.SIGINT and self.interrupt is not None:
                        group.start_soon(self.interrupt)
                        continue
                    if self.stopped and number == signal.SIGHUP:
                        continue  # shells send it once more
                    if self.stopped:
                        leave_at_once(self.flow)
                    self.stopped = True
                    self.flow.hurry()
                    if self.how is None:
                        whole.cancel()
                    else:
                        group.start_soon(self.how)


def run_command(work: Callable[..., Awaitable[int]], *given: object, hang_up: bool = False) -> int:
    """The one way of a command that takes its time: opens the output, does the work, writes what is left of the output, gives the exit code.

    `work` is called with what is given, and behind it its `CommandRun`.
    """
    with NonblockingOutput(sys.stdout, sys.stderr) as flow:
        return anyio.run(CommandRun(flow, hang_up=hang_up).serve, work, *given)


def leave_at_once(flow: NonblockingOutput) -> None:
    """End the process now. What was written is kept; the system ends what ran under it."""
    flow.close(LAST_SECONDS)
    os._exit(CANCELLED)
