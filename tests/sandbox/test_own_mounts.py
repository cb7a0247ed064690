"""What a command under Landlock has mounts of its own for, and what is done where the kernel gives it none."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from neuralclaw.sandbox.landlock import mounts_work
from neuralclaw.sandbox.spawn import on_spawner

from .grants import command_grant
from .processes import BWRAP, sandbox, sh
from .test_landlock import PYTHON

pytestmark = pytest.mark.anyio


def without_namespaces(folder: Path, command: str) -> dict[str, str]:
    argv = [
        BWRAP,
        "--unshare-user",
        "--disable-userns",
        "--cap-drop",
        "ALL",
        "--dev-bind",
        "/",
        "/",
        sys.executable,
        "-m",
        "tests.sandbox.closed_world",
        str(folder),
        command,
    ]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_this_machine_gives_mounts() -> None:
    assert on_spawner(mounts_work)


async def test_shared_memory_of_others_is_not_there_and_its_own_ends_with_the_command(tmp_path: Path) -> None:
    others = Path("/dev/shm") / f"neuralclaw-test-{os.getpid()}"
    others.write_text("secret")
    try:
        result = await sh(sandbox("landlock"), command_grant(tmp_path), f"ls -A /dev/shm; cat {others}; echo x > /dev/shm/{others.name}-made; ls /dev/shm")
        assert result.stdout.decode() == f"{others.name}-made\n"
        assert sorted(path.name for path in Path("/dev/shm").glob(f"{others.name}*")) == [others.name]
    finally:
        others.unlink()


async def test_locks_and_shared_memory_of_python_work_and_have_a_limit(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("""
import multiprocessing
from multiprocessing import shared_memory
def add(lock, name):
    with lock:
        memory = shared_memory.SharedMemory(name); memory.buf[0] += 1; memory.close()
if __name__ == "__main__":
    memory, lock = shared_memory.SharedMemory(create=True, size=1), multiprocessing.Lock()
    children = [multiprocessing.Process(target=add, args=(lock, memory.name)) for _ in range(4)]
    for child in children: child.start()
    for child in children: child.join()
    print(memory.buf[0]); memory.close(); memory.unlink()
    try:
        with open("/dev/shm/large", "wb") as file: file.write(bytes(300_000_000))
    except OSError as error: print(error.strerror)
""")
    result = await sh(sandbox("landlock"), command_grant(tmp_path), f"{PYTHON} script.py")
    assert result.stdout == b"4\nNo space left on device\n", result


async def test_what_is_hidden_in_a_place_to_write_is_empty_and_things_can_be_made_beside_it(tmp_path: Path) -> None:
    home = tmp_path.resolve()
    for name in (".keys", "deep/.keys"):
        (home / name / "deeper").mkdir(parents=True)
        (home / name / "id").write_text("key")
    (home / ".token").write_text("token")
    hidden = tuple(str(home / name) for name in (".keys", "deep/.keys", ".token", ".none", ".keys/deeper"))
    script = """
    mkdir new; mv new newer; ls -A .keys; ls -A deep/.keys; cat .token .keys/id; touch .keys/x deep/.keys/x; echo x > .token
    chmod 777 .keys .token; mv .keys away; rm -rf .keys .token; mv deep other; mkdir deep/made
    """
    await sh(sandbox("landlock", hidden=hidden), command_grant(home), script)
    result = await sh(sandbox("landlock", hidden=hidden), command_grant(home), script)
    assert result.stdout == b""
    assert sorted(path.name for path in home.iterdir()) == [".keys", ".token", "deep", "newer"]
    assert [(home / name / "id").read_text() for name in (".keys", "deep/.keys")] == ["key", "key"]
    assert (home / ".token").read_text() == "token"
    assert (home / ".keys").stat().st_mode & 0o777 == 0o755
    assert sorted(path.name for path in (home / ".keys").iterdir()) == ["deeper", "id"]
    assert (home / "deep" / "made").is_dir()


async def test_a_workspace_in_a_hidden_place_is_there(tmp_path: Path) -> None:
    data, work = tmp_path.resolve() / "data", tmp_path.resolve() / "data" / "work"
    work.mkdir(parents=True)
    (data / "keys").write_text("key")
    grant = command_grant(work, write=(str(tmp_path.resolve()), str(work)))
    result = await sh(sandbox("landlock", hidden=(str(data),)), grant, f"echo x > made; cat {data}/keys")
    assert b"key" not in result.stdout
    assert (work / "made").read_text() == "x\n"


def test_without_namespaces_it_works_and_says_why_nothing_can_be_made_beside_the_agents_program(tmp_path: Path) -> None:
    found = without_namespaces(tmp_path, "echo x > sub/new; cat sub/new; echo evil > .venv/bin/x; cat keys/id; echo x > new")
    assert found["said"] == "x\n"
    assert found["problem"] == ""
    assert "`/dev/shm` is shared with your other programs" in found["strength"]
    work = tmp_path.resolve() / "work"
    assert f"Nothing can be made, renamed or removed directly in {work} by a command, since the program of the agent itself lies in it" in found["refused"]
    assert "NeuralClaw installed elsewhere, as its README does" in found["refused"]
    assert list((work / ".venv/bin").iterdir()) == []
