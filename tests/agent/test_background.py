"""Work in the background harms nothing around it, has one life with its lease, and passes on whole to another process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw import Agent, config
from neuralclaw.app.capabilities import Capabilities, LoadedCapability
from neuralclaw.capability import Capability, Channel, Service
from neuralclaw.errors import UsageError
from neuralclaw.ports import Desk
from neuralclaw.runtime.background import BackgroundJob, BackgroundJobs, BackgroundTask
from neuralclaw.testing import FakeClock
from neuralclaw.types.events import Inbound
from neuralclaw.types.records import Lease

from ..store import kit
from ..waiting import until
from .deliveries import Post, answer, hang, states
from .kit import agent
from .test_delivery_order import Unsteady

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def serving(home: Path, *replies: Any, services: tuple[Service, ...] = (), **channels: Channel) -> AsyncIterator[Agent]:
    """An agent that is opened with services, and with a capability that brings these."""

    def made(channel: Channel) -> Callable[[Any], Channel]:
        return lambda context: channel

    room = Capability(name="room", summary="A room.", services=services, channels={name: made(channel) for name, channel in channels.items()})
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home.parent)}
    brought = Capabilities([LoadedCapability("room", "1", "room", value=room)])
    loaded = config.load(home=str(home), environ=environ, extensions=lambda enabled: brought)
    async with agent(home, *replies, settings=loaded, services=True) as a:
        yield a


class Room(Post):
    """A channel whose `serve` is this function."""

    def __init__(self, serve: Callable[[Desk], Awaitable[None]] | None = None, **acts: Any) -> None:
        super().__init__(**acts)
        self._serve = serve
        self.serves = 0

    async def serve(self, desk: Desk) -> None:
        self.serves += 1
        if self._serve is not None:
            await self._serve(desk)


async def test_a_channel_that_has_returned_keeps_its_one_lease_and_delivers(home: Path) -> None:
    one, two = Room(), Room()
    async with serving(home, post=two):
        with anyio.fail_after(5):
            await until(lambda: two.serves)
            async with serving(home, post=one) as first:
                store = first._home.store
                assert await store.holder("channel:post") is not None
                assert await store.holder("delivery:post") is None
                await answer(store, "one", "hello")
                await two.has(("one", "hello"))
                assert one.serves == 0
    async with kit.opened(home) as store:
        assert await store.holder("channel:post") is None


async def test_another_agent_takes_over_a_channel_that_has_returned_and_its_delivery_together(home: Path) -> None:
    one, two = Room(one=hang), Room()
    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(5):
            async with serving(home, post=one) as first:
                await answer(first._home.store, "one", "hello")
                await until(lambda: one.begun)
                closed, opened = anyio.Event(), anyio.Event()

                async def second() -> None:
                    async with serving(home, post=two):
                        opened.set()
                        await closed.wait()
                        await two.has(("one", "hello"))
                        assert (two.serves, one.serves) == (1, 1)

                tasks.start_soon(second)
                await opened.wait()
                assert (two.serves, two.begun) == (0, [])
            closed.set()


async def test_answers_are_delivered_while_the_channel_fails_to_serve(home: Path) -> None:
    async def fails(desk: Desk) -> None:
        raise ConnectionError("no network")

    room = Room(fails)
    with anyio.fail_after(5):
        async with serving(home, post=room) as a:
            await until(lambda: room.serves)
            await answer(a._home.store, "one", "hello")
            await room.has(("one", "hello"))


async def test_an_agent_that_is_closed_while_it_delivers_leaves_the_answer_to_the_next_one(home: Path) -> None:
    async def says(desk: Desk) -> None:
        await desk.send("s", Inbound(text="hello", key="1", by="owner", channel="post", address="one", reply_to="one"))

    room = Room(says, one=hang)
    with anyio.fail_after(5):
        async with serving(home, "hello yourself", post=room):
            await until(lambda: room.begun)
        async with kit.opened(home) as store:
            assert await states(store) == [("hello yourself", "pending", 0)]
            assert await store.holder("channel:post") is None
        room.acts.clear()
        async with serving(home, post=room) as a:
            await room.has(("one", "hello yourself"))
            await until(lambda: _delivered(a))


async def _delivered(a: Agent) -> bool:
    return [state for _, state, _ in await states(a._home.store)] == ["delivered"]


async def test_of_two_agents_with_one_home_one_runs_a_service_at_a_time(home: Path) -> None:
    running: list[str] = []

    def service(name: str) -> tuple[Service, ...]:
        async def work(context: Any) -> None:
            running.append(name)
            try:
                await anyio.sleep_forever()
            finally:
                running.remove(name)

        return (Service(name="sweep", run=work),)

    async with serving(home, services=service("first")):
        await until(lambda: running)
        async with serving(home, services=service("second")):
            assert running == ["first"]
    async with serving(home, services=service("second")):
        await until(lambda: running == ["second"])


async def test_services_are_not_run_over_a_home_that_is_only_read(home: Path) -> None:
    async with agent(home):
        pass
    with pytest.raises(UsageError, match="services"):
        async with agent(home, services=True, readonly=True, thinks=False):
            pass


def job(name: str, run: Callable[[], Awaitable[Any]]) -> BackgroundJob:
    async def work(lease: Lease) -> None:
        await run()

    return BackgroundJob(lease=f"service:{name}", tasks=[BackgroundTask(name=f"service:{name}", run=work)])


def raising(error: BaseException) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        raise error

    return run


async def cancels_its_task() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await anyio.sleep_forever()


async def leaves_a_scope_open() -> None:
    anyio.CancelScope().__enter__()


async def leaves_a_task_group_open() -> None:
    tasks = anyio.create_task_group()
    await tasks.__aenter__()
    tasks.cancel_scope.cancel()
    await anyio.sleep_forever()


@pytest.mark.parametrize(
    "act",
    [
        raising(SystemExit(3)),
        raising(GeneratorExit()),
        raising(asyncio.CancelledError()),
        raising(BaseExceptionGroup("several", [SystemExit(3), ValueError("x")])),
        raising(StopAsyncIteration()),
        cancels_its_task,
        leaves_a_scope_open,
        leaves_a_task_group_open,
    ],
)
async def test_whatever_a_service_does_it_is_started_again_and_the_others_go_on(home: Path, act: Callable[[], Awaitable[None]]) -> None:
    runs, going = [], []

    async def bad() -> None:
        runs.append(1)
        if len(runs) < 3:
            await act()
        else:
            await anyio.sleep_forever()

    async def well() -> None:
        going.append("on")
        try:
            await anyio.sleep_forever()
        finally:
            going.clear()

    clock = FakeClock()
    async with kit.opened(home) as store, anyio.create_task_group() as tasks:
        tasks.start_soon(BackgroundJobs(store, clock).run, [job("bad", bad), job("well", well)])
        await until(lambda: len(runs) == 3)
        assert going == ["on"]
        assert {1.0, 2.0} <= set(clock.slept), "longer each time"
        tasks.cancel_scope.cancel()


class Stepping(FakeClock):
    """A clock whose sleepers wait until they are woken."""

    def __init__(self) -> None:
        super().__init__()
        self._wake = anyio.Event()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await self._wake.wait()

    def wake(self) -> None:
        self._wake.set()
        self._wake = anyio.Event()


async def test_work_whose_lease_has_passed_on_is_stopped_and_begun_again_when_it_is_free(home: Path) -> None:
    going: list[str] = []

    async def work() -> None:
        going.append("on")
        try:
            await anyio.sleep_forever()
        finally:
            going.clear()

    clock = Stepping()
    async with kit.opened(home) as store, kit.opened(home) as other, anyio.create_task_group() as tasks:
        tasks.start_soon(BackgroundJobs(store, clock).run, [job("sweep", work)])
        await until(lambda: going and clock.slept)
        for lock in (home / "locks").iterdir():
            if lock.name == store._presence.holder:  # type: ignore[union-attr]
                lock.unlink()  # somebody cleans up
        taken = await other.acquire("service:sweep")
        assert taken is not None
        clock.wake()
        await until(lambda: not going)
        await other.release(taken)
        await until(lambda: (clock.wake(), going)[1])
        tasks.cancel_scope.cancel()


async def test_a_lease_that_cannot_be_given_back_is_given_back_later(home: Path) -> None:
    async def work() -> None:
        pass

    async with kit.opened(home) as store:
        unsteady = Unsteady(store, "release")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(BackgroundJobs(unsteady, FakeClock()).run, [job("sweep", work)])  # type: ignore[arg-type]
            await until(lambda: unsteady.failed >= 2)
            assert await store.holder("service:sweep") is not None
            unsteady.failing.clear()
        assert await store.holder("service:sweep") is None
