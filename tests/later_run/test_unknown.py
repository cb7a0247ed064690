"""Only what is known to have been absent before a command is removed after it; what it closed, hid or led elsewhere is looked at."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from neuralclaw.sandbox.later_run.place_guard import KEEP_SECONDS, PlaceGuard
from neuralclaw.sandbox.running_call import RunningCall

from ..ordinary_user import ORDINARY, ROOT, run_as
from .plants import GIT, HOOK, git, made

pytestmark = pytest.mark.full

CALL = RunningCall("s", 1, "c", "terminal")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "w"
    place.mkdir()
    git(place, "init", "-q", ".")
    return place


@pytest.fixture
def guard(tmp_path: Path) -> PlaceGuard:
    return PlaceGuard(str(tmp_path / "home" / "later_run"))


def guarded(guard: PlaceGuard, command: str, *roots: Path, by_git: bool = False) -> list[str]:
    """The names of what was told."""
    running, _ = guard.begin(CALL, list(map(str, roots)), mounts=False, by_git=by_git)
    subprocess.run(["sh", "-c", command], cwd=roots[0], env=GIT, check=False)
    return sorted(Path(change.path).name for change in guard.end(running))


def hooks_of(place: Path) -> Path:
    """A repository of a person with a hook, an entry file and a setting that runs something."""
    place.mkdir(parents=True)
    git(place, "init", "-q", ".")
    (place / ".git" / "hooks" / "pre-commit").write_text(HOOK)
    (place / ".envrc").write_text("own")
    git(place, "config", "core.sshCommand", "mine")
    return place


def has_all(place: Path) -> bool:
    return (place / ".git/hooks/pre-commit").exists() and (place / ".envrc").exists() and "mine" in (place / ".git/config").read_text()


def test_a_file_stays_that_a_command_lets_a_link_lead_to(guard: PlaceGuard, work: Path) -> None:
    (work / "important.txt").write_text("own")
    assert guarded(guard, "ln -s important.txt .envrc", work) == [".envrc"]
    assert (work / "important.txt").read_text() == "own"
    assert not (work / ".envrc").is_symlink()


@pytest.mark.parametrize(
    "script",
    [
        "printf '[core]\\n\\thooksPath = docs\\n' >> .git/config",
        "printf '[include]\\n\\tpath = ../docs/a\\n' >> .git/config",
        "git config core.hooksPath docs",
        "git config core.hooksPath .git/objects",
        "git init -q sub; git -C sub config core.hooksPath ../docs",
        "mkdir -p sub; ln -s ../docs sub/.vscode; ln -s docs/a AGENTS.md",
        "echo gitdir: ../.git > docs/.git",
    ],
)
def test_a_directory_stays_that_a_command_lets_settings_lead_to(guard: PlaceGuard, work: Path, script: str) -> None:
    (work / "docs").mkdir()
    (work / "docs" / "a").write_text("own")
    git(work, "add", "docs")
    objects = sorted(path for path in (work / ".git" / "objects").rglob("*") if path.is_file())
    assert objects
    guarded(guard, script, work, by_git=True)
    assert (work / "docs" / "a").read_text() == "own"
    assert sorted(path for path in (work / ".git" / "objects").rglob("*") if path.is_file()) == objects
    assert "hooksPath" not in (work / ".git" / "config").read_text()


def test_a_link_on_the_way_is_put_back_and_where_it_leads_now_stays(guard: PlaceGuard, work: Path) -> None:
    for name in ("own.sh", "other.sh"):
        (work / name).write_text(name)
    (work / "a").mkdir()
    (work / "a" / "link").symlink_to("../own.sh")
    (work / ".envrc").symlink_to("a/link")
    assert guarded(guard, "ln -sfn ../other.sh a/link", work) == ["link"]
    assert (work / "other.sh").exists()
    assert (work / ".envrc").read_text() == "own.sh"


def test_a_directory_that_becomes_a_repository_keeps_what_it_had(guard: PlaceGuard, work: Path) -> None:
    for name in ("sub/.github/a.yml", "sub/lefthook.yml", "bare/hooks/mine", "bare/config"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("own")
    guarded(guard, "git init -q sub; mkdir bare/objects bare/refs; echo x > bare/HEAD", work, by_git=True)
    assert all((work / name).read_text() == "own" for name in ("sub/.github/a.yml", "sub/lefthook.yml", "bare/hooks/mine", "bare/config"))


def test_what_was_not_reached_in_a_large_tree_stays(guard: PlaceGuard, work: Path) -> None:
    for number in range(10_050):
        (work / f"d{number:05}").mkdir()
    place = hooks_of(work / "d00000" / "sub")
    assert guarded(guard, "echo x > a.txt; mv d00000/sub moved; mv moved d00000/sub", work) == []
    assert has_all(place)
    assert guarded(guard, "mv d00000/sub moved", work)
    assert has_all(work / "moved")


def test_what_makes_room_in_a_full_list_takes_nothing_away(guard: PlaceGuard, work: Path) -> None:
    for number in range(5_050):
        place = work / ".vscode" / f"p{number // 100}" / f"f{number}"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("own")
    (work / ".envrc").write_text("own")
    guarded(guard, "echo evil > .envrc; rm -r .vscode/p0", work)
    assert sum(path.is_file() for path in (work / ".vscode").rglob("*")) == 5_050
    assert (work / ".envrc").read_text() == "own"


def test_a_repository_moved_from_an_allowed_path_keeps_its_hooks(guard: PlaceGuard, work: Path, tmp_path: Path) -> None:
    allowed = tmp_path.resolve() / "allowed"
    hooks_of(allowed / "repo")
    assert guarded(guard, f"mv {allowed}/repo moved", work, allowed) == []
    assert has_all(work / "moved")


def test_no_number_of_files_hides_one(guard: PlaceGuard, work: Path) -> None:
    many = "import pathlib; [pathlib.Path(f'.git/hooks/a{n:05}').touch() for n in range(20_500)]; pathlib.Path('.git/hooks/pre-commit').write_text('evil')"
    (work / "many.py").write_text(many)
    assert len(guarded(guard, f"{sys.executable} many.py", work)) == 20_501
    assert [path.name for path in (work / ".git" / "hooks").iterdir() if not path.name.endswith(".sample")] == []


@pytest.mark.parametrize("name", [".github", ".claude/worktrees/one", ".vscode"])
def test_a_workspace_in_a_directory_called_like_a_place_is_guarded(guard: PlaceGuard, tmp_path: Path, name: str) -> None:
    work = tmp_path.resolve() / name
    work.mkdir(parents=True)
    git(work, "init", "-q", ".")
    assert guarded(guard, "echo evil > .envrc; echo evil > .git/hooks/pre-commit; echo fine > a", work) == [".envrc", "pre-commit"]
    assert (work / "a").exists()
    assert guarded(guard, "echo asked > .envrc", work, work / ".envrc") == []


@pytest.mark.parametrize("value", [".githooks", ".githooks # ours", '"./.githooks" ; ours', ".git\\\nhooks", "~/w/.githooks"])
def test_hooks_that_settings_name_are_kept_in_every_form(guard: PlaceGuard, work: Path, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path.resolve()))
    (work / ".githooks").mkdir()
    (work / ".githooks" / "pre-commit").write_text(HOOK)
    (work / ".git" / "config").write_text(f"[Core] HooksPath = {value}\n")
    assert guarded(guard, "echo evil > .githooks/pre-commit; echo evil > .githooks/new", work) == ["new", "pre-commit"]
    assert (work / ".githooks" / "pre-commit").read_text() == HOOK


def test_programs_that_settings_name_are_kept(guard: PlaceGuard, work: Path) -> None:
    for name in ("run.sh", "watch", "clean.py", "readme"):
        (work / name).write_text("own")
    (work / "watch").chmod(0o755)
    for key, value in (("alias.st", "!sh run.sh readme"), ("core.fsmonitor", "./watch"), ("filter.x.clean", "python3 clean.py ./readme")):
        git(work, "config", key, value)
    assert guarded(guard, "for one in run.sh watch clean.py readme; do echo evil > $one; done", work) == ["clean.py", "run.sh", "watch"]
    assert (work / "readme").read_text() == "evil\n"


def test_hooks_of_worktrees_and_submodules_are_kept(guard: PlaceGuard, work: Path) -> None:
    (work / ".githooks").mkdir()
    (work / ".githooks" / "pre-commit").write_text(HOOK)
    git(work, "add", ".githooks")
    git(work, "commit", "-q", "-m", "first")
    git(work, "clone", "-q", str(work), "library")
    git(work, "submodule", "add", "-q", "./library", "module")
    git(work / "module", "config", "core.hooksPath", ".githooks")
    git(work, "config", "core.hooksPath", ".githooks")
    git(work, "worktree", "add", "-q", "tree")
    places = [work / place / ".githooks" / "pre-commit" for place in (".", "tree", "module")]
    assert guarded(guard, "; ".join(f"echo evil > {place}" for place in places), work) == ["pre-commit"] * 3
    assert {place.read_text() for place in places} == {HOOK}


CLOSED = {
    "nested/.envrc": "echo evil > nested/.envrc; chmod 111 nested",
    "nested/deep/.envrc": "echo evil > nested/deep/.envrc; chmod 000 nested",
    ".git/hooks/pre-commit": "echo evil > .git/hooks/pre-commit; chmod 311 .git/hooks",
    "fresh/.envrc": "mkdir fresh; echo evil > fresh/.envrc; chmod 600 fresh",
}
_AS_A_PERSON = """
import os, subprocess, sys
base, script = sys.argv[1:]
from neuralclaw.sandbox.running_call import RunningCall
from neuralclaw.sandbox.later_run.place_guard import PlaceGuard
guard = PlaceGuard(f"{base}/home")
command, _ = guard.begin(RunningCall("s", 1, "c", "t"), [f"{base}/w"], mounts=False, by_git=False)
subprocess.run(["sh", "-c", script], cwd=f"{base}/w")
for change in guard.end(command):
    print(change.path.removeprefix(f"{base}/w/"), change.why)
"""


@pytest.fixture
def seen() -> Iterator[Path]:
    """A repository where every user may go: directories of pytest are closed again whenever another run of it begins."""
    with tempfile.TemporaryDirectory() as base:
        place = Path(base).resolve() / "w"
        place.mkdir()
        git(place, "init", "-q", ".")
        yield place


def as_a_person(work: Path, script: str) -> list[str]:
    """Run it under the guard as an ordinary user, who cannot read every directory: what was told."""
    base = work.parent
    for path in (base, *base.rglob("*")):
        if os.geteuid() == 0:
            os.chown(path, ORDINARY, ORDINARY, follow_symlinks=False)
    done = run_as(ORDINARY, [sys.executable, "-c", _AS_A_PERSON, str(base), script], env=os.environ, cwd=ROOT / "src")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("place", CLOSED)
def test_a_directory_that_a_command_closed_is_looked_into(seen: Path, place: str) -> None:
    work = seen
    (work / "nested" / "deep").mkdir(parents=True)
    told = as_a_person(work, CLOSED[place])
    assert f"{place} " in told
    assert not (work / place).exists()
    (work / "nested").chmod(0o755)


def test_what_could_not_be_read_before_stays(seen: Path) -> None:
    work = seen
    place = hooks_of(work / "closed")
    place.chmod(0o000)
    as_a_person(work, "chmod 755 closed")
    assert has_all(place)


def test_what_was_not_put_back_is_compared_with_what_was_there_before(guard: PlaceGuard, work: Path, tmp_path: Path) -> None:
    (work / ".envrc").write_text("own")
    running, _ = guard.begin(CALL, [str(work)], mounts=False, by_git=False)
    lost = {path: path.read_bytes() for path in (tmp_path / "home" / "later_run" / "contents").rglob("*") if path.is_file()}
    for path in lost:
        path.unlink()
    (work / ".envrc").write_text("evil")
    assert [change.why for change in guard.end(running)] == ["what was there is not kept any more"]
    assert guarded(guard, "true", work) == [".envrc"]
    assert (work / ".envrc").read_text() == "evil"
    for path, content in lost.items():
        path.write_bytes(content)
    assert guarded(guard, "true", work) == [".envrc"]
    assert (work / ".envrc").read_text() == "own"
    assert guarded(guard, "true", work) == []


def test_what_somebody_changes_that_was_not_put_back_is_theirs(guard: PlaceGuard, work: Path) -> None:
    (work / ".envrc").write_text("#" * 4_100_000)
    assert guarded(guard, "echo evil > .envrc", work) == [".envrc"]
    (work / ".envrc").write_text("own")
    assert guarded(guard, "true", work) == []
    assert (work / ".envrc").read_text() == "own"


def test_what_is_used_is_kept_for_longer_than_its_time(guard: PlaceGuard, work: Path, tmp_path: Path) -> None:
    (work / ".envrc").write_text("own")
    other = tmp_path.resolve() / "other"
    other.mkdir()
    while time.time() - (work / ".envrc").stat().st_ctime < 0.1:
        guarded(guard, "true", work)  # until its time of change tells that nobody wrote to it
    for path in (tmp_path / "home").rglob("*"):
        os.utime(path, (time.time() - 2 * KEEP_SECONDS,) * 2)
    assert guarded(PlaceGuard(str(tmp_path / "home" / "later_run")), "echo evil > .envrc", work, other) == [".envrc"]
    assert (work / ".envrc").read_text() == "own"


def test_what_somebody_changes_after_the_process_died_stays_and_is_told(guard: PlaceGuard, work: Path, tmp_path: Path) -> None:
    (work / ".envrc").write_text("own")
    (work / "AGENTS.md").write_text("own")
    running, _ = guard.begin(CALL, [str(work)], mounts=False, by_git=False)
    (work / "AGENTS.md").write_text("of the command")
    guard.abandon(running)
    long_ago = time.time() - 3600
    os.utime(running.note, (long_ago, long_ago))
    (work / ".envrc").write_text("mine")
    after = PlaceGuard(str(tmp_path / "home" / "later_run"))
    [told] = after.settle()
    assert {Path(change.path).name: bool(change.why) for change in told.changes} == {".envrc": True, "AGENTS.md": True}
    assert (work / ".envrc").read_text() == "mine"
    [again] = PlaceGuard(str(tmp_path / "home" / "later_run")).settle()
    assert again == told  # until it is recorded
    after.recorded(told)
    assert PlaceGuard(str(tmp_path / "home" / "later_run")).settle() == []


def _approved(guard: PlaceGuard, work: Path) -> None:
    assert guarded(guard, "echo approved > .envrc", work, work / ".envrc") == []


def _by_git(guard: PlaceGuard, work: Path) -> None:
    assert guarded(guard, "git remote add origin https://a.example/x.git; git init -q fresh; rm nested/.envrc; rmdir nested", work, by_git=True) == []


@pytest.mark.parametrize("change", [_approved, _by_git])
def test_what_another_command_changed_rightly_and_ended_stays(
    guard: PlaceGuard, work: Path, change: Callable[[PlaceGuard, Path], None], tmp_path: Path
) -> None:
    (work / "nested").mkdir()
    (work / "nested" / ".envrc").write_text("own")
    long, _ = guard.begin(CALL, [str(work)], mounts=False, by_git=False)
    change(PlaceGuard(str(tmp_path / "home" / "later_run")), work)
    now = {path: path.read_bytes() for path in work.rglob("*") if path.is_file()}
    (work / "mise.toml").write_text("evil")
    assert [Path(one.path).name for one in guard.end(long)] == ["mise.toml"]
    assert {path: path.read_bytes() for path in work.rglob("*") if path.is_file()} == now
    assert not list((tmp_path / "home" / "later_run").glob("beside-*"))


SETTINGS = "printf '[core]\\n\\tworktree = .\\n\\tfsmonitor = touch pwned\\n' > pq/config"


@pytest.mark.parametrize(
    "commands",
    [
        (f"mkdir pq; {SETTINGS}", "mkdir -p pq/objects pq/refs; echo 'ref: refs/heads/main' > pq/HEAD"),
        (f"mkdir -p pq/objects pq/refs; {SETTINGS}", "echo 'ref: refs/heads/main' > pq/HEAD"),
        ("mkdir pq; echo 'ref: refs/heads/main' > pq/HEAD", SETTINGS, "mkdir pq/objects pq/refs"),
        ("git init -q --bare pq", "rm -rf pq/refs", SETTINGS, "mkdir pq/refs"),
        (f"mkdir pq; {SETTINGS}", "git init -q --bare pq"),
        ("mkdir -p pq/hooks; echo evil > pq/hooks/post-index-change", "git init -q --bare pq"),
        (f"mkdir pq; {SETTINGS}", "mkdir -p pq/objects pq/refs; echo 'ref: refs/heads/main' > pq/HEAD; mv pq moved"),
        (
            "echo 'ref: refs/heads/main' > HEAD; mkdir objects refs",
            "cd nested/deep/.git/hooks && echo evil > post-commit && chmod +x post-commit",
        ),
        ("mkdir pq; echo x > pq/HEAD", "echo evil > pq/.envrc"),
    ],
)
def test_a_repository_that_runs_something_is_not_made_in_many_steps(guard: PlaceGuard, work: Path, commands: tuple[str, ...]) -> None:
    made(work)
    guarded(guard, "true", work)
    before = set(work.rglob("*"))
    for command in commands:
        guarded(guard, command, work, by_git=command.startswith("git "))
    for place in sorted(path.parent for path in work.rglob("HEAD")):
        if (place / "objects").is_dir() and (place / "refs").is_dir() and ".git" not in place.parts:
            said = subprocess.run(
                ["git", "-c", "safe.directory=*", f"--git-dir={place}", "config", "--list"], env=GIT, capture_output=True, text=True, check=False
            )
            assert "fsmonitor" not in said.stdout, place
            assert not (place / "hooks" / "post-index-change").exists(), place
    assert {path.name for path in set(work.rglob("*")) - before} & {".envrc", "post-commit"} == set()


def test_a_directory_becomes_a_repository_where_nothing_in_it_is_run(guard: PlaceGuard, work: Path) -> None:
    for command in ("mkdir pq; echo mine > pq/HEAD.txt", "git init -q --bare pq", "git -c safe.directory='*' --git-dir=pq config user.name me"):
        assert guarded(guard, command, work, by_git=True) == []
    assert (work / "pq" / "HEAD").exists()
    assert "name = me" in (work / "pq" / "config").read_text()
