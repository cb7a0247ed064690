"""A verb of a capability for one client: called by name like every other command, its signature without the context."""

import collections.abc
import inspect
import typing
from collections.abc import Awaitable, Callable
from functools import cached_property, partial
from typing import Any

from ..capability import CapabilityContext, Verb
from ..foreign_code import run_foreign_command


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
    signed = list(inspect.signature(run).parameters.values())
    if not signed or signed[0].kind not in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
        raise TypeError("its first parameter must be the context")
    hints = typing.get_type_hints(run, include_extras=True)
    found = []
    for each in signed[1:]:
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise TypeError(f"the parameter {each.name} must have a name: *, ** and / are not supported")
        if each.name not in hints:
            raise TypeError(f"the parameter {each.name} has no type")
        required = each.default is each.empty
        found.append(VerbParameter(each.name, hints[each.name], None if required else each.default, required, each.kind is each.KEYWORD_ONLY))
    return found


class CapabilityVerb:
    """A verb for one client. Its code is imported when it is called, or asked for its arguments.

    `find` gives its row, and `context` what the row's function works with. `foreign`: others wrote it.
    """

    def __init__(self, find: Callable[[], Verb], context: Callable[[Verb], CapabilityContext], *, foreign: bool) -> None:
        self._find, self._context, self._foreign = find, context, foreign

    @cached_property
    def row(self) -> Verb:
        """The row of the verb."""
        return self._find()

    @cached_property
    def __signature__(self) -> inspect.Signature:
        signature = inspect.signature(self.row.run)
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    @cached_property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override]
        names = self.__signature__.parameters
        return {name: kind for name, kind in typing.get_type_hints(self.row.run, include_extras=True).items() if name in names}

    def __call__(self, **arguments: Any) -> Awaitable[Any]:
        """The verb's value, to be awaited. Raises `UsageError` where more than is open is needed; foreign code raises `NeuralClawError`: its own, or one
        that names the command for whatever else it raises."""
        work = partial(self.row.run, self._context(self.row), **arguments)
        return run_foreign_command(f"the command {self.row.name}", work) if self._foreign else work()
