"""The answer of a turn whose message names where it goes: one row of the outbox, written with the end of the turn."""

import sqlite3
from pathlib import Path

import pytest

from neuralclaw import tool
from neuralclaw.testing import Reply, ScriptedProvider
from neuralclaw.types.messages import Failure
from neuralclaw.types.options import TurnOptions

from ..store.kit import opened
from .kit import call, calls
from .turns import whole_turn

pytestmark = pytest.mark.anyio

CHAT = ("telegram", "42")


def outbox(home: Path) -> list[tuple[str, str, str]]:
    """Session, address and text of each row."""
    with sqlite3.connect(home / "neuralclaw.db") as c:
        return c.execute("SELECT session, address, text FROM outbox ORDER BY id").fetchall()


@tool(risk="HIGH", effect="once")
async def launch() -> str:
    "Launch."
    return "launched"


async def test_the_answer_is_one_row_of_the_outbox(home: Path) -> None:
    async with opened(home) as store:
        await whole_turn(store, ScriptedProvider("it is done"), outbox=CHAT)
    assert outbox(home) == [("s", "42", "it is done")]


async def test_without_an_address_nothing_is_delivered(home: Path) -> None:
    async with opened(home) as store:
        await whole_turn(store, ScriptedProvider("it is done"))
    assert outbox(home) == []


async def test_a_turn_that_failed_delivers_what_went_wrong(home: Path) -> None:
    async with opened(home) as store:
        await whole_turn(store, ScriptedProvider(Reply(failure=Failure("LLMError", "the service is gone"))), outbox=CHAT)
    assert outbox(home) == [("s", "42", "the service is gone")]


async def test_the_end_of_a_turn_without_a_word_is_delivered_too(home: Path) -> None:
    async with opened(home) as store:
        entries = await whole_turn(store, ScriptedProvider(""), outbox=CHAT)
    assert entries[-1].header.kind == "turn.finished"
    assert outbox(home) == [("s", "42", "")]


async def test_a_turn_that_waits_for_a_person_delivers_nothing_yet(home: Path) -> None:
    options = TurnOptions(model="test:model", workspace=str(home), approvals="park")
    async with opened(home) as store:
        entries = await whole_turn(store, ScriptedProvider(calls(call("launch"))), tools=[launch], outbox=CHAT, options=options)
    assert [e.header.kind for e in entries[-2:]] == ["approval.requested", "turn.finished"]
    assert outbox(home) == []
