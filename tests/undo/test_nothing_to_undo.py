"""Where undo can bring back nothing: the turn is named, and no older one is taken in its place."""

from pathlib import Path
from typing import Any

import pytest

from neuralclaw.errors import UsageError

from ..agent import kit
from .test_verbs import opened, replies

pytestmark = pytest.mark.anyio


async def test_a_turn_that_changed_what_nobody_looked_at_is_named_before_an_older_one_is_undone(home: Path, workspace: Path, tmp_path: Path) -> None:
    outside = tmp_path / "out"
    outside.mkdir()
    (outside / "f").write_text("mine")

    async def yes(question: Any) -> str:
        return "once"

    commands = replies("echo two > a.txt", f"rm {outside}/f")
    async with kit.agent(home, *commands, workspace=workspace, approver=yes) as agent:
        await kit.events(agent, session="s")
        await kit.events(agent, "more", session="s")
        assert not (outside / "f").exists()
        left = [{"path": str(outside), "why": "it is outside what undo keeps", "conflict": False}]
        shown = await agent.do("diff")
        assert (shown["turn"], shown["said"]) == (2, "turn 2 changed nothing that undo keeps")
        assert shown["not_kept"] == [f"{outside}: it is outside what undo keeps"]
        report = await agent.do("undo", turn=2)
        assert (report["turn"], report["left"], report["not_kept"]) == (2, left, [])
        assert report["said"] == "nothing of turn 2 could be restored; another undo takes the turn before it"
        assert (workspace / "a.txt").read_text() == "two\n"
        report = await agent.do("undo")
        assert (report["turn"], report["left"], (workspace / "a.txt").read_text()) == (1, [], "one\n")
        assert (await agent.do("undo", turn=2))["left"] == left
        assert (await agent.do("redo"))["turn"] == 1  # the undo that did nothing is not taken back


async def test_a_yes_to_write_outside_is_not_taken_back_because_undo_covers_the_workspace(home: Path, workspace: Path, tmp_path: Path) -> None:
    outside = tmp_path / "out"
    outside.mkdir()
    (workspace / "x.py").write_text(f"open({str(outside / 'new')!r}, 'w').write('made')")
    asked: list[Any] = []

    async def yes(question: Any) -> str:
        asked.append(question)
        return "once"

    reply = kit.calls(kit.call("terminal", command="python3 x.py", access=[f"write {outside}"]))
    async with kit.agent(home, reply, "done", workspace=workspace, approver=yes) as agent:
        await kit.events(agent, session="s")
    assert len(asked) == 1
    assert (outside / "new").read_text() == "made"


async def test_without_a_number_it_is_named_first_too(home: Path, workspace: Path, tmp_path: Path) -> None:
    outside = tmp_path / "out"
    outside.mkdir()
    (outside / "f").write_text("mine")

    async def yes(question: Any) -> str:
        return "once"

    async with kit.agent(home, *replies("echo two > a.txt", f"rm {outside}/f"), workspace=workspace, approver=yes) as agent:
        await kit.events(agent, session="s")
        await kit.events(agent, "more", session="s")
        report = await agent.do("undo")
        assert (report["turn"], len(report["left"]), report["restored"]) == (2, 1, [])
        assert (await agent.do("undo"))["turn"] == 1


async def test_a_file_that_the_turn_did_not_change_is_named(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "echo two > a.txt") as agent:
        await kit.events(agent, session="s")
        for verb in ("undo", "diff"):
            assert (await agent.do(verb, file="nothere"))["said"] == "turn 1 changed nothing at nothere that undo keeps"
            with pytest.raises(UsageError, match="the path of --file is empty"):
                await agent.do(verb, file="")
        assert (workspace / "a.txt").read_text() == "two\n"


async def test_a_turn_where_no_session_is_is_refused(home: Path, workspace: Path) -> None:
    async with opened(home, workspace) as agent:
        for verb in ("undo", "diff"):
            with pytest.raises(UsageError, match=f"there is no turn 1: there is no session that began in {workspace}; --session names one"):
                await agent.do(verb, turn=1)


async def test_where_a_session_has_nothing_to_undo_another_of_its_workspace_is_named_that_has(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "echo two > a.txt", "true", "true") as agent:
        for session in ("first", "middle", "last"):
            await kit.events(agent, session=session)
        other = "; another session of this workspace changed files: neuralclaw {} --session first"
        assert (await agent.do("undo"))["said"] == "nothing was changed in the session last" + other.format("undo")
        assert (await agent.do("diff"))["said"] == "nothing was changed in the session last" + other.format("diff")
        assert (await agent.do("undo", session="first"))["turn"] == 1
        assert (await agent.do("undo", session="first"))["said"] == "there is nothing more to undo in the session first"
        assert (await agent.do("undo", session="last"))["said"] == "nothing was changed in the session last"


async def test_below_a_workspace_it_is_named_where_sessions_began(home: Path, workspace: Path) -> None:
    below = workspace / "sub"
    below.mkdir()
    async with opened(home, workspace, "echo two > a.txt") as agent:
        await kit.events(agent, session="s")
    async with opened(home, below) as agent:
        said = f"there is no session that began in {below}; sessions began in {workspace}: call it there, or name one with --session"
        assert [(await agent.do(verb))["said"] for verb in ("undo", "redo", "diff")] == [said] * 3


async def test_a_turn_that_wrote_where_undo_does_not_look_is_named_before_an_older_one_is_undone(home: Path, workspace: Path) -> None:
    async def yes(question: Any) -> str:
        return "once"

    for number in range(20):
        (workspace / f"f{number}").touch()
    made = "mkdir d && touch d/a d/b d/c"
    async with kit.agent(home, *replies("echo two > a.txt"), workspace=workspace, approver=yes) as agent:
        await kit.events(agent, session="s")
    async with kit.agent(home, *replies(made, made), workspace=workspace, approver=yes, settings={"undo": {"max_files": 5}}) as agent:
        (workspace / "unknown").touch()
        await kit.events(agent, session="s")  # nothing is run: undo covered it when it was judged
        await kit.events(agent, session="s")
        assert (workspace / "d" / "c").exists()
        report = await agent.do("undo")
        assert (report["turn"], [one["why"] for one in report["left"]]) == (3, ["there are more than 5 files"])
        assert (workspace / "a.txt").read_text() == "two\n"
        report = await agent.do("undo")
        assert (report["turn"], (workspace / "a.txt").read_text()) == (1, "one\n")


async def test_a_turn_that_was_undone_is_not_said_to_have_changed_nothing(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "echo two > a.txt") as agent:
        await kit.events(agent, session="s")
        await agent.do("undo")
        back = "; neuralclaw redo brings it back"
        assert (await agent.do("diff"))["said"] == "everything that undo can bring back was undone in the session s" + back
        assert (await agent.do("diff", turn=1))["said"] == "what turn 1 changed was undone" + back
        assert (await agent.do("diff", turn=1, file="a.txt"))["said"] == "what turn 1 changed at a.txt was undone" + back
        assert (await agent.do("diff", turn=1, file="b.txt"))["said"] == "turn 1 changed nothing at b.txt that undo keeps"
        await agent.do("redo")
        assert [file["path"] for file in (await agent.do("diff"))["files"]] == ["a.txt"]


async def test_the_session_of_single_calls_is_named_where_it_changed_files(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "true") as agent:
        await agent.do("tools.call", name="write_file", arguments={"path": "new", "content": "x"})
        assert (await agent.do("undo"))["said"].endswith("but the one that keeps single calls: --session tools")
        await kit.events(agent, session="s")
        assert (await agent.do("undo"))["said"].endswith("another session of this workspace changed files: neuralclaw undo --session tools")
        assert (await agent.do("undo", session="tools"))["restored"] == [str(workspace / "new")]
