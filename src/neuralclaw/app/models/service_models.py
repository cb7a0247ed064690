"""What model services say that they have. To ask for the list of models is free, and shows whether a service is there, takes the key and knows the model.

`doctor` and `init` ask one service; `ServiceModels` asks the person's own, where they name a model that nothing configured or shipped explains.
"""

from collections.abc import Mapping
from typing import Any

import anyio
import msgspec

from ... import config
from ...errors import ConfigError
from ...plugins import load
from ...safety.gate import PolicyGate

ASK_SECONDS = 3.0
"""How long a service may take to send the list of its models."""
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
        return ModelListing(False, f"{service.name} at {service.address} did not answer within {seconds:g} s")
    except ConnectionError as error:
        return ModelListing(False, service.redact(f"no connection to {service.name} at {service.address}: {error}"))
    finally:
        with anyio.CancelScope(shield=True):
            await net.aclose()


def question(service: Any) -> tuple[str, dict[str, str]]:
    """The address of the list and the headers, in the service's own manner."""
    if service.api == "ollama" or service.name == "ollama":
        return service.at("/api/tags", "/v1"), bearer(service.api_key)
    if service.api == "messages":
        return service.at("/v1/models?limit=1000", "/v1"), {"x-api-key": service.api_key, "anthropic-version": "2023-06-01"}
    return service.at("/models"), bearer(service.api_key)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def understood(service: Any, status: int, body: bytes) -> ModelListing:
    if status in (401, 403):
        return ModelListing(False, load("provider.refused_key")(service, f" ({status})").text, refused=True)
    if status >= 500 or status == 429:
        return ModelListing(False, f"{service.name} cannot answer now ({status})")
    if status != 200:
        return ModelListing(True, f"{service.name} answers at {service.address}; it has no list of models ({status})")
    names = names_in(body)
    count = "" if names is None else f", {counted(names)}"
    return ModelListing(True, f"{service.name} answers at {service.address}{count}", models=names)


def names_in(body: bytes) -> tuple[str, ...] | None:
    """The names of a list in OpenAI's, Anthropic's or Ollama's form; None for anything else and for a list that continues."""
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


class ServiceModels:
    """The lists of models that services of the person's own have sent, as far as they were asked for in this process."""

    def __init__(self, loaded: config.LoadedSettings, gate: PolicyGate, configured: Mapping[str, Any]) -> None:
        self._loaded, self._gate, self._configured = loaded, gate, configured
        self._answers: dict[str, ModelListing] = {}

    def own(self) -> list[str]:
        """The services that can be asked and are the person's own: configured, with what they need, at an address that is not the service's public one."""
        ready = load("provider.with_key")(self._configured, self._loaded.env)
        return [name for name in ready if self.described(name) is not None]

    def described(self, service: str) -> Any:
        """The service where it is the person's own and can be asked, else None."""
        try:
            found = load("provider.described")(service, self._configured, self._loaded.env)
        except ConfigError:  # configured, but not so that it can be used: `doctor` says why
            return None
        own = not found.own or load("provider.is_local")(found.host)
        return found if own and not load("provider.lacks_key")(found) else None

    async def ask(self, *services: str) -> None:
        """Ask these for their lists, all at once, for at most `ASK_SECONDS`. Those that are not the person's own are not asked."""
        asked = {name: found for name in services if (found := self.described(name)) is not None}
        async with anyio.create_task_group() as group:
            for name, found in asked.items():
                group.start_soon(self._ask, name, found)

    async def _ask(self, name: str, service: Any) -> None:
        self._answers[name] = await listing(self._gate, service, ASK_SECONDS)

    def answer(self, service: str) -> ModelListing | None:
        """What the service said when it was last asked; None where it was not."""
        return self._answers.get(service)

    def models(self, service: str) -> tuple[str, ...]:
        """The models that the service said it has; none where it was not asked or did not say."""
        answer = self._answers.get(service)
        return (answer.models or ()) if answer is not None else ()

    def services_with(self, model: str) -> list[str]:
        """The services that listed that model."""
        return [name for name in self._answers if has_model(self.models(name), model)]

    def silent(self) -> list[str]:
        """Why services that were asked sent no list, a sentence each."""
        return [answer.text for answer in self._answers.values() if answer.models is None]
