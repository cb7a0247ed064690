"""What bubblewrap holds back: network, files, sockets, other processes."""

import os
import socket
import sys
from pathlib import Path

import anyio
import pytest

from neuralclaw.errors import ToolExecutionError
from neuralclaw.sandbox.bubblewrap import Bubblewrap

from ..waiting import until
from .grants import command_grant
from .processes import PATH, running, sandbox, sh

pytestmark = [pytest.mark.anyio, pytest.mark.full]

BOX = sandbox("bubblewrap")
CONNECT = 'python3 -c \'import socket; socket.create_connection(("127.0.0.1", {}), 2).sendall(b"hello")\''


@pytest.mark.parametrize("network", [False, True])
async def test_a_command_never_has_the_network_of_the_machine(tmp_path: Path, network: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        result = await sh(BOX, command_grant(tmp_path, network=network), CONNECT.format(server.getsockname()[1]))
    assert result.exit_code == 1


@pytest.mark.parametrize("network", [False, True])
async def test_only_the_loopback_interface_is_there(tmp_path: Path, network: bool) -> None:
    lines = (await sh(BOX, command_grant(tmp_path, network=network), "cat /proc/net/dev")).stdout.decode().splitlines()[2:]
    assert [line.split(":")[0].strip() for line in lines] == ["lo"]


async def test_nothing_outside_the_write_roots_can_be_changed(tmp_path: Path) -> None:
    workspace, beside = tmp_path / "workspace", tmp_path / "beside"
    workspace.mkdir()
    beside.mkdir()
    tried = ["/", "/etc", "/usr", "/var", str(Path.home()), "/dev", "/run", "/sys", str(beside)]
    script = "; ".join(f"(echo x > {place}/nc-escape) 2>/dev/null && echo wrote {place}" for place in tried)
    result = await sh(BOX, command_grant(workspace), script + "; echo x > mine && echo wrote mine")
    assert result.stdout == b"wrote mine\n"
    assert list(beside.iterdir()) == []


# Opened for writing and nothing written: should a sandbox ever let it pass, this machine must not pay for it.
SETTINGS = "/proc/sys/kernel/core_pattern /proc/sys/vm/swappiness /proc/sysrq-trigger /sys/fs/cgroup/*/tasks"
OPENED = f"for f in {SETTINGS}; do (: >> $f) 2>/dev/null && echo opened $f; done"


async def test_the_kernels_settings_cannot_be_written(tmp_path: Path) -> None:
    assert (await sh(BOX, command_grant(tmp_path), OPENED + "; echo end")).stdout == b"end\n"


async def test_a_namespace_made_inside_gives_no_way_to_the_kernels_settings(tmp_path: Path) -> None:
    (tmp_path / "try").write_text(OPENED)
    result = await sh(
        BOX,
        command_grant(tmp_path),
        "unshare -Urm sh try; unshare -Urmpf --mount-proc sh try; unshare -Urm sh -c 'mount -o remount,rw /proc && sh try'; echo end",
    )
    assert result.stdout == b"end\n"


async def test_without_a_write_root_the_workspace_is_there_to_read(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("text")
    result = await sh(BOX, command_grant(tmp_path, write=()), "cat note; touch new || echo read-only")
    assert result.stdout == b"textread-only\n"


async def test_a_write_root_elsewhere_is_writable_too(tmp_path: Path) -> None:
    workspace, other = tmp_path / "workspace", tmp_path / "other"
    workspace.mkdir()
    other.mkdir()
    result = await sh(BOX, command_grant(workspace, write=(str(other),)), f"echo x > {other}/new; touch mine || echo no")
    assert result.stdout == b"no\n"
    assert (other / "new").read_text() == "x\n"


async def test_hidden_places_show_nothing_and_take_nothing(tmp_path: Path) -> None:
    keys, netrc, workspace = tmp_path / "keys", tmp_path / "netrc", tmp_path / "workspace"
    for directory in (keys, workspace):
        directory.mkdir()
    (keys / "id").write_text("secret")
    netrc.write_text("secret")
    box = sandbox("bubblewrap", hidden=(str(keys), str(netrc), str(tmp_path / "not-there")))
    result = await sh(box, command_grant(workspace, read=(str(tmp_path),)), f"ls {keys}; cat {keys}/id {netrc}; echo x > {keys}/new; echo end")
    assert result.stdout == b"end\n"
    assert [path.name for path in keys.iterdir()] == ["id"]


async def test_a_hidden_place_stays_hidden_inside_a_writable_one(tmp_path: Path) -> None:
    (tmp_path / "home" / "keys").mkdir(parents=True)
    (tmp_path / "home" / "keys" / "id").write_text("secret")
    box = sandbox("bubblewrap", hidden=(str(tmp_path / "home" / "keys"),))
    assert (await sh(box, command_grant(tmp_path), "ls -A home/keys; echo end")).stdout == b"end\n"


async def test_a_workspace_inside_a_hidden_place_is_there_and_its_neighbours_are_not(tmp_path: Path) -> None:
    workspace = tmp_path / "home" / "workspaces" / "a"
    workspace.mkdir(parents=True)
    (tmp_path / "home" / "journal").write_text("secret")
    (tmp_path / "home" / "workspaces" / "b").mkdir()
    box = sandbox("bubblewrap", hidden=(str(tmp_path / "home"),))
    result = await sh(box, command_grant(workspace), "echo x > new; ls -A ../.. ..")
    assert result.stdout == b"..:\na\n\n../..:\nworkspaces\n"
    assert (workspace / "new").exists()


async def test_a_root_that_became_a_link_is_not_mounted(tmp_path: Path) -> None:
    workspace, secret = tmp_path / "workspace", tmp_path / "secret"
    workspace.mkdir()
    secret.mkdir()
    (tmp_path / "turned").symlink_to(secret)
    result = await sh(BOX, command_grant(workspace, write=(str(workspace), str(tmp_path / "turned"))), f"touch {tmp_path}/turned/new {secret}/new; echo end")
    assert result.stdout == b"end\n"
    assert list(secret.iterdir()) == []


async def test_a_link_out_of_the_workspace_leads_to_nothing_writable(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    workspace.mkdir()
    outside.mkdir()
    (workspace / "out").symlink_to(outside)
    await sh(BOX, command_grant(workspace), "touch out/new")
    assert list(outside.iterdir()) == []


async def test_sockets_of_the_machine_are_out_of_reach(tmp_path: Path) -> None:
    place = Path("/run") if os.access("/run", os.W_OK) else tmp_path.parent
    path = place / f"neuralclaw-test-{os.getpid()}.socket"
    connect = f'python3 -c \'import socket; socket.socket(socket.AF_UNIX).connect("{path}"); print("reached")\''
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        try:
            server.listen()
            result = await sh(BOX, command_grant(tmp_path), connect)
        finally:
            path.unlink()
    assert b"reached" not in result.stdout
    assert result.exit_code == 1


async def test_a_socket_in_a_place_that_is_only_read_is_out_of_reach_and_one_in_the_workspace_is_not(tmp_path: Path) -> None:
    workspace, beside = tmp_path / "workspace", tmp_path / "beside"
    workspace.mkdir()
    beside.mkdir()
    with socket.socket(socket.AF_UNIX) as theirs, socket.socket(socket.AF_UNIX) as mine:
        for server, path in ((theirs, beside / "a b"), (mine, workspace / "s")):
            server.bind(str(path))
            server.listen()
        script = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('reached')"
        (workspace / "reach.py").write_text(script)
        results = [await sh(BOX, command_grant(workspace, read=(str(beside),)), f"python3 reach.py '{path}'") for path in (beside / "a b", workspace / "s")]
    assert [result.stdout for result in results] == [b"", b"reached\n"]


BINDS = """
import os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind("made")
server.listen()
if sys.argv[1] == "moved":
    os.rename("made", "s")
if sys.argv[1] == "gone":
    os.chdir("/")
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["stays", "moved", "gone"])
async def test_a_socket_that_was_bound_by_a_relative_path_is_out_of_reach_too(tmp_path: Path, how: str) -> None:
    workspace, beside = tmp_path / "workspace", tmp_path / "beside" / "deep"
    workspace.mkdir()
    beside.mkdir(parents=True)
    (workspace / "reach.py").write_text("import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('reached')")
    async with await anyio.open_process([sys.executable, "-c", BINDS, how], cwd=beside) as server:
        assert server.stdout is not None
        assert (await server.stdout.receive()).strip() == b"ready"
        path = beside / ("s" if how == "moved" else "made")
        results = [await sh(BOX, command_grant(workspace, read=(str(beside.parent),)), f"python3 reach.py {path}") for _ in range(2)]
        with socket.socket(socket.AF_UNIX) as mine:
            mine.connect(str(path))  # it is there, and it listens
        server.kill()
    assert [result.stdout for result in results] == [b"", b""]


async def test_other_processes_can_be_neither_seen_nor_signalled(tmp_path: Path) -> None:
    async with await anyio.open_process(["sleep", "1000"]) as victim:
        script = f"kill -9 {victim.pid} 2>/dev/null || echo safe; ls -d /proc/[0-9]* | wc -l"
        result = await sh(BOX, command_grant(tmp_path), script)
        assert victim.returncode is None
        victim.kill()
    lines = result.stdout.decode().split()
    assert lines[0] == "safe"
    assert int(lines[1]) < 10


async def test_a_command_has_no_capabilities(tmp_path: Path) -> None:
    result = await sh(BOX, command_grant(tmp_path), "grep CapEff /proc/self/status; mount -o remount,rw / || echo kept")
    assert result.stdout == b"CapEff:\t0000000000000000\nkept\n"


async def test_temporary_files_are_the_commands_own_and_bounded(tmp_path: Path) -> None:
    result = await sh(BOX, command_grant(tmp_path), "echo x > /tmp/mine; ls -A /tmp | grep -x mine; df --output=size -B1M /tmp /dev/shm | tail -n +2")
    assert result.stdout.split() == [b"mine", b"1024", b"256"]
    assert not Path("/tmp/mine").exists()


async def test_the_environment_does_not_show_in_the_process_list(tmp_path: Path) -> None:
    env = {"PATH": PATH, "TOKEN": "hidden-value"}
    script = ["sh", "-c", "touch begun; sleep 1000"]
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            await BOX.exec(command_grant(tmp_path), script, cwd=str(tmp_path), env=env, timeout=None, max_bytes=1000)

        tasks.start_soon(run)
        await until((tmp_path / "begun").exists)
        assert running("hidden-value") == []
        assert running("TOKEN") == []
        assert running("touch begun; sleep 1000") != []
        tasks.cancel_scope.cancel()


async def test_a_sandbox_that_cannot_start_gives_its_reason(tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
    fake.chmod(0o755)
    with pytest.raises(ToolExecutionError, match="No permissions to create new namespace"):
        await sh(Bubblewrap(str(fake)), command_grant(tmp_path), "true")
