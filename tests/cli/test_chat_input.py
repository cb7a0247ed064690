"""Typing in the chat: history, completion, several lines, large pastes; and what a terminal does meanwhile: resize, small windows, tmux."""

import os
import shlex
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.waiting import until

from .emulator import ALT_ENTER, CTRL_C, CTRL_D, CTRL_J, CTRL_R, TAB, UP, Screen
from .model import served
from .program import PYTHON, Claw

pytestmark = pytest.mark.anyio

READY = "context 0 %"


def last(prompt: str) -> Callable[[Screen], bool]:
    """The input holds exactly this."""
    return lambda screen: prompt in [line for line in screen.text.splitlines() if line.startswith(">")][-1:]


async def test_what_was_typed_comes_back_in_this_chat_and_in_the_next(claw: Claw) -> None:
    with Screen(claw, "--model", "offline") as chat:
        chat.until(READY)
        for sum_ in ("2 + 2", "3 + 3"):
            chat.type(f"calculate {sum_}\r")
            chat.until(f"✓ calculate  {sum_}", lambda screen: "running" not in screen.text)
        chat.type(UP)
        chat.until(last("> calculate 3 + 3"))
        chat.type(CTRL_D)
        chat.type(CTRL_C + CTRL_D)
        assert chat.end() == 0
    file = claw.home / "chat_history"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with Screen(claw, "--model", "offline") as chat:
        chat.until(READY)
        chat.type(UP + UP)
        chat.until(last("> calculate 2 + 2"))
        chat.type(CTRL_C)
        chat.until(last(">"))
        chat.type(CTRL_R + "3 +")
        chat.until(last("> calculate 3 + 3"))
        chat.type("\r")
        chat.type("\r")
        chat.until("✓ calculate  3 + 3")


async def test_a_secret_that_was_typed_stands_in_no_file(claw: Claw) -> None:
    claw.env["OPENAI_API_KEY"] = "correct-horse-battery-staple-77"
    with Screen(claw, "--model", "offline") as chat:
        chat.until(READY)
        chat.type("echo correct-horse-battery-staple-77\r")
        chat.until("[REDACTED:OPENAI_API_KEY]")
        chat.type(CTRL_D)
        assert chat.end() == 0
    assert (claw.home / "chat_history").read_text() == '"echo [REDACTED:OPENAI_API_KEY]"\n'


async def test_commands_and_what_they_take_and_files_of_the_workspace_are_completed(claw: Claw) -> None:
    (claw.workspace / "deep").mkdir()
    (claw.workspace / "deep" / "report one.md").write_text("milk\n")
    (claw.workspace / ".git").mkdir()
    (claw.workspace / ".git" / "report").write_text("")
    (claw.workspace / ".report").write_text("")
    with Screen(claw, "--model", "offline", "--session", "spring") as chat:
        chat.until(READY)
        chat.type("/tru")
        chat.until("how much runs without asking")
        chat.type(TAB)
        chat.until(last("> /trust"))
        chat.type(" me" + TAB)
        chat.until(last("> /trust medium"))
        chat.type("\r")
        chat.type("\r")
        chat.until("trust medium from the next message on")
        chat.type("calculate 2 + 2\r")
        chat.until("✓ calculate")
        chat.type("/resume sp")
        chat.until("calculate 2 + 2")
        chat.type(TAB)
        chat.until(last("> /resume spring"))
        chat.type(CTRL_C)
        chat.type("/models ")
        chat.until("One model: window", "list")
        chat.type("sh" + TAB)
        chat.until(last("> /models show"))
        chat.type(" offline --us" + TAB)
        chat.until(last("> /models show offline --usable"))
        chat.type(CTRL_C)
        chat.type("read @repo")
        shown = chat.until("deep/report one.md", ".report")
        assert shown.index("deep/report") < shown.rindex(".report")
        assert ".git/" not in shown
        chat.type(TAB)
        chat.until(last("> read 'deep/report one.md'"))


async def test_several_lines_are_one_message(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type(f"one{CTRL_J}two{ALT_ENTER}three")
        chat.until("> one\n  two\n  three")
        chat.type("\r")
        assert r"one\ntwo\nthree" in model.asked()
        model.done()


async def test_ten_thousand_pasted_lines_are_folded_and_sent_whole(claw: Claw) -> None:
    lines = "\n".join(f"{number} of many lines, each of them with quite some text on it" for number in range(10_000))
    with served(claw.home) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("look: ")
        chat.type(f"\x1b[200~{lines}\x1b[201~")
        chat.until(last("> look: [pasted 10,000 lines]"))
        chat.type(" what is it?\r")
        asked = model.asked()
        assert "\\n".join(lines.split("\n")) in asked
        assert " what is it?" in asked
        model.say("Lines.")
        model.done()
        chat.until("Lines.")
        assert "5000 of many" not in chat.all


async def test_what_a_model_sends_is_shown_and_never_obeyed(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("be evil\r")
        model.asked()
        before = len(chat.raw)
        model.say("a\x1b]0;EV", "IL\x07b \x1b[2J\x1b[31", "mred \x9b2J \u202eback \x1b]52;c;aGk=\x07", " \r gone\n\n`\x1b[5m`\n\n```\n\x1b[?1049h\n```\n")
        model.done()
        chat.until(r"\x1b]0;EVIL\x07b", r"\x1b[2J", r"\u202eback", r"\x9b2J", "context 10 %")
        came = chat.raw[before:]
        assert chat.title == ""
        for bad in (b"\x1b]", b"\x07", b"\x1b[2J", b"\x1b[31m", b"\x1b[5m", b"\x1b[?1049h", "\u202e".encode(), "\x9b".encode()):
            assert bad not in came


async def test_wide_characters_keep_their_place(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw, columns=30) as chat:
        chat.until(READY)
        chat.type("日本語")
        chat.until(lambda screen: "日" in screen.text and "語" in screen.text)
        chat.type("\r")
        assert "日本語" in model.asked()
        model.say("東京は日本の首都です。" * 4)
        chat.until(lambda screen: screen.text.replace(" ", "").replace("\n", "").count("首都") == 4)
        model.done()
        chat.until("context 10 %", lambda screen: screen.text.replace(" ", "").replace("\n", "").count("首都") == 4)


async def test_a_resize_while_an_answer_streams_loses_nothing(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("go\r")
        model.asked()
        for number, (columns, rows) in enumerate([(60, 20), (100, 30), (40, 10), (120, 40)]):
            model.say(f"Paragraph {number} has a few words. ", f"It ends with end{number}.\n\n")
            chat.until(f"end{number}")
            chat.resize(columns, rows)
        model.done()
        chat.until("context 10 %")
        chat.type("still here")
        chat.until(last("> still here"), "end3")
        assert chat.text.count("mine:big") == 1


async def test_a_tiny_window_is_enough(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw, columns=20, rows=5) as chat:
        chat.until("0 %")
        chat.type("go\r")
        model.asked()
        model.say("- one\n- two\n- three\n- four\n- five\n\nand a paragraph that is wider than the window is")
        chat.until("window is")
        model.say(" at all.")
        model.done()
        chat.until("at all.", "10 %", last(">"))
        assert "too small" not in chat.all


@contextmanager
def tmux(claw: Claw, *words: str) -> Iterator[Callable[..., str]]:
    """The program in a shell in tmux: a function that runs a tmux command and gives what it prints."""
    socket = str(claw.home.parent / "tmux.socket")

    def run(*command: str) -> str:
        done = subprocess.run(["tmux", "-S", socket, "-f", os.devnull, *command], capture_output=True, text=True, check=True, env=claw.env)
        return done.stdout

    run("new-session", "-d", "-x", "80", "-y", "24", "-c", str(claw.workspace), "bash --norc -i")
    run("send-keys", "-l", shlex.join([*PYTHON, *words]))
    run("send-keys", "Enter")
    try:
        yield run
    finally:
        run("kill-server")


@pytest.mark.full
async def test_in_tmux_it_streams_pastes_suspends_and_comes_back(claw: Claw) -> None:
    paste = claw.workspace / "paste.txt"
    paste.write_text("\n".join(f"row {number}" for number in range(500)))
    with served(claw.home) as model, tmux(claw) as run:

        def shows(*wanted: str) -> Callable[[], bool]:
            return lambda: all(one in run("capture-pane", "-p", "-S", "-") for one in wanted)

        await until(shows(READY), seconds=20)
        run("send-keys", "-l", "tell me")
        run("send-keys", "Enter")
        model.asked()
        model.say("The **Rhine** is")
        await until(shows("The Rhine is", "running"), seconds=20)
        run("resize-window", "-x", "100", "-y", "30")
        model.say(" long.")
        model.done()
        await until(shows("The Rhine is long.", "context 10 %"), seconds=20)
        assert run("capture-pane", "-p", "-S", "-").count("Rhine") == 1
        run("load-buffer", str(paste))
        run("paste-buffer", "-p")
        await until(shows("[pasted 500 lines]"), seconds=20)
        run("send-keys", "C-c")
        run("send-keys", "C-z")
        await until(shows("Stopped"), seconds=20)
        run("send-keys", "-l", "fg")
        run("send-keys", "Enter")
        run("send-keys", "-l", "back again")
        await until(shows("> back again"), seconds=20)
        run("send-keys", "C-c")
        run("send-keys", "C-d")
        await until(shows("neuralclaw --resume "), seconds=20)


async def test_no_prompt_is_drawn_where_the_output_is_no_terminal(claw: Claw) -> None:
    file = claw.workspace / "out.txt"
    words = shlex.join([sys.executable, *PYTHON[1:], "--model", "offline"])
    with claw.terminal(env={"NO_COLOR": ""}) as chat:
        chat.until("Enter sends")
        chat.type(CTRL_D)
        assert chat.end() == 0
    subprocess.run(["sh", "-c", f"echo 'calculate 6 * 7' | {words} > {shlex.quote(str(file))}"], cwd=claw.workspace, env=claw.env, check=True)
    assert Path(file).read_text() == "42\n"


async def test_what_is_folded_is_shown_on_a_screen_of_its_own_and_the_conversation_comes_back(claw: Claw) -> None:
    (claw.workspace / "rows.txt").write_text("\n".join(f"row-{number}" for number in range(1, 61)) + "\n")
    with served(claw.home) as model, tmux(claw, "--approvals", "ask", "--trust", "medium") as run:

        def shows(*wanted: str) -> Callable[[], bool]:
            return lambda: all(one in run("capture-pane", "-p") for one in wanted)

        await until(shows(READY), seconds=5)
        run("send-keys", "C-o")
        await until(shows("Nothing of the last turn is folded."), seconds=5)
        run("send-keys", "-l", "show them")
        run("send-keys", "Enter")
        model.call("terminal", command="cat rows.txt")
        model.asked()
        model.asked()
        await until(shows("✓ terminal", "more lines", "running"), seconds=5)
        run("send-keys", "-l", "a draft")
        run("send-keys", "C-o")
        await until(shows("row-2\n", "lines 1 to 23 of ", "Esc or q closes"), seconds=5)
        run("send-keys", "x", "PageDown", "End")
        await until(shows("row-60\n"), seconds=5)
        run("resize-window", "-x", "60", "-y", "12")
        await until(shows("· Esc closes"), seconds=5)
        run("send-keys", "End")
        await until(shows("row-60\n", "Esc closes"), seconds=5)
        model.say("Those are ", "all.\n\n")
        run("send-keys", "C-o")
        await until(shows("Those are all.", "> a draft", "running", "more lines"), seconds=5)
        assert "row-30" not in run("capture-pane", "-p", "-S", "-")
        run("send-keys", "C-o")
        await until(shows("row-2\n", "Esc closes"), seconds=5)
        model.call("terminal", command="rm -r rows.txt")  # a question needs the person
        await until(shows("[n] no", "a question waits"), seconds=5)
        run("send-keys", "n", "Enter")
        model.say("Well then.")
        model.done()
        await until(shows("Well then.", "> a draft", "context"), seconds=5)
        assert run("capture-pane", "-p", "-S", "-").count("Those are all.") == 1
        run("send-keys", "C-o")
        await until(shows("row-2\n"), seconds=5)
        run("send-keys", "C-c")
        await until(shows("> a draft"), seconds=5)
        run("send-keys", "C-u", "C-d")
        await until(shows("neuralclaw --resume "), seconds=5)
