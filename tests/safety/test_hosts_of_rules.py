"""A rule of the owner names a host in any of its spellings, and holds for web tools, for commands before they run, and for what a command reaches."""

import pytest

from neuralclaw.errors import PermissionDeniedError
from neuralclaw.safety.outbound_places import OutboundPlaces
from neuralclaw.safety.shell import analyse
from neuralclaw.types.options import OwnerRule, Policy
from neuralclaw.types.risk import Decision
from neuralclaw.types.verdicts import Verdict

from .parts import FETCH, POLICY, TERMINAL, WORKSPACE, FakeFacts, action, gate, judge

pytestmark = pytest.mark.anyio

FACTS = FakeFacts(addresses={"example.com": ("93.184.216.34",), "www.example.com": ("93.184.216.34",), "xn--mnchen-3ya.de": ("93.184.216.34",)})


def ruled(decision: Decision, host: str, **more: str) -> Policy:
    return Policy(programs=POLICY.programs, home_dir=POLICY.home_dir, rules=(OwnerRule(id="r", decision=decision, host=host, **more),))


def asked_by_rule(verdict: Verdict) -> bool:
    return any(rule.id == "owner.r" for rule in verdict.rules)


@pytest.mark.parametrize(
    ("host", "named"),
    [
        ("EXAMPLE.com", "example.com"),
        ("example.com.", "www.example.com"),
        ("münchen.DE", "xn--mnchen-3ya.de"),
        ("93.184.216.34", "93.184.216.34"),
        ("2606:4700::1111", "[2606:4700:0::1111]"),
        ("[2606:4700::1111]", "[2606:4700::1111]"),
    ],
)
async def test_a_host_is_forbidden_and_asked_about_in_each_of_its_spellings(host: str, named: str) -> None:
    fetch = action(FETCH, url=f"https://{named}/")
    assert (await gate(ruled(Decision.FORBID, host), FACTS).judge(fetch)).decision is Decision.FORBID
    assert asked_by_rule(await gate(ruled(Decision.ASK, host), FACTS).judge(fetch))
    command = f"curl 'https://{named}/'"
    assert (await judge(command, policy=ruled(Decision.FORBID, host), facts=FACTS)).decision is Decision.FORBID
    assert asked_by_rule(await judge(command, policy=ruled(Decision.ASK, host), facts=FACTS))


async def test_a_rule_that_allows_a_host_answers_for_no_command() -> None:
    assert (await judge("curl https://example.com/", policy=ruled(Decision.ALLOW, "example.com"), facts=FACTS)).decision is Decision.ASK


@pytest.mark.parametrize(("command", "held"), [("git fetch", True), ("make", False)])
async def test_a_rule_for_a_command_and_a_host_holds_for_what_the_command_did_not_name(command: str, held: bool) -> None:
    policy = ruled(Decision.FORBID, "Example.com", command="git fetch")
    line = analyse(command, cwd=WORKSPACE, workspace=WORKSPACE, policy=policy, env={})
    places = OutboundPlaces(FACTS.look, action(TERMINAL, command=command), policy, (), line)
    if held:
        with pytest.raises(PermissionDeniedError, match="your rule r forbids"):
            await places.judge("example.com", 443)
    else:
        assert await places.judge("example.com", 443) == ("93.184.216.34",)
