"""Claims of an answer: which sentences are some, and which calls back them."""

from pathlib import Path

import pytest

from neuralclaw.agent.claim_evidence import find_unbacked
from neuralclaw.agent.state import CallState
from neuralclaw.testing import Reply
from neuralclaw.types.claims import find_claims
from neuralclaw.types.events import ToolFinished, ToolStarted, TurnFinished
from neuralclaw.types.messages import ToolCall
from neuralclaw.types.risk import Effect, Risk, Tier
from neuralclaw.types.sentences import unbacked_sentence

from ..agent.kit import agent, call, calls, events

HERE = Path(__file__).parent


def corpus(name: str) -> list[tuple[set[str], str]]:
    """Answers with the kinds of what they claim."""
    lines = (line.partition("|") for line in (HERE / name).read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    return [(set() if kinds == "-" else set(kinds.split(",")), text.replace("\\n", "\n")) for kinds, _, text in lines]


def finished(name: str, /, *, ok: bool = True, risk: Risk = Risk.MEDIUM, exit_code: int | None = None, **arguments: str) -> CallState:
    started = ToolStarted(call_id="c", name=name, arguments=dict(arguments), risk=risk, tier=Tier.WRITE, effect=Effect.ONCE)
    end = ToolFinished(call_id="c", name=name, ok=ok, content="", metadata={} if exit_code is None else {"exit_code": exit_code})
    return CallState(call=ToolCall("c", name), questions=[], started=started, finished=end)


@pytest.mark.parametrize(("name", "precision", "recall"), [("corpus.txt", 0.98, 0.98), ("corpus_fresh.txt", 0.9, 0.8)])
def test_the_corpus_is_read_with_few_wrong_marks_and_few_missing_ones(name: str, precision: float, recall: float) -> None:
    answers = [(expected, {claim.kind for claim in find_claims(text)}) for expected, text in corpus(name)]
    right = sum(bool(expected & found) for expected, found in answers)
    wrong = sum(bool(found) and not expected for expected, found in answers)
    claiming = sum(bool(expected) for expected, _ in answers)
    assert min(claiming, len(answers) - claiming) >= 100
    assert right / (right + wrong) >= precision
    assert right / claiming >= recall


@pytest.mark.parametrize("said", ["The email was sent to Bob.", "Your meeting is booked for 3 pm.", "The changes were committed and pushed.", "- Removed rows"])
def test_a_sentence_that_may_be_a_report_is_a_claim_where_nothing_was_read(said: str) -> None:
    assert find_unbacked(said, [])
    assert not find_unbacked(said, [finished("read_file", path="log")])


@pytest.mark.parametrize(
    ("said", "done"),
    [
        ("I've saved the notes.", finished("write_file", path="a")),
        ("I've deleted the old logs.", finished("terminal", command="rm -r logs")),
        ("I've deleted the old logs.", finished("terminal", command="cd logs && sudo rm *.log")),
        ("I pushed the fix.", finished("terminal", command="git -C app push origin main")),
        ("All tests pass.", finished("terminal", command="timeout 60 python -m pytest -q", exit_code=0)),
        ("I ran the tests.", finished("terminal", ok=False, command="pytest", exit_code=1)),
        ("I've sent the mail.", finished("gmail_send", to="a@b.c")),
        ("I've sent the mail.", finished("mail::send_message", to="a@b.c")),
        ("I removed the unused function.", finished("edit_file", path="a.py")),
        ("I've saved the list.", finished("terminal", command="sort a > b")),
        ("I've saved the list.", finished("delegate", task="save it")),
        ("I've deployed the site.", finished("terminal", command="./deploy.sh")),
        ("I've scheduled the backup.", finished("schedule_task", what="backup")),
    ],
)
def test_the_right_kind_of_call_backs_a_claim(said: str, done: CallState) -> None:
    assert find_unbacked(said, [done]) == ()


@pytest.mark.parametrize(
    ("said", "done"),
    [
        ("I've sent the mail.", finished("write_file", path="mail.txt")),
        ("I've sent the mail.", finished("gmail_send", ok=False, to="a@b.c")),
        ("I've sent the mail.", finished("mail::search_messages", risk=Risk.LOW, query="x")),
        ("I've deleted the file.", finished("terminal", command="echo rm a.txt")),
        ("I've deleted the file a.txt.", finished("edit_file", path="a.txt")),
        ("All tests pass.", finished("terminal", ok=False, command="pytest", exit_code=1)),
        ("All tests pass.", finished("terminal", command="cat pytest.ini")),
        ("I pushed the fix.", finished("terminal", command="git commit -m push")),
        ("I've saved the notes.", finished("read_file", path="notes.md", risk=Risk.LOW)),
        ("I've saved the notes.", finished("terminal", command="ls notes", exit_code=0)),
    ],
)
def test_another_kind_of_call_and_a_failed_one_back_nothing(said: str, done: CallState) -> None:
    assert [claim.text for claim in find_unbacked(said, [done])] == [said]


def test_a_long_answer_is_read_quickly_enough_to_end() -> None:
    assert find_claims("draft " * 50_000 + "\n" + "I have " * 50_000 + "\n" + "`" * 100_000) == ()


@pytest.mark.anyio
@pytest.mark.invariant("claims.marked")
async def test_a_turn_that_claims_what_no_call_did_says_so_in_its_end(home: Path) -> None:
    async with agent(home, Reply("Done! I've sent the email to Anna.")) as a:
        end = (await events(a)).one("turn.finished")
    assert end.status == "done"
    assert [(claim.kind, claim.text) for claim in end.unbacked] == [("send", "I've sent the email to Anna.")]


@pytest.mark.anyio
@pytest.mark.invariant("claims.marked")
async def test_a_turn_that_did_what_it_claims_is_not_marked(home: Path) -> None:
    async with agent(home, calls(call("write_file", path="notes.md", content="x")), Reply("I've saved the notes to notes.md."), trust="medium") as a:
        end = (await events(a)).one("turn.finished")
    assert (home.parent / "work" / "notes.md").exists()
    assert end.unbacked == ()


def test_people_read_the_statement_that_no_call_backs() -> None:
    claims = find_claims("I've sent the email. I saved a copy in a.txt.")
    end = TurnFinished(status="done", text="", unbacked=claims)
    assert unbacked_sentence(end) == "No finished call of this turn backs this statement: “I've sent the email.” and 1 more"
    assert unbacked_sentence(TurnFinished(status="done", text="")) == ""
