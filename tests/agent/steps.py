"""A model and two tools that do the same in every process: first step, second step, done."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from neuralclaw import tool
from neuralclaw.testing import Reply
from neuralclaw.types.messages import Request, ToolMessage


def steps(request: Request) -> Reply:
    """The next step after the results that stand in the request."""
    results = sum(isinstance(m, ToolMessage) for m in request.messages)
    return [Reply(tool_calls=[{"name": "first", "id": "c1"}]), Reply(tool_calls=[{"name": "second", "id": "c2"}]), Reply("done")][results]


def tools(work: str, effect: str, die: Callable[[], None] | None = None) -> list[Any]:
    """`first` has the effect `once`, `second` the given one; each leaves a line in `ran` when it runs."""

    def mark(name: str) -> None:
        with (Path(work) / "ran").open("a") as file:
            file.write(f"{name}\n")

    @tool(risk="LOW", effect="once")
    async def first() -> str:
        "The first step."
        mark("first")
        return "one"

    @tool(risk="LOW", effect=effect)
    async def second() -> str:
        "The second step."
        mark("second")
        if die is not None:
            die()
        return "two"

    return [first, second]
