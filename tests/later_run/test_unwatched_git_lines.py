"""A line of git that cannot be undone as a whole, or that ended otherwise, and what somebody else wrote while it ran: nothing is called undone that stays."""

import subprocess
from functools import partial
from pathlib import Path

import anyio
import pytest

from neuralclaw.app.undo.git_index import names_of

from ..agent import kit
from ..undo.trees import standing
from ..waiting import until
from .test_calls import HERE, replies, terminal
from .test_git_lines import git, told, tree, work

pytestmark = pytest.mark.anyio

__all__ = ["work"]
LONG = " && ".join(["git checkout -q ci", *["git fsck --full"] * 6])


def grown(work: Path) -> None:
    """The repository is so large that a look at all of it takes a while."""
    (work / "r").write_bytes(bytes(range(256)) * 40_000)
    for branch in ("main", "ci"):
        git(work, "checkout", "-q", branch)
        (work / "r").write_bytes(bytes(range(256)) * 40_000)
        for number in range(400):
            (work / f"f{number}").write_text(f"{branch} {number}\n")
        git(work, "add", "-A")
        git(work, "commit", "-qm", f"more of {branch}")
    git(work, "checkout", "-q", "main")


@pytest.mark.parametrize("kind", HERE)
async def test_where_undo_does_not_look_at_all_the_rest_of_the_line_stays_and_is_named(home: Path, work: Path, kind: str) -> None:
    (home / "config.yaml").write_text("undo: {max_files: 10}\n")
    text = await told(home, work, kind, "git checkout ci")
    assert "put back: " in text
    assert "What else git changed STAYS: undo does not know all of it: " in text
    assert "there are more than 10 files" in text
    assert "nothing of this line stays" not in text
    assert (work / "z").read_text() == "2\n"
    assert git(work, "branch", "--show-current") == "ci\n"


async def test_an_object_with_another_hard_link_is_no_part_of_a_line_that_stays(home: Path, work: Path) -> None:
    git(work, "clone", "-q", ".", "../clone")
    assert "nothing of this line stays" in await told(home, work, "landlock", "git checkout ci")


async def test_where_another_command_ran_the_line_stays_and_is_named(home: Path, work: Path) -> None:
    (work / "o.sh").write_text("touch runs; while ! [ -e go ]; do sleep 0.05; done\n")
    options = {"workspace": work, "approvals": "auto", "settings": terminal("landlock")}
    async with kit.agent(home, *replies("git checkout -q ci"), **options) as agent, kit.agent(home, *replies("sh o.sh"), **options) as other:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(kit.events, other, session="other"))
            await until((work / "runs").exists, seconds=30)
            note = (await kit.events(agent, session="s")).one("tool.finished").note
            (work / "go").touch()
    assert ".git/HEAD (at the same time ran terminal of session other" in note
    assert "A commit may now revert what others did" in note
    assert "nothing of this line stays" not in note


async def test_where_undo_keeps_nothing_the_rest_of_the_line_stays_and_is_named(home: Path, work: Path) -> None:
    (home / "undo").write_text("no directory")
    text = await told(home, work, "landlock", "git checkout ci")
    assert "What else git changed STAYS" in text
    assert git(work, "branch", "--show-current") == "ci\n"


@pytest.mark.parametrize("kind", HERE)
async def test_a_line_that_is_cancelled_is_undone_as_a_whole(home: Path, work: Path, kind: str) -> None:
    grown(work)
    before, files = tree(work), standing(work)
    async with kit.agent(home, *replies(LONG), workspace=work, approvals="auto", settings=terminal(kind)) as agent:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(kit.events, agent, session="s"))
            await until(lambda: "ci" in (work / ".git/HEAD").read_text(), seconds=30)
            await agent.cancel("s")
        [begun] = await agent._home.store.read("s", kinds=("undo.begun",))
    assert begun.body.by == "sandbox"
    assert standing(work) == files
    assert tree(work) == before


@pytest.mark.parametrize("kind", HERE)
async def test_what_a_person_saves_while_a_line_runs_stays_where_git_does_not_track_it_and_is_named_else(home: Path, work: Path, kind: str) -> None:
    (work / "notes.txt").write_text("old\n")
    with (work / ".git/info/exclude").open("a") as file:
        file.write("notes.txt\n")
    grown(work)
    async with kit.agent(home, *replies(LONG), workspace=work, approvals="auto", settings=terminal(kind)) as agent:
        async with anyio.create_task_group() as tasks:

            async def turn() -> None:
                captured = await kit.events(agent, session="s")
                assert captured.one("undo.begun").paths[0] == str(work / "brand-new.txt")
                note, error = captured.one("tool.finished").note, captured.one("tool.finished").error or ""
                assert "code is later run from, which were put back. Of what else git changed" in error
                assert "notes.txt (git does not track it: somebody else may have changed it; neuralclaw undo --file PATH takes it back)" in note
                assert f"Undone: {work}/brand-new.txt, " in note
                assert "redo --file PATH" in note

            tasks.start_soon(turn)
            await until(lambda: "ci" in (work / ".git/HEAD").read_text(), seconds=30)
            (work / "notes.txt").write_text("an hour of my work\n")
            (work / "brand-new.txt").write_text("mine\n")
        assert (work / "notes.txt").read_text() == "an hour of my work\n"
        assert git(work, "status", "--short", "--branch") == "## main\n"
        assert not (await agent.do("redo", file="brand-new.txt", session="s"))["left"]
    assert (work / "brand-new.txt").read_text() == "mine\n"


async def test_a_command_that_runs_beside_the_undo_of_a_line_is_not_told_that_it_changed_settings(home: Path, work: Path) -> None:
    grown(work)
    git(work, "clone", "-q", "--bare", ".", "o.git")
    git(work, "remote", "add", "origin", "./o.git")
    git(work, "fetch", "-q", "origin")
    git(work, "branch", "-qD", "ci")
    settings = (work / ".git/config").read_text()
    (work / "o.sh").write_text("while ! [ -e go ]; do sleep 0.05; done; touch other\n")
    options = {"workspace": work, "approvals": "auto", "settings": terminal("landlock")}
    line = LONG.replace("ci", "--track origin/ci")
    async with kit.agent(home, *replies(line), **options) as agent, kit.agent(home, *replies("sh o.sh"), **options) as other:
        notes: list[str] = []

        async def beside() -> None:
            notes.append((await kit.events(other, session="other")).one("tool.finished").note)

        async with anyio.create_task_group() as tasks:

            async def turn() -> None:
                notes.append((await kit.events(agent, session="s")).one("tool.finished").note)
                (work / "go").touch()

            tasks.start_soon(turn)
            await until(lambda: "ci" in (work / ".git/HEAD").read_text(), seconds=30)
            tasks.start_soon(beside)
    assert "nothing of this line stays" in notes[0]
    assert notes[1] == ""
    assert (work / ".git/config").read_text() == settings


def test_the_names_in_an_index_are_those_that_git_lists(work: Path) -> None:
    (work / "deep/er").mkdir(parents=True)
    (work / "deep/er" / ("n" * 200)).write_text("x")
    (work / "intended").write_text("x")
    git(work, "add", "deep")
    git(work, "add", "--intent-to-add", "intended")  # an entry with more flags
    listed = frozenset(git(work, "ls-files", "-z").encode().rstrip(b"\0").split(b"\0"))
    index = (work / ".git/index").read_bytes()
    assert names_of(index) == listed
    assert names_of(index[:40] + b"\0" + index[40:]) is None
    git(work, "update-index", "--split-index")
    assert names_of((work / ".git/index").read_bytes()) is None
    subprocess.run(["git", "update-index", "--no-split-index", "--index-version", "4"], cwd=work, check=True)
    assert names_of((work / ".git/index").read_bytes()) is None
