"""The program over an empty home."""

from pathlib import Path

import pytest

from ..cli.program import Claw


@pytest.fixture
def claw(home: Path, tmp_path: Path) -> Claw:
    return Claw(home, tmp_path / "work")
