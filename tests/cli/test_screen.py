"""What a person reads of events and errors, on screens of different kinds."""

import io
import os
import pty
import select
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import msgspec
import pytest

from neuralclaw.channels.line_reader import LineReader
from neuralclaw.channels.question_prompts import QuestionPrompts, TypedAnswer, outcome
from neuralclaw.channels.screen import Screen, exact, spoken
from neuralclaw.channels.terminal_view import TerminalView
from neuralclaw.types.entries import Event
from neuralclaw.types.events import (
    AnyBody,
    ApprovalRequested,
    ApprovalResolved,
    ErrorEvent,
    ErrorInfo,
    LimitHit,
    Message,
    RetryEvent,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from neuralclaw.types.messages import ToolCall, Usage
from neuralclaw.types.questions import Covers, Shown
from neuralclaw.types.risk import Decision, Risk, Tier

pytestmark = pytest.mark.anyio


def event(body: AnyBody) -> Event:
    return Event(body=body, session="s", turn=1, seq=1, time="2026-01-01T00:00:00.000Z")


def stream(encoding: str = "utf-8") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding)


def written(wrapper: io.TextIOWrapper) -> str:
    wrapper.flush()
    assert isinstance(wrapper.buffer, io.BytesIO)
    return wrapper.buffer.getvalue().decode(wrapper.encoding)


@contextmanager
def terminal() -> Iterator[tuple[io.TextIOWrapper, int]]:
    """A stream to a terminal, and the descriptor that its screen is read from."""
    screen, side = pty.openpty()
    with os.fdopen(side, "w", encoding="utf-8") as out:
        yield out, screen
    os.close(screen)


def test_errors_begin_with_their_sign_and_words() -> None:
    for kind, line in {
        "PermissionDeniedError": "🚫 Security: no",
        "ToolTimeoutError": "⏰ Tool timed out: no",
        "LLMRateLimitError": "🤖 LLM error: no",
        "MCPConnectionError": "🔌 MCP connection error: no",
        "KeyError": "❌ Unexpected error: KeyError: no",
        "ConfigError": "❌ no",
    }.items():
        assert spoken(kind, "no", signs=True) == line
        assert spoken(kind, "no", signs=False) == line.split(" ", 1)[1]


def test_a_screen_that_cannot_show_signs_gets_words_and_never_crashes() -> None:
    err = stream("latin-1")
    screen = Screen(err)
    screen.trouble("SecurityError", "größer 数")
    assert written(err) == "Security: größer ?\n"


def test_over_a_pipe_the_answer_is_printed_once_and_nothing_else() -> None:
    out, err = stream(), stream()
    view = TerminalView(Screen(out), Screen(err), tools=False, verbose=False)
    for body in (
        TextDelta(text="par"),
        RetryEvent(attempt=1, wait_ms=2000, reason="429 too many requests", model="m", discard=True),
        ToolFinished(call_id="c", name="terminal", ok=False, content="", error="it writes outside", refused=Decision.FORBID),
        LimitHit(kind="iterations", text="Stopped at 10 model calls"),
        TurnFinished(status="limit", text="Stopped at 10 model calls"),
        TurnFinished(status="cancelled", text="Cancelled. So far: nothing."),
        ErrorEvent(kind="LLMAuthError", text="the key is refused", hint="set another"),
        TurnFinished(status="failed", text="", error=ErrorInfo("LLMAuthError", "the key is refused")),
        TurnFinished(status="denied", text="half \x1b[1mof it"),
    ):
        view.show(event(body))
    assert written(out) == "half \x1b[1mof it\n"
    assert written(err).splitlines() == [
        "🤖 LLM error: 429 too many requests. Retrying… (after attempt 1, in 2.0 s)",
        "🚫 Security: terminal: it writes outside",
        "Stopped at 10 model calls",
        "Cancelled. So far: nothing.",
        "🤖 LLM error: the key is refused",
        "   set another",
    ]


def lines_of(screen: int, count: int) -> list[str]:
    """The next `count` lines of a terminal; they may come in pieces."""
    shown = ""
    while shown.count("\n") < count and select.select([screen], [], [], 5)[0]:
        shown += os.read(screen, 4096).decode()
    return shown.replace("\r", "").splitlines()


def test_at_a_terminal_the_answer_streams_and_what_was_retried_is_void() -> None:
    with terminal() as (out, screen):
        view = TerminalView(Screen(out, plain=True), Screen(out, plain=True), tools=False, verbose=False)
        view.show(event(TextDelta(text="wro")))
        view.show(event(RetryEvent(attempt=1, wait_ms=10, reason="cut", model="m", discard=True)))
        view.show(event(TextDelta(text="rig")))
        view.show(event(TextDelta(text="ht\x1b]0;x\x07")))
        view.show(event(TurnFinished(status="done", text="right\x1b]0;x\x07")))
        shown = lines_of(screen, 4)
    assert shown == [
        "wro",
        "(the answer so far is void)",
        "🤖 LLM error: cut. Retrying… (after attempt 1, in 0.0 s)",
        "right\\x1b]0;x\\x07",
    ]


def test_a_call_is_shown_with_what_the_model_wrote_and_no_default() -> None:
    for written_by_model, line in {("path",): "> read_file a.txt", ("path", "offset"): "> read_file path=a.txt, offset=1"}.items():
        out, err = stream(), stream()
        view = TerminalView(Screen(out), Screen(err), tools=True, verbose=False)
        filled = {"path": "a.txt", "offset": 1}
        call = ToolCall("c", "read_file", {name: filled[name] for name in written_by_model})
        view.show(event(Message(text="", tool_calls=(call,), stop="tools", model="m", usage=Usage())))
        view.show(event(ToolStarted(call_id="c", name="read_file", arguments=filled, risk=Risk.LOW, tier=Tier.READ, effect="read")))
        assert written(err).strip() == line


def test_an_error_that_says_only_what_a_line_said_is_not_shown_again_and_its_words_decide_nothing() -> None:
    failed = ToolFinished(call_id="c", name="terminal", ok=False, content="ERROR: gone", error="gone")
    error = ErrorEvent(kind="ToolExecutionError", text="the model says `x` failed")
    for calls, shown in (((), True), (("c",), False), (("c", "d"), True)):
        out, err = stream(), stream()
        view = TerminalView(Screen(out), Screen(err), tools=True, verbose=False)
        view.show(event(failed))
        view.show(event(msgspec.structs.replace(error, failed_calls=calls)))
        assert ("the model says" in written(err)) is shown, calls


def test_a_no_of_the_person_at_the_screen_is_told_as_theirs_by_who_said_it() -> None:
    error = "not run: a person said no to it, with the words: the person said no before"
    no = ToolFinished(call_id="c", name="terminal", ok=False, content=f"ERROR: {error}", error=error)
    theirs = msgspec.structs.replace(no, metadata={"no_by": "owner", "no_text": "the person said no before"})
    assert outcome(theirs) == "not run: you said no, with the words: the person said no before"
    assert outcome(msgspec.structs.replace(no, metadata={"no_by": "owner"})) == "not run: you said no"
    assert outcome(msgspec.structs.replace(no, metadata={"no_by": "telegram"})) == error


def question(number: int, show: str = "rm x") -> ApprovalRequested:
    return ApprovalRequested(
        approval_id=f"q{number}",
        call_id="c",
        action=Shown("terminal", show, "-old\n+new", cwd="/w", variables={"LANG": "C"}),
        risk=Risk.HIGH,
        tier=Tier.EXECUTE,
        summary="rm x: deletes 1 file",
        reasons=("it deletes",),
        covers=Covers("rm x, in /w: in this session only"),
        choices=("once", "session", "no"),
        expires="2026-01-08T00:00:00Z",
        hash="0",
        scopes=({"kind": "program", "value": "rm", "tool": "terminal"},),
    )


def test_questions_are_asked_one_at_a_time_with_the_exact_command_and_change() -> None:
    err = stream()
    questions = QuestionPrompts(Screen(err))
    questions.add(question(1, "rm \u202etxt.x \u200b"))
    questions.add(question(2, "rm second"))
    first = written(err)
    assert "rm \\u202etxt.x \\u200b" in first
    assert "-old" in first
    for told in ("rm x: deletes 1 file (question q1)", "terminal in /w, risk HIGH", "added variables: LANG=C", "[s] covers rm x, in /w: in this session only"):
        assert told in first
    assert "it deletes" not in first, "the reasons stand behind a key"
    assert "[a]" not in first
    assert "second" not in first
    assert questions.read("?") is None
    assert "it deletes" in written(err)
    assert questions.read(" Y ") == TypedAnswer("once")
    assert questions.drop("q1")
    assert "rm second" in written(err)
    assert not questions.drop("q1")


def test_what_is_typed_at_a_question_is_a_key_or_a_no_with_these_words() -> None:
    err = stream()
    questions = QuestionPrompts(Screen(err))
    questions.add(question(1))
    for word, decision in (("y", "once"), ("yes", "once"), ("once", "once"), ("S", "session"), ("session", "session"), ("n", "no"), ("No", "no"), ("", "no")):
        assert questions.read(word) == TypedAnswer(decision), word
    for text in ("no, move it to the trash", "x", "y but only the first"):
        assert questions.read(f" {text} ") == TypedAnswer("no", text)
    for word in ("a", "always"):
        assert questions.read(word) is None, "a key that is not offered is no text"
    assert "does not offer [a] always" in written(err)


def test_a_question_that_is_answered_elsewhere_leaves_the_screen_and_says_who_answered() -> None:
    err = stream()
    questions = QuestionPrompts(Screen(err))
    questions.add(question(1))
    questions.add(question(2, "rm second"))
    assert questions.resolved(ApprovalResolved(approval_id="q1", decision="no", by="owner", text="keep it"))
    assert "answered from another terminal: no, with the words: keep it" in written(err)
    assert questions.current == question(2, "rm second")
    questions.mine.add("q2")
    assert questions.resolved(ApprovalResolved(approval_id="q2", decision="once", by="owner"))
    assert written(err).count("another terminal") == 1


def test_what_a_person_agrees_to_has_no_hidden_characters() -> None:
    assert exact("a\x1bb\u2066c\ufeffd\U000e0041e\tf") == "a\\x1bb\\u2066c\\ufeffd\\U000e0041e\\tf"


async def test_lines_arrive_whole_and_none_is_lost_when_a_wait_is_given_up() -> None:
    reading, writing = os.pipe()
    lines = LineReader(reading)
    os.write(writing, b"half")
    with anyio.move_on_after(0.01) as given_up:
        await lines.next()
    assert given_up.cancelled_caught
    os.write(writing, b" done\r\nsecond\nlast")
    os.close(writing)
    assert [await lines.next() for _ in range(4)] == ["half done", "second", "last", None]
    os.close(reading)


async def test_lines_come_from_a_file_too(tmp_path: os.PathLike[str]) -> None:
    with open(os.path.join(tmp_path, "in"), "w+b") as file:  # noqa: PTH118, PTH123
        file.write(b"one\ntwo\n")
        file.seek(0)
        lines = LineReader(file.fileno())
        assert [await lines.next() for _ in range(3)] == ["one", "two", None]
