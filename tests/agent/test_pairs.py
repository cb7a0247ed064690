"""Where two things meet: a cancel and the end of a turn, two senders of one key, an answer and its expiry, leaving and being written."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw import Agent, lookups
from neuralclaw.app.clock import SystemClock
from neuralclaw.errors import AgentError, TurnSetAside
from neuralclaw.store import SqliteStore
from neuralclaw.testing import EventCapture, FunctionProvider, Reply, ScriptedProvider
from neuralclaw.types.events import Inbound, TextDelta
from neuralclaw.types.messages import Request

from ..waiting import until
from .kit import agent, agent_over, call, calls, events
from .test_waiting import Held

pytestmark = pytest.mark.anyio


class Slow(SqliteStore):
    """The real store, whose writes of this kind wait until they are let go."""

    go: anyio.Event
    holds: str

    async def append(self, session: str, drafts: Any, **more: Any) -> Any:
        if any(draft.body.type == self.holds for draft in drafts):
            await self.go.wait()
        return await super().append(session, drafts, **more)

    async def acquire(self, name: str) -> Any:
        lease = await super().acquire(name)
        if self.holds == "acquire":
            await self.go.wait()
        return lease


async def slow(home: Path, holds: str) -> Slow:
    store = await Slow.open(str(home), clock=SystemClock())
    assert isinstance(store, Slow)
    store.holds, store.go = holds, anyio.Event()
    return store


@pytest.mark.parametrize("holds", ["acquire", "inbound", "cancel"])
async def test_an_ask_that_is_given_up_while_it_is_written_is_withdrawn_and_leaves_the_session_free(home: Path, holds: str) -> None:
    store = await slow(home, holds)
    model = Held()
    model.go.set()
    async with agent_over(store, provider=model.provider) as a:
        async with anyio.create_task_group() as tasks:

            async def give_up() -> None:
                with anyio.move_on_after(0.05):
                    await a.ask("hold never mind", session="s")

            tasks.start_soon(give_up)
            with anyio.move_on_after(0.1):
                await anyio.Event().wait()
            store.go.set()
        await a._desk._sessions.idle("s")
        assert (await a.ask("later", session="s")).text == "answer to later"
        shown = await a.do("sessions.show", session="s")
    ends = [e["status"] for e in shown["events"] if e["type"] == "turn.finished"]
    assert ends in (["cancelled", "done"], ["done", "done"])  # the second where the reply was faster than the cancel
    assert shown["state"] == "idle"


async def test_two_senders_of_one_key_get_the_same_answer(home: Path) -> None:
    model, ends = Held(), []
    async with agent(home, provider=model.provider) as a:

        async def ask() -> None:
            ends.append((await a.ask("hold once", session="s", key="k")).text)

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask)
                tasks.start_soon(ask)
                await model.holds.wait()
                tasks.start_soon(ask)
                model.go.set()
    assert ends == ["answer to hold once"] * 3
    assert model.asked == ["hold once"]


async def test_a_key_that_a_steering_message_had_gives_the_answer_of_its_turn(home: Path) -> None:
    model = Held()
    async with agent(home, provider=model.provider) as a:
        async with a.turn("hold on", session="s") as stream:
            await model.holds.wait()
            await a.desk.steer("s", Inbound(text="steered", key="ks", by="owner"))
            model.go.set()
            end = (await EventCapture().drain(stream)).one("turn.finished").text
        with anyio.fail_after(5):
            assert (await a.ask("steered", session="s", key="ks")).text == end


async def test_leaving_a_turn_that_has_just_ended_stops_nobody_else(home: Path) -> None:
    model, ends = Held(), {}
    async with agent(home, provider=model.provider) as a:

        async def ask(text: str) -> None:
            ends[text] = (await a.ask(text, session="s")).status

        async with anyio.create_task_group() as tasks:
            async with a.turn("first", session="s") as stream:
                await anext(stream)
                tasks.start_soon(ask, "hold second")
                tasks.start_soon(ask, "third")
                await model.holds.wait()  # the first turn has ended; nobody has read that
            model.go.set()
        shown = await a.do("sessions.show", session="s")
    assert ends == {"hold second": "done", "third": "done"}
    assert [e["status"] for e in shown["events"] if e["type"] == "turn.finished"] == ["done"] * 3


async def test_a_withdrawn_message_stays_withdrawn_in_the_next_process(home: Path) -> None:
    model = Held()
    async with agent(home, provider=model.provider) as a, anyio.create_task_group() as tasks:
        tasks.start_soon(a.desk.send, "s", a._defaults.message("hold on"))
        await model.holds.wait()
        await a.steer("first word", session="s")
        async with a.turn("never mind", session="s") as stream:
            await anext(stream)
        a.closing()
        tasks.cancel_scope.cancel()
    again = Held()
    again.go.set()
    async with agent(home, provider=again.provider) as a, a.recover() as stream:
        await EventCapture().drain(stream)
    assert "never mind" not in again.asked


async def test_who_waits_when_the_agent_is_closed_is_told(home: Path) -> None:
    model, told = Held(), []

    async def ask(a: Agent) -> None:
        try:
            await a.ask("hold on", session="s")
        except AgentError as error:
            told.append(error.text)

    async with anyio.create_task_group() as tasks:
        async with agent(home, provider=model.provider) as a:
            tasks.start_soon(ask, a)
            tasks.start_soon(ask, a)
            await model.holds.wait()
    assert len(told) == 2
    assert all("closed" in text for text in told)


async def test_a_provider_that_is_cancelled_from_within_fails_its_own_turn_and_no_other(home: Path) -> None:
    async def library() -> None:
        await anyio.sleep_forever()

    async def reply(request: Request) -> Reply:
        if request.messages[-1].text == "bad":
            import asyncio

            inner = asyncio.ensure_future(library())
            inner.cancel()
            await inner
        return Reply("fine")

    async with agent(home, provider=FunctionProvider(reply)) as a:
        bad = await a.ask("bad", session="s")
        assert (await a.ask("good", session="t")).text == "fine"
    assert bad.status == "failed"
    assert "cancelled from within" in bad.error.text


@pytest.mark.parametrize("said", ["bogus", None, 7])
async def test_an_approver_that_gives_no_answer_means_no(home: Path, said: Any) -> None:
    (home.parent / "work").mkdir()
    (home.parent / "work" / "a").write_text("x")

    async def approver(question: Any) -> Any:
        return said

    async with agent(home, calls(call("delete_file", path="a")), "kept", approver=approver) as a:
        assert (await a.ask("go", session="s")).text == "kept"
    assert (home.parent / "work" / "a").exists()


async def test_an_answer_from_elsewhere_counts_while_the_approver_thinks(home: Path) -> None:
    (home.parent / "work").mkdir()
    (home.parent / "work" / "a").write_text("x")

    async def approver(question: Any) -> str:
        await anyio.sleep_forever()
        return "no"

    async with agent(home, calls(call("delete_file", path="a")), "gone", approver=approver) as a, agent(home) as other:
        async with anyio.create_task_group() as tasks, a.turn("go", session="s") as stream:
            async for event in stream:
                if event.type == "approval.requested":
                    tasks.start_soon(other.answer, event.approval_id, "once")
    assert not (home.parent / "work" / "a").exists()


async def test_an_answer_that_comes_as_the_question_is_closed_counts(home: Path) -> None:
    (home.parent / "work").mkdir()
    (home.parent / "work" / "a").write_text("x")
    async with agent(home, calls(call("delete_file", path="a")), approvals="park") as a:
        await events(a, session="s")
        (question,) = await a.do("approvals.list")
    store = await slow(home, "approval.resolved")
    async with agent_over(store, "gone") as a, agent(home) as other, anyio.create_task_group() as tasks:

        async def resume() -> None:
            async with a.resume("s", approvals="none") as stream:
                ends.append((await EventCapture().drain(stream)).one("turn.finished").text)

        ends: list[str] = []
        tasks.start_soon(resume)
        with anyio.move_on_after(0.2):
            await anyio.Event().wait()
        await other.answer(question["approval_id"], "once")
        store.go.set()
    assert ends == ["gone"]
    assert not (home.parent / "work" / "a").exists()


async def test_a_slow_reader_of_a_turn_misses_no_entry(home: Path) -> None:
    go = anyio.Event()

    async def reply(request: Request) -> Reply:
        if len(request.messages) == 1:
            return calls(call("echo", text="x"), text=" ".join(["word"] * 1500))
        await go.wait()
        return Reply("done")

    async with agent(home, provider=FunctionProvider(reply)) as a, a.turn("go", session="s") as stream:
        seen = [await anext(stream) for _ in range(3)]
        await until(lambda: _has(a, "tool.finished"))
        seen += [await anext(stream) for _ in range(50)]
        go.set()
        seen += [event async for event in stream]
    numbers = [event.entry for event in seen if event.entry is not None]
    assert numbers == list(range(1, len(numbers) + 1))
    assert sum(isinstance(event.body, TextDelta) for event in seen) < 1500


async def _has(a: Agent, kind: str) -> bool:
    return any(e["type"] == kind for e in (await a.do("sessions.show", session="s"))["events"])


async def test_a_steering_message_for_an_idle_session_begins_a_turn(home: Path) -> None:
    async with agent(home, "one", "two") as a:
        await a.ask("first", session="s")
        await a.steer("and more", session="s")
        await a._desk._sessions.idle("s")
        shown = await a.do("sessions.show", session="s")
    assert [e["text"] for e in shown["events"] if e["type"] == "turn.finished"] == ["one", "two"]


async def test_a_task_that_fails_because_the_turn_before_it_is_set_aside_is_withdrawn(home: Path) -> None:
    model = Held()
    async with agent(home, provider=model.provider) as a, anyio.create_task_group() as tasks:
        tasks.start_soon(a.desk.send, "s", a._defaults.message("hold on"))
        await model.holds.wait()
        a.closing()
        tasks.cancel_scope.cancel()
    store = await SqliteStore.open(str(home), clock=SystemClock())
    lease = await store.acquire("session:s")
    assert lease is not None
    for _ in range(3):
        await lookups.start_turn(store, lease, "s", 1)
    await store.release(lease)
    await store.aclose()
    async with agent(home, "never") as a:
        with pytest.raises(TurnSetAside):
            await a.ask("the task", session="s")
        (cancel,) = [e for e in (await a.do("sessions.show", session="s"))["events"] if e["type"] == "cancel"]
        assert isinstance((await a._home.store.read("s", after=cancel["message"] - 1))[0].body, Inbound)
    provider = ScriptedProvider("held no more")
    async with agent(home, provider=provider) as a, a.resume("s", retry=True) as stream:
        await EventCapture().drain(stream)
        await a._desk._sessions.idle("s")
    assert len(provider.requests) == 1


async def test_an_idle_session_is_shown_again_though_the_default_model_is_not_usable(home: Path) -> None:
    async with agent(home, "an answer") as a:
        await a.ask("go", session="s")
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(home.parent)}
    async with Agent.open(home=home, environ=environ, settings={"llm.default_provider": "openai"}) as a, a.resume("s") as stream:
        assert (await EventCapture().drain(stream)).one("turn.finished").text == "an answer"


async def test_who_waits_behind_a_turn_is_shown_its_question_and_may_answer(home: Path) -> None:
    (home.parent / "work").mkdir()
    (home.parent / "work" / "a").write_text("x")
    model = Held()
    async with agent(home, provider=model.provider, approvals="ask") as a, anyio.create_task_group() as tasks:
        tasks.start_soon(a.desk.send, "s", a._defaults.message("hold on"))
        await model.holds.wait()
        a.closing()
        tasks.cancel_scope.cancel()
    seen = EventCapture()
    async with agent(home, calls(call("delete_file", path="a")), "gone", "second done", approvals="ask", present=True) as a:
        async with a.turn("second", session="s") as stream:
            async for event in stream:
                seen.events.append(event)
                if event.type == "approval.requested":
                    await a.answer(event.approval_id, "once")
    assert (seen.one("approval.requested").turn, seen.one("turn.finished").turn, seen.one("turn.finished").text) == (1, 2, "second done")
    assert not (home.parent / "work" / "a").exists()


async def test_the_entries_of_a_message_that_waits_for_an_answer_come_in_their_order(home: Path) -> None:
    (home.parent / "work").mkdir()
    (home.parent / "work" / "a").write_text("x")
    async with agent(home, calls(call("delete_file", path="a")), approvals="park") as a:
        await events(a, session="s")
        waits = await events(a, "second", session="s")
    entries = [e.entry for e in waits.events if e.entry is not None]
    assert entries == sorted(entries)
    assert waits.types == ["status", "approval.requested", "inbound", "turn.finished"]


async def test_a_word_to_a_parked_turn_that_was_cancelled_meanwhile_is_a_turn_of_its_own(home: Path) -> None:
    (home.parent / "work").mkdir()
    (home.parent / "work" / "a").write_text("x")
    async with agent(home, calls(call("delete_file", path="a")), approvals="park") as a:
        await events(a, session="s")
        await a.cancel("s")
    async with agent(home, "hello to you", who="owner") as a:
        end = (await events(a, "hello", session="s")).one("turn.finished")
    assert (end.turn, end.status, end.text) == (2, "done", "hello to you")
