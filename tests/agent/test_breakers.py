"""The circuit breakers: each stops the turn, says which one it was and what was done so far."""

from pathlib import Path

import anyio
import pytest

from neuralclaw import tool
from neuralclaw.testing import FunctionProvider, Reply, ScriptedProvider
from neuralclaw.types.messages import Request

from .kit import agent, call, calls, events

pytestmark = pytest.mark.anyio


async def test_the_iteration_limit_fires_before_the_eleventh_model_call(home: Path) -> None:
    async def counting(request: Request) -> Reply:
        return calls(call("echo", text=str(len(request.messages))))

    provider = FunctionProvider(counting)
    async with agent(home, provider=provider) as a:
        seen = await events(a)
    assert len(provider.requests) == 10
    limit, end = seen.one("limit"), seen.one("turn.finished")
    assert (limit.kind, end.status) == ("iterations", "limit")
    assert end.text == limit.text
    assert end.text == (
        "Stopped at the limit of 10 model calls in a turn. Done so far: 10 tool calls (echo 10 times). "
        'Say "go on" to continue; --max-iterations N or agent.max_iterations_per_turn raises the limit.'
    )


async def test_max_iterations_of_a_turn_counts_instead(home: Path) -> None:
    async with agent(home, calls(call("echo", text="1")), calls(call("echo", text="2"))) as a:
        seen = await events(a, max_iterations=2)
    assert seen.one("limit").kind == "iterations"


async def test_an_answer_at_the_last_allowed_call_is_an_answer(home: Path) -> None:
    async with agent(home, calls(call("echo", text="1")), "done") as a:
        seen = await events(a, max_iterations=2)
    assert seen.one("turn.finished").status == "done"


async def test_the_second_identical_call_in_a_row_is_not_run_and_ends_the_turn(home: Path) -> None:
    async with agent(home, calls(call("echo", text="a")), calls(call("echo", text="a"))) as a:
        seen = await events(a)
    first, second = seen.of("tool.finished")
    assert (first.ok, second.ok) == (True, False)
    assert len(seen.of("tool.started")) == 1
    assert seen.one("limit").kind == "repeats"
    end = seen.one("turn.finished")
    assert end.status == "limit"
    assert end.text == (
        "Stopped at the same call of echo for the 2nd time in a row. Done so far: 1 tool call (echo), 1 not run. "
        'Say what to do differently, or "go on" to continue; agent.max_repeated_calls allows more.'
    )


async def test_the_same_call_with_another_between_is_no_repeat(home: Path) -> None:
    replies = [calls(call("echo", text="a")), calls(call("echo", text="b")), calls(call("echo", text="a")), "ok"]
    async with agent(home, *replies) as a:
        seen = await events(a)
    assert seen.one("turn.finished").status == "done"


@pytest.mark.invariant("journal.one-result")
async def test_a_repeat_inside_one_reply_leaves_every_call_one_result(home: Path) -> None:
    async with agent(home, calls(call("echo", text="a"), call("echo", text="a"), call("echo", text="b"))) as a:
        seen = await events(a)
    assert [e.ok for e in seen.of("tool.finished")] == [True, False, False]
    assert seen.one("limit").kind == "repeats"


async def test_the_third_error_in_a_row_ends_the_turn(home: Path) -> None:
    replies = [calls(call("read_file", path=f"missing{n}")) for n in range(3)]
    async with agent(home, *replies) as a:
        seen = await events(a)
    assert seen.one("limit").kind == "errors"
    text = seen.one("turn.finished").text
    assert text.startswith("Stopped at 3 errors in a row, the last one: ")
    assert "missing2" in text
    assert "Done so far: 3 tool calls (read_file 3 times), 3 failed." in text
    assert text.endswith("agent.max_consecutive_errors allows more.")


async def test_a_success_between_errors_begins_the_row_anew(home: Path) -> None:
    bad = [calls(call("read_file", path=f"missing{n}")) for n in range(4)]
    async with agent(home, bad[0], bad[1], calls(call("echo", text="x")), bad[2], bad[3], "ok") as a:
        seen = await events(a)
    assert seen.one("turn.finished").status == "done"


async def test_refusals_are_no_errors(home: Path) -> None:
    forbidden = [calls(call("terminal", command=f"sudo ls {n}")) for n in range(4)]
    async with agent(home, *forbidden, "gave up") as a:
        seen = await events(a)
    end = seen.one("turn.finished")
    assert (end.status, end.text, len(end.refused)) == ("denied", "gave up", 4)


async def test_the_time_limit_stops_a_running_tool_and_says_so(home: Path) -> None:
    @tool(risk="LOW", effect="pure", timeout=None)
    async def forever() -> None:
        "Never end."
        await anyio.sleep_forever()

    async with agent(home, calls(call("forever")), tools=[forever]) as a:
        with anyio.fail_after(5):
            seen = await events(a, timeout=0.2)
    assert seen.one("limit").kind == "time"
    end = seen.one("turn.finished")
    assert end.status == "timed_out"
    assert end.text.startswith("Stopped at the limit of 0.2 s for a turn. Done so far: 1 tool call (forever), 1 stopped. Say")
    assert "--timeout SECONDS" in end.text
    assert seen.one("tool.finished").ok is False
    assert end.duration_ms >= 200


async def test_a_reply_cut_at_its_output_limit_is_no_answer_and_its_calls_are_not_run(home: Path) -> None:
    async with agent(home, Reply("half", tool_calls=[call("echo", text="x")], stop="length")) as a:
        seen = await events(a)
    assert not seen.of("tool.started")
    assert seen.one("limit").kind == "output"
    assert seen.one("turn.finished").status == "limit"


async def test_waiting_for_a_person_does_not_count_as_running_time(home: Path) -> None:
    async def slow_yes(_: object) -> str:
        await anyio.sleep(0.5)
        return "once"

    (home.parent / "work").mkdir()
    (home.parent / "work" / "a").write_text("x")
    provider = ScriptedProvider(calls(call("delete_file", path="a")), "gone")
    async with agent(home, provider=provider, approver=slow_yes) as a:
        seen = await events(a, timeout=0.45)
    end = seen.one("turn.finished")
    assert end.status == "done"
    assert end.duration_ms < 450
