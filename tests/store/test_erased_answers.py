"""After an erasure nothing of what was erased stands in any table, in the file or in its log; an answer that waits to be delivered is given up."""

from pathlib import Path
from typing import Any

import pytest

from neuralclaw import lookups
from neuralclaw.capability import Table
from neuralclaw.store import SqliteStore
from neuralclaw.types import events as ev
from neuralclaw.types.entries import Draft
from neuralclaw.types.labels import OWNER
from neuralclaw.types.records import NewSession, OutboxItem, OutboxRow, StoredResult

from . import kit

pytestmark = pytest.mark.anyio

SECRET = "xylophone"
GIVEN_UP = "the answer was erased before it was delivered"


def answer(text: str = f"the {SECRET} is blue") -> Draft:
    return Draft(1, ev.TurnFinished(status="done", text=text))


def fold(entry: Any, rows: Any) -> None:
    rows.put(entry=entry.entry, text=entry.body.text)


SAID = Table(name="said", columns={"entry": "integer", "text": "text"}, key=("entry",), kinds=("inbound", "turn.finished"), fold=fold)


async def item_of(store: SqliteStore) -> OutboxRow:
    (row,) = await lookups.outbox(store, pending=False)
    return row


def holding(home: Path) -> list[str]:
    """Where the word stands: tables, and the bytes of the file and its log."""
    c = kit.raw(home)
    names = [name for (name,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = [name for name in names if any(SECRET in str(row) or SECRET.encode() in str(row).encode() for row in c.execute(f"SELECT * FROM {name}"))]
    c.close()
    return found + [path.name for path in home.glob("neuralclaw.db*") if SECRET.encode() in path.read_bytes()]


async def a_life_with_the_word(store: SqliteStore) -> None:
    said = Draft(1, ev.Inbound(text=f"a {SECRET}?", key="1", by="owner", channel="post", reply_to=f"{SECRET}@example.org"), OWNER)
    picture = kit.picture(f"a drawn {SECRET}".encode())
    result = Draft(1, ev.ToolFinished(call_id="c1", name="echo", ok=True, content=SECRET, truncated=True))
    await store.append("a", [said, kit.started(), picture], rows=[NewSession(origin="owner", workspace="/w", title=f"a {SECRET}?")])
    await store.append("a", [result], rows=[StoredResult("c1", f"all of the {SECRET}")])
    await store.append("a", [answer()], rows=[OutboxItem(f"{SECRET}@example.org", f"the {SECRET} is blue", "post")])


@pytest.mark.parametrize("state", ["pending", "tried", "delivered", "failed"])
async def test_nothing_of_an_erased_session_stands_anywhere(home: Path, state: str) -> None:
    async with kit.opened(home, tables=(SAID,)) as store:
        await a_life_with_the_word(store)
        item = await item_of(store)
        if state == "delivered":
            await lookups.delivered(store, item.id)
        elif state != "pending":
            await lookups.delivered(store, item.id, error=f"400: {SECRET} is not allowed", retry_at=5.0 if state == "tried" else None)
        assert {"bodies", "results", "blobs", "outbox", "sessions", "capability_said"} <= set(holding(home))
        await store.erase("a", None, "owner")
        assert holding(home) == []
        assert (await store.verify()).ok


async def test_an_answer_that_waits_is_given_up_when_it_is_erased(home: Path) -> None:
    async with kit.opened(home) as store:
        await a_life_with_the_word(store)
        await store.erase("a", None, "owner")
        assert await lookups.outbox(store) == []
        row = await item_of(store)
        assert (row.state, row.text, row.address, row.channel, row.error) == ("failed", "", "", "post", GIVEN_UP)


async def test_an_answer_waits_still_where_only_its_question_is_erased_and_the_next_message_names_the_session(home: Path) -> None:
    async with kit.opened(home) as store:
        await store.append("a", [kit.inbound("the boiler"), kit.started()], rows=[NewSession(origin="owner", workspace="/w", title="the boiler")])
        await store.append("a", [kit.inbound("and the roof"), answer("fine")], rows=[OutboxItem("42", "fine", "post")])
        await store.erase("a", [1], "owner")
        row, session = await item_of(store), await lookups.session(store, "a")
        assert session is not None
        assert (row.state, row.text, row.address, session.title) == ("pending", "fine", "42", "and the roof")


async def test_an_attempt_that_was_under_way_brings_nothing_back(home: Path) -> None:
    async with kit.opened(home) as store:
        await a_life_with_the_word(store)
        item = await item_of(store)
        await store.erase("a", None, "owner")
        row = await lookups.delivered(store, item.id, error=f"400: {SECRET} is not allowed", retry_at=5.0)
        assert (row.state, row.error) == ("failed", GIVEN_UP)
        row = await lookups.delivered(store, item.id)
        assert (row.state, row.text, row.error) == ("delivered", "", "")
        assert holding(home) == []


async def test_an_erasure_empties_what_an_earlier_one_left(home: Path) -> None:
    async with kit.opened(home) as store:
        await a_life_with_the_word(store)
        await store.append("b", [kit.inbound("other")])
        c = kit.raw(home)
        c.execute("DELETE FROM bodies WHERE record = (SELECT record FROM outbox)")  # as a version before this one left it
        c.close()
        await store.erase("b", None, "owner")
        assert (await item_of(store)).text == ""
