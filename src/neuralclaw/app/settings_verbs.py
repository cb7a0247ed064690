"""Verbs that need the settings alone: they work where the home cannot be opened or is not there."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from .. import config
from ..errors import ConfigError
from ..plugins import load
from ..secrets import Redactor
from .capabilities import capabilities_of
from .capability_context import CapabilityClient
from .clock import SystemClock
from .models.model_resolver import ModelResolver
from .settings_loading import load_settings
from .verb_calls import VerbDesk

MENDING = ("secrets.list", "secrets.remove", "backup", "restore")
"""What helps where a stored secret, which is a layer of the settings, or the configuration is what is wrong with them."""


@asynccontextmanager
async def settings_desk(asked: config.SettingsRequest, tell: Callable[[str], None] | None = None) -> AsyncIterator[VerbDesk]:
    """The verbs that need a configuration alone; others raise `UsageError`. `tell` shows a person what a verb says beside its value.

    Where the settings cannot be used, the verbs of `MENDING` are there, and every other one raises their `ConfigError`.
    """
    try:
        loaded = load_settings(asked.home, asked.environ, asked.settings)
    except ConfigError as error:
        yield _mending_desk(asked, tell, error)
        return
    clock = SystemClock()
    models = ModelResolver(loaded, load("gate.for_settings")(loaded), clock, given=None)
    try:
        client = CapabilityClient(loaded, None, None, clock, lambda entries: None, models=models, tell=tell)
        yield VerbDesk(capabilities_of(loaded).for_client(client).verbs(), Redactor(config.secret_values(loaded)))
    finally:
        with anyio.CancelScope(shield=True):
            await models.aclose()


def _mending_desk(asked: config.SettingsRequest, tell: Callable[[str], None] | None, error: ConfigError) -> VerbDesk:
    beside = config.defaults_beside(asked)
    given = capabilities_of(beside).for_client(CapabilityClient(beside, None, None, SystemClock(), lambda entries: None, tell=tell)).verbs()

    async def refuse(**_: Any) -> Any:
        raise error

    return VerbDesk({name: verb if name in MENDING else refuse for name, verb in given.items()}, Redactor())
