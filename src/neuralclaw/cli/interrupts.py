"""Ctrl-C and SIGTERM: the first stops the turn and is recorded, the second leaves at once."""

import os
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import anyio
from anyio.abc import TaskStatus

from ..channels.nonblocking_output import NonblockingOutput

CANCELLED = 130
LAST_SECONDS = 0.1
"""How long leaving at once waits for what is on its way to the screen."""


class StopRequest:
    """Watches the signals while `serve` runs.

    `how` is what the first one does; without it the whole run is given up. `interrupt`, where it is set, is what every Ctrl-C
    does instead: a chat stays. With `hang_up` the end of the terminal (SIGHUP) is a first signal too; without it the process ends there and then,
    which leaves a turn that can be gone on with.
    """

    def __init__(self, run: anyio.CancelScope, flow: NonblockingOutput, *, hang_up: bool = False) -> None:
        self._run, self._flow, self._hang_up = run, flow, hang_up
        self.how: Callable[[], Coroutine[Any, Any, None]] | None = None
        self.interrupt: Callable[[], Coroutine[Any, Any, None]] | None = None
        self.stopped = False

    async def serve(self, *, task_status: TaskStatus[None]) -> None:
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
                        leave_at_once(self._flow)
                    self.stopped = True
                    self._flow.hurry()
                    if self.how is None:
                        self._run.cancel()
                    else:
                        group.start_soon(self.how)


async def stoppable(work: Callable[[StopRequest], Awaitable[int]], flow: NonblockingOutput, hang_up: bool = False) -> int:
    """Do the work of a command, which the two signals stop, with `hang_up` also the end of the terminal; its exit code.

    Raises the `OSError` of output that cannot be written.
    """
    code = CANCELLED
    async with anyio.create_task_group() as group:
        stop = StopRequest(group.cancel_scope, flow, hang_up=hang_up)
        await group.start(stop.serve)
        group.start_soon(flow.watch)
        code = await work(stop)
        group.cancel_scope.cancel()
    return CANCELLED if stop.stopped and flow.given_up else code


def leave_at_once(flow: NonblockingOutput) -> None:
    """End the process now. What was written is kept; the system ends what ran under it."""
    flow.close(LAST_SECONDS)
    os._exit(CANCELLED)
