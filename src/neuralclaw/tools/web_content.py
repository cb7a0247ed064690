"""What a web server sent, as text: pages as Markdown, documents by their formats, text as it is, everything else refused by name."""

import re
from typing import Any

import msgspec

from ..capability import FileFormat
from ..errors import ToolError
from ..types.charsets import decode
from ..types.cut_texts import cut_text
from ..types.web_responses import WebResponse
from .file_formats import FileFormats
from .text import binary_kind

_BEFORE = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:\s+|<!--.*?-->|<\?xml[^>]{0,200}\?>)*", re.DOTALL)
"""What may stand before the first element of a page."""
PAGE = FileFormat(
    name="html",
    title="web page",
    suffixes=(".html",),
    recognise=lambda head: _BEFORE.sub(b"", head, count=1)[:256].lower().startswith((b"<!doctype html", b"<html", b"<head", b"<body")),
    reader="neuralclaw.documents.html_reading",
    layout="as Markdown",
    unreadable="The terminal can fetch it as it is: `curl`.",
)
"""Not among the formats of files: a file of HTML is read as it stands."""
_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_SUFFIXES = {"application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx", "application/pdf": ".pdf"}
_UNKNOWN = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/download", "unknown/unknown"})
_TEXTS = frozenset(
    "application/json application/xml application/javascript application/ecmascript application/x-javascript application/yaml application/x-yaml"
    " application/toml application/sql application/x-sh application/graphql application/x-ndjson application/jsonl application/x-httpd-php"
    " application/x-www-form-urlencoded application/x-subrip application/x-tex application/rtf image/svg+xml".split()
)


class WebText(msgspec.Struct, frozen=True):
    """The text of an answer, its title, and facts about it for the metadata."""

    text: str
    title: str
    about: dict[str, Any]


_TITLE = 300
"""Characters of a title."""


def kind_of(response: WebResponse) -> tuple[str, str]:
    """Media type and charset of the answer, "" for what it does not say."""
    kind, *rest = response.headers.get("content-type", "").split(";")
    charset = next((value for name, _, value in (part.strip().partition("=") for part in rest) if name.lower() == "charset"), "")
    return kind.strip().lower(), charset


def status_words(status: int) -> str:
    """`404 Not Found`."""
    from http import HTTPStatus  # costs start-up time, as everything here that only a fetch needs

    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


async def text_of(response: WebResponse, formats: FileFormats) -> WebText:
    """The answer as text. Raises `ToolError` for what is none, with its type and size."""
    kind, charset = kind_of(response)
    body, name = response.body, _name(response.url)
    if found := _document(body, kind, name, formats):
        document = await formats.read(body, found, response.url)
        return WebText(document.text, "", document.about)
    odd = binary_kind(body, name) if not _is_utf16(body, charset) else ""
    page = kind in _PAGES or (kind in _UNKNOWN and PAGE.recognise(body[:1024]))
    if odd and kind in _PAGES and body.count(0) * 100 < len(body):  # a stray zero byte makes no page something else
        odd = binary_kind(body := body.replace(b"\0", b""), name)
    if page and not odd:
        if not body.strip():
            return WebText("", "", {})
        head = msgspec.json.encode({"url": response.url, "charset": charset, "xml": kind == "application/xhtml+xml"})
        read = await formats.read(head + b"\n" + body, PAGE, response.url)
        return WebText(read.text, cut_text(read.about.pop("title", ""), _TITLE), read.about)
    textual = kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml")) or kind in _UNKNOWN
    if odd or not textual:
        what = kind if kind not in _UNKNOWN else odd
        raise ToolError(
            f"{response.url} is {what or 'no text'}, {len(body):,} bytes: only text, web pages and documents are read",
            hint="The terminal can store it: `curl -o FILE`.",
        )
    text, encoding = decode(body, charset, markup=kind.endswith("xml"))
    return WebText(text, "", {"charset": encoding})


def _document(body: bytes, kind: str, name: str, formats: FileFormats) -> FileFormat | None:
    """The format of a document, by its content and by what its type or name says."""
    for called in (_SUFFIXES.get(kind, ""), name, ""):
        try:
            if found := formats.of(body, called):
                return found
        except ToolError:  # the name promises what the content is not
            continue
    return None


def _name(url: str) -> str:
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(url).path.rpartition("/")[2])


def _is_utf16(body: bytes, charset: str) -> bool:
    """Text in which every other byte may be zero."""
    return body.startswith((b"\xff\xfe", b"\xfe\xff")) or charset.lower().startswith("utf-16")
