"""Files that are no text, as text, and text as such files: which format one has, and what a person is told when it cannot be read or written."""

from collections.abc import Iterable
from typing import Any

import anyio
import msgspec

from ..capability import FileFormat
from ..conversion import Head, split
from ..errors import ToolError, ToolTimeoutError
from ..ports import Converter
from .text import binary_kind

MAX_BYTES = 50_000_000
"""Of a document that is read."""

_HEAD = 1024
_SHOWN_SECONDS = 5.0  # so long a change waits for the text of what it replaces, to show it


class Document(msgspec.Struct, frozen=True):
    """The text of a document, and `about` it: its `format`, and how many pages, or paragraphs and tables, it has."""

    text: str
    about: dict[str, Any]


class FileFormats:
    """The formats that capabilities bring, and the converter in which their code runs."""

    def __init__(self, formats: Iterable[FileFormat], converter: Converter) -> None:
        self._formats, self._converter = tuple(formats), converter
        self._by_suffix = {suffix: one for one in self._formats for suffix in one.suffixes}

    @property
    def readable(self) -> str:
        """The formats that are read, for a model: `.docx (as Markdown) or .pdf (page by page)`; "" where there is none."""
        return _listed([f"{_listed(one.suffixes)} ({one.layout})" if one.layout else _listed(one.suffixes) for one in self._formats])

    @property
    def writable(self) -> str:
        """What a model is told of writing them: ` For a .docx path the content is Markdown; a .pdf cannot be written.`; "" where there is none."""
        written = [f"for a {_listed(one.suffixes)} path the content is {one.takes or 'text'}" for one in self._formats if one.writer]
        others = [suffix for suffix, one in self._by_suffix.items() if not one.writer]
        parts = "; ".join([*written, *([f"a {_listed(others)} cannot be written"] if others else [])])
        return f" {parts[0].upper()}{parts[1:]}." if parts else ""

    def named(self, path: str) -> FileFormat | None:
        """The format that the name promises."""
        low = path.lower()
        return next((one for suffix, one in self._by_suffix.items() if low.endswith(suffix)), None)

    def of(self, data: bytes, path: str) -> FileFormat | None:
        """The format of this file, None for anything that is read as text. Raises `ToolError` when the name promises another one."""
        head, promised = data[:_HEAD], self.named(path)
        found = next((one for one in self._formats if (one.any_name or one is promised) and one.recognise(head)), None)
        if found is not None or promised is None:
            return found
        if not data:
            raise ToolError(f"{path} is empty: no {promised.title}")
        kind = binary_kind(data, "")
        if kind:
            raise ToolError(f"{path} is {kind}, not a {promised.title}", hint="The name has the wrong ending; the terminal's `file` tells more.")
        return None

    async def read(self, data: bytes, found: FileFormat, path: str) -> Document:
        """The document as text. Raises `ToolError` with one sentence about what happened."""
        if len(data) > MAX_BYTES:
            raise ToolError(f"{path} is larger than the {MAX_BYTES:,} bytes of a {found.title} that are read", hint=found.unreadable)
        head, made = await self._converted(found, found.reader, data, f"{path} could not be read")
        if head.refused:
            raise ToolError(f"{path} {head.refused}", hint=head.hint, metadata={"path": path, "size": len(data)})
        return Document(made.decode("utf-8", "replace"), {"format": found.name, **head.about})

    async def write(self, text: bytes, found: FileFormat, path: str) -> tuple[bytes, dict[str, Any]]:
        """A document of text in UTF-8, and facts about it. Raises `ToolError`; nothing has been written then."""
        if not found.writer:
            raise ToolError(f"{path} was not written: write_file makes no {found.title}", hint=found.unwritable)
        head, made = await self._converted(found, found.writer, text, f"{path} was not written: the document could not be made")
        if head.refused:
            raise ToolError(f"{head.refused}; nothing was written")
        return made, {"format": found.name, **head.about}

    def shows(self, path: str) -> bool:
        """Whether a file of that name can be replaced by a document whose text is shown to the person who is asked."""
        found = self.named(path)
        return found is not None and bool(found.writer)

    async def text_of(self, path: str, data: bytes) -> str | None:
        """The text of a document, to show it to a person; None for what is none, or cannot be read. Takes five seconds at most."""
        with anyio.move_on_after(_SHOWN_SECONDS):
            try:
                found = self.of(data, path)
                return (await self.read(data, found, path)).text if found else None
            except ToolError:  # it is replaced all the same, only its text cannot be shown
                return None
        return None

    def not_edited(self, path: str, found: FileFormat) -> ToolError:
        """Why a document is not edited in place, and the way that there is."""
        if found.writer:
            return ToolError(
                f"{path} is a {found.title}, which edit_file cannot change", hint="Read it with read_file, then write the whole changed text with write_file."
            )
        others = [suffix for suffix, one in self._by_suffix.items() if one.writer]
        return ToolError(
            f"{path} is a {found.title}, which cannot be changed in place",
            hint=f"Read it with read_file and write the changed text to a {_listed([*others, '.md'])} file.",
        )

    async def _converted(self, found: FileFormat, module: str, data: bytes, failed: str) -> tuple[Head, bytes]:
        done = await self._converter.convert(module, data)
        if done.ended == "time":
            raise ToolTimeoutError(f"{failed}: it takes too long, so it was stopped; nothing of it runs in the background", hint=found.unreadable)
        if done.ended == "size" or "MemoryError" in done.detail:
            raise ToolError(f"{failed}: it needs more memory than a document may take", hint=found.unreadable)
        if done.ended == "crash":
            raise ToolError(f"{failed}: it is damaged, or made to look like a {found.title} ({done.detail})", hint=found.unreadable)
        try:
            return split(done.output)
        except msgspec.DecodeError as error:
            raise ToolError(f"{failed}: the conversion gave no answer ({error})") from None


def _listed(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *first, last = [*words] or [""]
    return f"{', '.join(first)} or {last}" if first else last
