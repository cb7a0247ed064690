"""What a person's screen can show: control characters never reach a terminal raw, signs only where they can be drawn."""

from typing import TextIO

from .. import errors
from ..errors import NeuralClawError

_STYLES = {"dim": "2", "bold": "1", "red": "31", "yellow": "33"}

_WORDS = {
    "SecurityError": "Security: ",
    "ToolTimeoutError": "Tool timed out: ",
    "LLMError": "LLM error: ",
    "MCPError": "MCP connection error: ",
}
"""Class -> how its sentence begins for a person; subclasses begin as their parents do."""


class _Visible(dict[int, str]):
    """A translation table that is made once: each code in it as a visible escape."""

    def __init__(self, *ranges: tuple[int, int]) -> None:
        super().__init__()
        for first, last in ranges:
            self.update((code, f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}") for code in range(first, last + 1))


_CONTROLS = ((0, 8), (11, 31), (127, 159), (0x202A, 0x202E), (0x2066, 0x2069))
_CONTROL = _Visible(*_CONTROLS)
_HIDDEN = _Visible(*_CONTROLS, (0x200B, 0x200F), (0x2028, 0x2029), (0x2060, 0x2065), (0xFEFF, 0xFEFF), (0xE0000, 0xE007F))


def visible(text: str) -> str:
    """Text in which control characters and those that turn the reading direction stand as visible escapes; newline and tab stay."""
    return text.replace("\r\n", "\n").translate(_CONTROL)


def exact(text: str) -> str:
    """Like `visible`, invisible characters too: for what a person is asked to agree to."""
    return text.translate(_HIDDEN)


class Screen:
    """One output stream as a person or a program sees it. `plain`: no escape sequence (`NO_COLOR`, `TERM=dumb`)."""

    def __init__(self, stream: TextIO, *, plain: bool = False, term: str = "") -> None:
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
        self._stream = stream
        self.tty = stream.isatty()
        self.colour = self.tty and not plain
        self.signs = term != "linux" and _can_show(stream, "🚫❌")
        self._fresh = True

    def write(self, text: str, style: str = "") -> None:
        """Write text as it is over a pipe, made harmless on a terminal; it is out when this returns."""
        if not text:
            return
        shown = visible(text) if self.tty else text
        self._stream.write(f"\x1b[{_STYLES[style]}m{shown}\x1b[0m" if style and self.colour else shown)
        self._stream.flush()
        self._fresh = shown.endswith("\n")

    def line(self, text: str = "", style: str = "") -> None:
        """Write text as lines of their own."""
        lead = "" if self._fresh else "\n"
        if style and self.colour:
            self._stream.write(f"{lead}\x1b[{_STYLES[style]}m{visible(text)}\x1b[0m\n")
        else:
            self._stream.write(f"{lead}{visible(text) if self.tty else text}\n")
        self._stream.flush()
        self._fresh = True

    def fresh(self) -> None:
        """Go to the beginning of a line, if the last text left none."""
        if not self._fresh:
            self.write("\n")

    def at_start(self) -> None:
        """Somebody else (the person's Enter) moved to the beginning of a line."""
        self._fresh = True

    def trouble(self, kind: str, text: str, *, style: str = "red") -> None:
        """An error as one clear line with its sign."""
        self.line(spoken(kind, text, signs=self.signs), style)


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
