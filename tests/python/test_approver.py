"""A program's own approver: what it gets, how it may be written, and what its caller learns when it fails."""

import functools
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuralclaw import Ask, ErrorEvent, tool
from neuralclaw.errors import UsageError

from ..agent.kit import agent, call, calls, events

pytestmark = pytest.mark.anyio
DELETE = calls(call("delete_file", path="a"))
HERE = r"\(\S+test_approver\.py:\d+\)"
"""Where an approver of this file failed."""


@pytest.fixture
def victim(home: Path) -> Path:
    file = home.parent / "work" / "a"
    file.parent.mkdir()
    file.write_text("x")
    return file


async def test_an_approver_gets_the_call_what_it_would_do_the_reasons_and_the_sources(home: Path, victim: Path) -> None:
    seen: list[Ask] = []

    async def approver(question: Ask) -> Any:
        seen.append(question)
        return "once"

    async with agent(home, DELETE, "gone", approver=approver) as a:
        assert (await a.ask("go", session="s")).status == "done"
    (question,) = seen
    assert (question.session, question.call.name, question.call.arguments) == ("s", "delete_file", {"path": "a"})
    assert (question.action.tool, "a" in question.action.show) == ("delete_file", True)
    assert question.reasons
    assert question.sources == ()
    assert not victim.exists()


async def test_an_approver_that_raises_means_no_and_the_caller_learns_how_it_failed(home: Path, victim: Path) -> None:
    async def approver(question: Ask) -> Any:
        raise ValueError("boom")

    async with agent(home, DELETE, "kept", approver=approver) as a:
        seen = await events(a, session="s")
        shown = await a.do("sessions.show", session="s")
    end = seen.one("turn.finished")
    assert victim.exists()
    assert end.status == "needs_approval"
    assert [bool(re.match(rf"the approver failed: ValueError: boom {HERE}; it deletes", one.reason)) for one in end.refused] == [True]
    assert "the approver failed: ValueError: boom" in seen.one("tool.finished").content
    assert "no one can be asked" not in seen.one("tool.finished").content
    error = seen.one("error")
    assert isinstance(error.body, ErrorEvent)
    assert (error.kind, error.recoverable) == ("ValueError", True)
    assert re.fullmatch(f"the approver failed: ValueError: boom {HERE}", error.text)
    assert [event["text"] for event in shown["events"] if event["type"] == "error"] == [error.text]


async def test_an_approver_that_wants_to_end_the_program_means_no_and_the_program_goes_on(home: Path, victim: Path) -> None:
    async def approver(question: Ask) -> Any:
        raise SystemExit(3)

    async with agent(home, DELETE, "kept", approver=approver) as a:
        seen = await events(a, session="s")
    assert victim.exists()
    assert seen.one("turn.finished").status == "needs_approval"
    assert re.fullmatch(f"the approver failed: SystemExit: 3 {HERE}", seen.one("error").text)


async def test_what_an_approver_failed_with_is_kept_without_configured_secrets(home: Path, victim: Path) -> None:
    async def approver(question: Ask) -> Any:
        raise ConnectionError("refused the key sk-very-secret-0123456789 \ud800" + "x" * 2000)

    environ = {"PATH": "/usr/bin:/bin", "HOME": str(home.parent), "OPENAI_API_KEY": "sk-very-secret-0123456789"}
    async with agent(home, DELETE, "kept", approver=approver, environ=environ) as a:
        seen = await events(a, session="s")
    assert "sk-very-secret" not in str([event.to_dict() for event in seen.events])
    assert "refused the key [REDACTED:" in seen.one("error").text
    assert len(seen.one("error").text) < 600


async def test_an_approver_that_gives_no_answer_of_the_question_is_an_error_that_names_its_answers(home: Path, victim: Path) -> None:
    async def approver(question: Ask) -> Any:
        return True

    async with agent(home, DELETE, "kept", approver=approver) as a:
        seen = await events(a, session="s")
    assert victim.exists()
    assert seen.one("error").kind == "UsageError"
    assert "the approver gave True, which this question does not offer (once, session, no)" in seen.one("turn.finished").refused[0].reason


async def one_more(extra: int, question: Ask) -> Any:
    return "once"


class Approving:
    async def __call__(self, question: Ask) -> Any:
        return "once"


@pytest.mark.parametrize("approver", [lambda question: "once", lambda question: one_more(1, question), functools.partial(one_more, 1), Approving()])
async def test_a_plain_function_a_partial_and_an_object_are_approvers_too(home: Path, victim: Path, approver: Callable[..., Any]) -> None:
    async with agent(home, DELETE, "gone", approver=approver) as a:
        assert (await a.ask("go", session="s")).status == "done"
    assert not victim.exists()


async def test_a_plain_approver_runs_beside_the_event_loop_and_its_failure_is_told_as_well(home: Path, victim: Path) -> None:
    threads: list[threading.Thread] = []

    def approver(question: Ask) -> Any:
        threads.append(threading.current_thread())
        raise KeyError("unheard of")

    async with agent(home, DELETE, "kept", approver=approver) as a:
        seen = await events(a, session="s")
    assert threads[0] is not threading.main_thread()
    assert re.fullmatch(f"the approver failed: KeyError: 'unheard of' {HERE}", seen.one("error").text)


def none() -> str:
    return "once"


async def three(question: Ask, second: int, third: int) -> Any:
    return "once"


@pytest.mark.parametrize("approver", [none, three, "once", 5, Approving])
async def test_what_cannot_be_asked_one_question_is_refused_when_the_agent_is_opened(home: Path, approver: object) -> None:
    with pytest.raises(UsageError, match="approver cannot be") as refused:
        async with agent(home, approver=approver):
            pass
    assert "an async function of one question" in refused.value.hint


@pytest.mark.parametrize("approvals", ["none", "auto", "park"])
async def test_an_approver_beside_a_way_that_never_asks_it_is_refused(home: Path, victim: Path, approvals: str) -> None:
    async def approver(question: Ask) -> Any:
        return "once"

    with pytest.raises(UsageError, match=rf"an approver is asked where approvals is 'ask', and it is '{approvals}'"):
        async with agent(home, approver=approver, approvals=approvals):
            pass
    async with agent(home, DELETE, "kept", approver=approver, approvals="ask") as a:
        assert (await a.ask("go", session="s", approvals="none")).status == "needs_approval"
    assert victim.exists()


async def test_a_tool_that_wants_confirmation_is_asked_about_and_what_an_external_one_said_is_a_source_of_the_next_question(home: Path) -> None:
    seen: list[Ask] = []

    @tool(risk="LOW", effect="idempotent", sinks=[], timeout=5, requires_confirmation=True, category="files", source="external")
    async def rename(path: str, to: str) -> str:
        "Rename a file inside the workspace."
        return f"{path} is {to} now"

    async def approver(question: Ask) -> Any:
        seen.append(question)
        return "once"

    both = [calls(call("rename", path="a", to=name)) for name in ("b", "c")]
    async with agent(home, *both, "done", approver=approver, tools=[rename]) as a:
        captured = await events(a, session="s")
        shown = await a.do("tools.show", name="rename")
    assert [question.call.arguments for question in seen] == [{"path": "a", "to": "b"}, {"path": "a", "to": "c"}]
    assert [question.sources for question in seen] == [(), ("external:tool/rename",)]
    assert seen[0].reasons == ("rename is configured to ask every time",)
    assert [event.to_dict()["content"] for event in captured.of("tool.finished")] == ["a is b now", "a is c now"]
    assert (shown["timeout"], shown["category"], shown["requires_confirmation"], shown["source"]) == (5, "files", True, "external")
