"""`neuralclaw.run`: one task from a script without `async`."""

import asyncio
from typing import Unpack

import anyio

from ..errors import UsageError
from ..types.events import TurnFinished
from .agent import Agent
from .option_types import AgentOptions, RunOptions, only_known
from .section_options import LIMITS


def run(task: str, **options: Unpack[RunOptions]) -> TurnFinished:
    """Do one task and return the end of its turn: `text`, `data`, `status`, `usage`.

    `options`: those of `Agent.open`, and of `agent.ask` for this one turn (`session`, `images`, `max_iterations`, `timeout`). It may be called in any
    thread. Ctrl-C cancels the turn, which is recorded, and raises `KeyboardInterrupt`. Raises `UsageError` where an event loop runs already, and for
    options that cannot be used; `ConfigError` and `StoreError` as `Agent.open` does. A turn that fails raises nothing: its `status` says so.
    """
    only_known(options, RunOptions.__annotations__, "neuralclaw.run")
    if _in_a_loop():
        raise UsageError(
            "neuralclaw.run cannot be called where an event loop runs already, as in a notebook or an async function; nothing was recorded",
            hint="use `async with Agent.open() as agent` or `agent = await Agent.start()`, then `await agent.ask(task)`",
        )
    opening = {name: value for name, value in options.items() if name in AgentOptions.__annotations__ and name not in LIMITS}
    turn_options = {name: value for name, value in options.items() if name not in opening}

    async def once() -> TurnFinished:
        async with Agent.open(**opening) as agent:  # type: ignore[arg-type]  # split by name from what was typed
            return await agent.ask(task, **turn_options)  # type: ignore[arg-type]

    return anyio.run(once)


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
