"""Which sandbox is taken, and what `doctor` hears about it."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from neuralclaw.errors import ToolExecutionError
from neuralclaw.sandbox.choice import INSTALL, SYSTEM_PATH, ChosenSandbox, Preferred, TrialResult
from neuralclaw.sandbox.container.sockets import INSTALL as INSTALL_ENGINE
from neuralclaw.sandbox.environment import clean_env

from .grants import command_grant
from .processes import PATH, sh

pytestmark = pytest.mark.anyio


@pytest.fixture
def broken(tmp_path: Path) -> str:
    """A search path on which bubblewrap is found, counts its runs, and never works."""
    directory = tmp_path / "bin"
    directory.mkdir()
    program = directory / "bwrap"
    program.write_text(f"#!/bin/sh\necho run >> {directory}/runs\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    return str(directory)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    return path


async def test_bubblewrap_is_taken_where_it_works(workspace: Path) -> None:
    sandbox = ChosenSandbox("auto", path_env=PATH)
    trials = sandbox.trials()
    assert (sandbox.name, sandbox.warning) == ("bubblewrap", "")
    assert [(trial.check, trial.ok) for trial in trials] == [
        ("sandbox.container", False),
        ("sandbox.bubblewrap", True),
        ("sandbox.landlock", True),
        ("sandbox.process", True),
    ]
    assert (await sh(sandbox, command_grant(workspace), "grep -c : /proc/net/dev")).stdout == b"1\n"


async def test_landlock_is_taken_where_bubblewrap_fails(broken: str, workspace: Path) -> None:
    sandbox = ChosenSandbox("auto", path_env=broken)
    trials = sandbox.trials()
    assert sandbox.name == "landlock"
    assert "confined by Landlock here, since bubblewrap does not work: the trial run failed: bwrap: setting up uid map" in sandbox.warning
    assert ChosenSandbox("auto", path_env="/nowhere").warning == ""
    assert "setting up uid map: Permission denied" in trials[1].text
    assert trials[2].text.startswith("works: version ")
    assert (await sh(sandbox, command_grant(workspace), "echo ran; ls /")).stdout == b"ran\n"


# A kernel without Landlock: its first call does not exist (444 on every kind of machine), as seccomp has it for this process.
OLD_KERNEL = """
import struct, sys
from neuralclaw import kernel
from neuralclaw.sandbox.choice import ChosenSandbox
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x00050026), (0x06, 0, 0, 0x7FFF0000)]
kernel.no_new_privileges()
kernel.seccomp_filter(b"".join(struct.pack("=HBBI", *one) for one in code))
sandbox = ChosenSandbox("auto", path_env=sys.argv[1])
print(sandbox.name, [trial.ok for trial in sandbox.trials()])
print(sandbox.warning)
print(*(f"{trial.text}: {trial.fix}" for trial in sandbox.trials()), sep=chr(10))
asked = ChosenSandbox("landlock", path_env=sys.argv[1]).problem()
print(asked.check, asked.ok)
"""


def test_a_plain_process_with_a_warning_is_taken_where_neither_works(broken: str) -> None:
    done = subprocess.run([sys.executable, "-c", OLD_KERNEL, broken], capture_output=True, text=True, check=True)
    first, warning, *trials, asked = done.stdout.splitlines()
    assert first == "process [False, False, False, True]"
    assert "plain processes" in warning
    assert trials[2].startswith("this kernel has no Landlock (Linux 5.13 and later have it, where it is switched on): use Linux 5.13 or later")
    assert asked == "sandbox.landlock False"


async def test_nothing_is_tried_before_it_is_needed_and_then_once(broken: str, workspace: Path) -> None:
    sandbox = ChosenSandbox("auto", path_env=broken)
    runs = Path(broken) / "runs"
    assert not runs.exists()
    for _ in range(3):
        await sh(sandbox, command_grant(workspace), "true")
        assert sandbox.name == "landlock"
    sandbox.trials()
    assert runs.read_text() == "run\n"


async def test_a_missing_bubblewrap_is_said_with_what_to_do() -> None:
    here = next((command for manager, command in INSTALL.items() if shutil.which(manager, path=SYSTEM_PATH)), "install the package bubblewrap")
    trials = ChosenSandbox("auto", path_env="/nowhere").trials()
    assert (trials[1].ok, trials[1].text, trials[1].fix) == (False, "bwrap is in no directory of the system that PATH names", here)


async def test_a_missing_bubblewrap_is_installed_by_the_command_of_this_system(tmp_path: Path) -> None:
    manager = tmp_path / "dnf"
    manager.write_text("#!/bin/sh\n")
    manager.chmod(0o755)
    trials = ChosenSandbox("auto", path_env=str(tmp_path)).trials()
    assert trials[1].fix == "sudo dnf install bubblewrap"


async def test_what_stands_in_the_way_of_a_sandbox_asked_for_by_name_is_known_before_anything_runs(broken: str) -> None:
    problems = {name: ChosenSandbox(name, path_env=broken).problem() for name in get_args(Preferred)}
    assert [name for name, problem in problems.items() if problem is not None] == ["container", "bubblewrap"]
    assert ChosenSandbox("bubblewrap", path_env=PATH).problem() is None
    assert problems["container"] == TrialResult("sandbox.container", False, "no container engine was found", INSTALL_ENGINE)


@pytest.mark.parametrize(("preferred", "said"), [("bubblewrap", "uid map"), ("container", "no container engine was found")])
async def test_a_sandbox_asked_for_by_name_is_never_replaced_by_a_weaker_one(broken: str, workspace: Path, preferred: Preferred, said: str) -> None:
    sandbox = ChosenSandbox(preferred, path_env=broken)
    with pytest.raises(ToolExecutionError, match=said):
        await sh(sandbox, command_grant(workspace), "touch ran")
    assert list(workspace.iterdir()) == []


async def test_a_plain_process_asked_for_by_name_needs_no_trial_and_no_warning(broken: str) -> None:
    sandbox = ChosenSandbox("process", path_env=broken)
    assert (sandbox.name, sandbox.warning) == ("process", "")
    assert not (Path(broken) / "runs").exists()


@pytest.mark.invariant("secrets.tool-environment")
async def test_no_key_of_ours_stands_in_a_commands_environment() -> None:
    environ = {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "OPENAI_API_KEY": "k", "SSH_AUTH_SOCK": "s", "PYTHONPATH": "p", "LD_PRELOAD": "l"}
    assert clean_env(environ) == {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C"}
