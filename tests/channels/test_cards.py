"""Cards: what a person sees of a call, a question and the state of the chat, at any width, with nothing of it obeyed."""

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from neuralclaw.channels.cards import duration, question_card, status_line, tool_card
from neuralclaw.types.events import ApprovalRequested, ToolFinished, ToolStarted
from neuralclaw.types.questions import Covers, Shown
from neuralclaw.types.risk import Decision, Risk, Tier

SGR = re.compile(r"\x1b\[[0-9;]*m")
NASTY = st.lists(st.sampled_from(["\x1b[2J", "\x07", "\r", "\n", "\t", "日本", "👩‍👧", "\u202e", "\u2028", "\ud800", "word ", "x" * 30, "  "]), max_size=8).map(
    "".join
)


def started(name: str, **arguments: Any) -> ToolStarted:
    return ToolStarted(call_id="c", name=name, arguments=arguments, risk=Risk.LOW, tier=next(iter(Tier)), effect="pure")


def finished(*, ok: bool = True, content: str = "", **more: Any) -> ToolFinished:
    return ToolFinished(call_id="c", name="any", ok=ok, content=content, duration_ms=1_234, **more)


def question(show: str, diff: str | None = None, **more: Any) -> ApprovalRequested:
    return ApprovalRequested(
        approval_id="q1", call_id="c", action=Shown("terminal", show, diff), risk=Risk.HIGH, tier=list(Tier)[-1], expires="", hash="h", **more
    )


def card(start: ToolStarted, end: ToolFinished | None, width: int = 60, elapsed_ms: int | None = None) -> list[str]:
    return tool_card(start, end, width=width, colour=False, elapsed_ms=elapsed_ms).split("\n")


def test_a_running_call_shows_how_long_it_runs() -> None:
    assert card(started("terminal", command="npm test\nls", timeout=None), None, elapsed_ms=4_200) == ["○ terminal  npm test\\nls  4.2 s"]
    assert card(started("terminal", command="ls"), None) == ["○ terminal  ls"]


def test_a_command_shows_the_first_and_last_lines_of_its_output() -> None:
    about = {"exit_code": 0, "command": "seq", "stdout": "".join(f"{n}\n" for n in range(1, 31)), "stderr": ""}
    assert card(started("terminal", command="seq 30"), finished(metadata=about)) == [
        "✓ terminal  seq 30  1.2 s",
        *("  1", "  2", "  3", "  … 22 more lines", "  26", "  27", "  28", "  29", "  30"),
    ]


def test_a_failed_command_shows_its_exit_code_and_its_errors() -> None:
    about = {"exit_code": 2, "command": "x", "stdout": "out\n", "stderr": "boo\n"}
    assert card(started("terminal", command="x"), finished(ok=False, error="Exit code: 2", metadata=about)) == [
        "✗ terminal  x  1.2 s",
        "  out",
        "  boo",
        "  exit code 2",
    ]


def test_a_changed_file_shows_its_diff_in_colours() -> None:
    end = finished(metadata={"diff": "--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n x\n-old\n+new"})
    start = started("edit_file", path="a.py", old="old", new="new", all=False)
    assert card(start, end) == ["✓ edit_file  a.py  +1 -1  1.2 s", "  @@ -1,2 +1,2 @@", "   x", "  -old", "  +new"]
    assert "\x1b[31m-old\x1b[0m" in tool_card(start, end, width=60)
    assert "\x1b[32m+new\x1b[0m" in tool_card(start, end, width=60)


def test_a_long_diff_is_shortened_and_says_so() -> None:
    end = finished(metadata={"diff": "--- a\n+++ a\n@@ -0,0 +1,99 @@\n" + "\n".join("+x" for _ in range(99))})
    lines = card(started("write_file", path="a", content="x\n" * 99), end)
    assert len(lines) == 26
    assert lines[-1] == "  … 76 more lines"


def test_a_failure_and_a_refusal_say_why() -> None:
    assert card(started("web", url="http://a"), finished(ok=False, error="no route"))[1:] == ["  no route"]
    refused = finished(ok=False, refused=Decision.FORBID, error="it deletes the root directory")
    assert card(started("terminal", command="rm -rf /"), refused) == ["⊘ terminal  rm -rf /", "  not allowed: it deletes the root directory"]
    asked = finished(ok=False, refused=Decision.ASK, error="nobody answered")
    assert card(started("terminal", command="x"), asked)[1] == "  not approved: nobody answered"


def test_a_result_is_told_in_a_line() -> None:
    about = {"first": 1, "last": 12, "lines": 12, "whole": True}
    assert card(started("read_file", path="a"), finished(content="x", metadata=about))[1:] == ["  12 lines"]
    assert card(started("read_file", path="a"), finished(content="x", metadata={**about, "first": 3}))[1:] == ["  lines 3 to 12 of 12"]
    assert card(started("calculate", expression="1+1"), finished(content="2")) == ["✓ calculate  1+1  1.2 s", "  2"]
    assert card(started("find"), finished(content="a\nb\n\nc", truncated=True))[1:] == ["  a  (+2 lines)", "  shortened for the model"]
    assert card(started("find"), finished(content="a\nb\n\nc", truncated=True, note="[to see what was left out: read_result …]"))[1:] == [
        "  a  (+2 lines)",
        "  shortened for the model; read_result has the rest",
    ]


@pytest.mark.parametrize(("ms", "text"), [(0, "0 ms"), (999, "999 ms"), (1_000, "1.0 s"), (59_949, "59.9 s"), (59_950, "1 min 00 s"), (125_000, "2 min 05 s")])
def test_times_are_told_as_people_read_them(ms: int, text: str) -> None:
    assert duration(ms) == text


def test_a_question_shows_everything_it_is_about() -> None:
    asked = question(
        "git push\nrm a\u200bb",
        "--- a\n+++ a\n-x\n+y\n",
        reasons=("changes a remote", "not undone"),
        sources=("external:tool/news", "external:web", "external:web/example.org/a", "external:workspace"),
        summary="git push: uses the network",
        choices=("once", "session", "no"),
        covers=Covers("git push, in /w: in this session only"),
    )
    assert question_card(asked, width=70, colour=False).split("\n") == [
        "git push: uses the network (question q1)",
        "    git push",
        "    rm a\\u200bb",
        *("    --- a", "    +++ a", "    -x", "    +y"),
        "  terminal, risk HIGH",
        "  this session has read content from: the tool news, the web, the web",
        "  page example.org/a",
        "  [s] covers git push, in /w: in this session only",
        "  [y] once  [s] this session  [n] no  [?] why",
    ]


def test_the_instructions_of_the_workspace_are_no_source_to_be_told_at_a_question() -> None:
    card = question_card(question("x", sources=("external:workspace",)), width=70, colour=False)
    assert "has read" not in card
    assert "external" not in card


def test_a_question_offers_only_its_choices() -> None:
    assert question_card(question("x", choices=("once", "no")), width=70, colour=False).split("\n")[-1] == "  [y] once  [n] no"


@settings(deadline=None)
@given(NASTY, st.integers(20, 90))
def test_a_question_is_never_cut(text: str, width: int) -> None:
    command = f"<{text}>" + "y" * 300
    rows = question_card(question(command, "+" + "z" * 300), width=width, colour=False).split("\n")
    shown = "".join(row[4:] for row in rows if row.startswith(("    ", "  ↳ ")))
    for character in command:
        if character.isprintable() and character != " ":
            assert character in shown
    assert shown.count("y") >= 300
    assert shown.count("z") == 300


@settings(deadline=None)
@given(NASTY, st.integers(1, 90), st.booleans())
def test_no_card_is_too_wide_or_obeyed(text: str, width: int, colour: bool) -> None:
    about = {"exit_code": 1, "command": text, "stdout": text * 5, "stderr": text}
    shown = [
        tool_card(started(text or "x", command=text, other=text), None, width=width, colour=colour, elapsed_ms=3),
        tool_card(started("x", **{text or "a": text}), finished(content=text * 9, truncated=True), width=width, colour=colour),
        tool_card(started("x", path=text), finished(metadata={"diff": f"+{text}"}), width=width, colour=colour),
        tool_card(started("x", path=text), finished(ok=False, error=text, metadata={"kind": text}), width=width, colour=colour),
        tool_card(started("terminal", command=text), finished(ok=False, metadata=about), width=width, colour=colour),
        question_card(question(text, text, summary=text, reasons=(text,), sources=(text,), covers=Covers(text, text)), width=width, colour=colour),
        status_line(model=text, context_used=5, context_window=9, usd=0.1, waiting=text, width=width),
    ]
    for part in shown:
        bare = SGR.sub("", part) if colour else part
        bare.encode()
        assert not [c for c in bare if unicodedata.category(c) in ("Cc", "Cs", "Zl") and c != "\n"]
        if width >= 2:
            assert all(cell_len(line) <= width for line in bare.split("\n"))


def test_the_status_line_keeps_what_waits_longest() -> None:
    def line(width: int) -> str:
        return status_line(model="openai:gpt-5", context_used=23_456, context_window=128_000, usd=0.0042, waiting="1 question", width=width)

    assert line(80) == "openai:gpt-5 · context 18 % · $0.0042 · 1 question"
    assert line(45) == "gpt-5 · context 18 % · $0.0042 · 1 question"
    assert line(36) == "gpt-5 · 18 % · $0.0042 · 1 question"
    assert line(25) == "gpt-5 · 18 % · 1 question"
    assert line(20) == "gpt-5 · 1 question"
    assert line(10) == "1 question"
    assert status_line(model="m", context_used=1_500, context_window=0, usd=None, waiting="", width=80) == "m · context 1,500 tokens"
    assert status_line(model="m", context_used=0, context_window=10, usd=0.0, waiting="", width=80) == "m · context 0 % · $0.00"
