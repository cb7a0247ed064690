"""A turn that kills its own process: `python -m neuralclaw.app.proof.killed_turn PLACE`.

Three calls: the first is finished when the process dies, the second can be run again, and dies in its first run; the third, which may have an effect only once,
dies in its first run after its effect.
"""

import os
import signal
import sys
from pathlib import Path

import anyio

from ...tool import FunctionTool, tool
from ..agent import Agent
from .scripted_calls import ScriptedCalls, note, noted

TASK = "send three parcels"
SCRIPT: dict[str, list[tuple[str, dict[str, str]]]] = {TASK: [("pack", {}), ("weigh", {}), ("send", {})]}
SESSION = "proof"


def parcel_tools(ledger: Path, *, dies: bool) -> list[FunctionTool]:
    """The tools of the turn. With `dies` the process kills itself inside the first run of `weigh` and of `send`."""

    def happened(what: str) -> None:
        before = noted(ledger)
        note(ledger, what)
        if dies and what != "pack" and what not in before:
            os.kill(os.getpid(), signal.SIGKILL)

    @tool(risk="LOW", effect="once")
    async def pack() -> str:
        "Pack the parcel."
        happened("pack")
        return "packed"

    @tool(risk="LOW", effect="pure")
    async def weigh() -> str:
        "Weigh the parcel."
        happened("weigh")
        return "1 kg"

    @tool(risk="LOW", effect="once")
    async def send() -> str:
        "Send the parcel."
        happened("send")
        return "sent"

    return [pack, weigh, send]


async def main(place: Path) -> None:
    """Begin the turn where there is none, else go on with it."""
    ledger = place / "ledger"
    tools = parcel_tools(ledger, dies=True)
    (place / "work").mkdir(exist_ok=True)
    async with Agent.open(
        home=place / "home", workspace=place / "work", provider=ScriptedCalls(SCRIPT, ledger), tools=tools, builtin=(), approvals="park"
    ) as agent:
        there = await agent.do("sessions.list")
        async with agent.resume(SESSION) if there else agent.turn(TASK, session=SESSION) as events:
            async for _ in events:
                pass


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
