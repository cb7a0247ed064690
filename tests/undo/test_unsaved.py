"""Where undo cannot save: the action asks and says why, the turn goes on, and no sentence is about something else."""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw.errors import StoreError
from neuralclaw.testing import EventCapture

from ..agent import kit
from ..sandbox.processes import BWRAP

pytestmark = pytest.mark.anyio


def replies(*commands: str) -> list[Any]:
    return [part for command in commands for part in (kit.calls(kit.call("terminal", command=command)), "done")]


def reasons(seen: Any) -> str:
    return " ".join(reason for event in seen.of("decision") for reason in event.body.reasons)


async def test_a_place_that_cannot_be_written_makes_commands_ask_and_undo_say_so(home: Path, workspace: Path) -> None:
    (home / "undo").write_text("a file where a directory is needed")
    async with kit.agent(home, *replies("touch x", "touch y"), workspace=workspace, approvals="none") as agent:
        seen = await kit.events(agent, session="s")
        assert f"this is execute: what is in {workspace} could not be copied (" in reasons(seen)
        assert not (workspace / "x").exists()
    async with kit.agent(home, *replies("touch y"), workspace=workspace, approvals="auto", trust="high") as agent:
        seen = await kit.events(agent, session="s")
        assert seen.of("turn.finished")[0].body.status == "done"
        assert (workspace / "y").exists()
        assert seen.of("undo.saved")[0].body.not_kept_count == 1
        (home / "undo").unlink()
        (home / "undo").mkdir()
        assert [one["path"] for one in (await agent.do("undo"))["left"]] == [str(workspace)]


async def test_what_cannot_be_saved_after_a_command_is_named_and_recorded_when_there_is_room(home: Path, workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    contents, aside = home / "undo" / "contents", home / "undo" / "aside"
    async with kit.agent(home, *replies("echo two > a.txt; echo written; cat pipe"), workspace=workspace, approvals="none") as agent:
        seen = EventCapture()
        async with agent.turn("do it", session="s") as stream:
            async for event in stream:
                seen.events.append(event)
                if event.body.type == "tool.output" and contents.is_dir():
                    contents.rename(aside)
                    contents.write_text("nothing can be saved any more")
                    (workspace / "pipe").write_text("go on")
        assert seen.one("turn.finished").body.status == "done"
        assert any(one.startswith(f"{workspace}/a.txt: it could not be saved (") for one in seen.one("undo.saved").body.not_kept)
        with pytest.raises(StoreError, match="cannot be saved, and so not be undone yet"):
            await agent.do("undo")
        contents.unlink()
        aside.rename(contents)
        assert f"{workspace}/a.txt" in (await agent.do("undo"))["restored"]
        assert (workspace / "a.txt").read_text() == "one\n"


async def test_a_workspace_that_a_command_removed_can_be_made_again_and_undone(home: Path, workspace: Path) -> None:
    (workspace / "clean").write_text("import os, shutil\nshutil.rmtree(os.getcwd())\n")
    settings = {"tools": {"terminal": {"sandbox": "process"}}}
    async with kit.agent(home, *replies("python3 clean"), workspace=workspace, approvals="auto", trust="high", settings=settings) as agent:
        await kit.events(agent, session="s")
        assert not workspace.exists()
        with pytest.raises(StoreError, match=f"{workspace} is not there any more") as raised:
            await agent.do("undo")
        assert raised.value.hint == f"make the directory again, and undo with --file {workspace}"
        workspace.mkdir()
        assert f"{workspace}/a.txt" in (await agent.do("undo", file=str(workspace)))["restored"]
        assert (workspace / "a.txt").read_text() == "one\n"


SMALL = """
import sys, os, anyio
from pathlib import Path
from tests.agent import kit
home, workspace = Path(sys.argv[1]), Path(sys.argv[2])
async def main():
    commands = ("touch x", "touch y", "touch z")
    replies = [part for one in commands for part in (kit.calls(kit.call("terminal", command=one)), "done")]
    async with kit.agent(home, *replies, workspace=workspace, approvals="none") as agent:
        for _ in range(2):
            seen = await kit.events(agent, session="s")
            print(*[reason for event in seen.of("decision") for reason in event.body.reasons])
        os.unlink(workspace / "film")
        await kit.events(agent, session="s")
        print(sorted(os.listdir(workspace)))
        print((await agent.do("undo"))["restored"])
anyio.run(main)
"""


async def test_a_disk_without_room_makes_commands_ask_until_there_is_room(home: Path, workspace: Path) -> None:
    (workspace / "film").write_bytes(os.urandom(5_000_000))
    around = [BWRAP, "--dev-bind", "/", "/", "--size", str(4 << 20), "--tmpfs", str(home), "--"]
    done = await anyio.run_process([*around, sys.executable, "-c", SMALL, str(home), str(workspace)], cwd=Path(__file__).parents[2], check=False)
    said = done.stdout.decode().splitlines()
    assert "undo cannot bring back" in said[0], done.stderr.decode()
    assert "film (it could not be saved (No space left on device))" in said[0]
    assert said[1] == said[0]
    assert said[2:] == ["['a.txt', 'z']", f"['{workspace}/z']"]
