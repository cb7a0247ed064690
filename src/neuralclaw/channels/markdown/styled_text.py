"""Styled text on a screen of cells: how wide it is, where it wraps, how a line becomes what a terminal reads."""

import re
from collections.abc import Iterable

from ..control_characters import visible

StyledSpan = tuple[str, str]
"""Text and the SGR parameters it is shown with ("" for none)."""
StyledLine = list[StyledSpan]

_WIDE = "\u1100-\u115f\u2e80-\u2fff\u3001-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
_WIDE += "\U0001f000-\U0001faff\U00020000-\U0003fffd"
_GLUED = "、。，．：；！？」』）】》〉…"
_NARROW = re.compile(r"\n| +|[^ \n]+")


class _Pieces:
    """Words, spaces and newlines of a text. The expression for wide characters takes 4 ms to make: only a text that may have some needs it."""

    _wide: re.Pattern[str] | None = None

    def __call__(self, text: str) -> list[str]:
        if text.isascii():
            return _NARROW.findall(text)
        if self._wide is None:
            # A wide character is a word of its own, together with what belongs to it: joined and modifying characters, closing punctuation.
            self._wide = re.compile(rf"\n| +|[{_WIDE}](?:\u200d[^ \n]|[\ufe0f\u20e3\u0300-\u036f\U0001f3fb-\U0001f3ff{_GLUED}])*|[^ \n{_WIDE}]+")
        return self._wide.findall(text)


_pieces = _Pieces()


class _Widths(dict[str, int]):
    """Character -> cells, looked up once."""

    def __missing__(self, character: str) -> int:
        from rich.cells import get_character_cell_size

        size = self[character] = get_character_cell_size(character)
        return size


_SEPARATORS = {0x2028: "\\u2028", 0x2029: "\\u2029"}
_WIDTHS = _Widths({"\ufe0f": 1})
"""An emoji selector makes a narrow character wide: counted as the cell that it adds."""


def harmless(text: str) -> str:
    """Text without anything that a terminal would obey, nor half a character that it could not be sent; newline and tab stay."""
    text = visible(text)
    if not text.isascii():
        text = text.translate(_SEPARATORS).encode("utf-8", "backslashreplace").decode()
    return text


def cell_width(text: str) -> int:
    """Cells that text takes at most. Joined emoji count each for itself: there are terminals that draw them so."""
    return len(text) if text.isascii() else sum(map(_WIDTHS.__getitem__, text))


def width_of(line: Iterable[StyledSpan]) -> int:
    """Cells of a line."""
    return sum(cell_width(text) for text, _ in line)


def paint(line: Iterable[StyledSpan], *, colour: bool) -> str:
    """A line as a terminal reads it; every style ends on the line it began on. Without colour: the text alone."""
    if not colour:
        return "".join(text for text, _ in line).rstrip(" ")
    parts: list[str] = []
    pending, style = "", ""
    for text, sgr in line:
        if sgr != style:
            if pending:
                parts.append(f"\x1b[{style}m{pending}\x1b[0m" if style else pending)
            pending, style = "", sgr
        pending += text
    if not style:
        pending = pending.rstrip(" ")
    if pending:
        parts.append(f"\x1b[{style}m{pending}\x1b[0m" if style else pending)
    return "".join(parts)


def join(*styles: str) -> str:
    """Several SGR parameters as one."""
    return ";".join(style for style in styles if style)


def chop(line: Iterable[StyledSpan], width: int) -> list[StyledLine]:
    """A line cut hard into pieces of at most `width` cells: for code, whose spaces mean something. An empty line stays one."""
    lines: list[StyledLine] = [[]]
    used = 0
    for text, style in line:
        if text.isascii():
            size = len(text)
            if used + size <= width:
                lines[-1].append((text, style))
                used += size
                continue
        start = 0
        for at, character in enumerate(text):
            size = _WIDTHS[character]
            if used + size > width and used:
                lines[-1].append((text[start:at], style))
                lines.append([])
                start, used = at, 0
            used += size
        lines[-1].append((text[start:], style))
    return lines


def fit(text: str, width: int) -> str:
    """Text cut to `width` cells, with … where something is missing."""
    if cell_width(text) <= width:
        return text
    used, end = 1, 0
    for end, character in enumerate(text):  # noqa: B007
        used += _WIDTHS[character]
        if used > width:
            break
    return text[:end] + "…" if width > 0 else ""


class LineWrapper:
    """Words that arrive as spans become lines, greedily; a full line is in `lines` and does not change any more.

    A newline in a span breaks the line. Words wider than a line are cut. `width` may differ from call to call.
    """

    def __init__(self) -> None:
        self.lines: list[StyledLine] = []
        self._line: StyledLine = []
        self._used = 0
        self._space: StyledSpan | None = None
        self._word: StyledLine = []
        self._size = 0

    def copy(self) -> "LineWrapper":
        other = LineWrapper()
        other.lines, other._line, other._word = list(self.lines), list(self._line), list(self._word)
        other._used, other._space, other._size = self._used, self._space, self._size
        return other

    def add(self, spans: Iterable[StyledSpan], width: int) -> None:
        self._narrow(width)
        for text, style in spans:
            for piece in _pieces(text):
                if piece == "\n":
                    self._place(width)
                    self._break()
                elif piece[0] == " ":
                    self._place(width)
                    self._space = (piece, style)
                else:
                    wide = not piece.isascii() and _WIDTHS[piece[0]] == 2
                    size = cell_width(piece)
                    if wide:
                        self._place(width)
                        if self._used + size <= width and self._space is None:  # the usual case, and there are many
                            self._line.append((piece, style))
                            self._used += size
                            continue
                    self._word.append((piece, style))
                    self._size += size
                    if wide or self._size > width:
                        self._place(width)

    def end(self, width: int) -> None:
        """No more words: the last line is full too."""
        self._narrow(width)
        self._place(width)
        if self._line:
            self._break()

    def _narrow(self, width: int) -> None:
        """Lay the line that grows out anew, where the screen became too narrow for it."""
        if self._used > width:
            again, space, word, size = self._line, self._space, self._word, self._size
            self._line, self._used, self._space, self._word, self._size = [], 0, None, [], 0
            self.add(again, width)
            self._place(width)
            self._space, self._word, self._size = space, word, size

    def _place(self, width: int) -> None:
        if not self._word:
            return
        space = self._space if self._line else None
        size = self._size + (cell_width(space[0]) if space else 0)
        if self._used + size > width and self._line:
            self._break()
            space, size = None, self._size
        if space:
            self._line.append(space)
        self._space = None
        if self._size > width:
            *full, last = chop(self._word, width)
            self.lines.extend(full)
            self._line, size = last, width_of(last)
        else:
            self._line.extend(self._word)
        self._used += size
        self._word, self._size = [], 0

    def _break(self) -> None:
        self.lines.append(self._line)
        self._line, self._used, self._space = [], 0, None
