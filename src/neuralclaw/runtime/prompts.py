"""What stands at the beginning of every request of a turn: the system prompt and the tools. Kept by the store once, under the digests in `turn.started`."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from ..agent.redaction import redacted
from ..ports import Redaction, Source, Store, Toolset
from ..types.entries import blob_digest
from ..types.labels import NONE, Labels, join
from ..types.messages import ToolDef
from ..types.options import TurnOptions
from .chosen import chosen

Names = tuple[str, ...] | None

_definitions = msgspec.json.Decoder(tuple[ToolDef, ...])


class Prompt(msgspec.Struct, frozen=True):
    """A system prompt and tool definitions, with their bytes as the store keeps them. `stored` are the digests of the two by name.

    `labels` are those of what the sources gave; `digests` has the SHA-256 of that text as `instructions`, where there is one.
    """

    system: str
    definitions: tuple[ToolDef, ...]
    blobs: tuple[bytes, bytes]
    stored: dict[str, str]
    labels: Labels = NONE
    digests: dict[str, str] = {}

    @classmethod
    def of(cls, system: str, definitions: tuple[ToolDef, ...], labels: Labels = NONE, told: str = "") -> "Prompt":
        blobs = (system.encode(), msgspec.json.encode(definitions))
        digests = {"instructions": blob_digest(told.encode())} if told else {}
        return cls(system, definitions, blobs, {"system": blob_digest(blobs[0]), "tools": blob_digest(blobs[1])}, labels, digests)


class Prompts:
    """Makes the prompt of a workspace; one that is like the last of that workspace is not made again. `sources` say what is told of the workspace itself."""

    KEPT = 256
    """Workspaces whose prompt is at hand."""

    def __init__(self, system: Callable[[str], str], tools: Toolset, redaction: Redaction, sources: Sequence[Source] = ()) -> None:
        self._system, self._tools, self._redaction, self._sources = system, tools, redaction, sources
        self._made: dict[tuple[str, Names], tuple[str, list[int], Prompt]] = {}

    async def now(self, workspace: str, names: Names = None, *, room: int) -> Prompt:
        """The prompt of this moment, without secrets. `names`: the tools that are offered, None all. `room`: bytes that each source may tell of the workspace;
        0: they are not asked."""
        parts = [part for source in self._sources for part in await source.parts(workspace, room)] if room else []
        told = self._redaction.redact("\n\n".join(text for text, _ in parts))
        system, specs = "\n".join(text for text in (self._system(workspace), told) if text), chosen(self._tools, names).tools()
        known = self._made.get((workspace, names))
        if known is not None and known[:2] == (system, [id(spec) for spec in specs]):
            return known[2]
        definitions = tuple(ToolDef(spec.name, spec.description, spec.input_schema) for spec in specs)
        labels = join(*(labels for _, labels in parts))
        prompt = Prompt.of(self._redaction.redact(system), redacted(definitions, self._redaction), labels, told)
        if len(self._made) >= self.KEPT:
            del self._made[next(iter(self._made))]
        self._made[workspace, names] = (system, [id(spec) for spec in specs], prompt)
        return prompt

    async def of_turn(self, options: TurnOptions, stored: Mapping[str, str], store: Store) -> Prompt:
        """The prompt that a turn began with, which is read where this process made another one last; the built-in one where it was erased."""
        known = self._made.get((options.workspace, options.tools))
        if known is not None and known[2].stored == dict(stored):
            return known[2]
        blobs = await store.blobs(list(stored.values()))
        if not stored or len(blobs) < len(set(stored.values())):
            return await self.now(options.workspace, options.tools, room=0)
        return Prompt.of(blobs[stored["system"]].decode(), _definitions.decode(blobs[stored["tools"]]))
