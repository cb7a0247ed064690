"""The guard around code that others wrote: whatever it raises is an error of its own, and ends nothing around it."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from ..errors import AgentError, NeuralClawError
from ..types.error_text import reason, reason_with_place

T = TypeVar("T")


def cancelled() -> bool:
    """Whether what runs here is being cancelled by somebody, and not only something that it waited for."""
    task = asyncio.current_task()
    return anyio.current_effective_deadline() == -math.inf or (task is not None and task.cancelling() > 0)


async def run_foreign(what: str, work: Callable[[], Awaitable[T]]) -> T:
    """What `work` gives. `what` names it and whose it is, for the error.

    Raises `AgentError` for whatever it raises: an exception of any class, an exit of the program, a cancellation that nobody here asked for.
    """
    try:
        return await work()
    except asyncio.CancelledError as error:
        if cancelled():
            raise
        raise AgentError(f"{what} failed: {reason(error)}") from error
    except GeneratorExit:
        raise
    except BaseException as error:
        raise AgentError(f"{what} failed: {reason_with_place(error)}") from error


async def run_foreign_command(what: str, work: Callable[[], Awaitable[T]]) -> T:
    """The same as `run_foreign` for code that speaks to a person: an error of ours that it raises is meant for them, and stays as it is."""
    try:
        return await run_foreign(what, work)
    except AgentError as error:
        if isinstance(error.__cause__, NeuralClawError):
            raise error.__cause__ from None
        raise


def call_foreign(what: str, work: Callable[[], T]) -> T:
    """The same as `run_foreign` for a plain function. A Ctrl-C of the person passes."""
    try:
        return work()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise AgentError(f"{what} failed: {reason_with_place(error)}") from error
