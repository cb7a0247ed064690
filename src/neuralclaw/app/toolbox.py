"""Which tools an agent has: the built-in ones that were chosen, and a program's own."""

from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import ConfigError, UsageError
from ..tool import AnyTool, FunctionTool, as_tool
from ..types.suggestions import did_you_mean, joined


class Toolbox:
    """What was asked for. `builtin`: names or aliases of the built-in tools to have, None for all. `given`: the program's own.

    Raises `UsageError` for what is no tool, and when two given tools have a name in common.
    """

    def __init__(self, *, given: Iterable[Any] = (), builtin: Iterable[str] | None = None) -> None:
        self._given = [_tool(one) for one in _listed("tools", given, "a list of tools")]
        self._builtin = None if builtin is None else [str(name) for name in _listed("builtin", builtin, "a list of names of built-in tools")]
        taken = set[str]()
        for one in self._given:
            for name in names(one):
                if name in taken:
                    raise UsageError(f"two of the given tools have the name {name}", hint="give one of them another name: @tool(name=…)")
            taken |= names(one)
        self._taken = taken

    def chosen(self, built: Sequence[FunctionTool]) -> list[AnyTool]:
        """The tools in their order: of the built-in ones those that were asked for and that no given tool replaces, then the given.

        Raises `UsageError` for a name that no built-in tool has.
        """
        wanted = {name for one in built for name in names(one)} if self._builtin is None else set(self._builtin)
        known = {name for one in built for name in names(one)}
        for name in self._builtin or ():
            if name not in known:
                raise UsageError(
                    f"there is no built-in tool {name!r:.80}{did_you_mean(name, known)}", hint=f"there are: {', '.join(one.spec.name for one in built)}"
                )
        return [*(one for one in built if names(one) & wanted and not names(one) & self._taken), *self._given]


def names(one: AnyTool) -> set[str]:
    """The name of a tool and its aliases."""
    return {one.spec.name, *one.spec.aliases}


def _tool(value: Any) -> AnyTool:
    try:
        return as_tool(value)
    except ConfigError as error:
        hint = error.hint or "a tool is a function under @tool, or an object with name, description, input_schema and async execute(input)"
        raise UsageError(joined(f"tools: {error.text}", "nothing was recorded"), hint=hint) from None


def _listed(option: str, value: object, wanted: str) -> list[Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise UsageError(f"{option} cannot be {value!r:.80}", hint=f"{option} is {wanted}; nothing was recorded")
    return list(value)
