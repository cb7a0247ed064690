"""What the styles and the numbering of a Word document say about a paragraph: heading, quote, code, or an item of which list."""

from typing import Any, NamedTuple

from docx.oxml.ns import qn

_VAL = qn("w:val")
_CODE = frozenset({"html preformatted", "source code", "preformatted text", "macro", "macro text", "plain code", "code"})
_CODE_BLOCK = "code block"
_DEPTH = 12  # of styles based on styles


class Look(NamedTuple):
    """`code`: the language of a block of code ("" unknown), None if it is none; `merges`: its lines are paragraphs of their own.
    `continues`: the level of a list whose item this continues with, from 0. `numbering`: the style's own `w:numPr`."""

    heading: int = 0
    quote: bool = False
    code: str | None = None
    merges: bool = False
    continues: int | None = None
    rule: bool = False
    numbering: Any = None


class Styles:
    """Styles by id."""

    def __init__(self, root: Any) -> None:
        self._nodes = {} if root is None else {node.get(qn("w:styleId")): node for node in root.iterchildren(qn("w:style"))}
        self._looks: dict[str, Look] = {}

    def name(self, reference: Any) -> str:
        """The name, in small letters, of the style that a `w:pStyle` or `w:rStyle` names."""
        return _name(self._nodes.get(reference.get(_VAL))) if reference is not None else ""

    def of_paragraph(self, paragraph: Any) -> Look:
        own = paragraph.find(qn("w:pPr"))
        if own is None:
            return Look()
        reference = own.find(qn("w:pStyle"))
        style = reference.get(_VAL) if reference is not None else ""
        if style not in self._looks:
            self._looks[style] = self._look(style)
        border = own.find(qn("w:pBdr"))
        look = self._looks[style]
        return look._replace(rule=True) if border is not None and border.find(qn("w:bottom")) is not None else look

    def _look(self, style: str) -> Look:
        numbering = None
        for _ in range(_DEPTH):
            node = self._nodes.get(style)
            if node is None:
                break
            if numbering is None:
                numbering = node.find(f"{qn('w:pPr')}/{qn('w:numPr')}")
            found = _by_name(_name(node))
            if found is not None:
                return found._replace(numbering=numbering)
            base = node.find(qn("w:basedOn"))
            style = base.get(_VAL) if base is not None else ""
        return Look(numbering=numbering)


class Lists:
    """Numbers of list items, counted as they are met."""

    def __init__(self, root: Any) -> None:
        self._kinds: dict[str, Any] = {}
        self._nums: dict[str, Any] = {}
        if root is not None:
            self._kinds = {node.get(qn("w:abstractNumId")): node for node in root.iterchildren(qn("w:abstractNum"))}
            self._nums = {node.get(qn("w:numId")): node for node in root.iterchildren(qn("w:num"))}
        self._formats: dict[tuple[str, int], tuple[str, int]] = {}
        self._counts: dict[tuple[str, int], int] = {}
        self._outermost = ""
        self._widths = [2] * 9  # of the last marker of each level

    def indent(self, level: int) -> int:
        """Columns before what is at that level."""
        return sum(self._widths[:level])

    def marker(self, paragraph: Any, look: Look) -> tuple[int, str, str] | None:
        """Columns before the marker, the marker, and the id of the outermost list; None for what is no list item."""
        own = paragraph.find(f"{qn('w:pPr')}/{qn('w:numPr')}")
        numbers = [node for node in (own, look.numbering) if node is not None]
        num = next((found for node in numbers if (found := _value(node, "w:numId"))), "")
        level = next((found for node in numbers if (found := _value(node, "w:ilvl"))), "0")
        if num not in self._nums:
            return None
        depth = min(int(level), 8) if level.isascii() and level.isdigit() and len(level) < 3 else 0
        kind, start = self._format(num, depth)
        if kind == "none":
            return None
        sign = "- "
        if kind != "bullet":
            count = self._counts.get((num, depth), start - 1) + 1
            self._counts[num, depth] = count
            sign = f"{count}. "
        for key in [key for key in self._counts if key[0] == num and key[1] > depth]:
            del self._counts[key]
        self._widths[depth] = len(sign)
        self._widths[depth + 1 :] = [2] * (8 - depth)
        if not depth:
            self._outermost = num
        return self.indent(depth), sign, self._outermost

    def _format(self, num: str, depth: int) -> tuple[str, int]:
        """`w:numFmt` of a level, and the number it starts with."""
        if (num, depth) not in self._formats:
            node = self._nums[num]
            level = str(depth)
            override = next((n for n in node.iterchildren(qn("w:lvlOverride")) if n.get(qn("w:ilvl")) == level), None)
            sources = [] if override is None else [override]
            kind = self._kinds.get(_value(node, "w:abstractNumId"))
            sources += [] if kind is None else [kind]
            levels = [n for place in sources for n in place.iterchildren(qn("w:lvl")) if n.get(qn("w:ilvl")) == level]
            form = next((found for n in levels if (found := _value(n, "w:numFmt"))), "decimal" if levels else "bullet")
            own = "" if override is None else _value(override, "w:startOverride")
            start = own or next((found for n in levels if (found := _value(n, "w:start"))), "1")
            self._formats[num, depth] = form, int(start) if start.isascii() and start.isdigit() and len(start) < 9 else 1
        return self._formats[num, depth]


def _value(node: Any, child: str) -> str:
    found = node.find(qn(child))
    return "" if found is None else found.get(_VAL, "")


def _name(style: Any) -> str:
    return "" if style is None else _value(style, "w:name").strip().lower()


def _by_name(name: str) -> Look | None:
    """Word keeps the English names of its own styles in the file, whatever language it shows."""
    word, _, number = name.rpartition(" ")
    if word == "heading" and number.isascii() and number.isdigit() and len(number) == 1:
        return Look(heading=min(max(int(number), 1), 6))
    if name == "title":
        return Look(heading=1)
    if name in ("quote", "intense quote"):
        return Look(quote=True)
    if name == _CODE_BLOCK or name.startswith(_CODE_BLOCK + " "):
        return Look(code=name[len(_CODE_BLOCK) :].strip())
    if name in _CODE:
        return Look(code="", merges=True)
    if name == "list continue":
        return Look(continues=0)
    if word == "list continue" and number.isascii() and number.isdigit() and len(number) == 1:
        return Look(continues=max(int(number) - 1, 0))
    return None
