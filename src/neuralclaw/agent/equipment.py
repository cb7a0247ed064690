"""What a run of a turn works with."""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from ..ports import Gate, Hooks, Provider, Redaction, Toolset
from ..types.labels import NONE, Labels
from ..types.messages import ModelInfo, ToolDef
from .redaction import NO_REDACTION
from .sources import TurnSource


class ChosenModel(msgspec.Struct, frozen=True, kw_only=True):
    """The model that a turn asks, by its name within the provider, and how it is asked. `timeout`: seconds without a byte of its reply."""

    provider: Provider
    name: str
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    timeout: float = 120.0

    @property
    def info(self) -> ModelInfo:
        """What is known of it."""
        return self.provider.info(self.name)


class StartRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What `turn.started` says of the equipment that the turn begins with.

    `stored`: SHA-256 of the system prompt and of the tool definitions; `blobs` are their bytes. `digests`: of what was used. `labels`: where the system
    prompt's texts came from.
    """

    stored: dict[str, str] = {}
    digests: dict[str, str] = {}
    labels: Labels = NONE
    blobs: tuple[bytes, ...] = ()


class AnswerForm(Protocol):
    """What the answer of a turn must be, where it is a value."""

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema that the service may hold the model to."""
        ...

    def read(self, text: str, task: str) -> tuple[Any, str]:
        """The value of an answer to `task`; and what is wrong with the answer, in words that repeat nothing of it, "" where it fits."""
        ...


class Equipment(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of a turn works with: made for its session and options when the run begins, and the same to its end."""

    model: ChosenModel
    foreign_provider: bool = True
    """Whether the model's provider, or one around it, is others' code."""
    tools: Toolset
    gate: Gate
    system: str
    definitions: tuple[ToolDef, ...]
    """The tools as the model is told of them, the same from the turn's beginning to its end."""
    before_last: Sequence[TurnSource] = ()
    """What the model is told before its last message, read anew before each of its calls, in this order."""
    redaction: Redaction = NO_REDACTION
    """Keeps secrets out of what is shown; the journal has its own."""
    form: AnswerForm | None = None
    """None: the answer is a text."""
    hooks: Hooks | None = None
    """None: the owner has none."""
    start: StartRecord = StartRecord()
    """Empty where the run goes on with a turn that has begun."""
