"""The events of one turn, out of all of its session."""

from collections.abc import Collection

from ..types.entries import Event
from ..types.events import ApprovalRequested, ApprovalResolved, Cancel, ErrorEvent, Inbound, Message, TurnFinished, TurnStarted


class TurnFilter:
    """Lets through what belongs to one turn: the one that message `inbound` starts or steers, or turn `number`.

    Of the entries up to `after`, which were shown before, only the questions that stand at the entries `waiting` are let
    through: who follows may answer them.
    """

    def __init__(self, *, inbound: int | None = None, number: int | None = None, after: int = 0, waiting: Collection[int] = ()) -> None:
        self._inbound, self.number, self._after, self._waiting = inbound, number, after, waiting
        self._begins = 0  # the turn that the message is to begin, or was said during
        self.finished: TurnFinished | None = None

    def __call__(self, event: Event) -> bool:
        body = event.body
        if self.finished is not None:
            return False
        if event.entry is not None and event.entry <= self._after:
            return event.entry in self._waiting
        if self._inbound is not None and self.number is None:
            self._look_for_turn(event)
            if isinstance(body, Inbound) and event.entry == self._inbound:
                self._begins = event.turn
                return True
        if self.number is None:
            return self._meant(event) or isinstance(body, ApprovalRequested | ApprovalResolved) or (isinstance(body, ErrorEvent) and event.turn == 0)
        if isinstance(body, TurnFinished) and event.turn == self.number:
            self.finished = body
        return event.turn == self.number or isinstance(body, Inbound | ApprovalResolved | Cancel) or (isinstance(body, ErrorEvent) and event.turn == 0)

    def _meant(self, event: Event) -> bool:
        """Whether it is said to the turn that is still to begin."""
        said = isinstance(event.body, Cancel) or (isinstance(event.body, Inbound) and not event.body.queued)
        return said and event.turn == self._begins

    def _look_for_turn(self, event: Event) -> None:
        body, inbound = event.body, self._inbound or 0
        starts = isinstance(body, TurnStarted) and body.inbound == inbound
        steers = isinstance(body, Message) and body.seen >= inbound
        if starts or steers:
            self.number = event.turn
