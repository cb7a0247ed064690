"""One run of a turn."""

from collections.abc import Callable

import msgspec

from ..ports import Asker, Clock, Store
from ..types.events import Passing
from ..types.options import TurnOptions
from .circuit_breakers import RunningTime
from .equipment import Equipment
from .journal import Journal
from .partial_reply import PartialReply
from .state import TurnState


class TurnRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A turn as far as its record goes: enough to end it, also where it was never equipped."""

    options: TurnOptions
    """Those of `turn.started`, with what this run may change: the approvals mode and whether someone is present."""
    journal: Journal
    time: RunningTime
    outbox: tuple[str, str] | None = None
    """Channel and address that the answer is delivered to; None: whoever reads the events."""

    @property
    def state(self) -> TurnState:
        return self.journal.state


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a turn: what it writes to, and what it works with. `show` publishes passing events."""

    record: TurnRecord
    session: str
    equipment: Equipment
    store: Store
    asker: Asker
    clock: Clock
    show: Callable[[Passing], None]
    partial: PartialReply = msgspec.field(default_factory=PartialReply)
