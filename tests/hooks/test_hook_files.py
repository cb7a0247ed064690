"""Files of hooks, also in the workspace: no call changes, replaces, moves or removes them, by whatever means."""

import json
from pathlib import Path
from typing import Any

import pytest

from ..agent.kit import agent, call, calls, events
from .kit import hook, settings

pytestmark = pytest.mark.anyio


@pytest.fixture
def guard(home: Path) -> Path:
    """A hook in a directory of the workspace, with a file beside it."""
    place = home.parent / "work" / "tools"
    place.mkdir(parents=True)
    file = place / "guard.sh"
    file.write_text("#!/bin/sh\nexit 0\n")
    file.chmod(0o755)
    (place / "other.sh").write_text("x")
    settings(home, hook("before_tool", file, tools=["http_check"]))
    return file


COMMANDS = (
    "echo x > tools/guard.sh",
    "cd tools && rm guard.sh",
    "rm -r tools",
    "cp other tools/guard.sh",
    "ln -sf /bin/true tools/guard.sh",
    "sed -i s/0/1/ tools/*.sh",
    "find . -name '*.sh' -delete",
    "tee tools/../tools/guard.sh < other",
)


@pytest.mark.invariant("hooks.pinned")
@pytest.mark.parametrize("command", COMMANDS)
async def test_a_command_that_names_a_file_of_a_hook_to_change_is_forbidden(home: Path, guard: Path, command: str) -> None:
    async with agent(home) as a:
        verdict = await a.do("policy.explain", command=command, trust="high")
    assert verdict["decision"] == "forbid"
    assert "self" in verdict["sinks"]
    assert any("is a hook of the owner" in rule["reason"] for rule in verdict["rules"])


@pytest.mark.invariant("hooks.pinned")
async def test_a_file_tool_changes_no_file_of_a_hook_and_reads_it_as_any_other(home: Path, guard: Path) -> None:
    (guard.parent / "link.sh").symlink_to("guard.sh")
    tries: list[dict[str, Any]] = [
        call("write_file", path="tools/guard.sh", content="x"),
        call("write_file", path="tools/link.sh", content="x"),
        call("edit_file", path="tools/guard.sh", old="0", new="1"),
        call("delete_file", path="tools/guard.sh"),
        call("read_file", path="tools/guard.sh"),
        call("write_file", path="tools/new.sh", content="x"),
    ]
    before = guard.read_text()
    async with agent(home, calls(*tries), "done", trust="high") as a:
        seen = await events(a, approvals="auto")
    assert [event.ok for event in seen.of("tool.finished")] == [False] * 4 + [True] * 2
    assert guard.read_text() == before


@pytest.mark.full
@pytest.mark.invariant("hooks.pinned")
@pytest.mark.parametrize("sandbox", ["bubblewrap", "landlock"])
async def test_a_program_that_names_no_file_changes_no_file_of_a_hook_in_a_sandbox(home: Path, guard: Path, sandbox: str) -> None:
    """What a program does cannot be seen in its line: the mount holds it."""
    before = guard.read_text()
    tries = [
        "open('tools/guard.sh', 'a').write('#')",
        "os.remove('tools/guard.sh')",
        "os.rename('tools', 't2')",
        "os.replace('tools/other.sh', 'tools/guard.sh')",
    ]
    work = guard.parent.parent
    (work / "evil.py").write_text(
        "import os, sys\nfor line in sys.argv[1:]:\n    try:\n        exec(line)\n    except OSError as error:\n        print(type(error).__name__)\n"
    )
    command = "python3 evil.py " + " ".join(json.dumps(line) for line in tries)
    async with agent(home, settings={"tools.terminal.sandbox": sandbox}, trust="high") as a:
        found = await a.do("tools.call", name="terminal", arguments={"command": command}, approvals="auto")
    assert found["ok"], found
    assert len(found["content"].split("\n[")[0].split()) == len(tries), found["content"]
    assert guard.read_text() == before
