"""A file that a turn moved stays where it is while its old place is left: it may be there nowhere else, whatever became of it."""

import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..agent import kit
from .hostile_day import Day
from .test_verbs import opened
from .test_who_changed_it import while_it_runs

pytestmark = [pytest.mark.anyio, pytest.mark.invariant("undo.nothing-lost")]


def terminal(command: str) -> Any:
    return kit.calls(kit.call("terminal", command=command))


def edited(path: str, old: str, new: str) -> Any:
    return kit.calls(kit.call("edit_file", path=path, old=old, new=new))


def texts(place: Path) -> dict[str, str]:
    return {str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "calls",
    [
        [terminal("mv a.txt b.txt"), edited("b.txt", "one", "two")],
        [terminal("mv a.txt b.txt"), terminal("sed -i s/one/two/ b.txt")],
        [terminal("mv a.txt b.txt && sed -i s/one/two/ b.txt")],
        [terminal("mv a.txt b.txt"), terminal("sed -i s/one/two/ b.txt; echo agent > a.txt")],
    ],
)
async def test_what_was_moved_and_changed_stays_where_another_file_is_in_its_old_place(home: Path, workspace: Path, calls: list[Any]) -> None:
    async with kit.agent(home, *calls, "done", workspace=workspace, approvals="auto", trust="high") as agent:
        await kit.events(agent, session="s")
        (workspace / "a.txt").write_text("mine\n")
        report = await agent.do("undo")
        assert {os.path.basename(one["path"]): one["conflict"] for one in report["left"]} == {"a.txt": True, "b.txt": False}
        assert texts(workspace) == {"a.txt": "mine\n", "b.txt": "two\n"}
        assert (await agent.do("undo", file="b.txt"))["restored"] == [str(workspace / "b.txt")]


@pytest.mark.parametrize("then", [terminal("echo more >> a.txt"), kit.calls(kit.call("write_file", path="a.txt", content="agent\n"))])
async def test_what_was_moved_stays_where_somebody_made_another_file_that_was_changed_in_turn(home: Path, workspace: Path, then: Any) -> None:
    async with kit.agent(home, terminal("mv a.txt b.txt"), then, "done", workspace=workspace, approvals="auto", trust="high") as agent:
        async with agent.turn("do it", session="s") as stream:
            async for event in stream:
                if event.body.type == "undo.saved" and not (workspace / "a.txt").exists():
                    (workspace / "a.txt").write_text("mine\n")
        report = await agent.do("undo")
        assert report["restored"] == [str(workspace / "a.txt")]
        assert texts(workspace) == {"a.txt": "mine\n", "b.txt": "one\n"}


async def test_what_another_session_wrote_and_a_command_moved_stays(home: Path, workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    calls = kit.calls(kit.call("write_file", path="a.txt", content="theirs\n"))
    moving = "mkdir d; echo ready; cat pipe; mv a.txt d/b.txt"
    async with opened(home, workspace, moving) as one, kit.agent(home, calls, "done", workspace=workspace, approvals="auto", trust="high") as other:
        await while_it_runs(one, workspace, lambda: kit.events(other, session="other"))
        assert {os.path.basename(left["path"]) for left in (await one.do("undo", session="one"))["left"]} == {"a.txt", "b.txt", "d"}
    assert (workspace / "d" / "b.txt").read_text() == "theirs\n"


def within(size: int, work: Callable[[], Any]) -> Any:
    """Do it where no file can be made that is larger, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        return work()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_nothing_is_taken_away_before_what_it_was_made_of_is_back(tmp_path: Path) -> None:
    day = Day(tmp_path)
    (day.root / "a").write_bytes(content := os.urandom(5_000))
    day.begin()
    day.run("mv a b; echo small > a")
    changes = day.end()
    assert len(within(1_000, lambda: day.undo(changes))) == 2
    assert (day.root / "b").read_bytes() == content
    assert day.undo(changes) == []
    assert ((day.root / "a").read_bytes(), (day.root / "b").exists()) == (content, False)


async def test_what_stood_at_an_old_place_is_not_taken_away_by_a_redo_that_cannot_bring_what_became_of_it(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "mv a.txt b.txt && sed -i s/one/two/ b.txt") as agent:
        await kit.events(agent, session="s")
        assert not (await agent.do("undo"))["left"]
        (workspace / "b.txt").write_text("mine\n")
        assert {os.path.basename(one["path"]) for one in (await agent.do("redo"))["left"]} == {"a.txt", "b.txt"}
        assert texts(workspace) == {"a.txt": "one\n", "b.txt": "mine\n"}


async def test_what_was_moved_over_another_file_and_changed_stays(home: Path, workspace: Path) -> None:
    (workspace / "b.txt").write_text("another\n")
    (workspace / "c.txt").write_text("c\n")
    async with opened(home, workspace, "mv -f a.txt b.txt && touch new && sed -i s/one/two/ b.txt && echo changed > c.txt", trust="high") as agent:
        await kit.events(agent, session="s")
        (workspace / "a.txt").write_text("mine\n")
        assert {os.path.basename(one["path"]) for one in (await agent.do("undo"))["left"]} == {"a.txt", "b.txt"}
        assert texts(workspace) == {"a.txt": "mine\n", "b.txt": "two\n", "c.txt": "c\n"}


async def test_a_move_of_one_file_is_taken_back_and_done_again_as_a_whole(home: Path, workspace: Path) -> None:
    (workspace / "d").mkdir()
    (workspace / "d" / "c.txt").write_text("c\n")
    async with opened(home, workspace, "mv a.txt b.txt; mv d e; echo new > new.txt") as agent:
        await kit.events(agent, session="s")
        assert sorted((await agent.do("undo", file="b.txt"))["restored"]) == [str(workspace / "a.txt"), str(workspace / "b.txt")]
        assert texts(workspace) == {"a.txt": "one\n", "e/c.txt": "c\n", "new.txt": "new\n"}
        assert not (await agent.do("redo", file="a.txt"))["left"]
        assert texts(workspace) == {"b.txt": "one\n", "e/c.txt": "c\n", "new.txt": "new\n"}
        assert not (await agent.do("undo", file="e"))["left"]
        assert texts(workspace) == {"b.txt": "one\n", "d/c.txt": "c\n", "new.txt": "new\n"}
