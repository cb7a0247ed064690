"""What a set-up finds on this machine: services with a key, a running Ollama and its models, GGUF files. Looks, and sends nothing away."""

import os
import re
import time
from collections.abc import Iterator
from typing import Any

import anyio
import anyio.to_thread
import msgspec

from ... import config
from ...errors import ConfigError
from ...plugins import load
from ...safety.gate import PolicyGate
from ..models.service_models import listing

LOOK_SECONDS = 1.0
"""How long the look for model files may take in all."""
DEEPEST = 6
OLLAMA_SECONDS = 1.0

_LATER_PART = re.compile(r"-(?!00001)\d{5}-of-\d{5}\.gguf$")


class ServiceKey(msgspec.Struct, frozen=True):
    """A service that has what it needs: the variable that holds its key ("" where it needs none) and where that comes from."""

    service: str
    variable: str
    origin: str


class FoundModelFile(msgspec.Struct, frozen=True):
    """A GGUF file and its size in bytes."""

    path: str
    size: int


class SetupFindings(msgspec.Struct, frozen=True):
    """All that was found. `ollama` is its address, "" where none runs; `ollama_models` are the names of its models."""

    keys: tuple[ServiceKey, ...] = ()
    ollama: str = ""
    ollama_models: tuple[str, ...] = ()
    files: tuple[FoundModelFile, ...] = ()


async def find(loaded: config.LoadedSettings, gate: PolicyGate) -> SetupFindings:
    """Look around: keys in the order in which a service becomes the default, Ollama at its configured address, files in the usual folders."""
    address, ollama_models = await ollama(loaded, gate)
    files: list[FoundModelFile] = []
    with anyio.move_on_after(LOOK_SECONDS):  # a folder on a network that is gone must not hold anybody up
        await anyio.to_thread.run_sync(lambda: files.extend(model_files(folders(loaded), LOOK_SECONDS)), abandon_on_cancel=True)
    return SetupFindings(keys(loaded), address, ollama_models, tuple(files))


def keys(loaded: config.LoadedSettings) -> tuple[ServiceKey, ...]:
    """The services with a key or a configured address."""
    known = load("provider.known")
    configured = providers(loaded)
    found = []
    for name in load("provider.with_key")(configured, loaded.env):
        if name == "ollama":
            continue
        names = known[name].keys if name in known else ()
        variable = next((one for one in names if loaded.env.get(one, "").strip()), "")
        origin = loaded.variable_origin(variable) if variable else loaded.origins.get(f"llm.providers.{name}.api_key", "llm.providers")
        found.append(ServiceKey(name, variable, origin))
    return tuple(found)


def providers(loaded: config.LoadedSettings) -> dict[str, Any]:
    """`llm.providers` as plain values."""
    return {name: msgspec.to_builtins(one) for name, one in loaded.settings.llm.providers.items()}


async def ollama(loaded: config.LoadedSettings, gate: PolicyGate) -> tuple[str, tuple[str, ...]]:
    """The address of a running Ollama and the models it has; ("", ()) where none answers."""
    try:
        service = load("provider.resolve")("ollama", providers(loaded), loaded.env)
    except ConfigError:  # an address that is none: who wants Ollama is told when it is chosen
        return "", ()
    found = await listing(gate, service, OLLAMA_SECONDS)
    return (service.address.removesuffix("/v1"), found.models or ()) if found.ok else ("", ())


def folders(loaded: config.LoadedSettings) -> list[str]:
    """Where GGUF files lie: the data home, `~/models`, and the folders of LM Studio, Hugging Face and llama.cpp."""
    env = loaded.env
    person = env.get("HOME", "")
    found = [os.path.join(loaded.home, "models")]  # noqa: PTH118
    if person:
        cache = env.get("XDG_CACHE_HOME") or os.path.join(person, ".cache")  # noqa: PTH118
        hub = os.path.join(env.get("HF_HOME") or os.path.join(cache, "huggingface"), "hub")  # noqa: PTH118
        llama = env.get("LLAMA_CACHE") or os.path.join(cache, "llama.cpp")  # noqa: PTH118
        inside = [os.path.join(person, name) for name in ("models", ".lmstudio/models", ".cache/lm-studio/models")]  # noqa: PTH118
        found += [*inside, hub, llama]
    return list(dict.fromkeys(found))


def model_files(roots: list[str], seconds: float) -> Iterator[FoundModelFile]:
    """Whole GGUF files below the folders, as far as they are found within `seconds`."""
    deadline = time.monotonic() + seconds
    for root in roots:
        for path in sorted(_named_gguf(root, deadline)):
            if time.monotonic() > deadline:
                return
            if not trouble(path):
                yield FoundModelFile(path, os.stat(path).st_size)  # noqa: PTH116


def _named_gguf(root: str, deadline: float) -> Iterator[str]:
    """Files below `root` whose name says that a model can be opened by them: no projector for images, no second part of a split one."""
    for folder, inner, names in os.walk(root):
        if time.monotonic() > deadline:
            return
        if folder.count(os.sep) - root.count(os.sep) >= DEEPEST:
            inner.clear()
        for name in names:
            lower = name.lower()
            if lower.endswith(".gguf") and not lower.startswith("mmproj") and not _LATER_PART.search(lower):
                yield os.path.join(folder, name)  # noqa: PTH118


def trouble(path: str) -> str:
    """What is wrong with a model file, "" for a whole one."""
    try:
        load("provider.model_file")(path)
    except ConfigError as error:
        return error.text.replace(path, "it")
    return ""


def local_engine() -> str:
    """The installed library that runs a GGUF file in this process, or ""."""
    import importlib.util

    return next((name for name in ("openvino_genai", "llama_cpp") if importlib.util.find_spec(name) is not None), "")
