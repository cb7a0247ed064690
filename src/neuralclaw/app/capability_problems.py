"""Why a capability cannot take part: what it has to keep to, and the names that are taken."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from .. import config
from ..capability import Capability, Verb
from ..config.describe import unfit_type
from ..errors import ConfigError
from ..plugins import NOUNS, BuiltInCapability
from ..store.derived_tables import DerivedTables
from ..types.codec import Codec
from ..types.events import AnyBody
from ..types.planned_commands import NOUNS as PLANNED
from .capability_shape import of_shape
from .capability_verbs import VerbParameter, parameters_of
from .option_types import OpeningOptions

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,39}")
_VERB = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)?")
_SUFFIX = re.compile(r"(\.[a-z0-9]+)+")
Claim = tuple[str, str]
"""What is named (`the command`), and the name."""


class TakenNames:
    """The names that are taken, by whom."""

    def __init__(self) -> None:
        self._taken: dict[Claim, str] = dict.fromkeys(_built_in(), "")

    def taken_by(self, capability: Capability) -> Capability:
        """The capability, its names taken from now on."""
        self._taken |= dict.fromkeys(claims(capability), capability.name)
        return capability

    def taken_by_row(self, name: str, row: BuiltInCapability) -> bool:
        """Take the names of a built-in capability without importing it. False where its row does not say them all."""
        if row.parts != frozenset():
            return False
        section = [("the section", name)] if row.settings else []
        told = [("the name", name), *section, *(("the command", noun) for noun in row.nouns), *(("the verb", verb) for verb in row.verbs)]
        self._taken |= dict.fromkeys(told, name)
        return True

    def clash(self, capability: Capability) -> str:
        """The first name of the capability that is taken, as a sentence; "" where there is none."""
        seen = set[Claim]()
        for claim in claims(capability):
            if claim in self._taken:
                by = f"the capability {self._taken[claim]} has it" if self._taken[claim] else "it is built in"
                return f"{' '.join(claim)} is taken: {by}"
            if claim in seen:
                return f"it brings {' '.join(claim)} twice"
            seen.add(claim)
        return ""


def _built_in() -> Iterator[Claim]:
    yield from (("the section", name) for name in (*config.Settings.__struct_fields__, *OpeningOptions.__annotations__))
    yield from (("the command", noun) for noun in (*NOUNS, *PLANNED))
    yield from (("the event kind", str(body.__struct_config__.tag)) for body in AnyBody.__args__)


def claims(capability: Capability) -> Iterator[Claim]:
    """Every name that must be its alone."""
    yield "the name", capability.name
    if capability.settings is not None:
        yield "the section", capability.name
    yield from (("the command", noun) for noun in dict.fromkeys(verb.name.partition(".")[0] for verb in capability.verbs))
    yield from (("the verb", verb.name) for verb in capability.verbs)
    yield from (("the event kind", kind.kind) for kind in capability.events)
    yield from (("the table", table.name) for table in capability.tables)
    yield from (("the source", source.name) for source in capability.sources)
    yield from (("the service", service.name) for service in capability.services)
    yield from (("the channel", name) for name in capability.channels)
    yield from (("the file format", one.name) for one in capability.formats)
    yield from (("the file ending", suffix) for one in capability.formats for suffix in one.suffixes)


def problem_of(value: Any, name: str, names: TakenNames) -> str:
    """Why `value`, which the entry point `name` gives, cannot take part; "" where it can. What its code raises is raised."""
    if not isinstance(value, Capability):
        return f"its entry point gives {type(value).__name__}, which is not a Capability"
    if value.name != name:
        return f"its entry point is named {name} and the capability {value.name}: both must be the same"
    if not _IDENTIFIER.fullmatch(name):
        return f"{name!r} cannot be the name of a capability: at most 40 small letters, digits and underscores, a letter first"
    for part in (of_shape, _of_settings, _of_verbs, _of_events, _of_formats):
        for found in part(value):  # one after the other: each relies on what those before it have found right
            return found
    return names.clash(value)


SETTING_TYPES = "they have bool, int, float, str, Literal and Enum of texts, lists and dict[str, …] of these, structs of these, and None beside one"


def _of_settings(capability: Capability) -> Iterator[str]:
    kind = capability.settings
    if kind is None:
        return
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        yield "settings is not a msgspec struct"
        return
    if without := [field.name for field in msgspec.structs.fields(kind) if field.required]:
        yield f"the setting {without[0]} has no default"
        return
    if unfit := unfit_type(kind):
        yield f"the setting {unfit} has a type that settings cannot have: {SETTING_TYPES}"
        return
    kind()  # a check of its own must accept the defaults


def _of_verbs(capability: Capability) -> Iterator[str]:
    for verb in capability.verbs:
        if not _VERB.fullmatch(verb.name):
            yield f"{verb.name!r} cannot be the name of a verb: noun.verb, or a noun"
        elif not inspect.iscoroutinefunction(verb.run):
            yield f"the verb {verb.name} is not an async function"
        else:
            yield from _of_signature(verb)
    nouns = {verb.name for verb in capability.verbs if "." not in verb.name}
    yield from (f"{noun} is a verb and the noun of others" for noun in nouns if any(v.name.startswith(f"{noun}.") for v in capability.verbs))


def _of_signature(verb: Verb) -> Iterator[str]:
    try:
        parameters = parameters_of(verb.run)
    except (TypeError, ValueError, NameError) as error:
        yield f"the verb {verb.name} cannot be a command: {error}"
        return
    names = {each.name for each in parameters}
    for each in parameters:
        if not each.in_process and (unfit := _unfit(each)):
            yield f"the parameter {each.name} of the verb {verb.name} {unfit}"
    if verb.progress is not None and not any(each.name == "progress" and each.in_process for each in parameters):
        yield f"the verb {verb.name} shows its progress, and its function has no parameter progress that takes a function"
    if taken := sorted(names & {"home", "json", "verbose", "help"}):
        yield f"the verb {verb.name} has the parameter {taken[0]}, which every command has already"
    for told in ("help", "spelled"):
        yield from (f"{told} of the verb {verb.name} describes {name}, which is none of its parameters" for name in getattr(verb, told) if name not in names)
    yield from (f"for_people of the verb {verb.name} gives {name}, which is none of its parameters" for name in verb.for_people if name not in names)
    if verb.record_only and not verb.reads:
        yield f"the verb {verb.name} works with the record alone, which is only read, and does not say reads=True"


def _unfit(parameter: VerbParameter) -> str:
    """Why no command line and no JSON can give a parameter; "" where they can."""
    try:
        msgspec.json.schema(parameter.kind)
    except TypeError:
        return "has a type that is not JSON: take a text, a number, a bool, a date, a list, a choice or a msgspec struct"
    if parameter.required and parameter.kind is bool:
        return "is a bool without a default: it becomes a switch, which may be left out"
    return ""


def _of_events(capability: Capability) -> Iterator[str]:
    try:
        codec = Codec(capability.events)
        DerivedTables(codec, capability.tables)
    except ConfigError as error:
        yield f"{error.text}: {error.hint}" if error.hint else error.text
        return
    for kind in capability.events:
        if not kind.kind.startswith(f"{capability.name}."):
            yield f"the event kind {kind.kind} must begin with {capability.name}."
        elif missing := [version for version in range(1, kind.version) if version not in kind.upcasts]:
            yield f"the event kind {kind.kind} of version {kind.version} has no upcast of version {missing[0]}"
    for table in capability.tables:
        if table.name != capability.name and not table.name.startswith(f"{capability.name}_"):
            yield f"the table {table.name} must be named {capability.name}, or begin with {capability.name}_"


def _of_formats(capability: Capability) -> Iterator[str]:
    for one in capability.formats:
        if unfit := [suffix for suffix in one.suffixes if not _SUFFIX.fullmatch(suffix)] or ([""] if not one.suffixes else []):
            yield f"the file format {one.name} cannot have the ending {unfit[0]!r}: a dot, then small letters and digits"
