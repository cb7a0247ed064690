"""How fast a stream comes: pieces that come faster than anybody reads are gathered, so that a hundred cost little more than one."""

from collections.abc import Callable

WINDOW_SECONDS = 0.05
MANY_READS, MANY_EVENTS = 8, 16
"""So many reads, with so many events, in one window are a crowd: more than 320 events a second, far above what a person reads."""
GATHER_SECONDS = 0.025
"""How long a crowd is left to gather; nobody sees a fortieth of a second."""


class StreamPacer:
    """Told of each read, it says whether to wait before the next. A slow stream and the beginning of a fast one are never held up."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._since = monotonic()
        self._reads = self._events = 0
        self._gathers = False

    def read(self, events: int) -> bool:
        """A read brought so many events; true: let more come before the next one."""
        now = self._monotonic()
        if now - self._since > WINDOW_SECONDS:
            self._gathers = self._gathers and self._events >= MANY_EVENTS
            self._since, self._reads, self._events = now, 0, 0
        self._reads += 1
        self._events += events
        self._gathers = self._gathers or (self._reads >= MANY_READS and self._events >= MANY_EVENTS)
        return self._gathers
