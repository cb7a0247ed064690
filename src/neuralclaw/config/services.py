"""Names of model services in the settings: each is one that comes with the program or one that the settings describe."""

import re
from collections.abc import Callable, Collection, Iterator

from .load import LoadedSettings

OWN = ("local", "offline")
"""Providers that are no service."""
OLLAMA_TAG = re.compile(r"latest|[\d.]+[bm](?:-.*)?|q\d.*|instruct.*", re.IGNORECASE)
"""What is behind the colon in the names of Ollama's models: `llama3.2:3b`."""


def service_problems(loaded: LoadedSettings, known: Callable[[], Collection[str]]) -> list[str]:
    """Providers that nobody knows, with file, line, key and the nearest name. `known`: those that are built in, asked for where one is named."""
    llm = loaded.settings.llm
    if not (llm.default_provider or llm.providers or llm.fallback):
        return []
    return [f"{loaded.place(key)}: {key}: {text}" for key, text in _problems(loaded, known())]


def _problems(loaded: LoadedSettings, known: Collection[str]) -> Iterator[tuple[str, str]]:
    llm = loaded.settings.llm
    for name, service in llm.providers.items():
        key = f"llm.providers.{name}"
        if name in OWN:
            takes = service.models if name == "local" else {}
            if service.api or service.base_url or service.api_key or (service.models and not takes):
                yield key, f"{name} is no service: it takes {'models only' if name == 'local' else 'no settings'}"
        elif name not in known and not service.base_url and f"{key}.base_url" not in loaded.unset:
            yield key, f"there is no service {name!r} built in, and it has no base_url{nearest(name, known)}"
    names = {*known, *llm.providers, *OWN}
    if llm.default_provider and llm.default_provider not in names:
        yield "llm.default_provider", f"unknown provider {llm.default_provider!r}{nearest(llm.default_provider, names)}"
    for number, entry in enumerate(llm.fallback):
        name, colon, rest = entry.partition(":")
        if colon and name not in names and not OLLAMA_TAG.fullmatch(rest):
            yield f"llm.fallback[{number}]", f"unknown provider {name!r}{nearest(name, names)}"


def nearest(name: str, names: Collection[str]) -> str:
    """`; did you mean openai?`, or the names there are where none is near."""
    import difflib  # 5 ms, needed for this sentence alone

    near = difflib.get_close_matches(name.lower(), sorted(names), 1)
    return f"; did you mean {near[0]}?" if near else f"; there are {', '.join(sorted(names))}"
