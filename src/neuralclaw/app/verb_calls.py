"""Calls a verb by its name with checked arguments, and gives its value as plain JSON types."""

import collections.abc
import enum
import inspect
import os
import re
import types
import typing
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from ..agent.redaction import NO_REDACTION, redacted
from ..errors import AgentError, UsageError
from ..ports import Redaction
from ..types.planned_commands import ON_COMMAND_LINE, is_later
from ..types.suggestions import did_you_mean

VerbFunction = Callable[..., Awaitable[Any]]


async def call_verb(verbs: Mapping[str, VerbFunction], redaction: Redaction, name: str, arguments: Mapping[str, Any]) -> Any:
    """The value of a verb, as `--json` prints it: objects, lists, texts, numbers; without secrets, also those that were stored after they were recorded.

    Raises `UsageError` for a verb that is not there and for arguments that are unknown, missing or of another type; nothing was run then.
    """
    verb = verbs.get(name) if isinstance(name, str) else None
    if verb is None:
        noun, _, word = str(name).partition(".")
        if is_later(noun, word):
            raise UsageError(f"{name} is not available yet", hint=f"there are: {', '.join(sorted(verbs))}")
        if noun in ON_COMMAND_LINE:
            raise UsageError(f"{noun} is a command of the command line only", hint=f"neuralclaw {noun} --help shows what it does")
        raise UsageError(f"there is no command {name!r:.80}{did_you_mean(str(name), verbs)}", hint=f"there are: {', '.join(sorted(verbs))}")
    return redacted(plain(await verb(**fitted(name, verb, arguments)), f"the command {name}"), redaction)


class VerbDesk:
    """Verbs by their names, where nothing else of a desk is needed: a `VerbCaller`."""

    def __init__(self, verbs: Mapping[str, VerbFunction], redaction: Redaction = NO_REDACTION) -> None:
        self._verbs, self._redaction = verbs, redaction

    async def do(self, verb: str, /, **arguments: Any) -> Any:
        """See `call_verb`."""
        return await call_verb(self._verbs, self._redaction, verb, arguments)


def fitted(name: str, verb: VerbFunction, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments in the types that the verb takes. Raises `UsageError`."""
    takes = inspect.signature(verb).parameters
    hints = typing.get_type_hints(verb, include_extras=True)
    rest = next((each for each, parameter in takes.items() if parameter.kind is parameter.VAR_KEYWORD), None)
    kinds = {each: hints[each] for each in takes if each != rest}
    if rest is not None and typing.get_origin(hints.get(rest)) is typing.Unpack:
        kinds |= typing.get_type_hints(typing.get_args(hints.pop(rest))[0], include_extras=True)
    open_end, named = rest in hints, list(kinds)
    hint = f"{name} takes: {', '.join(named)}" if named else f"{name} takes no arguments"
    for each in arguments:
        if each not in named and not open_end:
            raise UsageError(f"{name} has no argument {each!r}{did_you_mean(each, named)}", hint=hint)
    for each in named:
        if each in takes and takes[each].default is inspect.Parameter.empty and each not in arguments:
            raise UsageError(f"{name} needs the argument {each!r}", hint=hint)
    return {each: _typed(name, each, value, kinds[each]) if each in kinds else value for each, value in arguments.items()}


def _typed(name: str, argument: str, value: Any, kind: Any) -> Any:
    if any(typing.get_origin(each) is collections.abc.Callable for each in (kind, *typing.get_args(kind))):
        if value is not None and not callable(value):
            raise UsageError(f"{argument} of {name} cannot be {value!r:.80}: expected a function")
        return value  # of the caller's own
    return fitted_value(f"{argument} of {name}", os.fspath(value) if isinstance(value, os.PathLike) else value, kind)


def fitted_value(what: str, value: Any, kind: Any) -> Any:
    """The value in its type. `what` names it in the `UsageError` that is raised for one that does not fit, with what may stand there."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        if words := choices(kind):
            raise UsageError(f"{what} cannot be {value!r:.80}: it is one of {', '.join(words)}{did_you_mean(str(value), words)}") from None
        raise UsageError(f"{what} cannot be {value!r:.80}: {_lower(_in_words(str(error)))}") from None


def choices(kind: Any) -> list[str]:
    """The words of an argument that takes one of a closed choice, or a list of them; none for any other type."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return [str(word) for word in inner]
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [str(member.value) for member in kind]
    if origin is typing.Annotated:
        return choices(inner[0])
    if origin in (types.UnionType, typing.Union, list, tuple, set, frozenset):
        rest = [one for one in inner if one not in (types.NoneType, ...)]
        return choices(rest[0]) if len(rest) == 1 else []
    return []


_WORDS = {"array": "a list", "str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false", "object": "a mapping", "null": "null"}
_TYPE = re.compile(r"`([a-z]+)(?: \| null)?`")


def _in_words(text: str) -> str:
    """msgspec's message with the types as the configuration calls them: `Expected a list, got a text`."""
    return _TYPE.sub(lambda found: _WORDS.get(found[1], found[0]), text)


def _lower(text: str) -> str:
    """A sentence with a small first letter; names in it keep theirs."""
    return text[:1].lower() + text[1:]


def plain(value: Any, what: str = "the command") -> Any:
    """A value as JSON has it, exactly as it is printed with `--json`. `what`: who gave it, for the error."""
    try:
        return msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError) as error:
        hint = "an await is missing before what it returns" if inspect.iscoroutine(value) else "it returns a msgspec struct, a list of them, or plain values"
        if inspect.iscoroutine(value):
            value.close()
        raise AgentError(f"{what} gave a value that is not JSON: {error}", hint=hint) from error
