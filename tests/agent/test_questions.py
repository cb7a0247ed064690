"""Questions whose time ends, that are withdrawn, or that get an answer they do not offer."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw import lookups
from neuralclaw.errors import AlreadyAnswered, UnknownQuestion, UsageError
from neuralclaw.runtime.asker import JournalAsker
from neuralclaw.testing import FakeClock
from neuralclaw.types.entries import Draft, Entry
from neuralclaw.types.events import ApprovalRequested
from neuralclaw.types.questions import Question, Shown

from ..store import kit
from .kit import agent, call, calls, events

pytestmark = pytest.mark.anyio
DELETE = calls(call("delete_file", path="a"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a").write_text("x")
    return tmp_path / "home"


async def test_a_question_that_nobody_answers_in_time_is_a_no_by_expired(tmp_path: Path) -> None:
    clock = FakeClock()
    asked = ApprovalRequested(approval_id="Q1", action=Shown("x", "y"), expires="2027-01-15T08:05:00.000Z")
    async with kit.opened(tmp_path / "home") as store:
        await store.append("s", [kit.inbound(), Draft(1, asked)])

        def notify(entries: Any) -> None:
            asker.notice(entries)

        asker = JournalAsker(store, clock, notify)
        with anyio.fail_after(5):
            answer = await asker.ask("s", Question(approval_id="Q1", action=asked.action, expires=0.0), "ask")
        assert (answer.decision, answer.by) == ("no", "expired")
        assert clock.now() >= 1_800_000_300
        known = await lookups.question(store, "Q1")
        assert known is not None
        assert known.answer is not None
        assert known.answer.by == "expired"


async def test_an_approver_that_answers_what_is_not_offered_says_no_and_the_result_tells_why(home: Path) -> None:
    async def always(question: Any) -> str:
        return "always"

    async with agent(home, DELETE, "done", approver=always) as a:
        seen = await events(a, session="s")
    resolved = seen.one("approval.resolved")
    assert (resolved.decision, resolved.by) == ("no", "nobody")
    assert "does not offer (once, session, no)" in seen.one("tool.finished").content
    assert (home.parent / "work" / "a").exists()


async def parked(a: Any) -> Entry | Any:
    await events(a, session="s", approvals="park")
    [row] = await a.do("approvals.list")
    return row


async def test_an_answer_to_a_withdrawn_question_changes_nothing(home: Path) -> None:
    async with agent(home, DELETE, "done", "fine", who="owner") as a:
        row = await parked(a)
        await events(a, "something else", session="s")
        with pytest.raises(AlreadyAnswered):
            await a.answer(row["approval_id"], "once")
        shown = await a.do("approvals.show", approval_id=row["approval_id"])
    assert (shown["answer"]["decision"], shown["answer"]["by"]) == ("no", "withdrawn")
    assert (home.parent / "work" / "a").exists()


async def test_what_is_not_offered_is_a_usage_error_in_python_too(home: Path) -> None:
    async with agent(home, DELETE, "done") as a:
        row = await parked(a)
        for decision, more in (("always", {}), ("maybe", {}), ("once", {"text": "words"})):
            with pytest.raises(UsageError):
                await a.answer(row["approval_id"], decision, **more)
        with pytest.raises(UnknownQuestion):
            await a.answer("nosuchquest", "always")
        assert len(await a.do("approvals.list")) == 1
        told = await a.do("approvals.answer", approval_id=row["approval_id"], decision="no", text="keep it")
        assert told["decision"] == "no"
        assert (await a.do("approvals.show", approval_id=row["approval_id"]))["answer"]["by"] == "program"


async def test_a_grant_is_listed_and_revoked_from_python(home: Path) -> None:
    async def session(question: Any) -> str:
        return "session"

    (home.parent / "work" / "b").write_text("x")
    async with agent(home, DELETE, "one", calls(call("delete_file", path="b")), "two", approver=session) as a:
        await events(a, session="s")
        [grant] = await a.do("grants.list")
        assert grant["covers"].startswith("delete_file directly in ")
        with pytest.raises(UsageError, match="there is no grant -none-"):
            await a.do("grants.revoke", grant_id="-none-")
        assert await a.do("grants.revoke", grant_id=grant["grant_id"]) == grant
        assert await a.do("grants.list") == []
        seen = await events(a, session="s")
    assert len(seen.of("approval.requested")) == 1, "it asks again"
