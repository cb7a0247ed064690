"""`undo`, `redo` and `diff`: what is done, what is left, and what they refuse."""

import os
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from neuralclaw.app.settings_loading import load_settings
from neuralclaw.app.undo.change_recorder import ChangeRecorder
from neuralclaw.app.undo.turn_changes import SessionChanges
from neuralclaw.app.undo.undo_events import UndoBegun, UndoSettings
from neuralclaw.app.undo.undo_store import UndoStore
from neuralclaw.errors import SessionBusy, UsageError
from neuralclaw.sandbox.undo.path_states import encode_changes
from neuralclaw.sandbox.undo.restoring import Restoration
from neuralclaw.types.entries import Draft
from neuralclaw.types.risk import Power

from ..agent import kit
from ..waiting import until
from .trees import standing

pytestmark = pytest.mark.anyio


def replies(*commands: str) -> list[Any]:
    return [part for command in commands for part in (kit.calls(kit.call("terminal", command=command)), "done")]


def opened(home: Path, workspace: Path, *commands: str, **options: Any) -> Any:
    return kit.agent(home, *replies(*commands), workspace=workspace, approvals="auto", **options)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "w"
    place.mkdir()
    (place / "a.txt").write_text("one\ntwo\n")
    (place / "b.txt").write_text("b\n")
    return place


@pytest.mark.invariant("undo.nothing-lost")
async def test_what_was_changed_later_is_named_and_left_and_the_rest_is_undone(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "sed -i s/o/0/ a.txt b.txt; echo x > a.txt; echo y > b.txt; touch c.txt") as agent:
        await kit.events(agent, session="s")
        (workspace / "a.txt").write_text("mine\n")
        report = await agent.do("undo")
        assert report["left"] == [{"path": str(workspace / "a.txt"), "why": "it was changed later", "conflict": True}]
        assert ((workspace / "a.txt").read_text(), (workspace / "b.txt").read_text(), (workspace / "c.txt").exists()) == ("mine\n", "b\n", False)
        assert (await agent.do("undo"))["left"] == report["left"]  # it is still what the turn left to undo


async def test_undo_walks_back_turn_by_turn_and_redo_takes_it_back(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "echo 1 > a.txt", "echo 2 > a.txt") as agent:
        for text in ("first", "second"):
            await kit.events(agent, text, session="s")
        assert [(await agent.do("undo"))["turn"] for _ in range(2)] == [2, 1]
        assert (workspace / "a.txt").read_text() == "one\ntwo\n"
        assert (await agent.do("undo"))["said"] == "there is nothing more to undo in the session s"
        assert (await agent.do("redo"))["turn"] == 1
        assert (workspace / "a.txt").read_text() == "1\n"
        assert [(await agent.do("redo"))["turn"], (workspace / "a.txt").read_text()] == [2, "2\n"]
        assert (await agent.do("redo"))["said"] == "there is no undo to take back"


async def test_one_file_of_a_turn_is_undone_alone(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "echo 1 > a.txt; echo 1 > b.txt") as agent:
        await kit.events(agent, session="s")
        assert (await agent.do("undo", file="a.txt"))["restored"] == [str(workspace / "a.txt")]
        assert ((workspace / "a.txt").read_text(), (workspace / "b.txt").read_text()) == ("one\ntwo\n", "1\n")
        assert (await agent.do("undo"))["restored"] == [str(workspace / "b.txt")]


async def test_what_file_tools_change_is_undone_with_the_directories_that_they_made(home: Path, workspace: Path) -> None:
    before = standing(workspace)
    made = kit.calls(
        kit.call("write_file", path="new/deep/c.txt", content="c"), kit.call("write_file", path="a.txt", content="A"), kit.call("delete_file", path="b.txt")
    )
    async with kit.agent(home, made, "done", workspace=workspace, approvals="auto") as agent:
        await kit.events(agent, session="s")
        after = standing(workspace, times=False)
        assert not (await agent.do("undo"))["left"]
        assert standing(workspace) == before
        assert not (await agent.do("redo"))["left"]
        assert standing(workspace, times=False) == after


async def test_a_turn_that_is_not_there_and_a_session_whose_turn_runs_are_refused(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "echo 1 > a.txt") as agent:
        assert (await agent.do("undo"))["said"].startswith("there is no session")
        await kit.events(agent, session="s")
        with pytest.raises(UsageError, match="there is no turn 9 in the session s: it has turns 1 to 1"):
            await agent.do("undo", turn=9)
        lease = await agent.desk._store.acquire("session:s")  # as another process has it
        assert lease is not None
        with pytest.raises(SessionBusy, match="busy in pid"):
            await agent.do("undo")
        assert (workspace / "a.txt").read_text() == "1\n"
        await agent.desk._store.release(lease)
        assert (await agent.do("undo"))["restored"]


async def test_a_diff_names_what_was_created_deleted_moved_and_is_binary_and_escapes_what_a_terminal_obeys(home: Path, workspace: Path) -> None:
    (workspace / "raw").write_bytes(b"\0\1")
    command = "printf 'one\\n\\033[2Jtwo\\n' > a.txt; rm b.txt; touch c; printf '\\000' > raw; chmod 600 c; ln -s c l; mkdir d; printf moved > m1"
    async with opened(home, workspace, command, "mv m1 m2") as agent:
        await kit.events(agent, session="s")
        shown = {file["path"]: (file["change"], file["diff"]) for file in (await agent.do("diff", turn=1))["files"]}
        assert shown["a.txt"] == ("changed", "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+\\x1b[2Jtwo")
        assert [shown[name][0] for name in ("b.txt", "c", "d", "l")] == ["file deleted", "file created", "directory created", "link created"]
        assert shown["raw"] == ("changed", "(binary: 2 bytes became 1)")
        await kit.events(agent, "more", session="s")
        assert (await agent.do("diff"))["files"] == [{"path": "m2", "change": "renamed from m1", "diff": ""}]


SCANNED: list[int] = []
"""Directories that were listed by their descriptor, as the check for undo does and nothing else here."""


@cache
def watch_scans() -> None:
    """From now on; a hook stays for as long as the process lives."""
    sys.addaudithook(scanned)


def scanned(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "os.scandir" and isinstance(arguments[0], int):
        SCANNED.append(arguments[0])


READS = kit.calls(kit.call("read_file", path="a.txt"), kit.call("terminal", command="ls -la"), kit.call("calculate", expression="6*7"))


async def test_a_turn_of_pure_calls_pays_nothing_for_undo(home: Path, workspace: Path) -> None:
    watch_scans()
    async with kit.agent(home, READS, "done", *replies("touch x"), READS, "done", workspace=workspace) as agent:
        agent._home.early_copies.turn_begins(str(workspace), [cast(Any, SimpleNamespace(powers={Power.EXECUTE}))])
        agent._home.early_copies.close()  # on a busy machine the turn may take so long that the copy begins
        SCANNED.clear()
        await kit.events(agent, session="s")
        assert SCANNED == []
        assert not (home / "undo").exists()
        await kit.events(agent, "now write", session="s")
        assert len(SCANNED) == 3  # the first copy, before, after
        assert (workspace / "x").exists()
        SCANNED.clear()
        await kit.events(agent, "read again", session="s")
        assert SCANNED == []


async def test_a_turn_of_pure_calls_does_not_wait_for_the_first_copy(home: Path, workspace: Path) -> None:
    recorder = ChangeRecorder(load_settings(str(home), {}, None), None, None, places=None, allowed=(), protected=())  # type: ignore[arg-type]
    tree = recorder.kept.tree(str(workspace))
    with tree.held():
        recorder.copy_first(str(workspace))  # it begins, and goes on when the tree is let go
        async with kit.agent(home, READS, "done", workspace=workspace) as agent:
            agent._home.changes.copy_first(str(workspace))
            with anyio.fail_after(5):
                assert (await kit.events(agent, session="s")).one("turn.finished").body.status == "done"
            assert not tree.known
    recorder.close()


@pytest.mark.parametrize("tools", [["terminal"], ["read_file"]])
async def test_the_first_copy_is_made_in_the_background_when_a_workspace_is_first_used(home: Path, workspace: Path, tools: list[str]) -> None:
    async with kit.agent(home, "hello", workspace=workspace, builtin=tools) as agent:
        await kit.events(agent, session="s")
        timers = agent._home.early_copies._timers
        assert (str(workspace) in timers) == (tools == ["terminal"])
        if timers:
            await until(lambda: agent._home.changes.kept.tree(str(workspace)).known)
    assert (home / "undo").exists() == bool(timers)


async def test_an_undo_that_was_killed_in_the_middle_is_brought_to_its_end(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "echo 1 > a.txt; echo 1 > b.txt; touch c") as agent:
        await kit.events(agent, session="s")
        store, kept = agent.desk._store, UndoStore(str(home), UndoSettings())
        changes = [one.reversed for one in (await SessionChanges.read(store, "s", kept)).turns[1].net()[0]]
        digest = kept.contents.keep_bytes(encode_changes(changes)).hex()
        await store.append("s", [Draft(1, UndoBegun(undo_id="u", kind="undo", changes=digest, count=3))])
        Restoration(changes[:1], [str(workspace)], kept.contents).run()  # the process dies here
        assert ((workspace / "a.txt").read_text(), (workspace / "b.txt").read_text()) == ("one\ntwo\n", "1\n")
        report = await agent.do("undo")
        assert (report["finished"], report["left"]) == (True, [])
        assert ((workspace / "a.txt").read_text(), (workspace / "b.txt").read_text(), (workspace / "c").exists()) == ("one\ntwo\n", "b\n", False)


async def test_what_is_kept_no_longer_is_said(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "echo 1 > a.txt", settings={"undo": {"keep_days": 1}}) as agent:
        await kit.events(agent, session="s")
        for path in (home / "undo").rglob("*"):
            if path.is_file():
                os.utime(path, (1, 1))
        assert (await agent.do("redo"))["said"] == "there is no undo to take back"  # and cleans up
        report = await agent.do("undo")
        assert "was kept until 20" in report["said"]
        assert (workspace / "a.txt").read_text() == "1\n"


async def test_what_is_kept_no_longer_goes_without_an_undo(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "echo 1 > a.txt", "echo 2 > b.txt", settings={"undo": {"keep_days": 1}}) as agent:
        await kit.events(agent, session="s")
        old = home / "undo" / "contents" / "ab" / ("ab" * 32)
        old.parent.mkdir(exist_ok=True)
        old.write_text("nobody needs it")
        (home / "undo" / "cleaned").touch()
        for path in (old, home / "undo" / "cleaned"):
            os.utime(path, (1, 1))
        await kit.events(agent, "again", session="s")
        await until(lambda: not old.exists())
        assert (await agent.do("undo"))["restored"] == [str(workspace / "b.txt")]


async def test_a_command_asks_where_undo_cannot_bring_back_what_is_there(home: Path, workspace: Path) -> None:
    async with kit.agent(home, *replies("touch x", "touch y"), workspace=workspace, approvals="none") as agent:
        await kit.events(agent, session="s")
        assert (workspace / "x").exists()
        (workspace / "huge").touch()
        os.truncate(workspace / "huge", 10_000_000_000)
        await kit.events(agent, "again", session="s")
    assert not (workspace / "y").exists()


async def test_an_empty_file_name_is_refused_and_nothing_is_undone(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "echo new > a.txt") as agent:
        await kit.events(agent, session="s")
        with pytest.raises(UsageError, match="the path of --file is empty"):
            await agent.do("undo", file="")
        assert (workspace / "a.txt").read_text() == "new\n"


async def test_a_file_alone_is_taken_back_from_the_newest_turn_that_changed_it(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "echo 1 > a", "echo 2 > b") as agent:
        for _ in range(2):
            await kit.events(agent, session="s")
        undone = await agent.do("undo", file="a")
        assert (undone["turn"], (workspace / "a").exists(), (workspace / "b").exists()) == (1, False, True)
