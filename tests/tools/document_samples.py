"""Documents made by hand, honest and hostile, for the tests of reading and writing documents."""

import base64
import io
import zipfile
import zlib
from collections.abc import Sequence

import docx

NAMESPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
)
FONT = b"/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>/MediaBox[0 0 612 792]"
CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
ONE_PAGE = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
HELLO = b"BT /F 12 Tf 72 700 Td (hello) Tj ET"


def body(inner: str, before: str = "") -> str:
    """A document part with this in its body."""
    return f'<?xml version="1.0" encoding="UTF-8"?>{before}<w:document {NAMESPACES}><w:body>{inner}</w:body></w:document>'


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def package(document: str | bytes) -> bytes:
    """A Word document with this as its main part, and python-docx's template around it."""
    made, out = io.BytesIO(), io.BytesIO()
    docx.Document().save(made)
    with zipfile.ZipFile(made) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, document if name == "word/document.xml" else source.read(name))
    return out.getvalue()


def saved(document: "docx.document.Document") -> bytes:
    made = io.BytesIO()
    document.save(made)
    return made.getvalue()


def archive(entries: int, size: int) -> bytes:
    """A ZIP archive of so many entries, each of so many zero bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for number in range(entries):
            target.writestr(f"word/{number}.xml", bytes(size))
    return made.getvalue()


def pdf(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """A PDF of these objects, numbered from 1; the first is the catalog."""
    out, places = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    return out + b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Root 1 0 R/Size %d%s>>\nstartxref\n%d\n%%%%EOF\n" % (size, table, size, trailer, len(out))


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (entries, len(data), data)


def page(contents: bytes, page_entries: bytes = FONT, more: Sequence[bytes] = ()) -> bytes:
    """A PDF of one page, whose contents are object 4; `more` are 5 and on."""
    return pdf([CATALOG, ONE_PAGE, b"<</Type/Page/Parent 2 0 R/Contents 4 0 R" + page_entries + b">>", contents, *more])


def pages(texts: Sequence[bytes]) -> bytes:
    """A PDF with a page for each text."""
    kids = b" ".join(b"%d 0 R" % (3 + 2 * i) for i in range(len(texts)))
    objects = [CATALOG, b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(texts))]
    for i, text in enumerate(texts):
        objects += [b"<</Type/Page/Parent 2 0 R/Contents %d 0 R%s>>" % (4 + 2 * i, FONT), stream(b"BT /F 12 Tf 72 700 Td (%s) Tj ET" % text)]
    return pdf(objects)


def modern_pdf() -> bytes:
    """What word processors make: compressed streams, objects in an object stream, a cross-reference stream, glyph numbers with a ToUnicode map."""
    glyphs = {3: " ", 5: "Z", 6: "ü", 7: "r", 8: "i", 9: "c", 10: "h", 11: "ﬁ", 12: "€"}
    lines = "\n".join(f"<{number:04X}> <{text.encode('utf-16-be').hex().upper()}>" for number, text in glyphs.items())
    tounicode = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def 1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
        f"{len(glyphs)} beginbfchar\n{lines}\nendbfchar endcmap end end"
    )
    shown = "".join(f"{number:04X}" for number in (5, 6, 7, 8, 9, 10, 3, 11, 12))
    contents = f"q 1 0 0 1 0 0 cm BT /F 11 Tf 1 0 0 1 72 700 Tm [<{shown[:12]}> -20 <{shown[12:]}>] TJ 0 -14 Td <0005> Tj ET Q".encode()
    inner = {
        1: CATALOG,
        2: ONE_PAGE,
        3: b"<</Type/Page/Parent 2 0 R/Contents 8 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F 4 0 R>>>>>>",
        4: b"<</Type/Font/Subtype/Type0/BaseFont/ABCDEF+Font/Encoding/Identity-H/DescendantFonts[5 0 R]/ToUnicode 9 0 R>>",
        5: b"<</Type/Font/Subtype/CIDFontType2/BaseFont/ABCDEF+Font/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>"
        b"/FontDescriptor 6 0 R/DW 600>>",
        6: b"<</Type/FontDescriptor/FontName/ABCDEF+Font/Flags 4/FontBBox[0 0 1000 1000]/ItalicAngle 0/Ascent 800/Descent -200/CapHeight 700/StemV 80>>",
    }
    head, packed = b"", b""
    for number, content in inner.items():
        head += b"%d %d " % (number, len(packed))
        packed += content + b" "
    deflated = b"/Filter/FlateDecode"
    objects = {
        7: stream(zlib.compress(head + packed), b"/Type/ObjStm/N %d/First %d" % (len(inner), len(head)) + deflated),
        8: stream(zlib.compress(contents), deflated),
        9: stream(zlib.compress(tounicode.encode()), deflated),
    }
    out, places = b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n", {}
    for number, content in objects.items():
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    rows = [(0, 0, 255), *((2, 7, i) for i in range(len(inner))), *((1, places[number], 0) for number in objects), (1, len(out), 0)]
    table = b"".join(bytes([kind]) + place.to_bytes(4, "big") + bytes([last]) for kind, place, last in rows)
    xref = stream(zlib.compress(table), b"/Type/XRef/W[1 4 1]/Root 1 0 R/Size 11" + deflated)
    return out + b"10 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n" % (xref, len(out))


def deflated_zeros(gigabytes: int) -> bytes:
    """A zlib stream of that many zero bytes (without its checksum), made at once: one flushed piece over and over."""
    maker = zlib.compressobj(9)
    start = maker.compress(b"\0") + maker.flush(zlib.Z_FULL_FLUSH)
    piece = maker.compress(bytes(1 << 26)) + maker.flush(zlib.Z_FULL_FLUSH)
    return start + piece * (16 * gigabytes)


IMAGE_ONLY = page(
    stream(b"q 612 0 0 792 0 0 cm /A Do Q"),
    b"/MediaBox[0 0 612 792]/Resources<</XObject<</A 5 0 R>>>>",
    [stream(b"\0\0\0", b"/Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceRGB")],
)
FORM_LOOP = page(
    stream(b"/A Do /A Do"),
    b"/MediaBox[0 0 9 9]/Resources<</XObject<</A 5 0 R>>>>",
    [stream(b"/A Do /A Do /A Do", b"/Type/XObject/Subtype/Form/BBox[0 0 1 1]/Resources<</XObject<</A 5 0 R>>>>")],
)
LAUGHS = "<!DOCTYPE x [" + '<!ENTITY a0 "lol">' + "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12)) + "]>"
# One page "hello aes", AES-128, no password to open it: made once with pypdf and the package cryptography.
AES = base64.b64decode(
    b"JVBERi0xLjMKJeLjz9MKMSAwIG9iago8PAovVHlwZSAvQ2F0YWxvZwovUGFnZXMgMiAwIFIKPj4KZW5kb2JqCjIgMCBvYmoKPDwKL1R5cGUgL1BhZ2VzCi9LaWRzIFsgMyAwIFIgXQovQ291bnQgMQ"
    b"o+PgplbmRvYmoKMyAwIG9iago8PAovVHlwZSAvUGFnZQovUGFyZW50IDIgMCBSCi9Db250ZW50cyA0IDAgUgovUmVzb3VyY2VzIDw8Ci9Gb250IDw8Ci9GIDw8Ci9UeXBlIC9Gb250Ci9TdWJ0eXBl"
    b"IC9UeXBlMQovQmFzZUZvbnQgL0hlbHZldGljYQo+Pgo+Pgo+PgovTWVkaWFCb3ggWyAwIDAgNjEyIDc5MiBdCj4+CmVuZG9iago0IDAgb2JqCjw8Ci9MZW5ndGggNjQKPj4Kc3RyZWFtCkKqncBnuA"
    b"lWYVhvqQj276rJG+1WpeluJpekcQSzy2r/3EZ+Z9ChWmxiOFn6cJIbF9bYvU8QD2u0C2kuB8eAhAIKZW5kc3RyZWFtCmVuZG9iago1IDAgb2JqCjw8Ci9WIDQKL1IgNAovTGVuZ3RoIDEyOAovUCA0"
    b"Mjk0OTY3MjkyCi9GaWx0ZXIgL1N0YW5kYXJkCi9PIDw1NjZmYTg3M2VlMzNjNzk3Y2QzYjkwNGZkYWRmODE0YWZhMzRkZjlhMzhmNmVkNDFiOTg0ZTJjNmRhMmFhNmY1PgovVSA8NWE0YmRhNGI4YT"
    b"JkNjFkODQ4MmJmYzJhYmU5ZGIzNjgyOGJmNGU1ZTRlNzU4YTQxNjQwMDRlNTZmZmZhMDEwOD4KL0NGIDw8Ci9TdGRDRiA8PAovQXV0aEV2ZW50IC9Eb2NPcGVuCi9DRk0gL0FFU1YyCi9MZW5ndGgg"
    b"MTYKPj4KPj4KL1N0bUYgL1N0ZENGCi9TdHJGIC9TdGRDRgo+PgplbmRvYmoKeHJlZgowIDYKMDAwMDAwMDAwMCA2NTUzNSBmIAowMDAwMDAwMDE1IDAwMDAwIG4gCjAwMDAwMDAwNjQgMDAwMDAgbi"
    b"AKMDAwMDAwMDEyMyAwMDAwMCBuIAowMDAwMDAwMjk5IDAwMDAwIG4gCjAwMDAwMDA0MTMgMDAwMDAgbiAKdHJhaWxlcgo8PAovU2l6ZSA2Ci9Sb290IDEgMCBSCi9JRCBbIDxmYjFkY2FhNGQ4MjMx"
    b"ZWVhZjEzYjJhZjJkOTRmZjQ0Mz4gPGZiMWRjYWE0ZDgyMzFlZWFmMTNiMmFmMmQ5NGZmNDQzPiBdCi9FbmNyeXB0IDUgMCBSCj4+CnN0YXJ0eHJlZgo3MjAKJSVFT0YK"
)
