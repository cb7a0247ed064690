"""Asks a model service for the list of its models: free, and it shows whether the service is there, takes the key and knows the model."""

from collections.abc import Mapping
from typing import Any

import anyio
import msgspec

from ...plugins import load
from ...safety.gate import PolicyGate

MAX_LIST = 8_000_000
"""Bytes of a list that are read; the longest known one has about 1 MB."""


class ModelListing(msgspec.Struct, frozen=True):
    """What a service said. `refused`: it does not take the key. `models` None: it answers, but has no list, or only a part of one."""

    ok: bool
    text: str
    refused: bool = False
    models: tuple[str, ...] | None = None


async def listing(gate: PolicyGate, service: Any, seconds: float) -> ModelListing:
    """The models of a `Service`, asked for with its own key at its own address, and nowhere else."""
    net = load("net")()
    url, headers = question(service)
    grant = gate.standing_grant(hosts=[service.host])
    try:
        with anyio.fail_after(seconds):
            async with net.request(grant, "GET", url, headers=headers, body=None, timeout=seconds) as response:
                return understood(service, response.status, await response.read(MAX_LIST))
    except TimeoutError:
        return ModelListing(False, f"{service.name} at {shown(service)} did not answer within {seconds:g} s")
    except ConnectionError as error:
        return ModelListing(False, service.redact(f"no connection to {service.name} at {shown(service)}: {error}"))
    finally:
        with anyio.CancelScope(shield=True):
            await net.aclose()


def shown(service: Any) -> str:
    """The service's address without a name and password that may stand in it."""
    scheme, _, rest = service.base_url.partition("://")
    _, slash, path = rest.partition("/")
    return f"{scheme}://{service.host}{slash}{path}"


def question(service: Any) -> tuple[str, dict[str, str]]:
    """The address of the list and the headers, in the service's own manner."""
    base = service.base_url.removesuffix("/v1")
    if service.api == "ollama" or service.name == "ollama":
        return f"{base}/api/tags", bearer(service.api_key)
    if service.api == "messages":
        return f"{base}/v1/models?limit=1000", {"x-api-key": service.api_key, "anthropic-version": "2023-06-01"}
    return f"{service.base_url}/models", bearer(service.api_key)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def understood(service: Any, status: int, body: bytes) -> ModelListing:
    if status in (401, 403):
        return ModelListing(False, load("provider.refused_key")(service, f" ({status})").text, refused=True)
    if status >= 500 or status == 429:
        return ModelListing(False, f"{service.name} cannot answer now ({status})")
    if status != 200:
        return ModelListing(True, f"{service.name} answers at {shown(service)}; it has no list of models ({status})")
    names = names_in(body)
    count = "" if names is None else f", {counted(names)}"
    return ModelListing(True, f"{service.name} answers at {shown(service)}{count}", models=names)


def names_in(body: bytes) -> tuple[str, ...] | None:
    """The names of a list in OpenAI's, Anthropic's or Ollama's form; None for anything else and for a list that goes on."""
    try:
        value = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return None
    rows = value.get("data", value.get("models")) if isinstance(value, dict) else None
    if not isinstance(rows, list) or value.get("has_more"):
        return None
    found = [row.get("id") or row.get("name") for row in rows if isinstance(row, Mapping)]
    return tuple(name.removeprefix("models/") for name in found if isinstance(name, str))


def counted(models: tuple[str, ...]) -> str:
    """`1 model`, `7 models`."""
    return f"{len(models)} model{'' if len(models) == 1 else 's'}"


def has_model(models: tuple[str, ...], model: str) -> bool:
    """Whether the list has the model; Ollama adds `:latest` to a name without a tag."""
    return model in models or f"{model}:latest" in models
