"""`audit show CALL` tells from the record what decided about a call."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from neuralclaw.app.record.why_allowed import policy_of
from neuralclaw.errors import UsageError
from neuralclaw.types.codec import BUILT_IN
from neuralclaw.types.events import ApprovalResolved, DecisionMade

from . import kit

pytestmark = pytest.mark.anyio


async def why(agent: Any, call: str, **options: Any) -> dict[str, Any]:
    told: dict[str, Any] = await agent.do("audit.show", call_id=call, **options)
    return told


async def test_a_call_that_policy_allowed_says_so_with_labels_and_policy(home: Path) -> None:
    async with kit.agent(home, kit.calls(kit.call("calculate", "c1", expression="6*7")), "42") as agent:
        await kit.events(agent, "what is 6*7", session="work")
        told = await why(agent, "c1")
    assert (told["tool"], told["decision"], told["by"], told["session"], told["turn"]) == ("calculate", "allow", "policy", "work", 1)
    assert (len(told["policy"]), told["policy_now"], told["answers"], told["standing"]) == (64, True, [], [])
    assert "owner" in told["labels"] or "agent" in told["labels"]
    assert told["trust"]
    assert told["approvals"]


async def test_after_the_policy_changed_it_is_not_todays(home: Path) -> None:
    async with kit.agent(home, kit.calls(kit.call("calculate", "c1", expression="6*7")), "42") as agent:
        await kit.events(agent, "what is 6*7", session="work")
        before = (await why(agent, "c1"))["policy"]
    async with kit.agent(home, settings={"safety": {"require_confirmation_for": ["LOW", "MEDIUM", "HIGH", "CRITICAL"]}}) as agent:
        told = await why(agent, "c1", session="wo")
    assert (told["policy"], told["policy_now"]) == (before, False)


async def test_an_answer_for_the_session_is_named_and_what_stands_behind_the_next_call(home: Path) -> None:
    async def session(question: Any) -> str:
        return "session"

    for name in ("a", "b"):
        (home.parent / "work" / name).parent.mkdir(exist_ok=True)
        (home.parent / "work" / name).write_text("x")
    deletions = [kit.calls(kit.call("delete_file", name, path=path)) for name, path in (("c1", "a"), ("c2", "b"))]
    async with kit.agent(home, *deletions, "done", approver=session) as agent:
        await kit.events(agent, "tidy up", session="work")
        first, second = await why(agent, "c1"), await why(agent, "c2")
    (answer,) = first["answers"]
    assert (answer["decision"], answer["by"], first["by"]) == ("session", "program", "program")
    assert answer["covers"]
    assert answer["asked"] <= answer["answered"] <= first["time"]
    assert (second["answers"], second["standing"], second["given"]) == ([], [answer["approval_id"]], [answer])


async def test_later_calls_with_the_same_id_are_named(home: Path) -> None:
    sums = [kit.calls(kit.call("calculate", "c1", expression=text)) for text in ("1+1", "2+2")]
    async with kit.agent(home, sums[0], "2", sums[1], "4") as agent:
        await kit.events(agent, "what is 1+1", session="work")
        await kit.events(agent, "what is 2+2", session="work")
        first = await why(agent, "c1")
        (other,) = first["others"]
        second = await why(agent, other)
    assert (first["turn"], second["turn"], second["others"]) == (1, 2, [])


async def test_each_direct_call_has_an_id_of_its_own(home: Path) -> None:
    ids = []
    async with kit.agent(home) as agent:
        for text in ("1+1", "2+2"):
            async with agent.call("calculate", {"expression": text}) as events:
                ids += [event.body.call_id async for event in events if isinstance(event.body, DecisionMade)]
        told = [await why(agent, one) for one in ids]
    assert [one["turn"] for one in told] == [1, 2]
    assert [one["others"] for one in told] == [[], []]


async def test_an_unknown_call_is_named(home: Path) -> None:
    async with kit.agent(home) as agent:
        with pytest.raises(UsageError, match="there is no call nothing"):
            await why(agent, "nothing")


async def test_the_rules_and_the_policy_of_that_time_are_told_when_the_policy_is_another_one(home: Path) -> None:
    before = {"safety": {"rules": [{"id": "sums", "decision": "allow", "tool": "calculate"}]}}
    async with kit.agent(home, kit.calls(kit.call("calculate", "c1", expression="6*7")), "42", settings=before) as agent:
        await kit.events(agent, "what is 6*7", session="work")
        first = await why(agent, "c1")
    assert first["rules"] == ["owner.sums"]
    assert [rule["id"] for rule in first["policy_text"]["rules"]] == ["sums"]
    after = {"safety": {"rules": [{"id": "never", "decision": "forbid", "tool": "calculate"}]}}
    async with kit.agent(home, kit.calls(kit.call("calculate", "c2", expression="6*7")), "no", settings=after) as agent:
        await kit.events(agent, "again", session="work")
        told, refused = await why(agent, "c1"), await why(agent, "c2")
    assert told == first | {"policy_now": False}
    assert (refused["rules"], refused["decision"], refused["policy_text"]["rules"][0]["id"]) == (["owner.never"], "forbid", "never")


async def test_the_process_that_answered_is_told(home: Path) -> None:
    async def once(question: Any) -> str:
        return "once"

    (home.parent / "work").mkdir(exist_ok=True)
    (home.parent / "work" / "a").write_text("x")
    async with kit.agent(home, kit.calls(kit.call("delete_file", "c1", path="a")), "done", approver=once) as agent:
        await kit.events(agent, "tidy up", session="work")
        told = await why(agent, "c1")
    assert [(a["process"], a["channel"]) for a in told["answers"]] == [(f"pid {os.getpid()}", "")]
    assert told["rules"]


async def test_an_older_decision_reads_well(home: Path) -> None:
    """Entries of versions that recorded no rule ids, no policy of the decision and no process."""
    older = {"call_id": "c1", "name": "echo", "decision": "allow", "risk": "LOW", "tier": "read"}
    body = BUILT_IN.decode("decision", 1, msgspec.json.encode({"type": "decision", **older}))
    assert isinstance(body, DecisionMade)
    assert (body.rules, body.policy, policy_of(None, body)) == ((), "", "")
    answer = BUILT_IN.decode("approval.resolved", 1, b'{"type":"approval.resolved","approval_id":"Q","decision":"once","by":"owner"}')
    assert isinstance(answer, ApprovalResolved)
    assert (answer.process, answer.channel) == ("", "")


async def test_a_call_and_a_place_in_the_list_do_not_go_together(home: Path) -> None:
    async with kit.agent(home) as agent:
        with pytest.raises(UsageError, match="--after goes with the list"):
            await why(agent, "c1", after=3)
