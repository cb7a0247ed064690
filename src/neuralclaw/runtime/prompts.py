"""What stands at the beginning of every request of a turn: the system prompt and the tools. Kept by the store once, under the digests in `turn.started`."""

from collections.abc import Callable, Mapping

import msgspec

from ..agent.redaction import redacted
from ..ports import Redaction, Store, Toolset
from ..types.entries import blob_digest
from ..types.messages import ToolDef
from ..types.options import TurnOptions
from .chosen import chosen

Names = tuple[str, ...] | None

_definitions = msgspec.json.Decoder(tuple[ToolDef, ...])


class Prompt(msgspec.Struct, frozen=True):
    """A system prompt and tool definitions, with their bytes as the store keeps them. `stored` are the digests of the two by name."""

    system: str
    definitions: tuple[ToolDef, ...]
    blobs: tuple[bytes, bytes]
    stored: dict[str, str]

    @classmethod
    def of(cls, system: str, definitions: tuple[ToolDef, ...]) -> "Prompt":
        blobs = (system.encode(), msgspec.json.encode(definitions))
        return cls(system, definitions, blobs, {"system": blob_digest(blobs[0]), "tools": blob_digest(blobs[1])})


class Prompts:
    """Makes the prompt of a workspace; one that is like the last of that workspace is not made again."""

    KEPT = 256
    """Workspaces whose prompt is at hand."""

    def __init__(self, system: Callable[[str], str], tools: Toolset, redaction: Redaction) -> None:
        self._system, self._tools, self._redaction = system, tools, redaction
        self._made: dict[tuple[str, Names], tuple[str, list[int], Prompt]] = {}

    def now(self, workspace: str, names: Names = None) -> Prompt:
        """The prompt of this moment, without secrets. `names`: the tools that are offered, None all."""
        system, specs = self._system(workspace), chosen(self._tools, names).tools()
        known = self._made.get((workspace, names))
        if known is not None and known[:2] == (system, [id(spec) for spec in specs]):
            return known[2]
        definitions = tuple(ToolDef(spec.name, spec.description, spec.input_schema) for spec in specs)
        prompt = Prompt.of(self._redaction.redact(system), redacted(definitions, self._redaction))
        if len(self._made) >= self.KEPT:
            del self._made[next(iter(self._made))]
        self._made[workspace, names] = (system, [id(spec) for spec in specs], prompt)
        return prompt

    async def of_turn(self, options: TurnOptions, stored: Mapping[str, str], store: Store) -> Prompt:
        """The prompt that a turn began with, which is read where this process would make another one; today's where it was erased."""
        now = self.now(options.workspace, options.tools)
        if not stored or now.stored == dict(stored):
            return now
        blobs = await store.blobs(list(stored.values()))
        if len(blobs) < len(set(stored.values())):
            return now
        return Prompt.of(blobs[stored["system"]].decode(), _definitions.decode(blobs[stored["tools"]]))
