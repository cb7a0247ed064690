"""What is wanted of a new message's turn holds for no older turn that goes on before it."""

from pathlib import Path

import anyio
import pytest

from neuralclaw import Agent, tool
from neuralclaw.testing import FunctionProvider, Reply
from neuralclaw.types.events import Inbound
from neuralclaw.types.messages import Request, UserMessage

from .kit import agent, call, calls

pytestmark = pytest.mark.anyio


class Danger:
    """A model that calls a risky tool for each task that begins with `risky`, once it may answer at all; and that tool."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.ran: list[str] = []
        self.asked = anyio.Event()
        self._hangs = hangs
        self.provider = FunctionProvider(self._reply)
        ran = self.ran

        @tool(risk="HIGH", effect="idempotent")
        async def danger(what: str) -> str:
            "Do something risky."
            ran.append(what)
            return "done"

        self.tool = danger

    async def _reply(self, request: Request) -> Reply:
        self.asked.set()
        if self._hangs:
            await anyio.sleep_forever()
        last = request.messages[-1]
        return calls(call("danger", what=last.text)) if isinstance(last, UserMessage) and last.text.startswith("risky") else Reply("done")


def message(a: Agent, text: str, **options: str) -> Inbound:
    return a._defaults.message(text, **options)


async def left_unfinished(home: Path, *, begun: bool) -> None:
    """Session `s` has a risky task, which asked for no approvals, in the turn that was interrupted, or waiting behind one."""
    model = Danger(hangs=True)
    async with agent(home, provider=model.provider, tools=[model.tool]) as a, anyio.create_task_group() as tasks:
        await a.desk.send("s", message(a, "risky old" if begun else "first", approvals="none"))
        await model.asked.wait()
        if not begun:
            await a.queue("risky old", session="s", approvals="none")
        a.closing()
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("begun", [True, False])
async def test_the_yes_that_a_new_message_brings_counts_for_no_turn_before_it(home: Path, begun: bool) -> None:
    await left_unfinished(home, begun=begun)
    model = Danger()
    async with agent(home, provider=model.provider, tools=[model.tool]) as a:
        assert (await a.ask("risky new", session="s", approvals="auto")).status == "done"
    assert model.ran == ["risky new"]


async def test_the_yes_that_a_new_message_brings_counts_for_no_message_that_waits_before_it(home: Path) -> None:
    model = Danger()
    async with agent(home, provider=model.provider, tools=[model.tool]) as a:
        await a.ask("first", session="s")
        await a.desk._acceptance.queue("s", message(a, "risky old", approvals="none"))  # and the program ended before its turn began
        await a.ask("risky new", session="s", approvals="auto")
    assert model.ran == ["risky new"]


async def test_a_message_that_is_queued_brings_its_yes_for_its_own_turn_alone(home: Path) -> None:
    await left_unfinished(home, begun=True)
    model = Danger()
    async with agent(home, provider=model.provider, tools=[model.tool]) as a:
        await a.queue("risky new", session="s", approvals="auto", key="new")
        await a.ask("risky new", session="s", approvals="auto", key="new")
    assert model.ran == ["risky new"]


async def test_a_turn_that_is_resumed_by_name_runs_under_what_was_asked_for_then(home: Path) -> None:
    await left_unfinished(home, begun=True)
    model = Danger()
    async with agent(home, provider=model.provider, tools=[model.tool]) as a, a.resume("s", approvals="auto") as stream:
        assert [event.status async for event in stream if event.type == "turn.finished"] == ["done"]
    assert model.ran == ["risky old"]


@pytest.mark.parametrize("withdrawn", [False, True])
async def test_a_message_without_options_runs_under_the_owners_own_where_the_last_turn_was_erased(home: Path, withdrawn: bool) -> None:
    model = Danger()
    async with agent(home, provider=model.provider, tools=[model.tool]) as a:
        await a.ask("first", session="s")
        await a._home.store.erase("s", None, "owner")
        inbound = Inbound(text="second", key="k", by="owner", channel="post", address="room", reply_to="room")
        if withdrawn:
            accepted = await a.desk._acceptance.queue("s", inbound)
            await a.desk.cancel("s", by="owner", message=accepted.entry)
        else:
            async with a.desk.turn("s", inbound) as stream:
                assert [event.body.status async for event in stream if event.body.type == "turn.finished"] == ["done"]
        assert (await a.ask("third", session="s")).status == "done"
        started = await a._home.store.read("s", kinds=("turn.started",))
    assert [entry.body.options.workspace for entry in started[1:]] == [str(home.parent / "work")] * 2
