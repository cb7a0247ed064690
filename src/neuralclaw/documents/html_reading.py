"""A web page as Markdown. Runs in a conversion's child process only.

What comes is one line of JSON, `PageSource`, and behind it the bytes of the page.
"""

import codecs
import re
from collections.abc import Sequence
from html import escape, unescape
from typing import Any
from urllib.parse import urljoin

import msgspec
from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

from ..conversion import answer
from ..errors import ToolError
from ..types.charsets import CODECS, decode
from .page_header import without_menu

_BESIDE = (
    "nav, body > aside, dialog, svg, template, [role=navigation], [role=search], [role=dialog], [role=alertdialog], [role=banner], [role=contentinfo],"
    " [role=complementary], [aria-hidden=true], [aria-modal=true], .sidebar, .side-bar, .sphinxsidebar, .nav, .navbar, .navigation, .breadcrumb,"
    " .breadcrumbs, .footer, .site-footer, .cookie, .cookies, .cookie-banner, .cookie-consent, .consent, #cookie-banner, #cookie-consent,"
    " #onetrust-consent-sdk, .skip-link, .headerlink, .anchor-link, .mw-editsection, .noprint, .advertisement, .share-buttons"
).split(", ")
"""What stands beside the text of a page: menus, notices, and marks for the mouse."""
_MENUS = ("nav",)
_LITTLE = 400
"""Characters below which it is looked whether the text itself was taken for something beside it."""
_FRONT = re.compile(r"\A---\n.*?\n---\n+", re.DOTALL)
_FENCE = re.compile(r"[ >]{0,200}(`{3,}|~{3,})(.*)")
_UNSCRIPTED = re.compile(r"</?noscript\b[^>]{0,200}>", re.IGNORECASE)
"""Around what is there for who runs no scripts."""
_INLINE_TARGET = re.compile(
    r"""(<a\s[^<>]{0,2000}?\bhref\s*=\s*)(?:"\s*(?:data|javascript):[^"]*"|'\s*(?:data|javascript):[^']*'|(?:data|javascript):[^\s>]*)""", re.IGNORECASE
)
"""A link that holds what it leads to: nothing that could be fetched, and as long as a page."""
_BLOCKS = re.compile(r"</?(?:div|section|article|main|center|blockquote|header|footer|fieldset|form|dd|dl)\b[^>]{0,2000}>", re.IGNORECASE)
_INLINE = re.compile(r"</?(?:span|font|b|i|u|em|strong|small|big|a|tt|s|ins|del|label|abbr)\b[^>]{0,2000}>", re.IGNORECASE)
"""What a page may be nested in without end, mostly since it is never closed; the text comes out without it."""
_DEEP = "depth_limit_exceeded"
NO_TEXT = "[The page has no other text. Scripts of a page, which may make it, are not run here.]"
TOO_DEEP = "[What is nested deeper than 1,024 elements is left out.]"
_LOOKED_AT = 16_384
_FRAME = re.compile(r"<i?frame\b[^>]{0,2000}?\ssrc\s*=\s*[\"']?(?!\s*(?:javascript|about|data):)([^\"'>\s]{1,2000})", re.IGNORECASE)
_FRAMES_ALONE = re.compile(r"\A(?:\[iframe\]\([^()\s]*(?:\([^()\s]*\))?[^()\s]*\)\s*)+\Z")
"""The text of a page that is frames and nothing else."""
_FRAMES = 20
"""Of a page that is made of others, that are named."""
_SHOWN_EMPTY = re.compile(r"<(iframe|textarea|script|style|title)\b([^<>]{0,2000})/>", re.IGNORECASE)
_REFRESH = re.compile(r"<meta[^>]{0,200}?http-equiv\s*=\s*[\"']?refresh[^>]{0,200}?url\s*=\s*[\"']?([^\"'>]{1,2000})", re.IGNORECASE)
"""A page that only leads to another one, as some do in place of a redirect."""


class PageSource(msgspec.Struct, frozen=True):
    """Where a page came from, and the encoding that its server names, "" for none. `xml`: its server says that it is XHTML."""

    url: str
    charset: str = ""
    xml: bool = False


def main(parent: int) -> None:
    """Answer with the Markdown of the page on standard input."""
    for name in CODECS:
        codecs.lookup(name)
    read(b'{"url":"https://example.com/"}\n<title>a</title><p>b')  # whatever loads late is loaded now
    answer(parent, read)


def read(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The title, the encoding, and the text. Raises `ToolError` where there is none."""
    told, _, page = data.partition(b"\n")
    source = msgspec.json.decode(told, type=PageSource)
    html, charset = decode(page, source.charset, markup=True)
    if source.xml or html.lstrip().startswith("<?xml"):  # an element may be closed where it opens, and text may be marked as such
        html = _plain_text(_SHOWN_EMPTY.sub(r"<\1\2></\1>", html))
    text, title = _converted(html, source.url, _BESIDE)
    if len(text) < _LITTLE:
        whole, title = _converted(html, source.url, _MENUS)
        text = whole if len(whole) > 2 * len(text) else text
    if not text:
        text, title = _converted(html, source.url, ())
    text = _FRAMES_ALONE.sub("", text)
    if not text and (frames := [urljoin(source.url, unescape(one)) for one in _FRAME.findall(html[:_LOOKED_AT])[:_FRAMES]]):
        raise ToolError(f"has no text of its own, and shows {', '.join(frames)}", hint="Fetch one of these addresses.")
    if not text:
        text, title = _converted(html, source.url, (), images=True)
        text = _FRAMES_ALONE.sub("", text)
        text = f"{text}\n\n{NO_TEXT}".lstrip() if text or title else ""
    if text in ("", NO_TEXT) and (elsewhere := _REFRESH.search(html[:_LOOKED_AT])):
        raise ToolError(f"has no text, and leads to {urljoin(source.url, unescape(elsewhere[1]).strip())}", hint="Fetch that address.")
    if not text and not title:
        raise ToolError("has no text", hint="It may be made by scripts in the browser, which are not run here.")
    return {"title": title, "charset": charset}, text.encode("utf-8", "replace")


def _converted(html: str, url: str, beside: Sequence[str], *, images: bool = False) -> tuple[str, str]:
    """Text and title, without what stands beside the text by these selectors; with `images` also the texts of pictures, and where they are."""
    options = ConversionOptions(
        base_url=url,
        exclude_selectors=list(beside),
        skip_images=not images,
        compact_tables=True,
        bullets="-",
        escape_misc=False,
        preprocessing=PreprocessingOptions(enabled=False),  # it drops all forms and headers, and a whole page may be one
    )
    html = _INLINE_TARGET.sub(r'\1""', without_menu(html) if beside else _UNSCRIPTED.sub("", html))
    made = convert(html, options)
    if deep := _is_deep(made):
        made = convert(_INLINE.sub("", _BLOCKS.sub("<br>", html)), options)
        deep = _is_deep(made)
    title = (made.metadata.document.title if made.metadata else None) or ""
    text = _single_blank_lines(_FRONT.sub("", made.content or "")).strip("\n")
    return f"{TOO_DEEP}\n\n{text}".strip() if deep else text, " ".join(title.split())


def _plain_text(html: str) -> str:
    """With text that is marked as such (`<![CDATA[…]]>`) as ordinary text."""
    first, *others = html.split("<![CDATA[")
    parts = [part.partition("]]>") for part in others]
    return "".join([first, *(f"{escape(text, quote=False)}{rest}" if end else f"<![CDATA[{text}" for text, end, rest in parts)])


def _is_deep(made: Any) -> bool:
    """Whether something of the page was left out since it was nested too deeply."""
    return any(str(warning.kind) == _DEEP for warning in made.warnings)


def _single_blank_lines(text: str) -> str:
    """With one blank line where there are more, but in blocks of code."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and not found[2].strip():
            fence = ""
        if line or fence or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines)
