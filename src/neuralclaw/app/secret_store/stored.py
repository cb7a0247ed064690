"""The secrets of a home as a layer of its settings. A home without a secret store loads nothing for it."""

import os
from collections.abc import Mapping

from ...plugins import load

FILE = "secrets.json"


def stored_secrets(folder: str, env: Mapping[str, str]) -> Mapping[str, str]:
    """What the secret store of the data directory has, by name; empty where there is none. Raises `ConfigError` for one that cannot be opened."""
    if not os.path.lexists(os.path.join(folder, FILE)):  # noqa: PTH118  # on the path of every start: pathlib costs
        return {}
    return {one.name: one.value for one in load("secrets.store")(folder, env).secrets()}
