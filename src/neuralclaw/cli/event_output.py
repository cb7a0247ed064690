"""How `run` and `recover` show events: as text for a person, as one JSON object at the end, or as a stream of JSON lines."""

from ..channels.nonblocking_output import NonblockingOutput
from ..channels.renderer import Renderer
from ..channels.terminal_view import TerminalView
from ..channels.wire import WireRenderer
from ..types.entries import Event
from ..types.events import TurnFinished
from . import output


def renderer(form: str, flow: NonblockingOutput, *, verbose: bool) -> Renderer:
    """The renderer of `--output FORM`."""
    if form == "stream-json":
        return WireRenderer(lambda line: output.raw(line, flow.out), flow.room, verbose=verbose)
    return JsonRenderer(flow, verbose=verbose) if form == "json" else TextRenderer(flow, verbose=verbose)


class TextRenderer(TerminalView):
    """Standard output gets the answer, standard error the rest."""

    def __init__(self, flow: NonblockingOutput, *, verbose: bool, answer: bool = True, named: bool = False) -> None:
        out, err = output.screen(flow.out), output.screen(flow.err)
        super().__init__(out, err, tools=verbose or (answer and err.tty), verbose=verbose, answer=answer, named=named)
        self.room = flow.room


class JsonRenderer(TextRenderer):
    """Standard output gets the `turn.finished` object alone, when the turn is over (a parked turn may have an earlier one); `seq` rises over all turns."""

    def __init__(self, flow: NonblockingOutput, *, verbose: bool) -> None:
        super().__init__(flow, verbose=verbose, answer=False)
        self._flow = flow
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
