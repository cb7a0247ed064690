"""The owner's rules find what they name in every spelling, and hold in the circumstances that they name."""

import msgspec
import pytest

from neuralclaw.safety.rule_words import TABLE, is_prefix, names
from neuralclaw.types.actions import Origin
from neuralclaw.types.options import OwnerRule, Policy
from neuralclaw.types.risk import Decision, Power

from .parts import CALCULATE, FETCH, POLICY, TERMINAL, FakeFacts, action, gate

pytestmark = pytest.mark.anyio


def having(decision: Decision = Decision.FORBID, **fields: object) -> Policy:
    rule = msgspec.convert({"id": "one", "decision": decision, **fields}, OwnerRule)
    return msgspec.structs.replace(POLICY, rules=(rule,))


async def matched(policy: Policy, command: str) -> bool:
    verdict = await gate(policy).judge(action(TERMINAL, command=command))
    return "owner.one" in {rule.id for rule in verdict.rules}


PUSHES = (
    "git push",
    "git -C x push",
    "git --no-pager -c a=b push",
    "git --git-dir=.git --work-tree . push origin",
    "git --unknown push",
    "git --unknown value push",
    "/usr/bin/git push",
    "./git push",
    "env git push",
    "env -i A=b git push",
    "sudo git push",
    "command git push",
    "nice -n 5 timeout 3 git -p push",
    "bash -c 'git push'",
    "cd x && git push",
    "g''it p\\ush",
)


@pytest.mark.parametrize("command", PUSHES)
async def test_a_rule_finds_its_subcommand_in_every_spelling(command: str) -> None:
    assert await matched(having(command="git push"), command)


@pytest.mark.parametrize("command", ["git status", "git log push", "git -C push status", "git -c push status", "echo git push", "git stash push"])
async def test_a_rule_finds_no_other_subcommand(command: str) -> None:
    assert not await matched(having(command="git push"), command)


@pytest.mark.parametrize("command", ["docker --context x run a", "docker -H tcp://h run a", "docker run a", "env docker -D run a"])
async def test_global_options_of_other_programs_are_known(command: str) -> None:
    assert await matched(having(command="docker run"), command)


@pytest.mark.parametrize(("rule", "command"), [("git push --force", "git push origin --force"), ("tar -xf", "tar -x -f a"), ("rm -rf", "rm -fr a")])
async def test_options_of_a_rule_are_found_wherever_they_stand(rule: str, command: str) -> None:
    assert await matched(having(command=rule), command)


@pytest.mark.parametrize("row", TABLE.programs, ids=lambda row: row.names[0])
def test_every_example_of_global_options_has_its_subcommand(row: object) -> None:
    for line, subcommand in row.examples.items():  # type: ignore[attr-defined]
        program = line.split()[0]
        assert names(f"{program} {subcommand}", line.split())
        assert not names(f"{program} other", line.split())


def test_a_rule_that_allows_needs_the_words_as_they_are() -> None:
    assert is_prefix("git push", ("git", "push", "origin"))
    assert is_prefix("git push", ("/usr/bin/git", "push"))
    assert not is_prefix("git push", ("git", "-c", "core.sshCommand=x", "push"))
    assert not is_prefix("git push", ("./git", "push"))
    assert not is_prefix("git push", ("/usr/bin/../../tmp/git", "push"))


REACHING = ("cat private/a", "cat *", "cat p*/a", "grep -r x .", "tar c .", "find", "find . -name a", "cp -r . ../b", "rg x", "ls -R", "cat ./x/../private/a")


@pytest.mark.parametrize("command", REACHING)
async def test_a_rule_about_a_path_holds_where_a_wildcard_or_a_walk_may_reach_it(command: str) -> None:
    assert await matched(having(path="private"), command)


@pytest.mark.parametrize("command", ["cat a.txt", "ls", "ls -ltr", "wc -l *.txt", "grep -r x src", "find src", "cat privately"])
async def test_a_rule_about_a_path_holds_for_no_other(command: str) -> None:
    assert not await matched(having(path="private"), command)


async def test_a_rule_names_label_soul_origin_channel_and_power() -> None:
    call = msgspec.structs.replace(
        action(CALCULATE), labels=frozenset({"external:web/example.com"}), soul="helper", origin=Origin(who="schedule", channel="telegram")
    )
    for holds in ({"label": "external"}, {"label": "external:web"}, {"soul": "helper"}, {"who": "schedule"}, {"channel": "telegram"}, {"present": False}):
        assert (await gate(having(**holds)).judge(call)).decision is Decision.FORBID, holds
    for other in ({"label": "external:we"}, {"soul": "x"}, {"who": "owner"}, {"channel": "web"}, {"present": True}, {"power": "network"}):
        assert (await gate(having(**other)).judge(call)).decision is Decision.ALLOW, other
    fetch = action(FETCH, url="https://example.com/")
    facts = FakeFacts(addresses={"example.com": ("93.184.216.34",)})
    assert (await gate(having(power=Power.NETWORK), facts).judge(fetch)).decision is Decision.FORBID


async def test_a_refusal_by_a_rule_tells_its_reason_and_alternative() -> None:
    policy = having(command="git push", reason="nothing leaves", alternative="open a pull request")
    verdict = await gate(policy).judge(action(TERMINAL, command="git push"))
    assert (verdict.rules[0].reason, verdict.rules[0].alternative) == ("nothing leaves", "open a pull request")
