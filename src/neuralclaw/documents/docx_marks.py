"""Formatted text as Markdown: spans of a paragraph with their marks, and characters that would be taken for marks escaped."""

import re
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

_MARKS = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])"  # a backslash that would escape
    r"|(?<![ \t\n])\*|\*(?![ \t\n]|$)"
    r"|(?<![^\W_])_(?=\S)|(?<=\S)_(?![^\W_])"
    r"|`|\[(?=[^\[\]\n]*\]\()"
)
_AT_START = re.compile(r"^([ \t]*)(#{1,6}(?=\s|$)|>|~~~|-{3,}[ \t]*$|={3,}[ \t]*$)", re.MULTILINE)


class Span(NamedTuple):
    """Text with one look. `link` is the address it leads to, or ""."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    link: str = ""


def escape(text: str) -> str:
    """Text that Markdown would take for marks, as itself."""
    return _MARKS.sub(lambda found: "\\" + found.group(), text)


def markdown(spans: Iterable[Span]) -> str:
    """A paragraph's text in one piece, line breaks as new lines."""
    parts = []
    for link, linked in groupby(spans, key=lambda span: span.link):
        text = "".join(_marked("".join(s.text for s in same), *look) for look, same in groupby(linked, key=lambda s: (s.bold, s.italic, s.code)))
        parts.append(f"[{text}]({link})" if link and text.strip() and text != link else text)
    return _AT_START.sub(r"\1\\\2", "".join(parts))


def _marked(text: str, bold: bool, italic: bool, code: bool) -> str:
    inner = text.strip()
    if not inner:
        return text
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    if code:
        fence = "`" * (1 + max((len(run) for run in re.findall("`+", inner)), default=0))
        pad = " " if inner.startswith("`") or inner.endswith("`") else ""
        inner = f"{fence}{pad}{inner}{pad}{fence}"
    else:
        inner = escape(inner)
    stars = "*" * (2 * bold + italic)
    return f"{before}{stars}{inner}{stars}{after}"
