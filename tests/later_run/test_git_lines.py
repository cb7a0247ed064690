"""A line of git that changes places that code is later run from stays as a whole, after a yes, or is undone as a whole."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ..agent import kit
from ..undo.trees import standing
from .plants import GIT
from .test_calls import HERE, replies, terminal

pytestmark = [pytest.mark.anyio, pytest.mark.full]


def git(work: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=work, env={**os.environ, **GIT}, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with a branch `ci`, which changes what a service runs and adds instructions for another agent, and a branch `plain`."""
    path = tmp_path.resolve() / "w"
    (path / ".github").mkdir(parents=True)
    git(path, "init", "-q", "-b", "main", ".")
    git(path, "config", "user.name", "a")
    git(path, "config", "user.email", "a@b.example")
    for name in (".github/ci.yml", "a", "z"):
        (path / name).write_text("1\n")
    git(path, "add", "-A")
    git(path, "commit", "-qm", "one")
    git(path, "checkout", "-q", "-b", "plain")
    (path / "a").write_text("plain\n")
    git(path, "commit", "-qam", "plain")
    git(path, "checkout", "-q", "-b", "ci", "main")
    for name in (".github/ci.yml", "z", "CLAUDE.md"):
        (path / name).write_text("2\n")
    git(path, "add", "-A")
    git(path, "commit", "-qm", "two")
    git(path, "checkout", "-q", "main")
    return path


def tree(work: Path) -> str:
    return git(work, "status", "--short", "--branch") + git(work, "rev-parse", "HEAD")


async def told(home: Path, work: Path, kind: str, command: str, *access: str) -> str:
    """The result of a command, as the model reads it. Every question is answered with yes."""

    async def answer(_: Any) -> str:
        return "once"

    asking = {"workspace": work, "approvals": "ask", "approver": answer, "settings": terminal(kind)}
    async with kit.agent(home, *replies(command, access=access), **asking) as agent:
        captured = await kit.events(agent, session="s")
    done = captured.one("tool.finished")
    return f"{done.content}\n{done.note}"


WHOLE = (
    "git checkout ci",
    "git switch ci",
    "git merge -q ci",
    "git rebase -q ci",
    "git reset --hard ci",
    "git cherry-pick ci",
    "git cherry-pick main..ci",
    "git checkout ci -- .",
    "git checkout -q plain && git checkout -q ci",
    "git -C sub checkout ci",
    "cd sub && git checkout ci",
    "git branch x ci && git checkout x",
    "git checkout -q plain && git rebase -q ci",
    "git fetch -q ./bare.git ci && git merge -q FETCH_HEAD",
    "git worktree list && git read-tree -u -m ci",
)


@pytest.mark.parametrize("kind", HERE)
@pytest.mark.parametrize("command", WHOLE)
async def test_a_line_that_changes_such_places_is_undone_as_a_whole_and_stays_as_a_whole_after_a_yes(home: Path, work: Path, kind: str, command: str) -> None:
    (work / "sub").mkdir()
    git(work, "clone", "-q", "--bare", ".", "bare.git")
    before, files = tree(work), standing(work)
    text = await told(home, work, kind, command)
    assert "What else git changed was undone as well, so nothing of this line stays." in text
    assert standing(work) == files
    assert tree(work) == before
    wanted = (f"write {work}/.github", f"write {work}/CLAUDE.md")
    assert 'call the same command again with access ["' + '","'.join(wanted) + '"]' in text
    assert "undone" not in await told(home, work, kind, command, *wanted)
    assert (work / ".github/ci.yml").read_text() == "2\n"
    assert (work / "CLAUDE.md").read_text() == "2\n"
    assert tree(work) != before


NONE_OF_THEM = (
    "git checkout -q -b new",
    "git merge -q plain",
    "git checkout ci -- z",
    "git cherry-pick plain",
    "git reset --soft ci",
    "git stash drop",
    "git restore a",
)


@pytest.mark.parametrize("kind", HERE)
@pytest.mark.parametrize("command", NONE_OF_THEM)
async def test_a_line_that_changes_no_such_place_stays(home: Path, work: Path, kind: str, command: str) -> None:
    (work / ".github/ci.yml").write_text("stashed\n")
    git(work, "stash", "-q")
    (work / ".github/ci.yml").write_text("main's own\n")
    git(work, "commit", "-qam", "main")
    (work / "a").write_text("mine\n") if command.endswith("restore a") else None
    (work / "CLAUDE.md").write_text("the person's own, not committed\n")
    files = standing(work)
    assert "put back" not in await told(home, work, kind, command)
    assert standing(work) != files
    assert (work / "CLAUDE.md").read_text() == "the person's own, not committed\n"
    assert (work / ".github/ci.yml").read_text() == "main's own\n"


@pytest.mark.parametrize("kind", HERE)
@pytest.mark.parametrize("stash", ["git stash", "git stash -u"])
async def test_changes_that_are_put_aside_and_taken_back_are_seen(home: Path, work: Path, kind: str, stash: str) -> None:
    (work / ".github/ci.yml").write_text("mine\n")
    (work / "CLAUDE.md").write_text("mine\n")
    (work / "untracked").write_text("mine\n")
    for command, text in ((stash, "1\n"), ("git stash pop", "mine\n")):
        files = standing(work)
        assert "nothing of this line stays" in await told(home, work, kind, command)
        assert standing(work) == files
        await told(home, work, kind, command, f"write {work}/.github", f"write {work}/CLAUDE.md")
        assert (work / ".github/ci.yml").read_text() == text
    assert (work / "CLAUDE.md").read_text() == "mine\n"


async def test_what_was_undone_is_on_record_and_nothing_is_left_for_undo(home: Path, work: Path) -> None:
    async with kit.agent(home, *replies("git merge -q ci"), workspace=work, settings=terminal("landlock")) as agent:
        captured = await kit.events(agent, session="s")
        assert captured.one("undo.begun").by == "sandbox"
        assert (captured.one("undo.done").left_count, captured.one("tool.finished").ok) == (0, False)
        files = standing(work)
        report = await agent.do("undo", session="s")
    assert report["restored"] == []
    assert standing(work) == files


@pytest.mark.parametrize("kind", HERE)
async def test_a_line_brings_such_places_in_a_repository_of_its_own_alone(home: Path, work: Path, kind: str) -> None:
    git(work, "checkout", "-q", "-b", "nested")
    (work / "new").mkdir()
    (work / "new/.envrc").write_text("echo evil\n")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "nested")
    (work / "p.patch").write_text(git(work, "format-patch", "--stdout", "-1"))
    git(work, "checkout", "-q", "main")
    files = standing(work)
    for command in ("git apply p.patch", "git merge -q -- nested", "git am -q p.patch", "git branch x nested && git checkout -q x"):
        assert "put back: new/.envrc" in await told(home, work, kind, command)
        assert standing(work) == files, command
    assert "put back" not in await told(home, work, kind, "git clone -q --no-local -b nested . fresh && git worktree add -q beside nested")
    assert (work / "fresh/new/.envrc").read_text() == (work / "beside/new/.envrc").read_text() == "echo evil\n"


@pytest.mark.parametrize("kind", HERE)
async def test_a_script_with_a_yes_to_write_the_repository_is_no_line_of_git(home: Path, work: Path, kind: str) -> None:
    (work / "p.sh").write_text("echo mine > made; echo evil > CLAUDE.md; git branch new; git config x.y z\n")
    text = await told(home, work, kind, "sh p.sh", f"write {work}/.git")
    assert "put back: " in text
    assert f'access ["write {work}/.git/config","write {work}/CLAUDE.md"]' in text
    assert "line of git" not in text
    assert "undone" not in text
    assert (work / "made").read_text() == "mine\n"
    assert not (work / "CLAUDE.md").exists()
    assert "new" in git(work, "branch")
    assert "[x]" not in (work / ".git/config").read_text()


@pytest.mark.parametrize("kind", HERE)
async def test_what_a_clone_with_other_programs_does_not_bring_is_said(home: Path, work: Path, kind: str) -> None:
    git(work, "checkout", "-q", "-b", "other")
    (work / "AGENTS.md").write_text("read me\n")
    git(work, "add", "-A")
    git(work, "commit", "-qm", "agents")
    git(work, "checkout", "-q", "main")
    text = await told(home, work, kind, "git clone -q --no-local -b other . fresh && cd fresh && touch made")
    assert "put back: fresh/AGENTS.md" in text
    assert "The repository fresh may track what was put back: look at git status before a commit. A line of git clone alone brings such files." in text
    assert "may track" not in await told(home, work, kind, 'sh -c "echo x > .env"rc')
