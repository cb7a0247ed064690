"""The verbs about models: which ones can be chosen here, and what is known of one."""

from typing import Any

import msgspec

from ... import config
from ...errors import ConfigError, LLMUnavailableError
from ...plugins import load
from ...types.messages import ModelInfo, Price
from .model_resolver import GIVEN, LOCAL, OWN, ModelResolver


class ModelVerbs:
    """What can be asked about the models of one home."""

    def __init__(self, models: ModelResolver, loaded: config.LoadedSettings) -> None:
        self._models, self._loaded = models, loaded
        self.notice = ""
        """What the last list could not tell, a sentence for a person."""

    async def list(self, service: str | None = None) -> list[dict[str, Any]]:
        """The models that are set, the default of every service that is ready, what a running Ollama has, and the offline grammar.

        With `service`: all that are known of it, and, of one of the person's own, all that it says it has. Raises `LLMUnavailableError`
        where such a service does not say and nothing is known of it without.
        """
        if service is not None:
            return [await self.show(f"{service}:{model}") for model in await self._of(service)]
        await self._models.ready()
        names = [self._models.default()[0]]
        for ready in load("provider.with_key")(self._models.configured, self._loaded.env):
            configured = self._models.configured.get(ready, {}).get("models") or ()
            names += [ready, *(f"{ready}:{model}" for model in configured or (() if self._models.known_of(ready) else await self._said(ready)))]
        if "OLLAMA_HOST" in self._loaded.env or names[0].partition(":")[0] == "ollama":
            names += [f"ollama:{model}" for model in await self._models.ollama_models()]
        found: dict[str, dict[str, Any]] = {}
        for name in [*names, "offline"]:
            if name.removesuffix(":latest") in found:  # the same to Ollama
                continue
            try:
                row = await self.show(name, usable=True)
            except ConfigError:  # configured, but not so that it can be used: `doctor` says why
                continue
            found.setdefault(str(row["model"]), row)
        return list(found.values())

    async def _of(self, service: str) -> tuple[str, ...]:
        """The models of one service: where it can be asked, those configured and those that it lists, else all that are known."""
        self._models.described(service)  # raises for one that nobody knows
        said = await self._said(service)
        answer = self._models.listed.answer(service)
        if answer is not None and answer.models is not None:
            return tuple(dict.fromkeys((*(self._models.configured.get(service, {}).get("models") or ()), *said)))
        known = tuple(self._models.known_of(service))
        if answer is not None and not known:
            raise LLMUnavailableError(answer.text, hint="neuralclaw doctor shows more")
        self.notice = f"{answer.text}: these are the models that are known without it" if answer is not None else ""
        return known

    async def _said(self, service: str) -> tuple[str, ...]:
        """What a service of the person's own says that it has."""
        await self._models.listed.ask(service)
        return self._models.listed.models(service)

    async def show(self, model: str | None, *, usable: bool = False) -> dict[str, Any]:
        """One model: full name, window in tokens, abilities, price, where that is from, and whether the service has its key.

        `usable`: raise `ConfigError` where it has not.
        """
        await self._models.ready(model)
        full = self._models.full_name(model, usable=usable)
        service, _, name = full.partition(":")
        if service in OWN or service in (GIVEN, LOCAL) or self._models.given:
            chosen = await self._models.chosen(full)
            facts = _facts(chosen.info, None if service == LOCAL else Price(0, 0, 0) if service in OWN else None)
            return {"model": full, **facts, "source": "built in" if service in OWN else "model", "address": None, "key": None, "key_present": True}
        found = self._models.described(service)
        return {
            "model": full,
            **_facts(load("provider.info")(found, name)),
            "source": self._source(service, name),
            "address": found.address,
            "key": found.key_name or None,
            "key_present": not load("provider.lacks_key")(found),
        }

    def _source(self, service: str, name: str) -> str:
        """Where the facts are from: the settings' place, the shipped table, or nowhere."""
        prefix = f"llm.providers.{service}.models.{name}"
        configured = next((origin for key, origin in self._loaded.origins.items() if key == prefix or key.startswith(f"{prefix}.")), None)
        return configured or ("built in" if service == "ollama" or load("provider.shipped")(service, name) else "assumed")


def _facts(info: ModelInfo, price: Price | None = None) -> dict[str, Any]:
    """What is known of a model, as plain values. `price`: USD per million tokens, null where nobody knows it."""
    cost: Any = msgspec.to_builtins(info.price or price)
    if cost is not None and cost["above"] is None:
        del cost["above"], cost["long"]
    return {"context": info.context, "tools": info.tools, "images": info.images, "price": cost}
