"""Writes of what later turns read as instructions, and an owner's rule whose places may lead through a link."""

import pytest

from neuralclaw.types.options import OwnerRule, Policy
from neuralclaw.types.questions import Answers
from neuralclaw.types.risk import Decision, Sink, Trust
from neuralclaw.types.signals import Parked

from .parts import LISTED, POLICY, TERMINAL, WORKSPACE, WRITE, FakeFacts, action, gate, judge

pytestmark = pytest.mark.anyio
RULED = Policy(programs=(*LISTED, "rm"), home_dir="/home/ann", rules=(OwnerRule(id="clean", decision=Decision.ALLOW, command="rm", path="build"),))
LINKED = FakeFacts(links={f"{WORKSPACE}/build/link": "/home/ann/elsewhere"})


@pytest.mark.parametrize("path", ["AGENTS.md", "sub/AGENTS.md", "./agents.md"])
async def test_a_file_tool_asks_before_it_writes_what_later_turns_take_as_instructions(path: str) -> None:
    with pytest.raises(Parked) as parked:
        await gate().authorize(action(WRITE, path=path, trust=Trust.HIGH), Answers())
    asked = parked.value.question
    assert asked.summary == f"write_file: writes {path.removeprefix('./')}, which later turns take as instructions"
    assert asked.choices == ("once", "no")
    assert not asked.auto
    assert asked.verdict is not None
    assert Sink.SELF in asked.verdict.sinks


@pytest.mark.parametrize(
    "text",
    ["echo x > AGENTS.md", "tee AGENTS.md", "cp evil.md AGENTS.md", "cp sub/AGENTS.md .", "mv x AGENTS.md", "touch sub/AGENTS.md", "sed -i s/a/b/ AGENTS.md"],
)
async def test_a_command_asks_before_it_writes_what_later_turns_take_as_instructions(text: str) -> None:
    verdict = await judge(text, trust=Trust.HIGH)
    assert verdict.decision is Decision.ASK
    assert not verdict.auto
    assert "path.instructions" in [r.id for r in verdict.rules]


async def test_reading_the_instructions_or_writing_beside_them_is_as_before() -> None:
    assert (await judge("cat AGENTS.md")).decision is Decision.ALLOW
    assert (await judge("grep -n x AGENTS.md | head -3")).decision is Decision.ALLOW
    assert (await gate().judge(action(WRITE, path="notes.md"))).decision is Decision.ALLOW


async def test_a_write_through_a_link_to_the_instructions_asks() -> None:
    facts = FakeFacts(links={f"{WORKSPACE}/notes.md": f"{WORKSPACE}/AGENTS.md"})
    assert (await gate(POLICY, facts).judge(action(WRITE, path="notes.md"))).decision is Decision.ASK


@pytest.mark.parametrize("text", ["rm -rf build/x", "rm -rf build/", "rm -rf build/*", "rm build/a.txt"])
async def test_an_owners_rule_lets_go_of_what_surely_lies_in_its_directory(text: str) -> None:
    assert (await judge(text, policy=RULED, facts=LINKED, trust=Trust.HIGH)).decision is Decision.ALLOW


@pytest.mark.parametrize(
    "text",
    ["rm -rf build/*/s.txt", "rm -rf build/link/.", "rm -rf build/link/", "rm -rf build/*/", "rm build/*/s.txt", "rm -rf build/link/s.txt"],
)
async def test_an_owners_rule_does_not_reach_through_a_link(text: str) -> None:
    verdict = await gate(RULED, LINKED).judge(action(TERMINAL, command=text, trust=Trust.HIGH))
    assert verdict.decision is not Decision.ALLOW, verdict.rules
