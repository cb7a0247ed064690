"""The settings in effect, together with the capabilities that they enable."""

import os
from collections.abc import Mapping
from typing import Any

from .. import config
from ..plugins import load
from .capabilities import Capabilities
from .secret_store.stored import stored_secrets


def load_settings(
    home: str | os.PathLike[str] | None, environ: Mapping[str, str], settings: config.LoadedSettings | config.Settings | Mapping[str, Any] | None
) -> config.LoadedSettings:
    """The settings in effect: what was loaded already, a whole `Settings` value, or those of files and environment with `settings` on top.

    Raises `ConfigError`.
    """
    if isinstance(settings, config.LoadedSettings):
        return settings
    folder = os.fspath(home) if home is not None else None
    return config.effective(config.SettingsRequest(folder, environ, settings), lambda: load("provider.known"), Capabilities.load, stored_secrets)
