"""The verbs about models: which ones can be chosen here, and what is known of one."""

from typing import Any

import msgspec

from ..errors import ConfigError
from ..plugins import load
from .parts import Parts


class ModelVerbs:
    """What can be asked about the models of one home."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def list(self) -> list[dict[str, Any]]:
        """The models that are set, the default of every service that is ready, and the offline grammar."""
        loaded = self._parts.loaded
        providers = {name: msgspec.to_builtins(told) for name, told in loaded.settings.llm.providers.items()}
        services = load("provider.with_key")(providers, loaded.env)
        await self._parts.models.ready()
        names = [self._parts.models.default()[0]]
        for service in services:
            names += [service, *(f"{service}:{model}" for model in (providers.get(service, {}).get("models") or {}))]
        found: dict[str, dict[str, Any]] = {}
        for name in [*names, "offline"]:
            try:
                row = await self.show(name)
            except ConfigError:  # configured, but not so that it can be used: `doctor` says why
                continue
            found.setdefault(str(row["model"]), row)
        return list(found.values())

    async def show(self, model: str | None) -> dict[str, Any]:
        await self._parts.models.ready(model)
        full = self._parts.models.full_name(model)
        thinking = await self._parts.models.thinking(full)
        info = thinking.provider.info(thinking.model)
        return {"model": full, "context": info.context, "tools": info.tools, "images": info.images}
