"""Tools whose calls are recorded with what they change: a `Toolset` around another one."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from ...ports import Toolset
from ...types.grants import Grant
from ...types.tools import ToolContext, ToolResult, ToolSpec


class CallRecorder(Protocol):
    """Runs a call and records what it changed."""

    async def call(self, grant: Grant, ctx: ToolContext, run: Callable[[], Awaitable[ToolResult]]) -> ToolResult: ...


class WatchedTools:
    """The same tools; a call that may write goes through the recorder. One that may not costs nothing."""

    def __init__(self, tools: Toolset, recorder: Callable[[], CallRecorder]) -> None:
        self._tools, self._recorder = tools, recorder

    def tools(self) -> Sequence[ToolSpec]:
        return self._tools.tools()

    def find(self, name: str) -> ToolSpec | None:
        return self._tools.find(name)

    def prepare(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self._tools.prepare(name, arguments)

    async def call(self, grant: Grant, ctx: ToolContext) -> ToolResult:
        if not (grant.envelope.write or grant.envelope.digests):
            return await self._tools.call(grant, ctx)
        return await self._recorder().call(grant, ctx, lambda: self._tools.call(grant, ctx))

    async def probe(self, grant: Grant, ctx: ToolContext) -> ToolResult | bool | None:
        return await self._tools.probe(grant, ctx)
