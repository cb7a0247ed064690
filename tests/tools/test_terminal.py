"""The terminal tool in a real sandbox."""

import os
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw.errors import PermissionDeniedError, ToolError, ToolExecutionError, ToolValidationError
from neuralclaw.sandbox.choice import ChosenSandbox
from neuralclaw.sandbox.environment import clean_env
from neuralclaw.sandbox.process import ProcessSandbox
from neuralclaw.tools.registry import Registry
from neuralclaw.tools.terminal import TerminalSettings, argv_of, terminal

from ..waiting import until
from .grants import call, context, grant_for

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("ls -la /tmp", ["ls", "-la", "/tmp"]),
        ("  echo   one\ttwo ", ["echo", "one", "two"]),
        ("echo 'a | b' \"c; d\"", ["echo", "a | b", "c; d"]),
        ("echo '$HOME `x` \\'", ["echo", "$HOME `x` \\"]),
        ("git log --format=%H HEAD~1", ["git", "log", "--format=%H", "HEAD~1"]),
        ("python3 -c 'print(1)'", ["python3", "-c", "print(1)"]),
        ("echo ''", ["echo", ""]),
        ("date +%H:%M", ["date", "+%H:%M"]),
        ("echo a#b", ["echo", "a#b"]),
        ("/bin/echo x", ["/bin/echo", "x"]),
    ],
)
def test_a_command_without_operators_is_run_by_argv(command: str, argv: list[str]) -> None:
    assert argv_of(command) == argv


@pytest.mark.parametrize(
    "command",
    [
        *(
            "ls | wc",
            "ls; ls",
            "ls && ls",
            "ls > x",
            "ls &",
            "echo $HOME",
            'echo "$HOME"',
            'echo "`id`"',
            "echo `id`",
            "echo $(id)",
            "ls *.py",
            "ls a?",
            "ls [ab]",
        ),
        *(
            "echo a\\ b",
            "A=1 env",
            "cd /tmp",
            "export A=1",
            "if true",
            "! ls",
            "echo ~",
            "echo a=~",
            "# ls",
            "echo # x",
            "echo {a,b}",
            "(ls)",
            "ls\nls",
            "echo 'a",
            "%1",
        ),
        *('echo "a!b"', "a=b", "time ls", "~/bin/x", "ls\x0bls", ". ./x", "[ -f x ]"),
    ],
)
def test_what_bash_would_read_otherwise_is_left_to_bash(command: str) -> None:
    assert argv_of(command) == ["bash", "-c", command]


@pytest.mark.parametrize("command", ["", "  ", "echo a\0b"])
def test_what_is_no_command_is_refused(command: str) -> None:
    with pytest.raises(ToolError, match="the command"):
        argv_of(command)


async def test_argv_and_bash_give_the_same(registry: Registry, workspace: Path) -> None:
    for command in ["printf %s 'a  b'", "echo --x=%H a#b HEAD~1", "echo '$A' \"b c\"", "echo ''"]:
        direct = await call(registry, workspace, "terminal", command=command)
        shell = await call(registry, workspace, "terminal", command=f"true && {command}")
        assert argv_of(command)[0] != "bash"
        assert direct.content == shell.content


async def test_output_is_given_as_it_is_with_data_beside_it(registry: Registry, workspace: Path) -> None:
    result = await call(registry, workspace, "bash", command="echo hello")
    assert (result.ok, result.content) == (True, "hello\n")
    assert result.metadata == {"exit_code": 0, "command": "echo hello", "stdout": "hello\n", "stderr": "", "timed_out": False, "sandbox": "process"}
    assert (await call(registry, workspace, "terminal", command="true")).content == ""


async def test_a_non_zero_exit_is_a_failure_that_shows_stderr(registry: Registry, workspace: Path) -> None:
    result = await call(registry, workspace, "terminal", command="echo out; echo err >&2; exit 3")
    assert (result.ok, result.error) == (False, "Exit code: 3")
    assert result.content == "Exit code: 3\nout\n[stderr]\nerr"
    assert (result.metadata["exit_code"], result.metadata["stderr"]) == (3, "err\n")
    assert (await call(registry, workspace, "terminal", command="false")).content == "Exit code: 1"


async def test_stderr_of_a_success_is_shown_and_marked(registry: Registry, workspace: Path) -> None:
    result = await call(registry, workspace, "terminal", command="echo out; echo warning >&2")
    assert (result.ok, result.content) == (True, "out\n[stderr]\nwarning")


async def test_a_command_runs_in_the_workspace_or_below_it(registry: Registry, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    assert (await call(registry, workspace, "terminal", command="pwd")).content == f"{workspace}\n"
    assert (await call(registry, workspace, "terminal", command="pwd", working_dir="sub")).content == f"{workspace}/sub\n"
    assert (await call(registry, workspace, "terminal", command="pwd", working_dir=str(workspace / "sub"))).content == f"{workspace}/sub\n"
    with pytest.raises(PermissionDeniedError):
        await call(registry, workspace, "terminal", command="pwd", working_dir="..")


async def test_settings_are_the_defaults_that_the_gate_sees(workspace: Path) -> None:
    (workspace / "sub").mkdir()
    own = Registry([terminal(ProcessSandbox(), clean_env(os.environ), TerminalSettings(working_dir="sub", timeout=7, max_chars=99))])
    assert own.prepare("terminal", {"command": "pwd"}) == {"command": "pwd", "working_dir": "sub", "timeout": 7.0, "env_vars": None, "access": None}
    assert own.tools()[0].max_chars == 99
    assert (await call(own, workspace, "terminal", command="pwd")).content == f"{workspace}/sub\n"


@pytest.mark.invariant("secrets.tool-environment")
async def test_the_environment_is_the_given_one_and_what_the_call_adds(workspace: Path) -> None:
    own = Registry([terminal(ProcessSandbox(), {"PATH": os.environ["PATH"], "LANG": "C"})])
    result = await call(own, workspace, "terminal", command="env", env_vars={"GREETING": "hello", "COUNT": 3})
    names = dict(line.split("=", 1) for line in result.content.splitlines())
    assert {"GREETING": "hello", "COUNT": "3", "LANG": "C"}.items() <= names.items()
    assert set(names) <= {"PATH", "LANG", "PWD", "GREETING", "COUNT"}


@pytest.mark.parametrize(
    "name",
    [
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "PATH",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "BASH_ENV",
        "ENV",
        "IFS",
        "NODE_OPTIONS",
        "GIT_SSH_COMMAND",
        "HOME",
        "npm_config_prefix",
        "PERL5OPT",
    ],
)
async def test_a_variable_that_decides_what_runs_is_refused(registry: Registry, workspace: Path, name: str) -> None:
    with pytest.raises(ToolError, match=f"{name} may not be set"):
        await call(registry, workspace, "terminal", command="true", env_vars={name: "x"})


@pytest.mark.parametrize("name", ["", "A B", "A=B", "1A", "BASH_FUNC_ls%%", "Ä"])
async def test_what_is_no_variable_name_is_refused(registry: Registry, workspace: Path, name: str) -> None:
    with pytest.raises(ToolError, match="not a name for an environment variable"):
        await call(registry, workspace, "terminal", command="true", env_vars={name: "x"})


async def test_a_program_that_is_not_there_is_named(registry: Registry, workspace: Path) -> None:
    with pytest.raises(ToolExecutionError, match="no-such-program was not found"):
        await call(registry, workspace, "terminal", command="no-such-program --x")


@pytest.mark.parametrize("timeout", [0, -1, "soon"])
async def test_a_time_limit_is_more_than_nothing(registry: Registry, workspace: Path, timeout: Any) -> None:
    with pytest.raises(ToolValidationError, match="'timeout'"):
        await call(registry, workspace, "terminal", command="true", timeout=timeout)


async def test_a_command_that_takes_too_long_is_stopped_and_its_output_kept(registry: Registry, workspace: Path) -> None:
    began = time.monotonic()
    result = await call(registry, workspace, "terminal", command="echo begun; exec sleep 60", timeout=0.3)
    assert time.monotonic() - began < 5
    assert (result.ok, result.error) == (False, "the command was stopped after 0.3 s, with all its processes")
    assert result.content == "ERROR: the command was stopped after 0.3 s, with all its processes\nbegun"
    assert result.metadata["timed_out"] is True


async def test_a_cancelled_command_is_gone_even_if_it_ignores_sigterm(registry: Registry, workspace: Path) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: call(registry, workspace, "terminal", command="trap '' TERM; echo $$ > pid; while :; do sleep 1; done"))
        await until(lambda: (workspace / "pid").is_file() and (workspace / "pid").read_text().strip())
        group.cancel_scope.cancel()
    pid = int((workspace / "pid").read_text())
    await until(lambda: not Path(f"/proc/{pid}").exists())


async def test_ten_megabytes_of_output_are_kept_whole(registry: Registry, workspace: Path) -> None:
    result = await call(registry, workspace, "terminal", command=f"{sys.executable} -c 'print(\"x\" * 10_000_000)'")
    assert len(result.content) == 10_000_001
    assert len(result.metadata["stdout"]) == 20_000


async def test_output_beyond_the_bound_is_counted(registry: Registry, workspace: Path) -> None:
    result = await call(registry, workspace, "terminal", command="head -c 20000000 /dev/zero | tr '\\0' x")
    assert result.content.endswith("x…\n[3,222,784 bytes of output beyond the first 16,777,216 were dropped]")


async def test_binary_output_is_shown_as_far_as_it_is_text(registry: Registry, workspace: Path) -> None:
    result = await call(registry, workspace, "terminal", command="printf 'a\\377b\\0c'")
    assert result.content == "a\ufffdb\ufffdc\n[bytes that are no UTF-8 text are shown as \ufffd]"


@pytest.mark.invariant("gate.grant-needed")
async def test_nothing_runs_without_leave_to_execute(registry: Registry, workspace: Path) -> None:
    grant = grant_for(workspace, "terminal", registry.prepare("terminal", {"command": "touch x"}), execute=False)
    with pytest.raises(PermissionDeniedError):
        await registry.call(grant, context(workspace))
    assert not (workspace / "x").exists()


async def test_it_works_in_the_strongest_sandbox_there_is(workspace: Path) -> None:
    environment = clean_env(os.environ)
    own = Registry([terminal(ChosenSandbox("auto", path_env=environment["PATH"]), environment)])
    result = await call(own, workspace, "terminal", command="echo hello > made && cat made")
    assert (result.content, (workspace / "made").read_text()) == ("hello\n", "hello\n")
    assert result.metadata["sandbox"] in ("bubblewrap", "process")
