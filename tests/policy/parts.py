"""Recorded sessions for the tests of `policy simulate` and `policy suggest`: real turns of a scripted model, in a home without a sandbox for commands."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neuralclaw import Agent
from neuralclaw.app.policy_verbs import policy_desk
from neuralclaw.testing import Reply, ScriptedProvider

SETTINGS = {"tools": {"terminal": {"sandbox": "process"}}}
"""Without a sandbox, so that what a command asks for is the same on every machine."""


class RecordedHome:
    """A home, a workspace, and what is done in them."""

    def __init__(self, home: Path, workspace: Path, settings: Mapping[str, Any] = SETTINGS) -> None:
        self.home, self.workspace = home, workspace
        workspace.mkdir(exist_ok=True)
        self.person = home.parent / "person"
        self.person.mkdir(exist_ok=True)
        self.environ = {"HOME": str(self.person), "PATH": "/usr/bin:/bin"}
        (home / "config.yaml").write_text(json.dumps(settings))

    def opened(self, *replies: Any) -> Any:
        """An agent of the home whose model gives these replies."""
        return Agent.open(home=self.home, workspace=self.workspace, environ=self.environ, provider=ScriptedProvider(*replies), model="offline")

    async def calls(self, session: str, calls: Sequence[tuple[str, dict[str, Any]]], **options: Any) -> list[Any]:
        """A turn for each call, which is refused where it asks."""
        replies = [reply for name, arguments in calls for reply in (Reply(tool_calls=[{"name": name, "arguments": arguments}]), "done")]
        async with self.opened(*replies) as agent:
            return [await agent.ask(f"step {number}", session=session, **options) for number in range(len(calls))]

    async def commands(self, session: str, *lines: str, **options: Any) -> list[Any]:
        """A turn for each command."""
        return await self.calls(session, [("terminal", {"command": line}) for line in lines], **options)

    async def answered(self, session: str, line: str, decision: str) -> None:
        """A turn whose command a person answers."""
        async with self.opened(Reply(tool_calls=[{"name": "terminal", "arguments": {"command": line}}]), "done", "again") as agent:
            [asked] = (await agent.ask("do it", session=session, approvals="park")).waiting
            await agent.answer(asked, decision)
            async with agent.resume(session) as events:
                async for _ in events:
                    pass

    async def do(self, verb: str, **arguments: Any) -> Any:
        """What a verb gives in the home, which is only read."""
        async with policy_desk(str(self.home), workspace=str(self.workspace), environ=self.environ) as desk:
            return await desk.do(verb, **arguments)

    def rules(self, text: str) -> str:
        """A file of rules."""
        path = self.workspace.parent / "rules.yaml"
        path.write_text(text)
        return str(path)

    def change(self, statement: str, *values: Any) -> None:
        """Change the database past the program."""
        [path] = self.home.glob("*.db")
        with sqlite3.connect(path) as c:
            c.execute(statement, values)
        c.close()
