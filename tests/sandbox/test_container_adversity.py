"""A container, or its engine, that somebody stops, pauses or removes in the middle of a command: the command ends, says so, and the next one runs."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from neuralclaw.errors import ToolExecutionError
from neuralclaw.ports import ExecResult
from neuralclaw.sandbox.choice import ChosenSandbox
from neuralclaw.sandbox.container.container_options import ContainerOptions
from neuralclaw.sandbox.container.sandbox import ContainerSandbox

from ..waiting import until
from .engine import ENGINES, IMAGE, Daemon, daemon
from .grants import command_grant
from .processes import PATH, marker, running, sh
from .slow_engine import SlowEngine

pytestmark = [pytest.mark.anyio, pytest.mark.full]
OWNER = 1001


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Daemon:
    return daemon(request.param)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "workspace"
    path.mkdir()
    os.chown(path, OWNER, OWNER)
    return path


@pytest.fixture
def box(engine: Daemon, tmp_path: Path) -> Iterator[ContainerSandbox]:
    made = ContainerSandbox(ContainerOptions(image=IMAGE, data_home=str(tmp_path / "home")), env=engine.env)
    yield made
    made.close()
    for name in engine.containers():
        engine.discard(name)


async def interrupted(box: ContainerSandbox, workspace: Path, what: Any, *, seconds: float = 20.0) -> ExecResult:
    """A command in the middle of which this happens; afterwards nothing of it runs."""
    mark, found = marker(), list[ExecResult]()
    async with anyio.create_task_group() as group:

        async def run() -> None:
            found.append(await sh(box, command_grant(workspace), f"echo begun; sleep {mark}", timeout=seconds))

        group.start_soon(run)
        await until(lambda: running(mark))
        await anyio.to_thread.run_sync(what)
    await until(lambda: running(mark) == [])
    return found[0]


@pytest.mark.parametrize("verb", ["kill", "stop", "remove"])
async def test_a_command_whose_container_is_ended_says_so_and_the_next_one_has_a_new_container(
    engine: Daemon, box: ContainerSandbox, workspace: Path, verb: str
) -> None:
    def end() -> None:
        (name,) = engine.containers()
        if verb == "remove":
            engine.discard(name)
        else:
            engine.engine.call("POST", f"/containers/{name}/{verb}", **({"t": 0} if verb == "stop" else {}))

    try:
        done = await interrupted(box, workspace, end)
    except* ToolExecutionError as failed:
        assert "its container was ended" in str(failed.exceptions[0])  # noqa: PT017 - which of both an engine tells depends on what it had forgotten
    else:
        assert (done.exit_code, done.stdout, done.stderr) == (137, b"begun\n", b"stopped: its container was ended\n")
    assert (await sh(box, command_grant(workspace), "echo anew")).stdout == b"anew\n"


async def test_a_command_whose_container_is_paused_ends_with_its_time(engine: Daemon, box: ContainerSandbox, workspace: Path) -> None:
    def pause() -> None:
        (name,) = engine.containers()
        engine.engine.call("POST", f"/containers/{name}/pause")

    done = await interrupted(box, workspace, pause, seconds=1.5)
    assert (done.timed_out, done.exit_code, done.stdout) == (True, 137, b"begun\n")
    assert (await sh(box, command_grant(workspace), "echo anew")).stdout == b"anew\n"


async def test_nothing_runs_on_where_the_engine_hangs_in_the_middle_of_a_command(engine: Daemon, box: ContainerSandbox, workspace: Path) -> None:
    mark = marker()
    await sh(box, command_grant(workspace), "true")
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: sh(box, command_grant(workspace), f"sleep {mark}", timeout=1.0))
            await until(lambda: running(mark))
            engine.process.send_signal(signal.SIGSTOP)
        await until(lambda: running(mark) == [])
    finally:
        engine.process.send_signal(signal.SIGCONT)
    assert (await sh(box, command_grant(workspace), "echo anew")).stdout == b"anew\n"


@pytest.fixture
def late(engine: Daemon, tmp_path: Path) -> Iterator[ContainerSandbox]:
    """A sandbox whose engine passes on late what programs write."""
    with SlowEngine(engine.socket, str(tmp_path / "slow")) as slow:
        threading.Thread(target=slow.serve_forever, daemon=True).start()
        box = ContainerSandbox(ContainerOptions(image=IMAGE, data_home=str(tmp_path / "home")), env={"DOCKER_HOST": f"unix://{tmp_path}/slow"})
        try:
            yield box
        finally:
            box.close()
            slow.shutdown()


async def test_what_an_engine_passes_on_late_is_not_lost(late: ContainerSandbox, workspace: Path) -> None:
    done = await sh(late, command_grant(workspace), "echo late; echo also >&2; sleep 100 &")
    assert (done.exit_code, done.stdout, done.stderr) == (0, b"late\n", b"also\n")


@pytest.mark.parametrize("held", ["", "; sleep 100 &"])
async def test_neither_is_it_where_the_container_cannot_be_emptied(engine: Daemon, late: ContainerSandbox, workspace: Path, held: str) -> None:
    """Its first process is stopped, so that it ends nothing, and the container is ended as a whole."""
    assert (await sh(late, command_grant(workspace), "true")).exit_code == 0
    (name,) = engine.containers()
    first = engine.engine.call("GET", f"/containers/{name}/json")["State"]["Pid"]
    os.kill(first, signal.SIGSTOP)
    done = await sh(late, command_grant(workspace), f"echo late; echo also >&2{held}")
    assert (done.exit_code, done.stdout, done.stderr) == (0, b"late\n", b"also\n")
    await until(lambda: not Path(f"/proc/{first}").exists())


@pytest.fixture
def hanging(tmp_path: Path) -> Iterator[str]:
    """The socket of an engine that takes connections and never answers."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "hangs"))
        listening.listen(50)
        yield str(tmp_path / "hangs")


async def test_an_engine_that_never_answers_is_given_up(hanging: str) -> None:
    env = {"DOCKER_HOST": f"unix://{hanging}"}
    sandbox = ChosenSandbox("container", path_env=PATH, container=lambda: ContainerSandbox(ContainerOptions(), env=env, answers_within=0.2))
    begun = time.monotonic()
    problem = await anyio.to_thread.run_sync(sandbox.problem)
    assert problem is not None
    assert (problem.text, problem.fix) == (f"the container engine at {hanging} does not answer", "sudo systemctl restart docker")
    assert time.monotonic() - begun < 20
