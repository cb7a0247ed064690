"""`.docx` and `.pdf` as text, and text as `.docx`: what is one, what may be tried, and what a person is told when it fails."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

import anyio
import msgspec

from ..errors import ToolError, ToolTimeoutError
from ..ports import Converter
from .conversion import Head, split
from .text import binary_kind

MAX_BYTES = 50_000_000
"""Of a document that is read."""

_READERS = {"docx": "neuralclaw.tools.docx_reading", "pdf": "neuralclaw.tools.pdf_reading"}
_WRITER = "neuralclaw.tools.docx_writing"
_WORDS = {"docx": "Word document", "pdf": "PDF"}
_SHOWN_SECONDS = 5.0  # so long a change waits for the text of what it replaces, to show it
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # the container of Word 97 and of encrypted documents

Kind = Literal["docx", "pdf"]


class Document(msgspec.Struct, frozen=True):
    """The text of a document, and `about` it: its `format`, and how many pages, or paragraphs and tables, it has."""

    text: str
    about: dict[str, Any]


def named(path: str) -> Kind | None:
    """What kind of document the name promises."""
    low = path.lower()
    return "docx" if low.endswith(".docx") else "pdf" if low.endswith(".pdf") else None


def kind_of(data: bytes, path: str) -> Kind | None:
    """What kind of document this is, None for anything that is read as text. Raises `ToolError` when the name promises another kind."""
    if b"%PDF-" in data[:1024]:
        return "pdf"
    promised = named(path)
    if promised is None:
        return None
    if promised == "docx" and data.startswith(b"PK\x03\x04"):
        return "docx"
    if not data:
        raise ToolError(f"{path} is empty: no {_WORDS[promised]}")
    if promised == "docx" and data.startswith(_OLE):
        raise ToolError(f"{path} is encrypted, or a document of Word 97 (.doc) with a wrong name", hint="Save it as .docx without a password.")
    found = binary_kind(data, "")
    if found:
        raise ToolError(f"{path} is {found}, not a {_WORDS[promised]}", hint="The name has the wrong ending; the terminal's `file` tells more.")
    return None


async def read_document(converter: Converter, data: bytes, kind: Kind, path: str) -> Document:
    """The document as text. Raises `ToolError` with one sentence about what happened."""
    if len(data) > MAX_BYTES:
        raise ToolError(f"{path} is larger than the {MAX_BYTES:,} bytes of a {_WORDS[kind]} that are read", hint=_otherwise(kind))
    head, made = await _converted(converter, _READERS[kind], data, f"{path} could not be read", kind)
    if head.refused:
        raise ToolError(f"{path} {head.refused}", hint=head.hint, metadata={"path": path, "size": len(data)})
    return Document(made.decode("utf-8", "replace"), head.about)


def extractor(converter: Converter) -> Callable[[str, bytes], Awaitable[str | None]]:
    """What takes the text out of a document to show it to a person; None for what is none, or cannot be read."""

    async def extract(path: str, data: bytes) -> str | None:
        with anyio.move_on_after(_SHOWN_SECONDS):
            try:
                kind = kind_of(data, path)
                return (await read_document(converter, data, kind, path)).text if kind else None
            except ToolError:  # it is replaced all the same, only its text cannot be shown
                return None
        return None

    return extract


async def docx_of(converter: Converter, text: bytes, path: str) -> tuple[bytes, dict[str, Any]]:
    """A Word document of Markdown in UTF-8, and facts about it. Raises `ToolError`; nothing has been written then."""
    head, made = await _converted(converter, _WRITER, text, f"{path} was not written: the document could not be made", "docx")
    if head.refused:
        raise ToolError(f"{head.refused}; nothing was written")
    return made, head.about


def not_edited(path: str, kind: Kind) -> ToolError:
    """Why a document is not edited in place, and the way that there is."""
    if kind == "docx":
        return ToolError(
            f"{path} is a Word document, which edit_file cannot change", hint="Read it with read_file, then write the whole changed text with write_file."
        )
    return ToolError(f"{path} is a PDF, which cannot be changed in place", hint="Read it with read_file and write the changed text to a .docx or .md file.")


def not_written(path: str) -> ToolError:
    """Why no PDF is written, and the way that there is."""
    return ToolError(
        f"{path} was not written: write_file makes no PDF", hint="Write a .docx or .md file, and convert it in the terminal (`libreoffice --convert-to pdf`)."
    )


async def _converted(converter: Converter, module: str, data: bytes, failed: str, kind: Kind) -> tuple[Head, bytes]:
    done = await converter.convert(module, data)
    if done.ended == "time":
        raise ToolTimeoutError(f"{failed}: it takes too long, so it was given up; nothing goes on in the background", hint=_otherwise(kind))
    if done.ended == "size" or "MemoryError" in done.detail:
        raise ToolError(f"{failed}: it needs more memory than a document may take", hint=_otherwise(kind))
    if done.ended == "crash":
        raise ToolError(f"{failed}: it is damaged, or made to look like a {_WORDS[kind]} ({done.detail})", hint=_otherwise(kind))
    try:
        return split(done.output)
    except msgspec.DecodeError as error:
        raise ToolError(f"{failed}: the conversion gave no answer ({error})") from None


def _otherwise(kind: Kind) -> str:
    if kind == "pdf":
        return "A part of it may be readable: `pdftotext -l 20` or `qpdf` in the terminal."
    return "Opening it in a word processor and saving it as .docx, or in parts, may help."
