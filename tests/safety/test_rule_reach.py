"""What an owner's rule is about is found where a call may do it, and not where it cannot."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from neuralclaw.safety import possible_powers
from neuralclaw.types.actions import Origin
from neuralclaw.types.options import OwnerRule, Policy
from neuralclaw.types.questions import Answers
from neuralclaw.types.risk import Decision, Power
from neuralclaw.types.verdicts import Verdict

from .parts import POLICY, TERMINAL, WORKSPACE, WRITE, FakeFacts, action, gate

pytestmark = pytest.mark.anyio

HELD = FakeFacts(undo_covers=True)
UNKNOWN = (
    "make",
    "python3 -c 'open(1)'",
    "sh x.sh",
    "./x.sh",
    "node x.js",
    "perl -e 1",
    "npm test",
    "pytest",
    "frob",
    "$UNKNOWN a",
    'eval "$x"',
    "ruby x.rb",
)


def having(decision: str = "forbid", **fields: Any) -> Policy:
    return msgspec.structs.replace(POLICY, rules=(msgspec.convert({"id": "one", "decision": decision, **fields}, OwnerRule),))


async def judged(policy: Policy, command: str, facts: FakeFacts = HELD) -> Verdict:
    return await gate(policy, facts).judge(action(TERMINAL, command=command))


async def matched(policy: Policy, command: str, facts: FakeFacts = HELD) -> bool:
    return "owner.one" in (await judged(policy, command, facts)).rule_ids


@pytest.mark.parametrize("command", UNKNOWN)
async def test_what_runs_unread_code_may_write_and_delete(command: str) -> None:
    for power in ("read", "write", "delete"):
        assert await matched(having(power=power), command), power
    assert not await matched(having(power="network"), command)
    assert await matched(having(power="network"), command, FakeFacts(unconfined=True))


@pytest.mark.parametrize("command", ["cat a.txt", "ls", "git status", "grep x a.txt", "echo x", "wc -l a.txt"])
async def test_what_only_reads_may_do_nothing_else(command: str) -> None:
    for power in ("write", "delete", "network", "execute"):
        assert not await matched(having(power=power), command), power


DELETING = (
    "rm a",
    "sed -i d a.txt",
    "> a.txt",
    "echo x > a.txt",
    "truncate -s 0 a",
    "rsync --delete a/ b/",
    "tar --remove-files -cf x.tar a",
    "gzip a",
    "zip -m x a",
)


@pytest.mark.parametrize("command", DELETING)
async def test_programs_that_take_content_away_delete(command: str) -> None:
    assert await matched(having(power="delete"), command)


@pytest.mark.parametrize(
    "command", ["echo x >> a.txt", "mkdir a", "touch a", "cp a b", "tar -cf x.tar a", "zip x.zip a", "git add a.txt", "sed -n p a.txt", "gzip -k a"]
)
async def test_programs_that_only_add_do_not_delete(command: str) -> None:
    assert not await matched(having(power="delete"), command)


def test_the_examples_of_the_table_of_deleting_programs_hold() -> None:
    assert possible_powers.rows()[Power.DELETE]["tar"].given(("tar", "--remove-files"))


async def test_a_verdict_tells_hooks_what_a_call_may_have() -> None:
    verdict = await judged(POLICY, "make")
    assert verdict.powers == (Power.EXECUTE,)
    assert set(verdict.may) == {Power.READ, Power.WRITE, Power.DELETE, Power.EXECUTE}
    assert (await gate().judge(action(WRITE, path="a", content="x"))).may == (Power.WRITE,)


@pytest.mark.invariant("gate.owner-kept")
@pytest.mark.parametrize("command", UNKNOWN)
async def test_a_forbidden_path_is_kept_from_what_runs_unread_code(command: str) -> None:
    for rule, expected in (({}, ("unseen",)), ({"power": "read"}, ("unseen",)), ({"power": "write"}, ("unchanged",)), ({"power": "delete"}, ("unchanged",))):
        policy = having(path="private", **rule)
        assert not await matched(policy, command)
        assert await matched(policy, command, FakeFacts(unconfined=True))
        trusting = msgspec.structs.replace(policy, unlisted_commands="ask", require_confirmation_for=())
        call = msgspec.structs.replace(action(TERMINAL, command=command), trust="high")
        if (await gate(trusting, HELD).judge(call)).decision is Decision.ALLOW:
            envelope = (await gate(trusting, HELD).authorize(call, Answers())).envelope
            held = tuple(name for name in ("unseen", "unchanged") if getattr(envelope, name) == (f"{WORKSPACE}/private",))
            assert held == expected


@pytest.mark.parametrize("command", UNKNOWN)
async def test_a_rule_that_asks_about_a_path_asks_where_unread_code_may_reach_it(command: str) -> None:
    assert await matched(having("ask", path="private"), command)
    assert not await matched(having("ask", path="/home/ann/other"), command)
    assert not await matched(having("ask", path="private"), "cat a.txt")


async def test_a_rule_without_a_reason_says_what_it_is_about() -> None:
    verdict = await judged(having(path="private"), "cat private/a")
    assert verdict.reasons == ("your rule one forbids private",)
    verdict = await judged(having(path="private"), "make", FakeFacts(unconfined=True))
    assert verdict.reasons == ("your rule one forbids private: what it runs may reach it, and no sandbox keeps it from there",)


SECTIONS = (Path(__file__).parent / "owner_rule_lines.txt").read_text().split("RULE ")[1:]
"""A rule, and command lines: `+` it forbids, `?+` it asks or forbids since any program may run, `-` it is not about."""


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.partition("\n")[0])
async def test_a_rule_finds_what_it_is_about_and_nothing_else(section: str) -> None:
    rule, *lines = section.strip().splitlines()
    policy = having(**msgspec.json.decode(rule))
    wrong = []
    for wanted, _, command in (line.partition(" ") for line in lines):
        found = [match.decision for match in (await judged(policy, command)).rules if match.id == "owner.one"]
        sign = "-" if not found else "+" if found[0] is Decision.FORBID else "?"
        if sign not in wanted:
            wrong.append(f"{sign} {command}")
    assert wrong == []


async def test_a_forbidden_host_may_be_reached_by_whatever_nothing_holds() -> None:
    policy = having(host="example.com")
    for command in ("make", "pip install x", "git push", "$x"):
        assert await matched(policy, command, FakeFacts(unconfined=True)), command
        assert not await matched(policy, command), command
    assert not await matched(policy, "cat a.txt", FakeFacts(unconfined=True))


async def test_a_rule_that_forbids_a_command_asks_where_any_program_may_run() -> None:
    verdict = await judged(having(command="git push"), 'eval "$x"')
    assert ("owner.one", Decision.ASK) in {(match.id, match.decision) for match in verdict.rules}
    assert "what it runs is not known, and may be `git push`" in verdict.reasons[0]
    assert (await judged(having(command="git push"), "git $x")).decision is Decision.FORBID


PLACE = {"workspace": "/home/ann/other"}
CIRCUMSTANCES: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"tool": "terminal"}, {}, {"spec": WRITE, "arguments": {"path": "a", "content": "x"}}),
    ({"tool": "bash"}, {}, {"spec": WRITE, "arguments": {"path": "a", "content": "x"}}),
    ({"soul": "helper"}, {"soul": "helper"}, {"soul": "other"}),
    ({"who": "schedule"}, {"origin": Origin(who="schedule")}, {"origin": Origin(who="owner")}),
    ({"present": True}, {"origin": Origin(present=True)}, {"origin": Origin(present=False)}),
    ({"channel": "telegram"}, {"origin": Origin(channel="telegram")}, {"origin": Origin(channel="web")}),
    ({"workspace": "/home/ann/other"}, PLACE, {}),
    ({"label": "external"}, {"labels": frozenset({"external:web/a.example"})}, {"labels": frozenset({"externals"})}),
    ({"label": "external:web"}, {"labels": frozenset({"external:web/a.example"})}, {"labels": frozenset({"external:mail"})}),
    ({"power": "execute"}, {"arguments": {"command": "make"}}, {"arguments": {"command": "cat a"}}),
    ({"command": "make"}, {"arguments": {"command": "make x"}}, {"arguments": {"command": "cmake x"}}),
]


@pytest.mark.parametrize(("rule", "holds", "other"), CIRCUMSTANCES, ids=lambda value: ",".join(value))
async def test_each_condition_of_a_rule_decides_alone_and_beside_others(rule: dict[str, Any], holds: dict[str, Any], other: dict[str, Any]) -> None:
    call = action(TERMINAL, command="make")
    for more in ({},) if "tool" in rule else ({}, {"tool": "terminal"}):
        assert "owner.one" in (await gate(having(**rule, **more), HELD).judge(msgspec.structs.replace(call, **holds))).rule_ids
        assert "owner.one" not in (await gate(having(**rule, **more), HELD).judge(msgspec.structs.replace(call, **other))).rule_ids


async def test_the_strictest_rule_wins_in_any_order_and_no_rule_allows_what_another_forbids() -> None:
    rules = [msgspec.convert({"id": name, "decision": name, "command": "make"}, OwnerRule) for name in ("allow", "ask", "forbid")]
    for ordered in (rules, rules[::-1], rules[1:] + rules[:1]):
        verdict = await judged(msgspec.structs.replace(POLICY, rules=tuple(ordered)), "make")
        assert (verdict.decision, verdict.rule_ids[:2]) == (Decision.FORBID, ("owner.forbid", "owner.ask"))
    allowing = msgspec.structs.replace(POLICY, rules=(msgspec.convert({"id": "one", "decision": "allow", "command": "sudo ls"}, OwnerRule),))
    assert (await judged(allowing, "sudo ls")).decision is Decision.FORBID
    exact, loose = having("allow", command="frob a", exact=True), FakeFacts()
    assert ((await judged(exact, "frob a", loose)).decision, (await judged(exact, "frob a b", loose)).decision) == (Decision.ALLOW, Decision.ASK)
