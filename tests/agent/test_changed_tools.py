"""A yes is one to the tool that was asked about: another tool of its name is asked about again, and in the same turn a changed one is not run."""

from pathlib import Path
from typing import Any

import pytest

from neuralclaw import tool

from .kit import agent, call, calls, events

pytestmark = pytest.mark.anyio

FIRST: dict[str, Any] = {"risk": "HIGH", "effect": "idempotent"}
CHANGES: list[dict[str, Any]] = [
    {"risk": "CRITICAL"},
    {"effect": "once"},
    {"powers": ["delete"]},
    {"sinks": ["network.send", "self"]},
    {"touches": [{"argument": "place", "kind": "write"}]},
    {"requires_confirmation": True},
]


def sync(ran: list[str], named: str = "Bring the place up to date.", **declared: Any) -> Any:
    async def run(place: str) -> str:
        ran.append(place)
        return "done"

    run.__doc__ = named
    return tool(name="sync", **{**FIRST, **declared})(run)


async def answered(home: Path, decision: str) -> None:
    """A turn of session `s` parked on `sync` and was answered."""
    async with agent(home, calls(call("sync", place="x")), tools=[sync([])]) as a:
        question = (await events(a, session="s", approvals="park")).one("approval.requested")
        await a.answer(question.approval_id, decision)


async def gone_on(home: Path, now: Any) -> list[Any]:
    async with agent(home, "done", tools=[now]) as a, a.resume("s") as stream:
        return [event async for event in stream]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: "".join(change))
async def test_a_yes_to_a_tool_is_none_to_another_one_of_its_name(home: Path, change: dict[str, Any]) -> None:
    ran: list[str] = []
    await answered(home, "once")
    seen = await gone_on(home, sync(ran, **change))
    assert ran == []
    assert [event.type for event in seen if event.type in ("approval.requested", "tool.started")] == ["approval.requested"]


async def test_a_yes_to_a_tool_that_did_not_change_lets_it_run_when_the_turn_goes_on(home: Path) -> None:
    ran: list[str] = []
    await answered(home, "once")
    await gone_on(home, sync(ran))
    assert ran == ["x"]


async def test_a_tool_whose_description_changed_since_the_turn_began_is_not_run_in_it(home: Path) -> None:
    ran: list[str] = []
    await answered(home, "once")
    seen = await gone_on(home, sync(ran, "Delete the account at that place."))
    (finished,) = [event for event in seen if event.type == "tool.finished"]
    assert "the tool sync changed since this turn began; nothing was run" in finished.error
    assert ran == []


async def test_a_standing_yes_to_a_tool_is_none_to_another_one_of_its_name(home: Path) -> None:
    ran: list[str] = []
    await answered(home, "session")
    await gone_on(home, sync(ran))
    async with agent(home, calls(call("sync", place="x")), "done", tools=[sync(ran)]) as a:
        await events(a, session="s", approvals="none")
    assert ran == ["x", "x"]
    async with agent(home, calls(call("sync", place="x")), "done", tools=[sync(ran, "Delete the account at that place.")]) as a:
        refused = await events(a, session="s", approvals="none")
    assert not refused.one("tool.finished").ok
    assert ran == ["x", "x"]


async def test_the_list_of_grants_tells_which_definition_each_is_bound_to(home: Path) -> None:
    await answered(home, "session")
    changed = sync([], "Delete the account at that place.")
    async with agent(home, tools=[sync([])]) as a, agent(home, tools=[changed]) as later:
        (row,) = await a.do("grants.list")
        assert row["definition"] == (await a.do("tools.show", name="sync"))["definition"]
        assert row["definition"] != (await later.do("tools.show", name="sync"))["definition"]


async def test_a_yes_to_a_directory_holds_in_later_processes_for_the_tool_that_it_was_given_to(home: Path) -> None:
    """Of a tool that a program or a capability brings; of a built-in one it holds as long as its name does."""

    def stamp(words: str) -> Any:
        async def run(path: str) -> str:
            return words

        run.__doc__ = words
        return tool(name="stamp", risk="HIGH", effect="idempotent", touches=[{"argument": "path", "kind": "write"}])(run)

    first, other = stamp("Stamp a file."), stamp("Shred a file.")
    works: list[tuple[dict[str, Any], list[Any]]] = [(call("stamp", path="a"), [first]), (call("delete_file", path="a"), [])]
    (home.parent / "work").mkdir()
    for wanted, own in works:
        (home.parent / "work" / "a").write_text("a")
        async with agent(home, calls(wanted), tools=own) as a:
            question = (await events(a, session=wanted["name"], approvals="park")).one("approval.requested")
            await a.answer(question.approval_id, "session")

    async def again(wanted: dict[str, Any], own: list[Any]) -> bool:
        (home.parent / "work" / "a").write_text("a")
        async with agent(home, calls(wanted), "done", tools=own) as a:
            assert (await a._home.store.grants(wanted["name"], str(home.parent / "work"))) != []
            return bool((await events(a, session=wanted["name"], approvals="none")).one("tool.finished").ok)

    for wanted, own in works:
        async with agent(home, "done", tools=own) as a, a.resume(wanted["name"]) as stream:
            assert [event.ok async for event in stream if event.type == "tool.finished"] == [True]
        assert await again(wanted, own)
    assert not await again(works[0][0], [other])
    assert not await again(works[1][0], [tool(name="delete_file", risk="HIGH", touches=[{"argument": "path", "kind": "delete"}])(own_delete)])


async def own_delete(path: str) -> str:
    "Delete a file of one's own."
    return "gone"
