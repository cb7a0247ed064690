"""What one answer costs among 20,000 questions that wait, beside the same among 20: `python benchmarks/questions.py`.

The questions stand in one home, 100 in each session, or all of them in one. `answer` is `agent.answer`; `verb` is `approvals.answer`, which
`neuralclaw approvals answer` calls: it says who goes on with the session, too. An answer returns when it survives `kill -9`.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable

import anyio

from neuralclaw import Agent
from neuralclaw.app.clock import SystemClock
from neuralclaw.store import SqliteStore
from neuralclaw.types.entries import Draft
from neuralclaw.types.events import ApprovalRequested, Inbound, TurnFinished
from neuralclaw.types.labels import OWNER
from neuralclaw.types.questions import Shown
from neuralclaw.types.records import NewSession
from neuralclaw.types.risk import Risk, Tier

FEW = 20


def question(name: str) -> Draft:
    body = ApprovalRequested(
        approval_id=name,
        call_id=f"call-{name}",
        action=Shown("terminal", "git push origin main"),
        risk=Risk.HIGH,
        tier=Tier.EXECUTE,
        reasons=("it changes what others see",),
        expires="2999-01-01T00:00:00.000Z",
        hash="0" * 64,
    )
    return Draft(1, body)


async def fill(home: str, count: int, each: int) -> list[str]:
    """Write so many questions, `each` in a session; their names."""
    names = [f"Q{n:09}" for n in range(count)]
    async with await SqliteStore.open(home, clock=SystemClock()) as store:
        for first in range(0, count, each):
            mine = names[first : first + each]
            begun = [Draft(1, Inbound(text="push", key=f"k{first}", by="owner"), OWNER), *map(question, mine)]
            end = Draft(1, TurnFinished(status="needs_approval", text="", waiting=tuple(mine)))
            await store.append(f"s{first}", [*begun, end], rows=[NewSession(origin="owner", workspace="/w")])
    return names


async def answers(agent: Agent, names: list[str]) -> dict[str, list[float]]:
    """Milliseconds of answers, to each second one through the verb."""

    async def verb(name: str) -> None:
        await agent.do("approvals.answer", approval_id=name, decision="no")

    async def answer(name: str) -> None:
        await agent.answer(name, "no")

    ways: dict[str, Callable[[str], Awaitable[None]]] = {"answer": answer, "verb": verb}
    found: dict[str, list[float]] = {way: [] for way in ways}
    for number, name in enumerate(names):
        way = list(ways)[number % 2]
        began = time.perf_counter()
        await ways[way](name)
        found[way].append((time.perf_counter() - began) * 1000)
    return found


async def measure(count: int, each: int, rounds: int) -> dict[str, list[float]]:
    """The times of each way, among few questions and among `count`, the two homes taken in turn."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        many = await fill(f"{folder}/many", count, each)
        async with Agent.open(home=f"{folder}/many", workspace=folder, environ={"HOME": folder}) as big:
            for number in range(rounds):
                few = await fill(f"{folder}/few{number}", FEW, FEW)
                async with Agent.open(home=f"{folder}/few{number}", workspace=folder, environ={"HOME": folder}) as small:
                    chosen = many[number :: count // FEW][:FEW]  # from everywhere
                    for agent, names, among in ((small, few, FEW), (big, chosen, count)):
                        for way, times in (await answers(agent, names)).items():
                            found.setdefault(f"{way} among {among:,}", []).extend(times)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=20, help=f"times {FEW} answers of each home")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {
        f"{name}, {where}": {"median_ms": statistics.median(times), "p95_ms": statistics.quantiles(times, n=20)[-1]}
        for where, each in (("100 a session", 100), ("one session", options.questions))
        for name, times in anyio.run(measure, options.questions, each, options.rounds).items()
    }
    if options.json:
        print(json.dumps(found))
        return
    for name, ms in found.items():
        print(f"{name:45} median {ms['median_ms']:7.2f} ms, 95th percentile {ms['p95_ms']:7.2f} ms")


if __name__ == "__main__":
    main()
