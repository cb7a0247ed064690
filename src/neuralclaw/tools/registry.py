"""The tools of an agent under their names, behind `ports.Toolset`."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import anyio

from ..errors import (
    ConfigError,
    PermissionDeniedError,
    SecurityError,
    ToolError,
    ToolExecutionError,
    ToolNotFoundError,
    ToolTimeoutError,
    ToolValidationError,
)
from ..foreign_code import reason, run_foreign
from ..tool import AnyTool, FunctionTool, ObjectTool, ProbeResult, as_tool, recordable
from ..types.cut_texts import cut_text
from ..types.grants import Grant
from ..types.signals import Parked, Retry
from ..types.tools import ToolContext, ToolResult, ToolSpec
from .arguments import fit

log = logging.getLogger(__name__)

_MAX_MESSAGE = 2_000  # characters of a foreign exception's message, over several lines as it may be: the model mends its call by it


class Registry:
    """Tools by name and alias. `tools`: what `@tool` made, or objects with `name`, `description`, `input_schema` and `execute`.

    Raises `ConfigError` when a name or alias is given twice.
    """

    def __init__(self, tools: Iterable[FunctionTool | object] = ()) -> None:
        self._tools: dict[str, AnyTool] = {}
        self._names: dict[str, str] = {}
        for item in tools:
            self.add(item)

    def add(self, item: FunctionTool | object) -> ToolSpec:
        """One more tool. Raises `ConfigError` when its name or an alias is taken; then nothing has changed."""
        new = as_tool(item)
        names = (new.spec.name, *new.spec.aliases)
        for name in names:
            if name in self._names:
                raise ConfigError(f"there are two tools of the name {name}", hint="rename one of them, or give it another name with @tool(name=…)")
        self._names.update(dict.fromkeys(names, new.spec.name))
        self._tools[new.spec.name] = new
        return new.spec

    def tools(self) -> Sequence[ToolSpec]:
        """The specs in the order the tools were given: same tools, same prompt."""
        return [item.spec for item in self._tools.values()]

    def find(self, name: str) -> ToolSpec | None:
        """The tool of that name or alias, else None."""
        own = self._names.get(name)
        return None if own is None else self._tools[own].spec

    def prepare(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments in their final form, as plain JSON values. Raises `ToolNotFoundError` and `ToolValidationError`."""
        item = self._get(name)
        try:
            return item.check(arguments)
        except ToolValidationError:
            fitted, problems = fit(item.spec.name, item.spec.input_schema, arguments)
        if problems:
            raise ToolValidationError(" ".join(problems))
        return item.check(fitted)

    async def call(self, grant: Grant, ctx: ToolContext) -> ToolResult:
        """Run the call that the grant is for, with the arguments that are in it, within the tool's time limit.

        Raises `ToolError`, `SecurityError`, `Retry` and `Parked` as the tool raised them; any other error of a tool, also a `StoreError` or another
        signal, becomes a `ToolExecutionError`, and so does a result that no entry could keep.
        """
        item = self._granted(grant)
        limit = None if item.instant else item.spec.timeout
        if limit is None:
            result = await _guarded(item, grant, ctx)
        else:
            with anyio.move_on_after(limit) as scope:
                result = await _guarded(item, grant, ctx)
            if scope.cancelled_caught:
                raise ToolTimeoutError(f"{item.spec.name} was stopped after {limit:g} s")
        return recordable(item.spec.name, result)

    async def probe(self, grant: Grant, ctx: ToolContext) -> ProbeResult:
        """Whether a call that began and did not finish happened: its result or True, False, None if nobody can tell. Raises `ToolError` and `SecurityError`."""
        item = self._granted(grant)
        found = await run_foreign(item.spec.name, lambda: item.probe(grant, ctx), passes=(ToolError, SecurityError), failure=_execution_error)
        return recordable(grant.tool, found) if isinstance(found, ToolResult) else found

    def _get(self, name: str) -> AnyTool:
        own = self._names.get(name)
        if own is None:
            import difflib

            near = difflib.get_close_matches(name, self._names, 3, 0.5)
            raise ToolNotFoundError(
                f"there is no tool {cut_text(name, 80)!r}" + (f"; did you mean {', '.join(near)}?" if near else f"; there are {', '.join(self._tools)}")
            )
        return self._tools[own]

    def _granted(self, grant: Grant) -> AnyTool:
        grant.check()
        if grant.tool not in self._tools:  # a standing grant names no tool, and an alias was never judged
            raise PermissionDeniedError(f"this permission is for {grant.tool or 'no tool call'}, and no such tool is here")
        return self._tools[grant.tool]


async def _guarded(item: FunctionTool | ObjectTool, grant: Grant, ctx: ToolContext) -> ToolResult:
    """The guard between tools, which anyone may write, and the turn: whatever one raises is an error of that call alone."""
    passes = (ToolError, SecurityError, Retry, Parked)  # what the pipeline of a call knows how to go on from
    ours = item.spec.built_in and item.instant  # those that wait may call a capability's code: file formats
    return await run_foreign(item.spec.name, lambda: item.run(grant.arguments, grant, ctx), passes=passes, failure=_execution_error, apart=not ours)


def _execution_error(name: str, cause: BaseException) -> ToolExecutionError:
    log.warning("the tool %s failed", name, exc_info=cause)
    return ToolExecutionError(f"{name} failed: {reason(cause, longest=_MAX_MESSAGE, lines=True)}")
