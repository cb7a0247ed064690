"""What the program says is so: who can answer, when a message is seen, which of two values was meant."""

import subprocess

import pytest

from neuralclaw.channels.value_text import money

from .program import Claw
from .test_readonly_home import readonly
from .test_run import ASK

pytestmark = pytest.mark.anyio

CALL = ("tools", "call", "calculate", '{"expression": "6 * 7"}', "--approvals", "ask")


async def test_a_message_to_a_turn_that_waits_for_an_answer_is_told_so(claw: Claw) -> None:
    claw.home.mkdir(exist_ok=True)
    (claw.home / "config.yaml").write_text(ASK)
    words = ("run", "calculate 6 * 7", "--session", "kd", "--approvals", "ask", "--output", "stream-json")
    with claw.started(*words, stdin=subprocess.PIPE) as run:
        question = run.until("approval.requested")["approval_id"]
        sent = await claw("sessions", "send", "kd", "and then")
        assert (sent.code, sent.out) == (0, ""), sent
        assert "waits for an answer" in sent.err
        assert f"neuralclaw approvals answer {question} once|" in sent.err
        assert "sees it next" not in sent.err
        await claw("approvals", "answer", question, "once")
        assert run.until("turn.finished")["turn"] == 1


@pytest.mark.parametrize("stdin", [b"", b"yes\n", None])
@pytest.mark.parametrize("words", [("run", "calculate 6 * 7", "--approvals", "ask"), CALL])
async def test_the_line_for_an_answer_is_told_only_where_somebody_can_answer(claw: Claw, words: tuple[str, ...], stdin: bytes | None) -> None:
    claw.home.mkdir(exist_ok=True)
    (claw.home / "config.yaml").write_text(ASK)
    ran = await claw(*words, stdin=stdin)
    assert ran.code == 3, ran
    assert "approvals answer" not in ran.err, ran
    with claw.started(*words) as nobody:  # /dev/null
        assert b"approvals answer" not in nobody.err.read()
    with claw.started(*words, stdin=subprocess.PIPE) as run:
        told = next(line for line in run.err if b"approvals answer" in line)
        await claw("approvals", "answer", told.decode().split("answer ")[-1].split()[0], "once")
        assert run.process.wait(10) == 0


@pytest.mark.parametrize(
    "words",
    [
        ("run", "-p", "hi", "-p", "ho"),
        ("run", "hi", "--model", "offline", "--model", "mine:x"),
        ("run", "hi", "--workspace", "/nope"),
        ("tools", "call", "echo", '{"text": "x"}', "--workspace", "/nope"),
        ("--workspace", "/nope"),
        ("sessions", "show", "--after", "1", "--after", "2"),
    ],
)
async def test_an_option_with_one_value_is_refused_twice_and_so_is_a_workspace_that_is_not_there(claw: Claw, words: tuple[str, ...]) -> None:
    ran = await claw(*words)
    assert (ran.code, ran.out) == (2, ""), ran
    assert ("is given twice" in ran.err) != ("/nope is not a directory" in ran.err)
    assert (await claw("sessions", "list", "--json")).json == []


async def test_a_question_that_a_new_message_withdrew_is_told_as_that(claw: Claw) -> None:
    claw.home.mkdir(exist_ok=True)
    (claw.home / "config.yaml").write_text(ASK)
    await claw("run", "calculate 6 * 7", "--session", "p", "--approvals", "park")
    with claw.terminal("run", "--session", "p", "calculate 1 + 1", "--approvals", "none") as run:
        run.until("not run: the question was withdrawn by a new message")
        run.end()
    assert "answered no by" not in run.seen
    assert "failed: not run" not in run.seen


async def test_a_setting_of_the_environment_that_is_out_of_range_is_told_the_range(claw: Claw) -> None:
    ran = await claw("config", "show", env={"NEURALCLAW_LLM__TEMPERATURE": "9"})
    assert ran.code == 78
    assert "llm.temperature: expected a number from 0 to 2, found the number 9" in ran.err
    assert "quotes" not in ran.err


async def test_a_configuration_that_cannot_be_written_is_named_with_the_reason(claw: Claw) -> None:
    claw.home.mkdir(exist_ok=True)
    (claw.home / "config.yaml").write_text(ASK)
    ran = readonly(claw, "config", "set", "llm.temperature", "0.3")
    assert ran.code == 78
    assert f"{claw.home}/config.yaml cannot be written: Read-only file system" in ran.err
    assert "Make room" not in ran.err
    assert ".new" not in ran.err


async def test_tools_and_verdicts_are_told_in_words(claw: Claw) -> None:
    judged = await claw("tools", "call", "terminal", '{"command": "rm foo"}', "--dry-run")
    assert (judged.code, judged.out.splitlines()[0]) == (3, "Asks first. Risk HIGH, tier read; it may delete and execute."), judged
    shown = await claw("tools", "show", "terminal")
    assert "  command (string, required): One command line" in shown.out
    assert "  timeout (number, optional, else 30): " in shown.out
    assert "input_schema" not in shown.out
    assert '["' not in shown.out


async def test_a_session_is_shown_in_words_and_rounded_money(claw: Claw) -> None:
    await claw("run", "calculate 6 * 7", "--session", "m")
    shown = await claw("sessions", "show", "m")
    assert "\nusd: 0\n" in shown.out
    assert "\nlabels: agent, " in shown.out, shown
    assert [money(usd) for usd in (0, 0.0, 0.00019499999999999997, 0.00001, 12.5)] == ["0", "0", "0.0002", "less than 0.0001", "12.5000"]


async def test_the_numbers_of_two_turns_rise_over_both(claw: Claw) -> None:
    messages = b'{"type": "message", "text": "calculate 1 + 1"}\n{"type": "message", "queue": true, "text": "calculate 2 + 2"}\n'
    ran = await claw("run", "--input", "stream-json", "--output", "json", stdin=messages)
    first, second = ran.lines
    assert (ran.code, first["text"], second["text"]) == (0, "2", "4"), ran
    assert 0 < first["seq"] < second["seq"]


async def test_a_call_that_waits_names_every_answer_that_its_question_takes(claw: Claw) -> None:
    ran = await claw("tools", "call", "terminal", '{"command": "touch a b; rm a"}', "--approvals", "park", "--session", "pk")
    told = next(line for line in ran.err.splitlines() if "approvals answer" in line).split()
    shown = await claw("approvals", "show", told[-2])
    assert f"answer with: neuralclaw approvals answer {told[-2]} {told[-1]}" in shown.out + shown.err
    assert "session" in told[-1]


async def test_what_the_record_is_asked_is_answered_as_it_is(claw: Claw) -> None:
    assert (await claw("run", "calculate 1+1", "--session", "s")).code == 0
    assert "nothing was recorded after record 99" in (await claw("audit", "show", "--after", "99")).err
    assert "nothing was recorded in session s after record 99" in (await claw("audit", "show", "--after", "99", "--session", "s")).err
    both = await claw("audit", "anchor", "--accept", "--check", "x")
    assert (both.code, "--accept and --check exclude each other" in both.err) == (2, True), both
    (claw.home / "neuralclaw.db").write_text("garbage")
    damaged = await claw("audit", "verify")
    assert (damaged.code, "then restore a backup" in damaged.err, "audit verify" in damaged.err) == (1, True, False), damaged


async def test_what_a_command_changed_is_a_sentence(claw: Claw) -> None:
    assert (await claw("run", "run touch new", "--session", "s", "--approvals", "auto")).code == 0
    assert "terminal: 1 path created" in (await claw("sessions", "show", "s")).out
