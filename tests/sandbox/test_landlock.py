"""What Landlock alone would not do: calls that are handed over, temporary files, hidden places inside granted ones, and its end."""

import ctypes
import errno
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import anyio
import pytest

from neuralclaw.sandbox.handed_over import _Call
from neuralclaw.sandbox.orders import Order, Restriction
from neuralclaw.sandbox.reaped import start_reaped
from neuralclaw.sandbox.resource_limits import LIMITS
from neuralclaw.sandbox.scratch import new_scratch, sweep_scratch
from neuralclaw.sandbox.spawn import on_spawner

from ..waiting import until
from .grants import command_grant
from .processes import PATH, marker, running, sandbox, sh

pytestmark = [pytest.mark.anyio, pytest.mark.full]

BOX = sandbox("landlock")
PYTHON = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else str(Path(sys.executable).resolve())


async def python(workspace: Path, script: str, **envelope: object) -> str:
    """What a script prints; it runs in the workspace."""
    (workspace / "script.py").write_text("import os, stat, errno, ctypes, threading, socket\n" + script)
    result = await sh(BOX, command_grant(workspace, **envelope), f"exec {PYTHON} -I script.py")
    return result.stdout.decode() + result.stderr.decode()


@contextmanager
def other_process() -> Iterator[tuple[int, Callable[[], str]]]:
    """A process of the same user, with no rights beyond that: its number, and the processors that it may use when it ends."""
    script = """
import os, sys
from neuralclaw import kernel
kernel.drop_capabilities(); print(os.getpid(), flush=True); sys.stdin.read(1); print(os.sched_getaffinity(0))
"""
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        yield int(other.stdout.readline()), lambda: other.communicate("x")[0].strip()


async def test_modes_owners_and_times_can_be_changed_in_the_workspace_by_every_way_to_name_a_file(tmp_path: Path) -> None:
    script = """
os.makedirs("d/e"); open("d/e/f", "w").close(); os.symlink("d/e/f", "link")
mode = lambda: stat.S_IMODE(os.stat("d/e/f").st_mode)
seen = []
os.chmod("d/e/f", 0o601); seen.append(mode())
os.chmod(os.path.abspath("d/e/f"), 0o602); seen.append(mode())
os.chdir("d"); os.chmod("e/f", 0o603); seen.append(stat.S_IMODE(os.stat("e/f").st_mode)); os.chdir("..")
directory = os.open("d/e", os.O_RDONLY); os.chmod("f", 0o604, dir_fd=directory); seen.append(mode())
file = os.open("d/e/f", os.O_RDONLY); os.fchmod(file, 0o605); seen.append(mode())
os.chmod("link", 0o606); seen.append(mode())
os.chmod(f"/proc/self/fd/{file}", 0o607); seen.append(mode())
os.chmod(f"/dev/fd/{file}", 0o610); seen.append(mode())
worker = threading.Thread(target=os.chmod, args=("d/e/f", 0o611)); worker.start(); worker.join(); seen.append(mode())
print([oct(one) for one in seen])
os.utime("d/e/f", (1, 2)); os.utime("link", (3, 4), follow_symlinks=False); os.utime(file, ns=(5, 6_000_000_007))
print(os.stat("d/e/f").st_mtime_ns, os.lstat("link").st_mtime)
os.chown("d/e/f", os.getuid(), os.getgid()); os.chown("link", -1, os.getgid(), follow_symlinks=False); os.fchown(file, -1, -1)
os.unlink("d/e/f"); os.fchmod(file, 0o640); print(oct(os.fstat(file).st_mode))
"""
    modes = [f"0o{mode}" for mode in (601, 602, 603, 604, 605, 606, 607, 610, 611)]
    assert await python(tmp_path, script) == f"{modes}\n6000000007 4.0\n0o100640\n"


async def test_a_time_that_is_to_be_left_out_stays_as_it_is(tmp_path: Path) -> None:
    script = """
open("f", "w").close(); os.utime("f", (1, 2))
class Times(ctypes.Structure): _fields_ = [("seconds", ctypes.c_long), ("part", ctypes.c_long)]
both = (Times * 2)(Times(0, (1 << 30) - 2), Times(7, 0))  # UTIME_OMIT
print(ctypes.CDLL(None).utimensat(-100, b"f", both, 0), os.stat("f").st_atime, os.stat("f").st_mtime)
"""
    assert await python(tmp_path, script) == "0 1.0 7.0\n"


async def test_a_call_with_broken_arguments_fails_as_the_kernel_has_it(tmp_path: Path) -> None:
    script = """
libc = ctypes.CDLL(None, use_errno=True)
def said(result): return errno.errorcode[ctypes.get_errno()] if result < 0 else "done"
print(said(libc.chmod(ctypes.c_void_p(1), 0o600)), said(libc.chmod(b"", 0o600)), said(libc.chmod(b"not-there", 0o600)), said(libc.fchmod(99, 0o600)),
      said(libc.chmod(b"x" * 5000, 0o600)), said(libc.utimensat(-100, b"script.py", ctypes.c_void_p(1), 0)), said(libc.connect(1, b"\\1\\0x\\0", 4)))
"""
    assert await python(tmp_path, script) == "EFAULT ENOENT ENOENT EBADF ENAMETOOLONG EFAULT ENOENT\n"


async def test_a_unix_socket_in_the_workspace_can_be_used_from_any_thread(tmp_path: Path) -> None:
    script = """
server = socket.socket(socket.AF_UNIX); server.bind("mine"); server.listen()
def call():
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("mine"); client.sendall(b"hello")
worker = threading.Thread(target=call); worker.start(); print(server.accept()[0].recv(5)); worker.join()
"""
    assert await python(tmp_path, script) == "b'hello'\n"


async def test_a_process_that_hides_its_memory_can_be_reached_by_its_own_clients(tmp_path: Path) -> None:
    script = """
import ctypes
print(ctypes.CDLL(None).prctl(4, 0, 0, 0, 0))
server = socket.socket(socket.AF_UNIX); server.bind("keys"); server.listen(); os.chmod("keys", 0o600)
client = socket.socket(socket.AF_UNIX); client.connect("keys"); print(oct(os.stat("keys").st_mode & 0o777))
"""
    assert await python(tmp_path, script) == "0\n0o600\n"


async def test_a_thread_may_be_held_to_a_processor_by_its_own_process_alone(tmp_path: Path) -> None:
    with other_process() as (pid, processors):
        script = f"""
def pinned(thread):
    try: os.sched_setaffinity(thread, {{0}}); return "pinned"
    except OSError as error: return errno.errorcode[error.errno]
seen = []
worker = threading.Thread(target=lambda: seen.append(pinned(threading.get_native_id()))); worker.start(); worker.join()
print(seen, pinned(0), pinned(os.getpid()), os.sched_getaffinity(0), pinned({pid}), pinned(99999999))
"""
        assert await python(tmp_path, script) == "['pinned'] pinned pinned {0} EPERM ESRCH\n"
        assert processors() == str(os.sched_getaffinity(0))


async def test_a_full_queue_of_a_socket_holds_up_nobody(tmp_path: Path) -> None:
    script = """
server = socket.socket(socket.AF_UNIX); server.bind("mine"); server.listen(0)
clients = [socket.socket(socket.AF_UNIX) for _ in range(3)]
try:
    for client in clients: client.connect("mine")
except BlockingIOError:
    print("full", clients[-1].getblocking(), os.get_blocking(clients[-1].fileno()))
"""
    assert await python(tmp_path, script) == "full True True\n"


@pytest.mark.parametrize("network", [False, True])
async def test_the_sockets_of_the_machine_are_never_reached(tmp_path: Path, network: bool) -> None:
    beside = tmp_path / "beside"
    workspace = tmp_path / "workspace"
    beside.mkdir()
    workspace.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(beside / "s"))
        unix.listen()
        script = f"""
for family, address in ((socket.AF_INET, ("127.0.0.1", {server.getsockname()[1]})), (socket.AF_UNIX, "{beside}/s")):
    try:
        with socket.socket(family) as client: client.connect(address); print("reached")
    except OSError as error: print(errno.errorcode[error.errno])
"""
        said = (await python(workspace, script, network=network)).split()
    assert said == ["ENETUNREACH", "EPERM"]


async def test_what_was_granted_network_listens_at_sockets_of_its_own_alone(tmp_path: Path) -> None:
    script = """
import threading
own = socket.socket(socket.AF_UNIX); own.bind("mine"); own.listen()
with socket.socket(socket.AF_UNIX) as client: client.connect("mine"); print("own")
for family in (socket.AF_INET, socket.AF_INET6):
    try:
        with socket.socket(family) as one: one.listen(); print("open to all")
    except OSError as error: print(errno.errorcode[error.errno])
"""
    assert (await python(tmp_path, script, network=True)).split() == ["own", "EACCES", "ENETUNREACH"]


async def test_a_socket_is_connected_and_listens_as_what_it_is_alone(tmp_path: Path) -> None:
    """Whatever address comes with it: a connection to the proxy that ends leaves a socket at which all the network could connect."""
    script = """
libc = ctypes.CDLL(None, use_errno=True)
def said(result): return errno.errorcode[ctypes.get_errno()] if result < 0 else "done"
own = socket.socket(socket.AF_UNIX); own.bind("mine"); own.listen()
unix = b"\\1\\0mine\\0"
proxy = b"\\2\\0" + int(os.environ["http_proxy"].rpartition(":")[2]).to_bytes(2, "big") + bytes((127, 0, 0, 1)) + bytes(8)
tcp, other = socket.socket(socket.AF_INET), socket.socket(socket.AF_UNIX)
print(said(libc.connect(tcp.fileno(), unix, len(unix))), said(libc.connect(other.fileno(), proxy, len(proxy))))
print(said(libc.connect(tcp.fileno(), proxy, len(proxy))), said(libc.listen(tcp.fileno(), 1)))
"""
    assert await python(tmp_path, script, network=True) == "EACCES EAFNOSUPPORT\ndone EACCES\n"


async def test_nothing_is_made_that_runs_as_its_owner_and_nothing_listens_at_an_abstract_name(tmp_path: Path) -> None:
    script = """
open("f", "w").close()
try: os.chmod("f", 0o4755)
except OSError as error: print(errno.errorcode[error.errno], oct(os.stat("f").st_mode & 0o7000))
with socket.socket(socket.AF_UNIX) as one:
    one.bind("\\0own")
    try: one.listen(); print("listens")
    except OSError as error: print(errno.errorcode[error.errno])
"""
    assert await python(tmp_path, script) == "EPERM 0o0\nEACCES\n"


@pytest.mark.parametrize("waits", [True, False])
def test_a_call_of_a_program_that_ended_meanwhile_changes_nothing(tmp_path: Path, waits: bool) -> None:
    """Its number may be another program's by then, and so may be what was opened by it."""
    by_name, by_descriptor = tmp_path / "name", tmp_path / "descriptor"
    for path in (by_name, by_descriptor):
        path.write_text("")
        path.chmod(0o640)
    name = ctypes.create_string_buffer(os.fsencode(by_name))

    def check() -> None:
        if not waits:
            raise ProcessLookupError(errno.ESRCH, "it no longer waits")

    with by_descriptor.open() as file, socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(str(tmp_path / "socket"))
        for number, act in (
            (ctypes.addressof(name), lambda call: call.path(0).mode(0o600)),
            (file.fileno(), lambda call: call.file(0).mode(0o600)),
            (server.fileno(), _Call.listen),
        ):
            call = _Call(os.getpid(), [number, 1], ((str(tmp_path.resolve()),), (), 0), check)
            with nullcontext() if waits else pytest.raises(ProcessLookupError):
                act(call)
            call.close()
        assert [stat.S_IMODE(path.stat().st_mode) for path in (by_name, by_descriptor)] == [0o600 if waits else 0o640] * 2
        assert client.connect_ex(str(tmp_path / "socket")) == (0 if waits else errno.ECONNREFUSED)


async def test_temporary_files_are_the_commands_own_and_gone_with_it(tmp_path: Path) -> None:
    script = "mkdir -p $TMPDIR/a/b && echo x > $TMPDIR/a/b/c && chmod 0 $TMPDIR/a/b && ln -s / $TMPDIR/link && mktemp && echo $TMPDIR"
    *_, made, place = (await sh(BOX, command_grant(tmp_path), script)).stdout.decode().split()
    assert made.startswith(place)
    await until(lambda: not Path(place).exists())
    assert Path("/etc/passwd").exists()


async def test_a_killed_agent_leaves_no_temporary_files(tmp_path: Path) -> None:
    mark = marker()
    agent = f"""
import anyio
from tests.sandbox.grants import command_grant
from tests.sandbox.processes import sandbox, sh
anyio.run(lambda: sh(sandbox("landlock"), command_grant("{tmp_path}"), "echo x > $TMPDIR/x; echo $TMPDIR > place; sleep {mark}", timeout=None))
"""
    with subprocess.Popen([sys.executable, "-c", agent], cwd=Path(__file__).parents[2]) as process:
        await until(lambda: running(mark))
        process.kill()
    await until(lambda: running(mark) == [])
    place = Path((tmp_path / "place").read_text().strip())
    await until(lambda: not place.exists())


async def test_what_a_killed_reaper_left_is_taken_away_later() -> None:
    done = subprocess.run(["true"], check=True)
    assert done.returncode == 0
    mine = Path(new_scratch())
    with subprocess.Popen(["sleep", "1000"]) as other:
        theirs = mine.with_name(mine.name.replace(str(os.getpid()), str(other.pid)))
        for place in (mine, theirs):
            (place / "x").mkdir(parents=True)
        sweep_scratch()
        assert theirs.exists()
        other.kill()
    sweep_scratch()
    assert not theirs.exists()
    assert mine.exists()
    (mine / "x").rmdir()
    mine.rmdir()


async def test_a_hidden_place_stays_closed_inside_a_granted_one(tmp_path: Path) -> None:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "deep" / "journal").write_text("secret")
    (tmp_path / "data" / "open").write_text("seen")
    (tmp_path / "mine").mkdir()
    box = sandbox("landlock", hidden=(str(tmp_path / "data" / "deep"),))
    result = await sh(box, command_grant(tmp_path), "cat data/deep/journal; cat data/open; echo x > data/deep/new; echo x > mine/new && ls mine; ls data")
    assert result.stdout == b"seennew\ndeep\nopen\n"
    assert sorted(path.name for path in (tmp_path / "data" / "deep").iterdir()) == ["journal"]


async def test_a_workspace_inside_a_hidden_place_is_open_and_its_neighbours_are_not(tmp_path: Path) -> None:
    workspace = tmp_path / "home" / "workspaces" / "a"
    workspace.mkdir(parents=True)
    (tmp_path / "home" / "journal").write_text("secret")
    (tmp_path / "home" / "workspaces" / "b").mkdir()
    box = sandbox("landlock", hidden=(str(tmp_path / "home"),))
    result = await sh(box, command_grant(workspace), "echo x > new; cat ../../journal; ls ../b; echo x > ../b/new; ls")
    assert result.stdout == b"new\n"
    assert list((tmp_path / "home" / "workspaces" / "b").iterdir()) == []


async def test_a_root_that_became_a_link_is_not_opened(tmp_path: Path) -> None:
    workspace, secret = tmp_path / "workspace", tmp_path / "secret"
    workspace.mkdir()
    secret.mkdir()
    (tmp_path / "place").symlink_to(secret)
    await sh(BOX, command_grant(workspace, write=(str(workspace), str(tmp_path / "place"))), f"touch {tmp_path}/place/new {secret}/new")
    assert list(secret.iterdir()) == []


async def test_a_command_has_no_rights_of_an_administrator_and_gains_none(tmp_path: Path) -> None:
    result = await sh(BOX, command_grant(tmp_path), "grep -E 'Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|^Seccomp:' /proc/self/status")
    values = dict(line.split(":\t") for line in result.stdout.decode().splitlines())
    assert values == {**dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapAmb"), "0" * 16), "NoNewPrivs": "1", "Seccomp": "2"}


async def test_a_killed_reaper_takes_its_program_along_and_the_next_command_runs(tmp_path: Path) -> None:
    mark = marker()
    results = []
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            results.append(await sh(BOX, command_grant(tmp_path), f"exec sleep {mark}"))

        tasks.start_soon(run)
        (program,) = await until(lambda: [pid for pid in running(mark) if Path(f"/proc/{pid}/exe").resolve().name == "sleep"])  # type: ignore[misc]
        reaper = next(int(line.split()[1]) for line in Path(f"/proc/{program}/status").read_text().splitlines() if line.startswith("PPid"))
        os.kill(reaper, signal.SIGKILL)
    assert results[0].exit_code == 137
    await until(lambda: running(mark) == [])
    assert (await sh(BOX, command_grant(tmp_path), "echo on")).stdout == b"on\n"


def _serves(pid: int) -> bool:
    """Whether it is the server that forks reapers: this very process started it."""
    return f"PPid:\t{os.getpid()}" in Path(f"/proc/{pid}/status").read_text()


async def test_a_killed_server_of_reapers_is_started_anew(tmp_path: Path) -> None:
    await sh(BOX, command_grant(tmp_path), "true")
    found = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and _is_server(path)]
    assert found
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    for _ in range(3):
        assert (await sh(BOX, command_grant(tmp_path), "echo on")).stdout == b"on\n"


def _is_server(path: Path) -> bool:
    try:
        return b"fork_server" in (path / "cmdline").read_bytes() and _serves(int(path.name))
    except OSError:
        return False


async def test_temporary_files_are_removed_however_deep_they_are(tmp_path: Path) -> None:
    script = """
os.chdir(os.environ["TMPDIR"]); print(os.getcwd()); open("file", "w").close(); os.symlink("/etc", "link")
os.mkdir("closed"); os.mkdir("closed/inside"); os.chmod("closed", 0)
for number in range(1200): os.mkdir("x" * 20); os.chdir("x" * 20)
"""
    scratch = Path((await python(tmp_path, script)).strip())
    await until(lambda: not scratch.exists())
    assert Path("/etc/passwd").exists()


async def test_what_appears_beside_a_hidden_place_is_seen_by_the_next_command(tmp_path: Path) -> None:
    home = tmp_path.resolve()
    (home / ".keys").mkdir()
    (home / "first").write_text("1")
    box = sandbox("landlock", home=str(home), hidden=(str(home / ".keys"),))

    async def seen() -> str:
        command = ["bash", "-c", "cat first second 2>/dev/null; cat .keys/id 2>/dev/null"]
        return (await box.exec(command_grant(home), command, cwd=str(home), env={"PATH": PATH}, timeout=10, max_bytes=100)).stdout.decode()

    assert await seen() == await seen() == "1"
    (home / "second").write_text("2")
    (home / ".keys" / "id").write_text("key")
    assert await seen() == "12"
    (home / "first").unlink()
    (home / "first").symlink_to(home / ".keys" / "id")
    assert await seen() == "2"


def test_a_restriction_that_cannot_be_put_together_is_told_and_nothing_runs(tmp_path: Path) -> None:
    taken = Restriction(((), (), (), ()), str(tmp_path), b"", proxy=0, hands_over=False)  # its scratch directory is there already
    order = Order(b"/", b"/bin/touch", [b"touch", os.fsencode(tmp_path / "ran")], {}, taken)
    live = on_spawner(lambda: start_reaped(order, LIMITS))
    assert live.ended(5.0)
    live.close()
    assert live.failure == errno.EEXIST
    assert list(tmp_path.iterdir()) == []


async def test_a_program_that_cannot_be_started_says_why_and_its_directory_is_gone(tmp_path: Path) -> None:
    before = set(Path("/tmp").glob(f"neuralclaw-{os.getuid()}-{os.getpid()}-*"))
    result = await BOX.exec(command_grant(tmp_path), ["env", "nothing-of-that-name"], cwd=str(tmp_path), env={"PATH": PATH}, timeout=5, max_bytes=1000)
    assert result.exit_code == 127
    await until(lambda: set(Path("/tmp").glob(f"neuralclaw-{os.getuid()}-{os.getpid()}-*")) <= before)


async def test_numbers_that_no_call_takes_are_errors_of_that_call_and_nothing_outlives_the_command(tmp_path: Path) -> None:
    mark = marker()
    script = f"""
import subprocess, sys
subprocess.Popen(["sleep", "{mark}"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
libc = ctypes.CDLL(None, use_errno=True)
open("f", "w").close()
def said(result): return errno.errorcode[ctypes.get_errno()] if result < 0 else "done"
number = ctypes.c_uint
for user in (0xFFFFFFFE, 0x80000000): print(said(libc.chown(b"f", number(user), number(0xFFFFFFFF))), end=" ")
print(said(libc.chown(b"f", number(0xFFFFFFFF), number(0xFFFFFFFF))), said(libc.fchmod(number(0xFFFFFFFE), number(0xFFFFFFFF))))
class Part(ctypes.Structure): _fields_ = [("seconds", ctypes.c_long), ("part", ctypes.c_long)]
huge = (Part * 2)(Part(0, 2**62), Part(-2**63, -1))
print(said(libc.utimes(b"f", huge)), said(libc.utimensat(-100, b"f", huge, 0)))
print(said(libc.syscall(203 if os.uname().machine == "x86_64" else 122, 1, ctypes.c_ulong(2**64 - 1), ctypes.c_ulong(2**64 - 8))) != "done")
"""
    said = (await python(tmp_path, script)).replace("EPERM EPERM", "EINVAL EINVAL", 1)  # in a user namespace there is no such user
    assert said == "EINVAL EINVAL done EBADF\nEINVAL EINVAL\nTrue\n"
    await until(lambda: not running(mark))


async def test_a_reaper_that_is_killed_leaves_nothing_of_its_command_behind(tmp_path: Path) -> None:
    mark = marker()
    (tmp_path / "script.py").write_text(
        "import os, subprocess\n"
        f"subprocess.Popen(['setsid', 'sh', '-c', 'sleep {mark} & sleep {mark}'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "open('reaper', 'w').write(str(os.getppid())); os.rename('reaper', 'told'); os.read(os.pipe()[0], 1)\n"
    )
    codes: list[int] = []

    async def run() -> None:
        codes.append((await sh(BOX, command_grant(tmp_path), f"exec {PYTHON} -I script.py")).exit_code)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await until(lambda: (tmp_path / "told").exists() and len(running(mark)) == 2)
        os.kill(int((tmp_path / "told").read_text()), signal.SIGKILL)
    assert codes == [137]
    assert running(mark) == []


async def test_the_unnamed_files_of_another_process_keep_their_modes_and_times(tmp_path: Path) -> None:
    victim = """
import os, sys
from neuralclaw import kernel
kernel.drop_capabilities()
file = os.memfd_create("victim"); os.fchmod(file, 0o600); print(os.getpid(), file, flush=True)
sys.stdin.read(1); print(oct(os.fstat(file).st_mode & 0o777))
"""
    with subprocess.Popen([sys.executable, "-c", victim], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        pid, file = other.stdout.readline().split()
        script = f"""
for place in ("/proc/self/fd/../../{pid}/fd/{file}", "/dev/fd/../../{pid}/fd/{file}", "/proc/thread-self/fd/../../{pid}/fd/{file}", "/proc/{pid}/fd/{file}"):
    try: os.chmod(place, 0o777)
    except OSError as error: print(errno.errorcode[error.errno], end=" ")
"""
        assert (await python(tmp_path, script)).replace("EACCES", "EPERM") == "EPERM EPERM EPERM EPERM "
        other.stdin.write("x")
        other.stdin.close()
        assert other.stdout.read() == "0o600\n"
