"""A service that asks to wait: how long a turn waits for it, who is asked instead, and what is said where nobody waits. And who answered in the end."""

import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from neuralclaw import Agent
from neuralclaw.providers.retry import moment
from neuralclaw.testing import EventCapture
from neuralclaw.types.events import TurnFinished

from .loopback import LoopbackServer, Response, loopback
from .streams import call, chunk
from .test_fallback import says, stream

pytestmark = [pytest.mark.anyio, pytest.mark.full]


def limited(after: str | int) -> Response:
    return Response([b'{"error": {"message": "slow down"}}'], status=429, kind="application/json", headers={"Retry-After": str(after)})


def settings(*servers: LoopbackServer, longest: float = 1) -> dict[str, Any]:
    services = {name: {"base_url": server.url, "models": {"m": {}}} for name, server in zip(("one", "two", "three"), servers, strict=False)}
    chain = [f"{name}:m" for name in services]
    return {"llm.providers": services, "llm.fallback": chain[1:], "llm.retry": {"attempts": 3, "min_seconds": 0, "max_seconds": longest}}


async def run(home: Path, configured: dict[str, Any], **options: Any) -> EventCapture:
    async with Agent.open(home=home, workspace=home.parent, model="one:m", environ={}, settings=configured) as agent, agent.turn("go", **options) as events:
        return await EventCapture().drain(events)


def end(seen: EventCapture) -> TurnFinished:
    body = seen.one("turn.finished").body
    assert isinstance(body, TurnFinished)
    return body


async def test_a_wait_above_the_bound_goes_to_the_fallback_at_once(home: Path) -> None:
    began = time.monotonic()
    async with loopback() as first, loopback() as second:
        first.says(limited(40))
        second.says(says("Here."))
        seen = await run(home, settings(first, second))
        assert (len(first.seen), len(second.seen)) == (1, 1)
    assert time.monotonic() - began < 10
    assert (end(seen).status, end(seen).text, end(seen).model, end(seen).models) == ("done", "Here.", "two:m", ("two:m",))
    (retry,) = [event.body for event in seen.of("retry")]
    assert (retry.model, retry.wait_ms) == ("two:m", 0)  # type: ignore[union-attr]
    assert seen.one("turn.started").body.model == "one:m"  # type: ignore[union-attr]


async def test_a_wait_within_the_bound_is_made_also_with_a_fallback(home: Path) -> None:
    async with loopback() as first, loopback() as second:
        first.says(limited(1), says("Back."))
        seen = await run(home, settings(first, second))
        assert (len(first.seen), len(second.seen)) == (2, 0)
    assert (end(seen).text, end(seen).model) == ("Back.", "one:m")
    assert [event.body.model for event in seen.of("retry")] == ["one:m"]  # type: ignore[union-attr]


async def test_the_last_of_the_chain_is_waited_for(home: Path) -> None:
    async with loopback() as first, loopback() as second:
        first.says(Response([b"down"], status=503, kind="text/plain"))
        second.says(limited(1), says("At last."))
        seen = await run(home, settings(first, second, longest=0.1))
        assert len(second.seen) == 2
    assert (end(seen).text, end(seen).model) == ("At last.", "two:m")


@pytest.mark.parametrize("as_date", [False, True])
async def test_a_wait_beyond_the_turn_fails_now_and_says_when(home: Path, as_date: bool) -> None:
    began = time.time()
    async with loopback() as first:
        first.says(limited(formatdate(began + 600, usegmt=True) if as_date else 600))
        seen = await run(home, settings(first), timeout=60)
        assert len(first.seen) == 1
    assert time.time() - began < 10
    error = end(seen).error
    assert error is not None
    assert (end(seen).status, error.kind) == ("failed", "LLMRateLimitError")
    assert "it can be asked again in 10 min, at " in error.text
    assert error.text.endswith(" UTC")
    assert seen.of("retry") == []


async def test_a_wait_beyond_the_bound_and_within_the_turn_is_made_without_a_fallback(home: Path) -> None:
    async with loopback() as first:
        first.says(limited(1), says("Done."))
        seen = await run(home, settings(first, longest=0.1), timeout=60)
    assert end(seen).status == "done"
    (retry,) = [event.body for event in seen.of("retry")]
    assert retry.wait_ms == 1000  # type: ignore[union-attr]


def test_a_moment_is_said_with_its_day_where_it_is_another() -> None:
    now = 1_800_000_000.0  # 2027-01-15 08:00:00 UTC
    assert moment(now, 90) == "in 90 s, at 08:01:30 UTC"
    assert moment(now, 3600) == "in 60 min, at 09:00:00 UTC"
    assert moment(now, 86_400) == "in 24 h, at 2027-01-16 08:00:00 UTC"


async def test_a_reply_that_is_cut_off_is_of_the_model_that_was_speaking(home: Path) -> None:
    async with loopback() as first, loopback() as second:
        first.says(Response([b"down"], status=503, kind="text/plain"))
        half = stream(chunk({"content": "half of it"})).pieces[:1]
        second.says(Response(half, then="hang"))
        seen = await run(home, settings(first, second), timeout=1)
    assert (end(seen).status, end(seen).model, end(seen).models) == ("timed_out", "two:m", ("two:m",))
    assert (seen.one("message").body.text, seen.one("message").body.model) == ("half of it", "two:m")  # type: ignore[union-attr]


async def test_a_turn_that_goes_on_later_keeps_who_answered_before(home: Path) -> None:
    """The first model asks for a call that needs a yes; when the turn goes on, in another process, only the second answers."""
    (home.parent / "old.txt").write_text("x")
    wants = stream(chunk(call(0, '{"path": "old.txt"}', id="c", name="delete_file")), chunk({}, "tool_calls"))
    async with loopback() as first, loopback() as second:
        first.says(wants)
        configured = settings(first, second)
        seen = await run(home, configured, session="s", approvals="park")
        assert (end(seen).status, end(seen).models) == ("needs_approval", ("one:m",))
        first.says(Response([b"down"], status=503, kind="text/plain"))
        second.says(says("Gone."))
        async with Agent.open(home=home, workspace=home.parent, environ={}, settings=configured) as agent:
            await agent.answer(end(seen).waiting[0], "once")
            async with agent.resume("s") as events:
                seen = await EventCapture().drain(events)
    assert (end(seen).text, end(seen).model, end(seen).models) == ("Gone.", "two:m", ("one:m", "two:m"))
