"""A home with recorded sessions, and the program over an empty one."""

from pathlib import Path

import pytest

from ..cli.program import Claw
from .parts import RecordedHome


@pytest.fixture
def claw(home: Path, tmp_path: Path) -> Claw:
    return Claw(home, tmp_path / "work")


@pytest.fixture
def recorded(home: Path, tmp_path: Path) -> RecordedHome:
    return RecordedHome(home, tmp_path / "work")
