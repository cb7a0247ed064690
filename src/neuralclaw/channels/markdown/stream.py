"""Markdown as a model streams it, on a terminal: every line is handed out once, when it cannot change any more."""

import re
from collections.abc import Callable

from .block_parser import BlockParser
from .styled_text import harmless

_LINE, _ROW, _MORE = 1_024, 4_096, 256
"""Characters of a line that wait for its newline; of a longer one the beginning is taken as text that continues.

`_ROW`: within a table. `_MORE`: of what continues.
"""
_NARROWEST = 2
"""Cells of the narrowest screen: of one wide character."""
_UNDECIDED = re.compile(r"[ >]*(?:[-=*+_#|~: ]{1,9}|`{1,2}|\d{1,9}[.)]?|(?:`{3}|~{3}).*)? *")
"""The beginning of a line that may still become the mark of anything: it is not shown before it says what it is."""


class StreamedMarkdown:
    """Markdown that is still arriving. What can no longer change is handed out once, as finished terminal lines; the rest is the tail.

    `width` is asked for the cells of a line whenever lines are made: a resize changes what is not yet final. Control characters in the
    text are shown as visible escapes. Without `colour` there is no escape sequence in what is handed out. `marks`: code
    keeps its backquotes (None: without `colour`).
    """

    def __init__(self, width: Callable[[], int], *, colour: bool = True, marks: bool | None = None) -> None:
        self._width, self._colour, self._marks = width, colour, marks
        self.discard()

    def discard(self) -> None:
        """The growing rest is void (a retry); start afresh."""
        self._blocks = BlockParser(_NARROWEST, colour=self._colour, marks=self._marks)
        self._rest = ""
        self._held = ""
        self._shown: tuple[tuple[int, int, int], str] | None = None
        self._fed = 0

    def feed(self, text: str) -> str:
        """Take text as it arrives, cut anywhere. Gives the lines that are final now, each ending in a newline; "" if there are none."""
        if not text:
            return ""
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        self._fed += 1
        return self._take(harmless(text.removesuffix("\r")))

    def tail(self, max_lines: int) -> str:
        """What is still growing, at most its last `max_lines` lines, without a newline at the end. What is open shows as if it were closed here."""
        key = (self._fed, self._screen(), max_lines)
        if self._shown is None or self._shown[0] != key:
            growing = self._blocks.copy()
            growing.width = key[1]
            if self._rest and not _UNDECIDED.fullmatch(self._rest):
                growing.line(self._rest.expandtabs(4))
            growing.close(growing=True)
            self._shown = (key, "\n".join(growing.out[-max_lines:] if max_lines > 0 else []))
        return self._shown[1]

    def close(self) -> str:
        """The rest, final; nothing may be fed after it."""
        text = self._take(harmless(self._held))  # looks at the width, too
        self._held = ""
        if self._rest:
            self._blocks.line(self._rest.expandtabs(4))
            self._rest = ""
        self._blocks.close()
        self._fed += 1
        return text + self._out()

    def _take(self, text: str) -> str:
        self._blocks.width = self._screen()
        self._rest += text
        at = 0
        while True:
            limit = _MORE if self._blocks.goes_on else _ROW if self._blocks.in_table else _LINE
            end = self._rest.find("\n", at, at + limit + 1)
            if end >= 0:
                self._blocks.line(self._rest[at:end].expandtabs(4))
                at = end + 1
            elif len(self._rest) - at > limit:
                self._blocks.line(self._rest[at : at + limit].expandtabs(4), cut=True)
                at += limit
            else:
                break
        self._rest = self._rest[at:]
        return self._out()

    def _screen(self) -> int:
        return max(self._width(), _NARROWEST)

    def _out(self) -> str:
        lines, self._blocks.out = self._blocks.out, []
        return "".join(f"{line}\n" for line in lines)
