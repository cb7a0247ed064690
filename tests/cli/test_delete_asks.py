"""`sessions delete` asks a person first."""

import pytest

from .program import Claw

pytestmark = pytest.mark.anyio


async def sessions(claw: Claw) -> list[str]:
    return [row["session"] for row in (await claw("sessions", "list", "--json")).json]


async def test_over_a_pipe_it_wants_the_yes_on_the_line(claw: Claw) -> None:
    await claw("run", "calculate 6*7", "--session", "work")
    ran = await claw("sessions", "delete", "work", stdin=b"y\n")
    assert (ran.code, ran.out) == (2, "")
    assert "neuralclaw sessions delete work --yes" in ran.err
    assert await sessions(claw) == ["work"]
    unknown = await claw("sessions", "delete", "nothing", "--yes")
    assert (unknown.code, unknown.out) == (2, "")
    assert "there is no session nothing" in unknown.err
    done = await claw("sessions", "delete", "wor", "--yes")
    assert (done.code, done.out) == (0, "deleted work: 8 entries are erased\n"), done
    assert await sessions(claw) == []
    assert (await claw("audit", "verify")).code == 0


@pytest.mark.parametrize(("answer", "code", "left"), [("n\r", 1, ["work"]), ("\r", 1, ["work"]), ("y\r", 0, [])])
async def test_at_a_terminal_it_asks_and_only_a_yes_erases(claw: Claw, answer: str, code: int, left: list[str]) -> None:
    await claw("run", "calculate 6*7", "--session", "work")
    with claw.terminal("sessions", "delete", "work") as terminal:
        terminal.until("Erase it for good?")
        terminal.type(answer)
        assert terminal.end() == code
        assert "session work: calculate 6*7 (turns: 1" in terminal.seen
    assert await sessions(claw) == left


async def test_the_chat_deletes_with_a_yes_on_the_line(claw: Claw) -> None:
    await claw("run", "calculate 6*7", "--session", "work")
    ran = await claw(stdin=b"/sessions delete work\n/sessions delete work --yes\n")
    assert "nothing brings them back" in ran.err, ran
    assert "deleted work: 8 entries are erased" in ran.err
    assert await sessions(claw) == []
