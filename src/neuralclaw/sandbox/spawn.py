"""Starts programs from one thread that lives as long as this process: the parent-death signal follows the *thread*."""

import asyncio
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


class _Spawner:
    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, job: Callable[[], T]) -> "Future[T]":
        with self._lock:
            if self._thread is None or not self._thread.is_alive():  # not alive: in a child made by fork
                self._thread = threading.Thread(target=self._work, name="spawner", daemon=True)
                self._thread.start()
        future: Future[T] = Future()
        self._jobs.put((job, future))
        return future

    def _work(self) -> None:
        while True:
            job, future = self._jobs.get()
            try:
                future.set_result(job())
            except BaseException as error:  # guard: whatever it is belongs to the caller, and the thread must live
                future.set_exception(error)


_spawner = _Spawner()


async def in_spawner(job: Callable[[], T]) -> T:
    """Run a short blocking job in the spawning thread. Not cancelled half-way: a started child must be known to its caller."""
    future = asyncio.wrap_future(_spawner.submit(job))
    with anyio.CancelScope(shield=True):
        await asyncio.wait([future])
    return future.result()


def popen(argv: Sequence[str], fds: Sequence[int], *, cwd: str | None = None, env: Mapping[str, str] | None = None) -> "subprocess.Popen[bytes]":
    """A child in a session of its own with an empty standard input and pipes for its output; only `fds` are handed on."""
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=cwd,
        env=env if env is not None else {},
        start_new_session=True,
        pass_fds=tuple(fds),
    )
