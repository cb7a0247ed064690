"""A home opened for reading alone: works on a full disk, a read-only home and beside running processes."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from .. import config
from ..config import process_environment
from ..errors import ConfigError
from ..secrets import Redactor
from ..store.sqlite import SqliteStore
from .capabilities import capabilities_of_home
from .capability_context import CapabilityClient
from .clock import SystemClock
from .record.anchoring import anchor_of, places_of_home
from .settings_loading import load_settings
from .verb_calls import VerbDesk


@asynccontextmanager
async def reader(home: str | None = None, *, workspace: str = "", environ: Mapping[str, str] | None = None) -> AsyncIterator[VerbDesk]:
    """The verbs that need the record of a home alone; others raise `UsageError`. No configuration that can be read is needed; where there is none, secrets
    are known by their form alone.

    `workspace`: a real path, whose newest session is meant by none.
    """
    asked = config.SettingsRequest(home, environ if environ is not None else process_environment.environ)
    folder, _ = config.data_directories(home, asked.environ)
    capabilities, clock = capabilities_of_home(asked), SystemClock()
    store = await SqliteStore.open(folder, clock=clock, codec=capabilities.codec, tables=capabilities.tables(), readonly=True)
    anchor = anchor_of(folder, asked.environ)
    store.keep_anchor(anchor, places_of_home(anchor, asked))
    try:
        redactor = _redactor(asked)
        client = CapabilityClient(None, None, store, clock, lambda entries: None, workspace, redaction=redactor)
        yield VerbDesk(capabilities.for_client(client).verbs(), redactor)
    finally:
        await store.aclose()


def _redactor(asked: config.SettingsRequest) -> Redactor:
    try:
        return Redactor(config.secret_values(load_settings(asked.home, asked.environ, None)))
    except ConfigError:
        return Redactor()
