"""The events of one turn, out of all of its session."""

from ..types.entries import Event
from ..types.events import ApprovalResolved, Cancel, ErrorEvent, Inbound, Message, TurnFinished, TurnStarted


class TurnFilter:
    """Lets through what belongs to one turn: the one that message `inbound` starts or steers, or turn `number`.

    Earlier turns that are finished on the way are let through only where `earlier` is true.
    """

    def __init__(self, *, inbound: int | None = None, number: int | None = None, after: int = 0) -> None:
        self._inbound, self.number, self._after = inbound, number, after
        self.finished: TurnFinished | None = None

    def __call__(self, event: Event) -> bool:
        body = event.body
        if self.finished is not None:
            return False
        if self._inbound is not None and self.number is None:
            self._look_for_turn(event)
            if isinstance(body, Inbound) and event.entry == self._inbound:
                return True
        if self.number is None:
            return isinstance(body, ErrorEvent) and event.turn == 0
        if isinstance(body, TurnFinished) and event.turn == self.number and (event.entry or 0) > self._after:
            self.finished = body
        return event.turn == self.number or isinstance(body, Inbound | ApprovalResolved | Cancel) or (isinstance(body, ErrorEvent) and event.turn == 0)

    def _look_for_turn(self, event: Event) -> None:
        body, inbound = event.body, self._inbound or 0
        starts = isinstance(body, TurnStarted) and body.inbound == inbound
        steers = isinstance(body, Message) and body.seen >= inbound
        if starts or steers:
            self.number = event.turn
