"""`sessions replay`: the loop runs again over the record, comes to the same entries, and touches nothing."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from neuralclaw import Agent, Reply, tool
from neuralclaw.app.proof.killed_turn import SESSION, parcel_tools
from neuralclaw.app.replay.recording import Recording, ReplayStopped
from neuralclaw.errors import ConfigError, SessionNotFound, UsageError
from neuralclaw.testing import FunctionProvider
from neuralclaw.types.entries import Draft
from neuralclaw.types.events import TurnFinished
from neuralclaw.types.messages import Request, ToolMessage

from ..agent.kit import agent, call, calls
from ..agent.test_compaction import setting
from ..cli.program import Claw
from ..store import kit
from .test_forking import talk_with_results

pytestmark = [pytest.mark.anyio, pytest.mark.full]


async def refuse(request: Request) -> str:
    raise AssertionError("a replay asks no model")


async def replayed(home: Path, session: str, **options: Any) -> list[dict[str, Any]]:
    """The replay in another process's place, with a model that must not be asked and none of the tools of the session."""
    async with Agent.open(home=home, workspace=home.parent / "work", provider=FunctionProvider(refuse)) as a:
        events: list[dict[str, Any]] = await a.do("sessions.replay", session=session, **options)
        shown = (await a.do("sessions.show", session=session))["events"]
    if events[-1]["type"] != "fork":
        assert [event["entry"] for event in events] == [event["entry"] for event in shown]
    return events


@pytest.mark.invariant("replay.same")
async def test_a_session_comes_out_again_and_nothing_is_touched(home: Path) -> None:
    ran = []

    @tool(risk="LOW", effect="once")
    async def send(text: str) -> str:
        "Send it."
        ran.append(text)
        return f"sent {text}"

    replies = (
        calls(call("write_file", path="a.txt", content="one"), call("echo", text="x"), call("send", text="y")),
        "written",
        calls(call("delete_file", path="a.txt")),
        "asked",
        calls(call("nothing_of_the_kind", a=1), call("write_file", wrong=1)),
        "failed",
    )
    async with agent(home, *replies, tools=[send]) as a:
        await a.ask("write", session="s")
        await a.ask("delete", session="s", approvals="park")
        (question,) = await a.do("approvals.list")
        await a.answer(question["approval_id"], "no", text="keep it")
        async with a.resume("s") as events:
            async for _ in events:
                pass
        await a.ask("break", session="s")
        before = await a._home.store.read("s")
    work = home.parent / "work"
    (work / "a.txt").write_text("changed since")
    first = await replayed(home, "s")
    assert json.dumps(first) == json.dumps(await replayed(home, "s"))
    assert [event["type"] for event in first][-1] == "turn.finished"
    assert (work / "a.txt").read_text() == "changed since"
    assert ran == ["y"]
    async with kit.opened(home) as store:
        assert [entry.header for entry in await store.read("s")] == [entry.header for entry in before]


@pytest.mark.invariant("replay.same")
async def test_a_turn_that_was_killed_twice_comes_out_again(home: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    for _ in range(2):
        died = subprocess.run([sys.executable, "-m", "neuralclaw.app.proof.killed_turn", str(place)], capture_output=True, timeout=60, check=False)
        assert died.returncode == -9, died.stderr
    tools = parcel_tools(place / "ledger", dies=False)
    async with Agent.open(home=place / "home", workspace=place / "work", provider=FunctionProvider(done), tools=tools, builtin=(), approvals="park") as a:
        async with a.resume(SESSION) as events:
            async for _ in events:
                pass
        (question,) = await a.do("approvals.list")
        await a.answer(question["approval_id"], "once")
        async with a.resume(SESSION) as events:
            async for _ in events:
                pass
    ledger = (place / "ledger").read_text()
    (tmp_path / "work").mkdir()
    events_again = await replayed(place / "home", SESSION)
    assert [event["attempt"] for event in events_again if event["type"] == "tool.started" and event["name"] == "send"] == [1, 2]
    assert (place / "ledger").read_text() == ledger


async def done(request: Request) -> str:
    return "done"


@pytest.mark.invariant("replay.same")
async def test_a_long_session_with_summaries_and_forks_comes_out_again(home: Path) -> None:
    provider = talk_with_results()
    setting(home, "agent: {max_conversation_messages: 24}\ncontext: {tool_results: 100}")
    async with agent(home, provider=provider) as a:
        for n in range(1, 41):
            await a.ask(f"message {n}", session="work")
        await a.do("sessions.fork", session="work@20", to="other")
        await a.ask("another way", session="other")
    for session in ("work", "other"):
        assert (await replayed(home, session))[-1]["type"] == "turn.finished"


def in_every_part(request: Request) -> tuple[Any, ...]:
    return request.system, request.messages, request.tools, request.environment


async def test_another_model_forks_at_its_first_other_reply_and_gets_the_same_requests(home: Path) -> None:
    """Requests are the same byte for byte; results come from the record."""
    asked: list[Request] = []

    def answering(last: str) -> FunctionProvider:
        async def think(request: Request) -> Reply | str:
            asked.append(request)
            newest = request.messages[-1]
            if isinstance(newest, ToolMessage):
                return f"it says {newest.content}"
            return calls(call("calculate", expression="6*7")) if getattr(newest, "text", "") == "go" else last

        return FunctionProvider(think)

    async with agent(home, provider=answering("bye")) as a:
        for text in ("go", "stop"):
            await a.ask(text, session="s")
    recorded, asked[:] = list(asked), []
    async with agent(home, provider=answering("bye")) as a:
        events = await a.do("sessions.replay", session="s", model="given:model")
        assert events[-1]["type"] == "turn.finished"
    assert [in_every_part(one) for one in asked] == [in_every_part(one) for one in recorded]
    async with agent(home, provider=answering("good night")) as a:
        events = await a.do("sessions.replay", session="s", model="given:model")
        shown = (await a.do("sessions.show", session="s"))["events"]
    fork = events[-1]
    said = next(event for event in shown if event["type"] == "message" and event["text"] == "bye")
    assert (fork["type"], fork["entry"], fork["recorded"]["text"], fork["now"]["text"]) == ("fork", said["entry"], "bye", "good night")
    assert set(fork) == {"type", "entry", "recorded", "now"}
    assert [event["entry"] for event in events[:-1]] == list(range(1, said["entry"]))


async def test_another_policy_forks_at_the_first_other_decision(home: Path, tmp_path: Path) -> None:
    async with agent(home, calls(call("calculate", expression="1+1")), "two", calls(call("echo", text="x")), "x") as a:
        for text in ("one", "two"):
            await a.ask(text, session="s")
        shown = (await a.do("sessions.show", session="s"))["events"]
    rules = tmp_path / "rules.yaml"
    rules.write_text("- {id: no-echo, decision: forbid, tool: echo, reason: quiet}\n")
    fork = (await replayed(home, "s", policy=str(rules)))[-1]
    place = next(event["entry"] for event in shown if event["type"] == "decision" and event["name"] == "echo")
    assert fork == {
        "type": "fork",
        "entry": place,
        "recorded": {"type": "decision", "name": "echo", "decision": "allow"},
        "now": {"type": "decision", "name": "echo", "decision": "forbid"},
    }
    rules.write_text("- {id: no-web, decision: forbid, tool: web_fetch, reason: quiet}\n")
    assert (await replayed(home, "s", policy=str(rules)))[-1]["type"] == "turn.finished"


@pytest.mark.invariant("replay.same")
async def test_what_the_loop_writes_otherwise_is_a_difference(home: Path) -> None:
    async with agent(home, "fine") as a:
        await a.ask("hello", session="s")
        entries = await a._home.store.read("s")
    recording = Recording(entries)
    recording.move(len(entries) - 1)
    with pytest.raises(ReplayStopped):
        recording.take([Draft(1, TurnFinished(status="done", text="not fine", model="given:model", models=("given:model",)))])
    assert recording.difference is not None
    assert (recording.difference.entry, recording.difference.recorded["text"], recording.difference.now["text"]) == (len(entries), "fine", "not fine")


async def test_what_cannot_be_run_again_is_refused(home: Path, tmp_path: Path) -> None:
    async with agent(home, "fine", "fine") as a:
        await a.ask("hello", session="s")
        await a._home.store.erase("s", [3], "owner")
        with pytest.raises(UsageError, match="entry 3 was erased"):
            await a.do("sessions.replay", session="s")
        with pytest.raises(SessionNotFound):
            await a.do("sessions.replay", session="nobody")
        await a.ask("hello", session="t")
        with pytest.raises(UsageError, match="there is no file"):
            await a.do("sessions.replay", session="t", policy=str(tmp_path / "nothing.yaml"))
    setting(home, "budget: {day_usd: 1}")
    async with agent(home) as a:
        with pytest.raises(ConfigError, match="refused while a cap is set"):
            await a.do("sessions.replay", session="t", model="offline:grammar")


async def test_an_unfinished_session_is_replayed_to_its_end(home: Path) -> None:
    async with agent(home, calls(call("delete_file", path="a"))) as a:
        await a.ask("delete", session="s", approvals="park")
    assert (await replayed(home, "s"))[-1]["status"] == "needs_approval"


async def test_the_command_prints_the_same_lines_each_time(home: Path, tmp_path: Path) -> None:
    claw = Claw(home, tmp_path / "work")
    await claw("run", "--session", "s", "calculate 6*7")
    first, second = await claw("sessions", "replay", "s"), await claw("sessions", "replay", "s")
    assert first.code == 0, first
    assert first.raw == second.raw
    assert first.lines[-1]["text"] == "42"
