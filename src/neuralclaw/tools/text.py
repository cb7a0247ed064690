"""Bytes of a file as text, and text as bytes again: encodings, and what a file is when it is no text."""

import codecs

import msgspec

from ..errors import ToolError

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_SIGNATURES = (
    (b"%PDF-", "a PDF document"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a RIFF file (WebP image, WAV or AVI)"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip file"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ\x00", "an xz file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"\x7fELF", "a program (ELF)"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"OggS", "an Ogg file"),
    (b"ID3", "an MP3 file"),
    (b"\x00asm", "a WebAssembly module"),
)
# ZIP archives that people know by another name.
_DOCUMENTS = {".docx": "a Word document", ".xlsx": "a spreadsheet", ".pptx": "a presentation", ".odt": "an OpenDocument text", ".epub": "an e-book"}
_CONTROL = frozenset(range(32)) - {7, 8, 9, 10, 12, 13, 27}


class DecodedText(msgspec.Struct, frozen=True):
    """A file's text, the encoding it was read with, and the byte order mark it began with."""

    text: str
    encoding: str
    bom: bytes = b""

    def encode(self, text: str) -> bytes:
        """Another text in the form of this one. Raises `ToolError` when a character has no place in the encoding."""
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            wrong = text[error.start : error.start + 1]
            raise ToolError(f"the file is encoded in {self.encoding}, which has no {wrong!r}", hint="write_file stores the whole file as UTF-8") from None


def read_text(data: bytes, path: str) -> DecodedText:
    """UTF-8, UTF-16 with its mark, else Latin-1 (every byte is a character there). Raises `ToolError` for what is no text."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            try:
                return DecodedText(data[len(bom) :].decode(encoding), encoding, bom)
            except UnicodeDecodeError:
                break
    kind = binary_kind(data, path)
    if kind:
        raise ToolError(f"{path} is {kind} of {len(data):,} bytes, not a text file", hint=_way(path, kind), metadata={"path": path, "size": len(data)})
    try:
        return DecodedText(data.decode(), "utf-8")
    except UnicodeDecodeError:
        return DecodedText(data.decode("latin-1"), "latin-1")


def binary_kind(data: bytes, path: str) -> str:
    """What the file is when it is no text, else ""."""
    found = next((name for signature, name in _SIGNATURES if data.startswith(signature)), "")
    if found == "a ZIP archive":
        return next((name for suffix, name in _DOCUMENTS.items() if path.lower().endswith(suffix)), found)
    if found == "a PDF document":
        return found
    sample = data[:8192]
    if b"\x00" in sample or sum(byte in _CONTROL for byte in sample) * 10 > len(sample):
        return found or "a binary file"
    return ""


def _way(path: str, kind: str) -> str:
    if path.lower().endswith((".docx", ".pdf")) or kind == "a PDF document":
        return "read_file takes the text out of a .docx or .pdf"
    return "the terminal's `file` or a program for this format can look into it"
