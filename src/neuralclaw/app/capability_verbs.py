"""A verb of a capability for one client: called by name like every other command, its signature without the context."""

import collections.abc
import inspect
import typing
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

from ..capability import CapabilityContext, Verb
from ..errors import AgentError, NeuralClawError
from ..foreign_code import run_foreign


class VerbParameter(typing.NamedTuple):
    """One argument of a verb. `required`: it has no default; `option`: it is given as `--name`, else by place."""

    name: str
    kind: Any
    default: Any
    required: bool
    option: bool

    @property
    def in_process(self) -> bool:
        """It takes a function, which no command line can give."""
        return any(typing.get_origin(kind) is collections.abc.Callable for kind in (self.kind, *typing.get_args(self.kind)))


def parameters_of(run: Callable[..., Any]) -> list[VerbParameter]:
    """The arguments of a verb's function behind the context. Raises `TypeError` for a signature that no command line can have."""
    first, *rest = inspect.signature(run).parameters.values()
    if first.kind not in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD):
        raise TypeError("its first parameter must be the context")
    hints = typing.get_type_hints(run, include_extras=True)
    found = []
    for each in rest:
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise TypeError(f"the parameter {each.name} must have a name: *, ** and / are not supported")
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
        self.__annotations__ = {name: kind for name, kind in typing.get_type_hints(verb.run, include_extras=True).items() if name in names}

    async def __call__(self, **arguments: Any) -> Any:
        """The verb's value. Raises `NeuralClawError`: its own, or one that names the command for whatever else its code raises."""
        try:
            return await run_foreign(f"the command {self.verb.name}", partial(self.verb.run, self._context, **arguments))
        except AgentError as error:
            if isinstance(error.__cause__, NeuralClawError):
                raise error.__cause__ from None
            raise


class LazyVerb:
    """A verb whose code is imported when it is called, or asked for its arguments."""

    def __init__(self, make: Callable[[], BoundVerb]) -> None:
        self._make = make

    @cached_property
    def _verb(self) -> BoundVerb:
        return self._make()

    @property
    def row(self) -> Verb:
        """The row of the verb."""
        return self._verb.verb

    @property
    def __signature__(self) -> inspect.Signature:
        return self._verb.__signature__

    @property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override]
        return self._verb.__annotations__

    async def __call__(self, **arguments: Any) -> Any:
        return await self._verb(**arguments)
