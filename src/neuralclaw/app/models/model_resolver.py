"""From `P:M` to a model that answers: services by name, the choice where none is configured.

Around each service are retries, then tools for models without tool calls of their own, then the models to fall back on.
"""

import os
from collections.abc import Callable
from typing import Any

import msgspec

from ... import config
from ...agent.equipment import ChosenModel
from ...config import LoadedSettings
from ...config.model_choice import OFFLINE
from ...config.services import OLLAMA_TAG
from ...errors import ConfigError
from ...plugins import load
from ...ports import Clock, Net, Provider
from ...safety.gate import PolicyGate
from ...types.messages import ModelInfo
from .local_ollama import LocalOllama
from .service_models import ServiceModels, has_model

GIVEN = "given"
"""Provider name of a `Provider` object that was passed to `Agent.open`."""
OLLAMA_SECONDS = 0.2
"""How long the look for a running Ollama may take; on this machine it is refused at once."""

LOCAL = "local"
"""Provider name of a model file that runs in this process."""
OWN = {"offline": "grammar", "direct": "call"}
"""Providers that are no service, and their one model."""


class ModelResolver:
    """The models of this process; a service is built when it is first asked for."""

    def __init__(self, loaded: LoadedSettings, gate: PolicyGate, clock: Clock, *, given: Provider | None) -> None:
        self._loaded, self._gate, self._clock, self._given = loaded, gate, clock, given
        self.given = given is not None
        """Whether a `Provider` object answers everything."""
        self._providers: dict[str, tuple[Provider, str]] = {}
        self._net: Net | None = None
        self._files: Any = None  # what knows the model files, once one is asked for
        self._ollama = LocalOllama(loaded.env.get("OLLAMA_HOST", ""), seconds=OLLAMA_SECONDS)
        self.listed = ServiceModels(loaded, gate, self.configured)
        """What services of the person's own said that they have."""
        self._out: dict[str, float] = {}  # models that were out, and when: all chains know the same

    async def chosen(self, model: str) -> ChosenModel:
        """The model of that name, with those behind it that are asked when it is out (`llm.fallback`).

        Raises `ConfigError` for an unknown service or a missing key, naming what there is.
        """
        provider, name = self._find(model)
        for entry in () if self._given is not None else self._loaded.settings.llm.fallback:
            await self.ready(entry)
        others = self._fallback(model)
        if others:
            provider = load("provider.fallback")([(provider, name, model), *others], self._clock, self._out)
        llm = self._loaded.settings.llm
        return ChosenModel(
            provider=provider,
            name=name,
            temperature=llm.temperature,
            top_p=llm.top_p,
            max_tokens=llm.max_tokens,
            timeout=llm.timeout_seconds,
        )

    def infos(self, model: str) -> dict[str, ModelInfo]:
        """What is known of that model and of those behind it that are asked when it is out, by full name. Raises `ConfigError`."""
        provider, name = self._find(model)
        return {model: provider.info(name)} | {full: other.info(known) for other, known, full in self._fallback(model)}

    def provider(self, model: str) -> Provider:
        """The provider of that model (`P:M`) alone, without those behind it. Raises `ConfigError`."""
        return self._find(model)[0]

    def full_name(self, model: str | None, *, usable: bool = True) -> str:
        """`P:M` for what the person wrote: `P:M`, a service alone, a model alone, or nothing (`ready` first). Raises `ConfigError`.

        `usable` false: also for a service without its key.
        """
        if self._given is not None:
            return model if model and ":" in model else f"{GIVEN}:{model or 'model'}"
        wanted = model or self.default()[0]
        if not self.names_service(wanted):
            wanted = f"{self._service_of(wanted, usable)}:{wanted}"
        service, _, name = wanted.partition(":")
        if service == LOCAL:
            path = self._local(name)[1]
            return f"{LOCAL}:{self._files.file(path).path}"  # absolute: the turn may continue in another directory
        default = self._find(wanted)[1] if usable or service in OWN else self.described(service).default_model
        default = name or default or self._usual_of(service)
        if not default:
            raise ConfigError(f"{service} has no default model", hint=f"name one: --model {service}:MODEL")
        return f"{service}:{default}"

    def names_service(self, model: str) -> bool:
        """Whether what is before the colon, or all of it, is a service."""
        service = model.partition(":")[0]
        return service in (*OWN, LOCAL) or service in self._loaded.settings.llm.providers or service in load("provider.known")

    def _service_of(self, model: str, usable: bool) -> str:
        """The one service that can be used and has a model of that name. Raises `ConfigError` where there is none, or more than one."""
        found = self._known_at(model)
        if not found:
            in_ollama = ["ollama"] if has_model(self._ollama.models() or (), model) else []
            found = list(dict.fromkeys((*in_ollama, *self.listed.services_with(model))))
        if not found and not usable:
            found = load("provider.services_with")(model, self.configured)
        if len(found) == 1:
            return str(found[0])
        if found:
            names = ", ".join(f"{service}:{model}" for service in found)
            raise ConfigError(f"several services have the model {model}: {names}", hint=f"name one: --model {found[0]}:{model}")
        raise load("models.unknown")(model, self.configured, self.listed)

    def _known_at(self, model: str) -> list[str]:
        """The services that have a model of that name by what is configured or shipped: the one of the configured default model, else all that can be used."""
        service, _, name = self._usual().partition(":")
        if name == model and (service in (*OWN, LOCAL) or not load("provider.lacks_key")(self.described(service))):
            return [service]
        return list(load("provider.usable")(model, self.configured, self._loaded.env)) or ([service] if name == model else [])

    def _usual(self) -> str:
        """The configured default model as `P:M`; "" where none is, or where its service is not clear without a look at what runs here."""
        llm = self._loaded.settings.llm
        if not llm.default_model:
            return ""
        name, _, asked = self._choose(lambda: False)
        usual = (self._by_model() or (name, ""))[0]
        return "" if asked or not self.names_service(usual) else usual

    def _usual_of(self, service: str) -> str:
        """The configured default model where it is one of this service, without the service; else ""."""
        found, _, name = self._usual().partition(":")
        return name if found == service else ""

    def known_of(self, service: str) -> list[str]:
        """The models of a service that are known without asking it, the configured default model among them."""
        usual = self._usual_of(service)
        known = load("provider.models_of")(service, self.configured)
        return known if not usual or usual in known else [usual, *known]

    @property
    def configured(self) -> dict[str, Any]:
        """`llm.providers` as plain values, with `key_name`, the place that the key comes from."""
        providers = self._loaded.settings.llm.providers
        return {name: {**msgspec.to_builtins(one), "key_name": self._loaded.key_place(name)} for name, one in providers.items()}

    def described(self, service: str) -> Any:
        """What is known of a service, whether its key is there or not. Raises `ConfigError`."""
        return load("provider.described")(service, self.configured, self._loaded.env)

    async def ready(self, model: str | None = None) -> None:
        """Find out what `full_name(model)` and `default` need to know, beside the event loop. Without it they block for the look themselves."""
        if self._given is not None:
            return
        alone = model is not None and not self.names_service(model) and not self._known_at(model)
        if alone or (model is None and self._choose(lambda: False)[2]):
            await self._ollama.look()
        if alone and not has_model(self._ollama.models() or (), str(model)) and not self.listed.services_with(str(model)):
            await self.listed.ask(*self.listed.own())

    async def ollama_models(self) -> tuple[str, ...]:
        """The models of the Ollama that runs here; none where none does."""
        await self._ollama.look()
        return self._ollama.models() or ()

    def default(self) -> tuple[str, str]:
        """The configured or chosen model as `P:M` or `P`, and why it is that one. The same as long as this process lives."""
        if chosen := self._by_model():
            return chosen
        name, why, asked = self._choose(lambda: self._ollama.models() is not None)
        if asked and self._missing(name):
            return str(self._loaded.settings.llm.default_model), "llm.default_model"
        if name == "ollama" and asked:  # chosen only because it runs: with a model that it has
            usual = self._find(name)[1]
            has = self._ollama.to_use(usual)
            return (name, why) if has == usual else (f"{name}:{has}", f"{why} without {usual}")
        return name, why

    def unheeded(self, model: str | None) -> str:
        """A sentence that names the settings that `full_name(model)` does not take, as far as it is known now; "" where there are none."""
        llm, usual = self._loaded.settings.llm, config.Settings().llm
        changed = [name for name in ("temperature", "top_p") if getattr(llm, name) != getattr(usual, name)]
        if not changed or self._given is not None or (model is None and not self._ollama.looked and self._choose(lambda: False)[2]):
            return ""
        try:
            full = self.full_name(model)
            service, _, name = full.partition(":")
            refused = load("provider.unsupported_options")(self.described(service), name) if service not in (*OWN, LOCAL) else ()
        except ConfigError:
            return ""  # the turn says it
        names = [f"llm.{one}" for one in changed if one in refused]
        many = len(names) > 1
        return f"{' and '.join(names)} {'have' if many else 'has'} no effect with {full}, which does not take {'them' if many else 'it'}" if names else ""

    def default_now(self) -> str:
        """`default` for a person to read, as far as it is known: nothing is looked for."""
        if self._given is not None:
            return GIVEN
        return self.default()[0] if self._ollama.looked or not self._choose(lambda: False)[2] else "none configured (not chosen yet)"

    def _by_model(self) -> tuple[str, str] | None:
        """The model that is configured without `llm.default_provider`: with its service, or with the one service here that has it."""
        llm = self._loaded.settings.llm
        if llm.default_provider or not llm.default_model:
            return None
        why = f"llm.default_model ({self._loaded.origin('llm.default_model')})"
        if self.names_service(llm.default_model) and not OLLAMA_TAG.fullmatch(llm.default_model.partition(":")[2]):
            return llm.default_model, why
        found = load("provider.usable")(llm.default_model, self.configured, self._loaded.env)
        return (f"{found[0]}:{llm.default_model}", why) if len(found) == 1 else None

    def _missing(self, name: str) -> bool:
        """Whether the configured model is one that what was chosen for want of a key does not have: then its key is named, and no other model answers."""
        llm = self._loaded.settings.llm
        if llm.default_provider or not llm.default_model:
            return False
        in_ollama = has_model(self._ollama.models() or (), llm.default_model)
        return name == OFFLINE or (not in_ollama and bool(load("provider.services_with")(llm.default_model, self.configured)))

    def _choose(self, ollama_runs: Callable[[], bool]) -> tuple[str, str, bool]:
        """What is configured or chosen, why, and whether it hung on a running Ollama."""
        asked = False

        def ask() -> bool:
            nonlocal asked
            asked = True
            return ollama_runs()

        name, why = config.choose_model(self._loaded, lambda *known: load("provider.with_key")(*known), ask)
        return name, why, asked

    def _find(self, model: str) -> tuple[Provider, str]:
        """The provider and the model's name within it."""
        service, _, name = model.partition(":")
        if self._given is not None and service not in OWN:
            return self._given, name
        if service == LOCAL:
            return self._local(name)
        if service not in self._providers:
            self._providers[service] = self._build(service)
        provider, default = self._providers[service]
        return provider, name or default

    def _fallback(self, model: str) -> list[tuple[Provider, str, str]]:
        """The models of `llm.fallback` without `model` itself. Raises `ConfigError` that names the key."""
        if self._given is not None or model.partition(":")[0] in OWN:
            return []
        found: list[tuple[Provider, str, str]] = []
        for entry in self._loaded.settings.llm.fallback:
            try:
                full = self.full_name(entry)
                provider, name = self._find(full)
            except ConfigError as error:
                raise ConfigError(f"llm.fallback ({self._loaded.origin('llm.fallback')}): {error.text}", hint=error.hint) from error
            if full != model and full not in [known for _, _, known in found]:
                found.append((provider, name, full))
        return found

    def _build(self, service: str) -> tuple[Provider, str]:
        if service in OWN:
            return load(f"provider.{service}")(), OWN[service]
        self._loaded.require(f"llm.providers.{service}")
        settings = self._loaded.settings.llm
        found = load("provider.resolve")(service, self.configured, self._loaded.env)
        if self._net is None:
            self._net = load("net")()
        grant = self._gate.standing_grant(hosts=[found.host])
        policy = load("provider.retry_policy")(attempts=settings.retry.attempts, min_seconds=settings.retry.min_seconds, max_seconds=settings.retry.max_seconds)
        spoken = load(f"provider.{found.api}")(self._net, grant, found)
        return load("provider.plain_tools")(load("provider.retry")(load("provider.metered")(spoken), self._clock, policy)), found.default_model

    def _local(self, path: str) -> tuple[Provider, str]:
        """The model file of that path, else the first one configured. Raises `ConfigError` where it cannot run here."""
        settings, home = self._loaded.settings.llm.providers.get(LOCAL), self._loaded.home
        models = {name: msgspec.to_builtins(facts) for name, facts in settings.models.items()} if settings else {}
        if LOCAL not in self._providers:
            self._files = load("provider.local")(os.path.join(home, "models"), self._loaded.env.get("HOME", ""), models)  # noqa: PTH118
            self._providers[LOCAL] = load("provider.plain_tools")(self._files), next(iter(models), "")
        provider, default = self._providers[LOCAL]
        self._files.file(path or default)
        return provider, path or default

    async def aclose(self) -> None:
        if self._net is not None:
            await self._net.aclose()
