"""Caps: what a call may cost is reserved before it, so that what is spent never passes them, over all sessions and processes of a home."""

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw.app.budget.turn_account import day_of
from neuralclaw.errors import ConfigError
from neuralclaw.testing import FunctionProvider, Reply
from neuralclaw.types.messages import Failure, ModelInfo, Price, Request, Usage

from ..agent.kit import agent, call, calls

pytestmark = pytest.mark.anyio

INFO = ModelInfo(price=Price(input=10.0, output=100.0))
"""10 USD for a million tokens of prompt, 100 for a million of reply."""


class Service:
    """A model that uses all it may: every reply costs what its request allows, and the tokens of the prompt are those of its text."""

    def __init__(self, replies: Any = None) -> None:
        self.asked: list[Request] = []
        self._replies = replies

    async def think(self, request: Request) -> Reply:
        self.asked.append(request)
        prompt, output = 500, request.max_tokens or 0
        usage = Usage(prompt, 0, output, (prompt * 10 + output * 100) / 1_000_000)
        reply = self._replies(len(self.asked)) if self._replies is not None else Reply("fine")
        reply.usage = usage if reply.failure is None else Usage()
        return reply

    @property
    def provider(self) -> FunctionProvider:
        return FunctionProvider(self.think, info=INFO)


def forever(number: int) -> Reply:
    """Calls a tool in every reply."""
    return calls(call("calculate", f"c{number}", expression=f"{number} + 1"))


def spent(home: Path) -> float:
    """USD on record."""
    c = sqlite3.connect(home / "neuralclaw.db")
    total: float = c.execute("SELECT total(usd) FROM usage").fetchone()[0]
    c.close()
    return total


def open_reservations(home: Path) -> list[Any]:
    c = sqlite3.connect(home / "neuralclaw.db")
    found = c.execute("SELECT state, usd FROM reservations").fetchall()
    c.close()
    return found


@pytest.mark.invariant("budget.never-passed")
@pytest.mark.parametrize("cap", ["turn_usd", "session_usd", "day_usd"])
async def test_a_turn_ends_before_the_call_that_might_pass_a_cap(home: Path, cap: str) -> None:
    service = Service(forever)
    async with agent(home, provider=service.provider, budget={cap: 1.0}, max_iterations=20) as a:
        reply = await a.ask("go on and on", session="s")
    assert reply.status == "limit"
    assert f"budget.{cap} (1 USD" in reply.text
    assert "Done so far" in reply.text
    assert 0.9 < spent(home) <= 1.0
    assert service.asked[-1].max_tokens < service.asked[0].max_tokens  # near a cap the reply gets what is left
    assert open_reservations(home) == []


async def test_a_cap_of_tokens_needs_no_price(home: Path) -> None:
    service = Service(forever)
    async with agent(home, provider=FunctionProvider(service.think, info=ModelInfo()), budget={"turn_tokens": 20_000}) as a:
        reply = await a.ask("go on and on", session="s")
    assert (reply.status, "budget.turn_tokens (20000 tokens" in reply.text) == ("limit", True)
    assert reply.usage.input + reply.usage.output <= 20_000


async def test_the_cap_of_a_turn_begins_anew_and_that_of_a_session_does_not(home: Path) -> None:
    async with agent(home, provider=Service().provider, budget={"turn_usd": 0.5, "session_usd": 0.9}) as a:
        ends = [await a.ask("again", session="s") for _ in range(3)]
        other = await a.ask("again", session="other")
    assert [end.status for end in ends] == ["done", "done", "limit"]
    assert "budget.session_usd (0.9 USD" in ends[-1].text
    assert other.status == "done"


async def test_the_cap_of_a_run_holds_beside_that_of_the_settings(home: Path) -> None:
    async with agent(home, provider=Service(forever).provider, budget={"turn_usd": 2.0}, max_iterations=20) as a:
        reply = await a.ask("go", session="s", max_budget_usd=0.6)
    assert (reply.status, "--max-budget-usd (0.6 USD" in reply.text) == ("limit", True)
    assert spent(home) <= 0.6


@pytest.mark.invariant("budget.no-price-refused")
@pytest.mark.parametrize("options", [{"budget": {"day_usd": 1.0}}, {"max_budget_usd": 1.0}])
async def test_a_model_without_a_price_is_refused_under_a_cap_of_money(home: Path, options: dict[str, Any]) -> None:
    service = Service()
    async with agent(home, provider=FunctionProvider(service.think, info=ModelInfo()), **options) as a:
        with pytest.raises(ConfigError, match="the price of given:model is not known"):
            await a.ask("hello", session="s")
    assert service.asked == []


@pytest.mark.invariant("budget.never-passed")
async def test_many_sessions_at_once_stay_below_the_cap_of_the_day_together(home: Path) -> None:
    async with agent(home, provider=Service(forever).provider, budget={"day_usd": 3.0}) as a, anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(lambda name: a.ask("go", session=name), f"s{number}")
    assert 2.0 < spent(home) <= 3.0


async def test_what_failed_calls_may_have_cost_stays_counted_and_what_cost_nothing_does_not(home: Path) -> None:
    refused = Service(lambda number: Reply(failure=Failure("LLMAuthError", "no")))
    async with agent(home, provider=refused.provider, budget={"turn_usd": 1.0}) as a:
        assert (await a.ask("go", session="s")).status == "failed"
    assert open_reservations(home) == []
    broken = Service(lambda number: Reply("half a", stop="cancelled"))

    async def breaks_off(request: Request) -> Reply:
        raise RuntimeError("the stream broke")

    async with agent(home, provider=FunctionProvider(breaks_off, info=INFO), budget={"turn_usd": 1.0}) as a:
        assert (await a.ask("go", session="s")).status == "failed"
    ((state, usd),) = open_reservations(home)
    assert (state, usd > 0) == ("spent", True)
    assert broken.asked == []


CHILD = """
import anyio, os, signal, sys
from neuralclaw import Agent
from neuralclaw.testing import FunctionProvider
from neuralclaw.types.messages import ModelInfo, Price

async def think(request):
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    provider = FunctionProvider(think, info=ModelInfo(price=Price(input=10.0, output=100.0)))
    async with Agent.open(home=sys.argv[1], workspace=sys.argv[2], provider=provider, budget={"day_usd": 0.7}) as a:
        await a.ask("go", session="s")

anyio.run(main)
"""


@pytest.mark.full
@pytest.mark.invariant("budget.never-passed")
async def test_a_call_whose_process_was_killed_counts_with_all_that_it_may_have_cost(home: Path) -> None:
    work = home.parent / "work"
    work.mkdir()
    await anyio.run_process([sys.executable, "-c", CHILD, str(home), str(work)], check=False)
    ((state, usd),) = open_reservations(home)
    assert (state, 0.4 < usd < 0.7) == ("open", True)
    async with agent(home, provider=Service().provider, budget={"day_usd": 0.7}) as a:
        reply = await a.ask("and now", session="t")
        report = await a.do("cost")
    assert report["reserved"] == pytest.approx(usd)
    assert spent(home) + usd <= 0.7
    assert reply.status in ("done", "limit")


async def test_cost_tells_days_sessions_models_and_caps(home: Path) -> None:
    async with agent(home, provider=Service().provider, budget={"day_usd": 5.0}) as a:
        await a.ask("one", session="a")
        await a.ask("two", session="a")
        await a.ask("three", session="b")
        report = await a.do("cost")
        of_one = await a.do("cost", session="b")
    assert report["total"]["calls"] == 3
    assert report["total"]["usd"] == pytest.approx(spent(home))
    assert [(row["name"], row["calls"]) for row in report["sessions"]] == [("a", 2), ("b", 1)]
    assert [row["name"] for row in report["models"]] == ["given:model"]
    assert len(report["days"]) == 1
    assert report["caps"] == [{"cap": "budget.day_usd", "limit": 5.0, "spent": pytest.approx(spent(home)), "reserved": 0.0}]
    assert of_one["total"]["calls"] == 1
    assert json.dumps(report)


@pytest.mark.parametrize(("zone", "hours"), [("UTC", 24), ("Europe/Berlin", 25), ("America/New_York", 24)])
def test_a_day_is_that_of_the_time_zone_and_as_long_as_it_is_there(zone: str, hours: int) -> None:
    noon = 1_792_929_600.0  # 2026-10-25 12:00 UTC: the day on which the clocks of Berlin go back
    begins, ends = day_of(noon, zone)
    assert (ends - begins) == hours * 3_600_000_000
    assert begins <= noon * 1_000_000 < ends
