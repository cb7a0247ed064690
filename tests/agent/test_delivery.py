"""Answers go where their messages came from: delivered, recorded, tried again after a failure and after the death of the process."""

import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw import lookups
from neuralclaw.app.background_work import run_services
from neuralclaw.app.capabilities import Capabilities, LoadedCapability
from neuralclaw.app.capability_parts import CapabilityParts, NoCapabilityParts
from neuralclaw.capability import Capability, Service
from neuralclaw.errors import UsageError
from neuralclaw.ports import Channel
from neuralclaw.testing import QueueChannel

from .kit import agent

pytestmark = [pytest.mark.anyio, pytest.mark.full]
ROOT = Path(__file__).resolve().parents[2]


class Background(NoCapabilityParts):
    """What works in the background."""

    def __init__(self, *services: Service, channels: Mapping[str, Channel] | None = None, desks: CapabilityParts | None = None) -> None:
        self._services, self._channels, self._desks = services, channels or {}, desks

    def services(self) -> Any:
        return [(service, None) for service in self._services]

    def channels(self) -> Mapping[str, Channel]:
        return self._channels

    def channel_desk(self, channel: str) -> Any:
        assert self._desks is not None, "a channel has a desk"
        return self._desks.channel_desk(channel)


@pytest.fixture
def post() -> Iterator[QueueChannel]:
    channel = QueueChannel("post")
    yield channel
    channel.close()


async def state(opened: Any) -> list[tuple[str, int, str]]:
    return [(row.state, row.attempts, row.error) for row in await lookups.outbox(opened._home.store, pending=False)]


async def settled(opened: Any, wanted: str) -> None:
    """Returns when every answer is in that state."""
    while {one for one, _, _ in await state(opened)} != {wanted}:
        await anyio.lowlevel.checkpoint()


async def test_an_answer_goes_to_the_address_its_message_came_from(home: Path, post: QueueChannel) -> None:
    async with agent(home, "hello yourself") as a, anyio.create_task_group() as tasks:
        a._home.capability_parts = Background(channels={"post": post}, desks=a._home.capability_parts)
        tasks.start_soon(run_services, a._home, a.desk)
        post.say("hello", session="s", key="1", address="room 7")
        with anyio.fail_after(5):
            ((address, event),) = await post.arrived(1)
            await settled(a, "delivered")
        tasks.cancel_scope.cancel()
        assert (address, event.type, event.text, event.session) == ("room 7", "turn.finished", "hello yourself", "s")
        assert await state(a) == [("delivered", 1, "")]


async def test_a_delivery_that_fails_is_tried_again(home: Path, post: QueueChannel) -> None:
    post.failures = 1
    async with agent(home, "hello yourself") as a, anyio.create_task_group() as tasks:
        a._home.capability_parts = Background(channels={"post": post}, desks=a._home.capability_parts)
        tasks.start_soon(run_services, a._home, a.desk)
        post.say("hello", session="s", key="1")
        with anyio.fail_after(5):
            assert len(await post.arrived(1)) == 1
            await settled(a, "delivered")
        tasks.cancel_scope.cancel()
        assert await state(a) == [("delivered", 2, "")]


async def test_the_end_of_a_turn_without_a_text_is_delivered_too(home: Path, post: QueueChannel) -> None:
    async with agent(home, "") as a, anyio.create_task_group() as tasks:
        a._home.capability_parts = Background(channels={"post": post}, desks=a._home.capability_parts)
        tasks.start_soon(run_services, a._home, a.desk)
        post.say("hello", session="s", key="1", address="room 7")
        with anyio.fail_after(5):
            ((address, event),) = await post.arrived(1)
        tasks.cancel_scope.cancel()
    assert (address, event.status, event.text) == ("room 7", "done", "")


async def test_a_channel_that_cannot_be_made_harms_nobody_and_is_made_again(home: Path, post: QueueChannel) -> None:
    tries: list[str] = []
    told: list[str] = []

    class Told(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.append(record.getMessage())

    log, handler = logging.getLogger("neuralclaw.runtime.background"), Told()
    log.addHandler(handler)

    def make(context: Any) -> Channel:
        tries.append("made")
        if len(tries) == 1:
            raise RuntimeError("no token")
        return post

    room = Capability(name="room", summary="A room.", channels={"post": make})
    async with agent(home, "hello yourself") as a, anyio.create_task_group() as tasks:
        a._home.capability_parts = Capabilities([LoadedCapability("room", "1", "room", value=room)]).for_client(a._home.capability_parts._client)  # type: ignore[attr-defined]
        tasks.start_soon(run_services, a._home, a.desk)
        post.say("hello", session="s", key="1")
        with anyio.fail_after(5):
            await post.arrived(1)
        tasks.cancel_scope.cancel()
    log.removeHandler(handler)
    assert len(tries) == 2
    place = rf" \({re.escape(__file__)}:\d+\)"
    assert [re.sub(place, "", line) for line in told] == ["channel:post failed: RuntimeError: no token; it is started again in 1 s"]


async def test_an_answer_that_nobody_asked_for_at_an_address_is_delivered_nowhere(home: Path) -> None:
    async with agent(home, "done") as a:
        await a.ask("go", session="s")
        assert await state(a) == []


PROGRAM = """
import sys, anyio
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from neuralclaw.app.background_work import run_services
from neuralclaw.capability import Service
from neuralclaw.errors import UsageError
from neuralclaw.testing import QueueChannel
from tests.agent.kit import agent
from tests.agent.test_delivery import Background

class Stuck(QueueChannel):
    async def deliver(self, address, event):
        print("begun", flush=True)
        await anyio.sleep_forever()

class Returned(Stuck):
    async def serve(self, desk):
        async for session, inbound in self._said:
            await desk.send(session, inbound)
            return

async def work(context):
    print("begun", flush=True)
    await anyio.sleep_forever()

async def main():
    post = Returned("post") if sys.argv[3] == "returned" else Stuck("post")
    async with agent(Path(sys.argv[2]), "the answer") as a, anyio.create_task_group() as tasks:
        if sys.argv[3] != "service":
            a._home.capability_parts = Background(channels={"post": post}, desks=a._home.capability_parts)
            post.say("hello", session="s", key="1", address="room 7")
        else:
            a._home.capability_parts = Background(Service(name="sweep", run=work))
        tasks.start_soon(run_services, a._home, a.desk)
        await anyio.sleep_forever()

anyio.run(main)
"""


@contextmanager
def other_process(home: Path, what: str) -> Iterator[Any]:
    """Another process of the home that has begun its work in the background."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(ROOT), str(home), what], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "begun\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


async def test_an_answer_is_delivered_by_the_next_process_when_the_first_dies_before_it_arrived(home: Path, post: QueueChannel) -> None:
    with other_process(home, "channel") as first:
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
    async with agent(home) as a, anyio.create_task_group() as tasks:
        assert await state(a) == [("pending", 0, "")]
        a._home.capability_parts = Background(channels={"post": post}, desks=a._home.capability_parts)
        tasks.start_soon(run_services, a._home, a.desk)
        with anyio.fail_after(5):
            ((address, event),) = await post.arrived(1)
            await settled(a, "delivered")
        tasks.cancel_scope.cancel()
    assert (address, event.text) == ("room 7", "the answer")


async def test_another_process_takes_over_a_channel_that_has_returned_and_its_delivery_together(home: Path, post: QueueChannel) -> None:
    with other_process(home, "returned") as first:
        async with agent(home, "here too") as a, anyio.create_task_group() as tasks:
            a._home.capability_parts = Background(channels={"post": post}, desks=a._home.capability_parts)
            tasks.start_soon(run_services, a._home, a.desk)
            post.say("and here?", session="t", key="2", address="room 8")
            store = a._home.store
            assert str(first.pid) in str(await store.holder("channel:post"))
            assert await store.holder("delivery:post") is None
            assert (post.delivered, post._said.statistics().current_buffer_used) == ([], 1), "it serves and delivers in one process"
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
            with anyio.fail_after(5):
                await post.arrived(2)
                await settled(a, "delivered")
            tasks.cancel_scope.cancel()
    assert {(address, event.text) for address, event in post.delivered} == {("room 7", "the answer"), ("room 8", "here too")}


async def test_a_service_runs_in_one_process_and_another_takes_over_when_that_dies(home: Path) -> None:
    begun = anyio.Event()

    async def work(context: Any) -> None:
        begun.set()
        await anyio.sleep_forever()

    with other_process(home, "service") as first:
        async with agent(home) as a, anyio.create_task_group() as tasks:
            a._home.capability_parts = Background(Service(name="sweep", run=work))
            tasks.start_soon(run_services, a._home, a.desk)
            assert await a._home.store.acquire("service:sweep") is None
            assert str(first.pid) in str(await a._home.store.holder("service:sweep"))
            assert not begun.is_set()
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
            with anyio.fail_after(5):
                await begun.wait()
            tasks.cancel_scope.cancel()


async def test_a_service_that_fails_is_started_again_and_one_that_returns_is_not(home: Path) -> None:
    runs: list[str] = []
    twice = anyio.Event()

    async def failing(context: Any) -> None:
        runs.append("failing")
        if runs.count("failing") < 2:
            raise RuntimeError("not yet")
        twice.set()

    async def brief(context: Any) -> None:
        runs.append("brief")

    async with agent(home) as a:
        a._home.capability_parts = Background(Service(name="failing", run=failing), Service(name="brief", run=brief))
        with anyio.fail_after(5):
            await run_services(a._home, a._desk)
        assert await a._home.store.holder("service:failing") is None
    assert twice.is_set()
    assert sorted(runs) == ["brief", "failing", "failing"]


async def test_an_agent_opened_with_services_ends_with_them(home: Path) -> None:
    async with agent(home, "done", services=True) as a:
        assert (await a.ask("go", session="s")).text == "done"


async def test_services_is_true_or_false(home: Path) -> None:
    with pytest.raises(UsageError, match="services"):
        async with agent(home, services="yes"):
            pass
