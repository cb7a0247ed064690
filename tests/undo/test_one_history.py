"""File tools and commands have one history; several sessions, roots and many commands too."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from ..agent import kit
from .test_verbs import SCANNED, opened, replies, watch_scans
from .trees import standing

pytestmark = [pytest.mark.anyio, pytest.mark.full]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "w"
    place.mkdir()
    (place / "a.txt").write_text("one\ntwo\n")
    return place


async def test_a_turn_of_file_tools_and_commands_is_one_history(home: Path, workspace: Path) -> None:
    calls = kit.calls(
        kit.call("write_file", path="a.txt", content="one\ntwo\nthree\n"),
        kit.call("write_file", path="new/b.txt", content="b\n"),
        kit.call("terminal", command="sed -i s/two/2/ a.txt; echo c > c.txt; mv new/b.txt new/d.txt"),
        kit.call("edit_file", path="a.txt", old="three", new="3"),
        kit.call("edit_file", path="new/d.txt", old="b", new="d"),
        kit.call("terminal", command="echo 4 >> a.txt"),
    )
    before = standing(workspace)
    async with kit.agent(home, calls, "done", workspace=workspace, approvals="none") as agent:
        seen = await kit.events(agent, session="s")
        assert [event.body.ok for event in seen.of("tool.finished")] == [True] * 6, [event.body.error for event in seen.of("tool.finished")]
        assert (workspace / "a.txt").read_text() == "one\n2\n3\n4\n"
        after = standing(workspace, times=False)
        shown = {file["path"]: file["diff"] for file in (await agent.do("diff"))["files"]}
        assert shown["a.txt"] == "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,4 @@\n one\n-two\n+2\n+3\n+4"
        assert shown["new/d.txt"].endswith("+d")
        assert "new/b.txt" not in shown
        assert (await agent.do("undo", file="a.txt"))["restored"] == [str(workspace / "a.txt")]
        assert (workspace / "a.txt").read_text() == "one\ntwo\n"
        assert (workspace / "c.txt").exists()
        assert not (await agent.do("undo"))["left"]
        assert standing(workspace) == before
        for _ in range(2):
            assert not (await agent.do("redo"))["left"]
        assert standing(workspace, times=False) == after


async def test_a_turn_of_file_tools_alone_walks_no_tree(home: Path, workspace: Path) -> None:
    watch_scans()
    calls = kit.calls(kit.call("write_file", path="a.txt", content="x"), kit.call("write_file", path="b.txt", content="y"))
    async with kit.agent(home, calls, "done", workspace=workspace, approvals="none") as agent:
        SCANNED.clear()
        await kit.events(agent, session="s")
        assert SCANNED == []
        assert not (home / "undo" / "trees").exists()
        assert (workspace / "b.txt").read_text() == "y"
        assert sorted((await agent.do("undo"))["restored"]) == [str(workspace / "a.txt"), str(workspace / "b.txt")]


async def test_a_turn_with_thirty_commands_is_undone_and_redone_again_and_again(home: Path, workspace: Path) -> None:
    commands = [f"echo {number} >> a.txt; mkdir -p d{number % 7}; mv -f f{number - 1} f{number} 2>/dev/null; echo {number} > f{number}" for number in range(30)]
    calls = kit.calls(*(kit.call("terminal", command=command) for command in commands))
    before = standing(workspace)
    async with kit.agent(home, calls, "done", workspace=workspace, approvals="none") as agent:
        await kit.events(agent, session="s")
        after = standing(workspace)
        assert (workspace / "f29").read_text() == "29\n"
        for verb, wanted in (("undo", before), ("redo", after)) * 3:
            assert not (await agent.do(verb, session="s"))["left"]
            assert standing(workspace) == wanted, verb


async def test_allowed_paths_in_each_other_and_in_the_workspace_are_one_tree(home: Path, workspace: Path, tmp_path: Path) -> None:
    for place in (workspace / "in", tmp_path / "more" / "deep"):
        place.mkdir(parents=True)
    allowed = [str(workspace / "in"), str(tmp_path / "more"), str(tmp_path / "more" / "deep")]
    command = f"echo 1 > in/x; echo 2 > {tmp_path}/more/deep/y; ln a.txt {tmp_path}/more/hard; echo 3 >> a.txt"
    before = standing(workspace), standing(tmp_path / "more")
    settings = {"tools": {"filesystem": {"allowed_paths": allowed}}}
    async with kit.agent(home, *replies(command), workspace=workspace, approvals="none", settings=settings) as agent:
        seen = await kit.events(agent, session="s")
        assert (tmp_path / "more" / "deep" / "y").exists(), seen.of("tool.finished")
        assert not (await agent.do("undo"))["left"]
    assert (standing(workspace), standing(tmp_path / "more")) == before


async def test_a_workspace_that_was_moved_is_not_touched(home: Path, workspace: Path, tmp_path: Path) -> None:
    async with opened(home, workspace, "echo changed > a.txt; touch b") as agent:
        await kit.events(agent, session="s")
        workspace.rename(tmp_path / "moved")
        workspace.mkdir()
        (workspace / "a.txt").write_text("another\n")
        report = await agent.do("undo", session="s")
    assert [one["why"] for one in report["left"]] == ["it was changed later"]
    assert ((workspace / "a.txt").read_text(), (tmp_path / "moved" / "a.txt").read_text()) == ("another\n", "changed\n")


async def test_a_workspace_behind_a_link_is_its_real_place(home: Path, workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(workspace)
    async with opened(home, tmp_path / "link", "echo changed > a.txt") as agent:
        await kit.events(agent, session="s")
        assert not (await agent.do("undo", file="a.txt"))["left"]
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"


async def test_a_home_inside_the_workspace_makes_commands_ask_and_say_why(workspace: Path) -> None:
    async with opened(workspace / ".claw", workspace, "echo changed > a.txt") as agent:
        seen = await kit.events(agent, session="s")
    assert seen.one("decision").body.reasons[-1].endswith(f"this is execute: {workspace} is too much to be kept")
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"


def large(workspace: Path) -> None:
    (workspace / "film").write_bytes(b"x" * 1_500_000)


def many(workspace: Path) -> None:
    for number in range(40):
        (workspace / f"f{number}").touch()


def heavy(workspace: Path) -> None:
    for number in range(4):
        (workspace / f"part{number}").write_bytes(b"x" * 700_000)


def bound(workspace: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        at = os.open(workspace, os.O_RDONLY)
        made.bind(f"/proc/self/fd/{at}/sock")
        os.close(at)


LIMITS = {"undo": {"max_file_mb": 1, "max_files": 30, "max_workspace_mb": 2}}
ASKED = {
    large: "undo cannot bring back film (it is larger than 1 MB)",
    many: "undo cannot bring back the workspace (there are more than 30 files)",
    heavy: "(the files together are larger than 2 MB, its share of undo.max_workspace_mb and undo.max_mb)",
    bound: "undo cannot bring back sock (it is a socket or a device)",
}


@pytest.mark.parametrize("made", ASKED)
async def test_the_question_names_what_undo_cannot_bring_back(home: Path, workspace: Path, made: Any) -> None:
    made(workspace)
    async with kit.agent(home, *replies("touch x"), workspace=workspace, approvals="none", settings=LIMITS) as agent:
        seen = await kit.events(agent, session="s")
        assert ASKED[made] in " ".join(seen.one("decision").body.reasons)
        assert not (workspace / "x").exists()
    async with kit.agent(home, *replies("touch x"), workspace=workspace, approvals="auto", trust="high", settings=LIMITS) as agent:
        await kit.events(agent, session="s")
        report = await agent.do("undo")
        assert report["left"] if made is many else report["not_kept"]
        assert made is many or not (workspace / "x").exists()


async def test_undo_of_one_session_leaves_what_ran_at_the_same_time_in_another(home: Path, workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    async with (
        opened(home, workspace, "echo mine > a.txt; echo ready; cat pipe; echo more > mine.txt") as one,
        opened(home, workspace, "echo theirs > theirs.txt") as other,
    ):
        async with one.turn("do it", session="one") as stream:
            begun = False
            async for event in stream:
                if event.body.type == "tool.output" and not begun:
                    begun = True
                    await kit.events(other, session="other")
                    (workspace / "pipe").write_text("go on")
        report = await one.do("undo", session="one")
        assert {os.path.basename(path) for path in report["restored"]} >= {"a.txt", "mine.txt"}
        assert any("at the same time ran terminal of session other, turn 1" in one["why"] for one in report["left"] if one["path"].endswith("theirs.txt"))
        assert (workspace / "theirs.txt").read_text() == "theirs\n"
        assert (await other.do("undo", session="other", file="theirs.txt"))["restored"] == [str(workspace / "theirs.txt")]
        assert not (workspace / "theirs.txt").exists()


async def test_a_file_whose_hard_links_are_not_known_is_named_where_it_becomes_a_file_of_its_own(home: Path, workspace: Path) -> None:
    os.link(workspace / "a.txt", workspace / "b.txt")
    calls = kit.calls(kit.call("write_file", path="a.txt", content="agent\n"))
    async with kit.agent(home, calls, "done", workspace=workspace, approvals="auto") as agent:
        await kit.events(agent, session="s")
        report = await agent.do("undo")
        assert (report["restored"], report["left"]) == ([str(workspace / "a.txt")], [])
        assert report["not_kept"] == [f"{workspace}/a.txt: its other hard links are not known: it is a file of its own again"]
