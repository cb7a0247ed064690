"""Kinds of events that capabilities bring: how they are named, recorded, and read where the capability is gone."""

from pathlib import Path
from typing import Any

import pytest

from neuralclaw.agent.state import TurnState
from neuralclaw.errors import ConfigError, StoreError
from neuralclaw.types import events as ev
from neuralclaw.types.codec import BUILT_IN, Codec, EventKind, foreign
from neuralclaw.types.entries import Draft, event_of

from . import kit, readings

pytestmark = pytest.mark.anyio


def kind_of(tag: str, **more: Any) -> EventKind:
    """A kind of that tag; its class is called as the tag's last word."""
    body = type("Thing", (ev.Body,), {"__annotations__": {"text": str}, "__module__": "somewhere"}, frozen=True, kw_only=True, tag=tag)
    return EventKind(body=body, sentence=str, **more)


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        ("message", "the event kind message of somewhere.Thing has the name of a built-in one, neuralclaw.types.events.Message"),
        ("text.delta", "has the name of a built-in one, neuralclaw.types.events.TextDelta"),
        ("reading.added", "two event kinds are called reading.added: tests.store.readings.Added and somewhere.Thing"),
        ("added", "the event kind 'added' of somewhere.Thing is not called CAPABILITY.NAME"),
        ("Reading.added", "is not called CAPABILITY.NAME"),
        ("reading.", "is not called CAPABILITY.NAME"),
        ("turn.read", "the event kind turn.read of somewhere.Thing begins like the built-in kind turn.finished"),
        ("message.read", "begins like the built-in kind message"),
    ],
)
def test_a_kind_that_could_be_taken_for_another_is_refused(tag: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Codec([*readings.KINDS, kind_of(tag)])
    assert said in caught.value.text


def test_versions_begin_at_one_and_a_body_is_a_body() -> None:
    with pytest.raises(ConfigError, match="versions begin at 1"):
        Codec([kind_of("a.b", version=0)])
    with pytest.raises(ConfigError, match="no subclass"):
        Codec([EventKind(body=str, sentence=str)])  # type: ignore[arg-type]


def test_every_built_in_kind_is_known_and_none_is_foreign() -> None:
    for body in ev.Durable.__args__:
        kind = str(body.__struct_config__.tag)
        assert BUILT_IN.knows(kind, 1)
        assert not foreign(kind)
    assert foreign("reading.added")
    assert not foreign("mood"), "a newer version of the program may have written it"
    assert not foreign("turn.paused")


async def test_an_entry_of_a_capability_is_as_good_as_any_other(home: Path) -> None:
    async with kit.opened(home, codec=readings.CODEC) as store:
        (entry,) = await store.append("home", [readings.added("Emma", 474)])
        assert isinstance(entry.body, readings.Added)
        assert await store.read("home") == [entry]
        assert await anext(store.changes(0)) == [entry]
        shown = event_of(entry)
        assert shown is not None
        assert (shown.to_dict()["type"], shown.to_dict()["title"]) == ("reading.added", "Emma")
        assert (await store.verify()).ok
        await store.rebuild()
        assert await store.read("home") == [entry]


async def test_a_kind_that_the_store_was_not_opened_with_is_not_written(home: Path) -> None:
    async with kit.opened(home) as store:
        with pytest.raises(StoreError, match="this program does not record the kind"):
            await store.append("home", [readings.added("Emma")])
        assert await store.read("home") == []


async def test_entries_of_a_capability_that_is_gone_are_shown_raw_and_nobody_is_harmed(home: Path) -> None:
    async with kit.opened(home, codec=readings.CODEC) as store:
        await store.append("a", [kit.inbound(), kit.started(), readings.added("Emma", 474, turn=1)])
        await store.append("home", [readings.added("Ulysses")])
    async with kit.opened(home) as store:
        body = (await store.read("a"))[2].body
        assert isinstance(body, ev.Unreadable)
        assert (body.why, body.data) == ("unknown", {"type": "reading.added", "title": "Emma", "pages": 474})
        assert (await store.verify()).ok
        assert [row.session for row in await store.sessions(unfinished=True)] == ["a"]
        await store.rebuild()
        await store.append("a", [kit.message(), kit.finished()])
        await store.erase("home", None, "owner")
        report = await store.verify()
        assert (report.ok, report.erased) == (True, 1)
    async with kit.opened(home, codec=readings.CODEC) as store:
        assert isinstance((await store.read("a"))[2].body, readings.Added)


@pytest.mark.parametrize("gone", ["unknown", "erased", "damaged"])
async def test_a_turn_goes_on_past_an_entry_of_a_capability_that_cannot_be_read(home: Path, gone: str) -> None:
    async with kit.opened(home, codec=readings.CODEC) as store:
        await store.append("a", [kit.inbound(), kit.started(), readings.added("Emma", turn=1), kit.message(calls=("c1",))])
        if gone == "erased":
            await store.erase("a", [3], "owner")
    if gone == "damaged":
        kit.damage(home, 3)
    async with kit.opened(home, codec=BUILT_IN if gone == "unknown" else readings.CODEC) as store:
        state = TurnState.fold(1, await store.read("a"))
    assert state.unreadable is None
    assert [call.call.id for call in state.open] == ["c1"]


async def test_a_turn_does_not_go_on_past_a_kind_that_may_be_the_programs_own(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.inbound(), kit.started(), kit.message()])
    kit.rewrite(home, 3, b'{"type":"turn.paused"}', kind="turn.paused")
    async with kit.opened(home) as store:
        state = TurnState.fold(1, await store.read("a"))
    assert state.unreadable is not None


class Entered(ev.Body, frozen=True, kw_only=True, tag="reading.added"):
    """`Added` in its second version: the title is called `name`."""

    name: str


def renamed(fields: dict[str, Any]) -> dict[str, Any]:
    if fields["title"] == "break":
        raise RuntimeError("not this one")
    return {"name": fields["title"]}


async def test_bodies_of_an_older_version_are_read_in_todays_shape(home: Path) -> None:
    async with kit.opened(home, codec=readings.CODEC) as store:
        await store.append("home", [readings.added("Emma"), readings.added("break")])
    with_upcast = Codec([EventKind(body=Entered, sentence=str, version=2, upcasts={1: renamed})])
    async with kit.opened(home, codec=with_upcast) as store:
        await store.append("home", [Draft(0, Entered(name="Ulysses"))])
        bodies = [entry.body for entry in await store.read("home")]
        assert bodies[0] == Entered(name="Emma")
        assert isinstance(bodies[1], ev.Unreadable), "an upcast that raises makes one entry unreadable and stops no reader"
        assert bodies[2] == Entered(name="Ulysses")
        await store.rebuild()
    async with kit.opened(home, codec=readings.CODEC) as store:
        body = (await store.read("home"))[2].body
        assert isinstance(body, ev.Unreadable)
        assert (body.why, body.version) == ("unknown", 2)
