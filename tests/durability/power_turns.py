"""What runs until the power fails: `python -m tests.durability.power_turns HOME WORK LEDGER`.

Five turns, each with a call of the effect `once` and a `pure` one. The ledger, a file outside the home, gets a line at each effect and one when all is closed.
"""

import os
import sys

import anyio

from neuralclaw import Agent, tool
from neuralclaw.testing import FunctionProvider, Reply
from neuralclaw.types.messages import Request, ToolMessage, UserMessage

TURNS = 5


def note(ledger: str, line: str) -> None:
    """Leave a line in the ledger, on the disk."""
    fd = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_SYNC, 0o600)
    os.write(fd, f"{line}\n".encode())
    os.close(fd)


async def think(request: Request) -> Reply:
    """Send, look, answer: one after the other in each turn."""
    newest = max(place for place, message in enumerate(request.messages) if isinstance(message, UserMessage) and message.text.startswith("go "))
    results = sum(isinstance(message, ToolMessage) for message in request.messages[newest:])
    number = int(request.messages[newest].text.split()[1])  # type: ignore[union-attr]
    if results == 2:
        return Reply(f"turn {number} is done")
    return Reply(tool_calls=[{"name": ("send", "look")[results], "id": f"c{number}-{results}", "arguments": {"number": number}}])


def tools(ledger: str) -> list[object]:
    """`send` leaves a line in the ledger; `look` does nothing outside."""

    @tool(risk="LOW", effect="once")
    async def send(number: int) -> str:
        "Send it."
        note(ledger, f"sent {number}")
        return "sent " + "x" * 5000

    @tool(risk="LOW", effect="pure")
    async def look(number: int) -> str:
        "Look at it."
        return f"seen {number}"

    return [send, look]


async def main(home: str, work: str, ledger: str) -> None:
    async with Agent.open(home=home, workspace=work, provider=FunctionProvider(think), tools=tools(ledger), builtin=(), approvals="none") as agent:
        for number in range(1, TURNS + 1):
            reply = await agent.ask(f"go {number}", session="s")
            note(ledger, f"answered {number} {reply.status}")
    note(ledger, "closed")


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
