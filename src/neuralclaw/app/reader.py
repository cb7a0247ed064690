"""A home opened for reading alone: works on a full disk, a read-only home and beside running processes."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from .. import config
from ..config import process_environment
from ..store.sqlite import SqliteStore
from .capabilities import capabilities_of_home
from .capability_context import CapabilityClient
from .clock import SystemClock
from .verb_calls import VerbDesk


@asynccontextmanager
async def reader(home: str | None = None, *, workspace: str = "", environ: Mapping[str, str] | None = None) -> AsyncIterator[VerbDesk]:
    """The verbs that need the record of a home alone; others raise `UsageError`. No configuration that can be read is needed.

    `workspace`: a real path, whose newest session is meant by none.
    """
    asked = config.SettingsRequest(home, environ if environ is not None else process_environment.environ)
    folder, _ = config.data_directories(home, asked.environ)
    capabilities, clock = capabilities_of_home(asked), SystemClock()
    store = await SqliteStore.open(folder, clock=clock, codec=capabilities.codec, tables=capabilities.tables(), readonly=True)
    try:
        yield VerbDesk(capabilities.for_client(CapabilityClient(None, None, store, clock, lambda entries: None, workspace)).verbs())
    finally:
        await store.aclose()
