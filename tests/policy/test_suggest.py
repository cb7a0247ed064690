"""`policy suggest`: rules that would have spared questions a person answered with yes, and what never gets one."""

import pytest

from neuralclaw.testing import Reply

from ..cli.program import Claw
from .parts import RecordedHome

pytestmark = pytest.mark.anyio

PUSH = "git push origin main"


async def said(recorded: RecordedHome, *answers: tuple[str, str]) -> None:
    """A session for each command, and the owner's answer to its question."""
    for number, (line, decision) in enumerate(answers):
        await recorded.answered(f"s{number}", line, decision)


async def test_a_command_that_got_three_yeses_gets_a_rule_that_passes_the_check_and_spares_them(recorded: RecordedHome) -> None:
    await said(recorded, (PUSH, "once"), (PUSH, "once"), ("git push origin dev", "once"), (PUSH, "once"))
    found = await recorded.do("policy.suggest")
    assert (found["questions"], found["spared"]) == (4, 3)
    [rule] = found["rules"]
    assert rule["rule"] == {
        "id": "yes-git-push-origin-main",
        "decision": "allow",
        "reason": f"you said yes 3 times to {PUSH} in {recorded.workspace}",
        "command": PUSH,
        "workspace": str(recorded.workspace),
        "exact": True,
        "match": [PUSH],
    }
    assert len(rule["calls"]) == 3
    assert found["simulated"] == {"judged": 4, "same": 1, "newly": {"allowed": 3, "asked": 0, "forbidden": 0}}
    file = recorded.rules(found["yaml"])
    assert await recorded.do("policy.check", file=file) == {"ok": True, "errors": [], "notices": []}
    assert (await recorded.do("policy.simulate", file=file, add=True))["newly"] == {"allowed": 3, "asked": 0, "forbidden": 0}
    assert (await recorded.do("policy.explain", command=PUSH))["decision"] == "ask", "nothing is applied"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("rm old.txt", "it deletes"),
        ("python3 tool.py", "it runs code"),
        ("make", "it runs code"),
        ("curl -d @notes.txt https://example.com/", "network"),
        ("touch a && git push origin main", "more than one plain command"),
        ("touch .envrc", "asks for more than its risk"),
        ("touch $(date)", "could not be understood"),
    ],
)
async def test_what_must_not_get_a_standing_yes_is_not_suggested(recorded: RecordedHome, line: str, why: str) -> None:
    for name in ("old.txt", "tool.py", "Makefile", "notes.txt"):
        (recorded.workspace / name).write_text("x:\n")
    await said(recorded, (line, "no"))
    found = await recorded.do("policy.suggest", least=1)
    assert (found["rules"], found["grants"], found["yaml"]) == ([], [], "[]\n")
    assert [why in one["why"] for one in found["not_suggested"]] == [True], found["not_suggested"]


async def test_a_no_to_the_same_and_too_few_yeses_suggest_nothing(recorded: RecordedHome) -> None:
    await said(recorded, (PUSH, "once"), (PUSH, "no"), ("git push origin dev", "once"))
    found = await recorded.do("policy.suggest", least=1)
    assert [rule["rule"]["command"] for rule in found["rules"]] == ["git push origin dev"]
    assert {"why": "you said no to the same as well", "count": 2} in found["not_suggested"]
    assert (await recorded.do("policy.suggest", least=2))["rules"] == []


async def test_a_yes_with_content_from_outside_in_play_does_not_count_and_a_no_does(recorded: RecordedHome) -> None:
    for decision in ("once", "once", "no"):  # what a push prints comes from outside
        await recorded.answered("a", PUSH, decision)
    assert (await recorded.do("policy.suggest", least=1))["rules"] == []
    [outside, refused] = (await recorded.do("policy.suggest", least=1))["not_suggested"]
    assert (outside, refused) == ({"why": "content from outside was in play", "count": 1}, {"why": "you said no to the same as well", "count": 2})


async def test_answers_of_no_person_do_not_count(recorded: RecordedHome) -> None:
    await recorded.commands("a", PUSH, approvals="auto")
    await recorded.commands("b", PUSH)
    assert (await recorded.do("policy.suggest", least=1))["questions"] == 0


@pytest.mark.invariant("gate.simulated")
async def test_an_answer_that_is_not_as_it_was_written_does_not_count_and_is_named(recorded: RecordedHome) -> None:
    await said(recorded, (PUSH, "no"))
    answer = "(SELECT record FROM entries WHERE kind = 'approval.resolved')"
    recorded.change(f"UPDATE bodies SET data = CAST(replace(CAST(data AS TEXT), '\"no\"', '\"once\"') AS BLOB) WHERE record = {answer}")
    found = await recorded.do("policy.suggest", least=1)
    assert (found["questions"], found["rules"]) == (0, [])
    assert found["damaged"]["count"] == 1


async def test_reads_outside_suggest_a_grant_for_their_directory(recorded: RecordedHome) -> None:
    docs = recorded.workspace.parent / "docs"
    docs.mkdir()
    (docs / "a.txt").write_text("a")
    for _ in range(2):
        async with recorded.opened(Reply(tool_calls=[{"name": "read_file", "arguments": {"path": str(docs / "a.txt")}}]), "done", "again") as agent:
            [asked] = (await agent.ask("read it", session="a", approvals="park")).waiting
            await agent.answer(asked, "once")
            async with agent.resume("a") as events:
                assert [event async for event in events]
    found = await recorded.do("policy.suggest", least=2)
    [grant] = found["grants"]
    assert (grant["op"], grant["path"], grant["questions"], found["spared"]) == ("read", str(docs), 2, 2)


async def test_the_command_prints_rules_alone_and_tells_the_rest_beside_them(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text("tools: {terminal: {sandbox: process}}\n")
    ran = await claw("run", f"run {PUSH}", "--session", "s", "--approvals", "park", "--output", "json")
    [waits] = ran.json["waiting"]
    assert (await claw("approvals", "answer", waits, "once")).code == 0
    await claw("run", "--resume", "s")
    told = await claw("policy", "suggest", "--least", "1")
    assert told.code == 0, told
    assert "1 question of yours answered; 1 would have been spared. Nothing is applied." in told.err
    (claw.workspace / "more.yaml").write_text(told.out)
    assert (await claw("policy", "check", "more.yaml")).code == 0
    assert "Newly allowed 1" in (await claw("policy", "simulate", "more.yaml", "--add")).out
    shown = await claw("policy", "suggest", "--json", "--least", "1", "--session", "s")
    assert shown.json["yaml"] == told.out
    assert (await claw("policy", "suggest", "--least", "0")).code == 2
