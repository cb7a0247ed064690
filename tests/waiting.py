"""Waiting for something to become true, without sleeping for a guessed time."""

import time
from collections.abc import Awaitable, Callable

import anyio


async def until(condition: Callable[[], object | Awaitable[object]], *, seconds: float = 20.0) -> object:
    """The condition's first true value; fails the test after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if isinstance(value, Awaitable):
            value = await value
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not true after {seconds} s: {condition}")
        await anyio.sleep(0.005)


def until_blocking(condition: Callable[[], object], *, seconds: float = 20.0) -> object:
    """The same where there is no event loop."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not true after {seconds} s: {condition}")
        time.sleep(0.005)
    return value
