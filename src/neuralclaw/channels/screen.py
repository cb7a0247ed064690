"""What a person's screen can show: control characters never reach a terminal raw, signs only where they can be drawn."""

import os
from collections.abc import Callable
from typing import TextIO

from .. import errors
from ..errors import NeuralClawError
from .control_characters import exact as exact
from .control_characters import visible as visible
from .text_layout import Flowing, folded

_STYLES = {"dim": "2", "bold": "1", "red": "31", "yellow": "33"}
_COLOURS = ("red", "yellow")

_WORDS = {
    "SecurityError": "Security: ",
    "ToolTimeoutError": "Tool timed out: ",
    "LLMError": "LLM error: ",
    "MCPError": "MCP connection error: ",
}
"""Class -> how its sentence begins for a person; subclasses begin as their parents do."""


class Screen:
    """One output stream as a person or a program sees it.

    `plain`: no escape sequence (`TERM=dumb`); `colour` false: styles without colour (`NO_COLOR`). `width`: gives the cells of a line; on a
    terminal lines break between words.
    """

    def __init__(self, stream: TextIO, *, plain: bool = False, colour: bool = True, term: str = "", width: Callable[[], int] | None = None) -> None:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
        self._stream = stream
        self.tty = stream.isatty()
        self.styled = self.tty and not plain
        self.colour = self.styled and colour
        self.signs = term != "linux" and _can_show(stream, "🚫❌")
        self._width = width or self._columns
        self._flowing: Flowing | None = None
        self._fresh = True
        self.lead = ""
        """Stands before each text that `line` and `trouble` write, in place of its indentation and sign."""

    @property
    def width(self) -> int:
        """Cells of a line; 0 where it has no end, or nobody knows."""
        return self._width() if self.tty else 0

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):  # the terminal is gone
            return 0

    def write(self, text: str, style: str = "") -> None:
        """Write text as it is over a pipe, made harmless on a terminal; it is out when this returns."""
        if not text:
            return
        self._settle()
        self._out(visible(text) if self.tty else text, style)

    def stream_text(self, text: str) -> None:
        """Write text that arrives in pieces; on a terminal its lines break between words, and the last word may wait for its end."""
        if not self.width:
            self.write(text)
            return
        if self._flowing is None:
            self._flowing = Flowing()
        if shown := self._flowing.feed(visible(text), self.width):
            self._out(shown)

    def line(self, text: str = "", style: str = "") -> None:
        """Write text as lines of their own."""
        self._settle()
        if self.lead and not text.startswith(self.lead):
            text = self.lead + text.lstrip()
        lead = "" if self._fresh else "\n"
        shown = self._folded(visible(text)) if self.tty else text
        code = self._code(style)
        self._stream.write(f"{lead}\x1b[{code}m{shown}\x1b[0m\n" if code else f"{lead}{shown}\n")
        self._stream.flush()
        self._fresh = True

    def _folded(self, text: str) -> str:
        width = self.width
        if not width or len(text) <= width // 2 or (text.isascii() and all(len(line) <= width for line in text.split("\n"))):
            return text
        return folded(text, width)

    def _code(self, style: str) -> str:
        return _STYLES[style] if style and (self.colour if style in _COLOURS else self.styled) else ""

    def _out(self, text: str, style: str = "") -> None:
        code = self._code(style)
        self._stream.write(f"\x1b[{code}m{text}\x1b[0m" if code else text)
        self._stream.flush()
        self._fresh = text.endswith("\n")

    def _settle(self) -> None:
        """Write the word that waits for its end."""
        if self._flowing is not None:
            rest = self._flowing.rest(self.width)
            if rest:
                self._out(rest)
            self._flowing.fresh()

    def fresh(self) -> None:
        """Go to the beginning of a line, if the last text left none."""
        self._settle()
        if not self._fresh:
            self.write("\n")

    def at_start(self) -> None:
        """Somebody else (the person's Enter) moved to the beginning of a line."""
        self._fresh = True

    def trouble(self, kind: str, text: str, *, style: str = "red") -> None:
        """An error as one clear line with its sign."""
        self.line(spoken(kind, text, signs=self.signs and not self.lead), style)


def _can_show(stream: TextIO, text: str) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def spoken(kind: str, text: str, *, signs: bool) -> str:
    """An error of class `kind` as a person reads it: `🚫 Security: …`; a kind from outside the tree is unexpected."""
    found = getattr(errors, kind, None)
    if not (isinstance(found, type) and issubclass(found, NeuralClawError)):
        sign, words = NeuralClawError.sign, f"Unexpected error: {kind}: "
    else:
        sign = found.sign
        words = next((_WORDS[c.__name__] for c in found.__mro__ if c.__name__ in _WORDS), "")
    if text.startswith(words):
        words = ""
    return f"{sign} {words}{text}" if signs else f"{words}{text}"
