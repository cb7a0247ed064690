"""What passes while a turn runs, on a screen: the last lines that a call printed, and what the model thinks. Afterwards it is folded."""

import time

from .markdown.styled_text import LineWrapper, StyledLine, fit, harmless

LINES = 5
"""Lines of either that are shown while it grows."""
_KEPT = 4_000
"""Characters of a call's output that its last lines are taken from."""
_THOUGHT = 200_000
"""Characters of one stretch of thinking that are kept for showing it whole; of a longer one the end."""


class OutputExcerpt:
    """The last lines of what a running call prints, as a terminal would show them: a carriage return writes its line anew."""

    def __init__(self) -> None:
        self._text = ""

    def feed(self, text: str) -> None:
        self._text = (self._text + text)[-_KEPT:]

    def lines(self, width: int, count: int = LINES) -> list[StyledLine]:
        """At most so many lines of at most `width` cells."""
        found = [line.rstrip("\r").rpartition("\r")[2] for line in self._text.split("\n")]
        shown = [line for line in found if line.strip()][-count:]
        return [[(fit(harmless(line).expandtabs(4), width), "2")] for line in shown]


class ThinkingExcerpt:
    """One stretch of a model's thinking: its last lines while it continues, one line when it is over, and the whole of it."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._size = 0
        self._since = time.monotonic()
        self._took: float | None = None

    def feed(self, text: str) -> None:
        self._pieces.append(text)
        self._size += len(text)
        if self._size > 2 * _THOUGHT:
            kept = "".join(self._pieces)[-_THOUGHT:]
            self._pieces, self._size = [kept], len(kept)

    def end(self) -> None:
        """It is over."""
        self._took = time.monotonic() - self._since

    @property
    def seconds(self) -> int:
        return int(self._took if self._took is not None else time.monotonic() - self._since)

    def last(self, width: int, count: int = LINES) -> list[StyledLine]:
        """The head and the last lines of what it thinks now."""
        text = "".join(self._pieces[-_KEPT:])[-_KEPT:]
        return [[(fit(f"thinking… {self.seconds} s", width), "2")], *_wrapped(text, width)[-count:]]

    def folded(self, width: int) -> list[StyledLine]:
        """One line that says how long it took."""
        return [[(fit(f"thought for {self.seconds} s (Ctrl-O shows it)", width), "2")]]

    def whole(self, width: int) -> list[StyledLine]:
        """All of it."""
        return [[(fit(f"thought for {self.seconds} s:", width), "2")], *_wrapped("".join(self._pieces), width)]


def _wrapped(text: str, width: int) -> list[StyledLine]:
    wrap = LineWrapper()
    room = max(width - 2, 1)
    wrap.add([(harmless(text.strip()).expandtabs(4), "2")], room)
    wrap.end(room)
    return [[("  ", ""), *line] for line in wrap.lines]
