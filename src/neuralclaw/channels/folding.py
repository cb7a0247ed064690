"""Plain text on a screen of cells: lines that break between words, and tables as wide as the screen."""

from collections.abc import Sequence
from itertools import zip_longest

from .cells import Wrap, cells

_GAP = "  "
_NARROWEST = 8
"""Cells of a column at least."""


def folded(text: str, width: int) -> str:
    """The text with no line wider than `width` cells, as far as its words allow: a longer word, an address for instance, stays whole.

    What goes on begins as its line did, with the same spaces.
    """
    flowing = Flowing()
    return flowing.feed(text, width) + flowing.rest(width)


def wrapped(text: str, width: int) -> list[str]:
    """The words of a text on lines of at most `width` cells; a longer word is cut."""
    wrap = Wrap()
    wrap.add([(text, "")], max(width, 1))
    wrap.end(max(width, 1))
    return ["".join(part for part, _ in line).rstrip(" ") for line in wrap.lines] or [""]


def table(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Rows as aligned lines of at most `width` cells (0: as wide as they are).

    Where that is too narrow the widest columns give way, and their cells go on below.
    """
    if not rows:
        return []
    widths = [max(cells(row[at]) for row in rows) for at in range(len(rows[0]))]
    room = max(width - len(_GAP) * (len(widths) - 1), _NARROWEST * len(widths))
    while width and sum(widths) > room:
        widest = max(range(len(widths)), key=lambda at: widths[at])
        next_one = max((size for at, size in enumerate(widths) if at != widest), default=0)
        widths[widest] = max(widths[widest] - (sum(widths) - room), min(next_one, widths[widest] - 1), _NARROWEST)
    return [line for row in rows for line in _row(row, widths)]


def _row(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    columns = [[text] if cells(text) <= size else wrapped(text, size) for text, size in zip(row, widths, strict=True)]
    lines = zip_longest(*columns, fillvalue="")
    return [_GAP.join(text + " " * (size - cells(text)) for text, size in zip(line, widths, strict=True)).rstrip(" ") for line in lines]


class Flowing:
    """Text that arrives in pieces, on lines that break between words: what may still become a longer word waits.

    A word that is wider than a line stays whole and is left to the terminal.
    """

    def __init__(self) -> None:
        self.fresh()

    def fresh(self) -> None:
        """A line begins."""
        self._column = self._margin = 0
        self._word = self._spaces = ""
        self._long = False

    def feed(self, text: str, width: int) -> str:
        """What can be written now."""
        out: list[str] = []
        for character in text:
            if character == "\n":
                out += (self.rest(width), "\n")
                self.fresh()
            elif character in " \t":
                out.append(self.rest(width))
                self._long = False
                self._spaces += " " if character == " " else " " * 4
            elif self._long:
                out.append(character)
            else:
                self._word += character
                self._long = len(self._word) > width
                if self._long or (not character.isascii() and cells(character) == 2):
                    out.append(self.rest(width))
        return "".join(out)

    def rest(self, width: int) -> str:
        """What waits: the text pauses here."""
        word, self._word = self._word, ""
        if not word:
            return ""
        spaces, self._spaces = self._spaces, ""
        size = cells(word)
        if self._column == 0:
            self._margin = min(len(spaces), width // 2)
        elif self._column + len(spaces) + size > width:
            self._column = self._margin + size
            return "\n" + " " * self._margin + word
        self._column += len(spaces) + size
        return spaces + word
