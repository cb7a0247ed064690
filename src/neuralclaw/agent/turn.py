"""One run of a turn, and what it works with."""

from collections.abc import Callable, Sequence

import msgspec

from ..ports import Asker, Clock, Gate, Provider, Redaction, Store, Toolset
from ..types.events import Passing
from ..types.labels import NONE, Labels
from ..types.messages import ModelInfo, ToolDef
from ..types.options import TurnOptions
from .circuit_breakers import RunningTime
from .journal import Journal
from .redaction import NO_REDACTION
from .sources import TurnSource
from .state import TurnState


class PartialReply:
    """The model call that runs: what its request held, and the text of its reply as far as it was shown."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.seen = 0
        """The highest entry number that stood in the request."""
        self.model = ""
        """Who is asked (`P:M`), "" for the turn's own model."""
        self.environment = ""
        """What stood before the last message."""
        self.labels: Labels = NONE
        """Where that came from."""

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def begin(self, seen: int, environment: str, labels: Labels) -> None:
        """A new request is made, of these parts."""
        self.pieces, self.seen, self.model, self.environment, self.labels = [], seen, "", environment, labels

    def clear(self) -> None:
        """The text is recorded, or void."""
        self.pieces = []


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


class Equipment(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of a turn works with: made for its session, options and soul when the run begins, and the same to its end."""

    model: ChosenModel
    tools: Toolset
    gate: Gate
    system: str
    definitions: tuple[ToolDef, ...]
    """The tools as the model is told of them, the same from the turn's beginning to its end."""
    before_last: Sequence[TurnSource] = ()
    """What the model is told before its last message, read anew before each of its calls, in this order."""
    redaction: Redaction = NO_REDACTION
    """Keeps secrets out of what is shown; the journal has its own."""
    start: StartRecord = StartRecord()
    """Empty where the run goes on with a turn that has begun."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a turn. `show` publishes passing events."""

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
    partial: PartialReply = msgspec.field(default_factory=PartialReply)
    outbox: tuple[str, str] | None = None
    """Channel and address that the answer is delivered to; None: whoever reads the events."""

    @property
    def state(self) -> TurnState:
        return self.journal.state
