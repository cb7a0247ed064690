"""The container sandbox over a real engine: its controls, its limits, one container per session, and its end."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from neuralclaw import Agent, config
from neuralclaw.app.sandbox_selection import sandbox_of
from neuralclaw.errors import PermissionDeniedError, ToolExecutionError
from neuralclaw.sandbox.container.container_options import ContainerOptions, container_name, labels
from neuralclaw.sandbox.container.image import build
from neuralclaw.sandbox.container.pool import remove_orphans
from neuralclaw.sandbox.container.sandbox import ContainerSandbox
from neuralclaw.types.grants import Grant

from ..ordinary_user import run_as
from ..waiting import until, until_blocking
from .engine import ENGINES, IMAGE, Daemon, daemon
from .grants import command_grant
from .processes import PATH, marker, running, sh

pytestmark = [pytest.mark.anyio, pytest.mark.full]
OWNER = 1001


@pytest.fixture(params=ENGINES)
def docker(request: pytest.FixtureRequest) -> Iterator[Daemon]:
    """An engine, Docker's or Podman's; every test leaves it without containers."""
    made = daemon(request.param)
    yield made
    for one in made.engine.call("GET", "/containers/json", all="true"):
        made.discard(one["Id"])
    until_blocking(lambda: made.containers() == [])


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Of an ordinary user."""
    path = tmp_path.resolve() / "workspace"
    path.mkdir()
    os.chown(path, OWNER, OWNER)
    return path


@pytest.fixture
def make(docker: Daemon, tmp_path: Path) -> Iterator[Any]:
    made: list[ContainerSandbox] = []

    def new(*, hidden: tuple[str, ...] = (), **options: Any) -> ContainerSandbox:
        given = ContainerOptions(**{"image": IMAGE, "data_home": str(tmp_path / "home"), **options})
        made.append(ContainerSandbox(given, env=docker.env, hidden=hidden, home="/home/person"))
        return made[-1]

    yield new
    for one in made:
        one.close()


def granted(workspace: Path, session: str = "s", **envelope: Any) -> Grant:
    grant = command_grant(workspace, **envelope)
    grant.session = session
    return grant


async def said(box: ContainerSandbox, grant: Grant, script: str) -> str:
    done = await sh(box, grant, script)
    return (done.stdout + done.stderr).decode().strip()


async def test_every_control_is_kept_by_the_engine(make: Any, docker: Daemon, workspace: Path) -> None:
    box = make()
    status = await said(box, granted(workspace), "id -u; id -g; grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status; ls /sys/class/net; touch /x")
    assert status.replace("\t", " ").splitlines() == [
        str(OWNER),
        str(OWNER),
        *("CapEff: 0000000000000000", "CapBnd: 0000000000000000", "NoNewPrivs: 1", "Seccomp: 2"),
        "lo",
        "touch: cannot touch '/x': Read-only file system",
    ]
    host = docker.engine.call("GET", "/containers/neuralclaw-runner-s/json")["HostConfig"]
    kept = {name: host[name] for name in ("Memory", "MemorySwap", "NanoCpus", "PidsLimit", "ReadonlyRootfs", "NetworkMode", "Privileged")}
    megabytes = 512 * 1024**2
    assert kept == {
        "Memory": megabytes,
        "MemorySwap": megabytes,
        "NanoCpus": 1_000_000_000,
        "PidsLimit": 128,
        "ReadonlyRootfs": True,
        "NetworkMode": "none",
        "Privileged": False,
    }
    assert "size=67108864" in host["Tmpfs"]["/tmp"]


async def test_what_a_command_makes_belongs_to_the_owner_of_the_workspace(make: Any, workspace: Path) -> None:
    assert await said(make(), granted(workspace), "echo text > made && mkdir inside && cat made") == "text"
    assert {(path.stat().st_uid, path.stat().st_gid) for path in workspace.iterdir()} == {(OWNER, OWNER)}


async def test_in_a_workspace_of_root_commands_run_as_user_1000_and_say_why_they_cannot_write(make: Any, tmp_path: Path) -> None:
    workspace = tmp_path.resolve() / "roots"
    workspace.mkdir()
    (workspace / "notes").write_text("text")
    done = await sh(make(), granted(workspace), "id -u; cat notes; echo x > new")
    assert done.stdout == b"1000\ntext"
    assert f"The workspace {workspace} belongs to root" in done.refused
    assert f"chown -R 1000:1000 {workspace}" in done.refused


async def test_a_session_keeps_its_container_and_another_one_has_its_own(make: Any, docker: Daemon, workspace: Path) -> None:
    box = make()
    await said(box, granted(workspace, "one"), "echo kept > /tmp/note")
    assert await said(box, granted(workspace, "one"), "cat /tmp/note; echo $HOME") == "kept\n/home/person"
    assert "No such file" in await said(box, granted(workspace, "tw/o é"), "cat /tmp/note")
    names = docker.containers()
    assert "neuralclaw-runner-one" in names
    assert names == sorted(["neuralclaw-runner-one", container_name("tw/o é")])


async def test_a_call_that_may_write_less_has_a_container_in_which_it_cannot(make: Any, docker: Daemon, workspace: Path) -> None:
    box = make()
    await said(box, granted(workspace), "echo text > made")
    assert "Read-only file system" in await said(box, granted(workspace, write=()), "cat made; echo more > made")
    assert (workspace / "made").read_text() == "text\n"
    assert len(docker.containers()) == 2


async def test_a_place_that_one_call_may_read_is_not_there_for_the_next(make: Any, workspace: Path, tmp_path: Path) -> None:
    other = tmp_path.resolve() / "other"
    other.mkdir()
    (other / "note").write_text("text")
    box = make()
    assert await said(box, granted(workspace, read=(str(other),)), f"cat {other}/note") == "text"
    done = await sh(box, granted(workspace), f"cat {other}/note")
    assert b"No such file" in done.stderr
    assert f"{other}/note is outside of what this command may use" in done.refused


async def test_the_workspace_is_read_only_where_the_settings_say_so(make: Any, workspace: Path) -> None:
    (workspace / "old").write_text("old")
    box = make(read_only=True)
    for command in ("touch new", "sed -i s/o/n/ old", f"echo x > {workspace}/new"):
        done = await sh(box, granted(workspace), command)
        assert "Read-only file system" in done.stderr.decode()
        assert f"The workspace {workspace} is read-only for commands" in done.refused
        assert "access" not in done.refused
    assert "read-only for commands" not in (await sh(box, granted(workspace), "touch /usr/new")).refused
    assert sorted(path.name for path in workspace.iterdir()) == ["old"]


async def test_what_is_hidden_in_the_workspace_is_covered(make: Any, workspace: Path) -> None:
    (workspace / "keys").mkdir()
    (workspace / "keys/id").write_text("secret")
    (workspace / "netrc").write_text("secret")
    box = make(hidden=(str(workspace / "keys"), str(workspace / "netrc")))
    assert await said(box, granted(workspace), "ls keys; cat netrc; echo seen") == "seen"
    assert "Read-only" in await said(box, granted(workspace), "echo x > keys/new")


async def test_a_unix_socket_where_a_call_only_reads_cannot_be_reached(make: Any, workspace: Path) -> None:
    connect = 'python3 -c \'import socket; socket.socket(socket.AF_UNIX).connect("service"); print("reached")\''
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(workspace / "service"))
        (workspace / "service").chmod(0o777)
        service.listen()
        box = make()
        assert "refused" in await said(box, granted(workspace, write=()), connect)
        assert await said(box, granted(workspace), connect) == "reached"


async def test_a_place_that_was_made_anew_under_its_old_number_is_read_only_again(make: Any, workspace: Path) -> None:
    """The kernel gives the number of a removed file to the next one; the mount went with the old one."""
    place, box = workspace / ".envrc", make()
    place.write_text("export A=1\n")
    place.chmod(0o666)
    assert "Read-only file system" in await said(box, granted(workspace), "echo evil >> .envrc")
    before = place.stat().st_ino
    for _ in range(100):
        place.unlink()
        place.write_text("export A=1\n")
        place.chmod(0o666)
        if place.stat().st_ino == before:
            break
    assert "Read-only file system" in await said(box, granted(workspace), "echo evil >> .envrc")
    assert place.read_text() == "export A=1\n"


async def test_the_exit_code_and_both_streams_come_back_and_output_has_a_bound(make: Any, workspace: Path) -> None:
    box = make()
    done = await sh(box, granted(workspace), "echo out; echo err >&2; exit 7")
    assert (done.exit_code, done.stdout, done.stderr) == (7, b"out\n", b"err\n")
    done = await sh(box, granted(workspace), "head -c 3000000 /dev/zero", max_bytes=1000)
    assert (len(done.stdout), done.dropped, done.exit_code) == (1000, 2_999_000, 0)
    assert (await sh(box, granted(workspace), "kill -9 $$")).exit_code == 137


REACH = """
import os, socket, sys, urllib.parse, urllib.request
def by_proxy(place, password=None):
    proxy = urllib.parse.urlsplit(os.environ["http_proxy"])
    handler = urllib.request.ProxyHandler({"http": f"http://command:{password or proxy.password}@127.0.0.1:3128"})
    try: return urllib.request.build_opener(handler).open(f"http://{place}/", timeout=10).read().decode()
    except urllib.error.HTTPError as error: return f"{error.code}"
    except OSError as error: return "unreached"
def directly(host, port):
    try: socket.create_connection((host, port), 3); return "reached"
    except OSError as error: return "unreached"
"""


@pytest.fixture
async def served() -> AsyncIterator[int]:
    """The port of a server on the loopback of this machine that answers every request with the word "page"."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\npage")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


def networked(workspace: Path, port: int) -> Grant:
    """A grant with a network in which the host `site.test` alone was named, which is the server of the test."""

    async def reach(host: str, asked: int) -> tuple[str, ...]:
        if (host, asked) != ("site.test", port):
            raise PermissionDeniedError(f"{host}:{asked} was not named")
        return ("127.0.0.1",)

    like = granted(workspace, network=True, hosts=(f"site.test:{port}",))
    return Grant(session="s", call_id="c", tool="terminal", arguments={}, workspace=like.workspace, hash="", envelope=like.envelope, judge_place=reach)


async def test_a_granted_network_is_reached_through_the_proxy_of_the_call_and_in_no_other_way(make: Any, workspace: Path, served: int) -> None:
    (workspace / "reach.py").write_text(
        f"{REACH}\nprint(by_proxy('site.test:{served}'), by_proxy('other.test:80'), by_proxy('169.254.169.254:80'), by_proxy('127.0.0.1:{served}'))\n"
        f"print(by_proxy('site.test:{served}', 'another'), directly('127.0.0.1', {served}), directly('169.254.169.254', 80), directly('site.test', {served}))\n"
    )
    box = make()
    done = await sh(box, networked(workspace, served), "python3 reach.py; ls -A /run/neuralclaw; echo x > /run/neuralclaw/x")
    assert done.stdout.decode().splitlines() == ["page 403 403 403", "407 unreached unreached unreached"], done
    assert b"Read-only file system" in done.stderr
    assert "other.test:80 was not named" in done.refused


async def test_a_call_gets_nothing_of_the_network_of_another_one(make: Any, docker: Daemon, workspace: Path, served: int) -> None:
    """Neither one without a network that runs meanwhile, nor a later one with a network of its own and a password that it learned from the first."""
    (workspace / "hold.py").write_text(
        f"{REACH}\nimport pathlib\npathlib.Path('env').write_text(os.environ['http_proxy'])\nopen('go').read()\nprint(by_proxy('site.test:{served}'))\n"
    )
    (workspace / "take.py").write_text(
        f"{REACH}\nos.environ['http_proxy'] = address = open('env').read()\nprint(by_proxy('site.test:{served}'), directly('127.0.0.1', 3128))\n"
    )
    os.mkfifo(workspace / "go")
    box, said = make(), list[str]()

    async def hold() -> None:
        said.append(await said_by(networked(workspace, served), "python3 hold.py; (sleep 30 &)"))

    async def said_by(grant: Grant, script: str) -> str:
        return (await sh(box, grant, script)).stdout.decode().strip()

    async with anyio.create_task_group() as group:
        group.start_soon(hold)
        await until((workspace / "env").exists)
        assert await said_by(granted(workspace), "python3 take.py; ls -d /run/neuralclaw") == "unreached unreached"
        (workspace / "go").write_text("")
    assert said == ["page"]
    assert await said_by(networked(workspace, served), "python3 take.py") == "407 reached"
    assert await said_by(granted(workspace), "python3 take.py") == "unreached unreached"
    assert len(docker.containers()) == 2


async def test_an_image_without_python_says_what_a_network_needs(make: Any, docker: Daemon, workspace: Path, served: int) -> None:
    without = "FROM neuralclaw-test:latest\nRUN rm -f /usr/bin/python3 /usr/bin/python3.*\n"
    await anyio.to_thread.run_sync(lambda: build("without-python:latest", docker.env, lambda line: None, dockerfile=without.encode()))
    try:
        box = make(image="without-python:latest")
        with pytest.raises(ToolExecutionError, match="its image has no python3; nothing was run"):
            await sh(box, networked(workspace, served), "echo run > made")
        assert await said(box, granted(workspace), "ls") == ""
        box.close()
    finally:
        await until(lambda: docker.containers() == [])
        docker.engine.call("DELETE", "/images/without-python:latest")


async def test_there_is_no_input(make: Any, workspace: Path) -> None:
    assert await said(make(), granted(workspace), "cat; echo end") == "end"


async def test_a_program_that_the_image_does_not_have_is_named(make: Any, workspace: Path) -> None:
    with pytest.raises(ToolExecutionError, match="the program cargo is not in the container's image"):
        await make().exec(granted(workspace), ["cargo", "build"], cwd=str(workspace), env={}, timeout=5, max_bytes=1000)


async def test_a_script_of_the_workspace_that_was_replaced_since_it_was_judged_is_not_run(make: Any, workspace: Path) -> None:
    for name in ("one", "two"):
        (workspace / name).write_text("#!/bin/sh\necho ran\n")
        (workspace / name).chmod(0o755)
    box = make()
    judged = granted(workspace, programs={"./one": str(workspace / "one")})
    assert (await box.exec(judged, ["./one"], cwd=str(workspace), env={}, timeout=5, max_bytes=100)).stdout == b"ran\n"
    (workspace / "one").unlink()
    (workspace / "one").symlink_to("two")
    with pytest.raises(PermissionDeniedError, match="another program now"):
        await box.exec(judged, ["./one"], cwd=str(workspace), env={}, timeout=5, max_bytes=100)


@pytest.mark.parametrize("script", ["sleep {} & exit 0", "(trap '' TERM HUP; sleep {}) & exit 0", "bash -mc 'sleep {} & disown; exit' ; exit 0"])
async def test_what_a_command_leaves_behind_is_gone_when_the_call_ends(make: Any, workspace: Path, script: str) -> None:
    mark = marker()
    done = await sh(make(), granted(workspace), script.format(mark))
    assert (done.exit_code, running(mark)) == (0, [])


async def test_a_command_that_takes_too_long_is_stopped_with_all_that_it_started_and_keeps_what_it_printed(make: Any, docker: Daemon, workspace: Path) -> None:
    box, mark = make(), marker()
    await said(box, granted(workspace), "true")
    begun = time.monotonic()
    done = await sh(box, granted(workspace), f"echo begun; trap '' TERM; sleep {mark} & sleep {mark}", timeout=0.3)
    assert (done.timed_out, done.stdout, running(mark)) == (True, b"begun\n", [])
    assert time.monotonic() - begun < 20
    assert docker.containers() == ["neuralclaw-runner-s"]
    assert await said(box, granted(workspace), "echo again") == "again"


async def test_a_cancelled_call_leaves_nothing_running(make: Any, workspace: Path) -> None:
    box, mark = make(), marker()
    async with anyio.create_task_group() as group:
        group.start_soon(sh, box, granted(workspace), f"sleep {mark}")
        await until(lambda: running(mark))
        group.cancel_scope.cancel()
    assert running(mark) == []


THIEF = """
import os
ready, begun = os.pipe()
if os.fork():
    os.close(begun)
    os.read(ready, 1)
    os._exit(3)
os.setsid()
orders = os.open("/proc/1/fd/0", os.O_RDONLY | os.O_NONBLOCK)
answers = os.open("/proc/1/fd/1", os.O_WRONLY)
for number in (1, 2, begun): os.close(number)
while True:
    try: os.write(answers, os.read(orders, 100))
    except BlockingIOError: pass
"""


async def test_a_command_that_takes_our_orders_from_the_first_process_and_answers_them_is_ended_too(make: Any, workspace: Path) -> None:
    """It is the same user: it may use that process's streams. The kernel's count shows what is left, and the engine ends the container."""
    box, mark = make(), marker()
    (workspace / "thief.py").write_text(THIEF)
    for _ in range(3):  # who reads an order first is chance
        done = await sh(box, granted(workspace), f"exec python3 thief.py {mark}")
        assert (running(mark), done.exit_code in (3, 137)) == ([], True)
    assert await said(box, granted(workspace), "echo again") == "again"


async def test_calls_of_one_session_that_come_together_all_run(make: Any, workspace: Path) -> None:
    box, found = make(), list[str]()

    async def one(number: int) -> None:
        found.append(await said(box, granted(workspace), f"echo {number}"))

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(one, number)
    assert sorted(found) == ["0", "1", "2", "3"]


# Limits


async def test_settings_reach_the_engine(docker: Daemon, workspace: Path, tmp_path: Path) -> None:
    values = {"cpus": 0.5, "memory_mb": 100, "pids": 40, "tmpfs_mb": 8, "workspace": "ro", "idle_seconds": 300}
    terminal = {"sandbox": "container", "docker_image": IMAGE, "container": values}
    loaded = config.load(home=str(tmp_path / "home"), environ={**docker.env, "PATH": PATH}, overrides={"tools": {"terminal": terminal}})
    box = sandbox_of(loaded)
    assert (box.name, box.problem()) == ("container", None)
    assert "Read-only file system" in await said(box, granted(workspace), "echo x > new")
    told = docker.engine.call("GET", "/containers/neuralclaw-runner-s/json")
    host = told["HostConfig"]
    assert (host["NanoCpus"], host["Memory"], host["PidsLimit"]) == (500_000_000, 100 * 1024**2, 40)
    assert "size=8388608" in host["Tmpfs"]["/tmp"]
    assert told["Config"]["Image"].endswith(IMAGE)
    box.close()


async def test_memory_has_a_bound(make: Any, workspace: Path) -> None:
    box = make(memory_mb=64)
    fill = "x = bytearray({} << 20)\nfor n in range(0, len(x), 4096): x[n] = 1\nprint(len(x) >> 20)"
    assert await said(box, granted(workspace), f"python3 -c '{fill.format(20)}'") == "20"
    done = await sh(box, granted(workspace), f"exec python3 -c '{fill.format(200)}'")
    assert (done.exit_code, done.stdout) == (137, b"")
    assert "64 MB" in done.stderr.decode()


BOMB = """
import os, signal
count = 0
try:
    while count < 500:
        if os.fork() == 0: signal.pause()
        count += 1
except OSError:
    print(count)
"""


async def test_processes_have_a_bound_and_a_fork_bomb_ends_with_its_call(make: Any, docker: Daemon, workspace: Path) -> None:
    box = make(pids=32)
    (workspace / "bomb.py").write_text(BOMB)
    assert 20 < int(await said(box, granted(workspace), "python3 bomb.py")) < 32
    assert docker.containers() == ["neuralclaw-runner-s"]
    assert await said(box, granted(workspace), "echo again") == "again"


async def test_processor_time_has_a_bound(make: Any, workspace: Path) -> None:
    """Half a processor: in a second of the wall at most that much is used, with some room for the period in which it is counted."""
    spin = "import os, time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass\nprint(sum(os.times()[:2]))"
    assert float(await said(make(cpus=0.5), granted(workspace), f"python3 -c '{spin}'")) < 0.75


async def test_temporary_files_have_a_bound(make: Any, workspace: Path) -> None:
    box = make(tmpfs_mb=8)
    assert "No space left on device" in await said(box, granted(workspace), "head -c 9000000 /dev/zero > /tmp/large")
    assert "No space left on device" in await said(box, granted(workspace), "head -c 9000000 /dev/zero > /dev/shm/large")


async def test_a_file_has_a_bound(make: Any, workspace: Path) -> None:
    assert "File too large" in await said(make(), granted(workspace), "trap '' XFSZ; truncate -s 9G large")


# The life of containers


async def test_a_container_that_somebody_removed_is_made_anew(make: Any, docker: Daemon, workspace: Path) -> None:
    box = make()
    await said(box, granted(workspace), "echo x > /tmp/note")
    docker.discard("neuralclaw-runner-s")
    assert await said(box, granted(workspace), "cat /tmp/note 2>/dev/null; echo anew") == "anew"


async def test_an_idle_container_is_removed(make: Any, docker: Daemon, workspace: Path) -> None:
    box = make(idle_seconds=0.3)
    await said(box, granted(workspace), "true")
    assert docker.containers() == ["neuralclaw-runner-s"]
    await until(lambda: docker.containers() == [])
    assert await said(box, granted(workspace), "echo anew") == "anew"


async def test_closing_ends_the_containers(make: Any, docker: Daemon, workspace: Path) -> None:
    box = make()
    await said(box, granted(workspace), "true")
    box.close()
    await until(lambda: docker.containers() == [])
    with pytest.raises(ToolExecutionError, match="closed"):
        await said(box, granted(workspace), "true")


USES = """
import sys, anyio
from neuralclaw.sandbox.container.container_options import ContainerOptions
from neuralclaw.sandbox.container.sandbox import ContainerSandbox
from tests.sandbox.grants import command_grant
image, home, host, work, script = sys.argv[1:]
box = ContainerSandbox(ContainerOptions(image=image, data_home=home), env={"DOCKER_HOST": host}, home="")
done = anyio.run(lambda: box.exec(command_grant(work), ["bash", "-c", script], cwd=work, env={}, timeout=60, max_bytes=1000))
print(done.stdout.decode().strip(), flush=True)
sys.stdin.read()
box.close()
"""


def another_process(docker: Daemon, workspace: Path, home: Path, script: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", USES, IMAGE, str(home), docker.env["DOCKER_HOST"], str(workspace), script]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])


async def test_containers_of_a_killed_process_end_with_it_in_the_middle_of_a_command(docker: Daemon, workspace: Path, tmp_path: Path) -> None:
    mark = marker()
    with another_process(docker, workspace, tmp_path / "home", f"sleep {mark}") as other:
        await until(lambda: running(mark))
        other.send_signal(signal.SIGKILL)
    await until(lambda: running(mark) == [] and docker.containers() == [])


async def test_two_processes_of_one_home_and_session_have_a_container_each(make: Any, docker: Daemon, workspace: Path, tmp_path: Path) -> None:
    with another_process(docker, workspace, tmp_path / "home", "echo ready") as other:
        assert other.stdout
        assert await anyio.to_thread.run_sync(other.stdout.readline) == "ready\n"
        (first,) = docker.containers()
        box = make()
        assert await said(box, granted(workspace), "echo here") == "here"
        assert len(docker.containers()) == 2
        box.close()
        await until(lambda: docker.containers() == [first])
        other.communicate("")


async def test_an_orphan_is_found_by_its_labels_and_others_are_left(docker: Daemon, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    telling = "from neuralclaw.sandbox.container.container_options import this_process; print(this_process())"
    ended = subprocess.run([sys.executable, "-c", telling], capture_output=True, text=True, check=True)

    def left(name: str, told: dict[str, str]) -> None:
        body = {"Image": IMAGE, "Cmd": ["sleep", "1000"], "Labels": told, "HostConfig": {"NetworkMode": "none"}}
        docker.engine.call("POST", "/containers/create", body=body, name=name)

    process = {"neuralclaw.process": ended.stdout.strip()}
    left("orphan", {**labels(home, "s"), **process})
    left("in-use", labels(home, "s"))
    left("of-another-home", {**labels(str(tmp_path / "elsewhere"), "s"), **process})
    left("of-another-machine", {**labels(home, "s"), "neuralclaw.process": "1.2.3"})
    left("not-ours", {})
    assert remove_orphans(docker.engine, home) == ["orphan"]
    assert docker.containers() == ["in-use", "not-ours", "of-another-home", "of-another-machine"]


# Which sandbox is taken


CHOOSES = """
import sys
from neuralclaw.sandbox.choice import ChosenSandbox
from neuralclaw.sandbox.container.container_options import ContainerOptions
from neuralclaw.sandbox.container.sandbox import ContainerSandbox
preferred, image, host, path = sys.argv[1:]
make = lambda: ContainerSandbox(ContainerOptions(image=image), env={"DOCKER_HOST": host})
box = ChosenSandbox(preferred, path_env=path, container=make)
problem = box.problem()
print(box.name, "" if problem is None else problem.text, "" if problem is None else problem.fix, sep="|")
print(box.trials()[0].ok, box.trials()[0].text, sep="|")
"""


def chosen_by(user: int, preferred: str, image: str, host: str) -> list[list[str]]:
    """The name that is chosen, the problem and what mends it; then what `doctor` shows of containers."""
    command = [sys.executable, "-c", CHOOSES, preferred, image, host, PATH]
    done = run_as(user, command, env=os.environ)
    assert done.returncode == 0, done.stderr
    return [line.split("|") for line in done.stdout.splitlines()]


@pytest.mark.parametrize(("user", "name"), [(OWNER, "container"), (0, "bubblewrap")])
async def test_auto_takes_the_container_where_its_image_is_there_but_for_root(docker: Daemon, user: int, name: str) -> None:
    (chosen, *_), (works, text) = chosen_by(user, "auto", IMAGE, docker.env["DOCKER_HOST"])
    assert (chosen, works) == (name, "True")
    assert ("auto passes it over for root" in text) == (user == 0)
    await until(lambda: docker.containers() == [])  # the engine removes it in its own time


async def test_without_the_image_auto_takes_the_next_one_and_a_container_asked_for_by_name_says_what_mends_it(docker: Daemon) -> None:
    host = docker.env["DOCKER_HOST"]
    (chosen, *_), (works, text) = chosen_by(OWNER, "auto", "not-there:latest", host)
    assert (chosen, works, text) == ("bubblewrap", "False", "the image not-there:latest is not there")
    ((name, problem, fix), _) = chosen_by(OWNER, "container", "not-there:latest", host)
    assert (name, problem, fix) == ("container", "the image not-there:latest is not there", "neuralclaw sandbox build")


async def test_an_engine_that_cannot_be_used_says_so_with_what_mends_it(docker: Daemon, tmp_path: Path) -> None:
    closed = Path(docker.socket)
    closed.chmod(0o600)
    try:
        ((_, problem, fix), _) = chosen_by(OWNER, "container", IMAGE, docker.env["DOCKER_HOST"])
    finally:
        closed.chmod(0o666)
    assert (problem, fix) == (f"{closed} may not be used by this user", "sudo usermod -aG docker $USER, then log in again")
    ((_, problem, fix), _) = chosen_by(OWNER, "container", IMAGE, "unix:///run/no-engine.sock")
    assert (problem, fix) == ("no container engine listens at /run/no-engine.sock", "sudo systemctl start docker")
    ((_, problem, fix), _) = chosen_by(OWNER, "container", IMAGE, "tcp://127.0.0.1:2375")
    assert problem == "DOCKER_HOST is tcp://127.0.0.1:2375, and only an engine of this machine is used"


async def test_an_image_that_cannot_be_built_says_what_failed(docker: Daemon) -> None:
    """The engine of the tests has no network."""
    lines: list[str] = []
    with pytest.raises(ToolExecutionError, match="the image of-the-test was not built: ") as raised:
        await anyio.to_thread.run_sync(build, "of-the-test", docker.env, lines.append)
    assert "network" in raised.value.hint
    assert lines[0].lower().startswith("step 1/")


async def test_the_command_says_what_failed_too(docker: Daemon, tmp_path: Path) -> None:
    async with Agent.open(home=tmp_path / "home", workspace=tmp_path, environ=docker.env, thinks=False) as agent:
        with pytest.raises(ToolExecutionError, match="the image neuralclaw-runner:latest was not built: "):
            await agent.do("sandbox.build")


async def test_a_command_of_an_agent_runs_in_its_sessions_container_which_ends_with_the_agent(docker: Daemon, workspace: Path, tmp_path: Path) -> None:
    settings = {"tools.terminal.sandbox": "container", "tools.terminal.docker_image": IMAGE}
    environ = {**docker.env, "PATH": PATH}
    async with Agent.open(home=tmp_path / "home", workspace=workspace, environ=environ, settings=settings, trust="high") as agent:
        done = await agent.do("tools.call", name="terminal", arguments={"command": "id -u > made; cat made"}, approvals="auto")
        assert (done["ok"], done["metadata"]["sandbox"], done["metadata"]["stdout"].split()[-1]) == (True, "container", str(OWNER))
        (name,) = docker.containers()
        assert name.startswith("neuralclaw-runner-")
        assert (await agent.do("status"))["sandbox"] == "container"
    await until(lambda: docker.containers() == [])


async def test_the_image_is_built_from_its_file_where_its_base_is_there(docker: Daemon) -> None:
    """The base is named as Debian's; what it would install is there."""
    stand_in = "FROM neuralclaw-test:latest\nLABEL built=yes\n"
    built = await anyio.to_thread.run_sync(lambda: build("built-here:latest", docker.env, lambda line: None, dockerfile=stand_in.encode()))
    assert built.image == "built-here:latest"
    assert docker.engine.call("GET", "/images/built-here:latest/json")["Config"]["Labels"]["built"] == "yes"
    docker.engine.call("DELETE", "/images/built-here:latest")
