"""How `run` and `recover` show events: as text for a person, as one JSON object at the end, or as a stream of JSON lines."""

import time
from typing import Any, Protocol

from ..channels.nonblocking_output import NonblockingOutput
from ..channels.terminal_view import TerminalView
from ..types.entries import Event, rfc3339
from ..types.events import TurnFinished
from . import output


class EventSink(Protocol):
    """Where the events of a run go."""

    def show(self, event: Event) -> None: ...
    def trouble(self, kind: str, text: str) -> None:
        """An error outside the record: a line on standard input that nobody can use."""
        ...

    async def room(self) -> None:
        """Wait until there is room for more."""
        ...

    def turned(self) -> None:
        """The turn is over; another one may follow."""
        ...

    def quiet(self) -> "EventSink":
        """The sink of turns behind the one that was asked for."""
        ...


class TextSink:
    """Standard output gets the answer, standard error the rest."""

    def __init__(self, flow: NonblockingOutput, *, verbose: bool, answer: bool = True, named: bool = False) -> None:
        self.room, self._flow = flow.room, flow
        out, err = output.screen(flow.out), output.screen(flow.err)
        self.view = TerminalView(out, err, tools=verbose or (answer and err.tty), verbose=verbose, answer=answer, named=named)

    def show(self, event: Event) -> None:
        self.view.show(event)

    def trouble(self, kind: str, text: str) -> None:
        self.view.err.trouble(kind, text)

    def turned(self) -> None:
        """All of it is shown already."""

    def quiet(self) -> EventSink:
        return self


class JsonSink(TextSink):
    """Standard output gets the `turn.finished` object alone, when the turn is over (a parked turn may have an earlier one); `seq` rises over all turns."""

    def __init__(self, flow: NonblockingOutput, *, verbose: bool) -> None:
        super().__init__(flow, verbose=verbose, answer=False)
        self._verbose = verbose
        self._last: Event | None = None
        self._before = self._seq = 0  # events of earlier turns, and the number of the last one of this turn

    def show(self, event: Event) -> None:
        super().show(event)
        self._seq = event.seq
        if isinstance(event.body, TurnFinished):
            self._last = event

    def turned(self) -> None:
        if self._last is not None:
            output.json_line(self._last.to_dict() | {"seq": self._before + self._last.seq}, self._flow.out)
            self._last = None
        self._before, self._seq = self._before + self._seq, 0

    def quiet(self) -> EventSink:
        """Standard output has one object: the others are told on standard error alone."""
        return TextSink(self._flow, verbose=self._verbose, answer=False)


class StreamSink:
    """Standard output gets every event as a line; `seq` rises by one over all of them, whichever turn or session they are of."""

    def __init__(self, flow: NonblockingOutput, *, verbose: bool) -> None:
        self.room, self._out, self._verbose = flow.room, flow.out, verbose
        self._seq = 0
        self._session, self._turn = "", 0

    def show(self, event: Event) -> None:
        if event.type in ("debug", "subsystem") and not self._verbose:
            return
        self._session, self._turn = event.session, event.turn
        self._print(event.to_dict())

    def trouble(self, kind: str, text: str) -> None:
        head = {"type": "error", "session": self._session, "turn": self._turn, "seq": 0, "time": rfc3339(time.time_ns() // 1000)}
        self._print(head | {"kind": kind, "text": text, "recoverable": True})

    def turned(self) -> None:
        """All of it is shown already."""

    def quiet(self) -> EventSink:
        return self

    def _print(self, event: dict[str, Any]) -> None:
        self._seq += 1
        event["seq"] = self._seq
        output.json_line(event, self._out)
