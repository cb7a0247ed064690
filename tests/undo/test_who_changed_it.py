"""What another session, or a person after a command was killed, changed is not undone with the command; what a cancelled call changed is."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from neuralclaw.app.undo.change_recorder import ChangeRecorder
from neuralclaw.app.undo.file_changes import file_changes
from neuralclaw.app.undo.undo_events import UndoSettings
from neuralclaw.app.undo.undo_store import UndoStore
from neuralclaw.app.undo.undo_verbs import PARTED
from neuralclaw.sandbox.undo.contents import KeptContents, NotSaved
from neuralclaw.sandbox.undo.path_status import states_of
from neuralclaw.sandbox.undo.saved_tree import MARK_SECONDS
from neuralclaw.sandbox.undo.tree_scan import LINKED_OBJECT
from neuralclaw.types.grants import Envelope, Grant
from neuralclaw.types.tools import ToolContext, ToolResult

from ..agent import kit
from .hostile_day import Day
from .test_verbs import opened, replies
from .trees import standing

pytestmark = [pytest.mark.anyio, pytest.mark.full]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "w"
    (place / "sub").mkdir(parents=True)
    (place / "a.txt").write_text("one\n")
    os.mkfifo(tmp_path / "w" / "pipe")
    return place


async def while_it_runs(agent: Any, workspace: Path, work: Any) -> None:
    """Do the work while the agent's command waits for the pipe."""
    async with agent.turn("do it", session="one") as stream:
        begun = False
        async for event in stream:
            if event.body.type == "tool.output" and not begun:
                begun = True
                await work()
                (workspace / "pipe").write_text("go on")


SLOW = "echo mine > a.txt; echo ready; cat pipe; echo more > mine.txt"


async def test_what_a_file_tool_of_another_session_wrote_meanwhile_is_left(home: Path, workspace: Path) -> None:
    calls = kit.calls(kit.call("write_file", path="b.txt", content="theirs"))
    async with opened(home, workspace, SLOW) as one, kit.agent(home, calls, "done", workspace=workspace, approvals="none") as other:
        await while_it_runs(one, workspace, lambda: kit.events(other, session="other"))
        report = await one.do("undo", session="one")
        assert [(os.path.basename(left["path"]), "write_file of session other" in left["why"]) for left in report["left"]] == [("b.txt", True)]
        assert (workspace / "b.txt").read_text() == "theirs"
        assert not (workspace / "mine.txt").exists()
        assert (await other.do("undo", session="other"))["restored"] == [str(workspace / "b.txt")]


async def test_what_a_command_of_a_workspace_inside_this_one_changed_meanwhile_is_left(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, SLOW) as one, opened(home, workspace / "sub", "echo theirs > b.txt") as other:
        await while_it_runs(one, workspace, lambda: kit.events(other, session="other"))
        report = await one.do("undo", session="one")
        assert [(os.path.basename(left["path"]), "terminal of session other" in left["why"]) for left in report["left"]] == [("b.txt", True)]
        assert (workspace / "sub" / "b.txt").read_text() == "theirs\n"


KILLED = """
import sys
from pathlib import Path
from tests.undo.hostile_day import Day, CALL
from neuralclaw.app.undo.signs_of_life import SignsOfLife
day = Day(Path(sys.argv[1]))
day.begin()
with SignsOfLife().of([day.tree], CALL):
    day.run("echo agent > a; rm d/gone")
    print("done", flush=True)
    input()
"""


def test_what_a_person_does_after_a_command_was_killed_is_told_apart(tmp_path: Path) -> None:
    day = Day(tmp_path)
    day.run("mkdir d docs; echo one > a; echo novel > novel; echo 1 > d/gone; echo z > z; echo page > docs/page")
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, cwd=Path(__file__).parents[2])
    assert child.stdout is not None
    assert child.stdout.readline() == b"done\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    until = time.time() + 4 * MARK_SECONDS
    late = day.root / "late"
    late.write_text("")
    while late.stat().st_ctime < until:
        late.write_text("")
    day.run("echo chapter >> novel; echo mine > new; rm z; mv docs papers")
    _, orphans = day.tree.look()
    assert {os.path.basename(change.path): bool(change.shared) for change in orphans[0].changes} == {
        b"a": False,
        b"gone": False,
        b"late": True,
        b"new": True,
        b"novel": True,
        b"z": True,
        b"docs": True,
        b"papers": True,
        b"page": True,
    }
    assert all(change.shared for change in orphans[0].changes if change.path.endswith(b"/page"))  # gone here, and new there


async def test_what_a_person_changed_between_two_commands_is_not_lost_with_what_the_second_did(home: Path, workspace: Path) -> None:
    commands = [kit.calls(kit.call("terminal", command=command)) for command in ("echo agent >> a.txt", "mv a.txt b.txt")]
    async with kit.agent(home, *commands, "done", workspace=workspace, approvals="none") as agent:
        async with agent.turn("do it", session="s") as stream:
            async for event in stream:
                if event.body.type == "undo.saved" and not (workspace / "b.txt").exists():
                    with (workspace / "a.txt").open("a") as file:
                        file.write("three hours of work\n")
        report = await agent.do("undo")
        assert (workspace / "a.txt").read_text() == "one\nagent\nthree hours of work\n"
        assert not (workspace / "b.txt").exists()
        assert [(left["path"], left["why"]) for left in report["left"]] == [(str(workspace / "a.txt"), PARTED)]
        assert (await agent.do("undo"))["restored"] == []
        await agent.do("redo")
        assert (workspace / "b.txt").read_text() == "one\nagent\nthree hours of work\n"


async def test_what_another_session_wrote_is_left_where_the_command_moved_it(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "echo ready; cat pipe; mv a.txt b.txt") as one, opened(home, workspace, "echo theirs >> a.txt") as other:
        await while_it_runs(one, workspace, lambda: kit.events(other, session="other"))
        left = {os.path.basename(left["path"]): left["why"] for left in (await one.do("undo", session="one"))["left"]}
        assert "terminal of session other" in left["a.txt"]
        assert "it may have been moved from" in left["b.txt"]
        assert (workspace / "b.txt").read_text() == "one\ntheirs\n"


async def test_calls_that_are_cancelled_while_trees_are_looked_at_leave_no_note(home: Path, workspace: Path, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    for number in range(2_000):
        (workspace / f"f{number}").touch()
        (allowed / f"f{number}").touch()
    roots = (str(allowed), str(workspace))
    async with opened(home, workspace, "true") as agent:
        opened_home = agent._home
        settings, store, redactor = opened_home.loaded, opened_home.store, opened_home.redactor
        recorder = ChangeRecorder(settings, store, redactor, places=lambda: opened_home.places, allowed=roots[:1], protected=[])
        for root in roots:
            recorder.kept.tree(root).refresh()

        async def call(number: int) -> None:
            grant = Grant(
                session="s",
                call_id=f"c{number}",
                tool="terminal",
                arguments={},
                workspace=str(workspace),
                hash="",
                envelope=Envelope(execute=True, write=roots),
            )
            await recorder.call(grant, cast("ToolContext", SimpleNamespace(session="s", turn=1, call_id=f"c{number}")), nothing)

        for number in range(20):
            async with anyio.create_task_group() as group:
                group.start_soon(call, number)
                with anyio.move_on_after(0.002 + 0.001 * number):
                    await anyio.Event().wait()
                group.cancel_scope.cancel()
    assert not list((home / "undo" / "trees").glob("*/running-*"))


async def nothing() -> ToolResult:
    return ToolResult()


async def test_a_file_tool_that_fails_after_it_wrote_leaves_what_it_changed_for_undo(home: Path, workspace: Path) -> None:

    path = str(workspace / "a.txt")
    before = states_of([path, str(workspace / "new" / "b.txt")])
    digest = KeptContents(str(home / "c")).keep_bytes(b"one\n")
    (workspace / "a.txt").write_text("half")
    (workspace / "new").mkdir()
    (workspace / "new" / "b.txt").write_text("b")
    changes = file_changes(before, {path: digest.hex()}, ())
    assert [(os.path.basename(change.path), change.before is None) for change in changes] == [(b"a.txt", False), (b"new", True), (b"b.txt", True)]
    assert changes[0].before is not None
    assert changes[0].before.content == digest


def test_a_file_with_a_hard_link_elsewhere_is_named(tmp_path: Path) -> None:
    day = Day(tmp_path)
    day.run("echo 1 > a; ln a b; echo 2 > c; ln c ../outside")
    day.begin()
    assert [(os.path.basename(one.path), one.why) for one in day.tree.not_kept()] == [(b"c", "it has another hard link elsewhere")]


def test_what_is_said_of_the_hard_links_of_a_clone_takes_them_away(tmp_path: Path) -> None:
    commit = "git add . && git -c user.name=a -c user.email=a@b.example commit -qm"
    day = Day(tmp_path)
    day.run(f"git init -q ../of; cd ../of; echo 1 > a; {commit} one; git repack -qad; echo 2 > a; {commit} two; echo 3 | git hash-object -w --stdin")
    day.run("git clone -q ../of one; git clone -q one ../whole; cd ../whole; git repack -qadfk; git clone -q . ../w/two")
    day.tree.refresh()
    assert {one.why for one in day.tree.not_kept()} == {LINKED_OBJECT}
    day.run(f"for one in one two; do cd $one; {LINKED_OBJECT.split('`')[3]}; cd ..; done; cd one; git cat-file -p $(echo 3 | git hash-object --stdin) > kept")
    day.tree.refresh()
    assert day.tree.not_kept() == []
    assert (day.root / "one" / "kept").read_text() == "3\n"


def test_cleaning_leaves_what_the_last_hour_changed(tmp_path: Path) -> None:
    kept = UndoStore(str(tmp_path), UndoSettings(max_mb=1))
    recent, old = (kept.contents.keep_bytes(os.urandom(900_000)) for _ in range(2))
    for path, _ in kept.contents.files():
        if path.endswith(old.hex()):
            os.utime(path, (time.time() - 7_200,) * 2)
    kept.contents.keep_bytes(os.urandom(900_000))
    kept.clean()
    assert (kept.contents.has(recent), kept.contents.has(old)) == (True, False)


def test_a_content_that_would_take_the_room_of_the_record_is_not_kept(tmp_path: Path) -> None:
    disk = os.statvfs(tmp_path)
    with pytest.raises(NotSaved) as refused:
        KeptContents(str(tmp_path / "c"))._leave_room(disk.f_bavail * disk.f_frsize - 1_000_000)
    assert refused.value.errno == errno.ENOSPC
    assert not list((tmp_path / "c").glob("*/*"))


DIES = """
import os, signal, sys
from pathlib import Path
import anyio
from neuralclaw.app.undo.change_recorder import ChangeRecorder
from tests.agent import kit

async def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    ChangeRecorder._record = die
    call = kit.call("delete_file", path="a.txt") if sys.argv[3] == "delete" else kit.call("write_file", path=sys.argv[3], content="agent")
    async with kit.agent(Path(sys.argv[1]), kit.calls(call), workspace=Path(sys.argv[2]), approvals="auto", trust="high") as agent:
        await kit.events(agent, session="s")

anyio.run(main)
"""


@pytest.mark.parametrize("what", ["a.txt", "new.txt", "delete"])
@pytest.mark.parametrize("finished", [True, False])
async def test_what_a_file_tool_changed_that_was_killed_is_undone(home: Path, workspace: Path, what: str, finished: bool) -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", DIES, str(home), str(workspace), what], cwd=root, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert {"a.txt": (workspace / "a.txt").exists(), "new.txt": (workspace / "new.txt").exists(), "delete": not (workspace / "a.txt").exists()}[what]
    async with kit.agent(home, "done", workspace=workspace, approvals="auto", trust="high") as agent:
        if finished:  # the turn goes on, and finds that the call happened
            async with agent.resume("s") as events:
                assert [event.body.type async for event in events][-1] == "turn.finished"
        report = await agent.do("undo", session="s")
        assert (len(report["restored"]), report["left"]) == (1, [])
        assert (workspace / "a.txt").read_text() == "one\n"
        assert not (workspace / "new.txt").exists()
        assert (await agent.do("redo", session="s"))["restored"] == report["restored"]
        assert (workspace / "a.txt").exists() != (what == "delete")


async def test_what_a_file_tool_changed_has_its_attributes_and_links_again(home: Path, workspace: Path) -> None:
    os.setxattr(workspace / "a.txt", "user.note", b"mine")
    os.link(workspace / "a.txt", workspace / "sub" / "twin")
    before = standing(workspace)
    call = kit.calls(kit.call("write_file", path="a.txt", content="theirs"))
    async with opened(home, workspace, "touch made") as agent:
        await kit.events(agent, session="first")
        await agent.do("undo", session="first")
    async with kit.agent(home, call, "done", workspace=workspace, approvals="auto") as agent:
        await kit.events(agent, session="s")
        assert os.getxattr(workspace / "a.txt", "user.note") == b"mine"
        assert not (await agent.do("undo", session="s"))["left"]
        assert standing(workspace) == before
        assert os.getxattr(workspace / "a.txt", "user.note") == b"mine"
        assert (workspace / "a.txt").samefile(workspace / "sub" / "twin")


async def test_a_turn_whose_rest_cannot_be_undone_keeps_nobody_from_the_turn_before(home: Path, workspace: Path) -> None:
    async with opened(home, workspace, "echo agent > b.txt", "echo agent > a.txt") as agent:
        for text in ("one", "two"):
            await kit.events(agent, text, session="s")
        (workspace / "a.txt").write_text("mine")
        reports = [await agent.do("undo") for _ in range(3)]
        assert [(report["turn"], len(report["restored"]), len(report["left"])) for report in reports] == [(2, 0, 1), (1, 1, 0), (2, 0, 1)]
        assert (workspace / "a.txt").read_text() == "mine"


async def test_of_what_cannot_be_brought_back_it_is_said_how_much_more_there_is(home: Path, workspace: Path) -> None:
    for number in range(30):
        (workspace / f"large{number}").write_bytes(b"x" * 1_100_000)
    async with kit.agent(home, *replies("touch x"), workspace=workspace, approvals="auto", settings={"undo": {"max_file_mb": 1}}) as agent:
        await kit.events(agent, session="s")
        assert (await agent.do("diff"))["not_kept"][-1] == "and 10 more"
