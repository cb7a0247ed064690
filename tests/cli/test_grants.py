"""Answers from a script and a terminal, what they cover afterwards, and taking them back."""

import json
import subprocess
from typing import Any

import pytest

from .program import Claw, Ran

pytestmark = pytest.mark.anyio
WRITES = "touch made.txt"
MAKE = f"run {WRITES}"


async def parked(claw: Claw, task: str, session: str) -> dict[str, Any]:
    """The question that the task parks on."""
    ran = await claw("run", task, "--session", session, "--approvals", "park", "--output", "json")
    assert ran.code == 3, ran
    [waits] = ran.json["waiting"]
    rows = (await claw("approvals", "list", "--json")).json
    return next(row for row in rows if row["approval_id"] == waits)


async def spoken(claw: Claw, task: str, session: str, **answer: Any) -> Ran:
    """A run whose question is answered over standard input; after an answer that cannot be used, with a no."""
    with claw.started("run", task, "--input", "stream-json", "--output", "stream-json", "--session", session, stdin=subprocess.PIPE) as running:
        events = [running.until("approval.requested")]
        running.say({"type": "answer", "approval_id": events[0]["approval_id"], **answer})
        refused = False
        for event in running.events():
            events.append(event)
            if event["type"] == "error" and not refused:
                refused = True
                running.say({"type": "answer", "approval_id": events[0]["approval_id"], "decision": "no"})
            elif event["type"] == "turn.finished":
                break
        assert running.process.stdin is not None
        running.process.stdin.close()
        code = running.process.wait(timeout=5)
    return Ran(code, b"\n".join(json.dumps(event).encode() for event in events), b"")


async def test_a_session_yes_covers_its_command_in_its_session_until_it_is_revoked(claw: Claw) -> None:
    (claw.workspace / "junk.txt").write_text("x")
    asked = await parked(claw, "run rm junk.txt", "s")
    assert (asked["choices"], asked["covers"]["always"]) == (["once", "session", "no"], None)
    assert asked["summary"] == "rm junk.txt: deletes 1 file"
    assert (await claw("approvals", "answer", asked["approval_id"], "session")).code == 0
    assert (await claw("run", "--resume", "s")).code == 0
    (claw.workspace / "junk.txt").write_text("x")
    again = await claw("run", "run rm junk.txt", "--session", "s", "--output", "stream-json")
    assert again.code == 0, again
    [decision] = [e for e in again.lines if e["type"] == "decision"]
    assert decision["reasons"][0] == f"grant {asked['approval_id']} covers it: {asked['covers']['session']}"
    explained = await claw("policy", "explain", f"s/{asked['call_id']}", "--json")
    assert explained.json["decision"] == "allow", "the grants of its session count"
    assert (await claw("policy", "explain", "--command", "rm junk.txt", "--json")).json["decision"] == "ask", "those of no session"
    (claw.workspace / "junk.txt").mkdir()
    assert (await claw("run", "run rm -r junk.txt", "--session", "s")).code == 3
    assert (await claw("run", "run rm junk.txt", "--session", "other")).code == 3
    [row] = (await claw("grants", "list", "--json")).json
    assert (row["grant_id"], row["lasts"], row["session"], row["by"]) == (asked["approval_id"], "session", "s", "program")
    assert asked["covers"]["session"] in (await claw("grants", "list")).out
    unknown = await claw("grants", "revoke", "nosuch")
    assert unknown.code == 2
    assert "nosuch" in unknown.err
    assert (await claw("grants", "revoke", row["grant_id"][:6], "--json")).json == row
    assert (await claw("grants", "list", "--json")).json == []
    assert (await claw("grants", "revoke", row["grant_id"])).code == 2
    (claw.workspace / "junk.txt").rmdir()
    (claw.workspace / "junk.txt").write_text("x")
    assert (await claw("run", "run rm junk.txt", "--session", "s")).code == 3
    kinds = [e["type"] for e in (await claw("sessions", "show", "s", "--json")).json["events"]]
    assert "grant.revoked" in kinds
    assert (await claw("audit", "verify", "--json")).json["ok"]
    assert (await claw("audit", "show", "--session", "s")).code == 0


@pytest.mark.invariant("gate.covers")
async def test_an_always_belongs_to_its_workspace_and_policy_explain_counts_it(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text("tools: {terminal: {sandbox: process}}\n")  # no undo covers what a command does there
    asked = await parked(claw, MAKE, "s")
    assert "always" in asked["choices"], asked
    assert (await claw("approvals", "answer", asked["approval_id"], "always")).code == 0
    elsewhere = claw.home.parent / "elsewhere"
    elsewhere.mkdir()
    for place, decision in ((claw.workspace, "allow"), (elsewhere, "ask")):
        told = (await claw("policy", "explain", "--command", WRITES, "--workspace", str(place), "--json")).json
        assert told["decision"] == decision
    explained = (await claw("policy", "explain", "--command", WRITES, "--json")).json
    assert explained["rules"][0]["id"] == f"grant.{asked['approval_id']}"
    assert explained["rules"][0]["decision"] == "allow"
    assert (await claw("run", MAKE, "--session", "new", "--workspace", str(elsewhere))).code == 3
    assert (await claw("run", MAKE, "--session", "new2")).code == 0
    assert (claw.workspace / "made.txt").exists()
    assert (await claw("grants", "revoke", asked["approval_id"])).code == 0
    assert (await claw("policy", "explain", "--command", WRITES, "--json")).json["decision"] == "ask"
    assert (await claw("run", MAKE, "--session", "new3")).code == 3


@pytest.mark.parametrize("text", ["", "  "])
async def test_an_empty_command_cannot_be_explained(claw: Claw, text: str) -> None:
    ran = await claw("policy", "explain", "--command", text)
    assert ran.code == 2
    assert "the command is empty" in ran.err


async def test_an_answer_that_is_not_offered_is_refused_and_nothing_is_recorded(claw: Claw) -> None:
    (claw.workspace / "junk.txt").write_text("x")
    asked = await parked(claw, "run rm junk.txt", "s")
    for decision in ("always", "a", "perhaps"):
        refused = await claw("approvals", "answer", asked["approval_id"], decision)
        assert refused.code == 2, refused
    assert "does not offer 'always'" in (await claw("approvals", "answer", asked["approval_id"], "always")).err
    assert (await claw("approvals", "show", asked["approval_id"], "--json")).json["answer"] is None
    assert (await claw("approvals", "answer", asked["approval_id"], "once", "--text", "words")).code == 2
    ran = await spoken(claw, "run rm junk.txt", "t", decision="always")
    errors = [e for e in ran.lines if e["type"] == "error" and "entry" not in e]
    assert [(e["kind"], "does not offer 'always'" in e["text"]) for e in errors] == [("UsageError", True)]
    assert [e["decision"] for e in ran.lines if e["type"] == "approval.resolved"] == ["no"]
    assert (claw.workspace / "junk.txt").exists()


async def test_a_no_over_standard_input_carries_words_to_the_model(claw: Claw) -> None:
    ran = await spoken(claw, "run rm junk.txt", "t", decision="no", text="move it to the trash")
    [resolved] = [e for e in ran.lines if e["type"] == "approval.resolved"]
    assert (resolved["decision"], resolved["text"], resolved["by"]) == ("no", "move it to the trash", "program")
    [finished] = [e for e in ran.lines if e["type"] == "tool.finished"]
    assert "move it to the trash" in finished["content"]


async def test_who_answers_is_on_record(claw: Claw) -> None:
    first = await parked(claw, "run rm junk.txt", "a")
    assert (await claw("approvals", "answer", first["approval_id"], "no", "--text", "not that one")).code == 0
    assert (await claw("approvals", "show", first["approval_id"], "--json")).json["answer"]["by"] == "program"
    assert "answered by a program: no, with the words: not that one" in (await claw("approvals", "show", first["approval_id"])).out
    second = await parked(claw, "run rm junk.txt", "b")
    with claw.terminal("approvals", "answer", second["approval_id"], "n") as person:
        assert person.end() == 0
    assert (await claw("approvals", "show", second["approval_id"], "--json")).json["answer"]["by"] == "owner"


async def test_approvals_show_tells_the_sentence_first_and_the_reasons_behind(claw: Claw) -> None:
    (claw.workspace / "old.txt").write_text("x")
    asked = await parked(claw, "run rm old.txt", "s")
    shown = (await claw("approvals", "show", asked["approval_id"])).out.splitlines()
    assert shown[0] == f"rm old.txt: deletes 1 file (question {asked['approval_id']})"
    assert shown[1] == "    rm old.txt"
    assert f"  terminal in {claw.workspace}, risk HIGH" in shown
    assert f"  [s] covers rm old.txt in {claw.workspace}, in this session only" in shown
    for reason in asked["reasons"]:
        assert f"  - {reason}" in shown
    assert "rm old.txt: deletes 1 file" in (await claw("approvals", "list")).out


async def test_a_run_without_a_person_says_what_it_would_have_done_in_words(claw: Claw) -> None:
    (claw.workspace / "old.txt").write_text("x")
    ran = await claw("run", "run rm old.txt")
    assert ran.code == 3
    assert "no one can be asked: rm old.txt: deletes 1 file." in ran.err
    assert "trust level" not in ran.err


@pytest.mark.parametrize(("typed", "gone"), [("y", True), ("", False), ("leave it", False)])
async def test_a_person_at_a_terminal_reads_the_sentence_and_may_answer_with_words(claw: Claw, typed: str, gone: bool) -> None:
    (claw.workspace / "old.txt").write_text("x")
    with claw.terminal("run", "run rm old.txt", "--session", "s") as person:
        person.until("rm old.txt: deletes 1 file")
        person.until("or a no in words, then Enter > ")
        person.type(f"{typed}\r")
        assert person.end() in (0, 1)
    assert (claw.workspace / "old.txt").exists() != gone
    events = (await claw("sessions", "show", "s", "--json")).json["events"]
    [answer] = [e for e in events if e["type"] == "approval.resolved"]
    assert (answer["by"], answer["text"]) == ("owner", typed if typed == "leave it" else None)
