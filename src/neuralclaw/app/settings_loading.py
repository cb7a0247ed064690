"""The settings in effect, together with the capabilities that they enable."""

import os
from collections.abc import Mapping, Sequence
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
    return effective_settings(config.SettingsRequest(folder, environ, settings))


def effective_settings(asked: config.SettingsRequest) -> config.LoadedSettings:
    """The settings in effect, whose rules match what their examples say. Raises `ConfigError`."""
    loaded = config.effective(asked, lambda: load("provider.known"), Capabilities.load, stored_secrets)
    return config.with_checked_examples(loaded, failed_examples)


def failed_examples(settings: config.Settings, person_home: str) -> Sequence[tuple[str, str]]:
    """The examples of rules that do not hold; what judges them is loaded now."""
    found: Sequence[tuple[str, str]] = load("rules.examples")(settings, person_home)
    return found
