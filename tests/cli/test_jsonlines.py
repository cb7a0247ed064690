"""`run --input stream-json`: a conversation over JSON lines that stays open until its input ends."""

import subprocess
from typing import Any

import pytest

from ..waiting import until
from .model import served
from .program import Claw, Ran, Started
from .test_run import ASK

pytestmark = pytest.mark.anyio

LINES = ("run", "--input", "stream-json", "--output", "stream-json")


def message(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "text": text, **more}


def up_to(run: Started, kind: str) -> list[dict[str, Any]]:
    """The events up to the first of this type."""
    seen: list[dict[str, Any]] = []
    while not seen or seen[-1]["type"] != kind:
        seen.append(next(run.events()))
    return seen


def ends(ran: Ran) -> list[str]:
    return [e["text"] for e in ran.lines if e["type"] == "turn.finished"]


async def test_each_message_after_the_end_of_a_turn_is_the_next_turn_of_one_stream(claw: Claw) -> None:
    with claw.started(*LINES, "--session", "talk", stdin=subprocess.PIPE) as run:
        seen = []
        for text, answer in (("calculate 6 * 7", "42"), ("calculate 1 + 1", "2"), ("nonsense of no grammar", "")):
            run.say(message(text))
            for event in run.events():
                seen.append(event)
                if event["type"] == "turn.finished":
                    assert event["text"] == answer
                    break
        run.end()
        assert list(run.events()) == []
        assert run.process.wait(10) == 1  # that of the last turn
    assert [e["seq"] for e in seen] == list(range(1, len(seen) + 1))
    assert {e["session"] for e in seen} == {"talk"}
    assert [e["turn"] for e in seen if e["type"] == "turn.finished"] == [1, 2, 3]


async def test_the_process_stays_open_while_its_input_does_and_ends_with_it(claw: Claw) -> None:
    with claw.started(*LINES, "calculate 6 * 7", "--session", "open", stdin=subprocess.PIPE) as run:
        assert run.until("turn.finished")["text"] == "42"
        assert run.process.poll() is None
        run.end()
        assert run.process.wait(10) == 0


async def test_a_message_during_a_turn_steers_it_and_a_queued_one_waits_for_its_end(claw: Claw) -> None:
    with served(claw.home) as model, claw.started(*LINES, stdin=subprocess.PIPE) as run:
        run.say(message("first"))
        run.until("turn.started")
        assert "first" in model.asked()
        run.say(message("third", queue=True), message("second"))
        waits, steered = run.until("inbound"), run.until("inbound")
        assert (waits["text"], waits["turn"], waits["queued"]) == ("third", 2, True)
        assert (steered["text"], steered["turn"]) == ("second", 1)
        model.call("calculate", expression="1 + 1")
        asked = model.asked()
        assert "second" in asked
        assert "third" not in asked
        model.say("one and two")
        model.done()
        assert run.until("turn.finished")["turn"] == 1
        assert run.until("turn.started")["text"] == "third"
        assert "third" in model.asked()
        model.say("three")
        model.done()
        assert run.until("turn.finished")["text"] == "three"
        run.end()
        assert run.process.wait(10) == 0


async def test_a_queued_message_is_on_record_at_once_and_survives_a_kill(claw: Claw) -> None:
    async def recorded() -> bool:
        events = (await claw("sessions", "show", "q", "--json")).json["events"]
        return any(event["type"] == "inbound" and event["text"] == "second" and event["queued"] for event in events)

    with served(claw.home) as model:
        with claw.started(*LINES, "--session", "q", stdin=subprocess.PIPE) as run:
            run.say(message("first"))
            run.until("turn.started")
            model.asked()
            run.say(message("second", queue=True))
            await until(recorded)
            run.process.kill()
        model.done()
        with claw.started("run", "--resume", "q") as again:
            assert "first" in model.asked()
            model.say("one")
            model.done()
            assert "second" in model.asked()
            model.say("two")
            model.done()
            assert again.process.wait(10) == 0
            assert again.out.read() == b"one\ntwo\n"


async def test_messages_that_are_queued_in_one_write_with_the_first_are_on_record_behind_it_and_survive_a_kill(claw: Claw) -> None:
    async def recorded() -> bool:
        events = (await claw("sessions", "show", "q", "--json")).json["events"]
        return [event["key"] for event in events if event["type"] == "inbound"] == ["A", "B", "C"]

    with served(claw.home) as model, claw.started(*LINES, "--session", "q", stdin=subprocess.PIPE) as run:
        run.say(message("first", key="A"), message("second", queue=True, key="B"), message("third", queue=True, key="C"))
        run.until("turn.started")
        model.asked()
        await until(recorded)
        run.process.kill()


async def test_entries_rise_by_one_through_a_stream_of_several_turns_where_messages_are_queued(claw: Claw) -> None:
    async def recorded() -> bool:
        events = (await claw("sessions", "show", "q", "--json")).json["events"]
        return sum(event["type"] == "inbound" for event in events) == 3

    seen: list[dict[str, Any]] = []
    with served(claw.home) as model, claw.started(*LINES, "--session", "q", stdin=subprocess.PIPE) as run:
        run.say(message("first"))
        seen += up_to(run, "turn.started")
        model.asked()
        run.say(message("second", queue=True, key="B"), message("third", queue=True))
        await until(recorded)
        for word in ("one", "two", "three"):
            model.say(word)
            model.done()
            seen += up_to(run, "turn.finished")
        entries = [event["entry"] for event in seen if "entry" in event]
        assert entries == list(range(1, len(entries) + 1))
        run.say(message("second", queue=True, key="B"))
        again = up_to(run, "turn.finished")
        assert {event["turn"] for event in again} == {2}  # a key that is sent again shows its turn again
        assert [event["entry"] for event in again if "entry" in event] == [event["entry"] for event in seen if "entry" in event and event["turn"] == 2]
        run.end()
        assert run.process.wait(10) == 0


async def test_a_word_that_the_turn_did_not_see_before_it_was_stopped_begins_the_next(claw: Claw) -> None:
    with served(claw.home) as model, claw.started(*LINES, stdin=subprocess.PIPE) as run:
        run.say(message("first"))
        model.asked()
        model.say("thinking ")
        run.until("text.delta")
        run.say(message("too late"), {"type": "cancel"})
        assert run.until("turn.finished")["status"] == "cancelled"
        model.done()
        assert "too late" in model.asked()
        model.say("second")
        model.done()
        end = run.until("turn.finished")
        assert (end["turn"], end["text"], end["status"]) == (2, "second", "done")
        run.end()
        assert run.process.wait(10) == 0


async def test_what_cannot_be_used_is_an_error_event_without_entry_and_changes_nothing(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    with claw.started(*LINES, "--session", "s", stdin=subprocess.PIPE) as run:
        run.say(
            "nonsense",
            {"type": "message", "text": "calculate 1 + 1", "colour": "red"},
            {"type": "speech", "text": "calculate 1 + 1"},
            {"type": "message", "text": 5},
            message("  "),
            message("calculate 1 + 1", key=""),
            {"type": "cancel"},
            {"type": "answer", "approval_id": "zzzzzzzzzz", "decision": "once"},
            {"type": "answer", "approval_id": "zzzzzzzzzz"},
            message("calculate 6 * 7"),
        )
        errors = []
        for event in run.events():
            if event["type"] != "error":
                break
            errors.append(event)
        assert [e["kind"] for e in errors] == [*["UsageError"] * 7, "UnknownQuestion", "UsageError"]
        assert all("entry" not in e and e["recoverable"] for e in errors)
        question = run.until("approval.requested")["approval_id"]
        run.say({"type": "answer", "approval_id": question, "decision": "perhaps"})
        assert "perhaps" in run.until("error")["text"]
        run.say({"type": "answer", "approval_id": question, "decision": "once"})
        assert run.until("turn.finished")["text"] == "42"
        run.say({"type": "answer", "approval_id": question, "decision": "no"})
        assert run.until("error")["kind"] == "AlreadyAnswered"
        run.end()
        assert run.process.wait(10) == 0
    shown = (await claw("sessions", "show", "s", "--json")).json
    assert shown["turns"] == 1
    assert not [e for e in shown["events"] if e["type"] == "error"]


async def test_a_word_beside_an_answer_reaches_the_model(claw: Claw) -> None:
    with served(claw.home, ASK) as model, claw.started(*LINES, stdin=subprocess.PIPE) as run:
        run.say(message("sum it"))
        model.asked()
        model.call("calculate", expression="1 + 1")
        question = run.until("approval.requested")["approval_id"]
        run.say({"type": "answer", "approval_id": question, "decision": "no", "text": "use your head"})
        assert "use your head" in model.asked()
        model.say("2")
        model.done()
        assert run.until("turn.finished")["text"] == "2"
        run.end()
        assert run.process.wait(10) == 0


async def test_all_that_was_said_before_the_end_of_input_is_done_and_nobody_answers_any_more(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    lines = b'{"type":"message","text":"echo one"}\n{"type":"message","text":"calculate 6 * 7","queue":true}\n'
    ran = await claw(*LINES, stdin=lines)
    assert ran.code == 3, ran
    [first, second] = [e for e in ran.lines if e["type"] == "turn.finished"]
    assert (first["text"], second["status"]) == ("one", "needs_approval")


async def test_a_parked_turn_goes_on_with_the_answer(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    with claw.started(*LINES, "--approvals", "park", "--session", "p", stdin=subprocess.PIPE) as run:
        run.say(message("calculate 6 * 7"))
        [question] = run.until("turn.finished")["waiting"]
        run.say({"type": "answer", "approval_id": question, "decision": "once"})
        end = run.until("turn.finished")
        assert (end["turn"], end["text"], end["waiting"]) == (1, "42", [])
        run.end()
        assert run.process.wait(10) == 0


async def test_a_resumed_conversation_shows_no_old_answer(claw: Claw) -> None:
    await claw("run", "--session", "old", "calculate 6 * 7")
    for how in (["--resume", "old"], ["--continue"], ["--session", "old"]):
        ran = await claw(*LINES, *how, stdin=b'{"type":"message","text":"calculate 1 + 1"}\n')
        assert (ran.code, ends(ran)) == (0, ["2"]), ran
    besides = await claw(*LINES, "--resume", "old", "calculate 2 + 2", stdin=b'{"type":"message","text":"calculate 3 + 3","queue":true}\n')
    assert (besides.code, ends(besides)) == (0, ["4", "6"]), besides


async def test_each_end_is_printed_as_it_comes_with_output_json(claw: Claw) -> None:
    with claw.started("run", "--input", "stream-json", "--output", "json", stdin=subprocess.PIPE) as run:
        for text, answer in (("calculate 6 * 7", "42"), ("calculate 1 + 1", "2")):
            run.say(message(text))
            assert run.until("turn.finished")["text"] == answer
        run.end()
        assert run.process.wait(10) == 0
