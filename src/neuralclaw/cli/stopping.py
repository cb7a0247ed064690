"""Ctrl-C and SIGTERM: the first stops the turn and is recorded, the second leaves at once."""

import os
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
from anyio.abc import TaskStatus

CANCELLED = 130


class Stop:
    """Watches the two signals while `serve` runs.

    `how` is what the first one does; without it the whole run is given up. `interrupt`, where it is set, is what every Ctrl-C
    does instead: a chat stays.
    """

    def __init__(self, run: anyio.CancelScope) -> None:
        self._run = run
        self.how: Callable[[], Coroutine[Any, Any, None]] | None = None
        self.interrupt: Callable[[], Coroutine[Any, Any, None]] | None = None
        self.stopped = False

    async def serve(self, *, task_status: TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            task_status.started()
            async with anyio.create_task_group() as group:
                async for number in signals:
                    if number == signal.SIGINT and self.interrupt is not None:
                        group.start_soon(self.interrupt)
                        continue
                    if self.stopped:
                        leave_at_once()
                    self.stopped = True
                    if self.how is None:
                        self._run.cancel()
                    else:
                        group.start_soon(self.how)


def leave_at_once() -> None:
    """End the process now. What was written is kept; the system ends what ran under it."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(CANCELLED)
