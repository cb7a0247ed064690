"""The part of `doctor` that is about models: the chosen one and those it falls back on, each from its key to a real call."""

import os
from collections.abc import Callable
from typing import Any

import msgspec

from ...capability import DoctorCheck
from ...errors import ConfigError, LLMAuthError, LLMError, LLMModelError, LLMRateLimitError, LLMTimeoutError, LLMUnavailableError
from ...plugins import load
from ...types.cut_texts import cut_text
from ...types.shown_addresses import shown_address
from ..home import Home
from ..setup.discovery import local_engine, providers
from ..setup.procedure import LOCAL, OFFLINE, alone, call, missing_for, opened_models
from .model_resolver import GIVEN, OWN
from .service_models import ModelListing, counted, has_model, listing

REACH_SECONDS = 4.0
"""How long a service may take to send the list of its models."""


class FixCommands:
    """The commands that mend one model: the chosen one (`at` None), or the one at a place among those to fall back on."""

    def __init__(self, home: Home, at: int | None = None) -> None:
        self._home, self._at = home, at

    def model(self, name: str) -> str:
        """Takes `name` (`P:M`) in its place. Of the person's own service nothing but the name has to change."""
        loaded = self._home.loaded
        if self._at is not None:
            others = list(loaded.settings.llm.fallback)
            others[self._at] = name
            return " --fallback ".join([f"neuralclaw init --model {self._home.models.default()[0]}", *others])
        service, _, model = name.partition(":")
        if service in load("provider.known"):
            return f"neuralclaw init --model {name}"
        model = model if loaded.settings.llm.default_provider == service else name
        kind, _, variable = loaded.origin("llm.default_model").partition(" ")
        return f"export {variable}={model}" if kind == "environment" else f"neuralclaw config set llm.default_model {model}"

    def key(self, service: str, name: str) -> str:
        """Sets the service's key; without a key to set, chooses anew."""
        known, loaded = load("provider.known").get(service), self._home.loaded
        if service == LOCAL:
            return missing_for(LOCAL) or "neuralclaw init --fetch-model"
        names = known.keys if known is not None else (f"{load('provider.variable')(service)}_API_KEY",)
        if not names or (known is None and service not in loaded.settings.llm.providers):
            return "neuralclaw init"
        if self._at is None:
            wins = [one for one in names if loaded.env.get(one, "").strip() and loaded.variable_origin(one).startswith("environment")]
            first = f"unset {' '.join(wins)}; " if wins else ""  # the environment wins over what `init` keeps
            return f"{first}neuralclaw init --model {name} --key-stdin"
        folder = os.path.dirname(loaded.file or os.path.join(loaded.home, "config.yaml"))  # noqa: PTH118, PTH120
        return f"write the line {names[0]}=YOUR-KEY into {os.path.join(folder, '.env')}"  # noqa: PTH118


async def model_checks(home: Home, *, real_call: bool) -> list[DoctorCheck]:
    """Which model is chosen and why, whether it can be asked, and the same of every model it falls back on.

    The free list of models is asked for at the services that are configured for use, nowhere else; a model is called only with
    `real_call`.
    """
    await home.models.ready()
    name, why = home.models.default()
    found = await _of_model(home, name, FixCommands(home), ("model", real_call))
    if found[0].ok:
        honest = "; it is no language model: neuralclaw init chooses one" if name.partition(":")[0] == OFFLINE else ""
        found[0] = msgspec.structs.replace(found[0], text=f"{found[0].text}, because {why}{honest}", fix=None)
    for number, other in enumerate(home.loaded.settings.llm.fallback, 1):
        first, *more = await _of_model(home, other, FixCommands(home, number - 1), (f"fallback.{number}", real_call))
        found.append(first)  # one that is configured wrongly stops every turn; one that is out stops none
        found += [msgspec.structs.replace(one, needed=False) for one in more]
    engine = local_engine()
    text = f"{engine} is installed" if engine else "nothing is installed that runs a model in this process"
    return [*found, DoctorCheck(check="local", ok=bool(engine), text=text, fix=missing_for(LOCAL) or None, needed=False)]


async def _of_model(home: Home, name: str, fixes: FixCommands, how: tuple[str, bool]) -> list[DoctorCheck]:
    """The checks of one model, up to the first that makes the others pointless. `how`: what they are called, and whether to call it for real."""
    check, real_call = how
    service = name.partition(":")[0]
    try:
        full = home.models.full_name(name)
    except ConfigError as error:
        return [DoctorCheck(check=check, ok=False, needed=True, text=error.text, fix=fixes.key(service, name))]
    found = [DoctorCheck(check=check, ok=True, needed=True, text=full), *_of_key(home, service, f"{check}.key")]
    answer = None
    if service not in (*OWN, GIVEN, LOCAL):
        more, answer = await _of_service(home, full, fixes, check)
        found += more
    if not real_call or service in (*OWN, GIVEN):
        return found
    called = await _called(home, full, f"{check}.call", lambda error: _call_fix(error, full, fixes, answer))
    if called.ok:  # it works, whatever the list of models said
        found = [msgspec.structs.replace(one, needed=False) for one in found]
    return [*found, called]


def _of_key(home: Home, service: str, check: str) -> list[DoctorCheck]:
    """Where the service's key comes from; nothing for one that takes none."""
    known, env = load("provider.known").get(service), home.loaded.env
    variable = next((name for name in known.keys if env.get(name, "").strip()), "") if known is not None else ""
    return [DoctorCheck(check=check, ok=True, needed=True, text=f"{variable} is set ({home.loaded.variable_origin(variable)})")] if variable else []


async def _of_service(home: Home, full: str, fixes: FixCommands, check: str) -> tuple[list[DoctorCheck], ModelListing]:
    """Whether the service is there, takes the key, and has the model; and what it said."""
    name, _, model = full.partition(":")
    service = load("provider.resolve")(name, providers(home.loaded), home.loaded.env)
    answer = await listing(home.gate, service, REACH_SECONDS)
    reached = DoctorCheck(
        check=f"{check}.service", ok=answer.ok, needed=True, text=answer.text, fix=None if answer.ok else _service_fix(service, full, fixes, answer)
    )
    known = _of_name(service, model, fixes, answer) if answer.ok else None
    return ([reached] if known is None else [reached, msgspec.structs.replace(known, check=f"{check}.name")]), answer


def _service_fix(service: Any, full: str, fixes: FixCommands, answer: ModelListing) -> str:
    if answer.refused:
        return fixes.key(service.name, full)
    if service.name == "ollama":
        return "ollama serve"
    return f"curl -sS {shown_address(service.base_url, '/models')}"


def _of_name(service: Any, model: str, fixes: FixCommands, answer: ModelListing) -> DoctorCheck | None:
    """Whether the model is among those of the service, or known to be withdrawn; None where that cannot be told."""
    if answer.models is not None and has_model(answer.models, model):
        return DoctorCheck(check="name", ok=True, needed=True, text=f"{service.name} has {model}")
    successor = load("provider.successor")(service.name, model) if answer.models is not None or service.own else None
    if successor:
        text = f"{service.name} has withdrawn {model}; its successor is {successor}"
        return DoctorCheck(check="name", ok=False, needed=True, text=text, fix=fixes.model(f"{service.name}:{successor}"))
    if answer.models is None or model == "default":
        return None
    text = f"{model} is not among the {counted(answer.models)} of {service.name}" if answer.models else f"{service.name} has no models"
    if service.name == "ollama":
        return DoctorCheck(check="name", ok=False, needed=True, text=text, fix=f"ollama pull {model}")
    near = _nearest(model, answer.models, service.default_model)
    fix = fixes.model(f"{service.name}:{near}") if near else f"curl -sS {shown_address(service.base_url, '/models')}"
    return DoctorCheck(check="name", ok=False, text=text, fix=fix, needed=False)


def _nearest(model: str, models: tuple[str, ...], default: str) -> str:
    """The listed name that was probably meant, else the service's default where it is listed, else the first that is not made for embeddings."""
    import difflib

    near = difflib.get_close_matches(model, models, 1, 0.5)
    others = [name for name in (default, *models) if name in models and "embed" not in name]
    return next(iter((*near, *others)), default if default != model else "")


def _call_fix(error: LLMError, full: str, fixes: FixCommands, answer: ModelListing | None) -> str:
    """The command after a call that failed: a model that the service lists, a new key, or the call once more."""
    service, _, model = full.partition(":")
    if isinstance(error, LLMAuthError):
        return fixes.key(service, full)
    if isinstance(error, LLMRateLimitError | LLMTimeoutError | LLMUnavailableError):
        return "neuralclaw doctor --call"
    others = tuple(name for name in (answer.models if answer is not None else None) or () if name != model)
    near = _nearest(model, others, "") if isinstance(error, LLMModelError) else ""
    return fixes.model(f"{service}:{near}") if near else "neuralclaw init"


async def _called(home: Home, name: str, check: str, fix: Callable[[LLMError], str]) -> DoctorCheck:
    """One real call, through the provider that turns use."""
    async with opened_models(alone(home.loaded), home.gate) as models:
        done = await call(models, name, lambda _: None)
    error = done.error()
    if error is None:
        return DoctorCheck(check=check, ok=True, needed=True, text=f"answered {cut_text(done.text, 60)!r} after {done.ms} ms")
    return DoctorCheck(check=check, ok=False, needed=True, text=error.text, fix=fix(error))
