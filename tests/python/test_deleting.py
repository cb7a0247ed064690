"""`sessions delete` erases a session for good; the record stays whole and says so."""

import sqlite3
from pathlib import Path

import anyio
import pytest

from neuralclaw.errors import SessionBusy, SessionNotFound, UsageError
from neuralclaw.testing import FunctionProvider
from neuralclaw.types.entries import Draft
from neuralclaw.types.events import Erased, Nudge
from neuralclaw.types.records import NewSession

from ..agent import kit
from ..store.kit import inbound, opened, raw, started

pytestmark = pytest.mark.anyio

MARK = "xylophone"


def holding(home: Path) -> list[str]:
    """Where the word stands: tables, and files of the home."""
    c = raw(home)
    names = [name for (name,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = [name for name in names if any(MARK.encode() in str(row).encode() for row in c.execute(f"SELECT * FROM {name}"))]
    c.close()
    return found + [path.name for path in home.rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()]


async def lived(agent: kit.Agent, home: Path) -> None:
    """A session whose message, title, result, whole result, answer and kept data have the word."""
    (home.parent / "work" / "notes.txt").write_text(f"{MARK}\n" * 9000)
    await agent.ask(f"where is the {MARK}?", session="gone")
    await agent.do("sessions.rename", session="gone", title=f"the {MARK}")


READ = kit.calls(kit.call("read_file", path="notes.txt"))


async def test_nothing_of_a_deleted_session_stands_anywhere_and_the_record_is_whole(home: Path) -> None:
    async with kit.agent(home, READ, f"in the {MARK} box", "still here") as agent:
        await lived(agent, home)
        await agent.ask("stay", session="other")
        assert {"bodies", "results", "sessions", "neuralclaw.db-wal"} <= set(holding(home))
        entries = len((await agent.do("sessions.show", session="gone"))["events"])
        assert await agent.do("sessions.delete", session="gone", yes=True) == {"session": "gone", "entries": entries, "children": []}
        assert holding(home) == []
        assert [row["session"] for row in await agent.do("sessions.list")] == ["other"]
        report = await agent.do("audit.verify")
        assert (report["ok"], report["erased"]) == (True, entries)
        await agent.do("doctor", rebuild=True)
        assert (await agent.do("audit.verify"))["ok"]
        assert [row["session"] for row in await agent.do("sessions.list")] == ["other"]
    assert holding(home) == []


async def test_who_asks_for_a_deleted_session_is_told_that_it_was_deleted(home: Path) -> None:
    async with kit.agent(home, "done") as agent:
        await agent.ask("look", session="gone")
        await agent.do("sessions.delete", session="gone", yes=True)
        for verb, more in (("sessions.show", {}), ("sessions.export", {}), ("sessions.delete", {"yes": True}), ("sessions.rename", {"title": "x"})):
            with pytest.raises(SessionNotFound, match=r"the session gone was deleted at 20.* by program"):
                await agent.do(verb, session="gone", **more)
        headers = await agent.do("audit.show", session="gone")
        assert (headers[0]["erased"], headers[-1]["kind"], headers[-1]["erased"]) == (True, "erased", False)
        assert "gone" in {row["session"] for row in await agent.do("audit.export")}
        with pytest.raises(SessionNotFound, match="there is no session of the workspace"):
            await agent.do("sessions.show")


async def test_what_is_said_under_the_name_of_a_deleted_session_begins_anew(home: Path) -> None:
    requests: list[str] = []

    async def model(request: object) -> str:
        requests.append(str(request))
        return "done"

    async with kit.agent(home, provider=FunctionProvider(model)) as agent:
        await agent.ask(f"the {MARK}", session="work")
        await agent.do("sessions.delete", session="work", yes=True)
        assert (await agent.ask("the roof", session="work")).status == "done"
        [row] = await agent.do("sessions.list")
        assert (row["session"], row["title"], row["state"]) == ("work", "the roof", "idle")
        assert MARK not in requests[1]
        assert (await agent.do("audit.verify"))["ok"]
        await agent.do("doctor", rebuild=True)
        assert (await agent.do("audit.verify"))["ok"]
        await agent.do("sessions.delete", session="work", yes=True)
        assert await agent.do("sessions.list") == []
        assert (await agent.do("audit.verify"))["ok"]


async def test_a_session_whose_turn_runs_is_left_as_it_is(home: Path) -> None:
    begun, go_on = anyio.Event(), anyio.Event()

    async def model(request: object) -> str:
        begun.set()
        await go_on.wait()
        return "done"

    async with kit.agent(home, provider=FunctionProvider(model)) as agent, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: agent.ask("look", session="work"))
        await begun.wait()
        with pytest.raises(SessionBusy, match=r"a turn of the session work runs in .*; nothing was deleted"):
            await agent.do("sessions.delete", session="work", yes=True)
        go_on.set()
    async with kit.agent(home) as agent:
        [row] = await agent.do("sessions.list")
        assert (row["session"], row["state"]) == ("work", "idle")


async def test_a_parked_turn_goes_with_its_question_and_is_not_gone_on_with(home: Path) -> None:
    async with kit.agent(home, kit.calls(kit.call("delete_file", path="a")), "anew") as agent:
        (home.parent / "work" / "a").write_text("x")
        await kit.events(agent, session="p", approvals="park")
        assert len(await agent.do("approvals.list")) == 1
        await agent.do("sessions.delete", session="p", yes=True)
        assert await agent.do("approvals.list") == []
        assert await agent.do("recover") == []
        assert (await agent.do("audit.verify"))["ok"]
        assert (await agent.ask("again", session="p")).text == "anew"
        assert (home.parent / "work" / "a").exists()
        assert (await agent.do("audit.verify"))["ok"]


async def test_without_a_yes_nothing_is_deleted(home: Path) -> None:
    async with kit.agent(home, "done") as agent:
        await agent.ask("look", session="work")
        with pytest.raises(UsageError, match="nothing was deleted"):
            await agent.do("sessions.delete", session="work")
        with pytest.raises(SessionNotFound, match="there is no session home"):
            await agent.do("sessions.delete", session="home", yes=True)
        assert len(await agent.do("sessions.list")) == 1


async def test_a_session_that_was_deleted_past_the_program_is_found(home: Path) -> None:
    async with kit.agent(home, "done") as agent:
        await agent.ask("look", session="work")
        with sqlite3.connect(home / "neuralclaw.db") as c:
            c.execute("DELETE FROM sessions")
        c.close()
        report = await agent.do("audit.verify")
        assert (report["ok"], report["bad"]["table"], report["bad"]["why"]) == (False, "sessions", "missing")
        with pytest.raises(SessionNotFound, match="there is no session work"):
            await agent.do("sessions.show", session="work")
        await agent.do("doctor", rebuild=True)
        assert (await agent.do("sessions.show", session="work"))["title"] == "look"


async def test_a_long_session_is_erased_chunk_by_chunk(home: Path) -> None:
    async with opened(home) as store:
        for session in ("long", "other"):
            await store.append(session, [inbound("go"), started()], rows=[NewSession(origin="owner", workspace="/w", title="go")])
            await store.append(session, [Draft(1, Nudge(text=MARK if session == "long" else "kept")) for _ in range(1200)])
            await store.append(session, [inbound("and on", turn=2), started(2)])
        erased = await store.erase("long", None, "owner", deletes=True)
        assert erased is not None
        assert isinstance(erased.body, Erased)
        assert erased.body.entries == tuple(range(1, 1205))
        assert holding(home) == []
        assert [row.session for row in await store.sessions()] == ["other"]
        assert len(await store.read("other")) == 1204
        before = await store.rows("turns", order=("session", "turn"))
        await store.rebuild()
        assert await store.rows("turns", order=("session", "turn")) == before
        assert (await store.verify()).ok
