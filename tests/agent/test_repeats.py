"""Calls that are looked at a second time: one that began in an earlier run, and one that waited for its neighbours."""

from pathlib import Path

import pytest

from neuralclaw import tool
from neuralclaw.agent.loop import run_turn
from neuralclaw.testing import EventCapture, ScriptedProvider
from neuralclaw.tool import ProbeResult
from neuralclaw.types.entries import Entry
from neuralclaw.types.events import ApprovalResolved, Message, ToolFinished, ToolStarted
from neuralclaw.types.grants import Grant
from neuralclaw.types.messages import ToolCall, Usage
from neuralclaw.types.risk import Effect, Risk, Tier
from neuralclaw.types.tools import ToolContext, ToolResult

from ..store.kit import opened
from .kit import agent, call, calls, events
from .turns import begin_turn

pytestmark = pytest.mark.anyio


async def resumed(home: Path, found: ProbeResult) -> tuple[list[Entry], int]:
    """A turn that is gone on with after its `reconcilable` call began, whose tool finds this: the entries after it, and how often the tool ran."""
    ran = 0

    @tool(risk="LOW", effect="reconcilable")
    async def send() -> str:
        "Send it."
        nonlocal ran
        ran += 1
        return "sent anew"

    @send.probed_by
    async def probe(grant: Grant, ctx: ToolContext) -> ProbeResult:
        return found

    async with opened(home) as store:
        turn = await begin_turn(store, ScriptedProvider("done"), tools=[send])
        await turn.record.journal.append(Message(text="", tool_calls=(ToolCall("c1", "send"),), stop="tools", model="test:model", usage=Usage()))
        await turn.record.journal.append(ToolStarted(call_id="c1", name="send", arguments={}, risk=Risk.LOW, tier=Tier.READ, effect=Effect.RECONCILABLE))
        await run_turn(turn)
        return await store.read("s", after=4), ran


@pytest.mark.invariant("journal.finished-once")
async def test_an_interrupted_call_that_is_found_to_have_happened_has_that_result_and_does_not_run(home: Path) -> None:
    entries, ran = await resumed(home, ToolResult(content="sent before"))
    assert [e.header.kind for e in entries] == ["tool.finished", "message", "turn.finished"]
    (end,) = [e.body for e in entries if isinstance(e.body, ToolFinished)]
    assert (end.ok, end.content, ran) == (True, "sent before", 0)


async def test_an_interrupted_call_that_is_found_not_to_have_happened_runs_without_a_question(home: Path) -> None:
    entries, ran = await resumed(home, False)
    assert [e.header.kind for e in entries] == ["decision", "tool.started", "tool.finished", "message", "turn.finished"]
    assert [e.body.attempt for e in entries if isinstance(e.body, ToolStarted)] == [2]
    assert ran == 1


@pytest.mark.invariant("journal.unfinished-asked")
async def test_an_interrupted_call_of_which_nothing_can_be_found_out_is_left_where_nobody_can_be_asked(home: Path) -> None:
    entries, ran = await resumed(home, None)
    (end,) = [e.body for e in entries if isinstance(e.body, ToolFinished)]
    assert end.content.startswith("may have happened")
    assert ran == 0


@pytest.mark.invariant("gate.as-judged")
async def test_a_call_that_waited_for_another_is_judged_as_that_one_left_things(home: Path) -> None:
    writes = calls(call("write_file", path="a.txt", content="one"), call("write_file", path="a.txt", content="two"))
    async with agent(home, writes, "written") as a:
        seen: EventCapture = await events(a)
    first, second = seen.of("tool.started")
    assert [start.before for start in (first, second)] != [first.before, first.before], "the second was judged with the file that the first made"
    assert [end.ok for end in seen.of("tool.finished")] == [True, True]
    assert (home.parent / "work" / "a.txt").read_text() == "two"


async def test_a_question_about_a_call_that_will_not_run_needs_no_answer_any_more(home: Path) -> None:
    async with agent(home, calls(call("delete_file", path="x")), approvals="park") as a:
        (home.parent / "work" / "x").write_text("x")
        await events(a, session="s")
        assert len(await a.do("approvals.list")) == 1
        await a.cancel("s")
        assert await a.do("approvals.list") == []
        [answer] = await a._home.store.read("s", kinds=("approval.resolved",))
        assert isinstance(answer.body, ApprovalResolved)
        assert answer.body.by == "cancelled"
        async with a.resume("s") as stream:
            seen = await EventCapture().drain(stream)
    assert seen.one("turn.finished").status == "cancelled"
