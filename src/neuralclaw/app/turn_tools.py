"""The tools of one turn: the same list from its beginning to its end."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec

from ..agent.redaction import redacted
from ..errors import ToolNotFoundError, ToolValidationError
from ..ports import Redaction, Toolset
from ..types.cut_texts import cut_text
from ..types.grants import Grant
from ..types.messages import ToolDef
from ..types.tools import ToolContext, ToolResult, ToolSpec

_WORDS = frozenset({"description", "title", "examples", "$comment"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keys of a JSON Schema whose value is an object of schemas by name."""
_VALUES = frozenset({"default", "const", "enum", "required"})
"""Keys whose value is data, not a schema."""


class TurnTools:
    """A `Toolset` that never changes. `names`: those of the tools that take part, None all.

    `recorded`: what the model was told of when the turn began, by name. A tool of today that takes the same arguments is called in its place; one that is not
    there any more, or takes others now, is found under its name, and a call of it says so. `session`: that of the turn, for what can be done then.
    """

    def __init__(self, tools: Toolset, redaction: Redaction, names: Sequence[str] | None = None, recorded: Sequence[ToolDef] = (), session: str = "") -> None:
        self._all, self._redaction, self._session = tools, redaction, session
        told = {one.name: one for one in recorded}
        self._specs = {spec.name: _as_told(spec, told.get(spec.name)) for spec in tools.tools() if names is None or spec.name in names}
        gone = [one for one in recorded if one.name not in self._specs]
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

    def only(self, definitions: Sequence[ToolDef], session: str) -> "TurnTools":
        """Those of them that the definitions describe, in whatever words; of the definitions whose tool is not here any more, or takes other arguments now,
        it is known that they were there. `session`: that of the turn that goes on.
        """
        now = {one.name: one for one in self.definitions}
        if {name: encode(one) for name, one in now.items()} == {one.name: encode(one) for one in definitions}:
            return self
        same = [one.name for one in definitions if one.name in now and _arguments(now[one.name]) == _arguments(one)]
        reworded = [one for one in definitions if one.name not in same or encode(one) != encode(now[one.name])]
        return TurnTools(self._all, self._redaction, same, reworded, session)

    def tools(self) -> Sequence[ToolSpec]:
        return list(self._specs.values())

    def find(self, name: str) -> ToolSpec | None:
        spec = self._all.find(name)
        name = spec.name if spec is not None else name
        return self._specs.get(name) or self._gone.get(name)

    def prepare(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if name in self._gone:
            changed = "takes other arguments than when this turn began" if self._all.find(name) else "was there when this turn began and is not available now"
            raise ToolValidationError(f"the tool {name} {changed}; nothing was run. Give the task again: neuralclaw run --session {self._session} TASK")
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
            raise ToolNotFoundError(f"there is no tool {cut_text(name, 80)!r} in this turn; there are {', '.join(sorted(self._specs))}")


def encode(definition: ToolDef) -> bytes:
    """The same bytes for definitions that say the same, also where one was read from the record."""
    return msgspec.json.encode(definition, order="deterministic")


def _as_told(spec: ToolSpec, told: ToolDef | None) -> ToolSpec:
    """A built-in tool in the words that the turn began with: what was asked about is the same tool, and a yes to it holds.

    Any other tool stays as it is today: its words are all that a person knows of what it does, so it is asked about again.
    """
    return msgspec.structs.replace(spec, description=told.description, input_schema=told.parameters) if told is not None and spec.built_in else spec


def _arguments(definition: ToolDef) -> bytes:
    """What a tool takes: its schema without the words of it. The same bytes where the arguments mean the same."""
    return msgspec.json.encode(_without_words(definition.parameters), order="deterministic")


def _without_words(schema: Any) -> Any:
    """A JSON Schema without its descriptions and titles. What stands below `properties` and the like are names, not words."""
    if isinstance(schema, list | tuple):
        return [_without_words(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _without_words(one) for name, one in value.items()} if key in _NAMED and isinstance(value, dict) else _kept(key, value)
        for key, value in schema.items()
        if key not in _WORDS
    }


def _kept(key: str, value: Any) -> Any:
    return value if key in _VALUES else _without_words(value)
