"""The chat at a real terminal, seen through an emulated screen: streaming, cards, questions, steering, the queue, cancel, resume."""

import json
import re
import termios

import pytest

from neuralclaw.types.entries import blob_digest

from ..agent.test_pictures import DOT
from .emulator import CTRL_C, CTRL_D, Screen
from .model import served
from .program import Claw
from .test_run import ASK

pytestmark = pytest.mark.anyio

READY = "context 0 %"


async def test_an_answer_grows_in_place_and_is_said_once(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("tell me\r")
        assert "tell me" in model.asked()
        model.say("# Rivers\n\nThe **Rhine** is")
        assert "**" not in chat.until("Rivers", "The Rhine is", "running")
        model.say(" long.\n\n- one\n- tw")
        chat.until("Rhine is long.", "• one", "• tw")
        model.say("o\n")
        model.done()
        chat.until("• two", "context 10 %", "$0.01")
        assert len(re.findall("Rhine", chat.all)) == 1
        chat.type(CTRL_D)
        assert chat.end() == 0
        assert "neuralclaw --resume " in chat.text


async def test_a_call_is_a_card_whose_time_runs_and_its_outcome_stays(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw, "--approvals", "auto") as chat:
        chat.until(READY)
        chat.type("wait\r")
        model.call("terminal", command="sleep 1.5; echo over")
        chat.until("○ terminal", "sleep 1.5")
        seen = set()

        def ticks(screen: Screen) -> bool:
            seen.update(re.findall(r"○ terminal .*?(\d+\.\d s|\d+ ms)", screen.text))
            return "✓ terminal" in screen.text

        chat.until(ticks, "over")
        assert len(seen) > 2
        model.say("It is over.")
        model.done()
        chat.until("It is over.")
        assert chat.all.count("✓ terminal") == 1
        assert "○" not in chat.all


CONFIRM = "safety: {require_confirmation_for: [MEDIUM, HIGH, CRITICAL]}\n"


@pytest.mark.parametrize(("key", "decision"), [("y", "once"), ("s", "session"), ("a", "always"), ("n", "no")])
async def test_a_question_stands_above_the_input_until_it_is_answered(claw: Claw, key: str, decision: str) -> None:
    with served(claw.home, CONFIRM) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("write it down\r")
        there = claw.workspace / "list.txt"
        model.call("write_file", path="list.txt", content="milk\nbread\n")
        chat.until("[n] no", "write_file: writes list.txt", "+milk", "+bread", "[s] covers write_file directly in", "a question waits")
        chat.type("?\r")
        chat.until("it asks because", "- its risk is MEDIUM")
        chat.type(f"{key}\r")
        model.say("So it is.")
        model.done()
        chat.until("So it is.", lambda screen: "then Enter; any other text" not in screen.text and "a question waits" not in screen.text)
    assert there.exists() == (key != "n")
    [session] = (await claw("sessions", "list", "--json")).json
    shown = (await claw("sessions", "show", session["session"], "--json")).json
    assert [event["decision"] for event in shown["events"] if event["type"] == "approval.resolved"] == [decision]


async def test_any_other_text_at_a_question_is_a_no_that_the_model_reads(claw: Claw) -> None:
    with served(claw.home, CONFIRM) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("write it down\r")
        model.asked()
        model.call("write_file", path="list.txt", content="milk\n")
        chat.until("[n] no")
        chat.type("no, put it into notes.txt\r")
        assert "a person said no to it, with the words: no, put it into notes.txt" in model.asked()
        model.say("I will.")
        model.done()
        chat.until("I will.")
    assert not (claw.workspace / "list.txt").exists()
    [session] = (await claw("sessions", "list", "--json")).json
    shown = (await claw("sessions", "show", session["session"], "--json")).json
    [answer] = [event for event in shown["events"] if event["type"] == "approval.resolved"]
    assert (answer["decision"], answer["by"], answer["text"]) == ("no", "owner", "no, put it into notes.txt")


async def test_an_answer_from_elsewhere_takes_the_question_off_the_screen_and_the_draft_comes_back(claw: Claw) -> None:
    with served(claw.home, ASK) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("how much\r")
        model.asked()
        chat.type("y")
        chat.until("> y")
        model.call("calculate", expression="6 * 7")
        chat.until("[n] no", lambda screen: "> y" not in screen.text)
        [question] = (await claw("approvals", "list", "--json")).json
        assert (await claw("approvals", "answer", question["approval_id"], "once")).code == 0
        chat.until("answered by a program: once", "✓ calculate", "> y", lambda screen: "[n] no" not in screen.text)
        model.say("Fine.")
        model.done()
        chat.until("Fine.")


async def test_what_is_typed_during_a_turn_is_seen_before_the_next_call_of_the_model(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("begin\r")
        model.asked()
        model.say("Let me see. ")
        chat.until("Let me see.")
        chat.type("in French please\r")
        chat.until("> in French please")
        chat.type("/queue afterwards this\r")
        chat.until("1 queued")
        recorded = (await claw("sessions", "show", "--json")).json["events"]
        assert [event["text"] for event in recorded if event["type"] == "inbound" and event["queued"]] == ["afterwards this"]
        model.call("calculate", expression="1 + 1")
        assert "in French please" in model.asked()
        model.say("Deux.")
        model.done()
        assert "afterwards this" in model.asked()
        model.say("And this.")
        model.done()
        chat.until("Deux.", "And this.", lambda screen: "queued" not in screen.text.splitlines()[-1])


async def test_a_word_said_while_the_last_answer_streams_is_answered_too(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("begin\r")
        model.asked()
        model.say("Yes. ")
        chat.until("Yes.")
        chat.type("one thing more\r")
        chat.until("> one thing more")
        model.done()
        assert "one thing more" in model.asked()
        model.say("That too.")
        model.done()
        chat.until("That too.")


async def test_ctrl_c_clears_the_input_stops_a_turn_and_never_the_chat(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("half a thought")
        chat.until("> half a thought")
        chat.type(CTRL_C)
        chat.until(lambda screen: "half" not in screen.text)
        chat.type(CTRL_C)
        chat.until("Nothing runs. Ctrl-D leaves.")
        chat.type("begin\r")
        model.asked()
        model.say("A long wal")
        chat.until("A long wal")
        chat.type(CTRL_C)
        chat.until("Cancelled", lambda screen: "running" not in screen.text)
        model.done()
        chat.type("again\r")
        model.asked()
        model.say("Here I am.")
        model.done()
        chat.until("Here I am.")
        chat.type("/quit\r")
        assert chat.end() == 0


async def test_ctrl_d_during_a_turn_stops_it_and_leaves(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw, "--session", "d") as chat:
        chat.until(READY)
        chat.type("begin\r")
        model.asked()
        model.say("A long wal")
        chat.until("A long wal")
        chat.type(CTRL_D)
        assert chat.end() == 0
        assert "neuralclaw --resume d" in chat.text
        model.done()
    shown = (await claw("sessions", "show", "d", "--json")).json
    assert [event["status"] for event in shown["events"] if event["type"] == "turn.finished"] == ["cancelled"]


async def test_three_times_ctrl_c_leaves_at_once_and_gives_the_terminal_back(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw) as chat:
        before = termios.tcgetattr(chat.fd)
        chat.until(READY)
        assert termios.tcgetattr(chat.fd) != before
        chat.type("begin\r")
        model.asked()
        chat.type(CTRL_C * 3)
        assert chat.end() == 130
        assert chat.raw.count(b"\x1b[?2004h") == chat.raw.count(b"\x1b[?2004l")
        model.done()


async def test_a_void_beginning_of_an_answer_is_said_to_be_void(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("begin\r")
        model.asked()
        model.say("Wrong beginning of ")
        chat.until("Wrong beginning of")
        model.cut()
        model.asked()
        model.say("The right one.")
        model.done()
        chat.until("Retrying", "void", "The right one.", "context 10 %")


async def test_a_message_typed_before_the_agent_is_open_waits_for_it(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw) as chat:
        chat.type("early\r")
        assert "early" in model.asked()
        model.say("The early bird.")
        model.done()
        chat.until("> early", "The early bird.")


async def test_a_session_is_left_and_gone_on_with(claw: Claw) -> None:
    with served(claw.home) as model:
        with Screen(claw, "--session", "trip") as chat:
            chat.until(READY)
            chat.type("to Rome\r")
            model.asked()
            model.say("Pack.")
            model.done()
            chat.until("Pack.", "context 10 %")
            chat.type("/new other\r")
            chat.until("session other", READY)
            chat.type("/resume trip\r")
            chat.until("session trip: to Rome", "context 10 %")
            chat.type("and back\r")
            assert "to Rome" in model.asked()
            model.done()
            chat.until("$0.03")
            chat.type(CTRL_D)
            assert chat.end() == 0
            assert "neuralclaw --resume trip" in chat.text
        with Screen(claw, "--resume", "trip") as chat:
            chat.until("context 10 %", "$0.03")
            chat.type("/cost\r")
            chat.until("this session: 26,000 tokens in")


async def test_a_terminal_that_goes_away_leaves_a_turn_that_can_be_resumed(claw: Claw) -> None:
    with served(claw.home) as model:
        with Screen(claw, "--session", "lost") as chat:
            chat.until(READY)
            chat.type("begin\r")
            model.asked()
            model.say("Half of")
            chat.until("Half of")
            chat.hang_up()
        model.done()
        with Screen(claw, "--resume", "lost") as chat:
            assert "begin" in model.asked()
            model.say("All of it.")
            model.done()
            chat.until("All of it.", "context 10 %", lambda screen: "running" not in screen.text)
    shown = (await claw("sessions", "show", "lost", "--json")).json
    assert [event["turn"] for event in shown["events"] if event["type"] == "turn.finished"] == [1]


async def test_an_error_of_the_model_ends_the_turn_and_not_the_chat(claw: Claw) -> None:
    broken = "llm: {default_model: 'gone:m', providers: {gone: {base_url: 'http://127.0.0.1:9/v1', models: {m: {}}}}, retry: {attempts: 1}}\n"
    (claw.home / "config.yaml").write_text(broken)
    with Screen(claw, rows=60) as chat:
        chat.until(READY)
        chat.type("hello\r")
        chat.until("LLM error")
        chat.type("/model offline\r")
        chat.until("model offline:grammar from the next message on")
        chat.type("calculate 6 * 7\r")
        chat.until("✓ calculate")
        chat.type("/modle\r")
        chat.until("there is no /modle; did you mean '/model'?")
        chat.type("/trust lots\r")
        chat.until("/trust requires one of low, medium, high")
        chat.type("/resume nowhere\r")
        chat.until("nowhere")
        chat.type("/model\r")
        chat.until("offline:grammar")
        chat.type("/help\r")
        chat.until("Sessions", "The running turn", "/queue TEXT")


async def test_the_terminal_is_as_it_was_after_the_chat(claw: Claw) -> None:
    with served(claw.home), Screen(claw) as chat:
        chat.until(READY)
        chat.type(CTRL_D)
        assert chat.end() == 0
        assert chat.raw.count(b"\x1b[?2004h") == chat.raw.count(b"\x1b[?2004l")
        assert b"\x1b[?1049" not in chat.raw  # no screen of its own: what was said stays in the scrollback
        assert b"\x1b]" not in chat.raw  # the title is left alone
    assert json.loads((await claw("sessions", "list", "--json")).out) == []


def idle(screen: Screen) -> bool:
    """No turn runs, as the whole status line tells it: half a frame does not count."""
    status = screen.text.rpartition("\n")[2]
    return "context" in status and "$" in status and "running" not in status


async def test_a_session_that_is_taken_up_again_shows_its_last_turns_once(claw: Claw) -> None:
    with served(claw.home) as model:
        with Screen(claw, "--session", "s") as chat:
            chat.until(READY)
            for number in range(1, 5):
                chat.type(f"question {number}\r")
                model.asked()
                model.say(f"The **answer** {number}.")
                model.done()
                chat.until(f"The answer {number}.", idle)
            chat.type(CTRL_D)
            assert chat.end() == 0
        with Screen(claw, "--resume", "s") as chat:
            chat.until("> question 2", "The answer 2.", "> question 4", "The answer 4.", "context 10 %")
            assert "question 1" not in chat.all
            assert chat.all.count("The answer 4.") == 1
            chat.type("/trust\r")
            chat.until("trust low")
            chat.type("/resume\r")
            chat.until("s        idle")


async def test_a_picture_that_is_named_goes_along(claw: Claw) -> None:
    (claw.workspace / "dot.png").write_bytes(DOT)
    with served(claw.home) as model, Screen(claw, "--session", "s") as chat:
        chat.until(READY)
        chat.type("what is @do\t")
        chat.until("what is @dot.png")
        chat.type(" \r")
        model.asked()
        model.say("A dot.")
        model.done()
        chat.until("A dot.", "does not accept images")
    shown = (await claw("sessions", "show", "s", "--json")).json
    assert [event["images"] for event in shown["events"] if event["type"] == "inbound"] == [
        [{"media_type": "image/png", "name": "dot.png", "bytes": len(DOT), "digest": blob_digest(DOT)}]
    ]


async def test_a_yes_to_no_question_is_not_sent_to_the_model(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("begin\r")
        model.asked()
        chat.type("y\r")
        chat.until("no question waits here; nothing was sent")
        model.say("Fine.")
        model.done()
        chat.until("Fine.", idle)


ESC, CTRL_O, LEFT = "\x1b", "\x0f", "\x1b[D"


async def test_escape_stops_the_turn_and_keeps_what_is_being_typed(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("kept")
        chat.until("> kept")
        chat.type(ESC)
        chat.type("\x15again")  # Ctrl-U empties the line
        chat.until("> again")
        chat.type("\r")
        assert "again" in model.asked()
        model.say("A long wal")
        chat.until("A long wal")
        chat.type(f"draft{LEFT}{LEFT}\x1bbX")  # arrows and Alt-b begin with the same byte
        chat.until("> Xdraft", "running")
        chat.type(ESC)
        chat.until("Cancelled", lambda screen: "running" not in screen.text)
        chat.until("> Xdraft")
        model.done()
        chat.type("\r")
        assert "Xdraft" in model.asked()
        model.done()


async def test_escape_at_a_question_stops_the_turn(claw: Claw) -> None:
    with served(claw.home, CONFIRM) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("write it\r")
        model.call("write_file", path="list.txt", content="milk\n")
        chat.until("[n] no", "a question waits")
        chat.type(ESC)
        chat.until("Cancelled", lambda screen: "a question waits" not in screen.text)
    assert not (claw.workspace / "list.txt").exists()


async def test_escape_closes_the_list_of_completions_first(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("begin\r")
        model.asked()
        chat.type("/res")
        chat.until("resume a session")
        chat.type(ESC)
        chat.until("> /res", "running", lambda screen: "resume a session" not in screen.text)
        chat.type(ESC)
        chat.until("Cancelled")
        model.done()


COUNT = r"""
i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo row-$i; done
printf '\033]0;evil\007'; printf '\033'; sleep 0.3; printf '[2J\n'
while [ ! -e go ]; do sleep 0.05; done
"""


async def test_the_last_lines_of_a_running_command_are_seen_and_folded_when_it_ends(claw: Claw) -> None:
    (claw.workspace / "count.sh").write_text(COUNT)
    with served(claw.home) as model, Screen(claw, "--approvals", "auto", "--trust", "high", rows=50) as chat:
        chat.until(READY)
        chat.type("count\r")
        model.call("terminal", command="sh count.sh")
        shown = chat.until("row-30", "row-27", "[2J")
        assert "row-20" not in shown
        (claw.workspace / "go").touch()
        chat.until("✓ terminal", "row-1", "more lines")
        assert "row-20" not in chat.text
        model.say("Counted.")
        model.done()
        chat.until("Counted.", idle)
        chat.type(CTRL_O)
        chat.until("row-2\n", "row-30", "lines 1 to ", "Esc or q closes")
        chat.type(CTRL_O)
        chat.until("more lines", "Counted.", idle, lambda screen: "row-20" not in screen.text)
        assert b"\x1b]0;" not in chat.raw
        assert b"\x1b[2J" not in chat.raw


async def test_thinking_is_seen_while_it_goes_on_then_folded_and_can_be_unfolded(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("think\r")
        model.asked()
        model.think("First I look ", "at the \x1b[31mriver", ".\x1b", "]0;evil\x07 Then")
        chat.until("thinking…", "First I look at the", "Then")
        model.say("It is long!")
        chat.until("It is long!", "thought for", lambda screen: "First I look" not in screen.text)
        model.done()
        chat.until(idle)
        chat.type(CTRL_O)
        chat.until("First I look at the")
        chat.type(ESC)
        chat.until("It is long!", idle, lambda screen: "First I look" not in screen.text)
        assert b"\x1b]0;" not in chat.raw
        assert b"\x1b[31mriver" not in chat.raw
        chat.type("again\r")
        model.asked()
        model.think("Second thoughts.")
        model.say("Still long.")
        model.done()
        chat.until("Still long.", idle, lambda screen: "Second thoughts" not in screen.text)
        chat.type(CTRL_O)
        chat.until("Second thoughts.")
