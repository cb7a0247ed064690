"""Markdown as a Word document. Runs in a conversion's child process only. The same text gives the same bytes."""

import io
import re
import zipfile
from collections.abc import Sequence
from typing import Any

import docx
from docx.enum.style import WD_STYLE_TYPE
from docx.opc.constants import RELATIONSHIP_TYPE as RT
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Pt, RGBColor
from docx.text.paragraph import Paragraph
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ..conversion import answer
from ..errors import ToolError

# What XML 1.0 cannot hold.
_IMPOSSIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the earliest date a ZIP archive can hold
_MONO = "Courier New"
_PLAIN = ("entity", "autolink", "html_inline", "html_block", "reference", "code")  # left as the text they are


def main(parent: int) -> None:
    """Answer with a document of the Markdown (UTF-8) on standard input."""
    document = docx.Document()
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable(_PLAIN)
    answer(parent, lambda data: write(document, parser, data.decode()))


def write(document: Any, parser: MarkdownIt, text: str) -> tuple[dict[str, Any], bytes]:
    """Facts and the bytes of the document, which is empty at first. Raises `ToolError` for text that no document can hold."""
    wrong = _IMPOSSIBLE.search(text)
    if wrong:
        line = text.count("\n", 0, wrong.start()) + 1
        raise ToolError(f"the content has the control character U+{ord(wrong.group()):04X} in line {line:,}, which a Word document cannot hold")
    _nameless(document)
    pen = Pen(document)
    pen.write(parser.parse(text))
    made = io.BytesIO()
    document.save(made)
    return {"format": "docx", "paragraphs": pen.paragraphs, "tables": pen.tables}, _undated(made.getvalue())


def _nameless(document: Any) -> None:
    """Without the template's author and date."""
    core = document.core_properties
    core.author = core.comments = core.title = ""
    element = core._element
    for name in ("dcterms:created", "dcterms:modified", "cp:lastModifiedBy"):
        for node in element.findall(qn(name)):
            element.remove(node)


def _undated(data: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            target.writestr(zipfile.ZipInfo(entry.filename, _LONG_AGO), source.read(entry), zipfile.ZIP_DEFLATED)
    return made.getvalue()


class Pen:
    """Writes blocks of parsed Markdown to the end of a document."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._numbering = document.part.numbering_part.element
        self._bullets, self._decimals = self._kind_of_list("bullet", "•"), self._kind_of_list("decimal", "")
        self._bullet = self._new_list(self._bullets)
        code = document.styles.add_style("Code Block", WD_STYLE_TYPE.PARAGRAPH)
        code.base_style, code.font.name, code.font.size = document.styles["Normal"], _MONO, Pt(9)
        document.styles.add_style("Inline Code", WD_STYLE_TYPE.CHARACTER).font.name = _MONO
        self._lists: list[Any] = []  # the number of each list we are in
        self._fresh = False  # the next paragraph is an item's first
        self._quotes = 0
        self.paragraphs = self.tables = 0

    def write(self, tokens: Sequence[Token]) -> None:
        place = 0
        while place < len(tokens):
            token = tokens[place]
            if token.type == "table_open":
                end = next(i for i in range(place, len(tokens)) if tokens[i].type == "table_close")
                self._table(tokens[place:end])
                place = end
            elif token.type == "heading_open":
                self._text(tokens[place + 1], f"Heading {token.tag[1]}")
                place += 1
            elif token.type == "inline":
                self._text(token, None)
            else:
                self._structure(token)
            place += 1

    def _structure(self, token: Token) -> None:
        match token.type:
            case "bullet_list_open":
                self._lists.append(self._bullet)
            case "ordered_list_open":
                self._lists.append(self._new_list(self._decimals, len(self._lists), int(token.attrs.get("start", 1))))
            case "bullet_list_close" | "ordered_list_close":
                self._lists.pop()
                self._fresh = False
            case "list_item_open":
                self._fresh = True
            case "list_item_close":
                if self._fresh:  # an item without text
                    self._item(self._paragraph(None))
            case "blockquote_open":
                self._quotes += 1
            case "blockquote_close":
                self._quotes -= 1
            case "fence":
                self._code(token)
            case "hr":
                border = parse_xml(f'<w:pBdr {nsdecls("w")}><w:bottom w:val="single" w:sz="6" w:space="1" w:color="auto"/></w:pBdr>')
                self._paragraph(None)._p.get_or_add_pPr().append(border)

    def _paragraph(self, style: str | None) -> Any:
        self.paragraphs += 1
        return self._document.add_paragraph(style=style)

    def _text(self, token: Token, style: str | None) -> None:
        if self._lists and self._fresh and style is None:
            paragraph = self._paragraph("List Paragraph")
            self._item(paragraph)
        elif self._lists and style is None:
            level = min(len(self._lists), 3)
            paragraph = self._paragraph("List Continue" + (f" {level}" if level > 1 else ""))
        else:
            paragraph = self._paragraph(style or ("Quote" if self._quotes else None))
        self._fresh = self._fresh and style is not None
        self._runs(paragraph, token.children or [])

    def _item(self, paragraph: Any) -> None:
        self._fresh = False
        numbers = paragraph._p.get_or_add_pPr().get_or_add_numPr()
        numbers.get_or_add_ilvl().val = min(len(self._lists) - 1, 8)
        numbers.get_or_add_numId().val = self._lists[-1]

    def _code(self, token: Token) -> None:
        language = token.info.strip().split(" ")[0]
        style = "Code Block"
        if language and re.fullmatch(r"[\w.+#-]{1,40}", language):
            style = f"Code Block {language.lower()}"
            if style not in self._document.styles:
                self._document.styles.add_style(style, WD_STYLE_TYPE.PARAGRAPH).base_style = self._document.styles["Code Block"]
        self._paragraph(style).add_run(token.content.removesuffix("\n"))

    def _runs(self, paragraph: Any, tokens: Sequence[Token], *, cell: bool = False) -> None:
        bold = italic = 0
        where, start = paragraph._p, 0
        for token in tokens:
            match token.type:
                case "strong_open" | "strong_close" | "em_open" | "em_close":
                    bold, italic = (bold + token.nesting, italic) if token.tag == "strong" else (bold, italic + token.nesting)
                case "link_open":
                    start = len(where)
                case "link_close":
                    self._link(paragraph, start, _target(tokens, token))
                case "softbreak" | "hardbreak":
                    paragraph.add_run().add_break()
                case "image":
                    self._run(paragraph, f"![{token.content}]({token.attrs.get('src', '')})", bold, italic)
                case "code_inline":
                    self._run(paragraph, token.content, bold, italic).style = "Inline Code"
                case _:
                    text = re.sub("<br ?/?>", "\n", token.content) if cell else token.content
                    self._run(paragraph, text, bold, italic)

    def _run(self, paragraph: Any, text: str, bold: int, italic: int) -> Any:
        run = paragraph.add_run(text)
        if bold:
            run.bold = True
        if italic:
            run.italic = True
        return run

    def _link(self, paragraph: Any, start: int, target: str) -> None:
        """Put the runs from `start` on under a link."""
        runs = list(paragraph._p)[start:]
        link = OxmlElement("w:hyperlink")
        link.set(qn("r:id"), self._document.part.relate_to(target, RT.HYPERLINK, is_external=True))
        paragraph._p.append(link)
        for run in runs:
            link.append(run)
        for run in paragraph.hyperlinks[-1].runs:
            run.font.underline, run.font.color.rgb = True, RGBColor(0x05, 0x63, 0xC1)

    def _table(self, tokens: Sequence[Token]) -> None:
        rows: list[list[Token]] = []
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(token)
        self.tables += 1
        table = self._document.add_table(rows=len(rows), cols=len(rows[0]), style="Table Grid")
        for row, tokens_of_row in zip(table._tbl.tr_lst, rows, strict=True):  # python-docx's own cells take the square of their number
            for cell, token in zip(row.tc_lst, tokens_of_row, strict=False):
                self._runs(Paragraph(cell.p_lst[0], table), token.children or [], cell=True)

    def _kind_of_list(self, form: str, sign: str) -> int:
        """A kind of list with nine levels; its number."""
        number = 1 + max((int(n) for n in self._numbering.xpath("./w:abstractNum/@w:abstractNumId")), default=0)
        levels = "".join(
            f'<w:lvl w:ilvl="{i}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{sign or f"%{i + 1}."}"/><w:lvlJc w:val="left"/>'
            f'<w:pPr><w:ind w:left="{720 * (i + 1)}" w:hanging="360"/></w:pPr></w:lvl>'
            for i in range(9)
        )
        head = f'<w:abstractNum {nsdecls("w")} w:abstractNumId="{number}"><w:multiLevelType w:val="hybridMultilevel"/>'
        self._numbering.insert(0, parse_xml(f"{head}{levels}</w:abstractNum>"))
        return number

    def _new_list(self, kind: int, level: int = 0, start: int = 1) -> Any:
        number = self._numbering.add_num(kind)
        number.add_lvlOverride(min(level, 8)).add_startOverride(start)
        return number.numId


def _target(tokens: Sequence[Token], end: Token) -> str:
    """The address of the link that ends there: links do not hold links."""
    found = ""
    for token in tokens:
        if token.type == "link_open":
            found = str(token.attrs.get("href", ""))
        if token is end:
            break
    return found
