"""What a careless or malicious agent did is undone, redone and undone again, byte for byte with modes and links."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..ordinary_user import ORDINARY, run_as
from ..sandbox.processes import BWRAP
from .hostile_day import CASES, live_through

pytestmark = pytest.mark.full

TOP = Path(__file__).parents[2]


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_day_is_undone(tmp_path: Path, case: str) -> None:
    live_through(tmp_path, case)


def test_so_it_is_by_an_ordinary_user() -> None:
    env = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-m", "tests.undo.hostile_day"]
    done = run_as(ORDINARY, words, env=env)
    assert (done.returncode, done.stdout.strip()) == (0, str(len(CASES))), done.stderr


LOOK = """
import sys
from pathlib import Path
from tests.undo.hostile_day import Day
print(sorted((one.path.decode().rsplit("/", 1)[-1], one.why) for one in Day(Path(sys.argv[1])).tree.refresh().not_kept))
"""


def test_what_is_mounted_inside_the_workspace_is_named(tmp_path: Path) -> None:
    root = tmp_path / "w"
    for name in ("elsewhere", "w/mnt", "w/own"):
        (tmp_path / name).mkdir(parents=True)
    (root / "file").touch()
    mounts = [(tmp_path / "elsewhere", root / "mnt"), (Path("/etc/hostname"), root / "file"), (root / "own", root / "own")]
    binds = [str(part) for source, place in mounts for part in ("--bind", source, place)]
    words = [BWRAP, "--dev-bind", "/", "/", *binds, sys.executable, "-c", LOOK, str(tmp_path)]
    done = subprocess.run(words, cwd=TOP, capture_output=True, text=True, check=False)
    why = "another file system is mounted there"
    assert done.stdout.strip() == str([("file", why), ("mnt", why), ("own", why)]), done.stderr
