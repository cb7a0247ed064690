"""One run of a turn, and what it works with."""

from collections.abc import Awaitable, Callable

import msgspec

from ..ports import Asker, Clock, Gate, Provider, Redaction, Store, Toolset
from ..types.events import Passing
from ..types.messages import ToolDef
from ..types.options import TurnOptions
from .circuit_breakers import RunningTime
from .journal import Journal
from .redaction import NO_REDACTION
from .state import TurnState


class PartialReply:
    """What a model has said of a reply that is not finished, as far as it was shown."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.seen = 0
        self.model = ""  # who is asked, where it is not the turn's own model
        self.environment = ""

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def forget(self) -> None:
        """The reply is finished, or void."""
        self.pieces = []


class Equipment(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of a turn works with: made for its session, options and soul when the run begins, and the same to its end."""

    provider: Provider
    model: str
    """The model's name within the provider."""
    tools: Toolset
    gate: Gate
    system: str
    definitions: tuple[ToolDef, ...]
    """The tools as the model is told of them, the same from the turn's beginning to its end."""
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    timeout: float = 120.0
    """Seconds without a byte of the model's reply."""
    environment: Callable[[], Awaitable[str]] | None = None
    """What the model is told before its last message, as it is at this moment."""
    redaction: Redaction = NO_REDACTION
    """Keeps secrets out of what is shown; the journal has its own."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a turn. `show` publishes passing events; `outbox` is the address the answer is delivered to."""

    session: str
    options: TurnOptions
    """Those of `turn.started`, with what this run may change: the approvals mode and whether someone is present."""
    equipment: Equipment
    journal: Journal
    store: Store
    asker: Asker
    clock: Clock
    show: Callable[[Passing], None]
    time: RunningTime
    heard: PartialReply = msgspec.field(default_factory=PartialReply)
    outbox: str | None = None

    @property
    def state(self) -> TurnState:
        return self.journal.state
