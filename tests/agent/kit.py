"""A whole agent over a scripted model: real store, real gate, real sandbox, real tools."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from neuralclaw import Agent
from neuralclaw.app.assembly import open_desk
from neuralclaw.app.clock import SystemClock
from neuralclaw.app.defaults import ClientDefaults
from neuralclaw.app.home import Home
from neuralclaw.app.settings_loading import load_settings
from neuralclaw.app.toolbox import Toolbox
from neuralclaw.store import SqliteStore
from neuralclaw.testing import EventCapture, Reply, ScriptedProvider
from neuralclaw.types.options import StartOptions, TurnOptions


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


@asynccontextmanager
async def agent_over(store: SqliteStore, *replies: Reply | str, **options: Any) -> AsyncIterator[Agent]:
    """An agent over this very store, which is closed with it."""
    home = Path(store.home)
    work = home.parent / "work"
    work.mkdir(exist_ok=True)
    loaded = load_settings(store.home, {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home.parent)}, None)
    provider, clock = options.pop("provider", None) or ScriptedProvider(*replies), options.pop("clock", None) or SystemClock()
    opened = Home(loaded, store, clock, provider=provider, tools=Toolbox(given=options.pop("tools", ())))
    defaults, start = TurnOptions(model="", workspace=str(work)), StartOptions()
    try:
        async with anyio.create_task_group() as tasks:
            over = Agent(opened, open_desk(opened, ClientDefaults(defaults, start), tasks), ClientDefaults(defaults, start))
            tasks.start_soon(over.desk.follow)
            yield over
            over.closing()
            tasks.cancel_scope.cancel()
    finally:
        await opened.aclose()


async def events(opened: Agent, text: str = "do it", **options: Any) -> EventCapture:
    async with opened.turn(text, **options) as stream:
        return await EventCapture().drain(stream)
