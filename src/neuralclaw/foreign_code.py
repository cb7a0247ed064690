"""The guard around code that others wrote: whatever it raises is an error of its own, and ends nothing around it."""

import asyncio
import logging
import math
import sys
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio

from .errors import AgentError, NeuralClawError

log = logging.getLogger(__name__)

T = TypeVar("T")

LONGEST_REASON = 500
"""Characters of what foreign code failed with that are told."""
_OURS = frozenset({"neuralclaw", "anyio", "msgspec", "_frozen_importlib", "_frozen_importlib_external"})
"""Packages that stand between the program and foreign code, besides the standard library."""


def uncancel() -> None:
    """Take back every cancellation of this task that was asked for outside a cancel scope, after it has come through."""
    task = asyncio.current_task()
    while task is not None and task.uncancel():
        pass


def _cancellations() -> int:
    """How often this task is being cancelled."""
    task = asyncio.current_task()
    return task.cancelling() if task is not None else 0


class EndOfWork(Generic[T]):
    """How work ended: with what it gave, or with what it raised (`error`). A cancellation that nobody around it asked for is an error too."""

    def __init__(self) -> None:
        self.given: list[T] = []
        self.error: BaseException | None = None

    async def follow(self, work: Callable[[], Awaitable[T]]) -> None:
        """Do the work. Raises nothing."""
        try:
            self.given.append(await work())
            if _cancellations():
                await asyncio.sleep(0)  # a cancellation of its own task that has not come through yet comes here
        except BaseException as error:
            self.error = error


async def run_apart(work: Callable[[], Awaitable[T]]) -> EndOfWork[T]:
    """How `work` ends, in a task of its own: a cancellation of its task and a cancel scope that it leaves open end it alone.

    It runs in a copy of the caller's context. Cancelled from outside, it is cancelled, and waited for; one that gives a value all the same has done
    its work, and the next wait of the caller is cancelled.
    """
    end: EndOfWork[T] = EndOfWork()
    before = _cancellations()
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(end.follow, work)
    except asyncio.CancelledError:
        if end.error is not None and not isinstance(end.error, asyncio.CancelledError):
            log.info("what was cancelled failed: %s", reason(end.error))
        if not end.given or anyio.current_effective_deadline() > -math.inf:
            raise
        end.error = None
    except BaseExceptionGroup as error:  # `follow` raises nothing: its task could not end, because a scope in it is open
        if _cancellations() > before:
            raise asyncio.CancelledError from error
        if end.error is None:
            end.error = RuntimeError("it left a cancel scope open")
            end.error.__cause__ = error
    if end.error is None and not end.given:
        end.error = asyncio.CancelledError()
    return end


async def _run_here(work: Callable[[], Awaitable[T]]) -> EndOfWork[T]:
    """How `work` ends in the task of the caller, where every cancellation is one from outside."""
    end: EndOfWork[T] = EndOfWork()
    try:
        end.given.append(await work())
    except Exception as error:
        end.error = error
    return end


async def run_foreign(
    what: str,
    work: Callable[[], Awaitable[T]],
    *,
    passes: tuple[type[Exception], ...] = (),
    failure: Callable[[str, BaseException], NeuralClawError] | None = None,
    apart: bool = True,
) -> T:
    """What `work` gives, which runs as `run_apart` says. `what` names it and whose it is, for the error.

    Not `apart`: the code is the program's own, which cancels no task and leaves no scope open; it runs in the task of the caller.

    Raises an `AgentError`, or what `failure` makes of `what` and the cause, for whatever it raises: an exception of any class, an exit of the program,
    a cancellation that nobody here asked for. Errors of the classes `passes` are raised as they are, also out of a group that holds one alone.
    """
    end = await (run_apart(work) if apart else _run_here(work))
    error = end.error
    if error is None:
        return end.given[0]
    cause = innermost(error)
    if isinstance(error, passes):
        raise error
    if isinstance(cause, passes):
        raise cause from error
    raise (failure or _agent_error)(what, cause) from error


def _agent_error(what: str, cause: BaseException) -> AgentError:
    return AgentError(f"{what} failed: {reason_with_place(cause)}")


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


def reason_with_place(error: BaseException) -> str:
    """The same as `reason`, and behind it the file and line of foreign code where it happened, where that is known."""
    place = place_of(error)
    return f"{reason(error)} ({place})" if place else reason(error)


def place_of(error: BaseException) -> str:
    """`file:line` in the foreign code that an error came from: the innermost line of its own package, not of a library that it called; "" for none."""
    error = innermost(error)
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno or 1}"
    package, place, trace = "", "", error.__traceback__
    while trace is not None:
        root = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if not package and root not in _OURS and root not in sys.stdlib_module_names:
            package = root
        if package and root == package:
            place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def reason(error: BaseException, *, longest: int = LONGEST_REASON, lines: bool = False) -> str:
    """An error of foreign code: its class and at most `longest` characters of what it says, in one line unless `lines`."""
    error = innermost(error)
    if isinstance(error, asyncio.CancelledError):
        return "it was cancelled from within"
    said = error.msg if isinstance(error, SyntaxError) and error.filename and isinstance(error.msg, str) else _text(error)
    text = said.strip() if lines else " ".join(said.split())
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def shown_value(value: object) -> str:
    """A value of foreign code as Python writes it; its class alone where that cannot be made."""
    try:
        return repr(value)
    except BaseException:
        return type(value).__name__


def innermost(error: BaseException) -> BaseException:
    """The error itself where it is the only one of its groups."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _text(error: BaseException) -> str:
    """What an error says; one whose own text cannot be made says nothing, whatever its code does instead."""
    try:
        return str(error)
    except BaseException:
        return ""
