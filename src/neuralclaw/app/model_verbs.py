"""The verbs about models: which ones can be chosen here, and what is known of one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from .. import config
from ..errors import ConfigError
from ..plugins import load
from ..types.messages import ModelInfo, Price
from .clock import SystemClock
from .models import GIVEN, LOCAL, OWN, Models


class ModelVerbs:
    """What can be asked about the models of one home."""

    def __init__(self, models: Models, loaded: config.Loaded) -> None:
        self._models, self._loaded = models, loaded

    async def list(self, service: str | None = None) -> list[dict[str, Any]]:
        """The models that are set, the default of every service that is ready, and the offline grammar; or all that are known of one service."""
        providers = self._models.configured
        if service is not None:
            self._models.described(service)  # raises for one that nobody knows
            return [await self.show(f"{service}:{model}") for model in load("provider.models_of")(service, providers)]
        await self._models.ready()
        names = [self._models.default()[0]]
        for ready in load("provider.with_key")(providers, self._loaded.env):
            names += [ready, *(f"{ready}:{model}" for model in (providers.get(ready, {}).get("models") or {}))]
        found: dict[str, dict[str, Any]] = {}
        for name in [*names, "offline"]:
            try:
                row = await self.show(name, usable=True)
            except ConfigError:  # configured, but not so that it can be used: `doctor` says why
                continue
            found.setdefault(str(row["model"]), row)
        return list(found.values())

    async def show(self, model: str | None, *, usable: bool = False) -> dict[str, Any]:
        """One model: full name, window in tokens, abilities, price, where that is from, and whether the service has its key.

        `usable`: raise `ConfigError` where it has not.
        """
        await self._models.ready(model)
        full = self._models.full_name(model, usable=usable)
        service, _, name = full.partition(":")
        if service in OWN or service in (GIVEN, LOCAL) or self._models.given:
            thinking = await self._models.thinking(full)
            told = _told(thinking.provider.info(thinking.model), None if service == LOCAL else Price(0, 0, 0) if service in OWN else None)
            return {"model": full, **told, "source": "built in" if service in OWN else "model", "address": None, "key": None, "key_present": True}
        found = self._models.described(service)
        return {
            "model": full,
            **_told(load("provider.info")(found, name)),
            "source": self._source(service, name),
            "address": found.base_url,
            "key": found.key_name or None,
            "key_present": not load("provider.lacks_key")(found),
        }

    def _source(self, service: str, name: str) -> str:
        """Where the facts are from: the settings' place, the shipped table, or nowhere."""
        prefix = f"llm.providers.{service}.models.{name}"
        told = next((origin for key, origin in self._loaded.origins.items() if key == prefix or key.startswith(f"{prefix}.")), None)
        return told or ("built in" if service == "ollama" or load("provider.shipped")(service, name) else "assumed")


@asynccontextmanager
async def reading(asked: config.Asked) -> AsyncIterator[ModelVerbs]:
    """The verbs over a configuration alone: works without a home that can be written. Raises `ConfigError`."""
    loaded = config.effective(asked, lambda: load("provider.known"))
    models = Models(loaded, load("gate.standing")(loaded), SystemClock(), given=None)
    try:
        yield ModelVerbs(models, loaded)
    finally:
        await models.aclose()


def _told(info: ModelInfo, price: Price | None = None) -> dict[str, Any]:
    """What is known of a model, as plain values. `price`: USD per million tokens, null where nobody knows it."""
    cost: Any = msgspec.to_builtins(info.price or price)
    if cost is not None and cost["above"] is None:
        del cost["above"], cost["long"]
    return {"context": info.context, "tools": info.tools, "images": info.images, "price": cost}
