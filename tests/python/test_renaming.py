"""`sessions rename` gives a session another title, which stands on record."""

import sqlite3
from pathlib import Path

import pytest

from neuralclaw.errors import SessionNotFound, UsageError
from neuralclaw.types import events as ev
from neuralclaw.types.entries import Draft
from neuralclaw.types.records import NewSession

from ..agent import kit
from ..store import kit as store_kit

pytestmark = pytest.mark.anyio


async def titles(agent: kit.Agent) -> dict[str, str]:
    return {row["session"]: row["title"] for row in await agent.do("sessions.list")}


async def test_a_session_has_the_title_that_it_was_given(home: Path) -> None:
    async with kit.agent(home, "done", "done again") as agent:
        await agent.ask("look at the boiler", session="work")
        done = await agent.do("sessions.rename", session="wor", title="  The boiler,\nwinter ")
        assert done == {"session": "work", "title": "The boiler, winter", "before": "look at the boiler"}
        await agent.ask("and now the roof", session="work")
        assert await titles(agent) == {"work": "The boiler, winter"}
        assert (await agent.do("audit.verify"))["ok"]
        [event] = [e for e in (await agent.do("sessions.show", session="work"))["events"] if e["type"] == "session.renamed"]
        assert (event["title"], event["by"], event["turn"]) == ("The boiler, winter", "program", 1)
    async with kit.agent(home) as again:
        assert await titles(again) == {"work": "The boiler, winter"}


async def test_a_title_comes_back_from_the_record_where_its_row_was_forged(home: Path) -> None:
    async with kit.agent(home, "done") as agent:
        await agent.ask("look at the boiler", session="work")
        await agent.do("sessions.rename", session="work", title="The boiler")
        with sqlite3.connect(home / "neuralclaw.db") as c:
            c.execute("UPDATE sessions SET title = 'forged'")
        c.close()
        report = await agent.do("audit.verify")
        assert (report["ok"], report["bad"]["table"], report["bad"]["column"]) == (False, "sessions", "title")
        await agent.do("doctor", rebuild=True)
        assert await titles(agent) == {"work": "The boiler"}
        assert (await agent.do("audit.verify"))["ok"]


async def test_the_newest_title_counts_and_the_same_one_is_not_recorded_again(home: Path) -> None:
    async with kit.agent(home, "done") as agent:
        await agent.ask("look", session="work")
        for title in ("one", "two", "two"):
            done = await agent.do("sessions.rename", session="work", title=title)
        assert done["before"] == "two"
        events = (await agent.do("sessions.show", session="work"))["events"]
        assert [e["title"] for e in events if e["type"] == "session.renamed"] == ["one", "two"]


@pytest.mark.parametrize("title", [" \n", "x" * 201, "\ud800"])
async def test_a_title_that_is_none_is_refused_and_the_old_one_stays(home: Path, title: str) -> None:
    async with kit.agent(home, "done") as agent:
        await agent.ask("look", session="work")
        with pytest.raises(UsageError, match="the session keeps the one it has"):
            await agent.do("sessions.rename", session="work", title=title)
        assert await titles(agent) == {"work": "look"}


async def test_an_unknown_session_is_named(home: Path) -> None:
    async with kit.agent(home) as agent:
        for name in ("nothing", "home"):
            with pytest.raises(SessionNotFound, match=f"there is no session {name}"):
                await agent.do("sessions.rename", session=name, title="x")


async def test_a_title_goes_with_the_entry_that_gave_it(home: Path) -> None:
    async with store_kit.opened(home) as store:
        await store.append("a", [store_kit.inbound("look"), store_kit.started()], rows=[NewSession(origin="owner", workspace="/w", title="look")])
        await store.append("a", [Draft(1, ev.SessionRenamed(title="secret plan", by="owner"))])
        assert (await store.sessions())[0].title == "secret plan"
        await store.erase("a", [3], "owner")
        assert (await store.sessions())[0].title == "look"
        assert (await store.verify()).ok
        assert b"secret plan" not in b"".join(path.read_bytes() for path in home.glob("neuralclaw.db*"))
