"""Which services have a model, by what is configured and what ships with the program. Pure: nothing is asked for over the network."""

from collections.abc import Mapping
from typing import Any

from .known_services import KNOWN, with_key
from .models import shipped, table

ANY = "default"
"""The model's name at servers that have one model, whatever it is called."""


def services_with(model: str, providers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The services that have a model of that name: under `llm.providers`, as their own default, or in the shipped table. In the order of the services."""
    if model == ANY:
        return []
    names = dict.fromkeys((*providers, *KNOWN))
    return [name for name in names if model in (providers.get(name, {}).get("models") or {}) or _built_in(name, model)]


def usable(model: str, providers: Mapping[str, Mapping[str, Any]], env: Mapping[str, str]) -> list[str]:
    """Those of `having` that have their key, or an address of the person's own."""
    ready = with_key(providers, env)
    return [name for name in services_with(model, providers) if name in ready]


def models_of(service: str, providers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The models of a service that are known: those configured, its default, and those of the shipped table, each once."""
    known = KNOWN.get(service)
    own = [known.model] if known else []
    return list(dict.fromkeys((*(providers.get(service, {}).get("models") or {}), *own, *sorted(table().get(service, {})))))


def _built_in(service: str, model: str) -> bool:
    known = KNOWN.get(service)
    return known is not None and (known.model == model or shipped(service, model) is not None)
