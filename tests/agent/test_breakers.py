"""The circuit breakers: each stops the turn, says which one it was and what was done so far."""

from pathlib import Path

import anyio
import pytest

from neuralclaw import tool
from neuralclaw.agent.circuit_breakers import too_many_errors
from neuralclaw.agent.state import TurnState
from neuralclaw.testing import FunctionProvider, Reply, ScriptedProvider
from neuralclaw.types.events import Message
from neuralclaw.types.messages import Request
from neuralclaw.types.options import Limits

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


def missing(*numbers: int) -> Reply:
    return calls(*(call("read_file", path=f"missing{n}") for n in numbers))


async def test_errors_of_one_reply_are_read_by_the_model_before_they_end_a_turn(home: Path) -> None:
    async with agent(home, missing(1, 2, 3, 4), "they are not there") as a:
        seen = await events(a)
    end = seen.one("turn.finished")
    assert (end.status, end.text) == ("done", "they are not there")
    assert ["not found" in e.error for e in seen.of("tool.finished")] == [True] * 4


async def test_one_more_error_after_those_of_one_reply_ends_the_turn(home: Path) -> None:
    provider = ScriptedProvider(missing(1, 2, 3), missing(4, 5))
    async with agent(home, provider=provider) as a:
        seen = await events(a)
    assert len(provider.requests) == 2
    assert seen.one("limit").kind == "errors"
    text = seen.one("turn.finished").text
    assert text.startswith(f"Stopped at {len(seen.of('tool.started'))} errors in a row, the last one: missing")


async def test_calls_left_out_behind_too_many_errors_are_not_counted_as_errors(home: Path) -> None:
    unknown = [call(f"nothing{n}") for n in range(4)]
    async with agent(home, missing(1), calls(*unknown[:2], call("echo", text="x"), *unknown[2:])) as a:
        seen = await events(a)
    assert not [e for e in seen.of("tool.started") if e.name == "echo"]
    text = seen.one("turn.finished").text
    assert text.startswith("Stopped at 3 errors in a row, the last one: there is no tool named 'nothing1'")


async def test_a_success_among_the_errors_of_one_reply_begins_the_row_anew(home: Path) -> None:
    mixed = calls(call("read_file", path="a"), call("echo", text="x"), call("read_file", path="b"))
    async with agent(home, missing(1, 2), mixed, missing(3), "ok") as a:
        seen = await events(a)
    assert seen.one("turn.finished").status == "done"


async def test_a_call_that_has_not_run_yet_ends_the_row_of_errors_before_it(home: Path) -> None:
    mixed = calls(call("echo", text="x"), call("nothing1"), call("nothing2"), call("echo", text="y"))
    async with agent(home, missing(1), mixed, "ok") as a:
        seen = await events(a)
    assert [e.ok for e in seen.of("tool.finished") if e.name == "echo"] == [True, True]
    assert seen.one("turn.finished").status == "done"


async def test_a_limit_of_one_error_ends_the_turn_at_the_first(home: Path) -> None:
    async with agent(home, missing(1), settings={"agent.max_consecutive_errors": 1}) as a:
        seen = await events(a)
    assert seen.one("turn.finished").text.startswith("Stopped at 1 error in a row, the last one: missing1")


async def test_the_row_of_errors_is_the_same_when_its_entries_are_folded_again(home: Path) -> None:
    limits = Limits()
    async with agent(home, missing(1, 2, 3), missing(4)) as a:
        await events(a, session="s")
        record = await a._home.store.read("s")
    second = next(e.entry for e in record if isinstance(e.body, Message) and e.body.tool_calls[0].arguments["path"] == "missing4")
    before = TurnState.fold(1, [e for e in record if e.entry < second])
    assert (len(before.error_row), too_many_errors(before, limits)) == (3, False)
    after = TurnState.fold(1, record)
    assert (len(after.error_row), too_many_errors(after, limits)) == (4, True)


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
