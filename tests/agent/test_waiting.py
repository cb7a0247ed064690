"""Messages for a busy session: each that is sent as a turn is one, and its sender gets its answer."""

from pathlib import Path

import anyio
import pytest

from neuralclaw import Agent, tool
from neuralclaw.errors import UsageError
from neuralclaw.testing import EventCapture, FunctionProvider, Reply, ScriptedProvider
from neuralclaw.types.messages import Request
from neuralclaw.types.records import NewSession

from ..waiting import until
from .kit import agent, call, calls, events

pytestmark = pytest.mark.anyio


class Held:
    """A model that answers `answer to TEXT`, a task that begins with `hold` only when it is let go."""

    def __init__(self) -> None:
        self.provider = FunctionProvider(self._reply)
        self.holds, self.go = anyio.Event(), anyio.Event()
        self.asked: list[str] = []

    async def _reply(self, request: Request) -> Reply:
        text = request.messages[-1].text
        self.asked.append(text)
        if text.startswith("hold") and not self.go.is_set():
            self.holds.set()
            await self.go.wait()
        return Reply(f"answer to {text}")


async def test_asks_that_overlap_each_get_their_own_answer(home: Path) -> None:
    model, answers = Held(), dict[str, str]()
    async with agent(home, provider=model.provider) as a:

        async def ask(text: str) -> None:
            answers[text] = (await a.ask(text, session="s")).text

        async with anyio.create_task_group() as tasks:
            for n in range(8):
                tasks.start_soon(ask, f"message {n}")
    assert answers == {f"message {n}": f"answer to message {n}" for n in range(8)}


async def unfinished(home: Path) -> None:
    """Leave a session whose turn was interrupted."""
    model = Held()
    async with agent(home, provider=model.provider) as a, anyio.create_task_group() as tasks:
        tasks.start_soon(a.desk.send, "s", a._defaults.message("hold on"))
        await model.holds.wait()
        a.closing()
        tasks.cancel_scope.cancel()


async def test_a_task_behind_an_unfinished_turn_is_a_turn_of_its_own(home: Path) -> None:
    await unfinished(home)
    model = Held()
    model.go.set()
    async with agent(home, provider=model.provider) as a:
        async with a.resume("s", text="and then this") as stream:
            seen = await EventCapture().drain(stream)
        shown = await a.do("sessions.show", session="s")
    assert (seen.one("turn.finished").turn, seen.one("turn.finished").text) == (2, "answer to and then this")
    ends = [(e["turn"], e["status"], e["text"]) for e in shown["events"] if e["type"] == "turn.finished"]
    assert ends == [(1, "done", "answer to hold on"), (2, "done", "answer to and then this")]


async def test_a_task_behind_a_parked_and_answered_turn_is_a_turn_of_its_own(home: Path) -> None:
    (home.parent / "work").mkdir()
    (home.parent / "work" / "a").write_text("x")
    async with agent(home, calls(call("delete_file", path="a")), approvals="park") as a:
        await events(a, session="s")
        (question,) = await a.do("approvals.list")
        await a.answer(question["approval_id"], "no")
    async with agent(home, "it stays", "the second answer", who="owner") as a, a.resume("s", text="second") as stream:
        seen = await EventCapture().drain(stream)
    assert (seen.one("turn.finished").turn, seen.one("turn.finished").text) == (2, "the second answer")


async def test_whoever_waits_behind_a_turn_that_parks_is_told_and_the_message_is_kept(home: Path) -> None:
    (home.parent / "work").mkdir()
    (home.parent / "work" / "a").write_text("x")
    working, go = anyio.Event(), anyio.Event()

    @tool(risk="LOW", effect="pure")
    async def work() -> str:
        "Work until told."
        working.set()
        await go.wait()
        return "worked"

    ends = []
    async with agent(home, calls(call("work")), calls(call("delete_file", path="a")), "kept", "second done", tools=[work], approvals="park") as a:

        async def ask(text: str) -> None:
            ends.append(await a.ask(text, session="s"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, "first")
            await working.wait()
            tasks.start_soon(ask, "second")
            await until(lambda: _inbounds(a, 2))
            go.set()
        (question,) = await a.do("approvals.list")
        assert [(end.status, end.waiting) for end in ends] == [("needs_approval", (question["approval_id"],))] * 2
        await a.answer(question["approval_id"], "no")
        async with a.resume("s") as stream:
            assert (await EventCapture().drain(stream)).one("turn.finished").text == "kept"
        await until(lambda: _state(a, "idle"))
        shown = await a.do("sessions.show", session="s")
    assert [(e["turn"], e["text"]) for e in shown["events"] if e["type"] == "turn.finished" and not e["waiting"]] == [(1, "kept"), (2, "second done")]


async def test_a_word_to_a_turn_that_parks_waits_for_its_answer_and_asks_nothing_again(home: Path) -> None:
    (home.parent / "work").mkdir()
    (home.parent / "work" / "a").write_text("x")
    provider = ScriptedProvider(calls(call("delete_file", path="a")), "it stays")
    async with agent(home, provider=provider, approvals="park") as a:
        await events(a, session="s")
        await a.steer("and hurry", session="s")
        async with a.resume("s") as stream:
            assert (await EventCapture().drain(stream)).of("turn.finished")[-1].status == "needs_approval"
        with anyio.fail_after(5):
            await a._desk._sessions.idle("s")
        (question,) = await a.do("approvals.list")
        await a.answer(question["approval_id"], "no")
        async with a.resume("s") as stream:
            assert (await EventCapture().drain(stream)).of("turn.finished")[-1].text == "it stays"
    assert provider.requests[-1].messages[-1].text == "and hurry"


async def _inbounds(a: Agent, count: int) -> bool:
    shown = await a.do("sessions.show", session="s")
    return sum(e["type"] == "inbound" for e in shown["events"]) == count


async def _state(a: Agent, state: str) -> bool:
    (row,) = await a.do("sessions.list")
    return bool(row["state"] == state)


async def test_a_steering_message_belongs_to_the_running_turn_and_says_so(home: Path) -> None:
    model = Held()
    async with agent(home, provider=model.provider) as a, a.turn("hold on", session="s") as stream:
        await model.holds.wait()
        await a.steer("and hurry", session="s")
        model.go.set()
        seen = await EventCapture().drain(stream)
    steering = seen.of("inbound")[1]
    assert (steering.text, steering.turn, steering.queued) == ("and hurry", 1, False)
    assert seen.one("turn.finished").text == "answer to and hurry"


async def test_who_gives_up_waiting_withdraws_the_message_and_stops_nobody_else(home: Path) -> None:
    model = Held()
    first = []
    async with agent(home, provider=model.provider) as a:

        async def ask() -> None:
            first.append(await a.ask("hold on", session="s"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await model.holds.wait()
            async with a.turn("never mind", session="s") as stream:
                assert (await anext(stream)).type == "inbound"
            tasks.start_soon(ask)
            await until(lambda: _inbounds(a, 3))
            model.go.set()
        shown = await a.do("sessions.show", session="s")
    assert [(end.status, end.text) for end in first] == [("done", "answer to hold on")] * 2
    assert [e["status"] for e in shown["events"] if e["type"] == "turn.finished"] == ["done", "cancelled", "done"]
    assert "never mind" not in model.asked


async def test_a_message_that_waits_can_be_cancelled_from_another_process_and_stays_cancelled(home: Path) -> None:
    await unfinished(home)
    async with agent(home) as a:
        await a.cancel("s")
    model = Held()
    async with agent(home, provider=model.provider) as a, a.resume("s") as stream:
        end = (await EventCapture().drain(stream)).one("turn.finished")
    assert (end.status, model.asked) == ("cancelled", [])


async def test_a_message_with_a_key_that_was_accepted_gives_the_answer_it_had(home: Path) -> None:
    model = Held()
    async with agent(home, provider=model.provider) as a:
        assert (await a.ask("once", session="s", key="k1")).text == "answer to once"
        assert (await a.ask("once", session="s", key="k1")).text == "answer to once"
        with pytest.raises(UsageError, match="in session s"):
            await a.ask("once", session="other", key="k1")
    assert model.asked == ["once"]


async def test_a_session_that_has_no_turn_has_nothing_to_resume(home: Path) -> None:
    async with agent(home) as a:
        await a._home.store.append("s", [], rows=[NewSession(origin="owner", workspace="/w")])
        with anyio.fail_after(5), pytest.raises(UsageError, match="has no turn"):
            async with a.resume("s") as stream:
                await EventCapture().drain(stream)
        (row,) = await a.do("sessions.list")
    assert row["state"] == "idle"
