"""Verbs that need the settings alone: they work where the home cannot be opened or is not there."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio

from .. import config
from ..plugins import load
from .capabilities import capabilities_of
from .capability_context import CapabilityClient
from .clock import SystemClock
from .models.model_resolver import ModelResolver
from .settings_loading import load_settings
from .verb_calls import VerbDesk


@asynccontextmanager
async def settings_desk(asked: config.SettingsRequest, tell: Callable[[str], None] | None = None) -> AsyncIterator[VerbDesk]:
    """The verbs that need a configuration alone; others raise `UsageError`. `tell` shows a person what a verb says beside its value. Raises `ConfigError`."""
    loaded = load_settings(asked.home, asked.environ, asked.settings)
    clock = SystemClock()
    models = ModelResolver(loaded, load("gate.for_settings")(loaded), clock, given=None)
    try:
        client = CapabilityClient(loaded, None, None, clock, lambda entries: None, models=models, tell=tell)
        yield VerbDesk(capabilities_of(loaded).for_client(client).verbs())
    finally:
        with anyio.CancelScope(shield=True):
            await models.aclose()
