"""The built-in tools under grants that the real gate makes from real facts."""

import os
from pathlib import Path
from typing import Any

import pytest

from neuralclaw.documents.document_formats import DOCUMENTS
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.sandbox.choice import ChosenSandbox
from neuralclaw.sandbox.confined_files import ConfinedFiles
from neuralclaw.sandbox.converter import ChildConverter
from neuralclaw.sandbox.environment import clean_env
from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.tools.builtin import own_tools, workspace_tools
from neuralclaw.tools.file_formats import FileFormats
from neuralclaw.tools.registry import Registry
from neuralclaw.types.actions import Action
from neuralclaw.types.grants import Grant
from neuralclaw.types.options import Policy
from neuralclaw.types.questions import Answer, Answers
from neuralclaw.types.risk import Trust
from neuralclaw.types.signals import Parked
from neuralclaw.types.tools import ToolResult

from .conftest import about, kept
from .grants import context

pytestmark = pytest.mark.anyio


class Wall:
    """A clock that stands still."""

    def now(self) -> float:
        return 1_000_000.0

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nothing waits here")


class Gated:
    """Prepare, judge (a question is answered with yes, once) and call, as the loop does."""

    def __init__(self, workspace: Path, data: Path) -> None:
        environment = clean_env(os.environ)
        self.sandbox = ChosenSandbox("auto", path_env=environment["PATH"])
        policy = Policy(programs=("cat", "echo", "ls", "wc"), allowed_paths=())
        facts = SystemFacts(policy, environment["PATH"])
        self.gate = PolicyGate(policy, facts, Wall(), analyse)
        self.registry = Registry(
            [
                *workspace_tools(ConfinedFiles(str(data)), self.sandbox, environment, formats=FileFormats(DOCUMENTS.formats, ChildConverter())),
                *own_tools(kept, about),
            ]
        )
        self.workspace = workspace
        self.asked = 0

    async def grant(self, tool: str, arguments: dict[str, Any]) -> Grant:
        spec = self.registry.find(tool)
        assert spec is not None
        final = self.registry.prepare(tool, arguments)
        action = Action(session="s", turn=1, call_id="c", spec=spec, arguments=final, workspace=str(self.workspace), trust=Trust.HIGH)
        try:
            return await self.gate.authorize(action, Answers())
        except Parked as parked:
            self.asked += 1
            yes = Answer(approval_id=parked.question.approval_id, decision="once", by="owner")
            return await self.gate.authorize(action, Answers(by_hash={parked.question.hash: yes}))

    async def call(self, tool: str, **arguments: Any) -> ToolResult:
        return await self.registry.call(await self.grant(tool, arguments), context(self.workspace))


@pytest.fixture
def gated(workspace: Path, tmp_path: Path) -> Gated:
    return Gated(workspace, tmp_path / "preimages")


async def test_files_are_worked_on_from_first_to_last(gated: Gated, workspace: Path) -> None:
    assert (await gated.call("write_file", path="src/a.py", content="x = 1\n")).changes[0].before is None
    assert (await gated.call("read_file", path="src/a.py")).content == "x = 1\n"
    assert (await gated.call("list_files")).content == "src/"
    assert (await gated.call("find_files", pattern="*.py")).content == "src/a.py"
    assert (await gated.call("search_files", pattern="x.*1")).content == "src/a.py:1: x = 1"
    await gated.call("edit_file", path="src/a.py", old="1", new="2")
    assert (workspace / "src/a.py").read_text() == "x = 2\n"
    assert gated.asked == 0
    await gated.call("delete_file", path="src/a.py")
    assert not (workspace / "src/a.py").exists()
    assert gated.asked == 1


async def test_what_was_interrupted_is_told_under_its_own_grant(gated: Gated, workspace: Path) -> None:
    (workspace / "a.txt").write_text("one")
    grant = await gated.grant("edit_file", {"path": "a.txt", "old": "one", "new": "two"})
    assert await gated.registry.probe(grant, context(workspace)) is False
    await gated.registry.call(grant, context(workspace))
    assert isinstance(await gated.registry.probe(grant, context(workspace)), ToolResult)


async def test_commands_run_confined(gated: Gated, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    assert (await gated.call("terminal", command="echo hello")).content == "hello\n"
    assert (await gated.call("terminal", command="echo a b > sub/made; cat sub/made | wc -w")).content.strip() == "2"
    assert (await gated.call("terminal", command="ls", working_dir="sub")).content == "made\n"


async def test_what_touches_nothing_runs_as_it_is(gated: Gated) -> None:
    assert (await gated.call("calculate", expression="6 * 7")).content == "42"
    assert "kernel:" in (await gated.call("info")).content
    assert (await gated.call("read_result", call_id="long")).metadata["remaining"] > 0
    assert gated.asked == 0
