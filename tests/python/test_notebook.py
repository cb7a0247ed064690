"""An agent that is started in one task and closed in another, as the cells of a notebook do."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neuralclaw import Agent, AgentOptions, FunctionProvider
from neuralclaw.errors import AgentError, ConfigError, UsageError
from neuralclaw.testing import ScriptedProvider

pytestmark = pytest.mark.full

START = """
import asyncio, sys
from neuralclaw import Agent
from neuralclaw.testing import ScriptedProvider
home, work = sys.argv[1:3]
async def started():
    return await Agent.start(home=home, workspace=work, provider=ScriptedProvider("one"))
"""


@pytest.fixture
def cells() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop that runs one task after the other, as a notebook's kernel does."""
    loop = asyncio.new_event_loop()
    loop.set_debug(True)
    yield loop
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


@pytest.fixture
def options(home: Path, tmp_path: Path) -> AgentOptions:
    (tmp_path / "work").mkdir()
    return {"home": home, "workspace": tmp_path / "work", "environ": {"PATH": os.defpath, "HOME": str(tmp_path)}, "provider": ScriptedProvider("one", "two")}


def test_an_agent_lives_over_several_cells_and_is_closed_in_another(cells: asyncio.AbstractEventLoop, options: AgentOptions) -> None:
    agent = cells.run_until_complete(Agent.start(**options))
    assert cells.run_until_complete(agent.ask("hello", session="s")).text == "one"
    assert cells.run_until_complete(agent.ask("again", session="s")).text == "two"
    assert [row["turns"] for row in cells.run_until_complete(agent.do("sessions.list"))] == [2]
    cells.run_until_complete(agent.aclose())
    cells.run_until_complete(agent.aclose())
    assert asyncio.all_tasks(cells) == set()


def test_a_closed_agent_says_so_and_another_can_be_started_on_its_home(cells: asyncio.AbstractEventLoop, options: AgentOptions) -> None:
    agent = cells.run_until_complete(Agent.start(**options))
    cells.run_until_complete(agent.aclose())
    for use in (agent.ask("hello"), agent.do("sessions.list"), agent.steer("more", session="s"), agent.cancel("s"), agent.answer("x", "once")):
        with pytest.raises(AgentError, match="closed"):
            cells.run_until_complete(use)
    again = cells.run_until_complete(Agent.start(**options))
    assert cells.run_until_complete(again.ask("hello")).status == "done"
    cells.run_until_complete(again.aclose())


def test_what_cannot_be_opened_is_raised_where_it_is_started(cells: asyncio.AbstractEventLoop, options: AgentOptions) -> None:
    wrong: dict[str, Any] = {**options, "model": 7}
    with pytest.raises(UsageError, match="model"):
        cells.run_until_complete(Agent.start(**wrong))
    (Path(str(options["home"])) / "config.yaml").write_text("llm: {temprature: 1}\n")
    with pytest.raises(ConfigError, match="temprature"):
        cells.run_until_complete(Agent.start(**options))
    assert asyncio.all_tasks(cells) == set()


def test_a_start_that_is_cancelled_leaves_nothing_open(cells: asyncio.AbstractEventLoop, options: AgentOptions) -> None:
    async def started_and_cancelled() -> None:
        starting = asyncio.ensure_future(Agent.start(**options))
        await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

    cells.run_until_complete(started_and_cancelled())
    agent = cells.run_until_complete(Agent.start(**options))
    assert cells.run_until_complete(agent.ask("hello")).text == "one"
    cells.run_until_complete(agent.aclose())


def test_a_cell_that_is_interrupted_cancels_its_turn_and_the_agent_goes_on(cells: asyncio.AbstractEventLoop, options: AgentOptions) -> None:
    begun = asyncio.Event()

    async def model(request: Any) -> str:
        if request.messages[-1].text == "wait":
            begun.set()
            await asyncio.Event().wait()
        return "here"

    agent = cells.run_until_complete(Agent.start(**{**options, "provider": FunctionProvider(model)}))

    async def interrupted() -> None:
        cell = asyncio.ensure_future(agent.ask("wait", session="s"))
        await begun.wait()
        cell.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cell

    cells.run_until_complete(interrupted())
    shown = cells.run_until_complete(agent.do("sessions.show", session="s"))
    assert shown["events"][-1]["status"] == "cancelled"
    assert cells.run_until_complete(agent.ask("hello", session="s")).text == "here"
    cells.run_until_complete(agent.aclose())


def test_an_error_in_the_background_is_raised_by_the_next_call(cells: asyncio.AbstractEventLoop, options: AgentOptions) -> None:
    agent = cells.run_until_complete(Agent.start(**options))

    async def failing() -> None:
        raise RuntimeError("the background failed")

    async def made_to_fail() -> None:
        agent._desk._sessions._tasks.start_soon(failing)
        await asyncio.wait({task for task in asyncio.all_tasks() if task.get_name() == "neuralclaw agent"})

    cells.run_until_complete(made_to_fail())
    with pytest.raises(RuntimeError, match="the background failed"):
        cells.run_until_complete(agent.ask("hello"))
    with pytest.raises(AgentError, match="closed"):
        cells.run_until_complete(agent.ask("hello"))
    cells.run_until_complete(agent.aclose())


def test_another_event_loop_is_told_that_the_agent_is_not_its_own(cells: asyncio.AbstractEventLoop, options: AgentOptions) -> None:
    agent = cells.run_until_complete(Agent.start(**options))
    with pytest.raises(UsageError, match="another event loop"):
        asyncio.run(agent.ask("hello"))
    with pytest.raises(UsageError, match="another event loop"):
        asyncio.run(agent.aclose())
    cells.run_until_complete(agent.aclose())


def test_aclose_does_not_end_an_agent_of_an_open_block(cells: asyncio.AbstractEventLoop, options: AgentOptions) -> None:
    async def one_block() -> None:
        async with Agent.open(**options) as agent:
            with pytest.raises(UsageError, match="leaving its"):
                await agent.aclose()
            assert (await agent.ask("hello")).text == "one"
        await agent.aclose()
        with pytest.raises(AgentError, match="closed"):
            await agent.ask("hello")

    cells.run_until_complete(one_block())


@pytest.mark.parametrize(
    "end",
    [
        "asyncio.run(started())",
        "loop = asyncio.new_event_loop(); agent = loop.run_until_complete(started()); print(loop.run_until_complete(agent.ask('hello')).text)",
        "loop = asyncio.new_event_loop(); agent = loop.run_until_complete(started()); loop.close()",
        "loop = asyncio.new_event_loop(); loop.run_until_complete(started()); del loop; import gc; gc.collect()",
    ],
)
def test_a_program_that_forgets_its_agent_ends_cleanly(home: Path, tmp_path: Path, end: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "ignore:unclosed event loop", "-c", f"{START}\n{end}", str(home), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    slow = re.compile(r"^Executing <Task .* took [\d.]+ seconds\n", re.MULTILINE)  # what asyncio's debug mode says on a busy machine
    assert (ran.returncode, slow.sub("", ran.stderr)) == (0, ""), ran
    assert ran.stdout in ("", "one\n")


def test_the_asyncio_prompt_of_python_starts_asks_and_closes(home: Path, tmp_path: Path) -> None:
    lines = [
        "from neuralclaw import Agent",
        f"agent = await Agent.start(home={str(home)!r}, workspace={str(tmp_path)!r}, model='offline')",
        "(await agent.ask('calculate 6*7')).text",
        "await agent.aclose()",
        "'closed'",
    ]
    ran = subprocess.run([sys.executable, "-m", "asyncio"], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=20, check=False)
    assert ran.returncode == 0, ran
    assert "'42'" in ran.stdout
    assert "'closed'" in ran.stdout
    assert "Error" not in ran.stderr
