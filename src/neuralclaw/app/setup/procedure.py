"""The set-up behind `neuralclaw init`: what to propose, one real call to the chosen model, and only then the files."""

import copy
import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec

from ... import config, errors
from ...config.save import save
from ...errors import ConfigError, LLMError
from ...plugins import load
from ...safety.gate import PolicyGate
from ...sandbox.own_code import own_code
from ...sandbox.system_facts import SystemFacts
from ...types.messages import Failure, Finished, ModelReply, Notice, Request, Retrying, UserMessage
from ..capabilities import Capabilities
from ..clock import SystemClock
from ..home import read_command
from ..models.model_resolver import OWN, ModelResolver
from ..models.service_models import ModelListing, listing
from ..secret_store.stored import stored_secrets
from .discovery import SetupFindings, find, local_engine, providers

QUESTION = "Reply with the word ready."
CALL_SECONDS = 300.0
"""How long the real call may take with all its waits."""
CALL_TOKENS = 16
"""Tokens of the answer; a model that thinks first is cut off here, and has shown that it works."""
LIST_SECONDS = 5.0
OFFLINE, LOCAL = "offline", "local"

Tell = Callable[[str], None]
"""Takes a line about what happens."""


class SetupChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What the person wants.

    A service and a model of it ("": its default), the address of a service of their own, a key to keep, and models to fall back on
    as `P:M`. `fallback` None: what is configured stays.
    """

    service: str
    model: str = ""
    base_url: str = ""
    key: str = ""
    fallback: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        return f"{self.service}:{self.model}" if self.model else self.service


class FirstCall(msgspec.Struct, frozen=True, kw_only=True):
    """A real call: the model as `P:M`, what it answered, how long that took, and the failure, if it was one."""

    model: str
    text: str = ""
    ms: int = 0
    failure: Failure | None = None

    def error(self) -> LLMError | None:
        """The failure as the error it stands for."""
        if self.failure is None:
            return None
        kind = getattr(errors, self.failure.kind, LLMError)
        return (kind if isinstance(kind, type) and issubclass(kind, LLMError) else LLMError)(self.failure.text, hint=self.failure.hint)


class Setup:
    """One set-up of one home. Nothing is written before `save`. Raises `ConfigError` for a configuration that cannot be read."""

    def __init__(self, home: str | None, environ: Mapping[str, str]) -> None:
        self._home, self._environ = home, environ
        self.file, self.exists = config.target(home, environ)
        self.loaded = config.load(home=home, environ=environ, extensions=Capabilities.load, stored=stored_secrets)
        self.gate = gate_of(self.loaded)
        self._fresh = not self.exists and not self.loaded.dotenv

    async def find(self) -> SetupFindings:
        """What is there on this machine."""
        return await find(self.loaded, self.gate)

    def services(self) -> list[str]:
        """Every service that can be chosen by its name alone."""
        return [name for name in load("provider.names")(providers(self.loaded)) if name != OFFLINE] + [OFFLINE]

    def key_variable(self, service: str) -> str:
        """The variable for the service's key; "" for one that takes none. A service of the person's own has `NAME_API_KEY`."""
        known = load("provider.known").get(service)
        if known is None:
            return "" if service in (*OWN, LOCAL) else f"{load('provider.variable')(service)}_API_KEY"
        return str(known.keys[0]) if known.keys else ""

    def needs_key(self, service: str) -> bool:
        """Whether the service wants a key and none is set: with any key it could be asked, as things are it cannot."""
        name, configured, env = self.key_variable(service), providers(self.loaded), self.loaded.env
        return bool(name) and not resolves(service, configured, env) and resolves(service, configured, {**env, name: "any"})

    def default_model(self, service: str, found: SetupFindings) -> str:
        """The model to propose for a service: what is configured, what is there, or what is built in for it."""
        llm = self.loaded.settings.llm
        if service == llm.default_provider and llm.default_model:
            return llm.default_model
        if service == "ollama" and found.ollama_models:
            return found.ollama_models[0]
        if service == LOCAL:
            return found.files[0].path if found.files else ""
        configured = llm.providers.get(service)
        known = load("provider.known").get(service)
        if configured and configured.models:
            return next(iter(configured.models))
        return "" if known is None else load("provider.successor")(service, known.model) or str(known.model)

    async def named(self, choice: SetupChoice) -> SetupChoice:
        """The choice as it is, or with the service that has the model where only a model was named. Raises `ConfigError` where that is not clear."""
        models = ModelResolver(alone(self.loaded), self.gate, SystemClock(), given=None)
        if models.names_service(choice.name) or choice.base_url:
            return choice
        await models.ready(choice.name)
        service, _, model = models.full_name(choice.name, usable=False).partition(":")
        return msgspec.structs.replace(choice, service=service, model=model)

    def check_key(self, choice: SetupChoice) -> None:
        """Raises `ConfigError` for a key that would have no effect or cannot be kept."""
        name = self.key_variable(choice.service)
        if not choice.key:
            return
        if not name:
            raise ConfigError(f"{choice.service} takes no key")
        if not all("!" <= letter <= "~" for letter in choice.key):
            raise ConfigError("a key has only visible ASCII characters, without spaces: this was something else")
        if self._environ.get(name) and self._environ[name] != choice.key:
            raise ConfigError(f"{name} is set in the environment, which wins over .env: a new key would have no effect", hint=f"unset {name}")

    def trial(self, choice: SetupChoice) -> config.LoadedSettings:
        """The settings as they would be with this choice, for a trial of it."""
        self.check_key(choice)
        extra = {self.key_variable(choice.service): choice.key} if choice.key else {}
        return alone(
            config.load(home=self._home, environ={**self._environ, **extra}, overrides=self.values(choice), extensions=Capabilities.load, stored=stored_secrets)
        )

    def values(self, choice: SetupChoice) -> dict[str, Any]:
        """The keys of the configuration file that this choice sets."""
        values: dict[str, Any] = {"llm.default_provider": choice.service}
        if choice.model or self.loaded.settings.llm.default_model:
            values["llm.default_model"] = choice.model or None
        if choice.base_url:
            values[f"llm.providers.{choice.service}.base_url"] = choice.base_url
        if choice.fallback is not None and list(choice.fallback) != list(self.loaded.settings.llm.fallback):
            values["llm.fallback"] = list(choice.fallback)
        return values

    def complete(self, choice: SetupChoice) -> SetupChoice:
        """The choice with every model named. Raises `ConfigError` for a service that has no default one, is unknown, or has no key."""
        if choice.service == LOCAL:
            choice = msgspec.structs.replace(choice, model=absolute(choice.model, self.loaded.env.get("HOME", "")))
        models = ModelResolver(self.trial(choice), self.gate, SystemClock(), given=None)
        model = models.full_name(choice.name).partition(":")[2]
        fallback = None if choice.fallback is None else tuple(models.full_name(name) for name in choice.fallback)
        return msgspec.structs.replace(choice, model="" if choice.service in OWN else model, fallback=fallback)

    async def list_models(self, choice: SetupChoice) -> ModelListing | None:
        """The models that the service offers, asked for free; None for what is no service."""
        if choice.service in (*OWN, LOCAL):
            return None
        loaded = self.trial(choice)
        return await listing(self.gate, load("provider.resolve")(choice.service, providers(loaded), loaded.env), LIST_SECONDS)

    async def call(self, choice: SetupChoice, tell: Tell) -> list[FirstCall]:
        """One real call to the chosen model, then to each it falls back on; ends with the first that fails."""
        done = []
        loaded = self.trial(choice)
        async with opened_models(loaded, self.gate) as models:
            for name in (choice.name, *(choice.fallback or ())):
                if name.partition(":")[0] not in OWN:
                    tell(f"asking {name} …")
                done.append(await call(models, name, tell))
                if done[-1].failure:
                    break
        return done

    def save(self, choice: SetupChoice) -> list[str]:
        """Write the files; their paths, the configuration last."""
        variables = {self.key_variable(choice.service): choice.key} if choice.key else {}
        if variables and self.in_secret_store(choice):
            store = load("secrets.store")(self.loaded.home, self.loaded.env)
            for name, key in variables.items():
                store.put(name, key, keyring=False)  # cron jobs, which have none, find it too
            return [store.path, *save(self.file, self.values(choice), {})]
        return save(self.file, self.values(choice), variables)

    def in_secret_store(self, choice: SetupChoice) -> bool:
        """Whether a key of this choice is kept in the secret store: there is one, or this home is new and its owner has used no `.env`, which wins over it."""
        store = load("secrets.store")(self.loaded.home, self.loaded.env)
        fresh = self._fresh and bool(config.state_directory(self.loaded.env))
        return (fresh or bool(store.exists())) and self.key_variable(choice.service) not in self.loaded.dotenv

    def overruled(self, choice: SetupChoice) -> str:
        """What, after saving, still speaks against the choice: a variable that wins over the file; "" as a rule."""
        loaded = config.load(home=self._home, environ=self._environ, extensions=Capabilities.load, stored=stored_secrets)
        llm = loaded.settings.llm
        for key, wanted in (("llm.default_provider", choice.service), ("llm.default_model", choice.model or None)):
            if (llm.default_provider if key.endswith("provider") else llm.default_model) != wanted:
                return f"{key} is set by {loaded.origin(key)}, which wins over {self.file}"
        return ""


def alone(loaded: config.LoadedSettings) -> config.LoadedSettings:
    """The same settings for a trial: one attempt a call, and no other model answers in the place of the one that is asked."""
    trial, llm = copy.copy(loaded), loaded.settings.llm
    once = msgspec.structs.replace(llm.retry, attempts=1)
    trial.settings = msgspec.structs.replace(loaded.settings, llm=msgspec.structs.replace(llm, retry=once, fallback=()))
    return trial


def resolves(service: str, configured: Mapping[str, Any], env: Mapping[str, str]) -> bool:
    """Whether the service has all it needs to be asked."""
    try:
        load("provider.resolve")(service, configured, env)
    except ConfigError:
        return False
    return True


def absolute(path: str, person_home: str) -> str:
    """A path that means the same in every directory; links stay, since what they point to may have another name. What is no file here stays a name."""
    there = os.path.abspath(person_home + path[1:] if path.startswith("~/") else path)  # noqa: PTH100
    return there if os.path.isfile(there) else path  # noqa: PTH113


def gate_of(loaded: config.LoadedSettings) -> PolicyGate:
    """A gate for standing grants, and for where a download is redirected, of a home that need not exist yet."""
    data = config.data_places(loaded.home, loaded.env)
    policy = config.policy(loaded.settings, own_data=data, person_home=loaded.env.get("HOME", ""), own=own_code())
    return PolicyGate(policy, SystemFacts(policy, loaded.env.get("PATH", "")), SystemClock(), read_command)


@asynccontextmanager
async def opened_models(loaded: config.LoadedSettings, gate: PolicyGate) -> AsyncGenerator[ModelResolver]:
    models = ModelResolver(loaded, gate, SystemClock(), given=None)
    try:
        yield models
    finally:
        with anyio.CancelScope(shield=True):
            await models.aclose()


async def call(models: ModelResolver, name: str, tell: Tell) -> FirstCall:
    """One real, streamed request through the provider that turns use. Raises `ConfigError` for an unknown service or a missing key."""
    full = models.full_name(name)
    if full.partition(":")[0] in OWN:
        return FirstCall(model=full, text="no language model: there is nothing to call")
    chosen = await models.chosen(full)
    request = Request(
        model=chosen.name,
        messages=(UserMessage(QUESTION),),
        temperature=chosen.temperature,
        top_p=chosen.top_p,
        max_tokens=CALL_TOKENS,
        timeout=chosen.timeout,
    )
    started = time.monotonic()
    reply = await replied(chosen.provider, request, tell)
    ms = round(1000 * (time.monotonic() - started))
    return FirstCall(model=full, text=" ".join(reply.text.split()), ms=ms, failure=reply.failure and advised(reply.failure, full))


def advised(failure: Failure, model: str) -> Failure:
    """The failure; where the service does not know the model any more, with the successor as the next step."""
    successor = load("provider.successor")(*model.split(":", 1)) if failure.kind == "LLMModelError" else None
    return msgspec.structs.replace(failure, hint=f"its successor: neuralclaw init --model {model.partition(':')[0]}:{successor}") if successor else failure


async def replied(provider: Any, request: Request, tell: Tell) -> ModelReply:
    """The finished reply; waits and notices are told as they come."""
    with anyio.move_on_after(CALL_SECONDS):  # a longer wait that a service asks for is told, not made
        async with provider.stream(request) as events:
            async for event in events:
                if isinstance(event, Retrying):
                    tell(f"{event.reason}; once more in {event.wait_ms / 1000:g} s")
                elif isinstance(event, Notice):
                    tell(event.text)
                elif isinstance(event, Finished):
                    return event.reply
    return ModelReply(stop="error", failure=Failure("LLMUnavailableError", f"{request.model} ended its answer without an end"))


def missing_for(service: str) -> str:
    """The command that installs what a local model needs, "" where nothing is missing."""
    return "pip install 'openvino-genai>=2026.4'" if service == LOCAL and not local_engine() else ""
