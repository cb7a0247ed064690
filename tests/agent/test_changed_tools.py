"""A yes is one to the tool that was asked about: another one of its name is asked about again, and one that takes other arguments is not run in that turn."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from neuralclaw import tool
from neuralclaw.agent.redaction import NO_REDACTION
from neuralclaw.app.turn_tools import TurnTools
from neuralclaw.errors import AlreadyAnswered
from neuralclaw.tools.registry import Registry
from neuralclaw.types.actions import Action, earlier_hash
from neuralclaw.types.grants import Envelope

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


async def test_a_tool_whose_description_changed_since_the_turn_began_is_asked_about_again(home: Path) -> None:
    ran: list[str] = []
    await answered(home, "once")
    seen = await gone_on(home, sync(ran, "Delete the account at that place."))
    assert [event.type for event in seen if event.type in ("approval.requested", "tool.started")] == ["approval.requested"]
    assert ran == []


def built_in(made: Any) -> Any:
    """The tool as one that comes with the program."""
    made.spec = msgspec.structs.replace(made.spec, built_in=True)
    return made


@pytest.mark.parametrize("decision", ["once", "session"])
async def test_a_yes_to_a_built_in_tool_holds_after_an_upgrade_that_puts_its_description_in_other_words(home: Path, decision: str) -> None:
    ran: list[str] = []
    async with agent(home, calls(call("sync", place="x")), tools=[built_in(sync([]))]) as a:
        question = (await events(a, session="s", approvals="park")).one("approval.requested")
        await a.answer(question.approval_id, decision)
    await gone_on(home, built_in(sync(ran, "Make the place like new.\n\nArgs:\n    place: Which one.")))
    assert ran == ["x"]


async def test_a_yes_of_a_version_that_knew_a_built_in_tool_by_its_name_alone_holds_and_is_none_to_another_tool() -> None:
    spec, envelope = built_in(sync([])).spec, Envelope()
    action = Action(session="s", turn=1, call_id="c", spec=spec, arguments={"place": "x"}, workspace="/work")
    before = hashlib.sha256(msgspec.json.encode(("sync", {"place": "x"}, "/work", envelope), order="deterministic")).hexdigest()
    assert earlier_hash(action, envelope) == before
    assert earlier_hash(msgspec.structs.replace(action, spec=sync([]).spec), envelope) is None


async def test_a_tool_that_takes_other_arguments_now_is_not_run_and_the_answer_names_the_next_step(home: Path) -> None:
    ran: list[str] = []

    async def changed(place: str, depth: int) -> str:
        "Bring the place up to date."
        ran.append(place)
        return "done"

    await answered(home, "once")
    seen = await gone_on(home, tool(name="sync", risk="HIGH", effect="idempotent")(changed))
    (finished,) = [event for event in seen if event.type == "tool.finished"]
    assert finished.error == (
        "the tool sync takes other arguments than when this turn began; nothing was run. Give the task again: neuralclaw run --session s TASK"
    )
    assert ran == []


@pytest.mark.parametrize("now", ["changed", "gone", "riskier"])
async def test_a_question_about_a_tool_that_changed_does_not_stay_open_when_the_turn_went_on(home: Path, now: str) -> None:
    async def other(place: str, depth: int) -> str:
        "Bring the place up to date."
        return "done"

    async with agent(home, calls(call("sync", place="x")), tools=[sync([])]) as a:
        first = (await events(a, session="s", approvals="park")).one("approval.requested").approval_id
    tools = {"changed": [tool(name="sync", risk="HIGH")(other)], "gone": [], "riskier": [sync([], risk="CRITICAL")]}[now]
    async with agent(home, "done", tools=tools) as a:
        async with a.resume("s") as stream:
            asked = [event.approval_id async for event in stream if event.type == "approval.requested" and event.approval_id != first]
        with pytest.raises(AlreadyAnswered):
            await a.answer(first, "once")
        assert [one["approval_id"] for one in await a.do("approvals.list")] == asked
    assert len(asked) == (1 if now == "riskier" else 0)


def test_only_the_words_of_a_schema_are_no_part_of_what_a_tool_takes() -> None:
    def tools(schema: dict[str, Any]) -> TurnTools:
        made = sync([])
        made.spec = msgspec.structs.replace(made.spec, name="t", input_schema={"type": "object", "properties": schema})
        return TurnTools(Registry([made]), NO_REDACTION)

    begun: dict[str, Any] = {"title": {"type": "string", "description": "The title.", "default": "a"}, "n": {"type": "integer", "title": "N"}}
    reworded: dict[str, Any] = {"title": {"type": "string", "description": "A title.", "default": "a"}, "n": {"type": "integer"}}
    others: list[dict[str, Any]] = [
        {"n": {"type": "integer"}},
        {**reworded, "n": {"type": "number"}},
        {**reworded, "title": {"type": "string", "default": "b"}},
    ]
    definitions = tools(begun).definitions
    assert [one.name for one in tools(reworded).only(definitions, "s").tools()] == ["t"]
    for other in others:
        assert tools(other).only(definitions, "s").tools() == []


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
