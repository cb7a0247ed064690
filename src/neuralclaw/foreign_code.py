"""The guard around code that others wrote: whatever it raises is an error of its own, and ends nothing around it."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from .errors import AgentError, NeuralClawError

T = TypeVar("T")

LONGEST_REASON = 500
"""Characters of what foreign code failed with that are told."""


def cancelled() -> bool:
    """Whether what runs here is being cancelled by somebody, or its time is up; false where only something that it waited for was cancelled."""
    task = asyncio.current_task()
    return anyio.current_effective_deadline() == -math.inf or (task is not None and task.cancelling() > 0)


async def run_foreign(
    what: str,
    work: Callable[[], Awaitable[T]],
    *,
    passes: tuple[type[Exception], ...] = (),
    failure: Callable[[str, BaseException], NeuralClawError] | None = None,
) -> T:
    """What `work` gives. `what` names it and whose it is, for the error.

    Raises an `AgentError`, or what `failure` makes of `what` and the cause, for whatever it raises: an exception of any class, an exit of the program,
    a cancellation that nobody here asked for. Errors of the classes `passes` are raised as they are, also out of a group that holds one alone.
    """
    try:
        return await work()
    except GeneratorExit:
        raise
    except passes:
        raise
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and cancelled():
            raise
        cause = innermost(error)
        if isinstance(cause, passes):
            raise cause from error
        raise (failure or _agent_error)(what, cause) from error


def _agent_error(what: str, cause: BaseException) -> AgentError:
    return AgentError(f"{what} failed: {reason(cause)}")


def innermost(error: BaseException) -> BaseException:
    """The one error of a group (of the code's own task group), and of a group in it; else the error itself."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def reason(error: BaseException, *, longest: int = LONGEST_REASON, lines: bool = False) -> str:
    """An error of foreign code: its class and at most `longest` characters of what it says, in one line unless `lines`."""
    error = innermost(error)
    if isinstance(error, asyncio.CancelledError):
        return "it was cancelled from within"
    text = str(error).strip() if lines else " ".join(str(error).split())
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
