"""Everyday commands work in every sandbox as they do without one."""

import shutil
import sys
from pathlib import Path

import anyio
import pytest

from neuralclaw.ports import ExecResult

from .everyday import COMMANDS
from .grants import command_grant
from .processes import PATH, sandbox

pytestmark = pytest.mark.full

# What Landlock alone cannot give: `docs/sandbox.md` says so too.
NOT_THERE = {
    "landlock": {
        "a program in a terminal of its own": "a terminal has a name in /dev/pts, beside those of the person",
        "a server of files on its own loopback": "there is no network of its own that it could be given",
    }
}
HERE = {what: command for what, (programs, command) in COMMANDS.items() if all(shutil.which(name) for name in programs.split())}


def run(kind: str, what: str, place: Path) -> ExecResult:
    """The command, in an empty workspace."""
    work = place / "work"
    work.mkdir()
    box = sandbox(kind, home=str(Path.home()))
    command = HERE[what].replace("@PYTHON@", sys.executable)
    env = {"PATH": PATH, "HOME": str(Path.home()), "LANG": "C.UTF-8"}
    return anyio.run(lambda: box.exec(command_grant(work), ["bash", "-c", command], cwd=str(work), env=env, timeout=60, max_bytes=100_000))


@pytest.mark.parametrize("what", HERE)
@pytest.mark.parametrize("kind", ["landlock", "bubblewrap"])
def test_an_everyday_command_works(kind: str, what: str, tmp_path: Path) -> None:
    result = run(kind, what, tmp_path)
    if what in NOT_THERE.get(kind, {}):
        assert result.exit_code != 0
        assert result.refused
    else:
        assert result.exit_code == 0, result.stdout.decode() + result.stderr.decode()
        assert result.refused == ""


@pytest.mark.parametrize("what", HERE)
def test_an_everyday_command_works_without_a_sandbox(what: str, tmp_path: Path) -> None:
    assert run("process", what, tmp_path).exit_code == 0


def test_there_are_enough_of_them_here() -> None:
    assert len(HERE) >= 40
    assert len(COMMANDS) >= 60
