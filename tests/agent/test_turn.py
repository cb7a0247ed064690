"""A turn from the message to its end, with a scripted model and everything else real."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw import tool
from neuralclaw.testing import FunctionProvider, Reply, ScriptedProvider
from neuralclaw.types.content import MAX_NESTING
from neuralclaw.types.messages import Failure, Finished, ModelEvent, ModelInfo, ModelReply, ReasoningState, Request, ToolMessage, UserMessage

from .kit import agent, call, calls, events

pytestmark = pytest.mark.anyio


async def test_a_turn_thinks_acts_observes_and_answers_with_every_step_on_record(home: Path) -> None:
    async with agent(home, calls(call("calculate", expression="6*7")), "It is 42.") as a:
        seen = await events(a, "what is 6*7", session="s")
        shown = await a.do("sessions.show", session="s")
    durable = [e for e in seen.types if e != "text.delta"]
    assert durable == ["inbound", "turn.started", "message", "decision", "tool.started", "tool.finished", "message", "turn.finished"]
    assert "".join(e.text for e in seen.of("text.delta")) == "It is 42."
    assert seen.one("tool.finished").content == "42"
    end = seen.one("turn.finished")
    assert (end.status, end.text, end.refused, end.waiting) == ("done", "It is 42.", (), ())
    assert [e.seq for e in seen.events] == list(range(1, len(seen.events) + 1))
    assert [e["type"] for e in shown["events"]] == durable
    assert [e["entry"] for e in shown["events"]] == list(range(1, len(durable) + 1))
    assert [e.entry for e in seen.events if e.entry is not None] == list(range(1, len(durable) + 1))


@pytest.mark.invariant("journal.one-result")
async def test_results_stand_in_the_order_of_the_calls_whatever_order_they_finish_in(home: Path) -> None:
    second_done = anyio.Event()

    @tool(risk="LOW", effect="pure")
    async def slow() -> str:
        "Wait for the other one."
        await second_done.wait()
        return "slow"

    @tool(risk="MEDIUM", effect="pure")
    async def fast() -> str:
        "Be done at once."
        second_done.set()
        return "fast"

    provider = ScriptedProvider(calls(call("slow"), call("fast")), "done")
    async with agent(home, provider=provider, tools=[slow, fast]) as a:
        with anyio.fail_after(5):  # run one after the other, `slow` would wait for ever
            seen = await events(a)
    assert [e.content for e in seen.of("tool.finished")] == ["fast", "slow"]
    results = [m.content for m in provider.requests[1].messages if isinstance(m, ToolMessage)]
    assert results == ["slow", "fast"]


async def test_a_high_risk_call_waits_for_those_before_it_and_holds_those_after_it(home: Path) -> None:
    running: list[str] = []
    order: list[str] = []

    async def work(name: str) -> str:
        running.append(name)
        order.append(f"{name} begins beside {sorted(set(running) - {name})}")
        await anyio.lowlevel.checkpoint()
        running.remove(name)
        return name

    @tool(risk="LOW", effect="pure")
    async def low(name: str) -> str:
        "Low."
        return await work(name)

    @tool(risk="HIGH", effect="pure")
    async def high(name: str) -> str:
        "High."
        return await work(name)

    async def yes(_: object) -> str:
        return "once"

    reply = calls(call("low", name="a"), call("low", name="b"), call("high", name="c"), call("low", name="d"))
    async with agent(home, reply, "done", tools=[low, high], approver=yes, trust="high") as a:
        seen = await events(a)
    assert order == ["a begins beside []", "b begins beside ['a']", "c begins beside []", "d begins beside []"]
    assert len(seen.of("tool.finished")) == 4


@pytest.mark.invariant("journal.one-result")
async def test_one_failing_call_never_loses_the_others(home: Path) -> None:
    @tool(risk="LOW", effect="pure")
    async def broken() -> str:
        "Fail."
        raise ValueError("no luck")

    async with agent(home, calls(call("broken"), call("echo", text="hi")), "done", tools=[broken]) as a:
        seen = await events(a)
    by_name = {e.name: e for e in seen.of("tool.finished")}
    assert by_name["echo"].content == "hi"
    assert by_name["broken"].content.startswith("ERROR: ")
    assert "no luck" in by_name["broken"].content
    assert seen.one("turn.finished").status == "done"


@pytest.mark.invariant("gate.unknown-refuses")
async def test_unknown_tools_and_unfit_arguments_go_back_to_the_model_and_are_no_refusal(home: Path) -> None:
    provider = ScriptedProvider(calls(call("no_such_tool"), call("calculate", expresion="1")), "sorry")
    async with agent(home, provider=provider) as a:
        seen = await events(a)
    first, second = [m.content for m in provider.requests[1].messages if isinstance(m, ToolMessage)]
    assert first.startswith("ERROR: ")
    assert "calculate" in first
    assert "expression" in second
    assert seen.one("turn.finished").status == "done"
    assert not seen.of("tool.started")


async def test_arguments_that_are_no_json_are_never_echoed(home: Path) -> None:
    provider = ScriptedProvider(calls({"name": "echo", "arguments": {}, "error": "the arguments were not JSON"}), "ok")
    async with agent(home, provider=provider) as a:
        await events(a)
    sent = provider.requests[1].messages
    assert sent[1].tool_calls[0].arguments == {}
    assert sent[2].content == "ERROR: the arguments were not JSON"


async def test_call_ids_are_the_providers_made_unique_in_the_session(home: Path) -> None:
    same = calls(call("echo", "call_1", text="a"))
    again = calls(call("echo", "call_1", text="b"))
    async with agent(home, same, "one", again, "two") as a:
        first = await events(a, session="s")
        second = await events(a, session="s")
    assert first.one("tool.finished").call_id == "call_1"
    assert second.one("tool.finished").call_id != "call_1"


async def test_a_model_failure_is_told_and_is_no_answer(home: Path) -> None:
    failure = Reply("half an ans", failure=Failure("LLMAuthError", "the key was refused"))
    async with agent(home, failure) as a:
        seen = await events(a)
    assert not seen.of("message")
    end = seen.one("turn.finished")
    assert (end.status, end.text, end.error.kind, end.error.text) == ("failed", "", "LLMAuthError", "the key was refused")
    assert seen.one("error").kind == "LLMAuthError"


async def test_a_promise_without_a_call_is_asked_once_to_go_on(home: Path) -> None:
    provider = ScriptedProvider("Let me look at the files.", "There are none.")
    async with agent(home, provider=provider) as a:
        seen = await events(a)
    assert len(seen.of("nudge")) == 1
    assert isinstance(provider.requests[1].messages[-1], UserMessage)
    assert seen.one("turn.finished").text == "There are none."


async def test_an_answer_that_promises_nothing_is_not_nudged(home: Path) -> None:
    async with agent(home, "Let me know if you need more.") as a:
        seen = await events(a)
    assert not seen.of("nudge")
    assert seen.one("turn.finished").status == "done"


async def test_a_new_process_sees_the_same_history(home: Path) -> None:
    async with agent(home, calls(call("echo", text="x")), "one") as a:
        await events(a, "first", session="s")
    provider = ScriptedProvider("two")
    async with agent(home, provider=provider) as a:
        await events(a, "second", session="s")
    kinds = [type(m).__name__ for m in provider.requests[0].messages]
    assert kinds == ["UserMessage", "AssistantMessage", "ToolMessage", "AssistantMessage", "UserMessage"]


async def test_a_long_result_is_shortened_with_the_notice_and_read_result_has_the_rest(home: Path) -> None:
    @tool(risk="LOW", effect="pure")
    async def much() -> str:
        "Say much."
        return "x" * 85_000

    provider = ScriptedProvider(calls(call("much", "c1")), calls(call("read_result", call_id="c1", offset=40_000)), "ok")
    async with agent(home, provider=provider, tools=[much]) as a:
        seen = await events(a)
    first, second = seen.of("tool.finished")
    assert first.content.endswith("[OUTPUT TRUNCATED: Showing 40,000 of 85,000 characters from much]")
    assert first.truncated
    assert second.ok
    assert len(second.content) <= 40_000
    assert "remain" in second.content.splitlines()[-1]


async def test_a_silent_success_reads_no_output(home: Path) -> None:
    @tool(risk="LOW", effect="pure")
    async def quiet() -> None:
        "Say nothing."

    async with agent(home, calls(call("quiet")), "ok", tools=[quiet]) as a:
        seen = await events(a)
    assert seen.one("tool.finished").content == "(no output)"


@pytest.mark.invariant("journal.inbound-once")
async def test_the_same_key_is_accepted_once(home: Path) -> None:
    async with agent(home, "one answer") as a:
        first = await events(a, "hello", session="s", key="update-7")
        second = await events(a, "hello", session="s", key="update-7")
        shown = await a.do("sessions.show", session="s")
    assert first.one("turn.finished").text == second.one("turn.finished").text == "one answer"
    assert sum(e["type"] == "inbound" for e in shown["events"]) == 1


async def test_what_a_tool_wrote_is_recorded_with_its_image_before(home: Path) -> None:
    async with agent(home, calls(call("write_file", path="a.txt", content="new")), "ok") as a:
        (home.parent / "work" / "a.txt").write_text("old")
        seen = await events(a)
    change = seen.one("tool.finished").changes[0]
    assert (home.parent / "work" / "a.txt").read_text() == "new"
    assert next((home / "preimages").rglob(f"*{(change.before or '')[2:]}")).read_text() == "old"


@pytest.mark.parametrize("error", [ValueError("no luck"), SystemExit("no luck")], ids=repr)
async def test_a_provider_that_raises_fails_its_own_turn_and_no_other(home: Path, error: BaseException) -> None:
    async def broken(request: Request) -> Reply:
        if request.messages[-1].text == "break":
            raise error
        return Reply("fine")

    async with agent(home, provider=FunctionProvider(broken)) as a:
        seen = await events(a, "break", session="s")
        assert (await a.ask("go on", session="s")).text == "fine"
    end = seen.one("turn.finished")
    assert (end.status, end.error.kind) == ("failed", "LLMError")
    assert "no luck" in end.error.text


async def test_a_defect_in_one_sessions_turn_reaches_its_follower_and_no_other_session(home: Path) -> None:
    class Odd(ScriptedProvider):
        asked = 0

        def info(self, model: str) -> ModelInfo:
            self.asked += 1
            if self.asked == 1:
                raise ZeroDivisionError("a defect")
            return super().info(model)

    async with agent(home, provider=Odd("fine")) as a:
        with pytest.raises(ZeroDivisionError, match="a defect"):
            await events(a, session="s")
        (row,) = await a.do("sessions.list", unfinished=True)
        assert (await a.ask("hello", session="t")).text == "fine"
    assert row["session"] == "s"


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize("levels", [MAX_NESTING, 500, 900])
async def test_arguments_that_are_nested_too_deeply_are_an_error_of_their_call(levels: int, home: Path) -> None:
    async with agent(home, calls(call("echo", text=nested(levels))), "I see") as a:
        seen = await events(a, "go", session="s")
    assert seen.of("message")[0].tool_calls[0].arguments == {}
    assert f"nested deeper than {MAX_NESTING} levels" in seen.one("tool.finished").content
    assert seen.one("turn.finished").status == "done"


async def test_reasoning_that_is_nested_too_deeply_is_not_kept(home: Path) -> None:
    class Deep(FunctionProvider):
        async def _events(self, request: Request) -> AsyncIterator[ModelEvent]:
            yield Finished(ModelReply(text="done", stop="end", state=ReasoningState("chat", "model", (nested(500),))))

    async with agent(home, provider=Deep(never)) as a:
        seen = await events(a, "go", session="s")
    assert seen.one("message").state is None
    assert seen.one("turn.finished").status == "done"


async def never(request: Request) -> Reply:
    raise AssertionError("it streams its own events")
