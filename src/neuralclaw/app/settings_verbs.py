"""Verbs that need the settings alone: they work where the home cannot be opened or is not there."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from .. import config
from ..plugins import load
from .capabilities import capabilities_of
from .capability_context import CapabilityClient
from .clock import SystemClock
from .models.model_resolver import ModelResolver
from .settings_loading import load_settings
from .verb_calls import call_verb


class SettingsDesk:
    """The verbs that need the settings alone. `loaded`: the settings; `models`: those of the home."""

    def __init__(self, loaded: config.LoadedSettings, client: CapabilityClient, models: ModelResolver) -> None:
        self.loaded, self.models = loaded, models
        self._given = capabilities_of(loaded).for_client(client)

    async def do(self, verb: str, /, **arguments: Any) -> Any:
        """The value of a verb, as `--json` prints it."""
        return await call_verb(self._given.verbs(), verb, arguments)


@asynccontextmanager
async def settings_desk(asked: config.SettingsRequest, tell: Callable[[str], None] | None = None) -> AsyncIterator[SettingsDesk]:
    """The desk over a configuration alone. `tell` shows a person what a verb says beside its value. Raises `ConfigError`."""
    loaded = load_settings(asked.home, asked.environ, asked.settings)
    clock = SystemClock()
    models = ModelResolver(loaded, load("gate.for_settings")(loaded), clock, given=None)
    try:
        yield SettingsDesk(loaded, CapabilityClient(loaded, None, None, clock, lambda entries: None, models=models, tell=tell), models)
    finally:
        with anyio.CancelScope(shield=True):
            await models.aclose()
