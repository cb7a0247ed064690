"""Whether the parts of a capability are what their names say: lists of the right values, and functions of the right kind.

The structs check nothing themselves; what is wrong here would fail when it is first used, far from where it was written.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from ..capability import Capability, ContextSource, EventKind, FileFormat, Place, Service, Table, Verb

_LISTS: dict[str, type] = {
    "verbs": Verb, "events": EventKind, "tables": Table, "sources": ContextSource, "services": Service, "formats": FileFormat,
}  # fmt: skip
_PLACES = get_args(Place)


def of_shape(capability: Capability) -> Iterator[str]:
    """What is wrong with the parts, as sentences."""
    for name, kind in _LISTS.items():
        yield from _of_list(name, getattr(capability, name), kind)
    for verb in capability.verbs:
        for name, texts in (("columns", verb.columns), ("drop", verb.drop or ())):
            if isinstance(texts, str):
                yield f"{name} of the verb {verb.name} is a text, not a list of field names"
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


def no_provider(given: Any, wrap: Callable[..., Any]) -> str:
    """Why what `wrap` gave is no provider, and where it stands; "" where it is one."""
    kind = type(given)
    missing = [name for name in ("stream", "info", "count") if not callable(getattr(given, name, None))]
    if missing:
        said = f"it returned {kind.__name__}, which has no {' and no '.join(missing)}: a provider has stream, info and count"
        return f"{said}{_place(wrap)}"
    stream = given.stream
    if inspect.isasyncgenfunction(stream) or inspect.iscoroutinefunction(stream):
        what = "an async generator" if inspect.isasyncgenfunction(stream) else "an async function"
        return f"stream of the {kind.__name__} that it returned is {what}, not an async context manager: put @asynccontextmanager above it{_place(stream)}"
    return ""


def _place(function: Callable[..., Any]) -> str:
    """` (FILE:LINE)` of a function, where it is known."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""


def _of_list(name: str, given: Any, kind: type) -> Iterator[str]:
    if isinstance(given, kind):
        yield f"{name} is one {kind.__name__}, not a list of them: write ({name[:-1]},) with a comma"
    elif not isinstance(given, list | tuple):
        yield f"{name} is {type(given).__name__}, not a list of {kind.__name__}"
    else:
        yield from (f"{name} has {_called(one)}, which is not {_article(kind)}" for one in given if not isinstance(one, kind))


def _called(value: Any) -> str:
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
