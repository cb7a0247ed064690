"""One address keeps the order of its answers, no address waits for another, and each delivery has its time."""

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw.agent.redaction import NO_REDACTION
from neuralclaw.capability import Undeliverable
from neuralclaw.errors import LeaseLost, StoreError
from neuralclaw.runtime.delivery import AT_ONCE, GIVEN_UP, RETRIES_AT_ONCE, Delivery
from neuralclaw.secrets import Redactor
from neuralclaw.testing import FakeClock
from neuralclaw.types.entries import Event

from ..store import kit
from ..waiting import until
from .deliveries import Post, answer, delivering, fail, hang, rows, states

pytestmark = pytest.mark.anyio


async def test_an_address_that_hangs_holds_up_no_other_one(home: Path) -> None:
    post = Post(one=hang)
    async with kit.opened(home) as store:
        await answer(store, "one", "first")
        await answer(store, "two", "second")
        async with delivering(store, post) as running:
            await post.has(("two", "second"))
            await running.say("two", "third")
            await post.has(("two", "third"))
            await until(lambda: _is(store, [("first", "pending", 0), ("second", "delivered", 1), ("third", "delivered", 1)]))
    assert post.begun.count(("one", "first")) == 1


async def _is(store: Any, wanted: list[tuple[str, str, int]]) -> bool:
    return await states(store) == wanted


async def test_a_delivery_that_hangs_is_stopped_at_its_time_and_tried_again(home: Path) -> None:
    stopped: list[str] = []

    async def once(event: Event) -> None:
        if not stopped:
            try:
                await anyio.sleep_forever()
            finally:
                stopped.append(event.text)

    post = Post(one=once)
    async with kit.opened(home) as store:
        await answer(store, "one", "first")
        async with delivering(store, post, limit=0.02) as running:
            await until(lambda: _is(store, [("first", "pending", 1)]))
            (row,) = await rows(store)
            assert row.error == "it did not return within 0.02 s; whether the answer arrived is not known"
            assert stopped == ["first"]
            running.later(1)
            await post.has(("one", "first"))
            await until(lambda: _is(store, [("first", "delivered", 2)]))
    first, second = post.events
    assert (first.session, first.entry) == (second.session, second.entry) == ("s", 1)


async def test_a_channel_that_returns_because_it_was_stopped_has_not_delivered(home: Path) -> None:
    async def gives_in(event: Event) -> None:
        with anyio.move_on_after(3600):
            try:
                await anyio.sleep_forever()
            except asyncio.CancelledError:
                return

    async with kit.opened(home) as store:
        await answer(store, "one", "first")
        async with delivering(store, Post(one=gives_in), limit=0.02):
            await until(lambda: _is(store, [("first", "pending", 1)]))


async def test_the_answers_to_an_address_keep_their_order_while_one_fails(home: Path) -> None:
    post = Post(one=fail)
    async with kit.opened(home) as store:
        for number, address in enumerate(["one", "two", "one", "two", "one"]):
            await answer(store, address, str(number), session=f"s{number}")
        async with delivering(store, post) as running:
            await post.has(("two", "1"), ("two", "3"))
            await until(lambda: _is(store, [("0", "pending", 1), ("1", "delivered", 1), ("2", "pending", 0), ("3", "delivered", 1), ("4", "pending", 0)]))
            running.later(1)
            await until(lambda: post.begun.count(("one", "0")) == 2)
            post.acts.clear()
            running.later(2)
            await post.has(("one", "4"))
    assert [text for address, text in post.arrived if address == "one"] == ["0", "2", "4"]
    assert [text for address, text in post.begun if address == "one"] == ["0", "0", "0", "2", "4"]


async def test_the_order_stays_over_a_restart_of_the_program(home: Path) -> None:
    clock = FakeClock()
    async with kit.opened(home) as store:
        await answer(store, "one", "first")
        async with delivering(store, Post(one=fail), clock=clock):
            await until(lambda: _is(store, [("first", "pending", 1)]))
    post = Post()
    async with kit.opened(home) as store:
        await answer(store, "one", "second")
        async with delivering(store, post, clock=clock) as running:
            await running.say("two", "another")
            await post.has(("two", "another"))
            assert post.arrived == [("two", "another")], "the first one is not due yet, and the second waits for it"
            running.later(1)
            await post.has(("one", "second"))
    assert post.arrived == [("two", "another"), ("one", "first"), ("one", "second")]


async def test_what_is_given_up_holds_nothing_up(home: Path) -> None:
    post = Post()

    async def never(event: Event) -> None:
        if event.text == "first":
            raise ConnectionError("gone")

    post.acts["one"] = never
    async with kit.opened(home) as store:
        await answer(store, "one", "first", attempts=GIVEN_UP - 1)
        await answer(store, "one", "second")
        async with delivering(store, post):
            await post.has(("one", "second"))
            await until(lambda: _is(store, [("first", "failed", GIVEN_UP), ("second", "delivered", 1)]))


@pytest.mark.parametrize("error", [Undeliverable("the chat is gone"), ExceptionGroup("two", [ExceptionGroup("one", [Undeliverable("the chat is gone")])])])
async def test_an_answer_that_can_never_arrive_is_given_up_at_once(home: Path, error: Exception) -> None:
    async def refuse(event: Event) -> None:
        raise error

    post = Post(one=refuse)
    async with kit.opened(home) as store:
        await answer(store, "one", "first")
        await answer(store, "one", "second")
        async with delivering(store, post):
            await until(lambda: _is(store, [("first", "failed", 1), ("second", "failed", 1)]))
        assert (await rows(store))[0].error == "Undeliverable: the chat is gone"


async def test_only_so_many_deliveries_run_at_once(home: Path) -> None:
    post = Post(**{f"a{number}": hang for number in range(AT_ONCE + 3)})
    async with kit.opened(home) as store:
        for address in post.acts:
            await answer(store, address, "hello")
        async with delivering(store, post):
            await until(lambda: len(post.begun) == AT_ONCE)
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
            assert len(post.begun) == AT_ONCE


async def test_many_addresses_that_hang_again_leave_room_for_the_others(home: Path) -> None:
    post = Post(**{f"a{number}": hang for number in range(AT_ONCE + 3)})
    async with kit.opened(home) as store:
        for address in post.acts:
            await answer(store, address, "hello", attempts=1)
        await answer(store, "well", "hello")
        async with delivering(store, post):
            await post.has(("well", "hello"))
            await until(lambda: len(post.begun) > RETRIES_AT_ONCE)
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
    assert len(post.begun) == RETRIES_AT_ONCE + 1


async def cancels_its_task(event: Event) -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await anyio.sleep_forever()


async def opens_a_scope_and_fails(event: Event) -> None:
    anyio.move_on_after(0.01).__enter__()
    raise ConnectionError("with a scope that nobody closes")


def raising(error: BaseException) -> Any:
    async def deliver(event: Event) -> None:
        raise error

    return deliver


@pytest.mark.parametrize(
    "act",
    [
        raising(SystemExit(3)),
        raising(GeneratorExit()),
        raising(asyncio.CancelledError()),
        raising(BaseExceptionGroup("several", [SystemExit(3), ValueError("x")])),
        raising(StopAsyncIteration()),
        cancels_its_task,
        opens_a_scope_and_fails,
    ],
)
async def test_whatever_a_channel_does_is_one_failed_attempt(home: Path, act: Any) -> None:
    post = Post(one=act)
    async with kit.opened(home) as store:
        await answer(store, "one", "first")
        async with delivering(store, post) as running:
            await until(lambda: _is(store, [("first", "pending", 1)]))
            await running.say("two", "second")
            await post.has(("two", "second"))
            post.acts.clear()
            running.later(1)
            await post.has(("one", "first"))


async def test_a_delivery_that_is_cancelled_under_way_stays_to_be_delivered(home: Path) -> None:
    post = Post(one=hang)
    async with kit.opened(home) as store:
        await answer(store, "one", "first")
        async with delivering(store, post) as running:
            await until(lambda: post.begun)
            running.tasks.cancel_scope.cancel()
        assert await states(store) == [("first", "pending", 0)]


async def test_an_answer_that_has_arrived_is_recorded_also_where_the_program_ends_at_this_moment(home: Path) -> None:
    post = Post()
    async with kit.opened(home) as store:
        await answer(store, "one", "first")
        async with delivering(store, post) as running:

            async def ends(event: Event) -> None:
                asyncio.get_running_loop().call_soon(running.tasks.cancel_scope.cancel)

            post.acts["one"] = ends
            await anyio.sleep_forever()
        assert await states(store) == [("first", "delivered", 1)]


async def test_a_clock_that_was_set_back_delays_nothing(home: Path) -> None:
    clock, post = FakeClock(), Post(one=fail)
    async with kit.opened(home) as store:
        await answer(store, "one", "first")
        async with delivering(store, post, clock=clock) as running:
            await until(lambda: _is(store, [("first", "pending", 1)]))
            post.acts.clear()
            running.later(-86400)
            await post.has(("one", "first"))


async def test_who_has_lost_the_lease_delivers_nothing(home: Path) -> None:
    post = Post()
    async with kit.opened(home) as store:
        await answer(store, "one", "first")
        lease = await store.acquire("channel:post")
        assert lease is not None
        c = kit.raw(home)
        c.execute("UPDATE leases SET holder = '1-other', epoch = epoch + 1")
        c.close()
        with pytest.raises(ExceptionGroup) as caught, anyio.fail_after(5):
            await Delivery(store, FakeClock(), NO_REDACTION, "post", post).run(lease)
        assert caught.group_contains(LeaseLost)
    assert post.begun == []


class Unsteady:
    """The real store of one process; `failing` names the methods that fail."""

    def __init__(self, store: Any, *failing: str) -> None:
        self._store, self.failing, self.failed = store, set(failing), 0

    def __getattr__(self, name: str) -> Any:
        if name in self.failing:
            return self._fail
        return getattr(self._store, name)

    async def _fail(self, *_: Any, **__: Any) -> None:
        self.failed += 1
        await anyio.lowlevel.checkpoint()
        raise StoreError("the disk is full")


async def test_what_has_arrived_is_not_sent_again_because_it_cannot_be_recorded(home: Path) -> None:
    post = Post()
    async with kit.opened(home) as store:
        await answer(store, "one", "first")
        await answer(store, "one", "second")
        unsteady = Unsteady(store, "append")
        async with delivering(unsteady, post):
            await until(lambda: unsteady.failed >= 3)
            assert post.arrived == [("one", "first")]
            unsteady.failing.clear()
            await until(lambda: _is(store, [("first", "delivered", 1), ("second", "delivered", 1)]))
    assert post.arrived == [("one", "first"), ("one", "second")]


@pytest.mark.parametrize("method", ["rows", "read", "barrier"])
async def test_a_store_that_fails_delays_an_answer_and_loses_none(home: Path, method: str) -> None:
    post = Post()
    async with kit.opened(home) as store:
        await answer(store, "one", "first")
        unsteady = Unsteady(store, method)
        async with delivering(unsteady, post) as running:
            await until(lambda: unsteady.failed)
            assert post.begun == []
            unsteady.failing.clear()
            running.later(30)
            await post.has(("one", "first"))
            await until(lambda: _is(store, [("first", "delivered", 1)]))


async def test_no_secret_stands_in_what_a_channel_failed_with(home: Path) -> None:
    post = Post(one=raising(ConnectionError("POST https://api.example.org/bot77:sesame-street/send")))
    async with kit.opened(home) as store:
        await answer(store, "one", "first")
        async with delivering(store, post, redaction=Redactor([("token", "77:sesame-street")])):
            await until(lambda: _is(store, [("first", "pending", 1)]))
        (row,) = await rows(store)
        assert row.error == "ConnectionError: POST https://api.example.org/bot[REDACTED:token]/send"


async def test_a_secret_that_was_stored_after_the_answer_is_not_delivered(home: Path) -> None:
    post = Post()
    async with kit.opened(home) as store:
        await answer(store, "one", "it is 77:sesame-street")
        async with delivering(store, post, redaction=Redactor([("token", "77:sesame-street")])):
            await post.has(("one", "it is [REDACTED:token]"))


async def test_an_answer_that_is_erased_while_it_is_on_its_way_is_not_sent_again(home: Path) -> None:
    post = Post()
    async with kit.opened(home) as store:
        await answer(store, "one", "first")

        async def erased(event: Event) -> None:
            await store.erase("s", None, "owner")
            raise ConnectionError(f"400: {event.text}")

        post.acts["one"] = erased
        async with delivering(store, post) as running:
            await until(lambda: _is(store, [("", "failed", 0)]))
            running.later(7200)
            await running.say("two", "second")
            await post.has(("two", "second"))
        assert post.begun == [("one", "first"), ("two", "second")]
        assert "first" not in (await rows(store))[0].error
