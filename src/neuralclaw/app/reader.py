"""A home opened for reading alone: works on a full disk, a read-only home and beside running processes."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from .. import config
from ..config import process_environment
from ..errors import UsageError
from ..store.sqlite import SqliteStore
from .capabilities import ClientCapabilities, capabilities_of_home
from .capability_context import CapabilityClient
from .clock import SystemClock
from .verb_calls import call_verb


class RecordDesk:
    """The verbs that need the record alone."""

    def __init__(self, given: ClientCapabilities) -> None:
        self._verbs = given.verbs()

    async def do(self, verb: str, /, **arguments: Any) -> Any:
        """The value of a verb, as `--json` prints it. Raises `UsageError` for one that needs more than the record."""
        found = self._verbs.get(verb)
        if found is not None and not found.row.record_only:
            raise UsageError(f"{verb} needs more than the record, which alone is open here")
        return await call_verb(self._verbs, verb, arguments)


@asynccontextmanager
async def reader(home: str | None = None, *, workspace: str = "", environ: Mapping[str, str] | None = None) -> AsyncIterator[RecordDesk]:
    """The record of a home. It does not need a configuration that can be read. `workspace`: a real path, whose newest session is meant by none."""
    asked = config.SettingsRequest(home, environ if environ is not None else process_environment.environ)
    folder, _ = config.data_directories(home, asked.environ)
    capabilities, clock = capabilities_of_home(asked), SystemClock()
    store = await SqliteStore.open(folder, clock=clock, codec=capabilities.codec, tables=capabilities.tables(), readonly=True)
    try:
        yield RecordDesk(capabilities.for_client(CapabilityClient(None, None, store, clock, lambda entries: None, workspace)))
    finally:
        await store.aclose()
