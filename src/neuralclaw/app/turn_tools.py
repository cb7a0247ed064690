"""The tools of one turn: the same list from its beginning to its end."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from ..agent.redaction import redacted
from ..errors import ToolNotFoundError, ToolValidationError
from ..ports import Redaction, Toolset
from ..types.grants import Grant
from ..types.messages import ToolDef
from ..types.tools import ToolContext, ToolResult, ToolSpec


class TurnTools:
    """A `Toolset` that never changes. `names`: those of the tools that take part, None all.

    `gone`: what the model was told of when the turn began and is not there any more, or is another tool now. It is found under its name, and a call of it
    says so.
    """

    def __init__(self, tools: Toolset, redaction: Redaction, names: Sequence[str] | None = None, gone: Sequence[ToolDef] = ()) -> None:
        self._all, self._redaction = tools, redaction
        self._specs = {spec.name: spec for spec in tools.tools() if names is None or spec.name in names}
        self._gone = {one.name: ToolSpec(name=one.name, description=one.description, input_schema=one.parameters) for one in gone}

    @cached_property
    def definitions(self) -> tuple[ToolDef, ...]:
        """The tools as a model is told of them, without secrets."""
        return redacted(tuple(ToolDef(spec.name, spec.description, spec.input_schema) for spec in self._specs.values()), self._redaction)

    @cached_property
    def encoded(self) -> bytes:
        """The definitions as JSON."""
        return msgspec.json.encode(self.definitions)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that the gate and the model are told of them."""
        return hashlib.sha256(msgspec.json.encode(self.tools(), order="deterministic")).hexdigest()

    def only(self, definitions: Sequence[ToolDef]) -> "TurnTools":
        """Those of them that the definitions describe; of the definitions whose tool is not here any more, or has changed, it is known that they were there."""
        now = {one.name: encode(one) for one in self.definitions}
        names = [one.name for one in definitions if now.get(one.name) == encode(one)]
        if names == list(self._specs):
            return self
        return TurnTools(self._all, self._redaction, names, [one for one in definitions if one.name not in names])

    def tools(self) -> Sequence[ToolSpec]:
        return list(self._specs.values())

    def find(self, name: str) -> ToolSpec | None:
        spec = self._all.find(name)
        name = spec.name if spec is not None else name
        return self._specs.get(name) or self._gone.get(name)

    def prepare(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if name in self._gone:
            there = ", ".join(self._specs) or "none"
            changed = "changed since this turn began" if self._all.find(name) else "was there when this turn began and is not available any more"
            raise ToolValidationError(f"the tool {name} {changed}; nothing was run. The tools are: {there}")
        self._known(name)
        return self._all.prepare(name, arguments)

    async def call(self, grant: Grant, ctx: ToolContext) -> ToolResult:
        self._known(grant.tool)
        return await self._all.call(grant, ctx)

    async def probe(self, grant: Grant, ctx: ToolContext) -> ToolResult | bool | None:
        self._known(grant.tool)
        return await self._all.probe(grant, ctx)

    def _known(self, name: str) -> None:
        spec = self._all.find(name)
        if spec is None or spec.name not in self._specs:
            raise ToolNotFoundError(f"there is no tool {name[:80]!r} in this turn; there are {', '.join(sorted(self._specs))}")


def encode(definition: ToolDef) -> bytes:
    """The same bytes for definitions that say the same, also where one was read from the record."""
    return msgspec.json.encode(definition, order="deterministic")
