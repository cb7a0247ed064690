"""`neuralclaw.run`, and the tools that an agent is opened with."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import neuralclaw
from neuralclaw import Agent, RunOptions, tool
from neuralclaw.errors import AgentError, ConfigError, UsageError
from neuralclaw.testing import FunctionProvider, Reply, ScriptedProvider

BUILTIN = {"read_file", "write_file", "terminal", "calculate", "read_result"}


@tool(risk="LOW", effect="pure")
async def calculate(expression: str) -> str:
    "Guess the value of an expression."
    return "about 40"


@pytest.fixture
def options(home: Path, tmp_path: Path) -> RunOptions:
    (tmp_path / "work").mkdir()
    return {"home": home, "workspace": tmp_path / "work", "environ": {"PATH": os.defpath, "HOME": str(tmp_path)}}


def test_a_script_runs_a_task_and_gets_its_end(options: RunOptions) -> None:
    done = neuralclaw.run("calculate 6*7", **options)
    assert (done.status, done.text) == ("done", "42")


def test_a_script_gives_the_options_of_the_agent_and_of_the_turn(options: RunOptions) -> None:
    again = Reply("", tool_calls=[{"name": "calculate", "arguments": {"expression": "1"}}])
    done = neuralclaw.run("x", **options, provider=ScriptedProvider(again, "never"), tools=[calculate], builtin=(), max_iterations=1, session="s", timeout=20)
    assert done.status == "limit"
    assert neuralclaw.run("y", **options, provider=ScriptedProvider("two"), session="s", key="once").text == "two"

    async def rows() -> Any:
        async with Agent.open(**options) as agent:  # type: ignore[misc]  # those of a run are those of an agent here
            return await agent.do("sessions.list")

    assert [(row["session"], row["turns"]) for row in asyncio.run(rows())] == [("s", 2)]


def test_a_wrong_option_of_a_script_is_named_with_the_nearest(options: RunOptions) -> None:
    wrong: dict[str, Any] = {**options, "sesion": "s"}
    with pytest.raises(UsageError, match=r"sesion.*did you mean 'session'"):
        neuralclaw.run("x", **wrong)
    with pytest.raises(UsageError, match="timeout"):
        neuralclaw.run("x", **options, timeout=-1)
    with pytest.raises(AgentError, match="not a directory"):
        neuralclaw.run("x", **{**options, "workspace": "/nowhere"})
    with pytest.raises(ConfigError):
        neuralclaw.run("x", **{**options, "model": "unheard:of"})


def test_inside_an_event_loop_a_script_is_told_what_to_await(options: RunOptions) -> None:
    async def inside() -> None:
        with pytest.raises(UsageError, match="event loop") as refused:
            neuralclaw.run("calculate 6*7", **options)
        assert "await agent.ask" in refused.value.hint

    asyncio.run(inside())


def test_a_script_runs_in_a_thread_too(options: RunOptions) -> None:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(neuralclaw.run("calculate 6*7", **options).text))
    thread.start()
    thread.join(20)
    assert found == ["42"]


def test_control_c_cancels_the_turn_of_a_script_and_is_raised(home: Path, tmp_path: Path) -> None:
    program = f"""
import os, signal, anyio, neuralclaw
async def model(request):
    os.kill(os.getpid(), signal.SIGINT)
    await anyio.sleep_forever()
try:
    neuralclaw.run("wait", home={str(home)!r}, workspace={str(tmp_path)!r}, session="s", provider=neuralclaw.FunctionProvider(model))
except KeyboardInterrupt:
    print("interrupted")
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "interrupted\n", ""), ran
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    async def last() -> Any:
        async with Agent.open(home=home) as agent:
            return (await agent.do("sessions.show", session="s"))["events"][-1]

    assert asyncio.run(last())["status"] == "cancelled"


def tools_of(options: RunOptions, **more: Any) -> list[str]:
    async def listed() -> list[str]:
        async with Agent.open(**{**options, **more}) as agent:
            return [row["name"] for row in await agent.do("tools.list")]

    return asyncio.run(listed())


def test_builtin_chooses_the_built_in_tools_by_name_and_alias(options: RunOptions) -> None:
    assert set(tools_of(options)) >= BUILTIN
    assert tools_of(options, builtin=()) == []
    assert tools_of(options, builtin=("bash", "read_file")) == ["read_file", "terminal"]
    assert tools_of(options, builtin=["calculate"], tools=[calculate]) == ["calculate"]


def test_a_given_tool_replaces_the_built_in_one_of_its_name(options: RunOptions) -> None:
    assert sorted(tools_of(options, tools=[calculate])) == sorted(tools_of(options))
    call = Reply("", tool_calls=[{"name": "calculate", "arguments": {"expression": "6*7"}}])
    asked: list[str] = []

    async def model(request: Any) -> Reply:
        asked.append(str(request.messages[-1]))
        return call if len(asked) == 1 else Reply("so it is")

    assert neuralclaw.run("how much?", **options, provider=FunctionProvider(model), tools=[calculate]).text == "so it is"
    assert "about 40" in asked[1]


def test_a_given_tool_with_the_name_of_an_alias_replaces_that_tool(options: RunOptions) -> None:
    @tool(name="bash", risk="HIGH")
    async def shell(command: str) -> str:
        "Run a command somewhere else."
        return command

    assert [name for name in tools_of(options, tools=[shell]) if name in ("bash", "terminal")] == ["bash"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"builtin": ("calculator",)}, "calculator.*did you mean 'calculate'"),
        ({"builtin": "calculate"}, "builtin"),
        ({"builtin": 5}, "builtin"),
        ({"tools": [calculate, calculate]}, "two of the given tools have the name calculate"),
        ({"tools": calculate}, "tools"),
        ({"modle": "x"}, "did you mean 'model'"),
        ({"home": 5}, "home"),
        ({"workspace": 5}, "workspace"),
        ({"recover": "yes"}, "recover"),
        ({"present": 1}, "present"),
        ({"settings": 5}, "settings"),
        ({"environ": ["PATH"]}, "environ"),
        ({"approver": "yes"}, "approver"),
        ({"provider": "openai"}, "provider"),
    ],
)
def test_options_that_cannot_be_used_are_refused_and_the_home_stays_free(options: RunOptions, more: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        tools_of(options, **more)
    assert set(tools_of(options)) >= BUILTIN
