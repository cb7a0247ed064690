"""Fuzzing by coverage: no input makes the kernel fail, and none is answered more widely for what means nothing in it."""

import platform
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNS = 500
TARGETS = ("command", "path", "url", "rules") if platform.machine() == "x86_64" else ()
"""None on machines for which atheris does not exist."""


@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
def test_no_input_that_coverage_finds_makes_the_kernel_fail(target: str) -> None:
    options = [f"-seed={random.randrange(1, 2**31)}", f"-runs={RUNS}"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.safety.coverage_fuzz", target, *options], cwd=ROOT, capture_output=True, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, (options, done.stderr[-3_000:])
    assert f"Done {RUNS} runs" in done.stderr
