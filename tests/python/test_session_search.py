"""`sessions search` finds a text in every session."""

from pathlib import Path
from typing import Any

import pytest

from neuralclaw.errors import UsageError
from neuralclaw.types import events as ev
from neuralclaw.types.entries import Draft
from neuralclaw.types.records import NewSession, StoredResult

from ..agent import kit
from ..store import kit as store_kit

pytestmark = pytest.mark.anyio


def places(hits: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(hit["session"], hit["type"]) for hit in hits]


async def test_titles_messages_answers_and_results_are_found_newest_first(home: Path) -> None:
    read = kit.calls(kit.call("read_file", path="notes.txt"))
    async with kit.agent(home, "the BOILER is on", read, "nothing of it", "done") as agent:
        (home.parent / "work" / "notes.txt").write_text("one\ntwo\nabout the Boiler\n")
        await agent.ask("is it warm?", session="answer")
        await agent.ask("read my notes", session="result")
        await agent.ask("look at the boiler", session="message")
        hits = await agent.do("sessions.search", text=" boiler ")
        assert places(hits) == [("message", "title"), ("message", "inbound"), ("result", "tool.finished"), ("answer", "message")]
        assert hits[3] | {"time": ""} == {
            "session": "answer",
            "title": "is it warm?",
            "turn": 1,
            "entry": 3,
            "time": "",
            "type": "message",
            "excerpt": "the BOILER is on",
        }
        assert await agent.do("sessions.search", text="boiler", limit=2) == hits[:2]
        assert await agent.do("sessions.search", text="no such words") == []
        await agent.do("sessions.delete", session="message", yes=True)
        assert places(await agent.do("sessions.search", text="boiler")) == [("result", "tool.finished"), ("answer", "message")]


async def test_the_newest_places_count_where_sessions_took_turns(home: Path) -> None:
    async with kit.agent(home, *["done"] * 6) as agent:
        for number in range(6):
            await agent.ask(f"boiler {number}", session="odd" if number % 2 else "even")
        hits = await agent.do("sessions.search", text="boiler", limit=5)
        assert [hit["excerpt"] for hit in hits if hit["type"] == "inbound"] == ["boiler 5", "boiler 4", "boiler 3"]


async def test_an_excerpt_is_one_line_around_the_words(home: Path) -> None:
    text = "a" * 500 + "\nthe  needle\n" + "b" * 500
    async with kit.agent(home, text) as agent:
        await agent.ask("look", session="work")
        [hit] = await agent.do("sessions.search", text="NEEDLE")
        assert hit["excerpt"].startswith("…aaa")
        assert hit["excerpt"].endswith("bbb…")
        assert "aa the needle bb" in hit["excerpt"]
        assert len(hit["excerpt"]) < 180


async def test_the_whole_of_a_shortened_result_is_looked_at(home: Path) -> None:
    async with store_kit.opened(home) as store:
        await store.append("s", [store_kit.inbound("go"), store_kit.started()], rows=[NewSession(origin="owner", workspace="/w", title="go")])
        end = ev.ToolFinished(call_id="c1", name="echo", ok=True, content="the beginning", truncated=True)
        await store.append("s", [Draft(1, end)], rows=[StoredResult("c1", "the beginning and the needle")])
    async with kit.agent(home) as agent:
        [hit] = await agent.do("sessions.search", text="needle")
        assert (hit["type"], hit["entry"], hit["excerpt"]) == ("tool.finished", 3, "the beginning and the needle")


async def test_a_secret_that_is_known_now_is_not_found_and_in_no_excerpt(home: Path) -> None:
    key = "hunter2-hunter2-hunter2"
    async with kit.agent(home, f"it is {key} for the boiler") as agent:
        await agent.ask("look", session="work")
        assert len(await agent.do("sessions.search", text="hunter2")) == 1
    async with kit.agent(home, environ={"HOME": str(home.parent), "OPENAI_API_KEY": key}) as agent:
        assert await agent.do("sessions.search", text="hunter2") == []
        [hit] = await agent.do("sessions.search", text="boiler")
        assert "hunter2" not in hit["excerpt"]


@pytest.mark.parametrize(("text", "limit"), [(" ", 5), ("x", 0), ("x", 1001)])
async def test_nothing_to_look_for_and_a_limit_out_of_bounds_are_refused(home: Path, text: str, limit: int) -> None:
    async with kit.agent(home) as agent:
        with pytest.raises(UsageError):
            await agent.do("sessions.search", text=text, limit=limit)
