"""Options are checked before anything is written: a wrong one spoils neither the session nor the home."""

from pathlib import Path
from typing import Any

import pytest

from neuralclaw import Agent
from neuralclaw.errors import UsageError

from .kit import agent

pytestmark = pytest.mark.anyio

WRONG: list[tuple[str, Any]] = [
    ("timeout", "5"),
    ("timeout", 0),
    ("timeout", -1.0),
    ("timeout", float("nan")),
    ("timeout", float("inf")),
    ("timeout", True),
    ("max_iterations", -3),
    ("max_iterations", 0),
    ("max_iterations", 2.5),
    ("max_iterations", "3"),
    ("approvals", "bogus"),
    ("approvals", 1),
    ("approvals", ""),
    ("trust", "total"),
    ("trust", ""),
    ("model", 7),
    ("model", ""),
    ("session", "no spaces"),
    ("session", 5),
    ("session", "home"),
    ("session", "..."),
    ("key", 5),
    ("nonsense", 1),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
async def test_a_wrong_option_is_refused_by_name_and_nothing_is_recorded(home: Path, name: str, value: Any) -> None:
    async with agent(home, "never said") as a:
        with pytest.raises(UsageError, match=name if name != "session" else "session"):
            await a.ask("hello", **{"session": "s", name: value})
        assert await a.do("sessions.list") == []
        assert (await a.do("audit.verify"))["records"] == 0


@pytest.mark.parametrize("text", [5, None, b"bytes", "half a character \ud800"])
async def test_a_message_that_is_no_text_is_refused_and_nothing_is_recorded(home: Path, text: Any) -> None:
    async with agent(home, "never said") as a:
        with pytest.raises(UsageError):
            await a.ask(text, session="s")
        assert await a.do("sessions.list") == []


@pytest.mark.parametrize("options", [{"approvals": "bogus"}, {"trust": "bogus"}, {"approvals": ""}, {"model": 3}])
async def test_a_wrong_option_of_the_agent_is_refused_as_it_is_opened(home: Path, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        async with Agent.open(home=home, **options):
            pass


async def test_after_a_wrong_option_the_home_works_as_before(home: Path) -> None:
    async with agent(home, "first", "second") as a:
        for name, value in WRONG:
            with pytest.raises(UsageError):
                await a.ask("hello", **{"session": "s", name: value})
        assert (await a.ask("hello", session="s")).text == "first"
        assert (await a.ask("hello", session="t", timeout=30, max_iterations=3, trust="low", approvals="none")).text == "second"
        assert (await a.do("audit.verify"))["ok"]
