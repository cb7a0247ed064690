"""The chat follows every turn that its messages begin, and tells of those that begin elsewhere; what is changed holds from when it says."""

import json

import pytest

from tests.waiting import until

from .emulator import CTRL_D, Screen
from .model import Model, served
from .program import Claw
from .test_chat import CONFIRM, ESC, READY, idle
from .test_run import ASK

pytestmark = pytest.mark.anyio

DUMB = {"TERM": "dumb"}


async def events(claw: Claw, kind: str) -> list[dict[str, object]]:
    return [event for event in (await claw("sessions", "show", "--json")).json["events"] if event["type"] == kind]


async def said(claw: Claw, text: str) -> bool:
    """Whether it is on record."""
    return text in [event["text"] for event in await events(claw, "inbound")]


def stopped_with(model: Model, chat: Screen, text: str) -> None:
    """Say something to the running turn, and stop it before it has seen that."""
    ended = chat.all.count("Cancelled.")
    chat.type(f"{text}\r")
    chat.until(f"> {text}")
    chat.type(ESC)
    chat.until(lambda screen: screen.all.count("Cancelled.") == ended + 1)
    model.done()
    assert text in model.asked()
    chat.until("running")


async def test_a_message_that_is_left_over_by_the_turn_of_a_left_over_message_is_shown_asks_and_stops(claw: Claw) -> None:
    with served(claw.home, CONFIRM) as model, Screen(claw, rows=40) as chat:
        chat.until(READY)
        chat.type("first\r")
        model.asked()
        chat.until("running")
        for text in ("second", "third", "fourth"):
            stopped_with(model, chat, text)
        model.call("write_file", path="a.txt", content="a")
        chat.until("[n] no", "a question waits for you")
        chat.type(ESC)
        chat.until("Cancelled", idle)
        chat.type("fifth\r")
        model.asked()
        model.say("The fifth.")
        model.done()
        chat.until("The fifth.", idle)
        assert chat.all.count("> third") == 1
    ends = await events(claw, "turn.finished")
    assert [(end["turn"], end["status"]) for end in ends] == [*((turn, "cancelled") for turn in range(1, 5)), (5, "done")]


async def test_a_left_over_message_in_the_chat_of_lines_is_followed_too(claw: Claw) -> None:
    with served(claw.home) as model, claw.terminal(env=DUMB) as chat:
        chat.until("> ")
        chat.type("first\n")
        model.asked()
        for text in ("second", "third"):
            chat.type(f"{text}\n")
            await until(lambda text=text: said(claw, text))
            chat.type("\x03")
            chat.until("Cancelled.")
            model.done()
            assert text in model.asked()
        model.say("All of it.")
        model.done()
        chat.until("All of it.")
        chat.until("> ")
        chat.type("\x04")
        assert chat.end() == 0
        assert chat.seen.count("All of it.") == 1


async def test_several_messages_left_over_by_one_turn_are_each_shown_once(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw, rows=40) as chat:
        chat.until(READY)
        chat.type("first\r")
        model.asked()
        chat.type("/queue queued\r")
        chat.until("1 queued")
        chat.type("second\r")
        chat.until("> second")
        chat.type("third\r")
        chat.until("> third")
        chat.type(ESC)
        chat.until("Cancelled.")
        model.done()
        for text in ("queued", "second", "third"):
            assert json.loads(model.asked())[-1]["content"].startswith(text)
            model.say(f"Answer to {text}.")
            model.done()
            chat.until(f"Answer to {text}.")
        chat.until(idle, lambda screen: "queued" not in screen.text.splitlines()[-1])
        assert [chat.all.count(f"Answer to {text}.") for text in ("queued", "second", "third")] == [1, 1, 1]


async def test_a_turn_that_another_process_begins_in_the_session_is_told_with_its_end(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw, "--session", "s") as chat:
        chat.until(READY)
        chat.type("first\r")
        model.asked()
        model.done()
        chat.until("context 10 %", idle)
        chat.type("draft")
        chat.until("> draft")
        with claw.started("sessions", "send", "s", "from afar") as other:
            assert "from afar" in model.asked()
            chat.until("A message from elsewhere began turn 2 of this session: from afar", "It runs in another process")
            model.say("Done there.")
            model.done()
            chat.until("Done there.", "> draft")
            assert other.process.wait(5) == 0
        chat.type("\r")
        assert "draft" in model.asked()
        model.say("And here.")
        model.done()
        chat.until("And here.", idle)


async def test_a_message_from_elsewhere_that_this_process_runs_is_followed(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw, "--session", "s") as chat:
        chat.until(READY)
        chat.type("first\r")
        model.asked()
        model.say("Yes. ")
        chat.until("Yes.")
        assert (await claw("sessions", "send", "s", "from afar")).code == 0
        chat.type(ESC)
        chat.until("Cancelled")
        model.done()
        assert "from afar" in model.asked()
        chat.until("A message from elsewhere began turn 2 of this session: from afar", "running")
        model.say("A long wal")
        chat.until("A long wal")
        chat.type(ESC)
        chat.until(lambda screen: screen.text.count("Cancelled") == 2 and "running" not in screen.text)
        model.done()
    assert [end["status"] for end in await events(claw, "turn.finished")] == ["cancelled", "cancelled"]


async def test_a_model_that_is_changed_while_a_turn_runs_holds_for_the_turn_that_a_later_message_begins(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("first\r")
        model.asked()
        chat.until("running")
        chat.type("/model offline\r")
        chat.until("model offline:grammar from the next turn on (what was sent before keeps its own)")
        chat.type("/trust high\r")
        chat.until("trust high from the next turn on (what was sent before keeps its own), until")
        chat.type("calculate 6 * 7\r")
        chat.until("> calculate 6 * 7")
        chat.type(ESC)
        model.done()
        chat.until("42", idle)
    [first, second] = await events(claw, "turn.started")
    assert (first["model"], second["model"]) == ("mine:big", "offline:grammar")
    assert second["options"]["trust"] == "high"  # type: ignore[index]


async def test_a_command_of_the_shell_is_named_as_that_and_a_list_to_resume_from_says_how(claw: Claw) -> None:
    ran = await claw("--model", "offline", stdin=b"calculate 6 * 7\n/config show\n/doctor\n/resume\n")
    assert "in a shell: neuralclaw --home" not in ran.err
    for line in ("in a shell: neuralclaw config show", "in a shell: neuralclaw doctor", "/resume ID resumes one of them"):
        assert line in ran.err, ran


async def test_what_may_be_answered_stands_whole_on_a_narrow_screen(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    with Screen(claw, "--approvals", "ask", columns=40) as chat:
        chat.until(READY)
        chat.type("calculate 6 * 7\r")
        chat.until("[n] no", "these words")
        assert "then Enter; any other text is a no with these words" in " ".join(chat.text.split())


async def test_a_question_of_run_that_is_left_ends_its_line_and_is_told_as_left(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    for key, told in ((CTRL_D, "whoever was asked left without an answer, which is a no"), ("\x03", "Cancelled.")):
        with claw.terminal("run", "calculate 6 * 7") as terminal:
            terminal.until("a no in words, then Enter > ")
            terminal.type(key)
            terminal.end()
            after = terminal.seen.rpartition("then Enter > ")[2].split("\r\n")
            assert after[0] in ("", "^C", "^D\x08\x08"), after
            assert told in "\n".join(after[1:])
            assert "no one can be asked" not in terminal.seen


async def test_help_is_as_wide_as_the_terminal_and_breaks_between_words(claw: Claw) -> None:
    for words in (["--help"], ["sessions", "--help"], ["run", "--help"], ["sessions", "list", "--help"]):
        wide = {word for word in (await claw(*words)).out.split() if len(word) <= 40}
        with Screen(claw, *words, columns=40) as screen:
            assert screen.end() == 0
            assert wide <= {*screen.all.split()}, words


async def test_a_narrow_list_of_sessions_tells_their_state(claw: Claw) -> None:
    await claw("run", "calculate 6 * 7")
    with Screen(claw, "sessions", "list", columns=40) as screen:
        assert screen.end() == 0
        assert "STATE" in screen.text
        assert "idle" in screen.text
