"""What a block of Markdown holds once its containers are known: a paragraph, code, or a table. Each hands out lines as soon as they are final."""

import re

from .highlight import Highlighter
from .inline import Inline
from .styled_text import LineWrapper, StyledLine, StyledSpan, chop, width_of

_PIECE = 1_024
"""Characters of a paragraph that wait for its end; of a longer one, what can no longer change goes ahead."""
_SAMPLE = 50
"""Rows of a table that settle the widths of its columns; the rows after them are laid out as they come."""
_GAP = "  "
_NARROWEST = 4


class Paragraph:
    """Text that wraps. `base`: style of all of it (a heading)."""

    def __init__(self, text: str, base: str = "", *, heading: bool = False, marks: bool = False) -> None:
        self.text, self.base, self.heading, self.marks = text, base, heading, marks
        self.growing = False
        """More of it will come: what is open at its end is shown in the style it will have."""
        self.begun = False
        """Some of it was handed out: it cannot become a heading any more, nor what was handed out a table."""
        self._wrap = LineWrapper()

    def copy(self) -> "Paragraph":
        other = Paragraph(self.text, self.base, heading=self.heading, marks=self.marks)
        other.begun, other._wrap = self.begun, self._wrap.copy()
        return other

    def add(self, text: str, width: int, between: str = "\n") -> list[StyledLine]:
        self.text += between + text
        while len(self.text) > (limit := _PIECE // 2 if self.begun else _PIECE):
            piece = self.text[:limit]
            at = Inline(piece, marks=self.marks).cut()
            if at < limit // 2:  # something stays open for too long: it is taken as written
                at = max(piece.rfind(" "), piece.rfind("\n"))
            at = at if at > 0 else limit
            self._take(self.text[:at], width)
            self.text = self.text[at:]
        return self._full()

    def end(self, width: int) -> list[StyledLine]:
        self._take(self.text.rstrip(" \n"), width)
        self._wrap.end(width)
        return self._full()

    def _take(self, text: str, width: int) -> None:
        self.begun = True
        self._wrap.add(Inline(text, marks=self.marks, growing=self.growing).spans(self.base), width)

    def _full(self) -> list[StyledLine]:
        lines, self._wrap.lines = self._wrap.lines, []
        return lines


class CodeBlock:
    """Lines that keep their spaces: between fences (`fence`: the opening one), or indented by four (`fence` empty)."""

    def __init__(self, fence: str, indent: int, language: str) -> None:
        self.fence, self._indent = fence, indent
        self._highlighter = Highlighter(language)
        self._blank = 0
        self._long = False
        self._carry = ""
        """Of a line that continues: what does not fill a row of the screen yet."""

    def copy(self) -> "CodeBlock":
        other = CodeBlock(self.fence, self._indent, "")
        other._highlighter, other._blank = self._highlighter.copy(), self._blank
        other._long, other._carry = self._long, self._carry
        return other

    @property
    def ends_blank(self) -> bool:
        """Empty lines came last, which belong to the code only when more of it follows."""
        return self._blank > 0

    def closed_by(self, text: str) -> bool:
        mark = text.strip()
        return bool(self.fence) and len(text) - len(text.lstrip()) < 4 and len(mark) >= len(self.fence) and mark == self.fence[0] * len(mark)

    def add(self, text: str, width: int, *, cut: bool = False) -> list[StyledLine]:
        """A line of code; `cut`: the line continues, and what follows of it comes here too. Long lines stay uncoloured."""
        if not self._long:
            spaces = len(text) - len(text.lstrip(" "))
            text = text[min(spaces, self._indent) :]
        plain = cut or self._long
        self._long = cut
        if not self.fence:
            if not text.strip():
                self._blank += 1
                return []
            blank, self._blank = self._blank, 0
        else:
            blank = 0
        indent = 2 if width > 8 else 0
        rows = chop([(self._carry + text, "")] if plain else self._highlighter.line(text), width - indent)
        self._carry = "".join(part for part, _ in rows.pop()) if cut else ""
        lines: list[StyledLine] = [[] for _ in range(blank)]
        return lines + [[(" " * indent, ""), *row] for row in rows]


class MarkdownTable:
    """Rows under a header. Columns are as wide as the first rows want them and the screen allows; where it is too narrow, a row is a list."""

    def __init__(self, header: list[str], aligns: list[str], *, marks: bool = False) -> None:
        self._aligns, self._marks = aligns, marks
        self._header = [self._cell(text, "1") for text in header]
        self._rows: list[list[StyledLine]] = []
        self._widths: list[int] | None = None

    def copy(self) -> "MarkdownTable":
        other = MarkdownTable([], self._aligns, marks=self._marks)
        other._header, other._rows, other._widths = self._header, list(self._rows), self._widths
        return other

    def add(self, row: list[str], width: int) -> list[StyledLine]:
        count = len(self._header)
        if len(row) > count:
            row = [*row[: count - 1], " | ".join(row[count - 1 :])]
        self._rows.append([self._cell(text, "") for text in row] + [[] for _ in range(count - len(row))])
        return self._lines(width, last=False) if self._widths is not None or len(self._rows) >= _SAMPLE else []

    def end(self, width: int) -> list[StyledLine]:
        return self._lines(width, last=True)

    def _lines(self, width: int, *, last: bool) -> list[StyledLine]:
        """The rows so far; the first of them settle the columns."""
        lines: list[StyledLine] = []
        total = 2 * (len(self._header) - 1)
        if self._widths is None:
            self._widths = self._measure(width - total, more=not last)
            if self._widths:
                lines += self._laid(self._header)
                lines.append([("─" * (sum(self._widths) + total), "2")])
        for row in self._rows:
            # Fewer cells than settled: the screen became narrower since.
            narrow = not self._widths or sum(self._widths) + total > width
            lines += self._listed(row, width) if narrow else self._laid(row)
        self._rows = []
        return lines

    def _cell(self, text: str, base: str) -> StyledLine:
        return [(part.replace("\n", " "), style) for part, style in Inline(text.strip(), marks=self._marks).spans(base)]

    def _measure(self, room: int, *, more: bool) -> list[int]:
        """Widths of the columns, together at most `room`; empty when that is too little. `more` rows may want a little more than these."""
        wanted = [max(width_of(row[i]) for row in [self._header, *self._rows]) or 1 for i in range(len(self._header))]
        if more:
            wanted = [max(size, 2) for size in wanted]  # room for a wide character
        if sum(wanted) <= room:
            spare = (room - sum(wanted)) // len(wanted) if more else 0
            return [size + min(spare, 3 + size // 2) for size in wanted]
        if room < _NARROWEST * len(wanted):
            return []
        # The widest columns give: what the narrow ones leave is shared among the rest.
        widths, left, columns = [0] * len(wanted), room, len(wanted)
        for i in sorted(range(len(wanted)), key=wanted.__getitem__):
            widths[i] = min(wanted[i], left // columns)
            left, columns = left - widths[i], columns - 1
        return widths

    def _laid(self, row: list[StyledLine]) -> list[StyledLine]:
        widths = self._widths or []
        columns = []
        for cell, width in zip(row, widths, strict=True):
            wrap = LineWrapper()
            wrap.add(cell, width)
            wrap.end(width)
            columns.append(wrap.lines)
        lines: list[StyledLine] = []
        for at in range(max(1, *(len(column) for column in columns))):
            line: StyledLine = []
            for i, column in enumerate(columns):
                text = column[at] if at < len(column) else []
                line += [(_GAP if i else "", ""), *_aligned(text, widths[i], self._aligns[i])]
            lines.append(line)
        return lines

    def _listed(self, row: list[StyledLine], width: int) -> list[StyledLine]:
        lines: list[StyledLine] = [[("─" * min(width, 8), "2")]]
        for name, cell in zip(self._header, row, strict=True):
            wrap = LineWrapper()
            wrap.add([*name, (": " if name else "", "1"), *cell], width)
            wrap.end(width)
            lines += wrap.lines
        return lines


def _aligned(line: StyledLine, width: int, align: str) -> list[StyledSpan]:
    room = width - width_of(line)
    left = room if align == "right" else room // 2 if align == "center" else 0
    return [(" " * left, ""), *line, (" " * (room - left), "")]


_DELIMITER = re.compile(r" *\|?(?: *:?-+:? *\|)* *:?-+:? *\|? *")
_BAR = re.compile(r"(?<!\\)\|")


def split_row(text: str) -> list[str]:
    """The cells of a row."""
    text = text.strip().removeprefix("|")
    if text.endswith("|") and not text.endswith("\\|"):
        text = text[:-1]
    return [cell.replace("\\|", "|") for cell in _BAR.split(text)]


def alignments(text: str) -> list[str] | None:
    """What a delimiter row says about its columns; None when the text is none."""
    if "-" not in text or "|" not in text or not _DELIMITER.fullmatch(text):
        return None
    marks = [cell.strip() for cell in split_row(text)]
    return ["center" if m[0] == m[-1] == ":" else "right" if m[-1] == ":" else "left" for m in marks]


Leaf = Paragraph | CodeBlock | MarkdownTable
