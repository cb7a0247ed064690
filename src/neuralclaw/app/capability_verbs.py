"""A verb of a capability for one client: called by name like every other command, its signature without the context."""

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

from ..capability import CapabilityContext, Verb


class VerbParameter(typing.NamedTuple):
    """One argument of a verb. `required`: it has no default; `option`: it is given as `--name`, else by place."""

    name: str
    kind: Any
    default: Any
    required: bool
    option: bool


def parameters_of(run: Callable[..., Any]) -> list[VerbParameter]:
    """The arguments of a verb's function behind the context. Raises `TypeError` for a signature that no command line can have."""
    first, *rest = inspect.signature(run).parameters.values()
    if first.kind not in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD):
        raise TypeError("its first parameter must be the context")
    hints = typing.get_type_hints(run)
    found = []
    for each in rest:
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise TypeError(f"the parameter {each.name} must have a name: no *, ** or / stands in a command")
        if each.name not in hints:
            raise TypeError(f"the parameter {each.name} has no type")
        required = each.default is each.empty
        found.append(VerbParameter(each.name, hints[each.name], None if required else each.default, required, each.kind is each.KEYWORD_ONLY))
    return found


class BoundVerb:
    """A verb with its context."""

    def __init__(self, verb: Verb, context: CapabilityContext) -> None:
        self.verb, self._context = verb, context
        signature = inspect.signature(verb.run)
        self.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])
        names: Mapping[str, Any] = self.__signature__.parameters
        self.__annotations__ = {name: kind for name, kind in typing.get_type_hints(verb.run).items() if name in names}

    async def __call__(self, **arguments: Any) -> Any:
        return await self.verb.run(self._context, **arguments)
