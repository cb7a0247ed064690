"""What a fetch gives back of real pages, documents and errors, from real servers."""

import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream

from neuralclaw.documents.document_formats import DOCUMENTS
from neuralclaw.errors import PermissionDeniedError, ToolError, ToolExecutionError
from neuralclaw.sandbox.converter import ChildConverter
from neuralclaw.tools.builtin import internet_tools
from neuralclaw.tools.file_formats import FileFormats
from neuralclaw.tools.registry import Registry
from neuralclaw.types.tools import ToolContext, ToolResult

from ..sandbox.web_world import Answer, World, page, redirect, world
from .document_samples import body as word_body
from .document_samples import package, pages, paragraph

pytestmark = [pytest.mark.anyio, pytest.mark.full]

PAGES = Path(__file__).with_name("web_pages")
EXPECTED: dict[str, dict[str, list[str]]] = json.loads((PAGES / "expected.json").read_text())
HTML = "text/html"
CONTEXT = ToolContext(session="s", turn=1, call_id="c", workspace="/")


@asynccontextmanager
async def web() -> AsyncIterator[tuple[World, Registry]]:
    async with world().open() as here:
        yield here, Registry(internet_tools(here.web, FileFormats(DOCUMENTS.formats, ChildConverter())))


async def call(here: World, tools: Registry, tool: str, url: str) -> ToolResult:
    spec = tools.find(tool)
    assert spec is not None
    return await tools.call(await here.grant(url, spec), CONTEXT)


async def fetched(answer: Answer, path: str = "/", *, tool: str = "web_fetch") -> ToolResult:
    """The result of a fetch from a server that answers so. Raises what the tool raises."""
    async with web() as (here, tools):
        server = await here.serve(answer)
        try:
            return await call(here, tools, tool, f"http://a.test:{server.port}{path}")
        except ToolError as error:
            failed = error
    raise failed


def plain(text: str) -> str:
    """Without the marks of Markdown, runs of blanks as one."""
    return " ".join(text.translate(dict.fromkeys(map(ord, "*`_\\|"))).split(" "))


@pytest.mark.parametrize("name", EXPECTED)
async def test_the_text_of_a_page_is_kept_and_what_stands_beside_it_left_out(name: str) -> None:
    async with web() as (here, tools):
        server = await here.serve(page((PAGES / f"{name}.html").read_bytes(), kind=HTML))
        found = await call(here, tools, "web_fetch", f"http://a.test:{server.port}/dir/page")
        wanted = [text.replace("{host}", f"a.test:{server.port}") for text in EXPECTED[name]["kept"]]
        bare = plain(found.content)
        assert [text for text in wanted if text not in found.content and plain(text) not in bare] == []
        assert [text for text in EXPECTED[name]["left out"] if text in found.content] == []
        assert found.metadata["title"]


async def test_a_result_says_where_it_came_from_and_whose_word_it_is() -> None:
    async with web() as (here, tools):
        server = await here.serve(page(b"<!doctype html><title>A &amp; B</title><p>Hello.", kind="text/html; charset=utf-8"))
        first = await here.serve(redirect(f"http://a.test:{server.port}/end"))
        found = await call(here, tools, "web_fetch", f"http://a.test:{first.port}/")
        assert found.ok
        assert found.content == "# A & B\n\nHello."
        end, start = f"http://a.test:{server.port}/end", f"http://a.test:{first.port}/"
        assert found.metadata == {
            "url": end,
            "status": 200,
            "title": "A & B",
            "content_type": "text/html",
            "size": 48,
            "redirects": [start],
            "format": "html",
            "charset": "utf-8",
        }
        assert found.note == f"[{start} redirects to {end}]"
        assert found.labels == {"external:web/a.test", "private"}  # it lies inside, where the owner opened it


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b'{"a": [1, 2]}'),
        ("application/vnd.api+json; charset=utf-8", b'{"a": 1}'),
        ("text/plain", b"a\n\tb  c\n"),
        ("text/csv", b"a,b\n1,2\n"),
        ("application/xml", b"<a><b>c</b></a>"),
        ("application/rss+xml", b"<rss/>"),
        ("text/javascript", b"let a = 1 < 2"),
        ("text/plain", b"<html><body>not a page here</body></html>"),
        ("", b"no type at all"),
        ("application/octet-stream", b"text all the same"),
        ("TEXT/PLAIN", b""),
    ],
)
async def test_text_comes_as_it_is(kind: str, body: bytes) -> None:
    found = await fetched(page(body, kind=kind))
    assert (found.ok, found.content) == (True, body.decode())


TITLE = "<title>ü</title><p>Zürich – ß"


@pytest.mark.parametrize(
    ("kind", "body", "charset"),
    [
        ("text/html; charset=ISO-8859-1", TITLE.encode("cp1252"), "cp1252"),
        ('text/html; Charset="UTF-8"', b'<meta charset="latin1">' + TITLE.encode(), "utf-8"),
        ("text/html", b"\xef\xbb\xbf" + TITLE.encode(), "utf-8"),
        ("text/html; charset=latin1", b"\xef\xbb\xbf" + TITLE.encode(), "utf-8"),
        ("text/html", b"\xff\xfe" + f"<html>{TITLE}".encode("utf-16-le"), "utf-16-le"),
        ("text/html; charset=utf-16be", TITLE.encode("utf-16-be"), "utf-16-be"),
        ("text/html", b'<meta http-equiv="content-type" content="text/html; charset=windows-1252">' + TITLE.encode("cp1252"), "cp1252"),
        ("text/html", b'<?xml version="1.0" encoding="iso-8859-15"?>' + TITLE.replace("–", "-").encode("iso8859-15"), "iso8859-15"),
        ("text/html", TITLE.encode(), "utf-8"),
        ("text/html", TITLE.encode("cp1252"), "cp1252"),
        ("text/html; charset=zip", TITLE.encode(), "utf-8"),
        ("text/html; charset=utf-7", TITLE.encode(), "utf-8"),
        ("text/html; charset=unicode_escape", TITLE.encode(), "utf-8"),
    ],
)
async def test_the_encoding_is_the_one_that_is_named_or_that_the_bytes_are_in(kind: str, body: bytes, charset: str) -> None:
    found = await fetched(page(body, kind=kind))
    assert found.metadata["charset"] == charset
    assert found.metadata["title"] == "ü"
    assert "Zürich" in found.content


async def test_documents_are_read_by_their_own_formats() -> None:
    pdf, docx = pages([b"Hello"]), package(word_body(paragraph("Hello")))
    for answer, path in ((page(pdf, kind="application/pdf"), "/"), (page(pdf, kind="text/html"), "/x.html"), (page(pdf, kind=""), "/paper.pdf")):
        found = await fetched(answer, path)
        assert found.metadata["format"] == "pdf"
        assert "Hello" in found.content
    word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    for answer, path in ((page(docx, kind=word), "/download?id=1"), (page(docx, kind="application/octet-stream"), "/my%20report.docx")):
        found = await fetched(answer, path)
        assert found.metadata["format"] == "docx"
        assert "Hello" in found.content


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        ("image/png", b"\x89PNG\r\n\x1a\n" + bytes(92), "is image/png, 100 bytes"),
        ("application/zip", b"PK\x03\x04" + bytes(20), "is application/zip, 24 bytes"),
        ("application/octet-stream", b"\x7fELF" + bytes(1000), r"is a program \(ELF\), 1,004 bytes"),
        ("", bytes(2000), "is a binary file, 2,000 bytes"),
        ("text/plain", bytes(50), "is text/plain, 50 bytes"),
        ("text/html", b"\x1f\x8b" + bytes(50), "is text/html, 52 bytes"),
        ("video/mp4", b"just letters", "is video/mp4, 12 bytes"),
    ],
)
async def test_what_is_no_text_is_refused_with_its_type_and_size(kind: str, body: bytes, said: str) -> None:
    with pytest.raises(ToolError, match=said) as refused:
        await fetched(page(body, kind=kind))
    assert refused.value.metadata["status"] == 200


async def test_a_page_under_the_name_of_a_document_is_read_as_a_page() -> None:
    found = await fetched(page(b"<html><body><p>Please sign in.", kind=HTML), "/paper.pdf")
    assert "Please sign in." in found.content


async def test_an_error_status_is_a_failure_with_what_the_server_said() -> None:
    found = await fetched(page(b"<title>Lost</title><p>No such page.", status="404 Not Found", kind=HTML))
    assert (found.ok, found.metadata["status"], found.metadata["title"]) == (False, 404, "Lost")
    assert found.error is not None
    assert found.error.endswith("answers with status 404 Not Found")
    assert found.content == f"ERROR: {found.error}\n# Lost\n\nNo such page."
    bare = await fetched(page(b"", status="503 Busy"))
    assert bare.content == f"ERROR: {bare.error}"
    odd = await fetched(page(bytes(99), status="599 Own words", kind="image/png"))
    assert (odd.ok, odd.content) == (False, "")
    assert str(odd.error).endswith("answers with status 599")
    for status in ("000 x", "101 Switching Protocols"):
        assert not (await fetched(page(b"", status=status))).ok


async def test_a_long_text_is_cut_and_says_so() -> None:
    found = await fetched(page(gzip.compress(b"0123456789" * 6_000), "Content-Encoding: gzip"))
    assert (len(found.content.rstrip("…")), found.note) == (50_000, "[these are the first 50,000 of 60,000 characters]")


async def test_more_than_five_megabytes_are_refused_whatever_is_promised() -> None:
    for body, header in ((bytes(5_000_001), "X: y"), (gzip.compress(b" " * 5_000_001), "Content-Encoding: gzip")):
        with pytest.raises(ToolExecutionError, match="larger than the 5,000,000 bytes"):
            await fetched(page(body, header))


@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 200_000 + b"deep",
        b"<table><tr><td>" * 20_000 + b"deep",
        b"<ul><li>" * 20_000 + b"deep",
        b"<" * 500_000,
        b"<p a='" * 50_000,
        b"<!--" * 100_000,
        b"<p>" + b"&#x10FFFF;&#xD800;&#0;" * 5_000,
        bytes(range(1, 256)) * 100,
        b"<title>" * 50_000,
        b"<svg><style><![CDATA[</style>" * 5_000,
        b"<p>" + "\u202e\u0000\ufeff".encode() * 1_000,
    ],
    ids=range(11),
)
async def test_a_hostile_page_ends_as_a_text_or_as_a_sentence_about_it(body: bytes) -> None:
    with anyio.fail_after(5):
        with suppress(ToolError):
            found = await fetched(page(b"<!doctype html>" + body, kind=HTML))
            assert found.metadata["format"] == "html"


async def test_a_page_of_scripts_alone_says_that_there_is_no_text() -> None:
    with pytest.raises(ToolError, match="has no text") as failed:
        await fetched(page(b"<!doctype html><div id=root></div><script src=a.js></script>", kind=HTML))
    assert "scripts" in failed.value.hint


async def test_a_page_that_only_leads_to_another_one_names_it() -> None:
    body = b'<!doctype html><meta http-equiv="refresh" content="0; url=/next?a=1&amp;b=2"><title>Moved</title>'
    with pytest.raises(ToolError, match=r"has no text, and leads to http://a\.test:\d+/next\?a=1&b=2$"):
        await fetched(page(body, kind=HTML))


async def test_a_page_whose_text_stands_in_what_looks_like_a_menu_is_given_whole() -> None:
    found = await fetched(page(b"<html><body class=nav><p>All of the page stands in here.</p></body></html>", kind=HTML))
    assert "All of the page stands in here." in found.content


async def test_a_check_gives_status_and_time_and_reads_no_body() -> None:
    async with web() as (here, tools):
        last = await here.serve(page(bytes(10_000_000), status="404 Not Found"))
        first = await here.serve(redirect(f"http://a.test:{last.port}/x"))
        found = await call(here, tools, "http_check", f"http://a.test:{first.port}/")
        assert (found.ok, found.metadata["status"], found.metadata["url"]) == (True, 404, f"http://a.test:{last.port}/x")
        assert 0 <= found.metadata["ms"] < 5_000
        end = f" in {found.metadata['ms']:,} ms, behind 1 redirect from http://a.test:{first.port}/"
        assert found.content == f"http://a.test:{last.port}/x answers with status 404 Not Found{end}"


async def test_a_check_of_what_does_not_answer_fails() -> None:
    async with web() as (here, tools):
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        port: Any = listener.extra(anyio.abc.SocketAttribute.local_port)
        await listener.aclose()
        with pytest.raises(ToolError, match="Connection refused"):
            await call(here, tools, "http_check", f"http://a.test:{port}/")


async def test_neither_tool_follows_a_redirect_that_leads_inside() -> None:
    async with web() as (here, tools):
        secret = await here.serve(page(b"secret"))
        server = await here.serve(redirect(f"http://127.0.0.1:{secret.port}/"))
        for tool in ("web_fetch", "http_check"):
            with pytest.raises(PermissionDeniedError, match=r"which is not followed: 127\.0\.0\.1 leads to 127\.0\.0\.1, this machine"):
                await call(here, tools, tool, f"http://a.test:{server.port}/")
        assert secret.connections == 0


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        ("<form method=post><h1>Opening hours</h1><p>Mo 9-17</p></form>", "# Opening hours\n\nMo 9-17"),
        ("<form><table><tr><th>a<tr><td>1</table><label>Name</label> <select><option>A</select></form>" + "<p>Text. " * 100, "Name"),
        ("<header><h1>HEADLINE</h1><p>Lead</header>" + "<p>Body. " * 100, "# HEADLINE\n\nLead\n\nBody."),
        ("<article><header><p>By Ann</header>" + "<p>Body. " * 100 + "</article>", "By Ann\n\nBody."),
        ("<script>1</script><noscript><h1>Real content</h1><p>Here</noscript>", "# Real content\n\nHere"),
        ("<nav><ul><li><a href='/a'>Only links</a></ul></nav>", "Only links"),
        ("<p>x<pre><code>a = 1\n\n\n\nb = 2</code></pre>", "```\na = 1\n\n\n\nb = 2\n```"),
        ("<a href='data:text/html;base64," + "QUJD" * 30_000 + "'>link</a><p>Behind", "Behind"),
        ("<div>" * 2_000 + "deep text", "deep text"),
        ("<p>" + "<font>" * 50_000 + "deep text", "deep text"),
        ("<!-- <header> --><header><a href=/>Home</a></header><div>" + "MAIN text. " * 50 + "</div><!-- end --><div>Contact</div>", "MAIN text."),
        ("<script>var t='<header>'</script><div>" + "MAIN text. " * 50 + "</div><footer><header>F</header></footer>" + "tail " * 100, "MAIN text."),
        ("<header-bar>x</header-bar><div>" + "MAIN text. " * 50 + "</div><section><header>Sec</header>" + "tail " * 100, "MAIN text."),
        ("<div>" + "Text. " * 99 + "</div><div><header>Second headline</header>" + "tail " * 100, "Second headline"),
        ("<header><div>HEADLINE</div><div>Lead of the story</div></header><div>" + "Text. " * 99, "HEADLINE"),
        ("<img src=a.png alt='Opening hours 9-17'>", "Opening hours 9-17"),
        ("<ul><li>" * 2_000 + "deep text", "[What is nested deeper than 1,024 elements is left out.]"),
    ],
    ids=[
        "form",
        "form and text",
        "header",
        "header of an article",
        "noscript",
        "only a menu",
        "code",
        "data link",
        "deep",
        "deep fonts",
        "header in a comment",
        "header in a script",
        "header-bar",
        "later header",
        "header of divs",
        "pictures",
        "too deep",
    ],
)
async def test_no_text_of_a_page_is_lost_without_a_word(html: str, wanted: str) -> None:
    found = await fetched(page(f"<!doctype html><html><head><title>T</title></head><body>{html}".encode(), kind=HTML))
    assert wanted in found.content
    assert "QUJDQUJD" not in found.content


async def test_a_header_of_links_at_the_top_is_no_text() -> None:
    html = "<header class=site><a href=/>Start</a> <a href=/b>Shop</a> <button>Menu</button></header><div>" + "Text. " * 99
    assert "Shop" not in (await fetched(page(f"<title>T</title><body>{html}".encode(), kind=HTML))).content


@pytest.mark.parametrize(
    "before",
    [
        "<a name=top>",
        "<div><a href=#c>Skip</div>",
        "<form><select><option>de<option>en</form>",
        "<header><a href=/x>A headline that is a link</a> <span>by Ann</span></header>",
    ],
)
async def test_a_header_that_is_no_menu_is_kept_after_what_was_never_closed(before: str) -> None:
    html = f"{before}<header><div>The headline</div><div>The lead</div></header><div>{'Text. ' * 99}</div>".encode()
    content = (await fetched(page(b"<title>T</title><body>" + html, kind=HTML))).content
    assert all(words in content for words in ("The headline", "The lead", *(["A headline that is a link"] if "headline" in before else [])))


@pytest.mark.parametrize(
    "body", ["", "<div id=root></div><img src=/p.gif>", "<iframe src='javascript:void(0)'></iframe>", "<iframe src='about:blank'></iframe>"]
)
async def test_a_page_with_a_title_and_no_text_says_that_scripts_are_not_run(body: str) -> None:
    content = (await fetched(page(f"<!doctype html><title>T</title><body>{body}".encode(), kind=HTML))).content
    assert "Scripts of a page, which may make it, are not run here" in content
    assert "javascript:" not in content


async def test_a_page_that_is_one_frame_names_its_address() -> None:
    frame = b"<!doctype html><title>F</title><body><iframe data-src='later.html' src='main.html'></iframe>"
    with pytest.raises(ToolError, match=r"has no text of its own, and shows http://a\.test:\d+/main\.html$"):
        await fetched(page(frame, kind=HTML))


async def test_a_page_of_frames_names_their_addresses() -> None:
    frames = b"<html><title>F</title><frameset cols='20,80'><frame src='menu.html'><frame src='/main.html?a=1&amp;b=2'></frameset></html>"
    with pytest.raises(ToolError, match=r"has no text of its own, and shows http://a\.test:\d+/menu\.html, http://a\.test:\d+/main\.html\?a=1&b=2"):
        await fetched(page(frames, kind=HTML))


async def test_what_only_xml_closes_or_marks_loses_no_text() -> None:
    body = b'<html xmlns="http://www.w3.org/1999/xhtml"><title/><body><iframe src="x"/><p>Behind <![CDATA[a < b]]></p></body></html>'
    for before, kind in ((b'<?xml version="1.0"?>', HTML), (b"", "application/xhtml+xml"), (b'\n<?xml version="1.0"?>', HTML)):
        assert "Behind a < b" in (await fetched(page(before + body, kind=kind))).content.replace("\\", "").replace("&lt;", "<")


async def test_answers_with_long_and_many_headers_are_read() -> None:
    more = "\r\n".join(["Content-Security-Policy: " + "a" * 12_000, *(f"X-{number}: 1" for number in range(200))])
    assert (await fetched(page(b"ok", more))).content == "ok"


async def test_a_body_that_ends_too_early_is_told_with_its_sizes() -> None:
    async def answer(stream: SocketStream, request: bytes) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 20\r\n\r\nok")
        await stream.aclose()

    with pytest.raises(ToolError, match="the server closed it after 2 of 20 bytes"):
        await fetched(answer)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<!-- made by x -->\n<!DOCTYPE html><title>T</title><p>Hello.", ""),
        (b"\xef\xbb\xbf<!doctype html><title>T</title><p>Hello.", "application/octet-stream"),
        (b"<!doctype html><title>T</title><p>Hel\0lo." + b" More." * 20, HTML),
    ],
    ids=["comment", "byte order mark", "zero byte"],
)
async def test_a_page_is_known_for_one_by_its_beginning_or_its_type(body: bytes, kind: str) -> None:
    found = await fetched(page(body, kind=kind))
    assert found.content.startswith("# T\n\nHel")
    assert "<p>" not in found.content
