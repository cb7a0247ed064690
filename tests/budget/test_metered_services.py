"""Caps over real services on HTTP: each attempt is reserved at the price of the model that is asked, and the request asks for no more than what is left."""

from pathlib import Path

import pytest

from neuralclaw import Agent

from ..providers.loopback import Response, loopback
from ..providers.test_fallback import calls, says, settings
from .test_caps import open_reservations, spent

pytestmark = [pytest.mark.anyio, pytest.mark.full]


async def test_attempts_and_fallbacks_are_reserved_and_settled(home: Path) -> None:
    async with loopback() as first, loopback() as second:
        first.says(Response([b"down"], status=503, kind="text/plain"))
        second.says(calls("2+2"), says("Done."))
        options = settings(first, second) | {"budget.turn_usd": 1.0}
        async with Agent.open(home=home, workspace=home.parent, model="one:m", environ={}, settings=options) as agent:
            end = await agent.ask("go")
    assert (end.text, end.status) == ("Done.", "done")
    assert (len(first.seen), len(second.seen)) == (2, 2)
    assert end.usage.usd == pytest.approx(spent(home))
    assert open_reservations(home) == []


async def test_near_a_cap_the_request_asks_for_what_is_left_and_beyond_it_none_is_sent(home: Path) -> None:
    async with loopback() as first, loopback() as second:
        first.says(says("short"))
        options = settings(first, second)
        async with Agent.open(home=home, workspace=home.parent, model="one:m", environ={}, settings=options) as agent:
            assert (await agent.ask("go", max_budget_usd=0.03)).status == "done"
            body = first.seen[-1].json
            assert 16 <= (body.get("max_tokens") or body.get("max_completion_tokens")) < 4096
            asked = len(first.seen)
            end = await agent.ask("go", max_budget_usd=0.000001)
    assert (end.status, len(first.seen), len(second.seen)) == ("limit", asked, 0)
    assert "--max-budget-usd (1e-06 USD" in end.text
