"""What is no message, and what waits for an answer that no approver gives."""

import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw import Image, Request
from neuralclaw.errors import AgentError, UsageError
from neuralclaw.testing import FunctionProvider, Reply
from neuralclaw.types.planned_commands import NOUNS, VERBS
from tests.waiting import until

from ..agent.kit import agent, call, calls

pytestmark = pytest.mark.anyio
DELETE = calls(call("delete_file", path="a"))
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000" + "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


@pytest.mark.parametrize("blank", ["", " ", "\n\t \n"])
async def test_a_blank_message_is_refused_in_every_way_and_nothing_is_recorded_or_asked(home: Path, blank: str) -> None:
    asked: list[Request] = []

    async def model(request: Request) -> Reply:
        asked.append(request)
        return Reply("fine")

    async with agent(home, provider=FunctionProvider(model)) as a:
        await a.ask("hello", session="s")
        before = await a.do("sessions.show", session="s")

        async def turned() -> None:
            async with a.turn(blank, session="s"):
                pass

        async def resumed() -> None:
            async with a.resume("s", text=blank):
                pass

        ways: tuple[Any, ...] = (
            lambda: a.ask(blank, session="s"),
            lambda: a.ask(blank),
            turned,
            resumed,
            lambda: a.steer(blank, session="s"),
            lambda: a.do("run", task=blank, session="s"),
            lambda: a.do("sessions.send", session="s", text=blank),
        )
        for way in ways:
            with pytest.raises(UsageError, match="the message is empty; nothing was recorded"):
                await way()
        assert await a.do("sessions.show", session="s") == before
        assert [row["session"] for row in await a.do("sessions.list")] == ["s"]
    assert len(asked) == 1


async def test_pictures_alone_are_a_message(home: Path) -> None:
    async with agent(home, "seen", "seen") as a:
        assert (await a.ask("", images=[Image("image/png", PNG)])).text == "seen"
        assert (await a.do("run", task="", images=[PNG]))["text"] == "seen"


@pytest.mark.parametrize("given", [1, "x", len, object()])
async def test_what_is_no_tool_is_a_usage_error_that_says_what_one_is(home: Path, given: object) -> None:
    with pytest.raises(UsageError, match="is not a tool") as refused:
        async with agent(home, tools=[given]):
            pass
    assert "@tool" in refused.value.hint


async def test_every_command_that_is_promised_is_said_to_be_not_available_yet(home: Path) -> None:
    async with agent(home) as a:
        for verb in (*NOUNS, *(f"{noun}.show" for noun in NOUNS), *(f"{noun}.{verb}" for noun, verbs in VERBS.items() for verb in verbs)):
            with pytest.raises(UsageError, match=f"{verb} is not available yet"):
                await a.do(verb)


async def test_recover_takes_the_approvals_that_the_command_takes(home: Path) -> None:
    (home.parent / "work").mkdir()
    (home.parent / "work" / "a").write_text("x")
    async with agent(home, DELETE, approvals="ask") as a, anyio.create_task_group() as tasks:
        tasks.start_soon(stopped_with_the_agent, a, "s")
        await until(lambda: a.do("approvals.list"))
        a.closing()
    async with agent(home, "gone") as a:
        end = (await a.do("recover", approvals="auto"))[-1]
    assert (end["type"], end["status"]) == ("turn.finished", "done")
    assert not (home.parent / "work" / "a").exists()


async def stopped_with_the_agent(a: Any, session: str) -> None:
    with pytest.raises(AgentError, match="closed"):
        await a.ask("go", session=session, timeout=1)


async def test_a_question_that_no_approver_answers_waits_without_running_time_and_ends_with_the_agent(home: Path) -> None:
    (home.parent / "work").mkdir()
    (home.parent / "work" / "a").write_text("x")
    async with agent(home, DELETE, "gone", approvals="ask") as a:
        assert "no one can answer here" in a.notices[-1]
        assert "up to 7 days" in a.notices[-1]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stopped_with_the_agent, a, "s")
            await until(lambda: a.do("approvals.list"))
            later = time.monotonic() + 1.1  # the turn may run for 1 s
            await until(lambda: time.monotonic() > later)
            (question,) = await a.do("approvals.list")
            assert (question["session"], (await a.do("sessions.show", session="s"))["state"]) == ("s", "running")
            with anyio.fail_after(5):
                a.closing()
    async with agent(home, "gone") as a:
        await a.answer(question["approval_id"], "once")
        async with a.resume("s") as events:
            end = [event.to_dict() async for event in events][-1]
    assert (end["status"], end["text"], end["duration_ms"] < 1000) == ("done", "gone", True)


async def test_an_agent_with_an_approver_or_another_mode_has_no_such_notice(home: Path) -> None:
    async def approver(question: object) -> Any:
        return "no"

    async with agent(home, approver=approver) as a:
        assert a.notices == ()
    async with agent(home, approvals="park") as a:
        assert a.notices == ()


async def test_a_single_call_takes_the_approvals_and_the_trust_that_the_command_takes(home: Path) -> None:
    work = home.parent / "work"
    work.mkdir()
    (work / "a").write_text("x")
    async with agent(home) as a:
        assert (await a.do("tools.call", name="delete_file", arguments={"path": "a"}))["ok"] is False
        assert (await a.do("tools.call", name="delete_file", arguments={"path": "a"}, approvals="auto"))["ok"] is True
        outside = {"name": "terminal", "arguments": {"command": "curl http://93.184.216.34"}, "dry_run": True}
        verdicts = [await a.do("tools.call", **outside, trust=trust) for trust in ("low", "high")]
        assert [(one["decision"], [rule["id"] for rule in one["rules"]]) for one in verdicts] == [("ask", ["tier.execute"]), ("allow", [])]
        with pytest.raises(UsageError, match=r"trust of tools\.call cannot be 'total'"):
            await a.do("tools.call", **outside, trust="total")
    assert not (work / "a").exists()
