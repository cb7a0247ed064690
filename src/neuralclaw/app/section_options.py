"""What an agent is opened with: its options, and the sections of the settings among them."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import msgspec

from .. import config
from ..config import process_environment
from ..config.describe import keys
from ..errors import UsageError
from .approver import checked_approver
from .option_checks import count, dollars, refused, seconds
from .option_types import AgentOptions, OpeningOptions, only_known
from .settings_loading import load_settings

SECTIONS = config.Settings.__struct_fields__
TWOFOLD = ("tools", "approvals")
"""Sections whose name is an option of its own: there only a mapping stands for the section."""
LISTS = ("hooks",)
"""Settings of the first level that are lists."""
LIMITS = {"max_iterations": ("agent", "max_iterations_per_turn"), "timeout": ("agent", "max_turn_timeout_seconds"), "max_budget_usd": ("budget", "turn_usd")}
_CHECKS = {"max_iterations": count, "timeout": seconds, "max_budget_usd": dollars}
"""Options of a turn that an agent takes as the default of its turns, and the settings that they stand for."""


def opened_with(options: OpeningOptions) -> OpeningOptions:
    """The options, with sections and limits of the agent brought into `settings`.

    Raises `UsageError` for an option that is not there, a section that is no mapping, and a key that is given twice.
    """
    extra = _extra_sections(options)
    _no_key(name for name in options if name not in extra)
    only_known((name for name in options if name not in extra), OpeningOptions.__annotations__, "an agent", told=(*AgentOptions.__annotations__, *extra))
    given: dict[str, dict[str, Any]] = {}
    for name, value in options.items():
        if name in LIMITS and value is not None:
            section, key = LIMITS[name]
            given[name] = {f"{section}.{key}": _CHECKS[name](name, value)}
        elif isinstance(value, Mapping) and (name in SECTIONS or name in extra) and name not in LISTS:
            given[name] = {f"{name}.{key}": inner for key, inner in value.items()}
        elif name in LISTS and isinstance(value, list | tuple):
            given[name] = {name: list(value)}
        elif name in SECTIONS and name not in TWOFOLD and value is not None:
            kind = "a list of mappings" if name in LISTS else "its values by key"
            raise refused(name, value, f"the section {name} of the settings: {kind}, as in config.yaml")
    if not given:
        return options
    rest = {name: value for name, value in options.items() if name not in given}
    settings = options.get("settings")
    laid = _over_whole(settings, given) if isinstance(settings, config.Settings | config.LoadedSettings) else _over_values(settings, given)
    return cast(OpeningOptions, rest | {"settings": laid})


def _extra_sections(options: OpeningOptions) -> tuple[str, ...]:
    """Options that are sections of capabilities. To know them the settings are read without these, and only where there are such options."""
    given = cast(Mapping[str, Any], options)
    unknown = {name for name, value in given.items() if name not in OpeningOptions.__annotations__ and isinstance(value, Mapping)}
    if not unknown:
        return ()
    rest = opened_with(cast(OpeningOptions, {name: value for name, value in given.items() if name in OpeningOptions.__annotations__}))
    checked_options(rest)
    environ = rest.get("environ")
    loaded = load_settings(rest.get("home"), process_environment.environ if environ is None else environ, rest.get("settings"))
    return tuple(name for name in loaded.sections if name in unknown)


def checked_options(options: OpeningOptions) -> None:
    """Refuse options of another kind than they are. Raises `UsageError`, with nothing opened."""
    kinds = {name: kind for name, kind in OpeningOptions.__annotations__.items() if kind is bool}
    paths: dict[str, Any] = dict.fromkeys(("home", "workspace"), str | os.PathLike | None)
    others = {"settings": config.LoadedSettings | config.Settings | Mapping | None, "environ": Mapping | None}
    for name, kind in (paths | others | kinds).items():
        value = dict(options).get(name, False if name in kinds else None)
        if not isinstance(value, kind):
            wanted = {"settings": "a Settings value, or values by key", "environ": "names with their values"}
            raise refused(name, value, wanted.get(name, "true or false" if name in kinds else "a path"))
    if options.get("services") and options.get("readonly"):
        raise UsageError("services write to the home, and it is opened with readonly; nothing was run", hint="leave services out, or readonly")
    checked_approver(options.get("approver"))
    if options.get("approver") is not None and options.get("approvals") not in (None, "ask"):
        raise UsageError(
            f"an approver is asked where approvals is 'ask', and it is {options.get('approvals')!r:.80}; nothing was recorded",
            hint="leave approvals out, which means 'ask' here; agent.ask(…, approvals=…) chooses another way for one turn",
        )
    if options.get("provider") is not None and not hasattr(options["provider"], "stream"):
        raise refused("provider", options["provider"], "an object with stream, info and count; FunctionProvider makes one of a function")


def _no_key(options: Iterable[str]) -> None:
    """A key of the settings is no option: its section is. Raises `UsageError` that names it."""
    for name in options:
        if name not in OpeningOptions.__annotations__:
            for key in keys(config.Settings):
                section, _, rest = key.partition(".")
                if key.rpartition(".")[2] == name and not {"*", "["} & set(key):
                    raise UsageError(f"an agent has no option {name!r}, which is a setting; nothing was recorded", hint=f'give {section}={{"{rest}": …}}')


def _over_whole(settings: config.Settings | config.LoadedSettings, given: Mapping[str, Mapping[str, Any]]) -> config.Settings:
    """A whole `Settings` value with the limits of the agent; it stands in place of all others, so that sections beside it are refused."""
    sections = [name for name in given if name not in LIMITS]
    if sections or not isinstance(settings, config.Settings):
        raise UsageError(
            f"settings is a whole value already, and {(sections or list(given))[0]} would change it; nothing was recorded",
            hint="give settings as values by key, or bring them all into the one value",
        )
    values = {LIMITS[name][1]: value for name, keys in given.items() for value in keys.values()}
    return msgspec.structs.replace(settings, agent=msgspec.structs.replace(settings.agent, **values))


def _over_values(settings: Any, given: Mapping[str, Mapping[str, Any]]) -> Any:
    """The values by key of all of them. Raises `UsageError` where two name the same."""
    if settings is not None and not isinstance(settings, Mapping):
        return settings  # refused with the other options
    seen: dict[tuple[str, ...], str] = {}
    for name, values in {"settings": settings or {}, **given}.items():
        for path in _paths(values):
            before = next((option for other, option in seen.items() if option != name and other[: len(path)] == path[: len(other)]), None)
            if before is not None:
                raise UsageError(f"{before} and {name} both say {'.'.join(path)}; nothing was recorded", hint="say it in one of them")
            seen[path] = name
    merged = dict(settings or {})
    for values in given.values():
        merged |= values
    return merged


def _paths(values: Mapping[Any, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The way to every value; a key of the first level may name several steps (`llm.retry`)."""
    for key, value in values.items():
        path = (*above, str(key)) if above else tuple(str(key).split("."))
        if isinstance(value, Mapping) and value:
            yield from _paths(value, path)
        else:
            yield path
