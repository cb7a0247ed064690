"""The text of a PDF, page by page. Runs in a conversion's child process only."""

import codecs
import io
import struct
import time
import warnings
import zlib
from typing import Any

from pypdf import PageObject, PdfReader
from pypdf.errors import DependencyError, PyPdfError

from ..conversion import answer
from ..errors import ToolError
from ..types.cut_texts import cut_text

MAX_PAGES = 2_000
_SECONDS = 14.0  # of computing; then what was read so far is the answer
_MAX_CHARS = 20_000_000
# What a parser of broken input raises besides its own errors.
_BROKEN = (PyPdfError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError, AssertionError, EOFError, struct.error, zlib.error)
_BROKEN_FILE = (*_BROKEN, NotImplementedError)
# Encodings by which fonts of East Asian documents name their characters; they load when first used, and nothing can be loaded later.
_CODECS = "gbk gb2312 gb18030 big5 big5hkscs cp932 shift_jis euc_jp cp949 euc_kr utf-16-be utf-16-le utf-16 charmap latin-1 cp1252 ascii".split()
_TINY = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R/MediaBox[0 0 9 9]/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>endobj\n"
    b"4 0 obj<</Length 22>>stream\nBT /F 9 Tf (a) Tj ET  \nendstream endobj\ntrailer<</Root 1 0 R/Size 5>>\nstartxref\n0\n%%EOF\n"
)


def main(parent: int) -> None:
    """Answer with the text of the PDF on standard input."""
    warnings.simplefilter("ignore")
    for name in _CODECS:
        codecs.lookup(name)
    _load_late_modules()
    answer(parent, read)


def _load_late_modules() -> None:
    """pypdf imports parts of itself when the first text is taken out."""
    import logging

    logging.disable()
    PdfReader(io.BytesIO(_TINY)).pages[0].extract_text()


def read(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Facts and text. Raises `ToolError` for what cannot be read, in words to follow the file's name."""
    reader = _opened(data)
    try:
        count = len(reader.pages)
    except DependencyError:
        raise _needs_aes() from None
    except _BROKEN_FILE as error:
        raise ToolError(f"is a damaged PDF: its pages cannot be found ({_short(error)})", hint=_MEND) from None
    if not count:
        raise ToolError("is a PDF without pages", hint=_MEND)
    texts, failed, images = _texts(reader, min(count, MAX_PAGES))
    if not any(texts) and len(failed) == len(texts):
        raise ToolError(f"is a damaged PDF: none of its {_pages(count)} could be read ({failed[0]})", hint=_MEND)
    if not any(texts):
        what = "they are pictures, as of a scan" if images else "they are empty or drawn"
        seen = "" if len(texts) == count else f" (the first {len(texts):,} were looked at)"
        raise ToolError(f"has {_pages(count)} and no text{seen}: {what}", hint="Text recognition makes it readable, for example `ocrmypdf` in the terminal.")
    about = {"format": "pdf", "pages": count, "pages_read": len(texts)}
    return about, _joined(texts, failed, count).encode("utf-8", "replace")


_MEND = "`qpdf` or `mutool clean` in the terminal may repair it; or ask for another copy."


def _opened(data: bytes) -> PdfReader:
    try:
        reader = PdfReader(io.BytesIO(data))
        locked = reader.is_encrypted and not reader.decrypt("")
    except DependencyError:
        raise _needs_aes() from None
    except _BROKEN_FILE as error:
        raise ToolError(f"is a damaged PDF or none at all ({_short(error)})", hint=_MEND) from None
    if locked:
        raise ToolError("is encrypted and needs a password", hint="Decrypt a copy with the password: `qpdf --decrypt` in the terminal.")
    return reader


def _needs_aes() -> ToolError:
    return ToolError(
        "is encrypted with AES, for which the Python package cryptography must be installed",
        hint="Install it beside NeuralClaw (`pip install cryptography`), or decrypt a copy: `qpdf --decrypt` in the terminal.",
    )


def _texts(reader: PdfReader, count: int) -> tuple[list[str], dict[int, str], bool]:
    """Text of each page, why some have none (by index), and whether a page without text has a picture. Fewer pages when time or room runs out."""
    texts: list[str] = []
    failed: dict[int, str] = {}
    images, room = False, _MAX_CHARS
    for index in range(count):
        if texts and (time.process_time() > _SECONDS or room <= 0):
            break
        try:
            page = reader.pages[index]
            text = page.extract_text().strip("\n")
            images = images or (not text and _pictured(page))
        except DependencyError as error:
            if reader.is_encrypted:
                raise _needs_aes() from None
            text, failed[index] = "", cut_text(str(error), 120)
        except _BROKEN_FILE as error:
            text, failed[index] = "", _short(error)
        texts.append(text[: max(room, 0)])
        room -= len(text)
    return texts, failed, images


def _pictured(page: PageObject) -> bool:
    return "/XObject" in (page.get("/Resources") or {})


def _joined(texts: list[str], failed: dict[int, str], count: int) -> str:
    parts = []
    for index, text in enumerate(texts):
        body = text or (f"[this page could not be read: {failed[index]}]" if index in failed else "[no text on this page]")
        parts.append(f"[page {index + 1} of {count}]\n{body}\n")
    if len(texts) < count:
        rest = f"{count - len(texts):,} remain; `pdftotext -f {len(texts) + 1}` in the terminal reads them"
        parts.append(f"[the first {len(texts):,} of {_pages(count)} were read; {rest}]\n")
    return "\n".join(parts)


def _pages(count: int) -> str:
    return f"{count:,} page{'s' if count != 1 else ''}"


def _short(error: BaseException) -> str:
    text = cut_text(" ".join(str(error).split()), 100)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
