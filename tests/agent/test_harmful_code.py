"""Code of others that harms the task it runs in: its own part fails, and every other session goes on."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from neuralclaw import Agent, tool
from neuralclaw.app.desk_client import open_client
from neuralclaw.capability import TurnContext, Undeliverable
from neuralclaw.errors import AgentError
from neuralclaw.foreign_code import run_foreign
from neuralclaw.ports import Provider
from neuralclaw.testing import FunctionProvider, Reply
from neuralclaw.tool import FunctionTool, RiskName
from neuralclaw.types.messages import Request, UserMessage
from neuralclaw.types.risk import Decision, Risk, Tier
from neuralclaw.types.signals import Denied
from neuralclaw.types.verdicts import Verdict

from .kit import agent, call, calls, events

pytestmark = pytest.mark.anyio


def this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


async def cancel_itself() -> None:
    this_task().cancel()


async def cancel_itself_and_wait() -> None:
    this_task().cancel()
    await anyio.lowlevel.checkpoint()


async def leave_a_scope_open() -> None:
    scope = anyio.CancelScope()
    scope.__enter__()
    scope.cancel()


async def end_its_generator() -> None:
    raise GeneratorExit


async def exit_the_program() -> None:
    raise SystemExit(3)


HARMS = [cancel_itself, cancel_itself_and_wait, leave_a_scope_open, end_its_generator, exit_the_program]
Harm = Callable[[], Awaitable[None]]


async def answer(request: Request) -> Reply | str:
    """The call `hurt`, once, where the task asks for it."""
    last = request.messages[-1]
    return calls(call("hurt")) if isinstance(last, UserMessage) and last.text == "hurt" else "done"


def hurting(harm: Harm, *, risk: RiskName = "LOW") -> FunctionTool:
    @tool(risk=risk, effect="idempotent")
    async def hurt() -> str:
        "Do harm."
        await harm()
        return "unharmed"

    return hurt


async def goes_on(a: Agent, home: Path) -> None:
    """Nothing around it was ended: another turn runs, nothing is unfinished, and the record is whole."""
    assert (await a.ask("well", session="well")).status == "done"
    assert await a.do("sessions.list", unfinished=True) == []


async def test_a_cancellation_from_outside_passes_also_where_foreign_code_leaves_a_scope_open() -> None:
    begun = anyio.Event()

    async def work() -> None:
        anyio.CancelScope().__enter__()
        begun.set()
        await anyio.sleep_forever()

    waits = asyncio.create_task(run_foreign("the probe", work))
    await begun.wait()
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits


@pytest.mark.parametrize("harm", HARMS)
async def test_a_tool_that_harms_its_task_is_a_failed_call(harm: Harm, home: Path) -> None:
    async with agent(home, provider=FunctionProvider(answer), tools=[hurting(harm)]) as a:
        seen = await events(a, "hurt", session="s")
        await goes_on(a, home)
    assert (seen.one("tool.finished").ok, seen.one("turn.finished").status) == (False, "done")


VERDICT = Verdict(decision=Decision.FORBID, risk=Risk.HIGH, tier=Tier.EXECUTE)


@pytest.mark.parametrize("signal", [Undeliverable("the chat is gone"), Denied(VERDICT)])
async def test_a_tool_that_raises_a_signal_which_is_none_of_a_tool_is_a_failed_call(signal: Exception, home: Path) -> None:
    async def harm() -> None:
        raise signal

    async with agent(home, provider=FunctionProvider(answer), tools=[hurting(harm)]) as a:
        seen = await events(a, "hurt", session="s")
        await goes_on(a, home)
    result = seen.one("tool.finished")
    assert (result.ok, seen.one("turn.finished").status) == (False, "done")
    assert result.error.startswith(f"hurt failed: {type(signal).__name__}")


@pytest.mark.parametrize("harm", HARMS)
async def test_a_provider_that_harms_its_task_fails_its_own_turn(harm: Harm, home: Path) -> None:
    async def reply(request: Request) -> Reply | str:
        if request.messages[-1] == UserMessage("hurt"):
            await harm()
        return "done"

    async with agent(home, provider=FunctionProvider(reply)) as a:
        seen = await events(a, "hurt", session="s")
        await goes_on(a, home)
    assert seen.one("turn.finished").status == "failed"
    assert seen.one("error").text.startswith("the provider failed: ")


@pytest.mark.parametrize("harm", HARMS)
async def test_an_approver_that_harms_its_task_is_nobody_and_means_no(harm: Harm, home: Path) -> None:
    async def approve(question: Any) -> Any:
        await harm()
        return "once"

    ran = []

    async def run() -> None:
        ran.append("it")

    async with agent(home, provider=FunctionProvider(answer), tools=[hurting(run, risk="HIGH")], approver=approve, approvals="ask") as a:
        seen = await events(a, "hurt", session="s")
        await goes_on(a, home)
    assert ran == []
    assert seen.one("approval.resolved").by == "nobody"
    assert seen.one("turn.finished").status == "needs_approval"


async def test_an_approver_whose_answer_cannot_be_shown_is_nobody(home: Path) -> None:
    class Unspeakable:
        def __repr__(self) -> str:
            raise SystemExit(9)

        __eq__ = None  # type: ignore[assignment]
        __hash__ = None  # type: ignore[assignment]

    async def approve(question: Any) -> Any:
        return Unspeakable()

    async with agent(home, provider=FunctionProvider(answer), tools=[hurting(cancel_itself, risk="HIGH")], approver=approve, approvals="ask") as a:
        seen = await events(a, "hurt", session="s")
    assert seen.one("approval.resolved").by == "nobody"
    assert "the approver gave Unspeakable, which this question does not offer" in seen.one("error").text


class Equipping:
    """A part of the program that equips turns and breaks: what stands for a defect of the program itself."""

    def __init__(self, inner: Any, breaks: Harm) -> None:
        self._inner, self._breaks = inner, breaks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def wrap(self, turn: TurnContext, provider: Provider) -> Provider:
        if turn.session == "s":
            await self._breaks()
            await anyio.lowlevel.checkpoint()
        return provider


async def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("harm", [*HARMS, interrupt])
async def test_whatever_escapes_the_run_of_a_session_ends_that_run_alone_and_its_readers_are_told(harm: Harm, home: Path) -> None:
    async with agent(home, provider=FunctionProvider(answer)) as a:
        a._home.capability_parts = Equipping(a._home.capability_parts, harm)
        begun, go_on = anyio.Event(), anyio.Event()

        async def beside() -> None:
            async with a.turn("well", session="beside") as stream:
                begun.set()
                await go_on.wait()
                assert [event.type async for event in stream][-1] == "turn.finished"

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(beside)
            await begun.wait()
            with pytest.raises((AgentError, RuntimeError)):
                await a.ask("hurt", session="s")
            go_on.set()
        assert (await a.ask("well", session="well")).status == "done"
        await a.desk._sessions.idle("s")
        assert await a._home.store.holder("session:s") is None


async def test_the_driving_task_of_a_session_that_somebody_cancels_ends_that_session_alone(home: Path) -> None:
    async def cancel_the_driver() -> None:
        for task in asyncio.all_tasks():
            if "_drive" in task.get_name():
                task.cancel()

    async with agent(home, provider=FunctionProvider(answer), tools=[hurting(cancel_the_driver)]) as a:
        with pytest.raises(AgentError, match="the turn stopped on a defect"):
            await a.ask("hurt", session="s")
        assert (await a.ask("well", session="well")).status == "done"
        await a.desk._sessions.idle("s")
        assert await a._home.store.holder("session:s") is None


async def test_a_client_whose_agent_was_cancelled_from_within_learns_it(home: Path, tmp_path: Path) -> None:
    async def work() -> None:
        async with open_client(home=home, workspace=tmp_path, environ={}):
            await anyio.lowlevel.checkpoint()
            [follows] = [task for task in asyncio.all_tasks() if "SessionDesk.follow" in task.get_name()]
            follows.cancel()
            await anyio.sleep_forever()

    with pytest.raises(AgentError, match="a part of it was cancelled from within"):
        await work()


DYING = """
import anyio, os, sys
from neuralclaw import Agent, tool

@tool(risk="LOW", effect="idempotent")
async def die() -> str:
    "End the process."
    os._exit(9)

async def main():
    async with Agent.open(home=sys.argv[1], workspace=sys.argv[2], tools=[die]) as a, a.call("die", {}) as events:
        async for _ in events:
            pass

anyio.run(main)
"""


async def test_a_call_whose_process_died_is_ended_by_the_next_one_and_not_run_again(home: Path, tmp_path: Path) -> None:
    ran = []

    @tool(risk="LOW", effect="idempotent")
    async def die() -> str:
        "Would end the process."
        ran.append("again")
        return "well"

    for died in range(1, 4):
        done = subprocess.run([sys.executable, "-c", DYING, str(home), str(tmp_path)], capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 9, done.stderr
        async with agent(home, tools=[die]) as a:
            async with a.call("echo", {"text": "x"}) as stream:
                seen = [event async for event in stream]
            [row] = await a.do("sessions.list")
            ends = [event for event in (await a.do("sessions.show", session="tools"))["events"] if event["type"] == "turn.finished"]
        assert seen[-1].body.status == "done"
        assert row["state"] == "idle"
        assert [end["status"] for end in ends] == ["failed", "done"] * died
    assert ran == []
