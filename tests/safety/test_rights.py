"""The power to act with other rights, and the owner's rules about places in the workspace."""

import pytest

from neuralclaw.types.options import OwnerRule, Policy
from neuralclaw.types.risk import Decision, Power, Risk, Tier, Trust

from .parts import POLICY, READ, WORKSPACE, FakeFacts, action, gate, judge

pytestmark = pytest.mark.anyio

RAISED = (
    "sudo ls|sudo|sudo -n true|sudo-rs ls|sudoedit a|su|su -c ls|su - root|doas ls|pkexec ls|/usr/bin/sudo -u bob ls|env sudo ls|timeout 5 sudo ls"
    "|ls && sudo ls|bash -c 'sudo ls'|runuser -u bob ls|gosu bob ls|su-exec bob ls|run0 ls|dzdo ls|setpriv --reuid=0 ls|setpriv --reuid 0 ls|setcap a b"
    "|mount /dev/sdb /mnt|mount -o remount,rw /|umount /mnt|chroot /srv ls|nsenter -t 1 -m ls|unshare -r ls|newgrp wheel|capsh --print|find . -exec sudo ls ;"
).split("|")
KEPT = "ls|mount|mount -l|man sudo|echo sudo|which sudo|grep sudo a|findmnt".split("|")


@pytest.mark.parametrize("text", RAISED)
async def test_a_command_that_takes_other_rights_has_the_power_of_privilege(text: str) -> None:
    verdict = await judge(text.replace("ls ;", "ls \\;"), trust=Trust.HIGH)
    assert Power.PRIVILEGE in verdict.powers
    assert any(Power.PRIVILEGE in command.powers for command in verdict.commands)
    assert (verdict.decision is Decision.ALLOW, verdict.tier, verdict.risk >= Risk.HIGH) == (False, Tier.SYSTEM_CRITICAL, True)


@pytest.mark.parametrize("text", KEPT)
async def test_a_command_that_only_names_or_shows_them_has_not(text: str) -> None:
    assert Power.PRIVILEGE not in (await judge(text)).powers


@pytest.mark.parametrize(
    "text", ["setpriv --reuid=0 rm -rf /", "setpriv --clear-groups --regid 0 -- rm -rf /", "chroot / rm -rf /", "dzdo rm -rf /", "nsenter -t 1 rm -rf /"]
)
async def test_what_runs_with_other_rights_is_judged_too(text: str) -> None:
    assert "block.rm_roots" in [rule.id for rule in (await judge(text)).rules]


def ruled(decision: Decision, path: str, command: str | None = None) -> Policy:
    rule = OwnerRule(id="mine", decision=decision, path=path, command=command)
    return Policy(programs=POLICY.programs, rules=(rule,), home_dir="/home/ann")


@pytest.mark.parametrize("path", ["notes", "./notes", "notes/", "sub/../notes", WORKSPACE + "/notes", "~/project/notes"])
async def test_a_path_of_a_rule_is_taken_from_the_workspace(path: str) -> None:
    careful = gate(ruled(Decision.FORBID, path))
    assert (await careful.judge(action(READ, path="notes/a"))).rules[0].id == "owner.mine"
    assert (await careful.judge(action(READ, path="other/a"))).decision is Decision.ALLOW


async def test_a_relative_rule_releases_a_removal_in_its_directory_and_nowhere_else() -> None:
    clean = ruled(Decision.ALLOW, "build", "rm -rf")
    assert (await judge("rm -rf build/x", policy=clean)).decision is Decision.ALLOW
    assert (await judge("rm -rf build", policy=clean)).decision is Decision.ALLOW
    for text in ("rm -rf other", "rm -rf build/../other", "cd sub && rm -rf build"):
        assert (await judge(text, policy=clean)).decision is Decision.FORBID, text


async def test_a_rule_that_forbids_a_place_counts_for_a_link_there_and_one_that_allows_for_where_it_leads() -> None:
    facts = FakeFacts(links={WORKSPACE + "/notes": WORKSPACE + "/elsewhere"})
    assert (await gate(ruled(Decision.FORBID, "notes"), facts).judge(action(READ, path="notes/a"))).decision is Decision.FORBID
    assert (await gate(ruled(Decision.FORBID, "elsewhere"), facts).judge(action(READ, path="notes/a"))).decision is Decision.FORBID
    assert "owner.mine" not in [rule.id for rule in (await judge("echo x > notes/a", policy=ruled(Decision.ALLOW, "notes"), facts=facts)).rules]
