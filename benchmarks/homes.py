"""Homes of many turns for `benchmarks/large_home.py`: one real turn of the product, and a large home made of it.

python benchmarks/homes.py HOME FOLDER SESSION     opens the home, and runs a turn in the session ("": none)
python benchmarks/homes.py HOME FOLDER --turns N   makes a home of so many turns
"""

import argparse

import anyio
import msgspec

from neuralclaw import Agent, lookups
from neuralclaw.app.clock import SystemClock
from neuralclaw.store import SqliteStore
from neuralclaw.testing import FunctionProvider, Reply
from neuralclaw.types.entries import Draft, named_blobs
from neuralclaw.types.events import Inbound, Message, TurnStarted
from neuralclaw.types.messages import Request, ToolMessage

EACH, LONG = 10, 1_000
"""Turns of a session, and of the long one."""
WRITERS = 64
"""Sessions that are written at once."""


async def think(request: Request) -> Reply:
    if isinstance(request.messages[-1], ToolMessage):
        return Reply("The result is 391.")
    return Reply(tool_calls=[{"name": "calculate", "arguments": {"expression": "17*23"}}])


async def one(home: str, folder: str, session: str) -> None:
    """One turn of the product."""
    async with Agent.open(home=home, workspace=folder, provider=FunctionProvider(think), environ={"HOME": folder}) as agent:
        if session:
            end = await agent.ask("What is 17 * 23?", session=session)
            assert end.status == "done", end


async def build(home: str, folder: str, turns: int) -> None:
    """A home with so many turns, most of them in sessions of ten, a hundredth in one long session."""
    await one(home, folder, "long")
    async with await SqliteStore.open(home, clock=SystemClock()) as store:
        entries = await store.read("long")
        blobs = await lookups.blobs(store, [digest for entry in entries for digest in named_blobs(entry.body)])
        limit = anyio.Semaphore(WRITERS)

        def again(key: str, turn: int) -> list[Draft]:
            drafts = []
            for entry in entries:
                body, before = entry.body, len(entries) * (turn - 1)
                if isinstance(body, Inbound):
                    body = msgspec.structs.replace(body, key=f"{key}-{turn}")
                elif isinstance(body, TurnStarted):
                    body = msgspec.structs.replace(body, inbound=body.inbound + before)
                elif isinstance(body, Message):
                    body = msgspec.structs.replace(body, seen=body.seen + before)
                named = tuple(blobs[digest] for digest in named_blobs(body) if digest in blobs)
                drafts.append(Draft(turn, body, frozenset(entry.header.labels), named))
            return drafts

        async def session(name: str, first: int, last: int) -> None:
            async with limit:
                for turn in range(first, last + 1):
                    await store.append(name, again(name, turn))

        async with anyio.create_task_group() as tasks:
            long = min(LONG, turns // EACH)
            tasks.start_soon(session, "long", 2, long)
            for number in range((turns - long) // EACH):
                tasks.start_soon(session, f"s{number:06}", 1, EACH)
        await store.barrier()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home")
    parser.add_argument("folder", help="the workspace and the person's home directory")
    parser.add_argument("session", nargs="?", default="")
    parser.add_argument("--turns", type=int)
    options = parser.parse_args()
    if options.turns:
        anyio.run(build, options.home, options.folder, options.turns)
    else:
        anyio.run(one, options.home, options.folder, options.session)


if __name__ == "__main__":
    main()
