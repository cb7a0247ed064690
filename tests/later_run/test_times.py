"""Directories that did not change are not listed again, and nothing that a command can set hides that one did."""

import time
from pathlib import Path

import pytest

from neuralclaw.sandbox.later_run.place_guard import PlaceGuard
from neuralclaw.sandbox.later_run.place_scan import RACY_NS

from ..waiting import until_blocking
from .plants import made, run_later
from .test_guard import guarded


@pytest.mark.parametrize(
    ("place", "script"),
    [
        ("nested", "touch -r nested ../time; echo evil > nested/.envrc; touch -r ../time nested"),
        ("shared.envrc", "touch -r shared.envrc ../time; printf 'export A=2\n' > shared.envrc; touch -r ../time shared.envrc"),
    ],
)
def test_a_time_that_is_set_back_hides_nothing(tmp_path: Path, place: str, script: str) -> None:
    """Its time of change stays another one."""
    work, guard = made(tmp_path.resolve() / "w"), PlaceGuard(str(tmp_path / "home" / "later_run"))
    before, times = run_later(work), (work / place).stat().st_mtime_ns
    until_blocking(lambda: time.time_ns() - (work / place).stat().st_ctime_ns > RACY_NS)
    assert guarded(guard, work, "true") == []
    [change] = guarded(guard, work, f"{script}; find {place} -prune -printf %T@ > ../set")
    assert float((work.parent / "set").read_text()) == pytest.approx(times / 1e9, abs=1e-6)
    assert (change.path.endswith(".envrc"), change.why, run_later(work)) == (True, "", before)
