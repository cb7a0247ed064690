"""The text of a Word document as Markdown, in document order. Runs in a conversion's child process only.

Shown: paragraphs, headings, lists, tables, quotes, code, text boxes, inserted text. Not shown: headers and footers, notes,
comments, deleted and hidden text. python-docx parses; its reader of paragraphs leaves out content controls and text boxes, so the
body is walked here. Its XML parser expands no entity and opens nothing.
"""

import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import docx
from docx.opc.constants import RELATIONSHIP_TYPE as RT
from docx.oxml.ns import qn

from ..conversion import answer
from ..errors import ToolError
from ..types.cut_texts import cut_text
from .docx_lists import Lists, Styles
from .docx_marks import Span, markdown

MAX_UNPACKED = 200_000_000
MAX_ENTRIES = 10_000
_MAX_RATIO = 400  # of an entry over 50 MB; XML that repeats itself shrinks to a two hundredth, zeros to a thousandth
_MAX_CHARS = 20_000_000
_MAX_COLUMNS = 63  # Word's own limit
_THROUGH = frozenset(map(qn, "w:ins w:moveTo w:smartTag w:sdt w:sdtContent w:customXml w:fldSimple w:dir w:bdo".split()))
_FIXED = {qn("w:tab"): "\t", qn("w:ptab"): "\t", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "\u2011"}
_CODE_RUNS = frozenset({"inline code", "code", "verbatim char", "html code", "source text"})
_OFF = frozenset({"0", "false", "off", "none"})
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # the container of Word 97 and of encrypted documents
_MEND = "Opening and saving it in a word processor may repair it."

P, R, T, TBL, BR, VAL = (qn(f"w:{name}") for name in ("p", "r", "t", "tbl", "br", "val"))
HYPERLINK, RPR, PPR, TR, TC = (qn(f"w:{name}") for name in ("hyperlink", "rPr", "pPr", "tr", "tc"))
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"


class Block(NamedTuple):
    """One piece of the text. Two in a row that are both `tight` and of one kind are on following lines."""

    kind: str
    text: str
    tight: bool = False


def main(parent: int) -> None:
    """Answer with the text of the document on standard input."""
    docx.Document()  # loads what parsing a first document loads
    "".encode("cp437")  # names inside ZIP archives
    answer(parent, read)


def read(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Facts and Markdown. Raises `ToolError` for what cannot be read, in words to follow the file's name."""
    if data.startswith(_OLE):
        raise ToolError("is encrypted, or a document of Word 97 (.doc) with a wrong name", hint="Save it as .docx without a password.")
    _bounded(data)
    try:
        document = docx.Document(io.BytesIO(data))
    except (KeyError, ValueError, SyntaxError, AttributeError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        if isinstance(error, SyntaxError) and "unknown error" in str(error):
            raise MemoryError from None  # so lxml reports that libxml2 got none
        raise ToolError(f"is a damaged Word document, or another kind of file ({type(error).__name__}: {cut_text(str(error), 100)})", hint=_MEND) from None
    if document.element.getroottree().docinfo.doctype:
        raise ToolError("was not read: it declares XML entities (a DTD), as no word processor writes and attacks do")
    text = Reading(document.part)
    content = _joined(text.blocks(document.element.body))
    about = {"format": "docx", "paragraphs": text.paragraphs, "tables": text.tables}
    return about, (content or "[the document has no text]\n").encode("utf-8", "replace")


def _bounded(data: bytes) -> None:
    """Refuse, by what the archive's directory declares, what unpacks to more than a document does; no more than declared is ever unpacked."""
    try:
        entries = zipfile.ZipFile(io.BytesIO(data)).infolist()
    except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError) as error:
        raise ToolError(f"is no Word document: its ZIP archive cannot be opened ({cut_text(str(error), 100)}); it may be cut short", hint=_MEND) from None
    total = sum(entry.file_size for entry in entries)
    if len(entries) > MAX_ENTRIES:
        raise ToolError(f"was not read: its ZIP archive has {len(entries):,} entries, and a document has at most {MAX_ENTRIES:,}")
    if total > MAX_UNPACKED or any(e.file_size > 50_000_000 and e.file_size > _MAX_RATIO * max(e.compress_size, 1) for e in entries):
        raise ToolError(f"was not read: its {len(data):,} bytes unpack to {total:,}, as in a ZIP bomb", hint=f"Documents of up to {MAX_UNPACKED:,} are read.")


class Reading:
    """One pass over a document: what its styles and lists mean, and what was counted."""

    def __init__(self, part: Any) -> None:
        self._part = part
        self._styles = Styles(_related(part, RT.STYLES))
        self._lists = Lists(_related(part, RT.NUMBERING))
        self._boxes: list[Any] = []
        self._room = _MAX_CHARS
        self._inside = 0  # tables we are in
        self.paragraphs = self.tables = 0

    def blocks(self, parent: Any) -> Iterator[Block]:
        """What is directly in the body, a cell or a text box."""
        for node in parent.iterchildren():
            if self._room <= 0:
                yield Block("end", f"[the document continues: its first {_MAX_CHARS:,} characters were read]")
                return
            if node.tag == P:
                yield from self._paragraph(node)
                boxes, self._boxes = self._boxes, []
                for box in boxes:
                    yield from self.blocks(box)
            elif node.tag == TBL:
                self.tables += 1
                yield Block("table", self._table(node))
            elif node.tag in _THROUGH:
                yield from self.blocks(node)

    def _paragraph(self, node: Any) -> Iterator[Block]:
        self.paragraphs += 1
        look = self._styles.of_paragraph(node)
        spans = list(self._spans(node, ""))
        plain = "".join(span.text for span in spans)
        self._room -= len(plain) + 1
        if look.code is not None:
            yield Block("code" if look.merges else "fence", _fenced(plain, look.code) if not look.merges else plain, tight=True)
            return
        text = markdown(spans).strip("\n ")
        if not text:
            if look.rule:
                yield Block("rule", "---")
            return
        if look.heading:
            yield Block("heading", f"{'#' * look.heading} {' '.join(text.split())}")
        elif look.quote:
            yield Block("quote", "\n".join(f"> {line}".rstrip() for line in text.split("\n")))
        elif look.continues is not None:
            yield Block("continued", _indented(text, self._lists.indent(look.continues + 1)))
        elif marker := self._lists.marker(node, look):
            lead, sign, outermost = marker
            yield Block(f"item {outermost}", " " * lead + sign + _indented(text, lead + len(sign)).lstrip(), tight=True)
        else:
            yield Block("text", text)

    def _spans(self, parent: Any, link: str) -> Iterator[Span]:
        for node in parent.iterchildren():
            if node.tag == R:
                yield from self._run(node, link)
            elif node.tag == HYPERLINK:
                yield from self._spans(node, self._address(node) or link)
            elif node.tag in _THROUGH:
                yield from self._spans(node, link)
            elif isinstance(node.tag, str) and node.tag.startswith(_MATH):
                yield Span("".join(piece.text or "" for piece in node.iter(_MATH + "t")), link=link)

    def _run(self, run: Any, link: str) -> Iterator[Span]:
        look = run.find(RPR)
        if _on(look, "w:vanish"):
            return
        text = "".join(self._pieces(run))
        code = look is not None and self._styles.name(look.find(qn("w:rStyle"))) in _CODE_RUNS
        if text:
            yield Span(text, _on(look, "w:b"), _on(look, "w:i"), code, link)

    def _pieces(self, run: Any) -> Iterator[str]:
        for node in run.iterchildren():
            if node.tag == T:
                yield node.text or ""
            elif node.tag == BR:
                yield "" if node.get(qn("w:type")) in ("page", "column") else "\n"
            elif node.tag in _FIXED:
                yield _FIXED[node.tag]
            elif node.tag == _ALTERNATIVES:  # the same thing in two forms: the newer one
                for choice in list(node.iterchildren())[:1]:
                    yield from self._pieces(choice)
            elif isinstance(node.tag, str) and node.tag != RPR:
                self._boxes += node.iter(qn("w:txbxContent"))

    def _address(self, node: Any) -> str:
        """Where a link leads, if outside of the document and fit to be in Markdown."""
        relation = self._part.rels.get(node.get(qn("r:id")) or "")
        target = str(relation.target_ref) if relation is not None and relation.is_external else ""
        return target if target.startswith(("http://", "https://", "mailto:")) and not any(c in target for c in " ()<>\\\n") else ""

    def _table(self, table: Any) -> str:
        self._inside += 1
        rows = [row for row in (self._row(row) for row in _rows(table)) if row]
        self._inside -= 1
        if self._inside:  # Markdown has no table in a cell
            return "\n".join(" / ".join(cell for cell in row if cell) for row in rows)
        width = min(max(map(len, rows), default=0), _MAX_COLUMNS)
        lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in rows]
        return "\n".join([*lines[:1], f"|{' --- |' * max(width, 1)}", *lines[1:]]) if lines else ""

    def _row(self, row: Any) -> list[str]:
        texts: list[str] = []
        for cell in _through(row, TC):
            look = cell.find(qn("w:tcPr"))
            merged = None if look is None else look.find(qn("w:vMerge"))
            goes_on = merged is not None and merged.get(VAL) != "restart"
            texts.append("" if goes_on else self._cell(cell))
            texts += [""] * (min(_number(None if look is None else look.find(qn("w:gridSpan")), 1), _MAX_COLUMNS) - 1)
        return texts

    def _cell(self, cell: Any) -> str:
        text = "\n".join(block.text for block in self.blocks(cell) if block.text)
        return (text if self._inside > 1 else text.replace("|", "\\|")).replace("\n", "<br>")


def _joined(blocks: Iterator[Block]) -> str:
    parts: list[str] = []
    before = Block("", "")
    for block in blocks:
        if not block.text and block.kind not in ("code", "fence"):
            continue
        if block.kind == "code" and before.kind != "code":
            parts.append("\n\n```\n" if parts else "```\n")
        elif before.kind == "code" and block.kind != "code":
            parts.append("\n```\n\n")
        elif parts:
            parts.append("\n" if before.tight and block.tight and before.kind == block.kind != "fence" else "\n\n")
        parts.append(block.text)
        before = block
    if before.kind == "code":
        parts.append("\n```")
    return "".join(parts) + "\n" if parts else ""


def _fenced(text: str, language: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}" if text else f"{fence}{language}\n{fence}"


def _indented(text: str, columns: int) -> str:
    return "\n".join(" " * columns + line for line in text.split("\n"))


def _rows(table: Any) -> Iterator[Any]:
    for row in _through(table, TR):
        look = row.find(qn("w:trPr"))
        if look is None or look.find(qn("w:del")) is None:
            yield row


def _through(parent: Any, tag: str) -> Iterator[Any]:
    for node in parent.iterchildren():
        if node.tag == tag:
            yield node
        elif node.tag in _THROUGH:
            yield from _through(node, tag)


def _on(look: Any, name: str) -> bool:
    node = None if look is None else look.find(qn(name))
    return node is not None and node.get(VAL, "1").lower() not in _OFF


def _number(node: Any, otherwise: int) -> int:
    text = "" if node is None else node.get(VAL, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else otherwise


def _related(part: Any, kind: str) -> Any:
    """The root element of a related part, or None: python-docx would put its own in place of a missing one."""
    try:
        return part.part_related_by(kind).element
    except (KeyError, AttributeError, ValueError):
        return None
