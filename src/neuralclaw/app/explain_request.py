"""What `policy explain` may be asked, and what is wrong with a question: the field, its value, and what may stand there."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from ..errors import UsageError
from ..types.actions import Who
from ..types.risk import Trust
from ..types.suggestions import did_you_mean
from .capabilities import capabilities_of
from .home import Home
from .verb_calls import fitted_value

CHANNELS = ("telegram", "web")
"""Channels that rules may name before any capability brings them."""


class ExplainRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may be asked, as in INTERFACE.md. `resolve`: one list of addresses for each look-up of a host, instead of DNS."""

    workspace: str | None = None
    trust: Trust | None = None
    command: str | None = None
    url: str | None = None
    path: str | None = None
    op: str | None = None
    tool: str | None = None
    args: dict[str, Any] | None = None
    call_id: str | None = None
    resolve: dict[str, list[list[str]]] | None = None
    soul: str | None = None
    origin: Who | None = None
    channel: str | None = None
    label: list[str] | None = None


def request_of(asked: Mapping[str, Any]) -> ExplainRequest:
    """The question. Raises `UsageError`, which names the field, its value, and what may stand there."""
    kinds = {field.name: field.type for field in msgspec.structs.fields(ExplainRequest)}
    for name in asked:
        if name not in kinds:
            raise UsageError(f"that cannot be explained: unknown field {name!r:.80}{did_you_mean(name, kinds)}", hint=f"valid fields: {', '.join(kinds)}")
    values = {name: fitted_value(f"that cannot be explained: {name}", value, kinds[name]) for name, value in asked.items()}
    return ExplainRequest(**values)


async def check_ids(home: Home, asked: ExplainRequest) -> None:
    """Refuse a soul or a channel that is not there: no rule could mean it. Raises `UsageError`."""
    if asked.soul and asked.soul not in (souls := await _souls(home)):
        raise UsageError(f"there is no soul {asked.soul!r:.80}{did_you_mean(asked.soul, souls)}", hint=_listed(souls, "souls"))
    if asked.channel and asked.channel not in (channels := _channels(home)):
        raise UsageError(f"there is no channel {asked.channel!r:.80}{did_you_mean(asked.channel, channels)}", hint=_listed(channels, "channels"))


def _listed(names: list[str], noun: str) -> str:
    return f"known here: {', '.join(names)}" if names else f"no {noun} are known here: none has a file, a session or a rule"


async def _souls(home: Home) -> list[str]:
    """The souls that have a file in the home, that a rule names, or that a session had."""
    files = _names_of(os.path.join(home.loaded.home, "souls"))  # noqa: PTH118
    used = [row["soul"] for row in await home.store.rows("sessions")]
    return sorted({*files, *used, *(rule.soul or "" for rule in home.policy.rules)} - {""})


def _names_of(folder: str) -> list[str]:
    """The names of the YAML files in a directory; none where there is none."""
    try:
        return [name.removesuffix(".yaml") for name in os.listdir(folder) if name.endswith(".yaml")]  # noqa: PTH208
    except OSError:
        return []


def _channels(home: Home) -> list[str]:
    """The channels that capabilities bring, those that a rule names, and the promised ones."""
    brought = [name for one in capabilities_of(home.loaded).bringing("channels") for name in one.channels]
    return sorted({*CHANNELS, *brought, *(rule.channel or "" for rule in home.policy.rules)} - {""})
