"""What an agent's commands change in places that code is later run from: put back, on record, told to the model, and changed after a yes."""

import fcntl
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw.app.later_run.later_run_events import PlacesPutBack
from neuralclaw.app.later_run.place_recorder import PlaceRecorder
from neuralclaw.sandbox.later_run.place_guard import PlaceGuard
from neuralclaw.sandbox.process import ProcessSandbox
from neuralclaw.types.tools import ToolContext

from ..agent import kit
from ..sandbox.conformance.results import SANDBOXES
from ..sandbox.engine import ENGINES
from ..sandbox.grants import command_grant
from ..waiting import until
from .plants import GIT, HOOK, PLANTS, made, planted, run_later

pytestmark = [pytest.mark.anyio, pytest.mark.full]

HERE = [name for name in SANDBOXES if name not in ENGINES]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return made(tmp_path.resolve() / "w")


def terminal(kind: str) -> dict[str, Any]:
    return {"tools": {"terminal": {"sandbox": kind}}}


def replies(*commands: str, access: tuple[str, ...] = ()) -> list[Any]:
    more = {"access": list(access)} if access else {}
    return [part for command in commands for part in (kit.calls(kit.call("terminal", command=command, **more)), "done")]


@pytest.mark.parametrize("kind", HERE)
@pytest.mark.parametrize("name", PLANTS)
@pytest.mark.invariant("later_run.put-back")
async def test_what_a_command_plants_unasked_is_not_there_afterwards(home: Path, work: Path, kind: str, name: str) -> None:
    before = run_later(work)
    (work / "plant.sh").write_text(f"{PLANTS[name]}\ntouch ok\n")
    async with kit.agent(home, *replies("sh plant.sh"), workspace=work, approvals="auto", settings=terminal(kind)) as agent:
        await kit.events(agent, session="s")
    assert planted(before, run_later(work)) == {}
    assert (work / "ok").exists()


@pytest.mark.parametrize("kind", HERE)
async def test_what_was_put_back_is_told_on_record_and_changed_after_a_yes(home: Path, work: Path, kind: str) -> None:
    command = "python3 -c \"open('.envrc','w').write('x'); open('ok','w')\""
    place = work / ".envrc"
    async with kit.agent(home, *replies(command), workspace=work, approvals="none", settings=terminal(kind)) as agent:
        captured = await kit.events(agent, session="s")
    assert not place.exists()
    assert (work / "ok").exists()
    assert [(one.path, one.who, one.why) for one in captured.one("later_run.put_back").places] == [(str(place), "direnv", "")]
    access = f"write {place}"
    assert f'call the same command again with access ["{access}"]' in str(captured.one("tool.finished"))
    asked: list[str] = []

    async def answer(question: Any) -> str:
        asked.append(question.question.summary)
        return "once" if len(asked) > 1 else "no"

    asking = {"workspace": work, "approvals": "ask", "approver": answer, "settings": terminal(kind)}
    for there in (False, True):
        async with kit.agent(home, *replies(command, access=(access,)), **asking) as agent:
            await kit.events(agent, session=f"asked-{there}")
        assert place.exists() == there
    assert "also changes" in asked[0]
    assert str(place) in asked[0]


@pytest.mark.parametrize("kind", HERE)
async def test_what_lies_in_another_repository_is_not_copied_to_where_it_would_be_run(home: Path, work: Path, kind: str) -> None:
    names = (".zed/tasks.json", ".envrc", "CLAUDE.md", "lefthook.yml")
    for name in names:
        (work / "library" / name).parent.mkdir(exist_ok=True)
        (work / "library" / name).write_text("planted")
    (work / "copy.py").write_text(f"import shutil\nfor name in {names[1:]}: shutil.copy('library/' + name, name)\nshutil.copytree('library/.zed', '.zed')\n")
    async with kit.agent(home, *replies("python3 copy.py", "cp -r library other"), workspace=work, approvals="auto", settings=terminal(kind)) as agent:
        await kit.events(agent, session="s")
        await kit.events(agent, session="s")
    assert [name for name in names if (work / name).exists()] == []
    assert [name for name in names if (work / "other" / name).read_text() != "planted"] == []


@pytest.mark.parametrize("kind", HERE)
@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("echo new > .envrc", ".envrc"),
        ("echo new >> .git/hooks/pre-commit", ".git/hooks/pre-commit"),
        ("mkdir .zed && echo new > .zed/tasks.json", ".zed/tasks.json"),
        ("cp n.txt CLAUDE.md", "CLAUDE.md"),
        ("mkdir -p sub; cp AGENTS.md sub", "sub/AGENTS.md"),
    ],
)
async def test_a_yes_to_words_that_name_such_a_place_is_asked_for_once_and_kept(home: Path, work: Path, kind: str, command: str, name: str) -> None:
    for there in ("n.txt", "AGENTS.md"):
        (work / there).write_text("new\n")
    asked: list[str] = []

    async def answer(question: Any) -> str:
        asked.append(str(question.question.reasons))
        return "no" if len(asked) == 1 else "once"

    asking = {"workspace": work, "approvals": "ask", "approver": answer, "settings": terminal(kind)}
    async with kit.agent(home, *replies(command, command), **asking) as agent:
        await kit.events(agent, session="s")
        assert not (work / name).exists()
        await kit.events(agent, session="s")
    assert (work / name).read_text() == "new\n"
    assert len(asked) == 2
    assert name in asked[0]


@pytest.mark.parametrize("kind", HERE)
async def test_git_keeps_its_own_settings_and_sets_no_program_unasked(home: Path, work: Path, kind: str) -> None:
    commands = (
        "cd d && git remote add origin https://a.example/x.git",
        "git config core.fsmonitor ./evil",
        "git config alias.st status",
        "git checkout -q -b other",
    )
    async with kit.agent(home, *replies(*commands), workspace=work, approvals="none", settings=terminal(kind)) as agent:
        for _ in commands:
            await kit.events(agent, session="s")
    text = (work / ".git" / "config").read_text()
    assert "a.example" in text
    assert "evil" not in text
    assert "alias" not in text
    assert (work / ".git" / "HEAD").read_text() == "ref: refs/heads/other\n"


async def test_what_a_file_tool_changed_after_a_yes_while_a_command_runs_stays_and_so_does_its_undo(home: Path, work: Path) -> None:
    os.mkfifo(work / "pipe")
    (work / "slow.sh").write_text("echo ready; cat pipe; echo evil > mise.toml\n")
    slow = kit.calls(kit.call("terminal", command="sh slow.sh"))
    write = kit.calls(kit.call("write_file", path="AGENTS.md", content="ours"), kit.call("write_file", path="d/CLAUDE.md", content="ours"))
    first = kit.calls(kit.call("write_file", path="CLAUDE.md", content="first"))

    async def yes(question: Any) -> str:
        return "once"

    options = {"workspace": work, "settings": terminal("landlock")}
    turns = (first, "done", write, "done")
    async with kit.agent(home, slow, "done", approvals="auto", **options) as one, kit.agent(home, *turns, approver=yes, **options) as other:
        await kit.events(other, session="undone")
        async with one.turn("do it", session="one") as stream:
            async for event in stream:
                if event.body.type == "tool.output" and not (work / "AGENTS.md").exists():
                    await kit.events(other, session="other")
                    assert (await other.do("undo", session="undone"))["restored"]
                    (work / "pipe").write_text("go on")
    assert ((work / "AGENTS.md").read_text(), (work / "d" / "CLAUDE.md").read_text()) == ("ours", "ours")
    assert not (work / "CLAUDE.md").exists()
    assert not (work / "mise.toml").exists()


@pytest.mark.parametrize("kind", HERE)
async def test_what_the_words_name_is_asked_about_once_and_changed_after_the_yes(home: Path, work: Path, kind: str) -> None:
    (work.parent / ".profile").write_text("own\n")
    (work / ".vscode" / "more.json").write_text("{}\n")
    commands = {
        "echo x > .envrc": lambda: (work / ".envrc").read_text() == "x\n",
        "mv .envrc old": lambda: not (work / ".envrc").exists(),
        "rm .git/hooks/post-commit": lambda: not (work / ".git" / "hooks" / "post-commit").exists(),
        "rm .vscode/more.json": lambda: not (work / ".vscode" / "more.json").exists(),
        "cp a.txt AGENTS.md": lambda: (work / "AGENTS.md").exists(),
        "git rm -q --cached d/f.txt && echo x >> ../.profile": lambda: (work.parent / ".profile").read_text() == "own\nx\n",
    }
    asked: list[str] = []

    async def answer(question: Any) -> str:
        asked.append(question.question.summary)
        return "once"

    async with kit.agent(home, *replies(*commands), workspace=work, approvals="ask", approver=answer, settings=terminal(kind)) as agent:
        for number, (command, done) in enumerate(commands.items(), 1):
            captured = await kit.events(agent, session="s")
            assert done(), command
            assert (len(asked), captured.of("later_run.put_back")) == (number, []), command


async def test_it_is_put_back_where_undo_cannot_keep_the_workspace(home: Path, work: Path) -> None:
    with (work / "large").open("wb") as large:
        large.truncate(3_000_000)
    (work / "plant.sh").write_text(f"{PLANTS['plant_a_hook']}; touch ok")
    settings = {**terminal("landlock"), "undo": {"max_file_mb": 1}}
    async with kit.agent(home, *replies("sh plant.sh"), workspace=work, approvals="auto", settings=settings) as agent:
        await kit.events(agent, session="s")
    assert (work / "ok").exists()
    assert not (work / ".git" / "hooks" / "pre-commit").exists()


async def test_a_call_that_waits_for_another_process_can_be_cancelled(tmp_path: Path, work: Path) -> None:
    guard = PlaceGuard(str(tmp_path / "guard"))
    recorder = PlaceRecorder(guard, None, None, sandbox=ProcessSandbox())  # type: ignore[arg-type]
    ran: list[str] = []

    async def run() -> Any:
        ran.append("run")

    assert guard.settle() == []
    with (tmp_path / "guard" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with anyio.fail_after(5), anyio.move_on_after(0.2) as waited:
            await recorder.call(command_grant(work), ToolContext(session="s", turn=1, call_id="c", workspace=str(work)), run)
    assert waited.cancelled_caught
    assert ran == []


@pytest.mark.invariant("later_run.put-back")
async def test_what_a_cancelled_call_planted_is_put_back_and_on_record(home: Path, work: Path) -> None:
    before = run_later(work)
    (work / "plant.sh").write_text(f"{PLANTS['plant_a_hook']}; touch planted; sleep 60")
    async with kit.agent(home, *replies("sh plant.sh"), workspace=work, approvals="auto", settings=terminal("landlock")) as agent:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(kit.events, agent, session="s"))
            await until((work / "planted").exists)
            await agent.cancel("s")
        assert planted(before, run_later(work)) == {}
        [entry] = await agent._home.store.read("s", kinds=("later_run.put_back",))
        assert isinstance(entry.body, PlacesPutBack)
        assert (entry.body.interrupted, [Path(place.path).name for place in entry.body.places]) == (False, ["pre-commit"])


KILLED = """
import sys
from pathlib import Path
import anyio
from tests.later_run.test_calls import kit, replies, terminal

async def main():
    async with kit.agent(Path(sys.argv[1]), *replies(sys.argv[3]), workspace=Path(sys.argv[2]), approvals="auto", settings=terminal("landlock")) as agent:
        await kit.events(agent, session="s")

anyio.run(main)
"""


@pytest.mark.invariant("later_run.put-back")
async def test_after_a_kill_the_next_start_puts_it_back(home: Path, work: Path) -> None:
    (work / "plant.sh").write_text(f"{PLANTS['plant_a_hook']}; {PLANTS['change_a_hook']}; touch planted; sleep 60")
    root = Path(__file__).parents[2]
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(home), str(work), "sh plant.sh"], cwd=root, env={**os.environ, **GIT})
    await until((work / "planted").exists)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert (work / ".git" / "hooks" / "pre-commit").exists()
    async with kit.agent(home, "done", workspace=work) as agent:
        assert not (work / ".git" / "hooks" / "pre-commit").exists()
        assert (work / ".git" / "hooks" / "post-commit").read_text() == HOOK
        entries = await agent._home.store.read("s", kinds=("later_run.put_back",))
        assert [(entry.body.interrupted, entry.body.count) for entry in entries if isinstance(entry.body, PlacesPutBack)] == [(True, 2)]
        assert not list((home / "later_run").glob("running-*"))


@pytest.mark.parametrize("kind", HERE)
async def test_a_repository_in_the_workspace_can_be_deleted_copied_and_made(home: Path, work: Path, kind: str) -> None:
    commands = ("rm -r nested/deep", "cp -r library copy", "git init -q fresh")
    async with kit.agent(home, *replies(*commands), workspace=work, approvals="auto", settings=terminal(kind)) as agent:
        for _ in commands:
            await kit.events(agent, session="s")
    assert not (work / "nested" / "deep").exists()
    assert (work / "copy" / ".git" / "config").read_text() == (work / "library" / ".git" / "config").read_text()
    assert (work / "fresh" / ".git" / "config").exists()
