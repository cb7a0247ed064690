"""What is made ready for a command before it is known holds it as well as what is made for it."""

import os
from pathlib import Path

import pytest

from neuralclaw.sandbox.landlock import Landlock
from neuralclaw.sandbox.orders import Restriction
from neuralclaw.sandbox.process import ordered
from neuralclaw.sandbox.program_lookup import existing_path, real_path
from neuralclaw.sandbox.program_run import Program
from neuralclaw.sandbox.reaped import start_reaped
from neuralclaw.sandbox.reaper import descendants
from neuralclaw.sandbox.resource_limits import LIMITS, ProcessGroup
from neuralclaw.sandbox.scratch import new_scratch
from neuralclaw.sandbox.spawn import on_spawner
from neuralclaw.types.grants import Envelope

from ..waiting import until
from .grants import command_grant
from .processes import sandbox, sh

pytestmark = pytest.mark.anyio


async def _next_reaper() -> None:
    """Wait until a reaper has opened the places of the next command and waits for it."""
    await until(lambda: any(map(_waits, descendants(os.getpid()))))


def _waits(pid: int) -> bool:
    try:
        held = any("landlock-ruleset" in str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir())
        return held and "pipe_read" in Path(f"/proc/{pid}/wchan").read_text()
    except OSError:
        return False


def _groups() -> list[Path]:
    return list(Path("/sys/fs/cgroup/pids").glob(f"neuralclaw-{os.getpid()}-*"))


def _can_enter_groups() -> bool:
    probe = ProcessGroup.make(LIMITS)
    if probe is None:
        return False
    with probe.entered() as inside:
        pass
    probe.remove()
    return inside


async def test_a_place_that_was_moved_away_since_the_last_command_is_closed_and_its_successor_open(tmp_path: Path) -> None:
    workspace, place, moved = tmp_path / "workspace", tmp_path / "place", tmp_path / "moved"
    workspace.mkdir()
    place.mkdir()
    box, grant = sandbox("landlock"), command_grant(workspace, write=(str(workspace), str(place)))
    await sh(box, grant, f"touch {place}/first")
    await _next_reaper()
    place.rename(moved)
    place.mkdir()
    await sh(box, grant, f"touch {moved}/new; touch {place}/new")
    assert [entry.name for entry in moved.iterdir()] == ["first"]
    assert [entry.name for entry in place.iterdir()] == ["new"]


async def test_a_place_that_became_a_link_since_the_last_command_is_closed(tmp_path: Path) -> None:
    workspace, above, secret = tmp_path / "workspace", tmp_path / "above", tmp_path / "secret"
    (above / "place").mkdir(parents=True)
    (secret / "place").mkdir(parents=True)
    workspace.mkdir()
    box, grant = sandbox("landlock"), command_grant(workspace, write=(str(workspace), str(above / "place")))
    await sh(box, grant, f"touch {above}/place/first")
    await _next_reaper()
    above.rename(tmp_path / "moved")
    above.symlink_to(secret)
    await sh(box, grant, f"touch {tmp_path}/moved/place/new {secret}/place/new {above}/place/new")
    assert [entry.name for entry in (tmp_path / "moved" / "place").iterdir()] == ["first"]
    assert list((secret / "place").iterdir()) == []


async def test_a_file_that_was_replaced_among_many_since_the_last_command_is_read(tmp_path: Path) -> None:
    workspace, home = tmp_path / "workspace", tmp_path / "home"
    workspace.mkdir()
    (home / ".keys").mkdir(parents=True)
    for number in range(9):
        (home / f"file{number}").write_text("old ")
    box, grant = sandbox("landlock", hidden=(str(home / ".keys"),)), command_grant(workspace, read=(str(workspace), str(home)))
    command = f"cat {home}/file3 {home}/file4"
    assert (await sh(box, grant, command)).stdout == b"old old "
    await _next_reaper()
    (workspace / "new").write_text("new ")
    (workspace / "new").rename(home / "file3")
    assert (await sh(box, grant, command)).stdout == b"new old "


async def test_a_place_that_was_not_there_when_the_last_command_ran_is_open(tmp_path: Path) -> None:
    shell, late, box = os.path.realpath("/bin/sh"), tmp_path / "late", Landlock()
    program = Program(argv=("sh", "-c", f"cat {late}"), file=shell, real=shell, cwd="/", env={"PATH": os.environ["PATH"]})

    def exit_code() -> int:
        scratch = new_scratch()
        made = box.restriction(box.seen(Envelope(), "/usr", program), scratch)
        read, *others = made.places
        held = Restriction(((*read, str(late)), *others), scratch, made.seccomp, proxy=0, hands_over=True)
        live = on_spawner(lambda: start_reaped(ordered(program, held), LIMITS))
        assert live.ended(5.0)
        live.close()
        return live.exit_code

    assert exit_code() == 1
    await _next_reaper()
    late.write_text("")
    assert exit_code() == 0


@pytest.mark.parametrize("kind", ["process", "landlock", "bubblewrap"])
async def test_where_groups_can_be_entered_a_command_has_its_own_and_the_thread_that_starts_it_is_not_in_it(kind: str, tmp_path: Path) -> None:
    box, own = sandbox(kind), on_spawner(_can_enter_groups)
    groups = {(await sh(box, command_grant(tmp_path), "grep pids: /proc/self/cgroup")).stdout.strip().rpartition(b"/")[2] for _ in range(3)}
    assert all(name.startswith(b"neuralclaw-%d-" % os.getpid()) == own for name in groups)
    assert len(groups) == (3 if own else 1)
    assert on_spawner(lambda: "neuralclaw-" not in Path("/proc/thread-self/cgroup").read_text())


async def test_the_groups_of_commands_that_ended_are_gone(tmp_path: Path) -> None:
    for kind in ("process", "landlock", "bubblewrap"):
        for _ in range(4):
            await sh(sandbox(kind), command_grant(tmp_path), "true")
    assert len(on_spawner(_groups)) <= 4, "one for each reaper that waits, and of those that are about to end"


def test_the_kernel_names_the_same_place_as_a_walk(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "file (deleted)").write_text("")
    for name, target in {"link": "a/b", "far": "/usr/bin", "dangling": "nowhere", "loop": "loop", "odd": "file (deleted)"}.items():
        (tmp_path / name).symlink_to(target)
    for name in ("a", "a/b", "a/../a/./b", "link", "link/..", "far", "dangling", "loop", "odd", "file (deleted)", "missing/x", "link/missing", ""):
        path = f"{tmp_path}/{name}"
        assert real_path(path) == os.path.realpath(path)
        assert existing_path(path) == (os.path.realpath(path) if Path(path).exists() else "")
