"""The blocks of Markdown, line after line: quotes and lists hold paragraphs, headings, code and tables. No line is looked at twice.

It follows CommonMark and the tables of GitHub, with these differences for text that streams to a terminal: a line break within a
paragraph stays one, because models rely on it; HTML and references by name stay as written; a list item may be indented by two under
any item; what is nested deeper than `_DEPTH` is text.
"""

import re

from .leaf_blocks import CodeBlock, Leaf, MarkdownTable, Paragraph, alignments, split_row
from .styled_text import StyledLine, StyledSpan, paint, width_of

_DEPTH = 8
_ITEM = re.compile(r"( *)([-*+]|\d{1,9}[.)])( +|$)")
_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})([^`]*)$")
_RULE = re.compile(r" {0,3}([-*_])(?: *\1){2,} *$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+) *$")
_HEADING = re.compile(r" {0,3}(#{1,6})(?= |$)")
_TASK = re.compile(r"\[([ xX])\] ")
_BULLETS = "•◦▪"
_LEVELS = ("1;4", "1", "1;3")
"""Styles of headings, by level; deeper ones as the last."""


class _Container:
    """A quote (`marker` empty) or a list item. `own` and `indent`: columns of its marker and of its content, within what holds it."""

    __slots__ = ("indent", "marker", "own", "pending")

    def __init__(self, marker: str = "", own: int = 0, indent: int = 0, *, pending: bool = False) -> None:
        self.marker, self.own, self.indent, self.pending = marker, own, indent, pending

    def copy(self) -> "_Container":
        return _Container(self.marker, self.own, self.indent, pending=self.pending)

    def prefix(self) -> StyledSpan:
        if not self.marker:
            return ("│ ", "2")
        if self.pending:
            return (f"{self.marker} ", "36")
        return (" " * (len(self.marker) + 1), "")


class BlockParser:
    """Takes lines (without control characters), collects finished lines for a terminal in `out`, each at most `width` cells; that may change."""

    def __init__(self, width: int, *, colour: bool, marks: bool | None = None) -> None:
        self.width, self._colour = width, colour
        self._marks = not colour if marks is None else marks
        self.out: list[str] = []
        self._boxes: list[_Container] = []
        self._leaf: Leaf | None = None
        self._cut = False
        self._blank = self._gap = self._any = False
        self._kept = 0
        """Boxes that stayed open since the last line was written: a blank line between blocks is in these."""

    def copy(self) -> "BlockParser":
        """A copy that continues by itself, with nothing in `out`."""
        other = BlockParser(self.width, colour=self._colour, marks=self._marks)
        other._boxes = [box.copy() for box in self._boxes]
        other._leaf = self._leaf.copy() if self._leaf is not None else None
        other._cut, other._blank, other._gap, other._any, other._kept = self._cut, self._blank, self._gap, self._any, self._kept
        return other

    @property
    def goes_on(self) -> bool:
        """The last line was only the beginning of one."""
        return self._cut

    @property
    def in_table(self) -> bool:
        return isinstance(self._leaf, MarkdownTable)

    def line(self, text: str, *, cut: bool = False) -> None:
        """Take a line. `cut`: only the beginning of a long one; the rest follows, in pieces, the last with `cut` false."""
        goes_on, self._cut = self._cut, cut
        if goes_on:
            self._go_on(text, cut=cut)
        else:
            self._begin(text, cut=cut)
        if isinstance(self._leaf, Paragraph) and self._leaf.heading and not cut:
            self._end()

    def close(self, *, growing: bool = False) -> None:
        """There are no more lines; `growing`: there will be, and this copy only shows what is there so far."""
        if growing and isinstance(self._leaf, Paragraph):
            self._leaf.growing = True
        self._drop(0)

    def _go_on(self, text: str, *, cut: bool) -> None:
        if isinstance(self._leaf, Paragraph):
            self._emit(self._leaf.add(text, self._room(), ""))
        elif isinstance(self._leaf, CodeBlock):
            self._emit(self._leaf.add(text, self._room(), cut=cut))
        elif text.strip():
            self._start(Paragraph("", marks=self._marks))
            self._go_on(text, cut=cut)

    def _begin(self, text: str, *, cut: bool) -> None:
        rest, matched = self._match(text)
        whole = matched == len(self._boxes)
        if whole and isinstance(self._leaf, CodeBlock) and self._leaf.fence:
            if self._leaf.closed_by(rest):
                self._end()
            else:
                self._emit(self._leaf.add(rest, self._room(), cut=cut))
            return
        if not rest.strip():
            self._empty(matched)
            return
        opened, rest = self._open(rest, matched)
        leaf = self._leaf
        if not whole and not opened and isinstance(leaf, Paragraph) and not _starts(rest):
            self._emit(leaf.add(rest.strip(" "), self._room()))
            return
        if not whole or opened:
            self._drop(matched)
            self._boxes += opened
        self._content(rest, cut=cut)

    def _match(self, text: str) -> tuple[str, int]:
        """What is left of a line behind the marks of the open boxes, and how many of them it belongs to."""
        for i, box in enumerate(self._boxes):
            stripped = text.lstrip(" ")
            indent = len(text) - len(stripped)
            if not box.marker:
                if indent > 3 or not stripped.startswith(">"):
                    return text, i
                text = stripped[1:].removeprefix(" ")
            elif stripped:
                nested = indent >= box.own + 2 and _ITEM.match(stripped) is not None
                if indent < box.indent and not nested:
                    return text, i
                text = text[min(indent, box.indent) :]
        return text, len(self._boxes)

    def _open(self, rest: str, matched: int) -> tuple[list[_Container], str]:
        """Boxes that begin on this line within the first `matched`, and what is left of it."""
        opened: list[_Container] = []
        while matched + len(opened) < _DEPTH:
            stripped = rest.lstrip(" ")
            indent = len(rest) - len(stripped)
            if indent > 3 and not (opened or matched):
                break
            if stripped.startswith(">"):
                opened.append(_Container())
                rest = stripped[1:].removeprefix(" ")
                continue
            found = None if _RULE.match(rest) else _ITEM.match(rest)
            if found is None:
                break
            sign, spaces = found[2], found[3]
            interrupts = matched == len(self._boxes) and not opened and isinstance(self._leaf, Paragraph)
            if interrupts and (not spaces or (sign[0].isdigit() and sign[:-1] != "1")):
                break
            depth = sum(bool(box.marker) for box in self._boxes[:matched] + opened)
            used = len(spaces) if 0 < len(spaces) < 5 else 1
            rest = rest[indent + len(sign) + used :]
            task = _TASK.match(rest)
            bullet = sign if sign[0].isdigit() else _BULLETS[min(depth, 2)]
            if task:
                bullet, rest = "☐" if task[1] == " " else "☑", rest[task.end() :]
            opened.append(_Container(bullet, indent, indent + len(sign) + used, pending=True))
        return opened, rest

    def _empty(self, matched: int) -> None:
        """A line with nothing on it."""
        if isinstance(self._leaf, CodeBlock) and matched == len(self._boxes):
            self._leaf.add("", self._room())
            return
        self._end()
        self._drop(matched)
        self._blank = True

    def _content(self, rest: str, *, cut: bool) -> None:
        leaf = self._leaf
        indent = len(rest) - len(rest.lstrip(" "))
        if isinstance(leaf, CodeBlock) and indent > 3:
            self._emit(leaf.add(rest, self._room(), cut=cut))
        elif isinstance(leaf, Paragraph) and self._became(leaf, rest, cut=cut):
            return
        elif isinstance(leaf, MarkdownTable) and "|" in rest and not _starts(rest) and not cut:
            self._emit(leaf.add(split_row(rest), self._room()))
        elif isinstance(leaf, Paragraph) and not _starts(rest):
            self._emit(leaf.add(rest.lstrip(" "), self._room()))
        else:
            self._end()
            self._new(rest, indent, cut=cut)

    def _became(self, leaf: Paragraph, rest: str, *, cut: bool) -> bool:
        """A paragraph that this line makes a heading or a table."""
        if cut or leaf.heading:
            return False
        underline = _UNDERLINE.match(rest) if not leaf.begun else None
        if underline is not None:
            leaf.base, leaf.heading = _LEVELS[underline[1][0] == "-"], True
            return True
        before, broken, last = leaf.text.rpartition("\n")
        aligns = alignments(rest) if "|" in rest and "|" in last and (broken or not leaf.begun) else None
        header = split_row(last) if aligns is not None else []
        if aligns is None or len(header) != len(aligns):
            return False
        if broken:  # the last line of a paragraph is the table's header
            leaf.text = before
            self._emit(leaf.end(self._room()))
        self._leaf = MarkdownTable(header, aligns, marks=self._marks)
        return True

    def _new(self, rest: str, indent: int, *, cut: bool) -> None:
        """Begin a leaf."""
        marks = self._marks
        fence = None if cut else _FENCE.match(rest)
        heading = _HEADING.match(rest)
        if indent > 3:
            self._start(CodeBlock("", 4, ""))
            self._content(rest, cut=cut)
        elif fence is not None:
            self._start(CodeBlock(fence[2], len(fence[1]), (fence[3].split() or [""])[0].strip("{}.")))
        elif _RULE.match(rest) and not cut:
            self._start(None)
            self._emit([[("─" * self._room(), "2")]])
        elif heading is not None:
            text = rest[heading.end() :].strip(" ")
            bare = text.rstrip("#")
            if not bare or bare.endswith(" "):
                text = bare.rstrip(" ")
            if self._any and not self._boxes:
                self._blank = True
            self._start(Paragraph("", _LEVELS[min(len(heading[1]), 3) - 1], heading=True, marks=marks))
            self._go_on(text, cut=cut)
        else:
            self._start(Paragraph("", marks=marks))
            self._go_on(rest.lstrip(" "), cut=cut)

    def _start(self, leaf: Leaf | None) -> None:
        self._leaf = leaf
        self._gap, self._blank = self._any and self._blank, False

    def _end(self) -> None:
        """The leaf is complete."""
        leaf, self._leaf = self._leaf, None
        if isinstance(leaf, Paragraph | MarkdownTable):
            self._emit(leaf.end(self._room()))
        elif isinstance(leaf, CodeBlock):
            self._blank = self._blank or leaf.ends_blank

    def _drop(self, count: int) -> None:
        """Close all but the first `count` boxes."""
        self._end()
        while len(self._boxes) > count:
            if self._boxes[-1].pending:
                self._gap, self._blank = self._any and (self._gap or self._blank), False
                self._emit([[]])
            self._boxes.pop()
        self._kept = min(self._kept, count)

    def _room(self) -> int:
        """Cells that are left for the content of the open boxes."""
        return self.width - min(width_of(box.prefix() for box in self._boxes), self._margin())

    def _emit(self, lines: list[StyledLine]) -> None:
        if lines and self._gap:
            bars: StyledLine = [box.prefix() for box in self._boxes[: self._kept]]
            self.out.append(paint([*self._fitting(bars), ("", "")], colour=self._colour).rstrip())
        for line in lines:
            prefix: StyledLine = self._fitting([box.prefix() for box in self._boxes])
            for box in self._boxes:
                box.pending = False
            self.out.append(paint([*prefix, *line], colour=self._colour))
        if lines:
            self._gap, self._any, self._kept = False, True, len(self._boxes)

    def _margin(self) -> int:
        """Cells that a prefix may take: half of the screen, and room is left for a wide character."""
        return min(self.width // 2, self.width - 2)

    def _fitting(self, prefix: StyledLine) -> StyledLine:
        """As much of a prefix as leaves half of the screen: what is nearest to the text stays."""
        over = width_of(prefix) - self._margin()
        kept: StyledLine = []
        for text, style in prefix:
            kept.append((text[max(over, 0) :], style))
            over -= len(text)
        return kept


def _starts(rest: str) -> bool:
    """Whether a line begins something else than a paragraph, also right below one."""
    return any(pattern.match(rest) for pattern in (_FENCE, _RULE, _HEADING))
