"""Plain text on a screen of cells: lines that break between words, and tables as wide as the screen."""

from collections.abc import Sequence
from itertools import zip_longest

from .markdown.styled_text import LineWrapper, cell_width

_GAP = "  "
_NARROWEST = 8
"""Cells of a column at least."""
_WHOLE = 16
"""Cells of a column that is never broken where that can be avoided: a time of a day."""
_LONGEST = 24
"""Cells of a word that a column of prose has room for; an address is longer."""


def folded(text: str, width: int) -> str:
    """The text with no line wider than `width` cells, as far as its words allow: a longer word, an address for instance, stays whole.

    What continues begins as its line did, with the same spaces.
    """
    flowing = Flowing()
    return flowing.feed(text, width) + flowing.rest(width)


def wrapped(text: str, width: int) -> list[str]:
    """The words of a text on lines of at most `width` cells; a longer word is cut."""
    wrap = LineWrapper()
    wrap.add([(text, "")], max(width, 1))
    wrap.end(max(width, 1))
    return ["".join(part for part, _ in line).rstrip(" ") for line in wrap.lines] or [""]


def table(rows: Sequence[Sequence[str]], width: int, *, drop: Sequence[int] = ()) -> list[str]:
    """Rows as aligned lines of at most `width` cells (0: as wide as they are).

    Where that is too narrow the widest columns give way, and their cells continue below. Where words would have to break, the columns `drop` are
    left out, the first of them first.
    """
    if not rows:
        return []
    kept = dict(enumerate(zip(*rows, strict=True)))
    for column in drop:
        if width and sum(_least_of(list(kept.values()))) + len(_GAP) * (len(kept) - 1) > width:
            del kept[column]
    shown = list(kept.values())
    widths = _fitted(shown, max(width - len(_GAP) * (len(shown) - 1), _NARROWEST * len(shown)) if width else 0)
    return [line for row in zip(*shown, strict=True) for line in _row(row, widths)]


def _fitted(columns: Sequence[Sequence[str]], room: int) -> list[int]:
    """Cells of each column, `room` in all (0: no end): the widest give way first, down to their longest word, and only then below that."""
    widths, least = [max(map(cell_width, column)) for column in columns], _least_of(columns)
    while room and sum(widths) > room:
        able = [at for at in range(len(widths)) if widths[at] > least[at]]
        floors = least if able else [_NARROWEST] * len(widths)
        widest = max(able or range(len(widths)), key=lambda at: widths[at])
        next_one = max((size for at, size in enumerate(widths) if at != widest), default=0)
        widths[widest] = max(widths[widest] - (sum(widths) - room), min(next_one, widths[widest] - 1), floors[widest])
    return widths


def _least_of(columns: Sequence[Sequence[str]]) -> list[int]:
    """Cells that each column needs: a narrow one, of names or times, all of them; prose, as the last one is, those of its longest word."""
    found = []
    for at, column in enumerate(columns):
        whole = max(map(cell_width, column))
        word = max(cell_width(word) for text in column for word in text.split() or [""])
        found.append(whole if whole <= _WHOLE and at < len(columns) - 1 else min(word, _LONGEST))
    return found


def _row(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    columns = [[text] if cell_width(text) <= size else wrapped(text, size) for text, size in zip(row, widths, strict=True)]
    lines = zip_longest(*columns, fillvalue="")
    return [_GAP.join(text + " " * (size - cell_width(text)) for text, size in zip(line, widths, strict=True)).rstrip(" ") for line in lines]


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
                if self._long or (not character.isascii() and cell_width(character) == 2):
                    out.append(self.rest(width))
        return "".join(out)

    def rest(self, width: int) -> str:
        """What waits: the text pauses here."""
        word, self._word = self._word, ""
        if not word:
            return ""
        spaces, self._spaces = self._spaces, ""
        size = cell_width(word)
        if self._column == 0:
            self._margin = min(len(spaces), width // 2)
        elif self._column + len(spaces) + size > width:
            self._column = self._margin + size
            return "\n" + " " * self._margin + word
        self._column += len(spaces) + size
        return spaces + word
