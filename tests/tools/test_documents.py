"""Word documents and PDFs through the file tools: honest ones, and ones made to do harm."""

import importlib.util
import io
import os
import random
import re
import subprocess
import sys
import time
import zipfile
import zlib
from pathlib import Path
from typing import Any

import anyio
import docx
import psutil
import pypdf
import pytest

from neuralclaw.documents.document_formats import DOCUMENTS
from neuralclaw.errors import ToolError, ToolTimeoutError
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.sandbox.confined_files import ConfinedFiles
from neuralclaw.sandbox.converter import ChildConverter, ConversionBounds
from neuralclaw.sandbox.seccomp import converter_filter
from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.tools.file_formats import FileFormats
from neuralclaw.tools.files import read_file
from neuralclaw.tools.registry import Registry
from neuralclaw.types.actions import Action
from neuralclaw.types.options import Policy
from neuralclaw.types.questions import Answers
from neuralclaw.types.risk import Risk, Trust
from neuralclaw.types.signals import Parked

from ..waiting import until
from . import document_samples as samples
from .grants import call
from .test_gated import Wall

pytestmark = [pytest.mark.anyio, pytest.mark.full]

MARKDOWN = """# A title

A paragraph with **bold**, *italic*, ***both***, `code` and [a link](https://example.org/x?a=1).
Its second line.

## Lists

- one
- two
  - deep
    1. deeper
    2. deeper still
- three

1. first
2. second

   going on

Then:

5. five
6. six

> quoted *text*
> in two lines

```python
def f(x):
    return x * 2  # *not* italic

```

| Name | Value |
| --- | --- |
| a\\|b | **1** |
| c | two<br>lines |

---

snake_case and 2 * 3 \\*literal\\* and C:\\dir and \\[x](y)

\\# no heading
"""
SLOW = samples.page(samples.stream(zlib.compress(b"BT /F 1 Tf " + b"(a) Tj 1 0 0 1 3 3 Tm " * 600_000 + b"ET"), b"/Filter/FlateDecode"))
"""Takes seconds of computing."""


def children() -> list[int]:
    """Processes of ours that convert."""
    return [p.pid for p in psutil.Process().children(recursive=True) if any("neuralclaw.documents." in word for word in p.cmdline())]


async def read(registry: Registry, workspace: Path, name: str, data: bytes, **arguments: Any) -> str:
    (workspace / name).write_bytes(data)
    return (await call(registry, workspace, "read_file", path=name, **arguments)).content


def reader(workspace: Path, bounds: ConversionBounds) -> Registry:
    """`read_file` with other bounds than the usual ones."""
    return Registry([read_file(ConfinedFiles(str(workspace.parent / "pre")), FileFormats(DOCUMENTS.formats, ChildConverter(bounds)))])


async def test_a_word_document_is_read_in_its_order(registry: Registry, workspace: Path) -> None:
    document = docx.Document()
    document.add_heading("Report", 0)
    document.add_heading("Part", 2)
    text = document.add_paragraph("Some ")
    text.add_run("bold").bold = True
    text.add_run(" and ")
    text.add_run("ital").italic = True
    text.add_run("ic").italic = True
    document.add_paragraph("apples", style="List Bullet")
    document.add_paragraph("pears", style="List Bullet")
    document.add_paragraph("first", style="List Number")
    document.add_paragraph("second", style="List Number")
    table = document.add_table(rows=2, cols=2)
    for row, cells in zip(table.rows, (("a", "b|c"), ("d\ne", "")), strict=True):
        for cell, words in zip(row.cells, cells, strict=True):
            cell.text = words
    document.add_paragraph("last")
    document.sections[0].header.paragraphs[0].text = "the header"
    (workspace / "a.docx").write_bytes(samples.saved(document))
    result = await call(registry, workspace, "read_file", path="a.docx")
    assert result.content == (
        "# Report\n\n## Part\n\nSome **bold** and *italic*\n\n- apples\n- pears\n\n1. first\n2. second\n\n| a | b\\|c |\n| --- | --- |\n| d<br>e |  |\n\nlast\n"
    )
    size = (workspace / "a.docx").stat().st_size
    assert result.metadata == {
        **{"path": "a.docx", "size": size, "format": "docx", "paragraphs": 12, "tables": 1},
        **{"whole": True, "lines": 17, "first": 1, "last": 17},
    }
    assert (await call(registry, workspace, "read_file", path="a.docx", offset=3, limit=1)).content == "## Part\n"
    with pytest.raises(ToolError, match="has 17 lines; offset 18"):
        await call(registry, workspace, "read_file", path="a.docx", offset=18)


async def test_what_word_wraps_around_text_is_seen_through_and_what_it_hides_is_not_shown(registry: Registry, workspace: Path) -> None:
    t = samples.paragraph
    inner = (
        f"<w:sdt><w:sdtContent>{t('in a control')}</w:sdtContent></w:sdt>"
        "<w:p><w:r><w:t>kept </w:t></w:r><w:ins><w:r><w:t>added</w:t></w:r></w:ins><w:del><w:r><w:delText>removed</w:delText></w:r></w:del></w:p>"
        "<w:p><w:hyperlink w:anchor='x'><w:r><w:t>inner link</w:t></w:r></w:hyperlink><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden orders</w:t></w:r></w:p>"
        "<w:p><w:r><w:fldChar w:fldCharType='begin'/><w:instrText>PAGE</w:instrText><w:fldChar w:fldCharType='separate'/><w:t>7</w:t></w:r></w:p>"
        f"<w:p><w:r><mc:AlternateContent><mc:Choice><wps:txbx><w:txbxContent>{t('in a box')}</w:txbxContent></wps:txbx></mc:Choice>"
        f"<mc:Fallback><w:pict><w:txbxContent>{t('in a box')}</w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>"
        "<w:p><m:oMath><m:r><m:t>x=y</m:t></m:r></m:oMath></w:p>"
        f"<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr>{t('wide')}</w:tc></w:tr><w:tr><w:tc>{t('1')}</w:tc>"
        f"<w:tc><w:tbl><w:tr><w:tc>{t('2')}</w:tc><w:tc>{t('3')}</w:tc></w:tr></w:tbl></w:tc></w:tr><w:tr><w:trPr><w:del/></w:trPr><w:tc>{t('gone')}</w:tc></w:tr></w:tbl>"
    )
    expected = "in a control\n\nkept added\n\ninner link\n\n7\n\nin a box\n\nx=y\n\n| wide |  |\n| --- | --- |\n| 1 | 2 / 3 |\n"
    assert await read(registry, workspace, "a.docx", samples.package(samples.body(inner))) == expected


async def test_a_document_without_text_says_so(registry: Registry, workspace: Path) -> None:
    assert await read(registry, workspace, "a.docx", samples.package(samples.body(""))) == "[the document has no text]\n"


async def test_a_pdf_is_read_page_by_page(registry: Registry, workspace: Path) -> None:
    (workspace / "A.PDF").write_bytes(samples.pages([b"one", b"", b"three"]))
    result = await call(registry, workspace, "read_file", path="A.PDF")
    assert result.content == "[page 1 of 3]\none\n\n[page 2 of 3]\n[no text on this page]\n\n[page 3 of 3]\nthree\n"
    assert {name: result.metadata[name] for name in ("format", "pages", "pages_read", "lines")} == {"format": "pdf", "pages": 3, "pages_read": 3, "lines": 8}
    assert (await call(registry, workspace, "read_file", path="A.PDF", offset=7)).content == "[page 3 of 3]\nthree\n"


async def test_a_pdf_as_word_processors_make_it_is_read(registry: Registry, workspace: Path) -> None:
    assert await read(registry, workspace, "a.pdf", samples.modern_pdf()) == "[page 1 of 1]\nZürich ﬁ€\nZ\n"
    assert await read(registry, workspace, "download", samples.modern_pdf()) == "[page 1 of 1]\nZürich ﬁ€\nZ\n"  # known by what it holds


async def test_only_the_first_pages_of_a_very_long_pdf_are_read(registry: Registry, workspace: Path) -> None:
    kids = b"<</Type/Pages/Kids[" + b"3 0 R " * 2003 + b"]/Count 2003>>"
    data = samples.pdf([samples.CATALOG, kids, b"<</Type/Page/Parent 2 0 R/Contents 4 0 R" + samples.FONT + b">>", samples.stream(samples.HELLO)])
    text = await read(registry, workspace, "a.pdf", data)
    assert text.count("hello") == 2000
    assert text.endswith("[page 2000 of 2003]\nhello\n\n[the first 2,000 of 2,003 pages were read; 3 remain; `pdftotext -f 2001` in the terminal reads them]\n")


def encrypted(user: str) -> bytes:
    writer, made = pypdf.PdfWriter(clone_from=io.BytesIO(samples.pages([b"hello"]))), io.BytesIO()
    writer.encrypt(user, "owner", algorithm="RC4-128")
    writer.write(made)
    return made.getvalue()


async def test_an_encrypted_pdf_is_read_if_no_password_opens_it(registry: Registry, workspace: Path) -> None:
    assert await read(registry, workspace, "a.pdf", encrypted("")) == "[page 1 of 1]\nhello\n"
    with pytest.raises(ToolError, match=r"^a\.pdf is encrypted and needs a password$") as caught:
        await read(registry, workspace, "a.pdf", encrypted("secret"))
    assert "qpdf --decrypt" in caught.value.hint


async def test_a_pdf_encrypted_with_aes_is_read_or_names_the_package_that_is_missing(registry: Registry, workspace: Path) -> None:
    if importlib.util.find_spec("cryptography"):
        assert await read(registry, workspace, "a.pdf", samples.AES) == "[page 1 of 1]\nhello aes\n"
        return
    with pytest.raises(ToolError, match=r"encrypted with AES.*cryptography must be installed"):
        await read(registry, workspace, "a.pdf", samples.AES)


PAGES = b"<</Type/Pages/Kids[%s]/Count 1>>"
FLATE = b"/Filter/FlateDecode"
HOSTILE: dict[str, tuple[str, bytes, str]] = {
    "a billion laughs": ("a.docx", samples.package(samples.body(samples.paragraph("&a11;"), samples.LAUGHS)), "damaged Word document.*amplification|entities"),
    "an endless text of elements": ("a.docx", samples.package(samples.body("<w:sdt><w:sdtContent>" * 9_000 + "</w:sdtContent></w:sdt>" * 9_000)), "depth"),
    "a ZIP bomb": ("a.docx", samples.archive(3, 70_000_000), "unpack to 210,000,000, as in a ZIP bomb"),
    "a ZIP archive of zeros": ("a.docx", samples.archive(1, 60_000_000), "unpack to 60,000,000, as in a ZIP bomb"),
    "too many entries": ("a.docx", samples.archive(10_001, 0), "10,001 entries"),
    "a document cut short": ("a.docx", samples.package(samples.body(""))[:-700], "no Word document.*cut short"),
    "another XML": ("a.docx", samples.package("<a/>"), "damaged, or made to look like a Word document"),
    "another archive": ("a.docx", samples.archive(1, 10), "damaged Word document, or another kind"),
    "an old document": ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), r"encrypted, or a document of Word 97"),
    "a picture named .docx": ("a.docx", b"\x89PNG\r\n\x1a\n" + bytes(90), "a.docx is a PNG image, not a Word document"),
    "a picture named .pdf": ("a.pdf", b"\x89PNG\r\n\x1a\n" + bytes(90), "a.pdf is a PNG image, not a PDF"),
    "nothing": ("a.pdf", b"", "a.pdf is empty"),
    "ten gigabytes of zeros": ("a.pdf", samples.page(samples.stream(samples.deflated_zeros(10), FLATE)), "none of its 1 page could be read .*Limit reached"),
    "zeros packed twice": (
        "a.pdf",
        samples.page(samples.stream(zlib.compress(samples.deflated_zeros(10)), b"/Filter[/FlateDecode/FlateDecode]")),
        "could be read .*Limit reached",
    ),
    "a page tree that is its own child": ("a.pdf", samples.pdf([samples.CATALOG, PAGES % b"2 0 R 2 0 R"]), "pages cannot be found.*cyclic"),
    "a page tree in a circle": ("a.pdf", samples.pdf([samples.CATALOG, PAGES % b"3 0 R", PAGES % b"2 0 R"]), "pages cannot be found.*cyclic"),
    "an object that is itself": ("a.pdf", samples.pdf([b"1 0 R"]), "pages cannot be found"),
    "a length that is its own stream": ("a.pdf", samples.page(b"<</Length 4 0 R>>stream\nBT (x) Tj ET\nendstream"), "none of its 1 page could be read"),
    "a form that draws itself": ("a.pdf", samples.FORM_LOOP, "no text"),
    "arrays in arrays": ("a.pdf", samples.page(b"[" * 200_000 + b"]" * 200_000), "none of its 1 page could be read"),
    "a PDF cut short": ("a.pdf", samples.pages([b"hello"])[:-120], "damaged PDF or none at all"),
    "a PDF of noise": ("a.pdf", b"%PDF-1.7\n" + random.Random(1).randbytes(1_000_000), "damaged PDF or none at all"),
    "no pages": ("a.pdf", samples.pdf([samples.CATALOG, b"<</Type/Pages/Kids[]/Count 0>>"]), "without pages|cannot be found"),
    "a scan": ("a.pdf", samples.IMAGE_ONLY, "has 1 page and no text: they are pictures, as of a scan"),
    "a picture format that needs a program": ("a.pdf", samples.page(samples.stream(b"abc", b"/Filter/JBIG2Decode")), "could be read"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_what_cannot_be_read_is_one_clear_error_and_leaves_no_process(registry: Registry, workspace: Path, name: str) -> None:
    file, data, match = HOSTILE[name]
    started = time.monotonic()
    with pytest.raises(ToolError, match=match) as caught:
        await read(registry, workspace, file, data)
    assert time.monotonic() - started < 25
    assert "\n" not in caught.value.text
    assert len(caught.value.text) < 300
    assert children() == []


async def test_an_entity_never_brings_in_a_file(registry: Registry, workspace: Path) -> None:
    secret = workspace / "secret.txt"
    secret.write_text("THE SECRET")
    for declared in (f'<!ENTITY a SYSTEM "file://{secret}">', f'<!ENTITY % b SYSTEM "file://{secret}"> %b;'):
        with pytest.raises(ToolError) as caught:
            await read(registry, workspace, "a.docx", samples.package(samples.body(samples.paragraph("see &a;"), f"<!DOCTYPE x [{declared}]>")))
        assert "THE SECRET" not in caught.value.text
    assert "entities" in caught.value.text or "damaged" in caught.value.text


async def test_a_document_that_takes_too_long_is_given_up_and_its_process_is_gone(workspace: Path) -> None:
    started = time.monotonic()
    with pytest.raises(ToolTimeoutError, match=r"a\.pdf could not be read: it takes too long") as caught:
        await read(reader(workspace, ConversionBounds(seconds=1.0)), workspace, "a.pdf", SLOW)
    assert time.monotonic() - started < 20
    assert "pdftotext" in caught.value.hint
    with pytest.raises(ToolTimeoutError, match="takes too long"):
        await read(reader(workspace, ConversionBounds(cpu=1)), workspace, "a.pdf", SLOW)
    assert children() == []


async def test_a_document_that_needs_too_much_memory_is_given_up(workspace: Path) -> None:
    noise = random.Random(2)
    large = samples.body("".join(f'<w:p a{noise.randrange(10**6)}="{noise.randrange(10**9)}"/>' for _ in range(300_000)))
    with pytest.raises(ToolError, match="needs more memory than a document may take"):
        await read(reader(workspace, ConversionBounds(memory=150 * 1024**2)), workspace, "a.docx", samples.package(large))
    with pytest.raises(ToolError, match="needs more memory than a document may take"):
        await read(reader(workspace, ConversionBounds(output=1_000)), workspace, "a.docx", samples.package(samples.body(samples.paragraph("x" * 2_000))))
    assert children() == []


async def test_a_cancelled_call_leaves_no_process(registry: Registry, workspace: Path) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(read, registry, workspace, "a.pdf", SLOW)
        await until(children)
        group.cancel_scope.cancel()
    assert children() == []


async def test_a_conversion_dies_with_the_agent(workspace: Path) -> None:
    (workspace / "a.pdf").write_bytes(SLOW)
    script = (
        "import anyio, sys; from neuralclaw.sandbox.converter import ChildConverter;"
        "anyio.run(ChildConverter().convert, 'neuralclaw.documents.pdf_reading', open(sys.argv[1], 'rb').read())"
    )
    agent = subprocess.Popen([sys.executable, "-c", script, str(workspace / "a.pdf")])
    try:
        (child,) = await until(lambda: [pid for pid in children() if pid != agent.pid])  # type: ignore[misc]
        process = psutil.Process(child)
        await until(lambda: process.cpu_times().user > 0.3)  # it has begun to work
    finally:
        agent.kill()
        agent.wait()
    await until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)


def test_a_conversion_can_open_and_change_nothing(tmp_path: Path) -> None:
    script = """
import os, socket, subprocess
from neuralclaw.conversion import answer
def attempt(name, act):
    try:
        act()
    except OSError:
        return name
    return name + " was possible"
def probe(data):
    place = data.decode()
    acts = dict(read=lambda: open("/etc/hostname"), write=lambda: open(data.decode(), "w"), socket=socket.socket, pipe=os.pipe,
                program=lambda: subprocess.run(["true"]), fork=lambda: subprocess.Popen(["true"], stdout=subprocess.PIPE), bare_fork=os.fork,
                unlink=lambda: os.unlink(place), mkdir=lambda: os.mkdir(place + ".d"), rename=lambda: os.rename(place, place + ".r"),
                mode=lambda: os.chmod(place, 0o777), cut=lambda: os.truncate(place, 0), link=lambda: os.symlink("/", place + ".l"),
                list=lambda: os.listdir("/"), kill=lambda: os.kill(os.getppid(), 0), directory=lambda: os.chdir("/tmp"), keep=lambda: os.nice(5))
    return {}, " ".join(attempt(*act) for act in acts.items()).encode()
answer(os.getppid(), probe)
"""
    victim = tmp_path / "victim"
    victim.write_text("kept")
    done = subprocess.run([sys.executable, "-c", script, "", "", converter_filter().hex()], input=os.fsencode(victim), capture_output=True, timeout=20)
    assert done.stdout[10:] == b"read write socket pipe program fork bare_fork unlink mkdir rename mode cut link list kill directory keep", done.stderr
    assert victim.read_text() == "kept"


async def test_text_is_written_as_a_word_document_and_read_back(registry: Registry, workspace: Path) -> None:
    result = await call(registry, workspace, "write_file", path="new/a.docx", content=MARKDOWN)
    assert result.content.startswith(f"Created new/a.docx: {len(MARKDOWN)} characters as a Word document of ")
    assert (result.metadata["format"], result.metadata["tables"]) == ("docx", 1)
    assert (await call(registry, workspace, "read_file", path="new/a.docx")).content == MARKDOWN
    document = docx.Document(str(workspace / "new/a.docx"))
    assert [p.text for p in document.paragraphs if p.style and p.style.name == "Heading 1"] == ["A title"]
    assert [run.text for run in document.paragraphs[1].runs if run.bold] == ["bold", "both"]
    assert document.paragraphs[1].hyperlinks[0].address == "https://example.org/x?a=1"
    assert document.tables[0].cell(1, 0).text == "a|b"


async def test_a_word_document_is_replaced_like_any_file(registry: Registry, workspace: Path) -> None:
    await call(registry, workspace, "write_file", path="a.docx", content="old")
    before = (workspace / "a.docx").read_bytes()
    replaced = await call(registry, workspace, "write_file", path="a.docx", content="new")
    was = replaced.changes[0].before or "?"
    assert replaced.content.startswith("Replaced a.docx: 3 characters")
    assert replaced.metadata["diff"].splitlines()[-2:] == ["-old", "+new"]
    kept = [path for path in (workspace.parent / "preimages").rglob("*") if path.is_file() and path.name.startswith(was[:8])]
    assert kept or any(was in str(path) for path in (workspace.parent / "preimages").rglob("*"))
    assert before != (workspace / "a.docx").read_bytes()
    again = await call(registry, workspace, "write_file", path="a.docx", content="new")
    assert again.content.startswith("Left unchanged a.docx")  # the same text gives the same bytes


async def test_who_is_asked_about_a_word_document_sees_the_change_of_its_text(registry: Registry, workspace: Path) -> None:
    policy = Policy(require_confirmation_for=(Risk.MEDIUM,))
    gate = PolicyGate(policy, SystemFacts(policy, os.defpath, documents=FileFormats(DOCUMENTS.formats, ChildConverter())), Wall(), analyse)
    spec = registry.find("write_file")
    assert spec is not None

    async def diff() -> str | None:
        arguments = {"path": "a.docx", "content": "# Title\n\nnew text\n"}
        with pytest.raises(Parked) as asked:
            await gate.authorize(
                Action(session="s", turn=1, call_id="c", spec=spec, arguments=arguments, workspace=str(workspace), trust=Trust.HIGH), Answers()
            )
        return asked.value.question.action.diff

    path = workspace / "a.docx"
    assert await diff() == f"--- {path}\n+++ {path}\n@@ -0,0 +1,3 @@\n+# Title\n+\n+new text"
    await call(registry, workspace, "write_file", path="a.docx", content="# Title\n\nold *text*\n")
    assert await diff() == f"--- {path}\n+++ {path}\n@@ -1,3 +1,3 @@\n # Title\n \n-old *text*\n+new text"
    path.write_bytes(path.read_bytes()[:-900])
    assert await diff() is None


@pytest.mark.parametrize(
    "text", ["", "\n\n", "plain\nlines\n\n\nand more", "    indented", "<b>html</b> &amp; <http://x.y>", "1) x\n\n* y\n\n***\n", "| no | table |", "- \n- b"]
)
async def test_any_text_becomes_a_word_document_that_keeps_its_words(registry: Registry, workspace: Path, text: str) -> None:
    await call(registry, workspace, "write_file", path="a.docx", content=text)
    first = (await call(registry, workspace, "read_file", path="a.docx")).content
    if first != "[the document has no text]\n":
        assert [w for w in first.split() if w.isalnum()] == [w for w in text.split() if w.isalnum()]
        await call(registry, workspace, "write_file", path="a.docx", content=first)
    assert (await call(registry, workspace, "read_file", path="a.docx")).content == first


async def test_what_is_not_written_or_edited_says_the_way_that_there_is(registry: Registry, workspace: Path) -> None:
    with pytest.raises(ToolError, match=r"control character U\+001B in line 2.*nothing was written"):
        await call(registry, workspace, "write_file", path="a.docx", content="a\n\x1b[1m")
    with pytest.raises(ToolError, match="write_file makes no PDF") as pdf:
        await call(registry, workspace, "write_file", path="a.pdf", content="x")
    assert list(workspace.iterdir()) == []
    await call(registry, workspace, "write_file", path="a.docx", content="text")
    (workspace / "a.pdf").write_bytes(samples.pages([b"hello"]))
    with pytest.raises(ToolError, match="a Word document, which edit_file cannot change") as edit:
        await call(registry, workspace, "edit_file", path="a.docx", old="text", new="x")
    with pytest.raises(ToolError, match="a PDF, which cannot be changed"):
        await call(registry, workspace, "edit_file", path="a.pdf", old="hello", new="x")
    assert "write_file" in edit.value.hint
    assert ".docx" in pdf.value.hint


async def test_a_file_with_a_documents_name_and_plain_text_is_read_as_text(registry: Registry, workspace: Path) -> None:
    assert await read(registry, workspace, "a.docx", b"just text\n") == "just text\n"


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Some bytes changed, cut out, doubled or moved."""
    out = bytearray(data)
    for _ in range(chance.randint(1, 12)):
        place, length = chance.randrange(len(out) or 1), chance.randint(1, 40)
        piece = out[place : place + length]
        match chance.randrange(4):
            case 0:
                out[place : place + length] = chance.randbytes(len(piece))
            case 1:
                del out[place : place + length]
            case 2:
                out[place:place] = piece * chance.randint(1, 50)
            case _:
                out[place : place + 3] = str(chance.choice([0, -1, 3, 2**31, 10**20])).encode()
    return bytes(out)


def rewritten(xml: bytes, chance: random.Random) -> bytes:
    """Some values and names of well-formed XML replaced, so that it stays well-formed."""
    values = [b"", b"-1", b"0", b"99999999999999999999", b"x", b"true", b"1.5", "\u0663".encode(), b"bullet", b"Code Block", b"List Continue 9"]
    share = chance.choice([0.002, 0.02, 0.2])
    xml = re.sub(rb'(?<=w:val=")[^"]*', lambda m: chance.choice(values) if chance.random() < share else m.group(), xml)
    names = [b"p", b"r", b"t", b"tbl", b"tr", b"tc", b"sdt", b"hyperlink", b"numPr", b"pPr", b"lvl", b"style"]
    old, new = chance.choice(names), chance.choice(names)
    return re.sub(rb"(</?w:)" + old + rb"(?=[ />])", lambda m: m.group(1) + new, xml) if chance.random() < 0.5 else xml


def repacked(data: bytes, chance: random.Random) -> bytes:
    """A Word document with a changed part inside a sound archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        change = chance.choice([mutated, rewritten, rewritten])
        wrong = chance.choice(["word/document.xml", "word/document.xml", "word/numbering.xml", "word/styles.xml", "_rels/.rels", "[Content_Types].xml"])
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, change(content, chance) if name == wrong else content)
    return out.getvalue()


@pytest.mark.parametrize("seed", range(4))
async def test_a_changed_document_is_text_or_an_error_within_its_time(registry: Registry, workspace: Path, seed: int) -> None:
    chance = random.Random(seed)
    await call(registry, workspace, "write_file", path="sound.docx", content=MARKDOWN)
    sound = (workspace / "sound.docx").read_bytes()
    plain, modern = samples.pages([b"one", b"two"]), samples.modern_pdf()
    changed = (
        ("a.docx", lambda: repacked(sound, chance)),
        ("a.docx", lambda: mutated(sound, chance)),
        ("a.pdf", lambda: mutated(plain, chance)),
        ("a.pdf", lambda: mutated(modern, chance)),
    )
    for round_ in range(12):
        kind, make = changed[round_ % 4]
        data, started = make(), time.monotonic()
        try:
            text = await read(registry, workspace, kind, data)
        except ToolError as error:
            text = error.text
        assert text
        assert time.monotonic() - started < 28, (seed, round_)
    assert children() == []


def test_reading_a_document_loads_nothing_into_the_agent() -> None:
    script = "import sys, neuralclaw.tools.builtin, neuralclaw.app; print([m for m in ('docx', 'pypdf', 'lxml', 'markdown_it') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20, env={"PATH": os.defpath})
    assert done.stdout == "[]\n", done.stderr
