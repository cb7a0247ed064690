"""A home opened for reading alone: works on a full disk, a read-only home and beside running processes."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from .. import config
from ..config import process_environment
from ..runtime.desk import VerbFunction
from ..runtime.record_verbs import reading_verbs
from ..store.sqlite import SqliteStore
from .capabilities import capabilities_of_home
from .clock import SystemClock
from .option_checks import RESERVED
from .verb_calls import call_verb


class ReadingDesk:
    """The verbs that only read."""

    def __init__(self, verbs: Mapping[str, VerbFunction]) -> None:
        self._verbs = verbs

    async def do(self, verb: str, /, **arguments: Any) -> Any:
        """The value of a verb, as `--json` prints it. Raises `UsageError` for one that does not only read."""
        return await call_verb(self._verbs, verb, arguments)


@asynccontextmanager
async def reader(home: str | None = None, *, workspace: str = "", environ: Mapping[str, str] | None = None) -> AsyncIterator[ReadingDesk]:
    """The reading desk of a home. It does not need a configuration that can be read. `workspace`: a real path, whose newest session is meant by none."""
    folder, _ = config.data_directories(home, environ if environ is not None else process_environment.environ)
    capabilities = capabilities_of_home(config.SettingsRequest(home, environ if environ is not None else process_environment.environ))
    store = await SqliteStore.open(folder, clock=SystemClock(), codec=capabilities.codec, tables=capabilities.tables(), readonly=True)
    try:
        yield ReadingDesk(reading_verbs(store, workspace, left_out=RESERVED, told=capabilities.sentence_of))
    finally:
        await store.aclose()
