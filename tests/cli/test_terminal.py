"""The program at a real terminal: questions, Ctrl-C, the chat."""

import re
from collections.abc import Callable

import pytest

from tests.waiting import until

from .program import Claw
from .test_chat_input import tmux
from .test_run import ASK

pytestmark = pytest.mark.anyio


async def test_a_question_is_asked_and_answered_at_the_terminal(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    with claw.terminal("run", "calculate 6 * 7", "--session", "t") as terminal:
        asked = terminal.until("[n] no")
        assert "calculate" in asked
        assert "6 * 7" in asked
        assert "sums are asked about" in asked
        terminal.type("?\n")
        terminal.until("- sums are asked about")
        terminal.until(f"{asked.rpartition(chr(10))[2]}  [?] why, or a no in words, then Enter > ")
        terminal.type("a\n")
        terminal.until("please type one of")
        terminal.until("[n] no  [?] why, or a no in words, then Enter > ")
        terminal.type("y\n")
        terminal.until("42")
        assert terminal.end() == 0
    with claw.terminal("run", "calculate 6 * 7") as terminal:
        terminal.until("[n] no")
        terminal.type("n\n")
        assert terminal.end() == 1, "the offline helper's step was not done"


async def test_an_answer_from_another_terminal_ends_the_prompt_and_the_next_question_follows(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    with claw.terminal("run", "calculate 6 * 7 then calculate 40 + 4", "--session", "t") as terminal:
        terminal.until("[n] no")
        first = (await claw("approvals", "list", "--json")).json[0]
        answered = await claw("approvals", "answer", first["approval_id"], "once")
        assert answered.code == 0, answered
        assert "continues the turn" in answered.out
        terminal.until("answered by a program: once")
        terminal.until("40 + 4")
        terminal.until("[n] no")
        terminal.type("y\n")
        terminal.until("42")
        terminal.until("44")
        assert terminal.end() == 0


async def test_half_a_line_typed_at_a_question_that_is_answered_elsewhere_is_no_answer_to_the_next_one(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    for words in (("run", "calculate 6 * 7 then calculate 40 + 4"), ("--approvals", "ask")):
        with claw.terminal(*words, env={"TERM": "dumb"}) as terminal:
            if words[0] != "run":
                terminal.until("> ")
                terminal.type("calculate 6 * 7 then calculate 40 + 4\n")
            terminal.until("a no in words, then Enter > ")
            terminal.type("no, do")
            first = (await claw("approvals", "list", "--json")).json[0]
            assert (await claw("approvals", "answer", first["approval_id"], "once")).code == 0
            terminal.until("answered by a program: once")
            terminal.until("a no in words, then Enter > ")
            terminal.type("y\n")
            terminal.until("44")
            assert "with the words" not in terminal.seen


@pytest.mark.parametrize("answer", ["no", "once"])
async def test_half_a_line_typed_at_a_question_that_is_answered_elsewhere_never_reaches_the_shell(claw: Claw, answer: str) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    with tmux(claw, "run", "calculate 6 * 7") as run:

        def shows(*wanted: str) -> Callable[[], bool]:
            return lambda: all(one in run("capture-pane", "-p", "-J", "-S", "-") for one in wanted)

        await until(shows("a no in words, then Enter >"))
        run("send-keys", "-l", "touch typed; ")
        await until(shows("a no in words, then Enter > touch typed;"))
        asked = (await claw("approvals", "list", "--json")).json[0]
        assert (await claw("approvals", "answer", asked["approval_id"], answer)).code == 0
        await until(shows(f"answered by a program: {answer}", "ERROR: not run: a program answered no" if answer == "no" else "\n42\n"))
        await until(lambda: run("display-message", "-p", "#{pane_current_command}").strip() == "bash")
        run("send-keys", "-l", "echo all is $((40 + 5))")
        run("send-keys", "Enter")
        await until(shows("all is 45"))
    assert not (claw.workspace / "typed").exists()


async def test_an_answer_typed_at_another_terminal_is_told_as_the_owners(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    with claw.terminal("run", "calculate 6 * 7", "--session", "t") as terminal:
        terminal.until("[n] no")
        first = (await claw("approvals", "list", "--json")).json[0]
        with claw.terminal("approvals", "answer", first["approval_id"], "no", "--text", "not now") as other:
            assert other.end() == 0
        terminal.until("answered from another terminal: no, with the words: not now")
        assert terminal.end() in (0, 1)


async def test_words_at_a_question_of_the_line_chat_are_a_no_for_the_model(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    with claw.terminal("chat", env={"TERM": "dumb"}) as chat:
        chat.until("> ")
        chat.type("calculate 6 * 7\n")
        chat.until("a no in words, then Enter > ")
        chat.type("?\n")
        chat.until("- sums are asked about")
        chat.type("count on your fingers\n")
        chat.until("with the words: count on your fingers")
        chat.type("\x04")
        chat.end()


async def test_what_was_typed_before_a_question_is_no_answer_to_it(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    with claw.terminal("run", "calculate 6 * 7") as terminal:
        terminal.type("y\n")
        terminal.until("[n] no")
        terminal.type("n\n")
        assert terminal.end() == 1, "the offline helper's step was not done"
        assert "42" not in [line.strip() for line in terminal.seen.splitlines()], "no line is the result; the question's id may hold these digits"


async def test_ctrl_c_stops_a_run_and_leaves_a_record(claw: Claw) -> None:
    with claw.terminal("run", "run sleep 60", "--approvals", "auto", "--session", "c") as terminal:
        terminal.until("> terminal")
        terminal.type("\x03")
        terminal.until("Cancelled")
        assert terminal.end() == 130


async def test_the_chat_of_lines_talks_asks_stops_and_says_how_to_come_back(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    with claw.terminal("--approvals", "ask", env={"TERM": "dumb"}) as chat:
        chat.until("> ")
        chat.type("echo hello there\n")
        chat.until("\nhello there")
        chat.until("> ")
        chat.type("calculate 6 * 7\n")
        chat.until("[n] no")
        chat.type("y\n")
        chat.until("42")
        chat.until("> ")
        chat.type("/nothing\n")
        chat.until("/help")
        chat.until("> ")
        chat.type("/tools\n")
        chat.until("calculate")
        chat.until("> ")
        chat.type("\x03")
        chat.until("Nothing runs")
        chat.type("\x04")
        chat.until("neuralclaw --resume ")
        assert chat.end() == 0
        assert "\x1b" not in chat.seen


async def test_at_a_dumb_terminal_a_call_is_unlike_the_prompt_and_nothing_goes_on_behind_it(claw: Claw) -> None:
    with claw.terminal("--approvals", "auto", env={"TERM": "dumb"}) as chat:
        chat.until("\n> ")
        chat.type("echo one\necho two\n")
        chat.until("\ntwo")
        chat.until("\n> ")
        chat.type("\x04")
        chat.until("Resume with")
        assert chat.end() == 0
        lines = chat.seen.splitlines()
        assert any(line.startswith("  > echo") for line in lines), lines
        assert not [line for line in lines if line.startswith(("> Go on", "> >", "> echo {", "> two"))], lines


async def test_ones_own_no_is_told_as_ones_own(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    with claw.terminal("--approvals", "ask", env={"TERM": "dumb"}) as chat:
        chat.until("> ")
        chat.type("calculate 6 * 7\n")
        chat.until("[n] no")
        chat.type("n\n")
        chat.until("\n  not run: you said no\r")
        chat.until("\n> ")
        chat.type("calculate 6 * 8\n")
        chat.until("[n] no")
        chat.type("add them up\n")
        chat.until("\n  not run: you said no, with the words: add them up\r")
        assert "answered no by" not in chat.seen


async def test_ctrl_c_in_the_chat_of_lines_stops_the_turn_and_not_the_program(claw: Claw) -> None:
    with claw.terminal("--approvals", "auto", env={"TERM": "dumb"}) as chat:
        chat.until("> ")
        chat.type("run sleep 60\n")
        chat.until("> terminal")
        chat.type("\x03")
        chat.until("Cancelled")
        chat.type("calculate 6 * 7\n")
        chat.until("42")
        chat.type("/quit\n")
        assert chat.end() == 0
        assert "\x1b" not in chat.seen


async def test_no_escape_sequence_at_a_dumb_terminal_and_no_colour_with_no_color(claw: Claw) -> None:
    for env, escapes in (({"NO_COLOR": "1"}, {"\x1b[2m", "\x1b[0m"}), ({"TERM": "dumb"}, set())):
        with claw.terminal("run", "calculate 6 * 7 then read missing", env=env) as terminal:
            terminal.end()
            assert "42" in terminal.seen
            assert "failed: " in terminal.seen
            assert set(re.findall(r"\x1b\[?[0-9;]*.", terminal.seen)) == escapes


async def test_escape_sequences_from_outside_never_reach_a_terminal_raw(claw: Claw) -> None:
    (claw.workspace / "evil.txt").write_text("before\x1b[31mred\x1b]0;title\x07 \x9b2J \u202eafter\n")
    with claw.terminal("run", "read evil.txt", env={"TERM": "dumb"}) as terminal:
        assert terminal.end() == 0
        assert "before" in terminal.seen
        assert not set("\x1b\x07\x9b\u202e") & set(terminal.seen)
    piped = await claw("run", "read evil.txt")
    assert b"before\x1b[31mred" in piped.raw


async def test_over_a_pipe_each_line_of_the_chat_is_a_turn(claw: Claw) -> None:
    ran = await claw(stdin=b"calculate 6 * 7\n\ncalculate 2 + 2\n")
    assert ran.code == 0, ran
    assert ran.out.index("42") < ran.out.index("4", ran.out.index("42") + 2)
    [row] = (await claw("sessions", "list", "--json")).json
    assert row["turns"] == 2
