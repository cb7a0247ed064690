"""The conformance suite of the port `Store`, for each database that the program can use."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from neuralclaw.ports import Store

from . import kit, readings
from .conformance import Opening, StoreConformance

pytestmark = pytest.mark.anyio


class TestSqlite(StoreConformance):
    @pytest.fixture
    def opening(self, home: Path) -> Opening:
        @asynccontextmanager
        async def opened(**options: Any) -> AsyncIterator[Store]:
            async with kit.opened(home, **{"codec": readings.CODEC, "tables": [readings.BOOKS], **options}) as store:
                yield store

        return opened
