"""What the tests of durability share."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def fast() -> Iterator[Path]:
    """A directory in memory: what is opened there waits for no disk."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        yield Path(directory)
