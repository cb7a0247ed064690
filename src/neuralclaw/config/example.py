"""Writes `.env.example`: every variable that is read, from the tables that read them."""

import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from .descriptions import descriptions
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


def example(services: Sequence[ServiceVariables], sections: Mapping[str, type[msgspec.Struct]] = {}) -> str:
    """The text of `.env.example`; `sections` are those that capabilities bring.

    Settings are comments with their defaults; to take the `# ` away changes nothing.
    """
    parts = [HEAD, "# Model services: a key is enough, the first service with one is used.\n", *map(_service, services)]
    parts.append(
        "# Telegram: the bot's token, and the ids of those it obeys, with commas between them.\n" + "".join(f"{name}=\n" for name in TELEGRAM.values())
    )
    parts += [HOME, "# Every setting. config.yaml is the better place for them; lists have commas between them or are JSON, sections are JSON.\n"]
    defaults = Settings()
    parts += [_section(name, getattr(defaults, name)) for name in defaults.__struct_fields__]
    parts += [_section(name, kind()) for name, kind in sections.items()]
    return "\n".join(parts)


def _service(service: ServiceVariables) -> str:
    lines = [f"# {service.name}: {service.model} at {service.base_url}"]
    lines += [f"{name}=" if number == 0 else f"# {name}=" for number, name in enumerate(service.keys)]
    lines += [f"# {name}={service.base_url.removesuffix('/v1') if name.endswith('_HOST') else service.base_url}" for name in service.urls]
    return "\n".join(lines) + "\n"


def _section(name: str, section: Any) -> str:
    if not isinstance(section, msgspec.Struct):
        return f"# {name}: {descriptions(Settings)[name]}\n# {PREFIX}{name.upper()}={as_text(section)}\n"
    said = inspect.getdoc(type(section)) if type(section).__doc__ else ""
    lines = [f"# {name}" + (f": {' '.join(said.split()).replace('None', 'empty')}" if said else "")]
    for key, value in flat(section, name):
        said = _said(section, key.split(".")[1:])
        lines += [f"# {said.replace('None', 'empty')}"] if said else []
        lines.append(f"# {PREFIX}{key.upper().replace('.', '__')}={as_text(value)}")
    return "\n".join(lines) + "\n"


def _said(section: msgspec.Struct, path: list[str]) -> str:
    """The docstring under a key."""
    for name in path[:-1]:
        section = getattr(section, name)
    return descriptions(type(section)).get(path[-1], "")


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
