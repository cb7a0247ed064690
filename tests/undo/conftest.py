"""What tests of undo share."""

from pathlib import Path

import pytest


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with one file."""
    place = tmp_path / "w"
    place.mkdir()
    (place / "a.txt").write_text("one\n")
    return place
