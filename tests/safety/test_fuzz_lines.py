"""What the gate calls LOW and allows changes nothing: lines that hide a command, judged, and run where they can do no harm."""

import random
from pathlib import Path

import pytest

from .fuzz_lines import lines
from .fuzz_run import FuzzReport, fuzz
from .fuzz_sandbox import changes_of, prepare

pytestmark = pytest.mark.anyio
SEED = 12


def passes(report: FuzzReport, seed: int) -> None:
    assert report.ran, f"seed {seed}: no line was called LOW"
    assert report.crashed == [], f"seed {seed}: the gate failed while it judged"
    assert report.wrong == [], f"seed {seed}: called LOW and allowed, and it changed something"


async def test_no_line_that_is_called_low_runs_what_it_hides(tmp_path: Path) -> None:
    prepare(tmp_path)
    passes(await fuzz(tmp_path, lines(SEED, 1500), run_at_most=120), SEED)


@pytest.mark.full
async def test_no_line_of_any_seed_runs_what_it_hides(tmp_path: Path) -> None:
    prepare(tmp_path)
    seed = random.SystemRandom().randrange(10**9)
    passes(await fuzz(tmp_path, lines(seed, 4000)), seed)


def test_a_line_that_changes_something_is_found(tmp_path: Path) -> None:
    prepare(tmp_path)
    found = changes_of(tmp_path, ["cat a.txt", ": >HIT", "git status", "sleep 0; ./x.sh &", "wc -l b.txt"])
    assert found == [[], ["HIT"], [], ["HIT"], []]


def test_a_seed_gives_the_same_lines_again() -> None:
    assert list(lines(3, 50)) == list(lines(3, 50))
    assert len({line.kind for line in lines(3, 200)}) == 9
