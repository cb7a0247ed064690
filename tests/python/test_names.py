"""The public names: all are there, none is loaded before it is asked for, and mypy knows their types."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import neuralclaw
from neuralclaw import errors

RIGHT = """
from neuralclaw import Agent, AgentOptions, Ask, Event, FunctionProvider, Reply, Request, Settings, ToolContext, ToolError, ToolResult, TurnFinished, run, tool
from neuralclaw import ApprovalRequested, Image, ImageContent, StructuredContent, TextContent, TextDelta, __version__, errors
from neuralclaw.errors import MemoryError, UsageError
from pathlib import Path
from typing import Literal


@tool(risk="LOW", effect="pure")
async def greet(name: str) -> str:
    "Greet somebody."
    return f"Hello, {name}."


@tool(risk="MEDIUM", effect="idempotent", sinks=["write"], timeout=5, source="external")
def plot(ctx: ToolContext, points: list[float]) -> list[TextContent | StructuredContent]:
    "Plot points."
    return [TextContent("plotted"), StructuredContent({"points": points})]


async def approver(question: Ask) -> Literal["once", "no"]:
    return "once" if question.call.name == "greet" else "no"


def plain(question: Ask) -> Literal["no"]:
    return "no"


async def model(request: Request) -> Reply:
    return Reply("done", tool_calls=[{"name": "greet", "arguments": {"name": request.model}}])


async def main() -> str:
    options: AgentOptions = {"trust": "medium", "approvals": "ask", "provider": FunctionProvider(model), "approver": approver}
    async with Agent.open(home=Path("/tmp/x"), model="offline", tools=[greet, plot], builtin=("read_file",), settings={"llm": {"max_tokens": 10}}) as agent:
        async with agent.turn("hello", session="s", max_iterations=3, timeout=5.0) as events:
            async for event in events:
                if isinstance(event.body, TextDelta):
                    print(event.body.text)
        reply: TurnFinished = await agent.ask("more", session="s", trust="high", images=[Path("x.png")])
        async with agent.resume("s", retry=True, approvals="none") as again:
            print([event.to_dict() async for event in again])
        print(await agent.do("sessions.list"))
    sections: AgentOptions = {"llm": {"max_tokens": 5}, "approvals": {"expire_days": 1}, "tools": {"terminal": {"shell": "strict"}}, "max_iterations": 3}
    async with Agent.open(**sections) as other:
        await other.do("recover", approvals="none")
    async with Agent.open(budget={}, safety={"rules": []}, timeout=5.0, approver=plain, settings={"llm.top_p": 0.5}) as other:
        await other.ask("x", approvals="park", refusals="ignore")
    started = await Agent.start(**options)
    await started.aclose()
    return reply.text


def script() -> str:
    try:
        return run("calculate 6*7", model="offline", session="s", timeout=10).text
    except (UsageError, MemoryError, errors.ConfigError) as error:
        return error.hint
"""
WRONG = {
    'Agent.open(modle="x")': "modle",
    'Agent.open(trust="total")': "trust",
    "Agent.open(home=5)": "home",
    'agent.ask("x", approvals="maybe")': "approvals",
    'agent.ask("x", timeout="5")': "timeout",
    'agent.turn("x", sesion="s")': "sesion",
    'agent.resume("s", max_iterations="3")': "max_iterations",
    "Agent.start(builtin=5)": "builtin",
    "Agent.open(llm=5)": "llm",
    'Agent.open(timeout="5")': "timeout",
    'agent.ask("x", approvals={})': "approvals",
    'run("x", workspace=7)': "workspace",
    'run("x", nonsense=1)': "nonsense",
    'tool(risk="TINY")': "tool",
}


def checked(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """What mypy --strict says of a user's script beside nothing else, with the installed package."""
    (folder / "script.py").write_text(program)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(folder / "cache"), "script.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.full
def test_a_typed_script_passes_mypy_strict_and_each_wrong_option_is_found(tmp_path: Path) -> None:
    right = checked(tmp_path, RIGHT)
    assert right.returncode == 0, right.stdout
    lines = ["from neuralclaw import Agent, run, tool", "agent: Agent", *WRONG]
    wrong = checked(tmp_path, "\n".join(lines) + "\n")
    found = {int(line.split(":")[1]): line for line in wrong.stdout.splitlines() if ": error:" in line}
    for number, (line, word) in enumerate(WRONG.items(), 3):
        assert word in found.get(number, ""), (line, wrong.stdout)


def test_every_public_name_is_there_and_listed() -> None:
    assert len(set(neuralclaw.__all__)) == len(neuralclaw.__all__)
    for name in neuralclaw.__all__:
        assert getattr(neuralclaw, name) is not None
    assert set(neuralclaw.__all__) <= set(dir(neuralclaw))
    assert {"Agent", "tool", "run", "Settings", "Event", "Image", "ToolResult", "Provider", "Reply", "UsageError", "TurnFinished"} <= set(neuralclaw.__all__)
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = neuralclaw.nothing_such
    with pytest.raises(ImportError):
        exec("from neuralclaw import nothing_such")


def test_the_names_stand_for_the_classes_of_their_rooms() -> None:
    assert neuralclaw.Event is importlib.import_module("neuralclaw.types.entries").Event
    assert neuralclaw.Settings is importlib.import_module("neuralclaw.config").Settings
    assert neuralclaw.errors is errors
    assert errors.MemoryError is errors.MemoryStoreError
    assert errors.MemoryError("x").kind == "MemoryStoreError"


def test_importing_the_package_loads_nothing_of_it() -> None:
    program = "import sys, neuralclaw; dir(neuralclaw); print(*sorted(m for m in sys.modules if 'neuralclaw' in m or m in ('typing', 'msgspec', 'asyncio')))"
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) - {"typing"} == {"neuralclaw", "neuralclaw._version"}


def test_a_star_import_brings_every_public_name() -> None:
    names: dict[str, object] = {}
    exec("from neuralclaw import *", names)
    assert set(neuralclaw.__all__) <= set(names)
