"""What to say of a model that no service here has."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from ...config.services import OLLAMA_TAG
from ...errors import ConfigError
from ...plugins import load
from .service_models import ServiceModels


def unknown_model(model: str, providers: Mapping[str, Mapping[str, Any]], listed: ServiceModels) -> ConfigError:
    """`model` is no service, and no service that can be used has a model of that name. `listed`: what services were asked for."""
    services = [name for name in load("provider.services_with")(model, providers) if load("provider.known")[name].keys]
    if services:
        keys = " or ".join(load("provider.known")[name].keys[0] for name in services)
        which = " and ".join(services)
        return ConfigError(f"{model} is a model of {which}, and {keys} is not set", hint=f"set {keys}, or choose another model: neuralclaw models list")
    name, colon, rest = model.partition(":")
    known = load("provider.names")(providers)
    if not colon or OLLAMA_TAG.fullmatch(rest):
        meant = [f"ollama:{model}"] if colon else _near(model, known, providers, listed)
        hint = "".join(f"{said}; " for said in listed.silent()) + (f"did you mean {meant[0]}? " if meant else "")
        what = f"no provider {name!r}, and Ollama does not have {model} or does not run" if colon else f"no service and no model named {model!r}"
        return ConfigError(f"there is {what}", hint=f"{hint}neuralclaw models list shows what there is")
    near = get_close_matches(name, known, n=1)
    hint = f"{f'did you mean {near[0]}:{rest}? ' if near else ''}configure another one under llm.providers.{name} with its base_url"
    return ConfigError(f"unknown provider {name!r}; there are {', '.join(known)}", hint=hint)


def _near(model: str, known: list[str], providers: Mapping[str, Mapping[str, Any]], listed: ServiceModels) -> list[str]:
    """The nearest service, else the nearest model as `P:M`."""
    if near := get_close_matches(model, known, n=1):
        return near
    there = {service: (*load("provider.models_of")(service, providers), *listed.models(service)) for service in reversed(known)}
    named = {name: f"{service}:{name}" for service, names in there.items() for name in names}
    return [named[name] for name in get_close_matches(model, named, n=1)]
