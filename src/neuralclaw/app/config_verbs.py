"""The verbs about the configuration: what `neuralclaw config` prints with `--json`."""

from typing import Any

from .. import config
from ..plugins import load


class ConfigVerbs:
    """What can be asked about the settings that an agent was opened with."""

    def __init__(self, loaded: config.Loaded) -> None:
        self._loaded = loaded

    async def show(self) -> dict[str, dict[str, Any]]:
        """Every setting in effect with its origin; secrets are masked."""
        return {value.key: {"value": value.value, "origin": value.origin} for value in self._loaded.values}

    async def check(self) -> dict[str, Any]:
        """That the configuration can be used: the agent would not be open otherwise."""
        return {"ok": True, "file": self._loaded.file, "notices": self._loaded.notices}

    async def schema(self) -> dict[str, Any]:
        """The JSON Schema of the configuration."""
        return config.schema()

    async def example(self) -> str:
        """Every variable that is read, as a `.env` to start from."""
        return str(load("config.example")(load("config.services")(load("provider.known"))))

    async def path(self) -> dict[str, Any]:
        """Where the configuration stands, or would stand."""
        file, exists = config.target(self._loaded.home, self._loaded.env)
        return {"file": file, "exists": exists, "home": self._loaded.home}


def config_verbs(loaded: config.Loaded) -> dict[str, Any]:
    """The verbs under their names."""
    verbs = ConfigVerbs(loaded)
    return {
        "config.show": verbs.show,
        "config.check": verbs.check,
        "config.schema": verbs.schema,
        "config.example": verbs.example,
        "config.path": verbs.path,
    }
