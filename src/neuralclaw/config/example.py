"""Writes `.env.example`: every variable that is read, from the tables that read them."""

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from .load import PREFIX, TELEGRAM, flat
from .settings import Settings

HEAD = """\
# Every variable that NeuralClaw reads. Made by: neuralclaw config example > .env.example
#
# Copy the lines you need into `.env` beside config.yaml (`neuralclaw config path` says where that is) and keep it readable for
# yourself alone: chmod 600 .env. `neuralclaw init` writes it for you. The environment wins over `.env`, `.env` over config.yaml.
# An empty variable counts as not set.
"""

HOME = """\
# The data directory. Only in the environment, since `.env` is looked for in it.
# NEURALCLAW_HOME=~/.local/share/neuralclaw
"""


class ServiceVariables(NamedTuple):
    """A model service as the example shows it: its name, default model, address, and the variables of its key and address."""

    name: str
    model: str
    base_url: str
    keys: Sequence[str]
    urls: Sequence[str]


def example(services: Sequence[ServiceVariables]) -> str:
    """The text of `.env.example`. Settings stand as comments with their defaults; to take the `# ` away changes nothing."""
    parts = [HEAD, "# Model services: a key is enough, the first service with one is used.\n", *map(_service, services)]
    parts.append(
        "# Telegram: the bot's token, and the ids of those it obeys, with commas between them.\n" + "".join(f"{name}=\n" for name in TELEGRAM.values())
    )
    parts += [HOME, "# Every setting. config.yaml is the better place for them; lists have commas between them or are JSON, sections are JSON.\n"]
    defaults = Settings()
    parts += [_section(name, getattr(defaults, name)) for name in defaults.__struct_fields__]
    return "\n".join(parts)


def _service(service: ServiceVariables) -> str:
    lines = [f"# {service.name}: {service.model} at {service.base_url}"]
    lines += [f"{name}=" if number == 0 else f"# {name}=" for number, name in enumerate(service.keys)]
    lines += [f"# {name}={service.base_url.removesuffix('/v1') if name.endswith('_HOST') else service.base_url}" for name in service.urls]
    return "\n".join(lines) + "\n"


def _section(name: str, section: msgspec.Struct) -> str:
    said = inspect.getdoc(type(section)) if type(section).__doc__ else ""
    lines = [f"# {name}" + (f": {' '.join(said.split()).replace('None', 'empty')}" if said else "")]
    return "\n".join([*lines, *(f"# {variable}={value}" for variable, value in _variables(name, section))]) + "\n"


def _variables(name: str, section: msgspec.Struct) -> Iterator[tuple[str, str]]:
    for key, value in flat(section, name):
        yield PREFIX + key.upper().replace(".", "__"), as_text(value)


def as_text(value: Any) -> str:
    """A value as a variable spells it: empty for None and for an empty list."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)


def of_table(known: Mapping[str, Any]) -> list[ServiceVariables]:
    """The services of the table of built-in ones."""
    return [ServiceVariables(name, one.model, one.base_url, one.keys, one.urls) for name, one in known.items()]
