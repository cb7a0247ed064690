"""Counted grants in whole agents: uses are on record before the call begins, and no two of them are the same one."""

import re
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw.errors import GrantSpent, UsageError
from neuralclaw.types.entries import HOME, Draft
from neuralclaw.types.events import GrantGiven, GrantUsed
from neuralclaw.types.labels import OWNER

from ..store.kit import opened
from .kit import agent, call, calls, events

pytestmark = pytest.mark.anyio


def docs(home: Path) -> Path:
    place = home.parent / "docs"
    place.mkdir(exist_ok=True)
    return place


def touching(home: Path, *names: str) -> Any:
    return calls(*(call("terminal", command=f"touch {docs(home)}/{name}") for name in names))


async def test_a_counted_grant_lets_so_many_calls_run_and_no_more(home: Path) -> None:
    place = docs(home)
    async with agent(home, touching(home, "a", "b"), touching(home, "c"), "done") as a:
        given = await a.do("grants.add", op="write", what=str(place), lasting="1h", uses=2)
        assert given["covers"].startswith(f"create and change files below {place}, in every session of this workspace, until ")
        assert given["covers"].endswith(", 2 uses")
        seen = await events(a, session="s", approvals="none")
        assert sorted(path.name for path in place.iterdir()) == ["a", "b"]
        assert [event.ok for event in seen.of("tool.finished")] == [True, True, False]
        [row] = await a.do("grants.list")
        assert (row["grant_id"], row["used"], row["uses"]) == (given["grant_id"], 2, 2)
        await a.do("grants.revoke", grant_id=given["grant_id"])
        assert await a.do("grants.list") == []
        assert (await a.do("audit.verify"))["ok"]


async def test_a_grant_holds_in_its_workspace_and_session_alone(home: Path) -> None:
    place, other = docs(home), home.parent / "other"
    other.mkdir()
    async with agent(home, touching(home, "a"), "done") as a:
        await a.do("grants.add", op="write", what=str(place), session="t")
        await events(a, session="s", approvals="none")
    async with agent(home, touching(home, "b"), "done", workspace=other) as a:
        await events(a, session="t", approvals="none")
    assert list(place.iterdir()) == []
    async with agent(home, touching(home, "c"), "done") as a:
        await events(a, session="t", approvals="none")
    assert [path.name for path in place.iterdir()] == ["c"]


async def test_a_grant_for_a_command_lets_that_command_alone_run_for_so_many_calls(home: Path) -> None:
    work = home.parent / "work"
    work.mkdir(exist_ok=True)
    for name in ("a", "b"):
        (work / name).write_text("x")
    steps = [calls(call("terminal", command=command)) for command in ("rm b", "rm a", "rm a")]
    async with agent(home, *steps, "done") as a:
        given = await a.do("grants.add", op="run", what="rm a", lasting="1h", uses=1)
        assert given["covers"].startswith(f"rm a in {work}, in every session of this workspace, until ")
        seen = await events(a, session="s", approvals="none")
    assert [event.ok for event in seen.of("tool.finished")] == [False, True, False]
    assert [path.name for path in work.iterdir()] == ["b"]


@pytest.mark.parametrize(
    ("op", "what", "said"),
    [
        ("run", "ls", "'ls' runs without a question"),
        ("run", "sudo ls", "no grant can allow this: sudo"),
        ("run", "rm *", "covers one call alone"),
        ("run", " ", "the command is empty"),
        ("fetch", "example.com", "no grant can allow this: example.com cannot be fetched"),
    ],
)
async def test_a_call_that_no_grant_can_cover_is_refused_in_words(home: Path, op: str, what: str, said: str) -> None:
    async with agent(home) as a:
        with pytest.raises(UsageError, match=re.escape(said)):
            await a.do("grants.add", op=op, what=what)
        assert await a.do("grants.list") == []


@pytest.mark.parametrize("wrong", [{"lasting": "1y"}, {"lasting": "31d"}, {"uses": 0}, {"what": "/"}, {"what": "/etc"}, {"what": "nosuch"}, {"op": "execute"}])
async def test_what_cannot_be_given_is_refused_and_nothing_is_recorded(home: Path, wrong: dict[str, Any]) -> None:
    async with agent(home) as a:
        with pytest.raises(UsageError):
            await a.do("grants.add", **({"op": "write", "what": str(docs(home))} | wrong))
        assert await a.do("grants.list") == []


async def test_the_home_and_the_agents_own_data_are_not_given(home: Path) -> None:
    async with agent(home) as a:
        for path in (home, home.parent, "~"):
            with pytest.raises(UsageError):
                await a.do("grants.add", op="write", what=str(path))


def given(uses: int | None = 1, until: str | None = None) -> Draft:
    scopes = ({"kind": "below", "value": "/docs", "tool": "write"},)
    return Draft(0, GrantGiven(grant_id="G1", by="owner", covers="x", scopes=scopes, workspace="/work", uses=uses, until=until), OWNER)


@pytest.mark.invariant("gate.counted")
async def test_two_processes_that_use_the_last_use_at_once_get_one(home: Path) -> None:
    spent: list[str] = []
    async with opened(home) as one, opened(home) as other:
        await one.append(HOME, [given(uses=3)])

        async def use(store: Any, name: str) -> None:
            try:
                await store.append(HOME, [Draft(0, GrantUsed(grant_id="G1", session="s", turn=1, call_id=name))])
            except GrantSpent:
                spent.append(name)

        async with anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(use, one, f"a{number}")
                tasks.start_soon(use, other, f"b{number}")
        [grant] = await one.grants("s", "/work")
        assert (len(grant.used), len(spent)) == (3, 5)


async def test_a_use_of_what_ran_out_or_is_not_there_is_refused(home: Path) -> None:
    async with opened(home) as store:
        await store.append(HOME, [given(uses=None, until="2020-01-01T00:00:00.000Z")])
        for name in ("G1", "nosuch"):
            with pytest.raises(GrantSpent):
                await store.append(HOME, [Draft(0, GrantUsed(grant_id=name, session="s", turn=1, call_id="c"))])


@pytest.mark.invariant("gate.counted")
async def test_a_crash_between_the_use_and_the_run_costs_one_use_and_the_same_call_runs_once(home: Path) -> None:
    place = docs(home)
    async with agent(home, touching(home, "a")) as a:
        asked = (await events(a, session="s", approvals="park")).one("approval.requested")
        given = await a.do("grants.add", op="write", what=str(place), uses=1)
        turn = asked.turn
    async with opened(home) as store:  # the process died here: the use is on record, the call has not begun
        await store.append(HOME, [Draft(0, GrantUsed(grant_id=given["grant_id"], session="s", turn=turn, call_id=asked.call_id))])
    async with agent(home, touching(home, "b"), "done") as a:
        await a.answer(asked.approval_id, "once")
        async with a.resume("s") as stream:
            seen = [event async for event in stream]
        assert [row["used"] for row in await a.do("grants.list")] == [1]
    assert [path.name for path in place.iterdir()] == ["a"]
    assert [event.type for event in seen].count("tool.started") == 1
