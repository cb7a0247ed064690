"""The package in `examples/reading_list`, as a person has it: installed by pip beside the program, enabled, removed, installed again."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ..cli.model import Model, served
from ..cli.program import Claw
from .environment import ROOT, FreshEnvironment

pytestmark = [pytest.mark.anyio, pytest.mark.full]

PACKAGE = ROOT / "examples" / "reading_list"
ENABLED = "capabilities: {enabled: [reading_list]}\nreading_list: {shown: 3}\n"
URL, TITLE = "https://sqlite.org/wal.html", "How SQLite writes ahead"
DO = """
import asyncio, json
from neuralclaw import Agent

async def main():
    async with Agent.open(model="offline") as agent:
        await agent.do("reading.add", url="https://b.example", title="Another")
        print(json.dumps(await agent.do("reading.list", limit=1)))

asyncio.run(main())
"""
SERVE = """
import asyncio, sys
from neuralclaw import Agent

async def main():
    async with Agent.open(model="offline", services=True) as agent:
        async with agent.desk.events("home", after=0) as events:
            async for event in events:
                if event.type == "reading_list.done":
                    break
        print("dropped", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> FreshEnvironment:
    made = FreshEnvironment(tmp_path_factory.mktemp("fresh"))
    made.pip("install", str(PACKAGE))
    return made


@pytest.fixture
def installed(fresh: FreshEnvironment, home: Path, tmp_path: Path) -> Claw:
    """The program of the fresh environment, over a home that enables the package."""
    (home / "config.yaml").write_text(ENABLED)
    return Claw(home, tmp_path / "work", fresh.program)


@pytest.fixture
def model(home: Path, installed: Claw) -> Iterator[Model]:
    with served(home, ENABLED) as serving:
        yield serving


async def checks(claw: Claw, *words: str) -> dict[str, dict[str, Any]]:
    return {check["check"]: check for check in (await claw("doctor", *words, "--json")).json}


async def shown(claw: Claw, session: str = "home") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await claw("sessions", "show", session, "--json")).json["events"]
    return found


def derived(home: Path) -> list[tuple[Any, ...]]:
    """What stands in the capability's table, read past the program."""
    with closing(sqlite3.connect(home / "neuralclaw.db")) as database:
        [table] = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'") if name.endswith("reading_list")]
        return database.execute(f"SELECT url, title FROM {table} ORDER BY url").fetchall()


def test_the_package_is_small() -> None:
    files = [PACKAGE / "pyproject.toml", *PACKAGE.glob("*.py")]
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= 150


async def test_its_commands_stand_in_every_help_and_do_what_they_say(installed: Claw, fresh: FreshEnvironment) -> None:
    assert "  reading             add, list: Pages to read later.\n" in (await installed("--help")).out
    assert "neuralclaw reading add https://example.org" in (await installed("reading", "add", "--help")).out
    added = await installed("reading", "add", URL, "--title", TITLE, "--json")
    assert (added.code, added.json["title"]) == (0, TITLE), added
    chat = await installed(stdin=b"/help\n/reading list\n")
    assert "/reading add|list " in chat.out + chat.err
    assert TITLE in chat.out + chat.err
    with fresh.script(DO, installed.env, installed.workspace) as script:
        out, _ = script.communicate(timeout=60)
    assert (script.returncode, out.decode().count(TITLE), out.decode().count("Another")) == (0, 1, 0)
    wrong = await installed("reading", "add", "nowhere")
    assert (wrong.code, "nothing was added" in wrong.err) == (2, True)


async def test_its_settings_and_its_tool_are_listed_like_built_in_ones(installed: Claw) -> None:
    schema = (await installed("config", "schema")).json["$defs"]["ReadingList"]["properties"]
    assert schema["keep_days"]["description"] == "Days after which a page that nobody read is dropped."
    values = (await installed("config", "show", "--json")).json
    assert values["reading_list.shown"] == {"value": 3, "origin": "config.yaml:2"}
    assert values["reading_list.keep_days"] == {"value": 90, "origin": "default"}
    assert "finish_reading" in (await installed("tools", "list")).out


async def test_its_events_read_as_sentences(installed: Claw) -> None:
    await installed("reading", "add", URL, "--title", TITLE)
    people = await installed("sessions", "show", "home")
    assert f"{TITLE} was put on the reading list" in people.out, people


async def test_its_events_are_on_record_and_its_table_is_rebuilt_from_them(installed: Claw) -> None:
    await installed("reading", "add", URL, "--title", TITLE)
    assert [(event["type"], event["url"]) for event in await shown(installed)] == [("reading_list.added", URL)]
    with closing(sqlite3.connect(installed.home / "neuralclaw.db")) as database, database:
        [table] = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'") if name.endswith("reading_list")]
        database.execute(f"UPDATE {table} SET title = 'spoilt'")
    assert derived(installed.home) == [(URL, "spoilt")]
    found = await checks(installed, "--rebuild")
    assert derived(installed.home) == [(URL, TITLE)]
    assert found["capability.reading_list"]["text"] == "reading_list 1.0 from neuralclaw-reading-list, enabled"
    assert found["reading_list.pages"]["text"] == "1 on the list"


async def test_the_model_is_told_of_its_tool_and_its_pages_and_the_tool_writes_to_the_list(installed: Claw, model: Model) -> None:
    await installed("reading", "add", URL, "--title", TITLE)
    model.call("finish_reading", url=URL)
    model.say("Done.")
    model.done()
    done = await installed("run", "--session", "reading", "I have read it.")
    assert (done.code, done.out) == (0, "Done.\n"), done
    first, second = model.requests
    [tool] = [each["function"] for each in first["tools"] if each["function"]["name"] == "finish_reading"]
    assert tool["description"].startswith("Take a page off the reading list")
    assert tool["parameters"]["properties"]["url"]["description"] == "The page's address, as the list has it."
    assert f"On the reading list:\n- {TITLE}: {URL}" in str(first["messages"][-1]["content"]) + str(first["messages"][-2]["content"])
    assert "On the reading list" not in str(second["messages"]), "it is read anew before each call"
    assert [event["why"] for event in await shown(installed, "reading") if event["type"] == "reading_list.done"] == ["read"]
    assert (await installed("reading", "list", "--json")).json == []


async def test_its_service_runs_under_its_lease_where_services_are_asked_for(installed: Claw, fresh: FreshEnvironment) -> None:
    await installed("reading", "add", URL)
    with fresh.script(SERVE, installed.env | {"NEURALCLAW_READING_LIST__KEEP_DAYS": "0"}, installed.workspace) as script:
        try:
            assert script.stdout is not None
            assert script.stdout.readline() == b"dropped\n"
            with closing(sqlite3.connect(installed.home / "neuralclaw.db")) as database:
                held = database.execute("SELECT * FROM leases WHERE name = 'service:reading_list.drop'").fetchall()
            assert len(held) == 1
            assert str(script.pid) in str(held)
            script.communicate(b"\n", timeout=60)
        finally:
            script.kill()
    assert script.returncode == 0
    assert (await installed("reading", "list", "--json")).json == []


async def test_removed_it_leaves_a_home_that_works_and_installed_again_it_has_everything_back(installed: Claw, fresh: FreshEnvironment) -> None:
    await installed("reading", "add", URL, "--title", TITLE)
    fresh.pip("uninstall", "-y", "neuralclaw-reading-list")
    try:
        [raw] = await shown(installed)
        assert (raw["type"], raw["kind"], raw["why"]) == ("unreadable", "reading_list.added", "unknown")
        assert (raw["data"]["url"], raw["data"]["title"]) == (URL, TITLE)
        assert "reading_list.added" in (await installed("sessions", "show", "home")).out
        ran = await installed("run", "calculate 6*7")
        assert (ran.code, ran.out) == (0, "42\n")
        check = await installed("config", "check")
        assert (check.code, "have no effect: reading_list (" in check.err) == (0, True), check
        assert (await installed("audit", "verify", "--json")).json["ok"] is True
        assert (await checks(installed, "--rebuild"))["capability.reading_list"]["text"] == "reading_list is enabled, and no installed package brings it"
        assert "reading" not in (await installed("--help")).out
    finally:
        fresh.pip("install", str(PACKAGE))
    assert (await installed("reading", "list", "--json")).json[0]["title"] == TITLE
    assert [event["type"] for event in await shown(installed)] == ["reading_list.added"]
    assert f"{TITLE} was put on the reading list" in (await installed("sessions", "show", "home")).out
    assert (await installed("audit", "verify", "--json")).json["ok"] is True
