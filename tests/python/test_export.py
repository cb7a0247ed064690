"""`sessions export` gives a whole session, as JSON or Markdown, page by page."""

import json
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from neuralclaw import lookups
from neuralclaw.errors import SessionNotFound, UsageError
from neuralclaw.types.entries import Draft
from neuralclaw.types.events import Nudge

from ..agent import kit
from ..store import kit as store_kit

pytestmark = pytest.mark.anyio


async def lived(agent: kit.Agent) -> None:
    await agent.ask("look at the *boiler*", session="work")


SUM = kit.calls(kit.call("calculate", expression="6*7"), text="I count")


async def test_the_json_has_every_durable_event_with_labels_and_version(home: Path) -> None:
    async with kit.agent(home, SUM, "42") as agent:
        await lived(agent)
        value = await agent.do("sessions.export", session="wor")
        shown = await agent.do("sessions.show", session="work")
    assert (value["format"], value["version"], value["title"]) == ("neuralclaw.session", 1, "look at the *boiler*")
    assert {name: value[name] for name in shown if name != "events"} == {name: shown[name] for name in shown if name != "events"}
    plain = [{name: field for name, field in event.items() if name != "seq"} for event in shown["events"]]
    assert [{name: field for name, field in event.items() if name not in ("version", "labels")} for event in value["events"]] == plain
    assert {event["version"] for event in value["events"]} == {1}
    assert "owner" in value["events"][0]["labels"] or "agent" in value["events"][0]["labels"]


async def test_the_markdown_has_what_was_said_and_each_call_with_its_result(home: Path) -> None:
    async with kit.agent(home, SUM, "It is 42.") as agent:
        await lived(agent)
        text = await agent.do("sessions.export", session="work", markdown=True)
    assert text.startswith("# look at the *boiler*\n\n- session: work\n")
    parts = [
        "## Turn 1",
        "\n\nlook at the *boiler*\n",
        "\n\nI count\n",
        "calls `calculate`",
        '"expression": "6*7"',
        "`calculate` ended well",
        "```\n42\n```",
        "It is 42.",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


async def test_a_file_gets_the_same_and_one_that_is_there_is_left(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "work.json"
    async with kit.agent(home, SUM, "42") as agent:
        await lived(agent)
        value = await agent.do("sessions.export", session="work")
        done = await agent.do("sessions.export", session="work", output=str(file))
        assert done == {"session": "work", "entries": len(value["events"]), "output": str(file)}
        assert json.loads(file.read_text()) == value
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        with pytest.raises(UsageError, match="already; it was left as it is"):
            await agent.do("sessions.export", session="work", output=str(file), markdown=True)
        assert json.loads(file.read_text()) == value
        with pytest.raises(UsageError, match="No such file or directory"):
            await agent.do("sessions.export", session="work", output=str(tmp_path / "no" / "x"))
        with pytest.raises(SessionNotFound, match="there is no session nothing"):
            await agent.do("sessions.export", session="nothing", output=str(tmp_path / "other"))
        assert not (tmp_path / "other").exists()


async def test_a_long_session_comes_in_pages_and_is_complete(home: Path) -> None:
    async with store_kit.opened(home) as store:
        await store.append("long", [store_kit.inbound("go"), store_kit.started()])
        for start in range(0, 3000, 500):
            await store.append("long", [Draft(1, Nudge(text=f"n{number}")) for number in range(start, start + 500)])
        await store.append("long", [Draft(1, Nudge(text="x" * 600_000)) for _ in range(4)])
        sizes = [len(page) async for page in lookups.pages(store, "long", last=3006)]
        assert sum(sizes) == 3006
        assert max(sizes) <= lookups.PAGE
        assert sizes[-2:] == [2, 2] or sizes[-1] <= 2
    pieces: list[str] = []
    async with kit.agent(home) as agent:
        done = await agent.do("sessions.export", session="long", write=pieces.append)
    value = json.loads("".join(pieces))
    assert [event["entry"] for event in value["events"]] == list(range(1, 3007))
    assert (done["entries"], len(pieces) > 6) == (3006, True)


async def test_what_was_erased_is_named_and_the_rest_is_there(home: Path) -> None:
    async with kit.agent(home, "done") as agent:
        await lived(agent)
        await agent._home.store.erase("work", [1], "owner")
        first = (await agent.do("sessions.export", session="work"))["events"][0]
        assert (first["type"], first["erased"], "text" in first) == ("inbound", True, False)
        assert "*inbound, " in await agent.do("sessions.export", session="work", markdown=True)


async def test_a_fence_in_a_result_ends_nothing_and_control_characters_are_seen(home: Path) -> None:
    (home.parent / "work").mkdir()
    (home.parent / "work" / "a.md").write_text("```sh\nls\n```\n\x1b[2J\n")
    async with kit.agent(home, kit.calls(kit.call("read_file", path="a.md")), "done") as agent:
        await lived(agent)
        text = await agent.do("sessions.export", session="work", markdown=True)
    assert "````\n```sh\nls\n```\n" in text
    assert "\x1b" not in text


async def test_a_secret_that_is_known_now_is_in_no_export(home: Path, tmp_path: Path) -> None:
    key = "hunter2-hunter2-hunter2"
    async with kit.agent(home, f"it is {key}") as agent:
        await lived(agent)
    pieces: list[str] = []
    async with kit.agent(home, environ={"HOME": str(home.parent), "OPENAI_API_KEY": key}) as agent:
        for markdown in (False, True):
            await agent.do("sessions.export", session="work", markdown=markdown, write=pieces.append)
            await agent.do("sessions.export", session="work", markdown=markdown, output=str(tmp_path / f"out-{markdown}"))
    written = "".join(pieces) + "".join(path.read_text() for path in tmp_path.glob("out-*"))
    assert written.count("[REDACTED:") >= 4
    assert key not in written


async def test_reading_a_page_of_a_forged_file_raises_nothing(home: Path) -> None:
    async with kit.agent(home, "done") as agent:
        await lived(agent)
        with sqlite3.connect(home / "neuralclaw.db") as c:
            c.execute("UPDATE bodies SET data = x'00' WHERE record = 3")
        c.close()
        value: Any = await agent.do("sessions.export", session="work")
        assert value["events"][2]["type"] == "unreadable"
