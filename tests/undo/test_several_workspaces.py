"""A session that goes on in another directory: undo and diff know what its calls changed in each."""

import os
from pathlib import Path

import pytest

from neuralclaw.app.undo.undo_events import UndoSettings
from neuralclaw.app.undo.undo_store import UndoStore
from neuralclaw.sandbox.running_call import RunningCall

from ..agent import kit
from .test_verbs import opened
from .test_who_changed_it import SLOW, while_it_runs

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("place", ["w/sub", "second"])
async def test_what_a_killed_command_changed_in_a_later_workspace_is_undone(home: Path, workspace: Path, tmp_path: Path, place: str) -> None:
    (second := tmp_path / place).mkdir()
    (second / "b.txt").write_text("one\n")
    async with opened(home, workspace, "echo first > a.txt") as agent:
        await kit.events(agent, session="s")
    async with opened(home, second, "echo second > c.txt") as agent:
        await kit.events(agent, session="s")
    killed, tree = RunningCall("s", 2, "killed", "terminal"), UndoStore(str(home), UndoSettings()).tree(str(second))
    tree.begin(killed)
    (second / "b.txt").write_text("agent\n")
    tree.mark(killed)
    tree.leave(killed)  # as its process dies
    async with opened(home, workspace) as agent:
        assert "what a call changed that was interrupted, or still runs, is not shown" in (await agent.do("diff"))["said"]
        report = await agent.do("undo")
        assert (report["turn"], sorted(report["restored"]), report["left"]) == (2, [str(second / "b.txt"), str(second / "c.txt")], [])
        assert (await agent.do("diff"))["said"] == ""
    assert (second / "b.txt").read_text() == "one\n"


async def test_an_undo_in_a_later_workspace_is_told_to_the_commands_that_run_there(home: Path, workspace: Path, tmp_path: Path) -> None:
    (first := tmp_path / "first").mkdir()
    os.mkfifo(workspace / "pipe")
    async with opened(home, first, "echo first > a.txt") as agent:
        await kit.events(agent, session="s")
    async with opened(home, workspace, "echo agent > b.txt") as agent:
        await kit.events(agent, session="s")
    (workspace / "b.txt").write_text("one\n")
    async with opened(home, workspace, "echo agent > b.txt", SLOW) as agent:
        await kit.events(agent, session="s")
        await while_it_runs(agent, workspace, lambda: agent.do("undo", session="s"))
        assert (workspace / "b.txt").read_text() == "one\n"
        report = await agent.do("undo", session="one")
        assert "undo of session s" in next(left["why"] for left in report["left"] if left["path"] == str(workspace / "b.txt"))
    assert (workspace / "b.txt").read_text() == "one\n"


async def test_a_session_is_undone_although_a_workspace_of_it_is_gone(home: Path, workspace: Path, tmp_path: Path) -> None:
    (first := tmp_path / "first").mkdir()
    async with opened(home, first, "echo first > a.txt") as agent:
        await kit.events(agent, session="s")
    (first / "a.txt").unlink()
    first.rmdir()
    async with opened(home, workspace, "echo agent > a.txt") as agent:
        await kit.events(agent, session="s")
        assert (await agent.do("undo", session="s"))["restored"] == [str(workspace / "a.txt")]
