"""A whole agent over a scripted model: real store, real gate, real sandbox, real tools."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from neuralclaw import Agent
from neuralclaw.testing import EventCapture, Reply, ScriptedProvider


def call(tool: str, _id: str | None = None, /, **arguments: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"name": tool, "arguments": arguments}
    return made | ({"id": _id} if _id else {})


def calls(*made: dict[str, Any], text: str = "") -> Reply:
    return Reply(text, tool_calls=made)


@asynccontextmanager
async def agent(home: Path, *replies: Reply | str, **options: Any) -> AsyncIterator[Agent]:
    """An agent whose model gives these replies; the workspace is `work` beside the home."""
    work = home.parent / "work"
    work.mkdir(exist_ok=True)
    options.setdefault("workspace", work)
    options.setdefault("environ", {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home.parent)})
    options.setdefault("provider", ScriptedProvider(*replies))
    async with Agent.open(home=home, **options) as opened:
        yield opened


async def events(opened: Agent, text: str = "do it", **options: Any) -> EventCapture:
    async with opened.turn(text, **options) as stream:
        return await EventCapture().drain(stream)
