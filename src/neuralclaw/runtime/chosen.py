"""Some tools of a toolset, for a turn that may use these and no other."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..errors import ToolNotFoundError
from ..ports import Toolset
from ..types.actions import Grant
from ..types.tools import ToolContext, ToolResult, ToolSpec


class ChosenTools:
    """A `Toolset` of the tools of these names; of the others it knows nothing."""

    def __init__(self, tools: Toolset, names: Collection[str]) -> None:
        self._all, self._names = tools, frozenset(names)

    def tools(self) -> Sequence[ToolSpec]:
        return [spec for spec in self._all.tools() if spec.name in self._names]

    def find(self, name: str) -> ToolSpec | None:
        spec = self._all.find(name)
        return spec if spec is not None and spec.name in self._names else None

    def prepare(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        self._known(name)
        return self._all.prepare(name, arguments)

    async def call(self, grant: Grant, ctx: ToolContext) -> ToolResult:
        self._known(grant.tool)
        return await self._all.call(grant, ctx)

    async def probe(self, grant: Grant, ctx: ToolContext) -> ToolResult | bool | None:
        self._known(grant.tool)
        return await self._all.probe(grant, ctx)

    def _known(self, name: str) -> None:
        if self.find(name) is None:
            raise ToolNotFoundError(f"there is no tool {name[:80]!r} in this turn; there are {', '.join(sorted(self._names))}")


def chosen(tools: Toolset, names: Sequence[str] | None) -> Toolset:
    """The tools of these names; all where nobody chose."""
    return tools if names is None else ChosenTools(tools, names)
