"""`run --fork`, `sessions fork` and `/fork`: from the command line and in the chat."""

import json

import pytest

from .program import Claw

pytestmark = [pytest.mark.anyio, pytest.mark.full]


async def test_run_begins_a_fork_under_the_name_that_is_given(claw: Claw) -> None:
    for task in ("calculate 1+1", "calculate 2+2"):
        await claw("run", "--session", "sums", task)
    ran = await claw("run", "--fork", "sums@1", "--session", "other", "--output", "json", "calculate 3+3")
    end = json.loads(ran.out)
    assert (ran.code, end["session"], end["turn"], end["text"]) == (0, "other", 2, "6")
    shown = json.loads((await claw("sessions", "show", "other", "--json")).out)
    assert [event["text"] for event in shown["events"] if event["type"] == "turn.started"] == ["calculate 1+1", "calculate 3+3"]
    without = await claw("run", "--fork", "sums", "--output", "json", "calculate 4+4")
    assert json.loads(without.out)["turn"] == 3


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--fork", "sums@7"), "has no turn 7"),
        (("--fork", "nobody"), "there is no session nobody"),
        (("--fork", "sums", "--session", "sums"), "there is a session sums already"),
        (("--fork", "sums", "--resume", "sums"), "--fork makes a new session"),
        (("--fork", "sums", "--continue"), "--fork makes a new session"),
    ],
)
async def test_a_fork_that_cannot_be_is_a_usage_error_and_nothing_runs(claw: Claw, words: tuple[str, ...], told: str) -> None:
    await claw("run", "--session", "sums", "calculate 1+1")
    ran = await claw("run", *words, "calculate 2+2")
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert [row["session"] for row in json.loads((await claw("sessions", "list", "--json")).out)] == ["sums"]


async def test_the_chat_goes_on_in_the_fork(claw: Claw) -> None:
    await claw("run", "--session", "sums", "calculate 1+1")
    lines = "/resume sums\n/fork\ncalculate 5+5\n/compact preview\n/fork 9\n/compact now\n"
    ran = await claw("chat", stdin=lines.encode())
    assert "goes on from the end of turn 1 of sums" in ran.out + ran.err
    assert "10" in ran.out
    assert "4 messages before the newest turn would be summarised" in ran.out + ran.err
    assert "has no turn 9, it has 2" in ran.err
    assert "/compact takes preview or nothing" in ran.err
    rows = {row["session"]: row["turns"] for row in json.loads((await claw("sessions", "list", "--json")).out)}
    assert rows.pop("sums") == 1
    assert list(rows.values()) == [2]
