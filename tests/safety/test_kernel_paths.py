"""Property: the place that the path guard names is the place that the kernel and bash touch, for random trees and spellings."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.sandbox.path_facts import PathFacts
from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.types.facts import PathWant
from neuralclaw.types.options import Policy
from neuralclaw.types.risk import Decision, Trust

from .parts import LISTED, READ, TERMINAL, FakeClock, action

pytestmark = pytest.mark.anyio
NAMES = ("a", "b", "d", "e", "l", "m")
PARTS = (*NAMES, "..", "..", ".", "", "d", "l", "m", "~")
Tree = list[tuple[str, list[str], list[str]]]
names, parts = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3), st.lists(st.sampled_from(PARTS), min_size=1, max_size=5)
trees = st.lists(st.tuples(st.sampled_from(("file", "directory", "link")), names, parts), min_size=2, max_size=9)
heads = st.sampled_from(("", "./", "~/", "~/w/", "{W}/", "{W}/../w/", "/proc/self/root{W}/"))
spellings = st.builds(lambda head, parts: head + "/".join(parts), heads, parts)
wild = st.builds("/".join, st.lists(st.sampled_from(("*", "?", "[ab]*", "..", "d", "l")), min_size=1, max_size=3))


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="paths")).resolve()
    yield made
    shutil.rmtree(made)


def plant(home: Path, tree: Tree) -> Path:
    """The workspace `w` with what the tree names; what cannot be made there is left out."""
    shutil.rmtree(home / "w", ignore_errors=True)
    for place in ("w", "w/d", "w/d/e", "o", "o/d", "o/d/e"):
        (home / place).mkdir(exist_ok=True)
        for name in ("a", "b"):
            (home / place / name).write_text("x")
    (home / "w/l").symlink_to("d/e")
    (home / "w/m").symlink_to("../o/d")
    for kind, name, target in tree:
        path = home.joinpath("w", *name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "directory":
                path.mkdir()
            elif kind == "file":
                path.write_text("x")
            else:
                path.symlink_to("/".join(target) or ".")
        except OSError:
            continue
    return home / "w"


def opened(path: str, cwd: Path) -> tuple[int, int] | None:
    """What the kernel opens there."""
    try:
        status = os.stat(path if path.startswith("/") else f"{cwd}/{path}")  # noqa: PTH116 (a Path would drop what is tested)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def policy_of(home: Path) -> Policy:
    return Policy(home_dir=str(home), protected_paths=("/", str(home)), programs=LISTED, require_confirmation_for=())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=trees, spelling=spellings)
@example(tree=[], spelling="l/../a")
@example(tree=[], spelling="m/../a")
@example(tree=[], spelling="~/w/m/../../w/l/../b")
async def test_a_file_tool_is_judged_for_the_place_that_the_kernel_opens(home: Path, tree: Tree, spelling: str) -> None:
    work, policy = plant(home, tree), policy_of(home)
    path = spelling.replace("{W}", str(work))
    gate = PolicyGate(policy, SystemFacts(policy, "/usr/bin:/bin"), FakeClock(), analyse)
    verdict = await gate.judge(action(READ, path=path, workspace=str(work), trust=Trust.HIGH))
    assert verdict.rules[:1] == () or verdict.rules[0].id != "gate.error", verdict.rules
    real = opened(str(home) + path[1:] if path == "~" or path.startswith("~/") else path, work)
    if real is None:
        return
    assert verdict.resolved is not None
    assert opened(verdict.resolved, work) == real
    assert os.path.realpath(verdict.resolved) == verdict.resolved
    if not verdict.resolved.startswith(f"{work}/") and verdict.resolved != str(work):
        assert verdict.decision is not Decision.ALLOW


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=trees, pattern=wild)
async def test_a_wildcard_means_to_the_guard_at_least_what_it_means_to_bash(home: Path, tree: Tree, pattern: str) -> None:
    work, policy = plant(home, tree), policy_of(home)
    told = subprocess.run(["bash", "-c", f"printf '%s\\0' {pattern}"], cwd=work, capture_output=True, check=True).stdout.split(b"\0")[:-1]
    fact = PathFacts(str(work), (str(work),), policy, in_command=True).fact(PathWant(f"{work}/{pattern}", "read"))
    seen = {opened(one.resolved, work) for one in (fact, *fact.expanded)}
    assert fact.many or {opened(os.fsdecode(name), work) for name in told} - {None} <= seen


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=trees, directory=spellings, name=st.sampled_from(NAMES))
async def test_a_command_that_changes_directory_reads_nothing_outside_unasked(home: Path, tree: Tree, directory: str, name: str) -> None:
    work, policy = plant(home, tree), policy_of(home)
    where = directory.replace("{W}", str(work)).replace("/proc/self/root", "")
    for line in (f"cd {where} && cat {name}", f"env -C {where} cat {name}"):
        if where.startswith("~") and line.startswith("cd") is False and not where.startswith("~/"):
            continue
        gate = PolicyGate(policy, SystemFacts(policy, "/usr/bin:/bin", undo_lacks=None), FakeClock(), analyse)
        verdict = await gate.judge(action(TERMINAL, command=line, workspace=str(work), trust=Trust.HIGH))
        show = line.replace(f"cat {name}", f"realpath -e {name}")
        told = subprocess.run(["bash", "-c", show], cwd=work, env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)
        place = told.stdout.strip() if told.returncode == 0 else ""
        if place and place != str(work) and not place.startswith(f"{work}/"):
            assert verdict.decision is not Decision.ALLOW, (line, place)
