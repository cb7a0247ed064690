"""Why a capability cannot take part: what it has to keep to, and the names that are taken.

The structs check nothing themselves; what is wrong here would fail when it is first used, far from where it was written.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import msgspec

from .. import config
from ..capability import Capability, ContextSource, EventKind, FileFormat, Place, Service, Table, Verb, VerbNeeds
from ..config.describe import unfit_type
from ..errors import ConfigError
from ..plugins import NOUNS, BuiltInCapability
from ..store.derived_tables import DerivedTables
from ..types.codec import Codec
from ..types.events import AnyBody
from ..types.planned_commands import NOUNS as PLANNED
from .capability_verbs import VerbParameter, parameters_of
from .option_types import OpeningOptions

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,39}")
_VERB = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)?")
_SUFFIX = re.compile(r"(\.[a-z0-9]+)+")
_LISTS: dict[str, type] = {
    "verbs": Verb, "events": EventKind, "tables": Table, "sources": ContextSource, "services": Service, "formats": FileFormat,
}  # fmt: skip
_PLACES = get_args(Place)
_NEEDS = get_args(VerbNeeds)
_FOR_PEOPLE = ("columns", "drop", "display", "empty", "hint", "render", "for_people")
"""Fields of a verb that say what people read of its value."""
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
    for part in (_of_shape, _of_settings, _of_verbs, _of_events, _of_formats):
        for found in part(value):  # one after the other: each relies on what those before it have found right
            return found
    return names.clash(value)


SETTING_TYPES = "they have bool, int, float, str, Literal and Enum of texts, lists and dict[str, …] of these, structs of these, and None beside one"


def _of_shape(capability: Capability) -> Iterator[str]:
    """What is wrong with the parts, as sentences."""
    for name, kind in _LISTS.items():
        yield from _of_list(name, getattr(capability, name), kind)
    for verb in capability.verbs:
        yield from _of_row(verb)
    for source in capability.sources:
        yield from _of_function(f"read of the source {source.name}", source.read, wanted=True)
        if source.place not in _PLACES:
            yield f"the source {source.name} has the place {source.place!r}, which is none of {', '.join(_PLACES)}"
        if not 0 < source.share <= 1:
            yield f"the source {source.name} has the share {source.share!r}, which is no part of a window: above 0, up to 1"
    for service in capability.services:
        yield from _of_function(f"run of the service {service.name}", service.run, wanted=True)
    if capability.tools is not None:
        yield from _of_function("tools", capability.tools, wanted=True)
    if capability.wrap is not None:
        yield from _of_function("wrap", capability.wrap, wanted=False)
    if capability.checks is not None:
        yield from _of_checks(capability.checks)
    yield from _of_channels(capability.channels)


def _of_row(verb: Verb) -> Iterator[str]:
    """Fields of a verb that contradict each other: one of them would have no effect."""
    for name, texts in (("columns", verb.columns), ("drop", verb.drop or ())):
        if isinstance(texts, str):
            yield f"{name} of the verb {verb.name} is a text, not a list of field names"
        elif twice := [one for place, one in enumerate(texts) if one in texts[:place]]:
            yield f"{name} of the verb {verb.name} names {twice[0]} twice"
    if verb.columns and (unknown := [name for name in verb.drop or () if name not in verb.columns]):
        yield f"drop of the verb {verb.name} names {unknown[0]}, which is none of its columns"
    if verb.in_chat and (verb.hidden or verb.filters):
        yield f"the verb {verb.name} takes standard input and does not say in_chat=False"
    if verb.needs not in _NEEDS:
        yield f"the verb {verb.name} needs {verb.needs!r}, which is none of {', '.join(_NEEDS)}"
    if verb.needs == "record" and not verb.reads:
        yield f"the verb {verb.name} works with the record alone, which is only read, and does not say reads=True"
    shown = [name for name in _FOR_PEOPLE if getattr(verb, name) != getattr(Verb(name="", summary="", run=verb.run), name)]
    if verb.json_lines and shown:
        yield f"the verb {verb.name} prints JSON lines for programs: {shown[0]}, which is for people, has no effect"
    if verb.render is not None and (table := [name for name in shown if name in ("columns", "drop")]):
        yield f"the verb {verb.name} renders its value: {table[0]}, which is for a table, has no effect"


def _of_list(name: str, given: Any, kind: type) -> Iterator[str]:
    if isinstance(given, kind):
        yield f"{name} is one {kind.__name__}, not a list of them: write ({name[:-1]},) with a comma"
    elif not isinstance(given, list | tuple):
        yield f"{name} is {type(given).__name__}, not a list of {kind.__name__}"
    else:
        yield from (f"{name} has {_class_of(one)}, which is not {_article(kind)}" for one in given if not isinstance(one, kind))


def _class_of(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _article(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"


def _of_function(name: str, given: Any, *, wanted: bool) -> Iterator[str]:
    """`wanted`: it must be an `async def`, else it must be none."""
    if not callable(given):
        yield f"{name} is {type(given).__name__}, not a function"
    elif _is_async(given) is not wanted and not (wanted and _may_give_awaitable(given)):
        yield f"{name} is {'not an' if wanted else 'an'} async function"


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(inspect.unwrap(function)) or inspect.iscoroutinefunction(getattr(type(function), "__call__", None))  # noqa: B004


def _may_give_awaitable(function: Any) -> bool:
    """Whether a plain function may give what an async one gives: a lambda, an object that is called, or one that says so."""
    if not inspect.isfunction(function) or function.__name__ == "<lambda>":
        return True
    return any(word in str(function.__annotations__.get("return", "")) for word in ("Awaitable", "Coroutine"))


def _of_checks(checks: Any) -> Iterator[str]:
    if not callable(checks):
        yield f"checks is {type(checks).__name__}, not a function"
    elif _is_async(checks):
        yield "checks yields nothing: it is an async function that must yield each DoctorCheck"


def _of_channels(channels: Any) -> Iterator[str]:
    if not isinstance(channels, Mapping):
        yield f"channels is {type(channels).__name__}, not a mapping from a name to a function that makes the channel"
        return
    for name, make in channels.items():
        if not name or not isinstance(name, str):
            yield "a channel has no name"
        yield from _of_function(f"the channel {name}", make, wanted=False)


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
    if verb.filters and not {"read", "write"} <= {each.name for each in parameters if each.in_process}:
        yield f"the verb {verb.name} filters, and its function has no parameters read and write that take functions"
    yield from (f"hidden of the verb {verb.name} names {name}, which is none of its parameters" for name in verb.hidden if name not in names)
    if taken := sorted(names & {"home", "json", "verbose", "help"}):
        yield f"the verb {verb.name} has the parameter {taken[0]}, which every command has already"
    for told in ("help", "spelled"):
        yield from (f"{told} of the verb {verb.name} describes {name}, which is none of its parameters" for name in getattr(verb, told) if name not in names)
    yield from (f"for_people of the verb {verb.name} gives {name}, which is none of its parameters" for name in verb.for_people if name not in names)


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
