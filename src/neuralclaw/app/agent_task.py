"""An agent held open by a task of its own: started in one task (a cell of a notebook), closed in another.

What an agent runs lives in a task group, and a task group is left by the task that entered it. So this task enters, waits, and leaves.
"""

import asyncio
import atexit
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

from ..errors import AgentError, UsageError

T = TypeVar("T")

EXIT_SECONDS = 5.0
"""How long the end of the program waits for agents that nobody closed."""
_open: set["AgentTask[object]"] = set()
_watching = False


class AgentTask(Generic[T]):
    """A context manager entered and left by one task, for callers in any task of its event loop."""

    def __init__(self, opening: AbstractAsyncContextManager[T]) -> None:
        self._opening = opening
        self._loop = asyncio.get_running_loop()
        self._entered: asyncio.Future[T] = self._loop.create_future()
        self._leave = asyncio.Event()
        self._task = asyncio.create_task(self._hold(), name="neuralclaw agent")
        self._task.add_done_callback(self._ended)
        self._failure: BaseException | None = None

    async def enter(self) -> T:
        """What the context manager gives. Raises what it raises; when this wait is cancelled, it is left again."""
        _remember(self)
        either: set[asyncio.Future[Any]] = {self._task, self._entered}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._leave.set()
            self._task.cancel()
            raise
        if self._entered.done():
            return self._entered.result()
        failure, self._failure = self._failure, None
        raise failure or AgentError("the agent was closed while it was opened")

    async def leave(self) -> None:
        """Leave it and wait for the end; again does nothing. Raises what its task failed with, once."""
        if not self._task.done():
            self._here()
            self._leave.set()
            await asyncio.wait({self._task})
        self._raise_failure()

    def check(self) -> None:
        """Raises what ended the agent, or `AgentError` once it is closed, or `UsageError` in another event loop."""
        self._raise_failure()
        if self._task.done() or self._leave.is_set():
            raise AgentError("the agent is closed", hint="start another with Agent.start, in the event loop that uses it")
        self._here()

    def _here(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise UsageError("the agent was started in another event loop", hint="use an agent in the event loop in which it was started")

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    async def _hold(self) -> None:
        async with self._opening as opened:
            self._entered.set_result(opened)
            await self._leave.wait()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        _open.discard(self)
        self._failure = None if task.cancelled() else task.exception()

    def end(self) -> None:
        """The program ends and nobody closed it. Where its event loop can still run, it is closed in order."""
        if self._loop.is_closed() or self._loop.is_running():
            self._task._log_destroy_pending = False  # type: ignore[attr-defined]  # nobody is left to read it; the record is whole without
            return
        self._leave.set()
        self._loop.run_until_complete(asyncio.wait({self._task}, timeout=EXIT_SECONDS))


def _remember(held: AgentTask[T]) -> None:
    """Keep it until it ends, and close it at the end of the program."""
    global _watching
    _open.add(held)  # type: ignore[arg-type]  # only its end matters here
    if not _watching:
        _watching = True
        atexit.register(_end_all)


def _end_all() -> None:
    for held in list(_open):
        held.end()
