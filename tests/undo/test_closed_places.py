"""What an ordinary user cannot read: undo takes nothing away that it could not see, and sees what a command closed."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ..ordinary_user import ORDINARY, run_as
from .hostile_day import Day

CASES = {
    "a closed directory that a command opened": ("mkdir -p d/e; echo 1 > d/f; echo 2 > d/e/g; chmod 000 d", "chmod 755 d"),
    "a closed directory that a command opened and moved": ("mkdir d; echo 1 > d/f; chmod 000 d", "chmod 755 d; mv d e; mv e/f ."),
    "a closed workspace that a command opened and closed again": ("echo 1 > a; chmod 555 .", "chmod 755 .; echo 2 > a; chmod 555 ."),
    "a directory that a command changed and closed": ("mkdir d; echo precious > d/f", "echo lost > d/f; chmod 000 d"),
    "a file that a command changed and closed": ("echo precious > f", "echo lost > f; chmod 000 f"),
    "the same with its time put back": ("echo precious > f; touch -d 2020-01-01 f", "touch -r f t; echo lostlost > f; touch -r t f; chmod 000 f; rm t"),
}


def texts(root: Path) -> set[str]:
    subprocess.run(["chmod", "-R", "u+rwX", str(root)], check=True)
    return {Path(place, name).read_text() for place, _, names in os.walk(root) for name in names}


def live_through(place: Path, case: str) -> None:
    first, then = CASES[case]
    day = Day(place)
    day.run(first)
    day.begin()
    day.run(then)
    day.undo(day.end())
    wanted = Day(place / "wanted")
    wanted.run(first)
    assert texts(day.root) == texts(wanted.root), case


@pytest.mark.parametrize("case", CASES)
def test_as_an_ordinary_user(case: str) -> None:
    place = Path(tempfile.mkdtemp())
    try:
        (place / "wanted").mkdir()
        for one in (place, place / "wanted"):
            os.chown(one, ORDINARY, -1)
        env = {"PATH": os.environ["PATH"], "HOME": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
        words = [sys.executable, "-m", "tests.undo.test_closed_places", str(place), case]
        done = run_as(ORDINARY, words, env=env)
        assert done.returncode == 0, done.stderr
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":  # as another user: `python -m tests.undo.test_closed_places DIRECTORY CASE`
    live_through(Path(sys.argv[1]), sys.argv[2])
