"""Messages that no turn has taken up, and what it costs that they wait."""

from pathlib import Path
from typing import Any

import pytest

from neuralclaw import lookups
from neuralclaw.store import SqliteStore
from neuralclaw.types.entries import Draft

from . import kit

pytestmark = pytest.mark.anyio


def inbox(home: Path, session: str = "a") -> list[tuple[int, int, int]]:
    return kit.raw(home).execute("SELECT entry, turn, queued FROM inbox WHERE session = ? ORDER BY entry", (session,)).fetchall()


async def derived_anew(home: Path) -> bool:
    """Whether a rebuild finds the same rows."""
    sql = "SELECT i.*, p.steering FROM inbox i JOIN progress p ON p.session = i.session ORDER BY 1, 2"
    before = kit.raw(home).execute(sql).fetchall()
    async with kit.opened(home) as store:
        await store.rebuild()
    return kit.raw(home).execute(sql).fetchall() == before


@pytest.mark.parametrize("together", [True, False], ids=["in one step", "one by one"])
async def test_a_message_waits_until_its_turn_begins_or_a_reply_has_seen_it(home: Path, together: bool) -> None:
    drafts = [
        kit.inbound(),  # 1
        kit.started(inbound=1),
        kit.inbound("steers"),  # 3
        kit.inbound("queued", turn=2, queued=True),  # 4
        kit.message(seen=2),
    ]
    more = [kit.inbound("steers late"), kit.message(seen=3), kit.finished(), kit.inbound("after", turn=3), kit.message(seen=9, turn=3)]
    async with kit.opened(home) as store:
        await put(store, drafts, together)
        assert inbox(home) == [(3, 1, 0), (4, 2, 1)]
        await put(store, more, together)
        assert inbox(home) == [(4, 2, 1), (6, 1, 0)], "a queued one waits, and one that no reply has seen"
        await put(store, [kit.started(2, inbound=4), kit.message(turn=2, seen=10), kit.finished(2)], together)
        assert inbox(home) == [(6, 1, 0)], "a reply of another turn has not seen it"
        row = await lookups.session(store, "a")
        assert row is not None
        assert (row.pending, row.state) == (True, "unfinished")
        assert [r.session for r in await store.sessions(unfinished=True)] == ["a"]
        await put(store, [kit.started(4, inbound=6), kit.message(turn=4, seen=14), kit.finished(4)], together)
        assert inbox(home) == []
        row = await lookups.session(store, "a")
        assert row is not None
        assert (row.pending, row.state) == (False, "idle")
        assert await store.sessions(unfinished=True) == []
    assert await derived_anew(home)
    assert kit.raw(home).execute("SELECT steering FROM progress").fetchone() == (0,)


async def put(store: SqliteStore, drafts: list[Draft], together: bool) -> None:
    for step in [drafts] if together else [[draft] for draft in drafts]:
        await store.append("a", step)


async def traced(store: SqliteStore, drafts: list[Draft]) -> list[str]:
    """The statements, with their values, of one append."""
    assert store._writer is not None
    connection = store._writer._tables.connection
    statements: list[str] = []
    await store.barrier()
    connection.set_trace_callback(statements.append)
    await store.append("a", drafts)
    connection.set_trace_callback(None)
    return [s for s in statements if not s.startswith(("PRAGMA", "BEGIN", "COMMIT", "UPDATE meta"))]


async def test_an_append_costs_the_same_however_many_messages_wait(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.inbound(), kit.started()])
        few = await traced(store, [kit.message("x", seen=1)])
        await store.append("a", [kit.inbound(f"later {i}", turn=None, queued=True) for i in range(5000)])
        many = await traced(store, [kit.message("x", seen=1)])
        assert not any("inbox" in statement for statement in few + many), "an ordinary reply asks nothing about messages"
        assert len(many) == len(few)
        assert sum(map(len, many)) < sum(map(len, few)) + 100
        row = await lookups.session(store, "a")
        assert row is not None
        assert row.pending
    assert len(inbox(home)) == 5000
    assert await derived_anew(home)


async def test_a_reply_looks_for_messages_while_one_steers_and_not_afterwards(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.inbound(), kit.started(), kit.inbound("steers")])
        (asked,) = [statement for statement in await traced(store, [kit.message(seen=3)]) if "inbox" in statement]
        steps = [detail for *_, detail in kit.raw(home).execute(f"EXPLAIN QUERY PLAN {asked}")]
        assert steps == ["SEARCH inbox USING INDEX inbox_steering (session=? AND turn=? AND entry<?)"], "queued messages are not looked at"
        assert not any("inbox" in statement for statement in await traced(store, [kit.message(seen=4)]))


async def test_labels_of_a_session_join_and_never_drop(home: Path) -> None:
    async def labels(store: SqliteStore, *drafts: Any) -> frozenset[str]:
        await store.append("a", drafts)
        row = await lookups.session(store, "a")
        assert row is not None
        return row.labels

    async with kit.opened(home) as store:
        assert await labels(store, kit.message()) == frozenset()
        assert await labels(store, kit.inbound()) == {"owner", "private"}
        assert await labels(store, kit.tool_finished()) == {"agent", "external:web", "owner", "private"}
        assert await labels(store, kit.message()) == {"agent", "external:web", "owner", "private"}
        await store.erase("a", None, "owner")
        await store.rebuild()
    async with kit.opened(home) as store:
        assert await labels(store, kit.message()) == {"agent", "external:web", "owner", "private"}
    assert kit.raw(home).execute("SELECT labels FROM progress").fetchone() == ('["agent","external:web","owner","private"]',)
