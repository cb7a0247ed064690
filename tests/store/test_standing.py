"""Standing answers are folded from entries: what somebody writes into the tables by hand lets nothing run."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from neuralclaw import lookups
from neuralclaw.errors import NeuralClawError
from neuralclaw.store import SqliteStore
from neuralclaw.types.entries import Draft
from neuralclaw.types.events import ApprovalRequested, ApprovalResolved, GrantRevoked, Unreadable
from neuralclaw.types.labels import OWNER
from neuralclaw.types.questions import Covers, Shown

from ..agent.kit import agent, call, calls, events
from .kit import opened

pytestmark = pytest.mark.anyio

ASKED: dict[str, Any] = {
    "action": Shown("terminal", "make"),
    "choices": ("once", "session", "always", "no"),
    "covers": Covers("make, in this session only", "make, in every session"),
    "expires": "2099-01-15T08:05:00.000Z",
    "scopes": ({"kind": "program", "value": "[]", "tool": "terminal"},),
    "workspace": "/work",
}


async def given(store: SqliteStore, name: str = "q1", decision: Any = "session") -> None:
    await store.append("s", [Draft(1, ApprovalRequested(approval_id=name, call_id=None, **ASKED), OWNER)])
    await store.append("s", [Draft(1, ApprovalResolved(approval_id=name, decision=decision, by="owner"), OWNER)])


@contextmanager
def by_hand(home: Path) -> Iterator[sqlite3.Connection]:
    with sqlite3.connect(home / "neuralclaw.db") as c:
        yield c
    c.close()


async def standing(store: SqliteStore, session: str = "s") -> list[str]:
    return [grant.grant_id for grant in await store.grants(session, "/work")]


FORGED = {
    "the question covers more": "UPDATE bodies SET data = CAST(replace(data, '\"[]\"', '\"x\"') AS BLOB) WHERE record = 1",
    "the answer says more": "UPDATE bodies SET data = CAST(replace(data, '\"session\"', '\"always\"') AS BLOB) WHERE record = 2",
    "the body is another one": "UPDATE bodies SET data = (SELECT data FROM bodies WHERE record = 1) WHERE record = 2",
    "the answer is of another turn": "UPDATE entries SET turn = 2 WHERE record = 2",
    "an entry of the session is gone": "DELETE FROM entries WHERE record = 3",
}


@pytest.mark.parametrize("how", FORGED)
@pytest.mark.invariant("gate.folded")
async def test_a_standing_answer_that_was_changed_by_hand_decides_nothing(home: Path, how: str) -> None:
    async with opened(home) as store:
        await given(store)
        await given(store, "q2")
        assert await standing(store) == ["q1", "q2"]
        with by_hand(home) as c:
            c.execute(FORGED[how])
        assert "q1" not in await standing(store)


async def test_what_was_taken_back_does_not_come_back_by_a_row(home: Path) -> None:
    async with opened(home) as store:
        await given(store)
        with by_hand(home) as c:
            rows = c.execute("SELECT * FROM scopes").fetchall()
        await store.append("s", [Draft(1, GrantRevoked(grant_id="q1", by="owner"), OWNER)])
        with by_hand(home) as c:
            c.executemany("INSERT INTO scopes VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        assert await standing(store) == []
        with by_hand(home) as c:
            c.execute("DELETE FROM entries WHERE kind = 'grant.revoked'")
        assert await standing(store) == []


async def test_a_row_makes_no_answer_wider_than_its_session_and_none_of_a_no(home: Path) -> None:
    async with opened(home) as store:
        await given(store)
        await given(store, "q2", "no")
        with by_hand(home) as c:
            c.execute("UPDATE scopes SET decision = 'always'")
            c.execute("INSERT INTO scopes VALUES (4, 0, 's', 'always', 'program', '[]', 'terminal')")
        assert await standing(store) == ["q1"]
        assert await standing(store, "other") == []


@pytest.mark.invariant("gate.folded")
async def test_a_no_that_becomes_a_yes_in_the_file_lets_nothing_run(home: Path) -> None:
    ran = home.parent / "work" / "ran.txt"
    async with agent(home, calls(call("terminal", command="rm old.txt; touch ran.txt"))) as a:
        asked = (await events(a, session="s", approvals="park")).one("approval.requested")
        await a.answer(asked.approval_id, "no")
    with by_hand(home) as c:
        changed = c.execute("UPDATE bodies SET data = CAST(replace(data, '\"no\"', '\"once\"') AS BLOB) WHERE record = (SELECT max(record) FROM bodies)")
        assert changed.rowcount == 1
    async with opened(home) as store:
        assert isinstance((await store.read("s"))[-1].body, Unreadable)
        assert await lookups.question(store, asked.approval_id) is not None
    async with agent(home, "done") as a:
        with suppress(NeuralClawError):  # the turn is not gone on with
            async with a.resume("s") as stream:
                _ = [event async for event in stream]
    assert not ran.exists()


async def test_an_answer_that_the_question_does_not_offer_is_no_yes_wherever_it_comes_from(home: Path) -> None:
    ran = home.parent / "work" / "ran.txt"
    async with agent(home, calls(call("terminal", command="rm -f a*; touch ran.txt"))) as a:
        asked = (await events(a, session="s", approvals="park")).one("approval.requested")
    assert "always" not in asked.choices
    async with opened(home) as store:
        await store.append("s", [Draft(asked.turn, ApprovalResolved(approval_id=asked.approval_id, decision="always", by="owner"), OWNER)])
    async with agent(home, "done") as a, a.resume("s") as stream:
        assert "tool.started" not in [event.type async for event in stream]
    assert not ran.exists()
