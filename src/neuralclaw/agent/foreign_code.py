"""The guard around code that others wrote: whatever it raises is an error of its own, and ends nothing around it."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from ..errors import AgentError

T = TypeVar("T")

LONGEST_REASON = 500
"""Characters of what foreign code failed with that are told."""


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
        raise AgentError(f"{what} failed: {reason(error)}") from error


async def run_foreign_task(what: str, work: Callable[[], Awaitable[None]]) -> None:
    """The same in a task of its own, for work in the background. A cancellation of that task, and cancel scopes that the work leaves open, end it alone.

    Raises `AgentError` as `run_foreign` does. It is cancelled from outside as anything else is, and waits until the work has ended.
    """
    failure: AgentError | None = AgentError(f"{what} failed: it was cancelled from within")

    async def run() -> None:
        nonlocal failure
        try:
            await run_foreign(what, work)
            failure = None
        except AgentError as error:
            failure = error
        except GeneratorExit as error:
            failure = AgentError(f"{what} failed: {reason(error)}")

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
    except BaseExceptionGroup as error:  # `run` raises nothing: the task could not end, because a scope in it is open
        failure = failure or AgentError(f"{what} failed: {reason(error)}")
    if failure is not None:
        raise failure


def innermost(error: BaseException) -> BaseException:
    """The one error of a group, and of a group in it; else the error itself."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def reason(error: BaseException) -> str:
    """An error of foreign code in one line: its class and what it says."""
    error = innermost(error)
    if isinstance(error, asyncio.CancelledError):
        return "it was cancelled from within"
    text = " ".join(str(error).split())
    text = text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
