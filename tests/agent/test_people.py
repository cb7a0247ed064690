"""Questions to people, parking, steering, queueing and cancelling."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw import Agent, tool
from neuralclaw.agent.call_questions import requested
from neuralclaw.errors import AlreadyAnswered, UnknownQuestion
from neuralclaw.testing import EventCapture, FunctionProvider, Reply, ScriptedProvider
from neuralclaw.types.entries import Draft
from neuralclaw.types.messages import Request, UserMessage
from neuralclaw.types.questions import Question, Shown
from tests.waiting import until

from .kit import agent, call, calls, events

pytestmark = pytest.mark.anyio

DELETE = calls(call("delete_file", path="a"))


@pytest.fixture
def victim(home: Path) -> Path:
    path = home.parent / "work" / "a"
    path.parent.mkdir()
    path.write_text("x")
    return path


async def answered_while_running(a: Agent, decide: Callable[[str], Awaitable[Any]], **options: Any) -> EventCapture:
    """Run a turn and hand the first question's id to `decide`."""
    seen = EventCapture()

    async with anyio.create_task_group() as tasks, a.turn("do it", **options) as stream:
        async for event in stream:
            seen.events.append(event)
            if event.body.type == "approval.requested":
                tasks.start_soon(decide, event.approval_id)
    return seen


@pytest.mark.invariant("gate.nobody-refuses")
async def test_with_nobody_to_ask_the_call_is_refused_and_the_turn_goes_on(home: Path, victim: Path) -> None:
    async with agent(home, DELETE, "could not") as a:
        seen = await events(a)
    end = seen.one("turn.finished")
    assert (end.status, end.text) == ("needs_approval", "could not")
    assert [(r.name, r.decision) for r in end.refused] == [("delete_file", "ask")]
    assert not seen.of("tool.started")
    assert not seen.of("approval.requested")
    assert victim.exists()


async def test_a_yes_runs_the_call_and_is_on_record(home: Path, victim: Path) -> None:
    async with agent(home, DELETE, "gone", approvals="ask", present=True) as a:
        seen = await answered_while_running(a, lambda q: a.answer(q, "once"))
    assert seen.one("approval.requested").action.show
    assert seen.one("approval.resolved").decision == "once"
    assert seen.one("decision").by != "policy"
    assert seen.one("turn.finished").status == "done"
    assert not victim.exists()


async def test_a_persons_no_is_told_to_the_model_and_is_no_refusal(home: Path, victim: Path) -> None:
    provider = ScriptedProvider(DELETE, "kept it")
    async with agent(home, provider=provider, approvals="ask", present=True) as a:
        seen = await answered_while_running(a, lambda q: a.answer(q, "no"))
    end = seen.one("turn.finished")
    assert (end.status, end.refused) == ("done", ())
    assert "no" in provider.requests[1].messages[-1].content
    assert victim.exists()


async def test_an_approver_sees_the_call_and_decides(home: Path, victim: Path) -> None:
    asked = []

    async def approver(question: Any) -> str:
        asked.append((question.call.name, question.call.arguments, bool(question.reasons)))
        return "no"

    async with agent(home, DELETE, "kept", approver=approver) as a:
        await events(a)
    assert asked == [("delete_file", {"path": "a"}, True)]
    assert victim.exists()


async def test_auto_says_yes_to_risk_and_never_to_what_is_forbidden(home: Path, victim: Path) -> None:
    replies = [DELETE, calls(call("terminal", command="sudo id")), "done"]
    async with agent(home, *replies, approvals="auto") as a:
        seen = await events(a)
    assert not victim.exists()
    assert seen.one("approval.resolved").by == "auto"
    assert seen.one("turn.finished").status == "denied"


async def test_a_parked_turn_costs_nothing_and_goes_on_under_its_number_once_answered(home: Path, victim: Path) -> None:
    async with agent(home, DELETE, approvals="park") as a:
        parked = await events(a, session="s")
        (question,) = await a.do("approvals.list")
        (row,) = await a.do("sessions.list")
    end = parked.one("turn.finished")
    assert (end.status, end.waiting) == ("needs_approval", (question["approval_id"],))
    assert row["state"] == "waiting"
    assert victim.exists()
    async with agent(home, "gone") as a:
        await a.answer(question["approval_id"], "once")
        async with a.resume("s") as stream:
            resumed = await EventCapture().drain(stream)
    end = resumed.one("turn.finished")
    assert (end.turn, end.status, end.text, end.waiting) == (1, "done", "gone", ())
    assert not victim.exists()
    assert not resumed.of("approval.requested")


@pytest.mark.invariant("gate.one-call")
@pytest.mark.invariant("gate.as-judged")
async def test_what_changed_since_the_question_is_asked_about_again(home: Path, victim: Path) -> None:
    async with agent(home, DELETE, approvals="park") as a:
        await events(a, session="s")
        (question,) = await a.do("approvals.list")
        await a.answer(question["approval_id"], "once")
    victim.write_text("precious now")
    async with agent(home, approvals="park") as a, a.resume("s") as stream:
        resumed = await EventCapture().drain(stream)
    assert resumed.one("approval.requested").approval_id != question["approval_id"]
    assert victim.read_text() == "precious now"


async def test_the_first_answer_wins_and_unknown_questions_are_named(home: Path, victim: Path) -> None:
    async with agent(home, DELETE, approvals="park") as a:
        await events(a)
        (question,) = await a.do("approvals.list")
        await a.answer(question["approval_id"], "no")
        with pytest.raises(AlreadyAnswered):
            await a.answer(question["approval_id"], "once")
        with pytest.raises(UnknownQuestion):
            await a.answer("nosuchquest", "once")


async def test_a_persons_message_to_a_parked_session_withdraws_the_question(home: Path, victim: Path) -> None:
    provider = ScriptedProvider(DELETE, "leaving it")
    async with agent(home, provider=provider, approvals="park", who="owner") as a:
        await events(a, session="s")
        seen = await events(a, "never mind", session="s")
    assert seen.one("approval.resolved").by == "withdrawn"
    assert seen.one("turn.finished").turn == 1
    assert UserMessage("never mind", "steering") in provider.requests[-1].messages
    assert victim.exists()


async def test_a_programs_message_to_a_parked_session_waits_for_the_answer(home: Path, victim: Path) -> None:
    async with agent(home, DELETE, "kept", "me too done", approvals="park") as a:
        await events(a, session="s")
        (question,) = await a.do("approvals.list")
        seen = await events(a, "me too", session="s", approvals="none")
        assert seen.one("inbound").text == "me too"
        assert seen.one("turn.finished").waiting == (question["approval_id"],)
        await a.answer(question["approval_id"], "no")
        async with a.resume("s") as stream:
            assert (await EventCapture().drain(stream)).one("turn.finished").text == "kept"
        async with a.resume("s") as stream:
            later = (await EventCapture().drain(stream)).one("turn.finished")
    assert (later.turn, later.text) == (2, "me too done")


async def test_whoever_takes_up_a_parked_turn_sees_its_question(home: Path, victim: Path) -> None:
    async with agent(home, DELETE, approvals="park") as a:
        parked = await events(a, session="s")
    asked = parked.one("approval.requested")
    seen = EventCapture()
    async with agent(home, "gone", approvals="ask", present=True) as a, a.resume("s") as stream:
        async for event in stream:
            seen.events.append(event)
            if event.type == "approval.requested":
                await a.answer(event.approval_id, "once")
    assert (seen.one("approval.requested").entry, seen.one("approval.requested").approval_id) == (asked.entry, asked.approval_id)
    assert seen.one("turn.finished").text == "gone"


async def test_a_session_answer_covers_the_next_call_of_its_kind_and_no_other(home: Path, victim: Path) -> None:
    (victim.parent / "b").write_text("y")
    replies = [DELETE, calls(call("delete_file", path="b")), "done"]
    asked = []

    async def approver(question: Any) -> str:
        asked.append(question.call.arguments["path"])
        return "session"

    async with agent(home, *replies, approver=approver) as a:
        seen = await events(a, session="s")
    assert asked == ["a"]
    assert seen.one("turn.finished").status == "done"
    assert not victim.exists()


async def test_a_steering_message_is_seen_before_the_next_model_call(home: Path) -> None:
    started, go = anyio.Event(), anyio.Event()

    @tool(risk="LOW", effect="pure")
    async def work() -> str:
        "Work until told."
        started.set()
        await go.wait()
        return "worked"

    provider = ScriptedProvider(calls(call("work")), "both done")
    async with agent(home, provider=provider, tools=[work]) as a:

        async def interrupt() -> None:
            await started.wait()
            await a.steer("also greet me", session="s")
            go.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(interrupt)
            seen = await events(a, session="s")
    assert provider.requests[1].messages[-1] == UserMessage("also greet me", "steering")
    assert len(seen.of("turn.finished")) == 1
    assert seen.one("turn.finished").text == "both done"


async def test_a_message_during_the_last_reply_keeps_the_turn_open(home: Path) -> None:
    opened: list[Agent] = []

    async def reply(request: Request) -> Reply:
        if len(provider.requests) == 1:
            await opened[0].steer("one more thing", session="s")
            return Reply("first answer")
        return Reply("second answer")

    provider = FunctionProvider(reply)
    async with agent(home, provider=provider) as a:
        opened.append(a)
        seen = await events(a, session="s")
    assert seen.one("turn.finished").text == "second answer"


@pytest.mark.invariant("sessions.one-turn")
async def test_a_second_turn_of_a_busy_session_waits_for_the_first(home: Path) -> None:
    first_running, go = anyio.Event(), anyio.Event()
    open_turns = []

    async def reply(request: Request) -> Reply:
        text = request.messages[-1].text
        open_turns.append(text)
        if text == "first":
            first_running.set()
            await go.wait()
        return Reply(f"answer to {text}")

    answers = {}
    async with agent(home, provider=FunctionProvider(reply)) as a:

        async def run(text: str) -> None:
            answers[text] = (await a.ask(text, session="s")).text

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "first")
            await first_running.wait()
            tasks.start_soon(run, "second")
            await until(lambda: _inbounds(a, 2))
            assert open_turns == ["first"]
            go.set()
    assert answers == {"first": "answer to first", "second": "answer to second"}


async def _inbounds(a: Agent, count: int) -> bool:
    shown = await a.do("sessions.show", session="s")
    return sum(e["type"] == "inbound" for e in shown["events"]) == count


@pytest.mark.invariant("journal.one-result")
async def test_a_cancel_stops_the_tool_within_a_second_and_is_recorded(home: Path) -> None:
    started = anyio.Event()
    stopped = []

    @tool(risk="LOW", effect="pure", timeout=None)
    async def forever() -> None:
        "Never end."
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            stopped.append(True)

    async with agent(home, calls(call("forever")), tools=[forever]) as a:

        async def cancel() -> None:
            await started.wait()
            await a.cancel("s")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel)
            with anyio.fail_after(1):
                seen = await events(a, session="s")
        assert seen.one("turn.finished").status == "cancelled"
        assert seen.one("tool.finished").ok is False
        assert seen.one("cancel").by == "program"
        assert stopped


async def test_leaving_the_stream_early_cancels_the_turn(home: Path) -> None:
    @tool(risk="LOW", effect="pure", timeout=None)
    async def forever() -> None:
        "Never end."
        await anyio.sleep_forever()

    async with agent(home, calls(call("forever")), tools=[forever]) as a:
        async with a.turn("go", session="s") as stream:
            async for event in stream:
                if event.body.type == "tool.started":
                    break
        shown = await a.do("sessions.show", session="s")
    assert shown["events"][-1]["status"] == "cancelled"
    assert shown["state"] == "idle"


async def test_when_everybody_leaves_open_questions_are_refused(home: Path, victim: Path) -> None:
    async with agent(home, DELETE, "could not", approvals="ask", present=True) as a:
        seen = await answered_while_running(a, lambda _: a.leave("s"), session="s")
    assert seen.one("turn.finished").status == "needs_approval"
    assert victim.exists()


@pytest.mark.invariant("gate.expired-refuses")
async def test_an_expired_question_is_answered_no_and_the_turn_goes_on_without_the_call(home: Path, victim: Path) -> None:
    async with agent(home, DELETE, approvals="park", settings={"approvals.expire_days": 1e-9}) as a:
        question = (await events(a, session="s")).one("approval.requested")
    async with agent(home, "it was not deleted") as a, a.resume("s") as stream:
        resumed = await EventCapture().drain(stream)
    assert resumed.one("approval.resolved").approval_id == question.approval_id
    assert (resumed.one("approval.resolved").decision, resumed.one("approval.resolved").by) == ("no", "expired")
    assert resumed.one("turn.finished").text == "it was not deleted"
    assert victim.exists()


async def test_a_late_yes_to_an_expired_question_counts_for_nothing(home: Path, victim: Path) -> None:
    async with agent(home, DELETE, approvals="park", settings={"approvals.expire_days": 1e-9}) as a:
        question = (await events(a, session="s")).one("approval.requested")
        with pytest.raises(AlreadyAnswered, match="expired"):
            await a.answer(question.approval_id, "once")
    assert victim.exists()


async def test_a_question_whose_time_is_over_is_listed_no_more_and_its_session_waits_for_nobody(home: Path, victim: Path) -> None:
    async with agent(home, DELETE, DELETE, approvals="park") as a:
        await events(a, session="open")
        assert [q["session"] for q in await a.do("approvals.list")] == ["open"]
        assert {row["session"]: row["state"] for row in await a.do("sessions.list")} == {"open": "waiting"}
    async with agent(home, DELETE, approvals="park", settings={"approvals.expire_days": 1e-9}) as a:
        await events(a, session="over")
        assert [q["session"] for q in await a.do("approvals.list")] == ["open"]

        async def states() -> bool:  # the run gives its session back when its sender has heard of the question
            return {row["session"]: row["state"] for row in await a.do("sessions.list")} == {"open": "waiting", "over": "unfinished"}

        await until(states)
    async with agent(home, "kept", "then this") as a:
        async with a.turn("and now?", session="over") as stream:
            seen = await EventCapture().drain(stream)
        assert seen.of("turn.finished")[-1].text == "then this"
        assert (await a.do("sessions.show", session="over"))["state"] == "idle"
    assert victim.exists()


@pytest.mark.invariant("gate.nobody-refuses")
async def test_an_approver_that_fails_counts_as_nobody(home: Path, victim: Path) -> None:
    async def broken(question: Any) -> str:
        raise RuntimeError("no")

    async with agent(home, DELETE, "kept", approver=broken) as a:
        seen = await events(a)
    assert seen.one("approval.resolved").by == "nobody"
    assert seen.one("turn.finished").status == "needs_approval"
    assert victim.exists()


async def test_who_comes_after_somebody_left_is_asked_again(home: Path, victim: Path) -> None:
    replies = [DELETE, "could not", DELETE, "gone"]
    async with agent(home, *replies, approvals="ask", present=True) as a:
        await answered_while_running(a, lambda _: a.leave("s"), session="s")
        assert victim.exists()
        seen = await answered_while_running(a, lambda q: a.answer(q, "once"), session="s")
    assert seen.one("turn.finished").text == "gone"
    assert not victim.exists()


async def test_a_question_that_is_not_on_record_is_an_unknown_question(home: Path) -> None:
    question = Question(approval_id="nosuchquest", action=Shown(tool="", show="Which one?"), expires=2e9)
    async with agent(home) as a:
        with pytest.raises(UnknownQuestion, match="nosuchquest"):
            await a._desk._asker.ask("s", question, "ask")


async def test_a_question_may_be_about_no_call(home: Path) -> None:
    async with agent(home, "done") as a:
        await a.ask("go", session="s")
        asked = requested(Question(approval_id="whichcolor", kind="choice", action=Shown(tool="", show="Which colour?"), expires=2e9))
        await a._home.store.append("s", [Draft(1, asked)])
        (listed,) = await a.do("approvals.list")
        assert (listed["call_id"], listed["risk"], listed["tier"]) == (None, None, None)
        await a.answer("whichcolor", "once")
        assert await a.do("approvals.list") == []
        assert (await a.do("sessions.show", session="s"))["state"] == "idle"
