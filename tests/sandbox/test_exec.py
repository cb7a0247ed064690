"""What holds in every sandbox: one run of a program, its bounds, its end, and that nothing of it is left."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from neuralclaw.errors import PermissionDeniedError, ToolExecutionError
from neuralclaw.ports import Sandbox
from neuralclaw.sandbox.resource_limits import CGROUPS, LIMITS, ProcessGroup, ResourceLimits, sweep

from ..waiting import until
from .grants import command_grant, grant
from .processes import PATH, marker, running, sandbox, sh

PYTHON = Path(sys.executable).resolve()
"""The interpreter itself: an environment's link to it may lie where a sandbox does not look."""

pytestmark = [pytest.mark.anyio, pytest.mark.full]

# Leaves its session, its parent and its terminal behind in every way a command can.
ESCAPES = "setsid sleep {0} & (setsid nohup sleep {0} >/dev/null 2>&1 &) ; nohup setsid sh -c 'sleep {0} & sleep {0}' & "


@pytest.fixture(params=["process", "landlock", "bubblewrap"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def box(kind: str) -> Sandbox:
    return sandbox(kind)


async def test_output_and_exit_code_of_a_program_come_back(box: Sandbox, tmp_path: Path) -> None:
    result = await sh(box, command_grant(tmp_path), "echo out; echo err >&2; exit 3")
    assert (result.stdout, result.stderr, result.exit_code, result.dropped, result.timed_out) == (b"out\n", b"err\n", 3, 0, False)


async def test_arguments_reach_the_program_byte_for_byte(box: Sandbox, tmp_path: Path) -> None:
    odd = ["", " ", "a b", "--", "$HOME", "ä\n", "'\"", "\\", "*"]
    result = await box.exec(command_grant(tmp_path), ["printf", "%s|", *odd], cwd=str(tmp_path), env={"PATH": PATH}, timeout=5, max_bytes=1000)
    assert result.stdout.decode() == "".join(f"{part}|" for part in odd)


async def test_the_environment_is_exactly_what_was_given_and_the_directory(box: Sandbox, kind: str, tmp_path: Path) -> None:
    env = {"PATH": PATH, "MARK": "a=b\nc", "LD_PRELOAD": ""}
    result = await box.exec(command_grant(tmp_path), ["env", "-0"], cwd=str(tmp_path), env=env, timeout=5, max_bytes=10_000)
    seen = dict(pair.split("=", 1) for pair in result.stdout.decode().split("\0") if pair)
    own = {name: seen.pop(name) for name in ("TMPDIR", "XDG_CACHE_HOME", "npm_config_cache")} if kind == "landlock" else {}  # it has no /tmp of its own
    assert all(value.startswith(own["TMPDIR"]) for value in own.values())
    assert seen == {**env, "PWD": os.path.realpath(tmp_path)}


async def test_a_library_named_in_the_environment_is_not_loaded_outside_the_sandbox(box: Sandbox, tmp_path: Path) -> None:
    env = {"PATH": PATH, "LD_PRELOAD": "/nowhere/evil.so"}
    result = await box.exec(command_grant(tmp_path), ["true"], cwd=str(tmp_path), env=env, timeout=5, max_bytes=10_000)
    assert result.exit_code == 0
    assert result.stderr.count(b"/nowhere/evil.so") == 1  # the program itself complains, nobody around it


async def test_standard_input_is_empty(box: Sandbox, tmp_path: Path) -> None:
    assert (await sh(box, command_grant(tmp_path), "wc -c")).stdout.strip() == b"0"


async def test_a_program_killed_by_a_signal_has_the_shells_exit_code(box: Sandbox, tmp_path: Path) -> None:
    assert (await sh(box, command_grant(tmp_path), "kill -SEGV $$")).exit_code == 128 + signal.SIGSEGV


async def test_a_pipe_whose_reader_ends_stops_its_writer(box: Sandbox, tmp_path: Path) -> None:
    result = await sh(box, command_grant(tmp_path), "yes | head -n 1")
    assert (result.stdout, result.exit_code) == (b"y\n", 0)


async def test_output_beyond_the_bound_is_counted_and_not_kept(box: Sandbox, tmp_path: Path) -> None:
    result = await sh(box, command_grant(tmp_path), "head -c 10000000 /dev/zero; head -c 3000 /dev/zero >&2", max_bytes=1000)
    assert (len(result.stdout), len(result.stderr), result.dropped) == (1000, 1000, 10_003_000 - 2000)


async def test_binary_output_comes_back_unchanged(box: Sandbox, tmp_path: Path) -> None:
    data = bytes(range(256)) * 40
    (tmp_path / "data").write_bytes(data)
    assert (await sh(box, command_grant(tmp_path), "cat data")).stdout == data


async def test_a_program_that_is_not_there_is_named(box: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(ToolExecutionError, match="no-such-program"):
        await box.exec(command_grant(tmp_path), ["no-such-program"], cwd=str(tmp_path), env={"PATH": PATH}, timeout=5, max_bytes=10)


async def test_a_program_that_cannot_be_started_is_an_error_that_says_so(box: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "junk").write_text("#!/nowhere/interpreter\n")
    (tmp_path / "junk").chmod(0o755)
    with pytest.raises(ToolExecutionError, match="could not be started: No such file"):
        await box.exec(command_grant(tmp_path), ["./junk"], cwd=str(tmp_path), env={"PATH": PATH}, timeout=5, max_bytes=1000)


@pytest.mark.invariant("gate.grant-needed")
async def test_without_the_right_to_execute_nothing_runs(box: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(PermissionDeniedError):
        await sh(box, grant(tmp_path, write=(str(tmp_path),)), "touch ran")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.invariant("gate.grant-needed")
async def test_a_closed_or_overdue_grant_runs_nothing(box: Sandbox, tmp_path: Path) -> None:
    closed = command_grant(tmp_path)
    closed.close()
    for late in (closed, command_grant(tmp_path, until=time.monotonic() - 1)):
        with pytest.raises(PermissionDeniedError):
            await sh(box, late, "touch ran")
    assert list(tmp_path.iterdir()) == []


async def test_a_directory_outside_the_roots_is_refused_also_through_a_link(box: Sandbox, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "out").symlink_to(tmp_path)
    for cwd in (tmp_path, inside / "out", inside / ".."):
        with pytest.raises(PermissionDeniedError):
            await box.exec(command_grant(inside), ["true"], cwd=str(cwd), env={"PATH": PATH}, timeout=5, max_bytes=10)


@pytest.mark.invariant("gate.as-judged")
async def test_a_program_that_means_another_file_than_when_judged_does_not_run(box: Sandbox, tmp_path: Path) -> None:
    shadow = tmp_path / "ls"
    shadow.write_text("#!/bin/sh\necho shadow\n")
    shadow.chmod(0o755)
    judged = command_grant(tmp_path, programs={"ls": os.path.realpath("/bin/ls")})
    for argv in (["ls"], ["sh", "-c", "ls"]):
        with pytest.raises(PermissionDeniedError, match="another program"):
            await box.exec(judged, argv, cwd=str(tmp_path), env={"PATH": f"{tmp_path}:{PATH}"}, timeout=5, max_bytes=1000)
    assert (await box.exec(judged, ["ls"], cwd=str(tmp_path), env={"PATH": PATH}, timeout=5, max_bytes=1000)).stdout == b"ls\n"


async def test_a_program_that_takes_too_long_is_stopped_and_its_output_kept(box: Sandbox, tmp_path: Path) -> None:
    mark = marker()
    start = time.monotonic()
    result = await sh(box, command_grant(tmp_path), f"echo so far; sleep {mark}", timeout=0.3)
    assert result.timed_out
    assert result.stdout == b"so far\n"
    assert time.monotonic() - start < 20
    assert running(mark) == []


async def test_a_program_may_tidy_up_when_its_time_is_over(box: Sandbox, tmp_path: Path) -> None:
    result = await sh(box, command_grant(tmp_path), "trap 'echo tidy; exit 9' TERM; while :; do sleep 0.02; done", timeout=0.3)
    assert (result.timed_out, result.stdout, result.exit_code) == (True, b"tidy\n", 9)


async def test_a_program_that_ignores_the_polite_signal_is_gone_within_a_second(box: Sandbox, tmp_path: Path) -> None:
    mark = marker()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sh, box, command_grant(tmp_path), f"trap '' TERM HUP INT; touch begun; sleep {mark}; sleep {mark}")
            await until((tmp_path / "begun").exists)
            start = time.monotonic()
            tasks.cancel_scope.cancel()
    assert time.monotonic() - start < 20
    assert running(mark) == []


async def test_a_cancelled_program_is_gone_with_all_it_started(box: Sandbox, tmp_path: Path) -> None:
    mark = marker()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sh, box, command_grant(tmp_path), ESCAPES.format(mark) + f"touch begun; sleep {mark}")
        await until((tmp_path / "begun").exists)
        start = time.monotonic()
        tasks.cancel_scope.cancel()
    assert time.monotonic() - start < 20
    assert running(mark) == []


async def test_when_a_command_ends_every_process_of_it_is_gone(box: Sandbox, tmp_path: Path) -> None:
    mark = marker()
    result = await sh(box, command_grant(tmp_path), ESCAPES.format(mark) + "sleep 0.1; echo done")
    assert result.stdout == b"done\n"
    assert running(mark) == []


async def test_a_background_process_that_holds_the_pipe_does_not_hold_the_result(box: Sandbox, tmp_path: Path) -> None:
    start = time.monotonic()
    result = await sh(box, command_grant(tmp_path), f"sleep {marker()} & echo done")
    assert result.stdout == b"done\n"
    assert time.monotonic() - start < 20


AGENT = """
import sys, anyio
from tests.sandbox.grants import command_grant
from tests.sandbox.processes import sandbox, sh
kind, place, script = sys.argv[1:]
anyio.run(lambda: sh(sandbox(kind), command_grant(place), script, timeout=None))
"""


async def test_a_killed_agent_leaves_no_process_behind(kind: str, tmp_path: Path) -> None:
    mark = marker()
    script = ESCAPES.format(mark) + f"touch begun; sleep {mark}"
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", AGENT, kind, str(tmp_path), script], cwd=root) as agent:
        await until((tmp_path / "begun").exists)
        await until(lambda: len(running(mark)) >= 5)
        agent.kill()
    await until(lambda: running(mark) == [])
    await until(lambda: sweep() or not [path for parent in CGROUPS for path in Path(parent).glob(f"neuralclaw-{agent.pid}-*")])


ASKING = """
import sys, anyio
from tests.sandbox.grants import command_grant
from tests.sandbox.processes import sandbox, sh
kind, place, script = sys.argv[1:]
print(anyio.run(lambda: sh(sandbox(kind), command_grant(place), script)).stdout.decode(), end="")
"""


async def test_what_the_agent_was_started_with_open_reaches_no_program(kind: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    with (tmp_path / "secret").open() as file:
        number = file.fileno()
        script = f"cat <&{number} 2>/dev/null || echo closed"
        command = [sys.executable, "-c", ASKING, kind, str(tmp_path), f"bash -c '{script}'"]
        done = subprocess.run(command, cwd=Path(__file__).parents[2], pass_fds=(number,), capture_output=True, text=True, check=True)
    assert done.stdout == "closed\n"


async def test_too_many_processes_are_refused_or_end_the_command(kind: str, tmp_path: Path) -> None:
    mark = marker()
    spawn = f"import subprocess\nfor n in range(200): subprocess.Popen(['sleep', '{mark}']); open('made', 'w').write(str(n + 1))"
    (tmp_path / "spawn.py").write_text(spawn)
    result = await sh(sandbox(kind, ResourceLimits(processes=40)), command_grant(tmp_path), f"exec {PYTHON} spawn.py")
    assert result.exit_code != 0
    assert int((tmp_path / "made").read_text()) < 200
    assert running(mark) == []


async def test_a_command_has_at_most_512_processes(kind: str, tmp_path: Path) -> None:
    """Exactly, where the kernel counts; a plain process of an ordinary user is looked at every 50 ms, and may be a few over when it is ended."""
    probe = ProcessGroup.make(LIMITS)
    if probe:
        probe.remove()
    exact = kind == "bubblewrap" or probe is not None
    mark = marker()
    (tmp_path / "spawn.py").write_text(f"import subprocess\nfor n in range(600): subprocess.Popen(['sleep', '{mark}']); open('made', 'w').write(str(n + 1))")
    result = await sh(sandbox(kind), command_grant(tmp_path), f"exec {PYTHON} spawn.py")
    assert result.exit_code != 0
    assert int((tmp_path / "made").read_text()) <= (512 if exact else 599)
    assert running(mark) == []


async def test_more_memory_than_allowed_is_refused(box: Sandbox, tmp_path: Path) -> None:
    result = await sh(box, command_grant(tmp_path), f"exec {PYTHON} -c 'bytearray(3 << 30)'")
    assert result.exit_code == 1
    assert b"MemoryError" in result.stderr


async def test_processes_that_together_take_too_much_memory_are_stopped(kind: str, tmp_path: Path) -> None:
    (tmp_path / "eat.py").write_text("import os\nos.fork(); os.fork()\nx = bytearray(b'x') * (40 << 20)\nimport signal; signal.pause()")
    result = await sh(sandbox(kind, ResourceLimits(memory=120 << 20)), command_grant(tmp_path), f"exec {PYTHON} eat.py", timeout=10)
    assert result.exit_code == 137
    assert result.stderr.decode().splitlines()[-1] == "stopped: more than 120 MB of memory"


async def test_shared_memory_counts_too(kind: str, tmp_path: Path) -> None:
    (tmp_path / "eat.py").write_text("import mmap, signal\nm = mmap.mmap(-1, 200 << 20)\nm.write(b'x' * (200 << 20))\nsignal.pause()")
    limited = sandbox(kind, ResourceLimits(memory=120 << 20, file_size=1 << 30))
    result = await sh(limited, command_grant(tmp_path), f"exec {PYTHON} eat.py", timeout=10)
    assert not result.timed_out
    assert result.exit_code != 0


async def test_a_file_larger_than_allowed_ends_the_program(kind: str, tmp_path: Path) -> None:
    result = await sh(sandbox(kind, ResourceLimits(file_size=1 << 20)), command_grant(tmp_path), "exec head -c 2000000 /dev/zero > big")
    assert result.exit_code == 128 + signal.SIGXFSZ
    assert (tmp_path / "big").stat().st_size == 1 << 20


async def test_no_core_file_is_written(box: Sandbox, tmp_path: Path) -> None:
    assert (await sh(box, command_grant(tmp_path), "ulimit -c")).stdout == b"0\n"


async def test_many_commands_run_at_once(box: Sandbox, tmp_path: Path) -> None:
    results: list[bytes] = []

    async def one(number: int) -> None:
        results.append((await sh(box, command_grant(tmp_path), f"echo {number}")).stdout)

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(one, number)
    assert sorted(map(int, results)) == list(range(20))
