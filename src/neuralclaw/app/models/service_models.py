"""What services say that they have: asked where a person names a model that nothing configured or shipped explains, and for a service by its name."""

from collections.abc import Mapping
from typing import Any

import anyio

from ... import config
from ...errors import ConfigError
from ...plugins import load
from ...safety.gate import PolicyGate
from ..setup.model_listing import ModelListing, has_model, listing

ASK_SECONDS = 3.0
"""How long a service may take to send the list of its models."""


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
