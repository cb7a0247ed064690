"""While a turn is equipped: what others wrote may hang there, and a cancel, a time limit, another message or an answer may come in."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw import Agent, lookups, tool
from neuralclaw.app.clock import SystemClock
from neuralclaw.capability import TurnContext
from neuralclaw.errors import AgentError, AlreadyAnswered, TurnSetAside
from neuralclaw.ports import Provider
from neuralclaw.runtime.session_run import WITHDRAWN
from neuralclaw.store import SqliteStore
from neuralclaw.testing import EventCapture, FunctionProvider, ScriptedProvider
from neuralclaw.types.entries import Entry
from neuralclaw.types.events import Inbound, TurnStarted
from neuralclaw.types.messages import UserMessage
from neuralclaw.types.options import Limits, TurnOptions

from ..waiting import until
from .kit import agent, agent_over, call, calls, events
from .test_runtime_ports import Brought, careful
from .test_waiting import Held, unfinished

pytestmark = [pytest.mark.anyio, pytest.mark.full]

CHAT = {"channel": "post", "reply_to": "room"}


class Slow(Brought):
    """Capabilities whose tools are waited for until they are let go, and whose wrapper fails where `broken` says why, for ever or (`stays` false) once."""

    stays = True

    def __init__(self, *tools: object, broken: str = "", go: bool = False) -> None:
        super().__init__(*tools)
        self.asked = anyio.Event()
        self.go = anyio.Event()
        self.broken = broken
        self.turns: list[int] = []
        """The turns that were equipped, in order."""
        if go:
            self.go.set()

    async def tools(self, turn: TurnContext) -> Sequence[tuple[str, Sequence[object]]]:
        if not turn.turn:  # the options of a message are checked
            return []
        self.turns.append(turn.turn)
        self.asked.set()
        await self.go.wait()
        return await super().tools(turn)

    async def wrap(self, turn: TurnContext, provider: Provider) -> Provider:
        if self.broken:
            broken, self.broken = self.broken, self.broken if self.stays else ""
            raise AgentError(broken)
        return provider


async def shown(a: Agent) -> list[dict[str, Any]]:
    found = (await a.do("sessions.show", session="s"))["events"]
    assert isinstance(found, list)
    return found


async def ends(a: Agent) -> list[tuple[int, str, str]]:
    return [(e["turn"], e["status"], e["text"]) for e in await shown(a) if e["type"] == "turn.finished" and not e["waiting"]]


async def state(a: Agent) -> str:
    return str((await a.do("sessions.show", session="s"))["state"])


async def started(a: Agent) -> list[TurnStarted]:
    bodies = [entry.body for entry in await a._home.store.read("s", kinds=("turn.started",))]
    return [body for body in bodies if isinstance(body, TurnStarted)]


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_turn_that_is_being_equipped_is_cancelled_from_any_process(home: Path, elsewhere: bool) -> None:
    provider = ScriptedProvider()
    slow = Slow()
    async with agent(home, provider=provider) as a, agent(home) as other:
        a._home.capability_parts = slow
        with anyio.fail_after(5):
            async with a.turn("go", session="s") as stream:
                await slow.asked.wait()
                await (other if elsewhere else a).cancel("s")
                seen = await EventCapture().drain(stream)
        assert await state(a) == "idle"
    end = seen.one("turn.finished")
    assert (end.turn, end.status, end.text) == (1, "cancelled", WITHDRAWN.format("go"))
    assert seen.one("turn.started").digests == {}, "nothing was used"
    assert provider.requests == []


async def test_who_leaves_a_turn_that_is_being_equipped_waits_for_nothing_and_it_ends(home: Path) -> None:
    slow = Slow()
    async with agent(home, "next") as a:
        a._home.capability_parts = slow
        with anyio.fail_after(2.5):
            async with a.turn("go", session="s") as stream:
                assert (await anext(stream)).type == "inbound"
                await slow.asked.wait()
        assert await ends(a) == [(1, "cancelled", WITHDRAWN.format("go"))]
        slow.go.set()
        assert (await a.ask("and now", session="s")).text == "next"


async def test_an_unfinished_turn_that_is_being_equipped_is_cancelled_and_needs_no_equipment_to_end(home: Path) -> None:
    await unfinished(home)
    slow = Slow()
    async with agent(home) as a:
        a._home.capability_parts = slow
        with anyio.fail_after(5):
            async with a.resume("s") as stream:
                await slow.asked.wait()
                await a.cancel("s")
                seen = await EventCapture().drain(stream)
        assert await state(a) == "idle"
    assert (seen.one("turn.finished").status, seen.one("turn.finished").text) == ("cancelled", "Cancelled. So far: nothing was run.")
    assert slow.turns == [1]


async def test_a_turn_that_was_cancelled_ends_though_nothing_of_it_could_run(home: Path) -> None:
    await unfinished(home)
    (home.parent / "work").rmdir()
    async with agent(home, workspace=home.parent) as a:
        a._home.capability_parts = Slow()
        await a.cancel("s")
        with anyio.fail_after(5):
            async with a.resume("s") as stream:
                await EventCapture().drain(stream)
        assert [status for _, status, _ in await ends(a)] == ["cancelled"]


async def test_the_time_limit_counts_while_a_turn_is_equipped_and_its_end_is_on_record(home: Path) -> None:
    provider = ScriptedProvider()
    async with agent(home, provider=provider) as a:
        a._home.capability_parts = Slow()
        with anyio.fail_after(5):
            seen = await events(a, session="s", timeout=0.1)
        assert await state(a) == "idle"
    end, limit = seen.one("turn.finished"), seen.one("limit")
    assert (end.turn, end.status, end.text) == (1, "timed_out", limit.text)
    assert limit.kind == "time"
    assert "the limit of 0.1 s for a turn" in limit.text
    assert end.duration_ms >= 100
    assert seen.one("turn.started").digests == {}
    assert provider.requests == []


async def test_the_time_limit_counts_while_an_unfinished_turn_is_equipped(home: Path) -> None:
    await unfinished(home)
    async with agent(home) as a:
        a._home.capability_parts = Slow()
        with anyio.fail_after(5):
            async with a.resume("s", timeout=0.1) as stream:
                seen = await EventCapture().drain(stream)
    assert (seen.one("turn.finished").turn, seen.one("turn.finished").status, seen.one("limit").kind) == (1, "timed_out", "time")


async def test_the_time_that_equipping_took_is_the_turns(home: Path) -> None:
    slow = Slow()
    async with agent(home, "done") as a, anyio.create_task_group() as tasks:
        a._home.capability_parts = slow

        async def let_go() -> None:
            with anyio.move_on_after(0.2):
                await anyio.Event().wait()
            slow.go.set()

        tasks.start_soon(let_go)
        with anyio.fail_after(5):
            seen = await events(a, session="s")
    assert seen.one("turn.finished").duration_ms >= 190


async def test_a_message_that_is_withdrawn_while_its_turn_is_equipped_holds_up_no_other(home: Path) -> None:
    slow, texts = Slow(), dict[str, str]()
    async with agent(home, "second done") as a:
        a._home.capability_parts = slow

        async def ask(text: str) -> None:
            texts[text] = (await a.ask(text, session="s")).text

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask, "first")
                await slow.asked.wait()
                tasks.start_soon(ask, "second")
                await until(lambda: _count(a, "inbound", 2))
                await a.cancel("s")
                await until(lambda: _count(a, "turn.finished", 1))
                slow.go.set()
    assert texts == {"first": WITHDRAWN.format("first"), "second": "second done"}
    assert slow.turns == [1, 2]


async def test_a_cancel_of_a_message_that_waits_leaves_the_turn_that_is_being_equipped(home: Path) -> None:
    slow = Slow()
    async with agent(home, "first done") as a:
        a._home.capability_parts = slow
        with anyio.fail_after(5):
            async with a.turn("first", session="s") as stream:
                await slow.asked.wait()
                await a.desk.cancel("s", by="owner", message=await a.queue("second", session="s"))
                slow.go.set()
                assert (await EventCapture().drain(stream)).one("turn.finished").text == "first done"
            await a._desk._sessions.idle("s")
        assert await ends(a) == [(1, "done", "first done"), (2, "cancelled", WITHDRAWN.format("second"))]
    assert slow.turns == [1]


async def _count(a: Agent, kind: str, count: int) -> bool:
    return sum(e["type"] == kind for e in await shown(a)) == count


async def test_what_is_said_to_a_turn_that_is_being_equipped_is_seen_by_it(home: Path) -> None:
    slow, provider = Slow(), ScriptedProvider("done", "done too")
    async with agent(home, provider=provider) as a:
        a._home.capability_parts = slow
        with anyio.fail_after(5):
            async with a.turn("go", session="s") as stream:
                await slow.asked.wait()
                await a.steer("and hurry", session="s")
                slow.go.set()
                assert (await EventCapture().drain(stream)).one("turn.finished").status == "done"
            await a._desk._sessions.idle("s")
        assert await state(a) == "idle"
    said = [message.text for message in provider.requests[-1].messages if message.text in ("go", "and hurry")]
    assert said == ["go", "and hurry"]


async def parked(home: Path) -> str:
    """A turn of session `s` that waits for a yes to `careful`; the id of its question."""
    async with agent(home, calls(call("careful"))) as a:
        a._home.capability_parts = Brought(careful)
        return str((await events(a, session="s", approvals="park")).one("approval.requested").approval_id)


@pytest.mark.parametrize("then", ["answer", "answer and cancel", "cancel and answer"])
async def test_an_answer_and_a_cancel_that_come_while_a_parked_turn_is_equipped_both_count(home: Path, then: str) -> None:
    question = await parked(home)
    slow = Slow(careful)
    async with agent(home, "it is done") as a, agent(home) as other:
        a._home.capability_parts = slow
        with anyio.fail_after(5):
            async with a.resume("s", approvals="park") as stream:
                await slow.asked.wait()
                for what in then.split(" and "):
                    with suppress(AlreadyAnswered):  # behind a cancel the end of the turn may be faster, and withdraws the question
                        await (other.answer(question, "once") if what == "answer" else a.cancel("s"))
                if then == "answer":
                    await until(lambda: a._desk._sessions._runs["s"].again)
                    slow.go.set()
                seen = await EventCapture().drain(stream)
            await a._desk._sessions.idle("s")
        assert await state(a) == "idle"
    finished = seen.one("tool.finished")
    if then == "answer":
        assert (finished.content, seen.of("turn.finished")[-1].text) == ("carefully done", "it is done")
    else:
        assert seen.of("turn.finished")[-1].status == "cancelled"
        assert "not run: cancelled" in finished.error


async def test_who_resumes_a_turn_that_is_being_equipped_follows_it_as_it_was_started(home: Path) -> None:
    ran = []

    @tool(risk="HIGH", effect="once")
    async def risky() -> str:
        "Do something risky."
        ran.append("risky")
        return "done"

    slow, seen = Slow(), EventCapture()
    async with agent(home, calls(call("risky")), "refused", tools=[risky]) as a:
        a._home.capability_parts = slow

        async def resume() -> None:
            async with a.resume("s", approvals="auto") as stream:
                await seen.drain(stream)

        with anyio.fail_after(5):
            async with a.turn("go", session="s", approvals="none") as first, anyio.create_task_group() as tasks:
                await slow.asked.wait()
                tasks.start_soon(resume)
                await until(lambda: len(a._desk._bus._topics["s"]._all) == 2)
                slow.go.set()
                await EventCapture().drain(first)
    assert seen.one("turn.finished").text == "refused"
    assert ran == []


class Closing(SqliteStore):
    """The real store of a program that ends as soon as the beginning of a turn is written."""

    close: Callable[[], None]

    async def append(self, session: str, drafts: Any, **more: Any) -> list[Entry]:
        entries = await super().append(session, drafts, **more)
        if any(isinstance(entry.body, TurnStarted) for entry in entries):
            self.close()
        return entries


async def test_a_turn_whose_program_ended_before_its_first_request_is_gone_on_with_as_it_began(home: Path) -> None:
    (home.parent / "work").mkdir()
    instructions = home.parent / "work" / "AGENTS.md"
    instructions.write_text("Use four blanks.")
    store = await Closing.open(str(home), clock=SystemClock())
    assert isinstance(store, Closing)
    never = ScriptedProvider()
    async with agent_over(store, provider=never) as a:
        store.close = a.closing
        with pytest.raises(AgentError, match="closed"):
            await a.ask("go", session="s")
    instructions.write_text("Use tabs.")
    provider = ScriptedProvider("done")
    async with agent(home, provider=provider) as a, a.resume("s") as stream:
        assert (await EventCapture().drain(stream)).one("turn.finished").text == "done"
    assert never.requests == []
    assert "Use four blanks." in provider.requests[0].system


async def test_a_turn_whose_equipping_failed_begins_when_it_first_runs_with_what_it_is_given_then(home: Path) -> None:
    (home.parent / "work").mkdir()
    instructions = home.parent / "work" / "AGENTS.md"
    instructions.write_text("Use four blanks.")
    async with agent(home, "as usual") as a:
        usual = (await events(a, session="before")).one("turn.started")
    provider = ScriptedProvider("done")
    async with agent(home) as a:
        a._home.capability_parts = Slow(broken="the shelf is locked", go=True)
        with pytest.raises(AgentError, match="the shelf is locked"):
            await a.ask("go", session="s")
        assert [e["type"] for e in await shown(a)] == ["inbound"]
        assert await state(a) == "unfinished"
    async with agent(home, provider=provider) as a:
        async with a.resume("s") as stream:
            assert (await EventCapture().drain(stream)).one("turn.finished").text == "done"
        (begun,) = await started(a)
        kept = await a._home.store.rows("blobs", {"digest": begun.stored["system"]})
    assert begun.digests == usual.digests
    assert begun.digests["instructions"]
    assert "Use four blanks." in provider.requests[0].system
    assert kept[0]["data"].decode() == provider.requests[0].system


async def failing(home: Path) -> None:
    """A message of session `s` whose turn cannot be equipped, and another program that tries it in vain."""
    async with agent(home) as a:
        a._home.capability_parts = Slow(broken="the shelf is locked", go=True)
        known = bool(await a.do("sessions.list"))
        with pytest.raises(AgentError, match="the shelf is locked"):
            await (_resumed(a) if known else a.ask("go", session="s"))


async def _resumed(a: Agent) -> EventCapture:
    async with a.resume("s") as stream:
        return await EventCapture().drain(stream)


async def set_aside(home: Path) -> None:
    for _ in range(4):
        await failing(home)
    async with agent(home) as a:
        with pytest.raises(TurnSetAside, match="turn 1 of session s made no progress in 3 starts"):
            await _resumed(a)
        assert await state(a) == "set_aside"


async def test_a_turn_that_cannot_be_equipped_is_set_aside_and_tried_once_more_on_demand(home: Path) -> None:
    await set_aside(home)
    async with agent(home, "done") as a:
        async with a.resume("s", retry=True) as stream:
            assert (await EventCapture().drain(stream)).one("turn.finished").text == "done"
        await a._desk._sessions.idle("s")
        assert await state(a) == "idle"


async def test_a_message_that_was_set_aside_can_be_withdrawn(home: Path) -> None:
    await set_aside(home)
    async with agent(home, "next") as a:
        await a.cancel("s")
        assert (await a.ask("another", session="s")).text == "next"
        await a._desk._sessions.idle("s")
        assert await ends(a) == [(1, "cancelled", WITHDRAWN.format("go")), (2, "done", "next")]
        assert await state(a) == "idle"


async def test_a_turn_that_was_set_aside_can_be_cancelled(home: Path) -> None:
    await unfinished(home)
    async with await SqliteStore.open(str(home), clock=SystemClock()) as store:
        lease = await store.acquire("session:s")
        assert lease is not None
        for _ in range(3):
            await lookups.start_turn(store, lease, "s", 1)
        await store.release(lease)
    async with agent(home) as a:
        with pytest.raises(TurnSetAside):
            await _resumed(a)
        await a.cancel("s")
        assert (await _resumed(a)).one("turn.finished").status == "cancelled"
        await a._desk._sessions.idle("s")
        assert await state(a) == "idle"


async def test_a_cancel_that_is_told_of_again_stops_no_later_turn(home: Path) -> None:
    asked: list[str] = []

    @tool(risk="HIGH", effect="once")
    async def risky() -> str:
        "Do something risky."
        return "done"

    async def approver(question: Any) -> str:
        asked.append(question.call.name)
        return "once"

    async def reply(request: Any) -> Any:
        last = request.messages[-1]
        if isinstance(last, UserMessage) and last.text == "first":
            hangs.set()
            await anyio.sleep_forever()
        return calls(call("risky")) if isinstance(last, UserMessage) else "done"

    hangs, slow = anyio.Event(), Slow(go=True)
    async with agent(home, provider=FunctionProvider(reply), tools=[risky], approver=approver) as a:
        a._home.capability_parts = slow
        with anyio.fail_after(5):
            async with a.turn("first", session="s") as first:
                await hangs.wait()
                await a.queue("second", session="s")
                slow.go, slow.asked = anyio.Event(), anyio.Event()
                await a.cancel("s")
                await EventCapture().drain(first)
            await slow.asked.wait()
            a.desk.notify(await a._home.store.read("s", kinds=("cancel",)))  # as another process' entry would be told of, later
            slow.go.set()
            await a._desk._sessions.idle("s")
        assert [status for _, status, _ in await ends(a)] == ["cancelled", "done"]
    assert asked == ["risky"]


async def test_nobody_is_present_at_the_turn_of_a_message_that_an_ended_program_left(home: Path) -> None:
    ran = []

    @tool(risk="HIGH", effect="once")
    async def risky() -> str:
        "Do something risky."
        ran.append("risky")
        return "done"

    slow = Slow()
    async with agent(home, tools=[risky], approvals="ask", present=True) as a, anyio.create_task_group() as tasks:
        a._home.capability_parts = slow
        await a.desk.send("s", Inbound(text="go", key="k", by="owner"))
        await slow.asked.wait()
        a.closing()
        tasks.cancel_scope.cancel()
    async with agent(home, calls(call("risky")), "refused", tools=[risky]) as a:
        with anyio.fail_after(5):
            async with a.recover() as stream:
                seen = await EventCapture().drain(stream)
    assert seen.one("turn.finished").text == "refused"
    assert ran == []


@pytest.mark.parametrize("fails", [True, False])
async def test_a_message_that_comes_while_the_turn_before_it_fails_is_not_failed_with_it(home: Path, fails: bool) -> None:
    model, slow = Held(), Slow()
    told = []
    async with agent(home, provider=model.provider) as a:
        a._home.capability_parts = slow

        async def first() -> None:
            try:
                await a.ask("first", session="s")
            except AgentError as error:
                told.append(error.text)

        async def second() -> None:
            told.append((await a.ask("second", session="s")).text)

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(first)
                await slow.asked.wait()
                slow.broken, slow.stays = "the shelf is locked" if fails else "", False
                tasks.start_soon(second)
                await until(lambda: _count(a, "inbound", 2))
                slow.go.set()
            await a._desk._sessions.idle("s")
        assert [status for _, status, _ in await ends(a)] == ["done", "done"]
    assert told == (["the shelf is locked", "answer to second"] if fails else ["answer to second"])


def outbox(home: Path) -> list[tuple[str, str, str]]:
    with sqlite3.connect(home / "neuralclaw.db") as c:
        found = c.execute("SELECT channel, address, text FROM outbox ORDER BY id").fetchall()
    c.close()
    return found


async def test_whoever_wrote_through_a_channel_hears_that_the_message_was_withdrawn(home: Path) -> None:
    model = Held()
    async with agent(home, provider=model.provider) as a:
        with anyio.fail_after(5):
            async with a.turn("hold on", session="s") as stream:
                await model.holds.wait()
                accepted = await a.desk.queue("s", Inbound(text="second", key="k", by="owner", **CHAT))
                await a.desk.cancel("s", by="owner", message=accepted.entry)
                model.go.set()
                await EventCapture().drain(stream)
            await a._desk._sessions.idle("s")
    assert outbox(home) == [("post", "room", WITHDRAWN.format("second"))]


async def test_whoever_wrote_through_a_channel_hears_that_the_time_was_up_before_the_turn_ran(home: Path) -> None:
    async with agent(home, "done") as a:
        a._home.capability_parts = Slow()
        options = TurnOptions(model="", workspace=str(home.parent / "work"), limits=Limits(seconds=0.1))
        with anyio.fail_after(5):
            await a.desk.send("s", Inbound(text="go", key="k", by="owner", options=options, **CHAT))
            await a._desk._sessions.idle("s")
        ((_, status, text),) = await ends(a)
    assert status == "timed_out"
    assert outbox(home) == [("post", "room", text)]


@pytest.mark.parametrize("kind", ["tool.started", "turn.started"])
async def test_whoever_wrote_through_a_channel_hears_that_the_turn_cannot_go_on(home: Path, kind: str) -> None:
    hangs = anyio.Event()

    @tool(risk="LOW", effect="pure")
    async def hang() -> str:
        "Hang."
        hangs.set()
        await anyio.sleep_forever()
        return ""

    async with agent(home, calls(call("hang")), tools=[hang]) as a, anyio.create_task_group() as tasks:
        await a.desk.send("s", Inbound(text="go", key="k", by="owner", **CHAT))
        await hangs.wait()
        a.closing()
        tasks.cancel_scope.cancel()
    with sqlite3.connect(home / "neuralclaw.db") as c:
        c.execute("UPDATE bodies SET data = x'7b' WHERE record = (SELECT record FROM entries WHERE kind = ?)", (kind,))
    c.close()
    async with agent(home, "a fresh start") as a:
        assert (await a.ask("again", session="s")).text == "a fresh start"
    ((channel, address, text),) = outbox(home)
    assert (channel, address) == ("post", "room")
    assert "turn 1 of session s cannot go on" in text


class Counting(SqliteStore):
    """The real store, which counts the entries of these kinds that are read."""

    read_count = 0

    async def read(self, session: str, **more: Any) -> list[Entry]:
        entries = await super().read(session, **more)
        if more.get("kinds") == ("turn.started",):
            self.read_count += len(entries)
        return entries


async def test_what_the_agent_says_of_itself_costs_the_same_in_a_long_session(home: Path) -> None:
    store = await Counting.open(str(home), clock=SystemClock())
    assert isinstance(store, Counting)
    provider = ScriptedProvider(*["done"] * 12, calls(call("about_me")), "told")
    async with agent_over(store, provider=provider) as a:
        for turn in range(12):
            await a.ask(f"turn {turn}", session="s")
        store.read_count = 0
        told = await events(a, session="s", tools=["about_me", "echo"])
    assert "echo" in told.one("tool.finished").content
    assert "write_file" not in told.one("tool.finished").content
    assert store.read_count == 1
