"""What a capability records in a turn reaches the person wherever they sit, in its own sentence: the sample of docs/capabilities.md, as it is."""

import json
from pathlib import Path

import pytest

from neuralclaw import Agent

from ..cli.emulator import Screen
from ..cli.program import Claw
from ..cli.test_chat_input import READY
from .shelf import install
from .test_program import enable

pytestmark = [pytest.mark.anyio, pytest.mark.full]

EXAMPLE = Path(__file__).parents[2] / "examples" / "reading_list" / "neuralclaw_reading_list.py"
URL = "https://a.example"
FINISH = f'call finish_reading {{"url": "{URL}"}}'
SAID = f"{URL} was read and is off the reading list"


@pytest.fixture
async def listing(claw: Claw, tmp_path: Path) -> Claw:
    """The program with the sample enabled and one page on its list."""
    claw.env["PYTHONPATH"] = str(install(tmp_path / "packages", "reading_list", f"{EXAMPLE.read_text()}\ncapability = READING_LIST\n"))
    enable(claw, "reading_list", more="llm: {default_provider: offline}\n")
    assert (await claw("reading", "add", URL)).code == 0
    return claw


@pytest.mark.parametrize("words", [("run", FINISH), ("run", FINISH, "--output", "json")], ids=["text", "json"])
async def test_run_shows_the_sentence_beside_the_answer(listing: Claw, words: tuple[str, ...]) -> None:
    done = await listing(*words)
    assert done.code == 0, done
    assert SAID in done.err.splitlines()
    assert SAID not in done.out


async def test_the_chat_over_a_pipe_shows_it(listing: Claw) -> None:
    done = await listing("chat", stdin=f"{FINISH}\n".encode())
    assert SAID in done.err.splitlines(), done


async def test_the_chat_line_by_line_shows_it(listing: Claw) -> None:
    with listing.terminal(env={"TERM": "dumb"}) as terminal:
        terminal.until("> ")
        terminal.type(f"{FINISH}\n")
        terminal.until(SAID)


async def test_the_live_chat_shows_it(listing: Claw) -> None:
    with Screen(listing) as screen:
        screen.until(READY)
        screen.type(f"{FINISH}\r")
        screen.until(SAID)


async def test_json_lines_have_the_fields_of_the_kind_and_no_more(listing: Claw) -> None:
    done = await listing("run", FINISH, "--output", "stream-json")
    recorded = [event for event in done.lines if event["type"] == "reading_list.done"]
    assert [set(event) for event in recorded] == [{"type", "session", "turn", "seq", "time", "entry", "url", "why"}], json.dumps(done.lines)


async def test_an_event_of_a_built_in_kind_says_its_sentence_too(home: Path, tmp_path: Path) -> None:
    async with Agent.open(home=home, workspace=tmp_path, model="offline", environ={}) as agent:
        async with agent.turn("calculate 6 * 7") as events:
            told = {event.type: event.sentence async for event in events}
    assert told["turn.started"] == "the turn begins with offline:grammar"
    assert told["turn.finished"] == "the turn ended, done: 42"
