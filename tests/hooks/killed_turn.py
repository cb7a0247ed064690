"""A turn in a process of its own, whose hook kills that process."""

import os
from pathlib import Path
from typing import Any

import anyio

from neuralclaw import tool

from ..agent.kit import agent, call, calls


def ledger_tool(own: str) -> Any:
    """A tool that asks, and writes a line each time that it runs."""

    @tool(risk="HIGH", effect="once", name="pay")
    async def pay(amount: int) -> str:
        "Pay an amount."
        with (Path(own) / "ledger").open("a") as file:
            file.write(f"{amount}\n")
        return "paid"

    return pay


async def yes(question: Any) -> str:
    return "once"


async def go(home: str) -> None:
    own = str(Path(home).parent / "own")
    async with agent(Path(home), calls(call("pay", "c1", amount=7)), "done", tools=[ledger_tool(own)], approver=yes) as a:
        async with a.turn("pay it", session="s") as events:
            async for _ in events:
                pass


def live(home: str) -> None:
    """The whole process."""
    (Path(home).parent / "own" / "pid").write_text(str(os.getpid()))
    anyio.run(go, home)
