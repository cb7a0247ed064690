"""What keeps the program from starting is named, and nothing else is blamed for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Claw

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("most", [7, 12, 15])
async def test_too_many_open_files(claw: Claw, most: int) -> None:
    line = f'ulimit -n {most}; exec "$0" -m neuralclaw --home "$1" run "calculate 6*7"'
    ran = subprocess.run(["bash", "-c", line, sys.executable, str(claw.home)], env=claw.env, capture_output=True, text=True, timeout=60, cwd=claw.workspace)
    assert ran.returncode == 1
    assert "too many files are open" in ran.stderr
    assert "ulimit -n 1024" in ran.stderr
    assert "permission" not in ran.stderr


@pytest.mark.parametrize("variable", ["NEURALCLAW_HOME", "HOME", "XDG_DATA_HOME"])
async def test_a_data_directory_whose_name_is_not_utf_8(claw: Claw, variable: str) -> None:
    name = os.fsencode(claw.workspace) + b"/h\xff"
    environ = {os.fsencode(key): os.fsencode(value) for key, value in claw.env.items() if key not in ("NEURALCLAW_HOME", "XDG_DATA_HOME")}
    words = [sys.executable, "-m", "neuralclaw", "run", "calculate 6*7"]
    ran = subprocess.run(words, env=environ | {os.fsencode(variable): name}, capture_output=True, text=True, timeout=60, cwd=claw.workspace)
    assert (ran.returncode, ran.stdout) == (78, "")
    assert "is not UTF-8; nothing was changed" in ran.stderr
    assert not os.path.lexists(name)


async def test_a_workspace_whose_name_is_not_utf_8(claw: Claw) -> None:
    place = Path(os.fsdecode(os.fsencode(claw.workspace) + b"/w\xff"))
    place.mkdir()
    words = [sys.executable, "-m", "neuralclaw", "--home", str(claw.home), "run", "calculate 6*7"]
    ran = subprocess.run(words, env=claw.env, capture_output=True, text=True, timeout=60, cwd=place)
    assert ran.returncode == 1
    assert "is not UTF-8; nothing was run" in ran.stderr
    assert (await claw("sessions", "list", "--json")).json == []


async def test_a_name_that_is_too_long(claw: Claw) -> None:
    ran = await claw("--home", str(claw.workspace / ("d" * 300)), "run", "calculate 6*7")
    assert ran.code == 78
    assert "File name too long" in ran.err
    assert "Choose another data directory" in ran.err
