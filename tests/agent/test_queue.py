"""Messages that wait for the end of a turn: on record at once, begun after it, in whichever process; and what a message says of its sender."""

import os
import signal
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw.errors import NeuralClawError, UsageError
from neuralclaw.testing import FunctionProvider, Reply
from neuralclaw.types.events import Inbound, TurnFinished
from neuralclaw.types.messages import Request

from .kit import agent, call, calls

pytestmark = pytest.mark.anyio


class Held:
    """A model that answers a task only when it is let."""

    def __init__(self) -> None:
        self.asked, self.let = anyio.Event(), anyio.Event()
        self.provider = FunctionProvider(self._reply)

    async def _reply(self, request: Request) -> Reply | str:
        self.asked.set()
        await self.let.wait()
        return f"answer {len(self.provider.requests)}"


async def record(opened: Any, session: str = "s") -> list[tuple[str, int]]:
    entries = await opened._home.store.read(session)
    return [(entry.header.kind, entry.turn) for entry in entries if entry.header.kind in ("inbound", "turn.started", "turn.finished")]


async def test_a_queued_message_is_on_record_while_the_turn_runs_and_begins_the_next_one(home: Path) -> None:
    held = Held()
    async with agent(home, provider=held.provider) as a, anyio.create_task_group() as tasks:
        tasks.start_soon(a.desk.send, "s", a._defaults.message("first"))
        await held.asked.wait()
        entry = await a.queue("second", session="s", key="k2")
        (waits,) = [e.body for e in await a._home.store.read("s", kinds=("inbound",)) if e.entry == entry]
        assert (waits.queued, waits.text) == (True, "second")
        held.let.set()
        with anyio.fail_after(5):
            async with a.turn("second", session="s", key="k2") as events:
                ends = [event.body.text async for event in events if isinstance(event.body, TurnFinished)]
        assert ends == ["answer 2"]
        assert await record(a) == [("inbound", 1), ("turn.started", 1), ("inbound", 2), ("turn.finished", 1), ("turn.started", 2), ("turn.finished", 2)]


async def test_a_message_queued_where_nothing_runs_begins_its_turn_at_once(home: Path) -> None:
    held = Held()
    held.let.set()
    async with agent(home, provider=held.provider) as a:
        await a.queue("alone", session="new")
        with anyio.fail_after(5):
            async with a.desk.events("new") as events:
                async for event in events:
                    if isinstance(event.body, TurnFinished):
                        assert event.body.text == "answer 1"
                        break


async def test_the_same_key_queues_one_message(home: Path) -> None:
    held = Held()
    async with agent(home, provider=held.provider) as a, anyio.create_task_group() as tasks:
        tasks.start_soon(a.desk.send, "s", a._defaults.message("first"))
        await held.asked.wait()
        assert await a.queue("second", session="s", key="k") == await a.queue("second", session="s", key="k")
        held.let.set()


async def test_a_message_queued_behind_a_parked_turn_leaves_its_question_open(home: Path) -> None:
    async with agent(home, calls(call("delete_file", path="gone.txt")), "next", "done") as a:
        (home.parent / "work" / "gone.txt").write_text("x")
        parked = await a.ask("delete it", session="s", approvals="park")
        assert parked.waiting
        await a.queue("and then this", session="s", key="k2")
        with anyio.fail_after(5):
            async with a.turn("and then this", session="s", key="k2") as events:
                ends = [event.waiting async for event in events if isinstance(event.body, TurnFinished)]
            await a._desk._sessions.idle("s")
        assert ends == [parked.waiting]
        assert [one["approval_id"] for one in await a.do("approvals.list")] == list(parked.waiting)
        await a.answer(parked.waiting[0], "no")
        with anyio.fail_after(5):
            async with a.resume("s") as events:
                assert [event.status async for event in events if isinstance(event.body, TurnFinished)] == ["done"]
            await a._desk._sessions.idle("s")
        assert [kind for kind, turn in await record(a) if turn == 2][-2:] == ["turn.started", "turn.finished"]


HOLDER = """
import sys, anyio
sys.path.insert(0, sys.argv[1])
from itertools import groupby
from pathlib import Path
from tests.agent.kit import agent
from neuralclaw.testing import FunctionProvider

async def main():
    async def forever(request):
        print("asked", flush=True)
        await anyio.sleep_forever()
    async with agent(Path(sys.argv[2]), provider=FunctionProvider(forever)) as a:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(a.desk.send, "s", a._defaults.message("first"))
            await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.fixture
def holder(home: Path) -> Any:
    """Another process whose turn of session `s` never ends."""
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(root), str(home)], stdout=subprocess.PIPE, text=True, cwd=root)
    assert process.stdout is not None
    assert process.stdout.readline() == "asked\n"
    yield process
    if process.poll() is None:
        process.kill()
    process.wait()
    process.stdout.close()


async def test_a_queued_message_survives_the_death_of_the_process_that_runs_the_turn(home: Path, holder: Any) -> None:
    held = Held()
    held.let.set()
    async with agent(home, provider=held.provider) as a:
        with pytest.raises(NeuralClawError, match="busy"):
            await a.ask("now", session="s")
        await a.queue("second", session="s", key="k2")
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        with anyio.fail_after(5):
            async with a.resume("s") as events:
                assert [event.text async for event in events if isinstance(event.body, TurnFinished)] == ["answer 1"]
            async with a.turn("second", session="s", key="k2") as events:
                assert [event.text async for event in events if isinstance(event.body, TurnFinished)] == ["answer 2"]


async def test_a_message_says_who_sent_it_through_which_channel_and_events_show_that_only_then(home: Path) -> None:
    async with agent(home, "one", "two") as a:
        plain = Inbound(text="a", key="1", by="program", options=a._defaults.options())
        told = Inbound(text="b", key="2", by="owner", options=a._defaults.options(), sender="7", channel="post", address="room", reply_to="room/7")
        for one in (plain, told):
            async with a.desk.turn("s", one) as events:
                assert [event.status async for event in events if isinstance(event.body, TurnFinished)] == ["done"]
        first, second = [e for e in (await a.do("sessions.show", session="s"))["events"] if e["type"] == "inbound"]
    assert not {"sender", "channel", "address"} & first.keys()
    assert first["reply_to"] is None
    assert (second["sender"], second["channel"], second["address"], second["reply_to"]) == ("7", "post", "room", "room/7")


async def test_a_message_without_options_runs_under_those_of_the_session_or_the_clients_own(home: Path) -> None:
    async with agent(home, "one", "two", trust="high") as a:
        async with a.desk.turn("s", Inbound(text="a", key="1", by="program")) as events:
            (began,) = [event async for event in events if event.type == "turn.started"]
        assert (began.options.trust, began.options.workspace) == ("high", str(home.parent / "work"))
        async with a.desk.turn("s", Inbound(text="b", key="2", by="program")) as events:
            (began,) = [event async for event in events if event.type == "turn.started"]
        assert began.options.trust == "high"
        with pytest.raises(UsageError):
            async with a.desk.turn("home", Inbound(text="c", key="3", by="program")):
                pass


@pytest.mark.parametrize("next_step", ["the same message again", "another message", "recover"])
async def test_a_parked_turn_that_was_cancelled_waits_for_nobody_and_ends_with_what_comes_next(home: Path, next_step: str) -> None:
    async with agent(home, calls(call("delete_file", path="gone.txt")), "next", "more") as a:
        (home.parent / "work" / "gone.txt").write_text("x")
        assert (await a.ask("delete it", session="s", approvals="park")).waiting
        await a.queue("and then this", session="s", key="k2")
        await a.cancel("s")
        assert await a.do("approvals.list") == []
        with anyio.fail_after(5):
            if next_step == "recover":
                async for _ in a.desk.recover(by="owner"):
                    pass
            else:
                key = "k2" if next_step == "the same message again" else "k3"
                await a.desk.send("s", Inbound(text="and then this", key=key, by="program"))
            await a._desk._sessions.idle("s")
        ends = [entry.body.status for entry in await a._home.store.read("s", kinds=("turn.finished",)) if isinstance(entry.body, TurnFinished)]
        assert [status for status, _ in groupby(ends)][:3] == ["needs_approval", "cancelled", "done"]
        assert (home.parent / "work" / "gone.txt").exists()
