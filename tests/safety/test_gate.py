"""The gate: grants, questions, answers, and what happens when the check itself fails."""

import inspect
from pathlib import Path
from typing import Any

import msgspec
import pytest

import neuralclaw
from neuralclaw.errors import PermissionDeniedError
from neuralclaw.safety.command_line import CommandLine
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.types.actions import Action
from neuralclaw.types.facts import FactSheet, Wants
from neuralclaw.types.grants import Scope
from neuralclaw.types.options import OwnerRule, Policy
from neuralclaw.types.questions import Answers
from neuralclaw.types.risk import Decision, Risk, Sink, Tier, Trust
from neuralclaw.types.signals import Denied, Parked

from .parts import CALCULATE, DELETE, FETCH, POLICY, READ, TERMINAL, WORKSPACE, WRITE, FakeClock, FakeFacts, action, answered, gate, judge, spec, standing

pytestmark = pytest.mark.anyio
NONE = Answers()


async def question(call: Action, *, facts: FakeFacts | None = None, policy: Policy = POLICY) -> Any:
    with pytest.raises(Parked) as parked:
        await gate(policy, facts).authorize(call, NONE)
    return parked.value.question


async def test_a_pure_tool_gets_an_empty_grant_without_a_look_at_facts() -> None:
    facts = FakeFacts()
    grant = await gate(facts=facts).authorize(action(CALCULATE, expression="1+1"), NONE)
    assert facts.looks == 0
    assert (grant.tool, grant.call_id, grant.envelope.read, grant.envelope.write, grant.envelope.execute) == ("calculate", "c1", (), (), False)
    assert grant.arguments == {"expression": "1+1"}


async def test_a_pure_call_does_not_pay_for_the_reading_of_command_lines() -> None:
    read: list[str] = []

    def counted(line: str, *args: Any, **options: Any) -> CommandLine:
        read.append(line)
        return analyse(line, *args, **options)

    judged = PolicyGate(POLICY, FakeFacts(), FakeClock(), counted)
    await judged.judge(action(CALCULATE, expression="1"))
    assert read == []
    await judged.judge(action(TERMINAL, command="ls"))
    assert read == ["ls"]


async def test_a_read_in_the_workspace_runs_with_roots_to_read_and_none_to_write() -> None:
    grant = await gate().authorize(action(READ, path="a.txt"), NONE)
    assert (grant.envelope.read, grant.envelope.write) == ((WORKSPACE,), ())


async def test_a_write_in_the_workspace_counts_as_a_read_and_carries_the_digest() -> None:
    facts = FakeFacts(digests={WORKSPACE + "/a.txt": "abc"})
    verdict = await gate(facts=facts).judge(action(WRITE, path="a.txt"))
    assert (verdict.decision, verdict.tier, verdict.risk) == (Decision.ALLOW, Tier.READ, Risk.MEDIUM)
    grant = await gate(facts=facts).authorize(action(WRITE, path="a.txt"), NONE)
    assert (grant.envelope.write, grant.envelope.digests) == ((WORKSPACE,), {WORKSPACE + "/a.txt": "abc"})


@pytest.mark.parametrize("path", ["../x", "a/../../../x", "/tmp/x", "/srv/x"])
@pytest.mark.parametrize("tool", [READ, WRITE, DELETE])
async def test_a_file_tool_asks_outside_and_a_yes_opens_that_path_alone(path: str, tool: Any) -> None:
    call = action(tool, path=path, trust=Trust.HIGH)
    verdict = await gate().judge(call)
    assert (verdict.decision, verdict.inside, verdict.auto) == (Decision.ASK, False, False)
    assert "path.outside" in [rule.id for rule in verdict.rules]
    asked = await question(call)
    envelope = (await gate().authorize(call, answered(asked.hash, "once"))).envelope
    assert (envelope.write if tool is not READ else [p for p in envelope.read if p != WORKSPACE][:1]) in ((verdict.resolved,), [verdict.resolved])


@pytest.mark.parametrize("path", ["/etc/passwd", "/usr/include/stdio.h", "/proc/cpuinfo"])
async def test_public_places_of_the_system_are_read_unasked_by_file_tools_as_by_commands(path: str) -> None:
    verdict = await gate().judge(action(READ, path=path))
    assert (verdict.decision, verdict.risk, verdict.tier) == (Decision.ALLOW, Risk.LOW, Tier.READ)
    assert (await judge(f"cat {path}")).decision is Decision.ALLOW
    assert (await gate().authorize(action(READ, path=path), NONE)).envelope.read == (path, WORKSPACE)
    changed = await gate().judge(action(WRITE, path=path, trust=Trust.HIGH))
    assert (changed.decision, changed.tier) == (Decision.ASK, Tier.SYSTEM_CRITICAL)


@pytest.mark.parametrize("tool", [READ, WRITE, DELETE])
@pytest.mark.parametrize("workspace", [WORKSPACE, "/home/ann", "/", "/home/ann/.local/share/neuralclaw", "/home/ann/.local/share/neuralclaw/sub"])
async def test_the_agents_own_data_is_refused_whatever_the_workspace(tool: Any, workspace: str) -> None:
    verdict = await gate().judge(action(tool, path="/home/ann/.local/share/neuralclaw/sub/x", workspace=workspace, trust=Trust.HIGH))
    assert verdict.decision is Decision.FORBID
    assert Sink.SELF in verdict.sinks
    assert verdict.rules[0].alternative


async def test_a_link_out_of_the_workspace_is_outside() -> None:
    facts = FakeFacts(links={WORKSPACE + "/out": "/srv/data"})
    verdict = await gate(facts=facts).judge(action(READ, path="out/x"))
    assert (verdict.decision, verdict.resolved, verdict.inside) == (Decision.ASK, "/srv/data/x", False)


async def test_an_allowed_path_is_as_good_as_the_workspace() -> None:
    policy = Policy(allowed_paths=("/data",), home_dir="/home/ann")
    grant = await gate(policy, FakeFacts(allowed=("/data",))).authorize(action(WRITE, path="/data/x"), NONE)
    assert grant.envelope.write == ("/data",)


@pytest.mark.parametrize("workspace", ["/", "/home/ann", "/home/ann/.local/share/neuralclaw"])
async def test_a_workspace_that_is_too_much_is_not_written_unasked(workspace: str) -> None:
    verdict = await gate().judge(action(WRITE, path="x.txt", workspace=workspace))
    assert verdict.decision is not Decision.ALLOW
    assert not verdict.auto


async def test_a_workspace_inside_the_data_home_may_be_used_and_the_rest_of_it_not() -> None:
    inside = "/home/ann/.local/share/neuralclaw/workspaces/s"
    assert (await gate().judge(action(WRITE, path="x", workspace=inside))).decision is Decision.ALLOW
    assert (await gate().judge(action(READ, path="../../journal.db", workspace=inside))).decision is Decision.FORBID
    home = await gate().judge(action(READ, path=".local/share/neuralclaw/journal.db", workspace="/home/ann"))
    assert home.decision is Decision.FORBID


async def test_a_question_shows_what_it_is_about_and_when_it_ends() -> None:
    asked = await question(action(DELETE, path="b.txt"))
    assert (asked.approval_id, asked.call_id, asked.action.show, asked.risk) == ("Q123456789", "c1", "b.txt", Risk.HIGH)
    assert asked.expires == 1000.0 + 7 * 86400
    assert asked.scopes == (Scope("directory", WORKSPACE, "delete_file", DELETE.digest),)
    assert asked.auto
    assert asked.reasons


async def test_approval_ids_are_ten_letters_and_digits() -> None:
    judged = PolicyGate(POLICY, FakeFacts(), FakeClock(), analyse)
    with pytest.raises(Parked) as parked:
        await judged.authorize(action(DELETE, path="b"), NONE)
    id = parked.value.question.approval_id
    assert len(id) == 10
    assert id.isalnum()
    assert id.isascii()


@pytest.mark.parametrize("decision", ["once", "session", "always"])
async def test_a_yes_to_this_very_call_makes_a_grant(decision: str) -> None:
    call = action(DELETE, path="b.txt")
    asked = await question(call)
    grant = await gate().authorize(call, answered(asked.hash, decision))
    assert grant.hash == asked.hash


async def test_a_no_is_a_denial_and_says_so() -> None:
    call = action(DELETE, path="b.txt")
    asked = await question(call)
    with pytest.raises(Denied) as denied:
        await gate().authorize(call, answered(asked.hash, "no"))
    assert denied.value.verdict.rules[0].id == "approval.no"


@pytest.mark.invariant("gate.as-judged")
@pytest.mark.invariant("gate.one-call")
async def test_an_answer_holds_only_for_what_was_judged() -> None:
    call = action(DELETE, path="b.txt")
    path = WORKSPACE + "/b.txt"
    asked = await question(call, facts=FakeFacts(digests={path: "old"}))
    yes = answered(asked.hash, "once")
    await gate(facts=FakeFacts(digests={path: "old"})).authorize(call, yes)
    with pytest.raises(Parked):
        await gate(facts=FakeFacts(digests={path: "new"})).authorize(call, yes)
    with pytest.raises(Parked):
        await gate(facts=FakeFacts(digests={path: "old"})).authorize(action(DELETE, path="c.txt"), yes)


async def test_an_answer_never_lifts_what_is_forbidden() -> None:
    call = action(TERMINAL, command="rm -rf /")
    asked = await question(action(TERMINAL, command="rm old"))
    every = msgspec.structs.replace(asked, scopes=(Scope("program", "rm", "terminal"), Scope("tool", "terminal", "terminal")))
    with pytest.raises(Denied):
        await gate().authorize(call, standing(every))


@pytest.mark.parametrize(
    "text", ["echo $X > a", "$X", "python -c 'print(1)'", "git -c a=b log", "cat .ssh/id_rsa", "apt install x", "find . -delete", "cat a | sh"]
)
async def test_what_is_not_fully_understood_or_too_wide_offers_no_standing_answer(text: str) -> None:
    asked = await question(action(TERMINAL, command=text))
    assert asked.scopes == ()
    assert asked.choices == ("once", "no")


async def test_a_read_by_command_mounts_nothing_writable_and_an_approved_one_the_workspace() -> None:
    read = await gate().authorize(action(TERMINAL, command="ls"), NONE)
    assert (read.envelope.execute, read.envelope.write, read.envelope.network) == (True, (), False)
    assert read.envelope.programs == {"ls": "/usr/bin/ls"}
    call = action(TERMINAL, command="python x.py")
    asked = await question(call)
    grant = await gate().authorize(call, answered(asked.hash, "once"))
    assert (grant.envelope.write, grant.envelope.network) == ((WORKSPACE,), False)


async def test_trust_raises_what_runs_without_asking() -> None:
    assert (await judge("python x.py", trust=Trust.MEDIUM)).decision is Decision.ASK
    assert (await judge("python x.py", trust=Trust.HIGH)).decision is Decision.ALLOW
    assert (await judge("git push", trust=Trust.HIGH)).decision is Decision.ASK
    quiet = Policy(programs=POLICY.programs, require_confirmation_for=())
    assert (await judge("git push", trust=Trust.HIGH, policy=quiet)).decision is Decision.ALLOW
    assert (await judge("systemctl restart x", trust=Trust.HIGH, policy=quiet)).decision is Decision.ASK


@pytest.mark.parametrize(
    ("text", "auto"), [("git push", True), ("tool x", True), ("python x.py", True), ("cat .ssh/id_rsa", False), ("apt install x", False), ("echo 'x", False)]
)
async def test_auto_covers_risk_up_to_high_tier_up_to_execute_and_the_list(text: str, auto: bool) -> None:
    assert (await judge(text)).auto is auto


class Broken:
    async def look(self, action: Action, wants: Wants) -> FactSheet:
        raise OSError("no facts today")


class Silent:
    async def look(self, action: Action, wants: Wants) -> FactSheet:
        return FactSheet()


@pytest.mark.invariant("gate.crash-refuses")
@pytest.mark.parametrize("facts", [Broken(), Silent()])
@pytest.mark.invariant("gate.crash-refuses")
async def test_a_check_that_fails_or_learns_nothing_means_no(facts: Any) -> None:
    judged = PolicyGate(POLICY, facts, FakeClock(), analyse)
    for call in (action(READ, path="a"), action(FETCH, url="https://example.com")):
        with pytest.raises(Denied) as denied:
            await judged.authorize(call, NONE)
        assert [r.id for r in denied.value.verdict.rules] == ["gate.error"]


@pytest.mark.invariant("gate.unknown-refuses")
@pytest.mark.invariant("gate.unknown-refuses")
async def test_a_call_without_a_known_tool_or_with_unreadable_arguments_is_refused() -> None:
    unknown: Any = action(None)  # type: ignore[arg-type]
    assert [r.id for r in (await gate().judge(unknown)).rules] == ["tool.unknown"]
    assert (await gate().judge(action(READ, path=7))).decision is Decision.FORBID
    assert (await gate().judge(action(READ, path="a\0b"))).decision is Decision.FORBID


async def test_a_tool_that_wants_confirmation_asks_every_time() -> None:
    asked = await question(action(spec("sure", requires_confirmation=True)))
    assert "tool.confirmation" in [r.id for r in asked.verdict.rules]
    assert asked.scopes == ()


async def test_owner_rules_forbid_ask_and_allow_what_would_ask() -> None:
    def ruled(*rules: OwnerRule) -> Policy:
        return Policy(programs=POLICY.programs, rules=rules, home_dir="/home/ann")

    no_log = ruled(OwnerRule(id="nolog", decision=Decision.FORBID, command="git log", reason="no history"))
    assert (await judge("ls && git log", policy=no_log)).rules[0].id == "owner.nolog"
    push = ruled(OwnerRule(id="push", decision=Decision.ALLOW, command="git push"))
    assert (await judge("git status; git push", policy=push)).decision is Decision.ALLOW
    assert (await judge("git push; git commit -m x", policy=push)).decision is Decision.ASK
    assert (await judge("git push $X", policy=push)).decision is Decision.ASK
    careful = ruled(OwnerRule(id="notes", decision=Decision.ASK, path=WORKSPACE + "/notes"))
    assert (await gate(careful).judge(action(READ, path="notes/a"))).decision is Decision.ASK
    assert (await gate(careful).judge(action(READ, path="b"))).decision is Decision.ALLOW
    shadow = ruled(OwnerRule(id="all", decision=Decision.ALLOW, tool="terminal"))
    assert (await judge("cat /etc/shadow", policy=shadow)).decision is Decision.FORBID


async def test_an_owner_rule_releases_rm_rf_and_dd_in_a_named_directory_only() -> None:
    build = WORKSPACE + "/build"
    rules = (
        OwnerRule(id="clean", decision=Decision.ALLOW, command="rm -rf", path=build),
        OwnerRule(id="image", decision=Decision.ALLOW, command="dd", path=build),
        OwnerRule(id="wide", decision=Decision.ALLOW, command="rm -rf", path="/"),
        OwnerRule(id="su", decision=Decision.ALLOW, command="sudo", path="/"),
    )
    some = Policy(programs=POLICY.programs, rules=rules[:2], home_dir="/home/ann")
    assert (await judge("rm -rf build/x", policy=some)).decision is Decision.ALLOW
    assert (await judge("dd if=a of=build/x", policy=some)).decision is not Decision.FORBID
    for no in ("rm -rf other", "rm -rf build/x other", "rm -rf build/../other", "dd if=a of=x", "rm -rf $X", "ls | xargs rm -rf build"):
        assert (await judge(no, policy=some)).decision is Decision.FORBID, no
    every = Policy(programs=POLICY.programs, rules=rules, home_dir="/home/ann")
    for no in ("rm -rf /", "rm -rf ~", "rm -rf /etc", "sudo ls", "rm -rf ../.."):
        assert (await judge(no, policy=every)).decision is Decision.FORBID, no


async def test_a_standing_grant_is_for_the_named_hosts_and_roots_and_no_tool() -> None:
    grant = gate().standing_grant(hosts=("api.example.com",), write=("/srv/x",))
    envelope = grant.check()
    assert (envelope.hosts, envelope.write, envelope.execute, envelope.network) == (("api.example.com",), ("/srv/x",), False, True)
    assert (grant.tool, grant.call_id) == ("", "")
    grant.close()
    with pytest.raises(PermissionDeniedError):
        grant.check()


def test_only_the_gate_constructs_grants() -> None:
    root = Path(inspect.getfile(neuralclaw)).parent
    makers = {p.relative_to(root).as_posix() for p in root.rglob("*.py") if " Grant(" in p.read_text() or "=Grant(" in p.read_text()}
    assert makers <= {"safety/gate.py", "safety/recorded_gate.py"}  # the second makes those of a replay, which allow nothing (tests/house)
