"""Tools about the agent and its machine, and the set as a whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from neuralclaw.errors import ToolError, ToolExecutionError, ToolValidationError
from neuralclaw.tools.about import about_me
from neuralclaw.tools.registry import Registry
from neuralclaw.types.risk import Effect, Risk, Sink
from neuralclaw.types.tools import ToolContext

from .conftest import LONG
from .grants import call

pytestmark = pytest.mark.anyio


def test_the_names_risks_and_arguments_are_the_promised_ones(registry: Registry) -> None:
    specs = {spec.name: spec for spec in registry.tools()}
    promised = {
        "read_file": ("LOW", ["path", "offset", "limit"]),
        "list_files": ("LOW", ["path"]),
        "find_files": ("LOW", ["pattern", "path"]),
        "search_files": ("LOW", ["pattern", "path"]),
        "write_file": ("MEDIUM", ["path", "content"]),
        "edit_file": ("MEDIUM", ["path", "old", "new", "all"]),
        "delete_file": ("HIGH", ["path"]),
        "terminal": ("MEDIUM", ["command", "working_dir", "timeout", "env_vars"]),
        "system_info": ("LOW", []),
        "disk_info": ("LOW", []),
        "network_info": ("LOW", []),
        "process_list": ("LOW", []),
        "process_signal": ("HIGH", ["pid", "signal"]),
        "read_result": ("LOW", ["call_id", "offset"]),
        "calculate": ("LOW", ["expression"]),
        "echo": ("LOW", ["text"]),
        "about_me": ("LOW", []),
    }
    assert list(specs) == list(promised)
    for name, (risk, arguments) in promised.items():
        assert specs[name].risk == risk
        assert list(specs[name].input_schema["properties"])[: len(arguments)] == arguments
    aliases = {alias: spec.name for spec in registry.tools() for alias in spec.aliases}
    assert aliases == {"file_read": "read_file", "file_write": "write_file", "bash": "terminal", "info": "system_info"}


def test_what_runs_again_is_declared(registry: Registry) -> None:
    again = {spec.name: spec.effect for spec in registry.tools() if spec.effect is not Effect.PURE}
    assert again == {
        "write_file": Effect.IDEMPOTENT,
        "edit_file": Effect.RECONCILABLE,
        "delete_file": Effect.RECONCILABLE,
        "terminal": Effect.ONCE,
        "process_signal": Effect.ONCE,
    }
    assert {spec.name for spec in registry.tools() if Sink.EXECUTE in spec.sinks} == {"terminal", "process_signal"}


async def test_a_shortened_result_is_read_on_page_by_page(registry: Registry, tmp_path: Path) -> None:
    text, offset, pages = "", 0, 0
    while True:
        result = await call(registry, tmp_path, "read_result", call_id="long", offset=offset)
        assert len(result.content) <= 40_000
        page, _, notice = result.content.rpartition("\n")
        text, offset, pages = text + page, offset + len(page), pages + 1
        assert notice.startswith(f"[{len(LONG) - offset:,} of {len(LONG):,} characters remain")
        if not result.metadata["remaining"]:
            break
        assert notice.endswith(f"; read on with offset {offset}]")
    assert (text, pages) == (LONG, 6)


async def test_a_result_that_is_not_kept_is_an_error(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="'other'"):
        await call(registry, tmp_path, "read_result", call_id="other")
    with pytest.raises(ToolError, match="beyond its end"):
        await call(registry, tmp_path, "read_result", call_id="long", offset=10**9)
    with pytest.raises(ToolValidationError, match="offset"):
        await call(registry, tmp_path, "read_result", call_id="long", offset=-1)


async def test_the_agent_tells_what_really_holds(registry: Registry, tmp_path: Path) -> None:
    result = await call(registry, tmp_path, "about_me")
    assert result.content == "name: NeuralClaw\ntools: echo"
    assert result.metadata == {"name": "NeuralClaw", "tools": ["echo"]}

    async def said(ctx: ToolContext) -> str:
        return f"I am in {ctx.session}."

    assert (await call(Registry([about_me(said)]), tmp_path, "about_me")).content == "I am in s."


async def test_the_system_is_described(registry: Registry, tmp_path: Path) -> None:
    result = await call(registry, tmp_path, "info")
    assert result.metadata["cpus"] == os.cpu_count()
    assert result.metadata["kernel"] == f"{os.uname().sysname} {os.uname().release}"
    assert 0 < result.metadata["memory"]["available"] <= result.metadata["memory"]["total"]
    assert {"os:", "kernel:", "cpus:", "memory:", "disk:", "uptime:", "python:"} <= {line.split()[0] for line in result.content.splitlines()}


async def test_disks_and_interfaces_are_listed(registry: Registry, tmp_path: Path) -> None:
    disks = (await call(registry, tmp_path, "disk_info")).metadata["disks"]
    assert disks
    assert all("error" in disk or disk["free"] <= disk["total"] for disk in disks)
    names = {item["name"]: item for item in (await call(registry, tmp_path, "network_info")).metadata["interfaces"]}
    assert "127.0.0.1" in names["lo"]["addresses"]


async def test_processes_are_listed_without_their_arguments(registry: Registry, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()", "secret-argument"], stdin=subprocess.PIPE) as child:
        result = await call(registry, tmp_path, "process_list", sort="pid", limit=1000)
        child.communicate(b"\n")
    assert {child.pid, os.getpid()} <= {row["pid"] for row in result.metadata["processes"]}
    assert "secret-argument" not in result.content + str(result.metadata)
    few = await call(registry, tmp_path, "process_list", name="PYTHON", limit=1)
    assert len(few.metadata["processes"]) == 1


async def test_a_signal_reaches_its_process(registry: Registry, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        result = await call(registry, tmp_path, "process_signal", pid=str(child.pid))
        assert child.wait(5) == -15
    assert result.content.startswith(f"Sent TERM to process {child.pid}")
    with pytest.raises(ToolExecutionError, match="there is no process"):
        await call(registry, tmp_path, "process_signal", pid=child.pid)


OWN = [0, 1, -1, -1000, os.getpid(), os.getppid()]


@pytest.mark.parametrize("pid", OWN, ids=["group", "first", "all", "a group", "the agent", "its parent"])
async def test_groups_the_first_process_and_the_agent_are_not_signalled(registry: Registry, tmp_path: Path, pid: int) -> None:
    with pytest.raises(ToolError, match=r"no single process|this agent itself"):
        await call(registry, tmp_path, "process_signal", pid=pid, signal="CONT")


async def test_only_known_signals_are_sent(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(ToolValidationError, match='must be one of "CONT"'):
        await call(registry, tmp_path, "process_signal", pid=os.getpid(), signal="SEGV")
    assert registry.find("process_signal").risk is Risk.HIGH  # type: ignore[union-attr]


def test_nothing_heavy_is_imported_until_it_is_needed() -> None:
    script = (
        "import sys; from neuralclaw.tools.builtin import own_tools; from neuralclaw.tools.registry import Registry;"
        "r = Registry(own_tools(None, dict)); r.prepare('calculate', {'expression': 5});"
        "print([n for n in ('jsonschema_rs', 'psutil', 'aiohttp', 'yaml', 'tree_sitter', 'pathlib', 'subprocess') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("[]", "['pathlib']", "['subprocess']", "['pathlib', 'subprocess']")
