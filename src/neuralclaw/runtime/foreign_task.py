"""Code that others wrote, in a task of its own: for work in the background, which ends nothing around it, whatever it does to its task."""

from collections.abc import Awaitable, Callable

import anyio

from ..errors import AgentError
from ..foreign_code import reason, run_foreign


async def run_foreign_task(what: str, work: Callable[[], Awaitable[None]]) -> None:
    """Returns when the work has. A cancellation of its task, and cancel scopes that it leaves open, end it alone. `what` names it, for the error.

    Raises `AgentError` as `run_foreign` does. Cancelled from outside, it waits until the work has ended.
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
