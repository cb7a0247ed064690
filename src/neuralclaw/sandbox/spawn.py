"""Starts programs from one thread that lives as long as this process: the parent-death signal follows the *thread*."""

import asyncio
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

import anyio

T = TypeVar("T")

_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spawner")  # a pool keeps its thread until the process ends


async def in_spawner(job: Callable[[], T]) -> T:
    """Run a short blocking job in the spawning thread. Not cancelled half-way: a started child must be known to its caller."""
    future = asyncio.get_running_loop().run_in_executor(_thread, job)
    with anyio.CancelScope(shield=True):
        await asyncio.wait([future])
    return future.result()


def on_spawner(job: Callable[[], T]) -> T:
    """Run a short job in the spawning thread and wait for it."""
    return _thread.submit(job).result()


def later_on_spawner(job: Callable[[], None]) -> None:
    """Run a short job in the spawning thread when those before it are done; nobody waits for it, and it is left out where this process ends."""
    with suppress(RuntimeError):  # no thread is taken into use any more
        _thread.submit(job)


def popen(argv: Sequence[str], fds: Sequence[int]) -> "subprocess.Popen[bytes]":
    """A child in a process group of its own with an empty environment and standard input, and pipes for its output; only `fds` are handed on.

    It stays in this session: one of its own would be scheduled as a newcomer among all others, and what it runs gets one anyhow.
    """
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd="/",
        env={},
        process_group=0,
        pass_fds=tuple(fds),
    )
