"""Commands of the chat at a real terminal, what its first line tells, its history, and terminals without colour or with nothing."""

import json
import os
import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from .emulator import CTRL_C, CTRL_D, UP, Screen
from .model import served
from .program import Claw
from .services import Services
from .test_chat import CONFIRM, READY, idle

pytestmark = pytest.mark.anyio

PROMISED = (
    "help new sessions resume fork model soul personality mode trust tools mcp memory cost compact plan approve deny undo diff tasks schedule"
    " queue stop status models clear export exit quit"
).split()
LATER = "soul personality mode mcp memory plan tasks schedule".split()


def last(text: str) -> object:
    return lambda screen: any(line == text for line in screen.text.splitlines()[-3:])


async def test_the_first_line_tells_workspace_trust_and_sandbox_and_warns_where_there_is_none(claw: Claw) -> None:
    with served(claw.home, "tools:\n  terminal:\n    sandbox: process\n"), Screen(claw, "--trust", "medium", columns=120) as chat:
        head = " ".join(chat.until(READY, "where bubblewrap or Landlock").split())
        assert f"workspace {claw.workspace} · trust medium · commands without a sandbox" in head
        assert "Commands run without confinement here: they can read all your files and use the network." in head


async def test_without_bubblewrap_the_first_line_tells_of_landlock_and_warns_of_nothing(claw: Claw) -> None:
    (claw.workspace / "bin").mkdir()
    claw.env["PATH"] = str(claw.workspace / "bin")  # no bwrap there
    with served(claw.home), Screen(claw, "--trust", "medium", columns=160) as chat:
        head = " ".join(chat.until(READY, "commands in landlock").split())
        assert f"workspace {claw.workspace} · trust medium · commands in landlock" in head
        assert "without confinement" not in head


async def test_status_tells_how_things_stand(claw: Claw) -> None:
    with served(claw.home) as model, Screen(claw, "--session", "trip", "--approvals", "ask", columns=100, rows=40) as chat:
        chat.until(READY)
        chat.type("/status\r")
        chat.until("session    trip", "turns      0", "model      mine:big", str(claw.workspace)[-20:], "trust      low", "approvals  ask", "sandbox    ")
        chat.type("to Rome\r")
        model.asked()
        model.done()
        chat.until("context 10 %", idle)
        chat.type("/trust high\r")
        chat.until("trust high from")
        chat.type("/clear\r")
        chat.until(lambda screen: "to Rome" not in screen.text, "context 10 %")
        chat.type("/status\r")
        chat.until("session    trip: to Rome", "turns      1", "13,000 tokens in", "trust      high")
        assert "instructions" not in chat.text
        chat.type("/exit\r")
        assert chat.end() == 0


async def test_every_promised_command_is_there_or_says_that_it_is_not_yet_and_help_lists_only_what_is(claw: Claw) -> None:
    lines = "".join(f"/{name}\n" for name in LATER) + "/help\n/exit\n"
    ran = await claw(stdin=lines.encode())
    assert ran.code == 0, ran
    for name in LATER:
        assert f"/{name} is not available yet" in ran.err
    listed = set(re.findall(r"^  /(\w+)", ran.err, re.MULTILINE))
    assert listed == {*PROMISED, "approvals", "grants", "audit", "redo", "secrets", "hooks"} - set(LATER)
    assert "Ctrl-O" not in ran.err  # no keys over a pipe
    with served(claw.home), Screen(claw, rows=50) as chat:
        chat.until(READY)
        chat.type("/help\r")
        chat.until("Keys", "Ctrl-O", "Esc, Ctrl-C")


async def test_models_are_listed_and_switched(claw: Claw) -> None:
    with served(claw.home), Screen(claw) as chat:
        chat.until(READY)
        chat.type("/models\r")
        chat.until("* mine:big", "131,072 tokens", "/model P:M changes the model")
        chat.type("/model offline\r")
        chat.until("model offline:grammar from the next message on")


async def test_help_and_tables_are_as_wide_as_the_terminal_and_break_between_words(claw: Claw) -> None:
    words: dict[int, set[str]] = {}
    for columns in (44, 150):
        with served(claw.home), Screen(claw, columns=columns, rows=200) as chat:
            chat.until("context")
            chat.type("/tools\r")
            chat.until("about_me", "calculate", "write_file")
            chat.type("/help\r")
            shown = chat.until("/queue", "Ctrl-R", "read_file", "context")
            words[columns] = {word for word in re.findall(r"[a-z]+", shown) if word not in str(claw.workspace)}
            assert ("send it when the running turn has ended" in shown) == (columns == 150)
    assert words[44] <= words[150]


async def test_answers_to_questions_are_no_history(claw: Claw) -> None:
    with served(claw.home, CONFIRM) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("write it down\r")
        model.call("write_file", path="list.txt", content="milk\n")
        chat.until("[n] no")
        chat.type("n\r")
        model.say("Not written.")
        model.done()
        chat.until("Not written.", idle)
        chat.type(UP)
        chat.until(last("> write it down"))
        chat.type(CTRL_C)
        chat.type("/cost\r")
        chat.until("this session")
        chat.type(CTRL_D)
        assert chat.end() == 0
    typed = [json.loads(line) for line in (claw.home / "chat_history").read_text().splitlines()]
    assert typed == ["write it down", "/cost"]


COLOUR = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-9]|4[0-9]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")


async def test_no_color_takes_away_colour_and_nothing_else(claw: Claw) -> None:
    claw.env["NO_COLOR"] = "1"
    with served(claw.home) as model, Screen(claw) as chat:
        chat.until(READY)
        chat.type("/tr")
        chat.until("how much runs without asking")  # the editor completes
        chat.type(CTRL_C)
        chat.type("go\r")
        model.asked()
        model.say("Some **strong** `code` here.\n")
        model.call("read_file", path="missing")
        model.asked()
        model.say("# Title\n\n> quoted\n\n```python\nimport os\n```\n")
        model.done()
        chat.until("strong", "`code`", "✗ read_file", "Title", "import os", idle)
        assert not COLOUR.search(chat.raw), COLOUR.search(chat.raw)
        assert b"\x1b[1m" in chat.raw  # bold stays
        chat.type(CTRL_D)
        assert chat.end() == 0
    del claw.env["NO_COLOR"]
    with served(claw.home), Screen(claw) as chat:
        chat.until(READY)
        assert COLOUR.search(chat.raw)


async def test_a_dumb_terminal_gets_no_editor_and_no_escape_sequence(claw: Claw) -> None:
    with claw.terminal("--model", "offline", env={"TERM": "dumb"}) as chat:
        chat.until("trust low")
        chat.until("> ")
        chat.type("/clear\n")
        chat.until("this screen cannot be cleared")
        chat.type("calculate 6 * 7\n")
        chat.until("42")
        chat.type("/status\n")
        chat.until("sandbox")
        chat.type("/exit\n")
        assert chat.end() == 0
        assert "\x1b" not in chat.seen


async def test_a_home_that_cannot_be_written_shows_status_all_the_same(claw: Claw, tmp_path: Path) -> None:
    ran = await claw("--model", "offline", stdin=b"/status\n")
    assert ran.code == 0, ran
    assert "workspace" in ran.err
    assert os.path.realpath(claw.workspace) in ran.err


async def test_a_start_without_a_model_names_init_and_offers_it_once(claw: Claw) -> None:
    for answer in ("n\r", None):
        with Screen(claw, columns=120) as chat:
            shown = " ".join(chat.until("No language model is set up", "one up.", idle_offline).split())
            assert "neuralclaw init sets one up." in shown
            assert ("Set one up now?" in chat.all) == (answer is not None)
            if answer:
                chat.type(answer)
                chat.until(last(">"), lambda screen: "> n" in screen.text)
            chat.type("calculate 6 * 7\r")
            chat.until("✓ calculate", idle_offline)
            chat.type(CTRL_D)
            assert chat.end() == 0
    [row] = {row["turns"] for row in (await claw("sessions", "list", "--json")).json}
    assert row == 1
    assert '"n"' not in (claw.home / "chat_history").read_text()
    piped = await claw(stdin=b"y\ncalculate 6 * 7\n")
    assert "neuralclaw init sets one up" in piped.err
    assert "Set one up now" not in piped.err
    assert "42" in piped.out


def idle_offline(screen: Screen) -> bool:
    status = screen.text.rpartition("\n")[2]
    return "context" in status and "running" not in status


async def test_any_other_text_at_the_offer_is_the_first_message(claw: Claw) -> None:
    with Screen(claw) as chat:
        chat.until("Set one up now?")
        chat.type("calculate 6 * 7\r")
        chat.until("✓ calculate", "42")


async def test_a_yes_to_the_offer_sets_up_a_model_here_and_the_chat_goes_on_with_it(claw: Claw) -> None:
    with Services().running() as services:
        with Screen(claw, rows=40) as chat:
            chat.until("Set one up now?")
            chat.type("y\r")
            chat.until("Service [offline]:")
            chat.type(f"{services.url}/v1\r")
            chat.until("A name for it [own]:")
            chat.type("\r")
            chat.until("Key for own")
            chat.type("\r")
            chat.until("Model of own")
            chat.type("gpt-4o\r")
            chat.until("when this one is unavailable")
            chat.type("\r")
            chat.until("saved:", "own:gpt-4o · context")
            assert chat.all.count("Set one up now?") == 1
            chat.type("hello\r")
            chat.until("ready", idle_offline)
            chat.type(CTRL_D)
            assert chat.end() == 0


async def test_ctrl_c_in_the_set_up_comes_back_to_the_chat(claw: Claw) -> None:
    with Screen(claw, rows=40) as chat:
        chat.until("Set one up now?")
        chat.type("y\r")
        chat.until("Which")
        chat.type(CTRL_C)
        chat.until("nothing was changed", READY)
        chat.type("calculate 6 * 7\r")
        chat.until("✓ calculate", "42")
        assert "Nothing runs" not in chat.all


async def test_the_offer_is_made_at_a_dumb_terminal_too(claw: Claw) -> None:
    with claw.terminal(env={"TERM": "dumb"}) as chat:
        chat.until("Set one up now?")
        chat.until("> ")
        chat.type("y\n")
        chat.until("Service [offline]:")
        chat.type("\x04")
        chat.until("nothing was changed")
        chat.until("> ")
        chat.type("calculate 6 * 7\n")
        chat.until("42")
        chat.type("/exit\n")
        assert chat.end() == 0
        assert "\x1b" not in chat.seen


async def test_a_name_that_no_session_can_have_is_refused_at_once_and_the_chat_stays_in_its_session(claw: Claw) -> None:
    for name in ("a b", "home", "../x"):
        ran = await claw("--model", "offline", stdin=f"/new {name}\ncalculate 6 * 7\n".encode())
        assert f"{name!r} cannot be the name of a session" in ran.err, ran
        assert f"session {name}" not in ran.err
        assert "42" in ran.out


async def test_what_a_command_does_not_take_is_said_and_nothing_is_done(claw: Claw) -> None:
    for line in ("/exit now", "/clear now", "/status x", "/cost all", "/stop it", "/quit now"):
        ran = await claw("--model", "offline", stdin=f"{line}\ncalculate 6 * 7\n".encode())
        assert f"{line.split()[0]} takes no argument; nothing was done" in ran.err, ran
        assert "42" in ran.out
    ran = await claw("--model", "offline", stdin=b"/help queue\n/help /model\n/help nothing\n/foo\n/sesions\n")
    assert "/queue TEXT  send it when the running turn has ended" in ran.err
    assert "/model P:M  change the model" in ran.err
    assert "there is no /nothing" in ran.err
    assert "there is no /foo\n" in ran.err
    assert "there is no /sesions; did you mean '/sessions'?" in ran.err


async def test_the_commands_about_the_record_are_slash_commands_too(claw: Claw) -> None:
    assert (await claw("run", "calculate 6 * 7", "--session", "first")).code == 0
    assert (await claw("run", "run rm made.txt", "--session", "asks", "--approvals", "park")).code == 3
    [asked] = (await claw("approvals", "list", "--json")).json
    said = "/sessions\n/sessions list --unfinished\n/sessions show first\n/sessions x\n/sessions send first hello\n/approvals list\n"
    said += f"/approvals answer {asked['approval_id']} y\n/approvals list\n/grants list\n/audit verify\n/audit export --session first\n/help audit\n"
    ran = await claw("--model", "offline", stdin=said.encode())
    assert ran.code == 0, ran
    lines = [" ".join(line.split()) for line in ran.err.splitlines()]
    assert ran.err.count("calculate 6 * 7\n") > 2  # both lists, and the message of the session
    assert any(re.fullmatch(r"8 turn 1 \S+ turn.finished .*", line) for line in lines), ran
    assert {"❌ /sessions has no 'x'", "❌ /sessions has no 'send'", "no question waits", "no answer holds for a session or for ever"} <= set(lines)
    assert f"{asked['approval_id']} asks 1" in " ".join(lines)
    assert "answered; no process is running this session; continue with:" in lines
    assert any(line.startswith("whole: ") for line in lines)
    assert sum(line.startswith("{") and '"session":"first"' in line and line.endswith('"erased":false}') for line in lines) == 8, ran
    assert {"/audit VERB …", "/audit export The records as JSON lines."} <= set(lines)


async def test_the_verbs_about_models_are_slash_commands_too(claw: Claw) -> None:
    ran = await claw("--model", "offline", stdin=b"/models show offline --json\n/models list openai\n/models x\n/models\n/help models\n")
    assert '"model":"offline:grammar"' in ran.err
    assert "openai:gpt-" in ran.err
    assert "/models has no 'x'\n" in ran.err
    assert "/model P:M changes the model" in ran.err
    assert "/models [list|show|try]  the models there are" in ran.err
    assert "  /models try   " in ran.err
    assert "takes nothing" not in ran.err


async def test_sessions_are_listed_with_local_times_and_whole_words_on_a_narrow_terminal(claw: Claw) -> None:
    claw.env["TZ"] = "Asia/Tokyo"
    await claw("run", "--session", "work", "calculate 6 * 7")
    [row] = (await claw("sessions", "list", "--json")).json
    local = (datetime.fromisoformat(row["updated"]) + timedelta(hours=9)).strftime("%Y-%m-%d %H:%M")
    assert row["updated"].endswith("Z")
    assert f" {local} " in (await claw("sessions", "list")).out
    assert f"{local}\n" in (await claw("sessions", "show", "work")).out
    with Screen(claw, "--model", "offline", columns=40) as chat:
        chat.until("context 0 %")
        chat.type("/sessions\r")
        chat.until("SESSION", "STATE", "idle", "TITLE", "calculate 6 * 7")
        chat.resize(60, 24)
        chat.type("/sessions\r")
        chat.until("UPDATED", local)


async def test_tools_are_told_in_one_whole_sentence(claw: Claw) -> None:
    rows = (await claw("tools", "list", "--json")).json
    shown, chat = (await claw("tools", "list")).out, (await claw("--model", "offline", stdin=b"/tools\n")).err
    for row in rows:
        assert re.search(rf"(?m)^{row['name']} .*  [A-Z].*[.]$", shown), (row, shown)
        assert re.search(rf"(?m)^{row['name']} .*[.]$", chat), (row, chat)
    assert "Read a text file, or the text of a .docx (as Markdown) or .pdf (page by page).\n" in shown
