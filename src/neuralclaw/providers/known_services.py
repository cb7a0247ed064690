"""The services that need no configuration, and how a name becomes a `ModelEndpoint`. Pure: settings and environment are handed in."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from ..errors import ConfigError
from ..types.datafile import by_name, read_data_file
from ..types.proxies import unused_proxy
from ..types.shown_addresses import address_parts, shown_address
from ..types.urls import named_host
from .model_service import ModelEndpoint
from .model_service import is_local as is_local
from .models import over

FILE = "providers/services.json"


class ServiceDefaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A service by its name: its own address, a default model, the variables that its SDK reads (the first is the one to name).

    `api` is what it speaks at its own address; elsewhere only `messages` and `ollama` are what they are at home, all else is `chat`.
    """

    name: str
    base_url: str
    model: str
    keys: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    echo_reasoning: bool = False
    api: Literal["chat", "responses", "messages", "ollama"] = "chat"

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("https://", "http://")):
            raise ValueError(f"{self.base_url} is not an http or https address")


class KnownServices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    services: tuple[ServiceDefaults, ...]


KNOWN = by_name(FILE, read_data_file(FILE, KnownServices).services, lambda row: (row.name,))
"""In the order in which a service with a key becomes the default. The last four run on the person's own machine."""

SPOKEN = ("chat", "responses", "messages", "ollama")
"""Values of `api` that are built in now."""


def resolve(name: str, providers: Mapping[str, Mapping[str, Any]], env: Mapping[str, str]) -> ModelEndpoint:
    """The service of that name, ready to be asked: `described`, and `ConfigError` that names the variable too where its key is missing."""
    service = described(name, providers, env)
    if lacks_key(service):
        hint = f"set {service.key_name}, or choose another model with --model PROVIDER:MODEL"
        raise ConfigError(f"no key for {name}: {service.key_name} is not set", hint=hint)
    return service


def lacks_key(service: ModelEndpoint) -> bool:
    """Whether the service wants a key that is not there."""
    known = KNOWN.get(service.name)
    return known is not None and bool(known.keys) and not service.api_key and not is_local(service.host)


def described(name: str, providers: Mapping[str, Mapping[str, Any]], env: Mapping[str, str]) -> ModelEndpoint:
    """The service of that name: what is built in, over it `llm.providers.NAME` of the settings, over that the environment.

    `providers` is `llm.providers` with its references already filled in. Raises `ConfigError` for an unknown name (naming those
    there are), a missing or unusable address, and an `api` that is not spoken.
    """
    known = KNOWN.get(name)
    told = providers.get(name)
    if known is None and told is None:
        raise _unknown(name, providers)
    told = told or {}
    url = _first(known.urls if known else (), env) or told.get("base_url") or (known.base_url if known else "")
    api = told.get("api") or ("ollama" if name == "ollama" else _spoken(known, url))
    if api not in SPOKEN:
        raise ConfigError(f"llm.providers.{name}.api is {api!r}, which this version does not speak", hint=f"it speaks {' and '.join(SPOKEN)}")
    base_url = _address(name, api, url)
    key_names = known.keys if known else (f"{variable(name)}_API_KEY",)
    service = ModelEndpoint(
        name=name,
        base_url=base_url,
        api_key=_first(key_names, env) or told.get("api_key") or "",
        key_name=_key_name(name, key_names, told, env),
        default_model=told.get("model") or (known.model if known else next(iter(told.get("models") or {}), "")),
        api=api,
        windows=frozenset(model for model, facts in (told.get("models") or {}).items() if facts and facts.get("context")),
        own=known is not None and base_url == known.base_url,
        echo_reasoning=known is not None and known.echo_reasoning,
        hint=unused_proxy(env),
    )
    if service.api_key and api != "messages" and (found := address_parts(base_url)) is not None and found.who:
        problem = f"llm.providers.{name}.base_url holds a name or password, and {service.key_name} is set: both are sent in the same header"
        raise ConfigError(problem, hint="take one of them out")
    return _with_models(service, told.get("models") or {})


def _key_name(name: str, variables: Sequence[str], told: Mapping[str, Any], env: Mapping[str, str]) -> str:
    """Where the service's key comes from, or would: the variable that is set, else the place in the settings, else the first variable."""
    found = next((variable for variable in variables if env.get(variable, "").strip()), "")
    configured = told.get("key_name") or (f"llm.providers.{name}.api_key" if told.get("api_key") else "")
    return found or configured or next(iter(variables), "")


def with_key(providers: Mapping[str, Mapping[str, Any]], env: Mapping[str, str]) -> list[str]:
    """Names of the services that have what they need in settings or environment: `openai`, then those configured, then those built in.

    Local ones count only where they are configured, since being built in says nothing about whether they run.
    """
    ready = [name for name in providers if name not in KNOWN or _keyed(name, providers, env) or is_local(_host(providers[name]))]
    ready.extend(name for name, known in KNOWN.items() if name not in providers and known.keys and _first(known.keys, env))
    return sorted(ready, key=lambda name: name != "openai")


def names(providers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Every provider name that may be asked for, `local` and `offline` too."""
    return sorted({*KNOWN, *providers, "local", "offline"})


def variable(name: str) -> str:
    """The name in the spelling of environment variables."""
    return "".join(letter if letter.isalnum() else "_" for letter in name).upper()


def _spoken(known: ServiceDefaults | None, url: str) -> str:
    """What is spoken at an address where nobody says it."""
    at_home = known is not None and (url.rstrip("/") == known.base_url or known.api in ("messages", "ollama"))
    return known.api if known is not None and at_home else "chat"


def _keyed(name: str, providers: Mapping[str, Mapping[str, Any]], env: Mapping[str, str]) -> bool:
    return bool(providers[name].get("api_key") or _first(KNOWN[name].keys, env))


def _host(configured: Mapping[str, Any]) -> str:
    return ModelEndpoint(name="", base_url=configured.get("base_url") or "").host


def _first(variables: Iterable[str], env: Mapping[str, str]) -> str:
    """The first of the variables that is set and not empty."""
    return next((value for value in (env.get(variable, "").strip() for variable in variables) if value), "")


def _address(name: str, api: str, url: str) -> str:
    if not url:
        raise ConfigError(f"llm.providers.{name} has no base_url", hint="give the address, for example http://127.0.0.1:8000/v1")
    if "://" not in url:  # OLLAMA_HOST may be host:port
        url = _with_scheme(url, api)
    if problem := _problem(url):
        raise ConfigError(f"llm.providers.{name}.base_url {problem}: {shown_address(url)}", hint="for example http://127.0.0.1:8000/v1")
    url, mark, query = url.partition("?")  # Azure wants one: it is sent behind each path
    scheme, _, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    if place.partition(":")[0] == "0.0.0.0":  # what a server listens on, and nobody can connect to
        place = place.replace("0.0.0.0", "127.0.0.1", 1)
    url = f"{scheme.lower()}://{place}{slash}{path}".rstrip("/")
    ends = {"messages": ("/messages", "/v1"), "ollama": ("/chat", "/api", "/v1")}.get(api, ("/chat/completions", "/responses"))
    for end in ends:
        url = url.removesuffix(end)
    return f"{url}{mark}{query}"


def _problem(url: str) -> str:
    """Why no request can be sent to the address, as the end of a sentence; "" where one can."""
    from urllib.parse import urlsplit  # costs start-up time

    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").partition("%")[0], parts.port
    except ValueError:  # brackets without an end, a port over 65535
        return "is not an http or https URL"
    if parts.scheme not in ("http", "https") or not host or port == 0 or parts.netloc.endswith(":") or any(map(str.isspace, url)):
        return "is not an http or https URL"
    if parts.fragment:
        return "has a part behind #, which is not sent"
    return f"names no host ({problem})" if (problem := named_host(host).problem) else ""


def _with_scheme(url: str, api: str) -> str:
    """A bare `host` or `host:port` as a URL, with what Ollama's own client adds."""
    if api != "ollama":
        return f"http://{url}"
    host, slash, path = url.partition("/")
    if host == "ollama.com":
        return f"https://{url}"
    if host.count(":") > 1 and not host.startswith("["):
        host = f"[{host}]"
    port = "" if host.rpartition(":")[2].isdigit() else ":11434"
    return f"http://{host}{port}{slash}{path}"


def _with_models(service: ModelEndpoint, configured: Mapping[str, Any]) -> ModelEndpoint:
    """The owner's facts of models, over what is known of them without."""
    try:
        return msgspec.structs.replace(service, models=over(service, configured)) if configured else service
    except msgspec.ValidationError as error:
        raise ConfigError(f"llm.providers.{service.name}.models: {error}") from error


def _unknown(name: str, providers: Mapping[str, Mapping[str, Any]]) -> ConfigError:
    import difflib  # 5 ms, needed for this sentence alone

    there = names(providers)
    near = difflib.get_close_matches(name, there, n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    hint = f"{meant}configure another one under llm.providers.{name} with its base_url"
    return ConfigError(f"unknown provider {name!r}; there are {', '.join(there)}", hint=hint)
