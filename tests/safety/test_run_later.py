"""Writes by file tools of what other programs run later: the table of the sandboxes, asked about by the gate."""

from pathlib import Path

import msgspec
import pytest

from neuralclaw.safety import run_later
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.sandbox.later_run import place_names
from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.types.datafile import read_data_file
from neuralclaw.types.questions import Answers
from neuralclaw.types.risk import Decision, Trust
from neuralclaw.types.signals import Parked

from .parts import POLICY, WORKSPACE, WRITE, FakeClock, FakeFacts, action, gate

pytestmark = pytest.mark.anyio
ROWS = read_data_file(place_names.FILE, place_names.PlaceTable).rows
PLACES = [path for row in ROWS for path, is_place in row.examples.items() if is_place]
OTHERS = [path for row in ROWS for path, is_place in row.examples.items() if not is_place and row.where in ("git", "anywhere", "root")]


def test_the_gate_and_the_sandboxes_have_one_table() -> None:
    assert run_later.FILE == place_names.FILE
    assert {row.where for row in ROWS} == {"git", "repository", "anywhere", "root", "named"}


@pytest.mark.parametrize("path", [*PLACES, ".git", "sub/.git/hooks/post-merge", "lib.git/hooks/update", ".ENVRC", "./a/../.git/config"])
async def test_a_file_tool_asks_before_it_writes_what_is_run_later(path: str) -> None:
    with pytest.raises(Parked) as parked:
        await gate().authorize(action(WRITE, path=path, trust=Trust.HIGH), Answers())
    assert not parked.value.question.auto
    assert parked.value.question.choices == ("once", "no")


@pytest.mark.parametrize("path", [*OTHERS, "notes.md", "src/config", "hooks/pre-commit", ".gitignore"])
async def test_another_file_is_written_as_before(path: str) -> None:
    assert (await gate().judge(action(WRITE, path=path, trust=Trust.HIGH))).decision is Decision.ALLOW


async def test_a_link_to_such_a_place_asks_too() -> None:
    facts = FakeFacts(links={f"{WORKSPACE}/notes.md": f"{WORKSPACE}/.git/hooks/pre-commit"})
    assert (await gate(POLICY, facts).judge(action(WRITE, path="notes.md"))).decision is Decision.ASK


async def test_a_repository_is_known_by_its_head_whatever_its_name(tmp_path: Path) -> None:
    work = tmp_path.resolve()
    for name in ("bare", "plain"):
        (work / name / "info").mkdir(parents=True)
    (work / "bare" / "HEAD").write_text("ref: refs/heads/main\n")
    policy = msgspec.structs.replace(POLICY, home_dir="", protected_paths=())
    judged = PolicyGate(policy, SystemFacts(policy, ""), FakeClock(), analyse)
    for name in ("config", "hooks/post-receive", "info/attributes", "HEAD", "commondir", "new/HEAD"):
        for place, expected in (("bare", Decision.ASK), ("plain", Decision.ASK if name.endswith("HEAD") else Decision.ALLOW)):
            verdict = await judged.judge(action(WRITE, workspace=str(work), path=f"{place}/{name}", trust=Trust.HIGH))
            assert verdict.decision is expected, (place, name)
    assert (await judged.judge(action(WRITE, workspace=str(work), path="bare/description", trust=Trust.HIGH))).decision is Decision.ALLOW
