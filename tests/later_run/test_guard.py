"""Whatever a command does in a workspace, what code is later run from there stands as before when its call has ended."""

import fcntl
import hashlib
import os
import subprocess
import threading
import time
from pathlib import Path

import msgspec
import pytest

from neuralclaw.sandbox.later_run.place_guard import GuardBusy, PlaceGuard, WrittenFile
from neuralclaw.sandbox.later_run.tree_comparison import PlaceChange, unread_now
from neuralclaw.sandbox.running_call import RunningCall

from .plants import GIT, PLANTS, made, planted, run_later

pytestmark = pytest.mark.full

CALL = RunningCall("s", 1, "c", "terminal")


def guarded(guard: PlaceGuard, work: Path, script: str, *write: Path, by_git: bool = False) -> list[PlaceChange]:
    """Run it without any sandbox under the guard: what was put back."""
    command, _ = guard.begin(CALL, [str(work), *map(str, write)], mounts=False, by_git=by_git)
    subprocess.run(["sh", "-c", script], cwd=work, env=GIT, check=False, capture_output=True)
    return guard.end(command)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return made(tmp_path.resolve() / "w")


@pytest.fixture
def guard(tmp_path: Path) -> PlaceGuard:
    return PlaceGuard(str(tmp_path / "home" / "later_run"))


@pytest.mark.parametrize("name", PLANTS)
@pytest.mark.invariant("later_run.put-back")
def test_what_a_command_plants_is_put_back(guard: PlaceGuard, work: Path, name: str) -> None:
    before = run_later(work)
    changes = guarded(guard, work, PLANTS[name])
    assert planted(before, run_later(work)) == {}
    assert [change for change in changes if change.why] == []
    assert changes


def test_a_first_look_does_not_wait_for_the_lock_and_holds_up_no_other_workspace(tmp_path: Path, guard: PlaceGuard, work: Path) -> None:
    (home := tmp_path / "home" / "later_run").mkdir(parents=True)
    with (home / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(GuardBusy):
            guard.begin(CALL, [str(work)], mounts=False, by_git=False, wait=False)
    assert any((home / "contents").iterdir())  # it has looked meanwhile
    (work / "AGENTS.md").write_text("what stands there when the command begins")
    assert guarded(guard, work, "echo planted > AGENTS.md")
    assert (work / "AGENTS.md").read_text() == "what stands there when the command begins"


@pytest.mark.parametrize("name", PLANTS)
def test_without_the_guard_it_is_planted(work: Path, name: str) -> None:
    before = run_later(work)
    subprocess.run(["sh", "-c", PLANTS[name]], cwd=work, env=GIT, check=False, capture_output=True)
    assert run_later(work) != before


@pytest.mark.parametrize(
    "copy",
    [
        "cp fresh/.envrc fresh/AGENTS.md nested",
        "mv fresh/AGENTS.md fresh/.mcp.json .",
        "cp -r fresh/.github .",
        "cp nested/deep/.git/hooks/pre-commit .git/hooks",
        "mv nested/deep/.git/hooks/pre-commit bare/hooks",
    ],
)
def test_what_stands_in_another_repository_is_not_planted_by_a_copy_of_it(guard: PlaceGuard, work: Path, copy: str) -> None:
    (fresh := work / "fresh").mkdir()
    for name in (".envrc", "AGENTS.md", ".mcp.json", ".github/workflows/ci.yml"):
        (fresh / name).parent.mkdir(exist_ok=True, parents=True)
        (fresh / name).write_text("evil\n")
    subprocess.run(["git", "init", "-q"], cwd=fresh, check=True)
    assert guarded(guard, work, "touch a") == []
    before = run_later(work)
    assert guarded(guard, work, copy)
    assert planted(before, run_later(work)) == {}
    assert guarded(guard, work, "cp -r fresh other; mv fresh moved") == []
    assert (work / "other" / ".mcp.json").exists()
    assert (work / "moved" / ".envrc").exists()


def test_what_is_too_large_or_cannot_be_read_is_moved_away_from_where_it_would_be_run(guard: PlaceGuard, work: Path) -> None:
    before = run_later(work)
    script = """
        head -c 5000000 /dev/zero > .envrc; cp .envrc .git/hooks/post-commit; mkdir nested/.vscode; cp .envrc .git/hooks/pre-commit
        echo evil > AGENTS.md; chmod 0111 .git/hooks/pre-commit AGENTS.md; rm .vscode/tasks.json; mkfifo .vscode/tasks.json
    """
    changes = guarded(guard, work, script)
    assert [one for one in changes if one.why] == []
    assert {Path(one.path).name for one in changes} >= {".envrc", "post-commit", "pre-commit", "AGENTS.md", "tasks.json"}
    assert planted(before, run_later(work)) == {}
    assert sum(path.stat().st_size == 5_000_000 for path in work.glob(".neuralclaw-found-*")) == 3


def test_what_a_command_closed_is_compared_with_how_it_stood_before_that(guard: PlaceGuard, work: Path) -> None:
    before = run_later(work)
    if os.geteuid() == 0:  # as for an ordinary user: what cannot be read is not known to this look
        saved = guard._refreshed(str(work), [])
        closed = {path: 0 for path in saved.directories if path.endswith("/nested/deep/.git/hooks")}
        guard._keep(msgspec.structs.replace(saved, unread=closed), saved)
        assert unread_now(saved, msgspec.structs.replace(saved, unread=closed)) == dict.fromkeys(closed)
    else:
        assert guarded(guard, work, "chmod 0 nested/deep/.git nested") == []
    assert guarded(guard, work, "chmod 755 nested nested/deep/.git; echo evil > nested/.envrc; echo evil > nested/deep/.git/hooks/pre-push")
    assert planted(before, run_later(work)) == {}


@pytest.mark.parametrize(
    "script",
    [
        "git init -q sub; python3 -c 'print(\"[a]\" * 1300000)' >> sub/.git/config; echo evil > .envrc",
        "mkdir sub; printf 'gitdir: a\\0b' > sub/.git; echo evil > .envrc",
        "mkdir sub; git init -q sub; printf 'a\\0b' > sub/.git/commondir; echo evil > .envrc",
    ],
)
def test_settings_that_nobody_writes_neither_stop_nor_break_the_guard(guard: PlaceGuard, work: Path, script: str) -> None:
    before = run_later(work)
    with_time = time.monotonic()
    changes = guarded(guard, work, script)
    assert time.monotonic() - with_time < 5
    assert str(work / ".envrc") in {one.path for one in changes}
    assert not {path for path in planted(before, run_later(work)) if "sub" not in path}
    assert guarded(guard, work, "true") == []


def test_what_a_person_moves_here_while_a_command_runs_is_not_lost(guard: PlaceGuard, work: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / ".envrc").write_text("mine\n")
    begun = (mine / ".envrc").stat().st_ctime_ns + 200_000_000
    while time.time_ns() < begun:
        (tmp_path / "clock").touch()
    command, _ = guard.begin(CALL, [str(work)], mounts=False, by_git=False)
    mine.rename(work / "mine")
    guard.end(command)
    assert [path.read_text() for path in work.glob(".neuralclaw-found-*")] == ["mine\n"]


def test_a_repository_that_was_there_is_not_led_to_another_one(guard: PlaceGuard, work: Path) -> None:
    other = "git init -q sub; cp -r .git/objects .git/refs sub/.git; echo ../sub/.git > .git/commondir"
    changes = guarded(guard, work, f"{other}; mv nested/deep/.git nested/old; echo 'gitdir: ../../sub/.git' > nested/deep/.git")
    assert {str(work / ".git" / "commondir"), str(work / "nested" / "deep" / ".git")} <= {one.path for one in changes}
    assert not (work / ".git" / "commondir").exists()
    assert not (work / "nested" / "deep" / ".git").is_file()


def test_what_a_person_moves_here_after_the_command_was_killed_stays(guard: PlaceGuard, work: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=mine, check=True)
    for name in (".envrc", ".git/hooks/pre-commit"):
        (mine / name).parent.mkdir(exist_ok=True)
        (mine / name).write_text("mine\n")
    command, _ = guard.begin(CALL, [str(work)], mounts=False, by_git=False)
    (work / "AGENTS.md").write_text("evil")
    guard.abandon(command)  # its process died; a second and a bit later
    os.utime(command.note, ns=(time.time_ns() - 1_200_000_000,) * 2)
    os.utime(work / "AGENTS.md")
    mine.rename(work / "mine")
    [interrupted] = PlaceGuard(str(tmp_path / "home" / "later_run")).settle()
    assert (work / "mine" / ".envrc").read_text() == "mine\n"
    assert (work / "mine" / ".git" / "hooks" / "pre-commit").read_text() == "mine\n"
    assert {Path(one.path).name: bool(one.why) for one in interrupted.changes}[".envrc"]


def test_what_another_command_plants_meanwhile_is_not_taken_for_what_was_there(guard: PlaceGuard, work: Path, tmp_path: Path) -> None:
    before = run_later(work)
    first, _ = guard.begin(CALL, [str(work)], mounts=False, by_git=False)
    subprocess.run(["sh", "-c", PLANTS["plant_a_hook"]], cwd=work, check=True)
    beside = PlaceGuard(str(tmp_path / "home" / "later_run"))  # as another process has it
    second, interrupted = beside.begin(CALL, [str(work)], mounts=False, by_git=False)
    assert interrupted == []
    assert [Path(change.path).name for change in guard.end(first)] == ["pre-commit"]
    assert beside.end(second) == []
    assert run_later(work) == before


def test_what_one_command_may_change_another_one_does_not_put_back(guard: PlaceGuard, work: Path) -> None:
    place = work / ".envrc"
    may, _ = guard.begin(CALL, [str(work), str(place)], mounts=False, by_git=False)
    may_not, _ = guard.begin(CALL, [str(work)], mounts=False, by_git=False)
    place.write_text("allowed")
    assert guard.end(may_not) == []
    assert guard.end(may) == []
    assert place.read_text() == "allowed"


def written(path: Path) -> dict[str, WrittenFile | None]:
    return {str(path): WrittenFile(hashlib.sha256(path.read_bytes()).digest())}


def test_what_a_file_tool_writes_while_a_command_ends_is_not_the_work_of_that(guard: PlaceGuard, work: Path) -> None:
    command, _ = guard.begin(CALL, [str(work)], mounts=False, by_git=False)
    later, _ = guard.begin(CALL, [str(work)], mounts=False, by_git=False)
    place = work / "AGENTS.md"
    files = guard.begin_writing(CALL, [str(place)])
    place.write_text("allowed")
    (work / ".envrc").write_text("evil")
    changes: list[PlaceChange] = []
    ending = threading.Thread(target=lambda: changes.extend(guard.end(command)))
    ending.start()
    ending.join(0.1)
    assert ending.is_alive()  # it waits for what the file tool says
    guard.end_writing(files, written(place))
    ending.join()
    assert [Path(change.path).name for change in changes] == [".envrc"]
    assert guard.end(later) == []
    assert place.read_text() == "allowed"


@pytest.mark.parametrize("made_of_it", ["echo evil > AGENTS.md", "chmod +x AGENTS.md", "rm AGENTS.md; ln -s a.txt AGENTS.md", "rm AGENTS.md"])
@pytest.mark.parametrize("stood", ["", "before"])
@pytest.mark.invariant("later_run.put-back")
def test_what_a_command_makes_of_what_a_file_tool_writes_is_put_back(guard: PlaceGuard, work: Path, made_of_it: str, stood: str) -> None:
    place = work / "AGENTS.md"
    place.unlink(missing_ok=True)
    if stood:
        place.write_text(stood)
    command, _ = guard.begin(CALL, [str(work)], mounts=False, by_git=False)
    files = guard.begin_writing(CALL, [str(place)])
    place.write_text("allowed")
    told = written(place)
    subprocess.run(["sh", "-c", made_of_it], cwd=work, check=True)
    guard.end_writing(files, told)
    changes = guard.end(command)
    assert (place.read_text() if place.exists() else "", os.access(place, os.X_OK), place.is_symlink()) == (stood, False, False)
    assert [(Path(change.path).name, change.why) for change in changes] == ([("AGENTS.md", "")] if stood or made_of_it != "rm AGENTS.md" else [])


@pytest.mark.parametrize("name", PLANTS)
@pytest.mark.invariant("later_run.put-back")
def test_what_a_file_tool_writes_beside_it_does_not_let_a_plant_stay(guard: PlaceGuard, work: Path, name: str) -> None:
    before = run_later(work)
    command, _ = guard.begin(CALL, [str(work)], mounts=False, by_git=False)
    subprocess.run(["sh", "-c", PLANTS[name]], cwd=work, env=GIT, check=False, capture_output=True)
    plants = run_later(work)
    beside = {str((work / path).parent) for path in planted(before, plants) if (work / path).parent.is_dir()}
    paths = [str(work / "notes.txt"), str(work / "new" / "deep" / "notes.txt"), *(f"{place}/notes.txt" for place in sorted(beside))]
    files = guard.begin_writing(CALL, paths)
    (work / "new" / "deep").mkdir(parents=True)
    (work / "new" / "deep" / "AGENTS.md").write_text("planted")
    for path in paths:
        Path(path).write_text("a file tool's")
    guard.end_writing(files, {name: one for path in paths for name, one in written(Path(path)).items()})
    changes = guard.end(command)
    assert planted(before, {path: one for path, one in run_later(work).items() if not path.endswith("notes.txt")}) == {}
    assert [change for change in changes if change.why] == []
    assert not (work / "new" / "deep" / "AGENTS.md").exists()
    assert (work / "new" / "deep" / "notes.txt").read_text() == "a file tool's"


def test_a_file_tool_that_died_leaves_nothing_to_compare(guard: PlaceGuard, work: Path, tmp_path: Path) -> None:
    files = guard.begin_writing(CALL, [str(work / "AGENTS.md")])
    os.close(files.descriptor)  # its lock goes, as with its process
    (work / "AGENTS.md").write_text("allowed")
    after = PlaceGuard(str(tmp_path / "home" / "later_run"))
    assert after.settle() == []
    assert not Path(files.note).exists()
    assert (work / "AGENTS.md").read_text() == "allowed"


def test_a_command_of_a_dead_process_is_compared_by_the_next_one(guard: PlaceGuard, work: Path, tmp_path: Path) -> None:
    before = run_later(work)
    command, _ = guard.begin(CALL, [str(work)], mounts=False, by_git=False)
    subprocess.run(["sh", "-c", PLANTS["change_a_hook"]], cwd=work, check=True)
    guard.abandon(command)  # its lock goes, as with its process
    after = PlaceGuard(str(tmp_path / "home" / "later_run"))
    [interrupted] = after.settle()
    assert interrupted.call == CALL
    assert {Path(change.path).name for change in interrupted.changes} == {"post-commit"}
    assert run_later(work) == before
    assert after.settle() == []


def test_what_somebody_else_changes_in_a_place_that_was_read_only_stays_and_is_put_back_where_the_mount_may_have_ended(guard: PlaceGuard, work: Path) -> None:
    place = work / ".vscode" / "tasks.json"
    command, _ = guard.begin(CALL, [str(work)], mounts=True, by_git=False)
    place.write_text("mine")
    assert guard.end(command) == []
    place = work / ".pre-commit-config.yaml"
    place.write_text("a")
    command, _ = guard.begin(CALL, [str(work)], mounts=True, by_git=False)
    (work / "new").write_text("b")
    (work / "new").replace(place)
    assert [(change.path, change.why) for change in guard.end(command)] == [(str(place), "")]
    assert place.read_text() == "a"


@pytest.mark.parametrize("takes_off", ["cp .envrc new && mv new .envrc", "mv .envrc away && mv away .envrc", "mv .git moved && mv moved .git"])
def test_a_mount_that_another_program_takes_off_proves_nothing_of_what_is_written_then(guard: PlaceGuard, work: Path, takes_off: str) -> None:
    (work / ".envrc").write_text("own")
    before = run_later(work)
    command, _ = guard.begin(CALL, [str(work)], mounts=True, by_git=False)
    subprocess.run(["sh", "-c", takes_off], cwd=work, check=True)
    for name in (".envrc", ".git/config"):
        with (work / name).open("a") as file:
            file.write("[core]\n\tfsmonitor = evil\n")
    times = work.stat()
    os.utime(work, ns=(times.st_atime_ns, times.st_mtime_ns))
    guard.end(command)
    assert run_later(work) == before


def test_what_is_appended_to_settings_that_a_line_of_git_replaced_meanwhile_is_put_back(guard: PlaceGuard, work: Path) -> None:
    settings = work / ".git" / "config"
    command, _ = guard.begin(CALL, [str(work)], mounts=True, by_git=False)
    script = "git config core.repositoryformatversion 0; git remote add other https://a.example/x.git"
    git, _ = guard.begin(CALL, [str(work), str(work / ".git")], mounts=True, by_git=True)
    subprocess.run(["sh", "-c", script], cwd=work, env=GIT, check=True)
    assert guard.end(git) == []
    told = settings.read_text()
    settings.write_text(f"{told}[core]\n\tfsmonitor = evil\n")
    assert [(change.path, change.why) for change in guard.end(command)] == [(str(settings), "")]
    assert settings.read_text() == told
    assert "a.example" in told


def test_many_new_directories_hide_nothing(guard: PlaceGuard, work: Path) -> None:
    before = run_later(work)
    many = "i=0; while [ $i -lt 60 ]; do mkdir -p a$i/$(seq -s/ 150); i=$((i+1)); done"
    guarded(guard, work, f"{many}; {PLANTS['plant_a_hook_in_a_nested_repository']}")
    assert planted(before, run_later(work)) == {}


@pytest.mark.parametrize(
    ("place", "name"), [(".config", "autostart/a.desktop"), (".config", "systemd/user/a.service"), (".local/share", "applications/a.desktop")]
)
def test_where_a_part_of_a_home_is_the_place_to_write_its_places_are_found_too(guard: PlaceGuard, tmp_path: Path, place: str, name: str) -> None:
    root = tmp_path.resolve() / "home" / place
    root.mkdir(parents=True)
    (root / "notes").mkdir()
    made = f"mkdir -p {Path(name).parent}; echo evil > {name}; echo mine > notes/a.desktop"
    assert [change.path for change in guarded(guard, root, made) if change.path.endswith(Path(name).name)] == [str(root / name)]
    assert not (root / name).exists()
    assert (root / "notes/a.desktop").exists()


@pytest.mark.parametrize("script", ["rm o.git/HEAD o.git/config; rm -r o.git/objects/*", "rm o.git/HEAD; echo '[core]fsmonitor=./evil' > o.git/config"])
def test_a_repository_that_is_partly_deleted_is_none_and_none_that_runs_something_is_made_of_it(guard: PlaceGuard, work: Path, script: str) -> None:
    subprocess.run(["git", "init", "-q", "--bare", "o.git"], cwd=work, env=GIT, check=True)
    found = guarded(guard, work, f"{script}; echo evil > .envrc")
    assert sorted((os.path.relpath(one.path, work), one.why) for one in found) == [(".envrc", "")]
    assert guarded(guard, work, "touch more") == []
    assert guarded(guard, work, "printf 'ref: refs/heads/main' > o.git/HEAD; echo '[core]fsmonitor=./evil' > o.git/config") != []
    git_runs = "fsmonitor" in (work / "o.git/config").read_text() and (work / "o.git/HEAD").exists()
    assert not git_runs


def test_a_new_repository_of_a_program_brings_no_settings_that_run_something(guard: PlaceGuard, work: Path) -> None:
    names = (".vscode/tasks.json", ".claude/settings.json", ".mcp.json", ".github/workflows/c.yml", ".husky/pre-commit", ".pre-commit-config.yaml", ".envrc")
    script = "git init -q new && cd new && mkdir -p .vscode .claude .github/workflows .husky && echo x > kept && " + " && ".join(
        f"echo x > {one}" for one in names
    )
    changes = guarded(guard, work, script)
    assert {change.path.removeprefix(f"{work}/new/") for change in changes} >= set(names)
    assert not any((work / "new" / name).exists() for name in names)
    assert (work / "new" / "kept").exists()
