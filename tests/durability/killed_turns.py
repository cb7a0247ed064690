"""Processes that are killed while they work: `python -m tests.durability.killed_turns HOME WORK LEDGER KILLS SEED`.

A parent that has loaded everything forks one child after the other. Each takes over what is unfinished and goes on with the next turns; it is killed after a
random time, every other one within its start-up and recovery. The last one is left alone. Prints how many were killed, and how many of them while starting.
"""

import os
import random
import select
import signal
import sys
import time

import anyio

from neuralclaw import Agent
from neuralclaw.testing import FunctionProvider

from .power_turns import think, tools

WORK = 0.2
"""Seconds after its start-up within which a working child is killed."""
AT_ONCE = 6
"""Turns that a child goes on with."""


async def work(home: str, workspace: str, ledger: str) -> None:
    """Take over what is unfinished, then do some more turns; each message is accepted once, whoever sends it again."""
    provider = FunctionProvider(think)
    async with Agent.open(home=home, workspace=workspace, provider=provider, tools=tools(ledger), builtin=(), approvals="none", recover=True) as agent:
        os.write(1, b".")
        rows = await agent.do("sessions.list")
        if any(row["state"] == "set_aside" for row in rows):  # three kills in a row before an entry of the turn
            async with agent.resume("s", retry=True) as events:
                async for _ in events:
                    pass
        begun = max((row["turns"] for row in rows), default=0)
        for number in range(begun + 1, begun + 1 + AT_ONCE):
            await agent.ask(f"go {number}", session="s", key=f"go-{number}")


def child(home: str, workspace: str, ledger: str, ready: int) -> None:
    """What a forked child does; it leaves without what the parent would clean up."""
    os.dup2(ready, 1)
    code = 1
    try:
        anyio.run(work, home, workspace, ledger)
        code = 0
    finally:
        os._exit(code)


def main(home: str, workspace: str, ledger: str, kills: str, seed: str) -> None:
    chance, starting, span = random.Random(int(seed)), 0, 0.05
    for number in range(int(kills) + 1):
        read, ready = os.pipe()
        begun = time.monotonic()
        pid = os.fork()
        if not pid:
            child(home, workspace, ledger, ready)
        os.close(ready)
        if number % 2 and number < int(kills):
            select.select([read], [], [], chance.uniform(0, span))
            os.kill(pid, signal.SIGKILL)
            starting += not os.read(read, 1)
        elif os.read(read, 1) and number < int(kills):
            span = time.monotonic() - begun  # as long as a start takes here and now
            select.select([read], [], [], chance.uniform(0, WORK))  # or until it has ended
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        os.close(read)
        if number == int(kills) and status:
            sys.exit("the child that was left alone failed")
    sys.stdout.write(f"{kills} {starting}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
