"""Reading with git is LOW in the workspace's own repository; any other that lies in the workspace may run programs by its settings."""

import subprocess
from pathlib import Path

import pytest

from neuralclaw.types.risk import Decision, Risk

from .fuzz_run import LineJudge, reads

pytestmark = pytest.mark.anyio

STRANGE = ("bare", "bare/refs", "nested", "nested/below", "link", "led")
"""Directories in which git opens another repository than the one of the workspace."""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    for name in ("", "nested"):
        subprocess.run(["git", "init", "-q", place / name], check=True)
    for name in ("bare/objects", "bare/refs", "nested/below", "src", "led"):
        (place / name).mkdir(parents=True)
    (place / "bare/HEAD").write_text("ref: refs/heads/main\n")
    (place / "bare/config").write_text("[core]\n\tworktree = ..\n\tfsmonitor = ./x.sh\n")
    (place / "led/.git").write_text("gitdir: ../bare\n")
    (place / "link").symlink_to("nested/below")
    return place


@pytest.mark.parametrize("command", ["git status", "git log --oneline", "git -C src diff", "cd src && git blame a", "(cd src; git grep x)"])
async def test_reading_with_git_in_the_repository_of_the_workspace_is_low(workspace: Path, command: str) -> None:
    assert reads(await LineJudge(workspace).judge(command))


@pytest.mark.invariant("gate.own-repository")
@pytest.mark.parametrize("place", STRANGE)
@pytest.mark.parametrize(
    "command",
    [
        "git -C {} status",
        "cd {}; git diff",
        "cd {} && git grep x",
        "env -C {} git log",
        "command cd {}; git status",
        "cd {}; cd nowhere; git status",
        "cd nowhere; cd {}; git status",
        "cd {}; cd /tmp & git status",
        "for d in {}; do git -C $d status; done",
        "find . -path ./{} -execdir git status ';'",
        "find . -path ./{} -exec sh -c 'git -C $1 status' _ {{}} ';'",
        "find . -path ./{} -exec git -C ./{{}} status ';'",
    ],
)
async def test_reading_with_git_in_another_repository_is_not_low(workspace: Path, place: str, command: str) -> None:
    verdict = await LineJudge(workspace).judge(command.format(place))
    assert verdict.risk is not Risk.LOW
    assert not reads(verdict)


async def test_where_a_sandbox_and_undo_hold_it_another_repository_is_read_unasked(workspace: Path) -> None:
    assert (await LineJudge(workspace, undo=True).judge("git -C nested status")).decision is Decision.ALLOW


async def test_a_repository_around_the_workspace_is_read_like_any_place_outside(workspace: Path) -> None:
    verdict = await LineJudge(workspace / "src").judge("git log")
    assert [(rule.id, rule.decision) for rule in verdict.rules[:1]] == [("path.outside", Decision.ASK)]
    assert f"{workspace}/.git" in verdict.rules[0].reason


async def test_a_workspace_whose_own_git_is_a_file_that_leads_inside_is_not_trusted(workspace: Path) -> None:
    assert not reads(await LineJudge(workspace / "led").judge("git status"))
    assert not reads(await LineJudge(workspace / "bare").judge("git status"))


async def test_a_repository_whose_index_names_another_one_is_not_trusted(workspace: Path) -> None:
    said = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *said, "-C", workspace / "nested", "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run(["git", "-C", workspace, "add", "nested"], check=True, capture_output=True)
    assert not reads(await LineJudge(workspace).judge("git status"))
