"""Fixtures that every room's tests share."""

from pathlib import Path

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty data directory, 0700 as the program makes it."""
    path = tmp_path / "home"
    path.mkdir(mode=0o700)
    return path
