"""The program over an empty home."""

from pathlib import Path

import pytest

from .program import Claw


@pytest.fixture
def claw(home: Path, tmp_path: Path) -> Claw:
    return Claw(home, tmp_path / "work")
