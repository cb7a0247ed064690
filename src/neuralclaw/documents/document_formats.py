"""The capability `documents`: `.docx` and `.pdf` as text, and Markdown as `.docx`. What parses them runs in a process of its own, imported there alone."""

from ..capability import Capability, FileFormat

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # the container of Word 97 and of encrypted documents

DOCX = FileFormat(
    name="docx",
    title="Word document",
    suffixes=(".docx",),
    recognise=lambda head: head.startswith((b"PK\x03\x04", _OLE)),
    reader="neuralclaw.documents.docx_reading",
    writer="neuralclaw.documents.docx_writing",
    layout="as Markdown",
    takes="Markdown",
    unreadable="Opening it in a word processor and saving it as .docx, or in parts, may help.",
)
PDF = FileFormat(
    name="pdf",
    title="PDF",
    suffixes=(".pdf",),
    recognise=lambda head: b"%PDF-" in head,
    any_name=True,
    reader="neuralclaw.documents.pdf_reading",
    layout="page by page",
    unreadable="A part of it may be readable: `pdftotext -l 20` or `qpdf` in the terminal.",
    unwritable="Write a .docx or .md file, and convert it in the terminal (`libreoffice --convert-to pdf`).",
)
DOCUMENTS = Capability(name="documents", summary="Word documents and PDFs as text.", formats=(DOCX, PDF))
