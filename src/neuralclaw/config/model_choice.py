"""Which model answers where the command line names none."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from .load import LoadedSettings

Ready = Callable[[Mapping[str, Mapping[str, Any]], Mapping[str, str]], Sequence[str]]
"""From `llm.providers` and the environment to the services that have what they need, the preferred one first."""

OFFLINE = "offline:grammar"


def choose_model(loaded: LoadedSettings, ready: Ready, ollama_running: Callable[[], bool]) -> tuple[str, str]:
    """`P:M`, or `P` for the service's own default model, and why it is that one.

    The configured provider, else the first service that has a key, else a running Ollama, else the offline grammar. `ready` and
    `ollama_running` are asked only when what is before them decides nothing.
    """
    llm = loaded.settings.llm
    model = llm.default_model or ""
    if llm.default_provider:
        return _joined(llm.default_provider, model), f"llm.default_provider ({loaded.origin('llm.default_provider')})"
    named = model.partition(":")[0] if ":" in model else ""
    if named and named in llm.providers:
        return model, f"llm.default_model ({loaded.origin('llm.default_model')})"
    names = ready(msgspec.to_builtins(llm.providers), loaded.env) if llm.providers or any(name.endswith("_KEY") for name in loaded.env) else ()
    if named in names:
        return model, f"llm.default_model ({loaded.origin('llm.default_model')})"
    if names:
        return _joined(names[0], model), f"{names[0]} is the first service with a key or an address"
    if ollama_running():
        return _joined("ollama", model), "no service has a key, and Ollama runs here"
    return OFFLINE, "no service has a key, and no Ollama runs here"


def _joined(service: str, model: str) -> str:
    """`P:M`; a model that already names the service stays as it is, one of the service's own names with a colon does not lose it."""
    if not model:
        return service
    return model if model.startswith(f"{service}:") else f"{service}:{model}"
