"""Calls a verb by its name with checked arguments, and gives its value as plain JSON types."""

import collections.abc
import inspect
import os
import typing
from collections.abc import Mapping
from typing import Any

import msgspec

from ..errors import UsageError
from ..runtime.desk import Verb
from .typed import nearest


async def call_verb(verbs: Mapping[str, Verb], name: str, arguments: Mapping[str, Any]) -> Any:
    """The value of a verb, as `--json` prints it: objects, lists, texts, numbers.

    Raises `UsageError` for a verb that is not there and for arguments that are unknown, missing or of another type; nothing was run then.
    """
    verb = verbs.get(name) if isinstance(name, str) else None
    if verb is None:
        raise UsageError(f"there is no command {name!r:.80}{nearest(str(name), verbs)}", hint=f"there are: {', '.join(sorted(verbs))}")
    return plain(await verb(**fitted(name, verb, arguments)))


def fitted(name: str, verb: Verb, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments in the types that the verb takes. Raises `UsageError`."""
    takes = inspect.signature(verb).parameters
    hints = typing.get_type_hints(verb)
    open_end = any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes.values())
    named = [each for each, parameter in takes.items() if parameter.kind is not parameter.VAR_KEYWORD]
    hint = f"{name} takes: {', '.join(named)}" if named else f"{name} takes no arguments"
    for each in arguments:
        if each not in named and not open_end:
            raise UsageError(f"{name} has no argument {each!r}{nearest(each, named)}", hint=hint)
    for each in named:
        if takes[each].default is inspect.Parameter.empty and each not in arguments:
            raise UsageError(f"{name} needs the argument {each!r}", hint=hint)
    return {each: _typed(name, each, value, hints[each]) if each in named else value for each, value in arguments.items()}


def _typed(name: str, argument: str, value: Any, kind: Any) -> Any:
    if any(typing.get_origin(each) is collections.abc.Callable for each in (kind, *typing.get_args(kind))):
        return value  # a function of the caller's own
    try:
        return msgspec.convert(os.fspath(value) if isinstance(value, os.PathLike) else value, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"{argument} of {name} cannot be {value!r:.80}: {str(error).lower()}") from None


def plain(value: Any) -> Any:
    """A value as JSON has it, exactly as it is printed with `--json`."""
    return msgspec.json.decode(msgspec.json.encode(value))
