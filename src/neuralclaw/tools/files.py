"""`read_file`, `list_files`, `write_file`, `edit_file`, `delete_file`: everything through `ports.Files` under the call's grant."""

import hashlib
import posixpath
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import anyio.to_thread
import msgspec

from ..errors import ToolError
from ..ports import Files
from ..tool import FunctionTool, ProbeResult, tool
from ..types.grants import Grant
from ..types.options import Positive
from ..types.quoted_names import one_line
from ..types.tools import FileChange, ToolContext, ToolResult, ToolSpec, Touch
from . import file_formats
from .diffs import bounded_diff, diff_note
from .file_formats import FileFormats
from .nearest import line_list, nearest
from .text import DecodedText, read_text

MAX_BYTES = 10_000_000
"""Of a file that is read or edited as text."""


_IN_PART = f" in its first {MAX_BYTES:,} bytes"


_MAX_ENTRIES = 500


_MAX_SHOWN = 1_000_000  # bytes of a replaced file that are compared with what replaces it


_MAX_HASHED = 200_000_000  # bytes a probe may hash before it says that it cannot tell


LineNumber = Annotated[int, msgspec.Meta(ge=0)]


def shown(grant: Grant, path: str) -> str:
    """A path as the model should use it: relative to the workspace where it lies inside, else absolute."""
    full = posixpath.normpath(posixpath.join(grant.workspace, path))
    inside = full == grant.workspace or full.startswith(grant.workspace.rstrip("/") + "/")
    return posixpath.relpath(full, grant.workspace) if inside else full


QUOTED = "[a name in quotation marks is a JSON string with control characters in it: give it as a call's argument exactly so]"
"""What the model is told where a result holds such a name."""


def quoted_note(names: Iterable[str]) -> str:
    """`QUOTED` where one of the names has to be written so, else ""."""
    return QUOTED if any(one_line(name) != name for name in names) else ""


def read_file(files: Files, formats: FileFormats) -> FunctionTool:
    """The tool `read_file`."""

    @tool(risk="LOW", effect="pure", category="files", aliases=["file_read"], touches=[Touch("path", "read")])
    async def read_file(grant: Grant, path: str, offset: LineNumber = 1, limit: Positive | None = None) -> ToolResult:
        """Read a text file{or_documents}. Use it rather than cat, head or sed; where something is in many files, find it with search_files first.

        Each line comes behind its number and a tab, which are not part of the file. Of a longer text the last line says how to go on. Up to 10 MB.
        Example: {"path": "src/app.py", "offset": 120, "limit": 80}

        Args:
            path: The file, absolute or relative to the workspace.
            offset: The first line to read; lines count from 1.
            limit: How many lines to read; all when not given.
        """
        most = file_formats.MAX_BYTES if formats.named(path) else MAX_BYTES
        data = await files.read(grant, path, max_bytes=most + 1)
        found = formats.of(data, path)
        if found:
            if len(data) > most < file_formats.MAX_BYTES:  # a PDF under another name
                data = await files.read(grant, path, max_bytes=file_formats.MAX_BYTES + 1)
            document = await formats.read(data, found, path)
            return _lines(grant, path, document.text, {"size": len(data), **document.about, "whole": True}, offset, limit)
        whole = len(data) <= MAX_BYTES
        data = data if whole else data[: _cut(data)]
        read = read_text(data, path)
        return _lines(grant, path, read.text, {"size": len(data), "encoding": read.encoding, "whole": whole}, offset, limit)

    read_file.spec = _told(read_file.spec, or_documents=f", or the text of a {formats.readable}" if formats.readable else "")
    return read_file


def _told(spec: ToolSpec, **words: str) -> ToolSpec:
    """The spec with these words in its description, each in place of its name in braces."""
    text = spec.description
    for name, word in words.items():
        text = text.replace("{" + name + "}", word)
    return msgspec.structs.replace(spec, description=text)


def _lines(grant: Grant, path: str, whole_text: str, facts: dict[str, Any], offset: int, limit: int | None) -> ToolResult:
    """The lines that are asked for. `facts` go into the metadata; their `whole` is false when the text is the file's first part only."""
    whole = facts["whole"]
    lines = whole_text.split("\n")
    count = len(lines) - (not lines[-1])
    first = max(offset, 1)
    if first > max(count, 1):
        raise ToolError(f"{path} has {count:,} lines{_IN_PART if not whole else ''}; offset {first:,} is beyond its end")
    last = count if limit is None else min(count, first - 1 + limit)
    text = whole_text if first == 1 and last == count else "".join(f"{line}\n" for line in lines[first - 1 : last])
    if last == count and first > 1 and lines[-1]:
        text = text.removesuffix("\n")  # the file does not end with one
    if not whole and last == count:
        text += f"[the file continues: {count:,} lines{_IN_PART} were read; the terminal can look further]"
    about = {"path": shown(grant, path), **facts, "lines": count, "first": first, "last": last}
    note = (
        f"[lines {first:,} to {last:,} of {count:,}; go on with offset={last + 1}]"
        if last < count
        else ""
        if count
        else f"[{one_line(shown(grant, path))} is empty]"
    )
    return ToolResult(content=text, metadata=about, note=note, first_line=first if count else 0, line_count=last - first + 1 if count else 0)


def list_files(files: Files) -> FunctionTool:
    """The tool `list_files`."""

    @tool(risk="LOW", effect="pure", category="files", touches=[Touch("path", "list")])
    async def list_files(grant: Grant, path: str = ".") -> ToolResult:
        """List one directory, one entry a line: `name/` is a directory, `name@` a link, a file shows its size. For what lies below it use find_files.

        At most 500 entries are shown.
        Example: {"path": "src"}

        Args:
            path: The directory, absolute or relative to the workspace.
        """
        entries = sorted(await files.list(grant, path), key=lambda entry: entry.path)
        rows = [(posixpath.basename(entry.path.rstrip("/")), entry.kind, entry.size) for entry in entries[:_MAX_ENTRIES]]
        marks = {"directory": "/", "link": "@", "other": " (no regular file)"}
        lines = [one_line(name) + (f" ({size:,} bytes)" if kind == "file" else marks.get(kind, "")) for name, kind, size in rows]
        if len(entries) > _MAX_ENTRIES:
            lines.append(f"[{_MAX_ENTRIES:,} of {len(entries):,} entries are shown; find_files finds the others by name]")
        listed = [{"name": name, "kind": kind, "size": size} for name, kind, size in rows]
        return ToolResult(
            content="\n".join(lines) or f"{one_line(shown(grant, path))} is an empty directory",
            metadata={"path": shown(grant, path), "count": len(entries), "entries": listed},
            note=quoted_note(name for name, _, _ in rows),
        )

    return list_files


def write_file(files: Files, formats: FileFormats) -> FunctionTool:
    """The tool `write_file`."""

    @tool(risk="MEDIUM", effect="idempotent", category="files", aliases=["file_write"], touches=[Touch("path", "write", content="content")])
    async def write_file(grant: Grant, path: str, content: str) -> ToolResult:
        """Create a text file (UTF-8) or replace a whole one. To change a part of a file use edit_file: it is shorter and loses nothing.

        Directories above it are made.{documents}
        Example: {"path": "notes/todo.md", "content": "- call the plumber\\n"}

        Args:
            path: The file, absolute or relative to the workspace.
            content: The whole new text, without line numbers.
        """
        found = formats.named(path)
        data = _utf8(content)
        facts: dict[str, Any] = {}
        if found:
            data, facts = await formats.write(data, found, path)
        name = shown(grant, path)
        before = await _replaced(files, formats, grant, path)
        change = await files.write(grant, path, data)
        word = "Created" if change.before is None else "Left unchanged" if change.before == change.after else "Replaced"
        size = f"{len(content):,} character{'' if len(content) == 1 else 's'}" + (f" as a {found.title} of {len(data):,} bytes" if found else "")
        diff = _diff(name, before, content)
        note = diff_note(diff.get("diff", "")) if before else ""
        return ToolResult(content=f"{word} {one_line(name)}: {size}.", metadata={"path": name, **facts, **diff}, changes=(change,), note=note)

    write_file.spec = _told(write_file.spec, documents=formats.writable)
    return write_file


def edit_file(files: Files, formats: FileFormats) -> FunctionTool:
    """The tool `edit_file`, whose probe can tell by digests whether an interrupted edit happened."""

    @tool(risk="MEDIUM", effect="reconcilable", category="files", touches=[Touch("path", "write", replaces=("old", "new"))])
    async def edit_file(grant: Grant, path: str, old: str, new: str, all: bool = False) -> ToolResult:
        """Replace a piece of text in a file. Read the file first; for a new or wholly new file use write_file.

        `old` must be there exactly as given, blanks and line breaks too, and only once unless `all` is true. The result shows the changed lines.
        Several places that differ need a call each. Up to 10 MB.
        Example: {"path": "src/app.py", "old": "timeout = 5", "new": "timeout = 30"}

        Args:
            path: The file, absolute or relative to the workspace.
            old: The text to replace, without line numbers, with enough around it to be unique.
            new: What is there afterwards; "" takes the text out.
            all: Replace every occurrence.
        """
        read = _editable(await _whole(files, grant, path), path, formats)
        old, new = _line_ends(read.text, old, new)
        count = await anyio.to_thread.run_sync(_countable, read.text, path, old, new, all, abandon_on_cancel=True)
        after = read.text.replace(old, new)
        edited = _edited(grant, path, count, await files.write(grant, path, read.encode(after)))
        diff = _diff(shown(grant, path), read.text, after)
        return msgspec.structs.replace(edited, metadata={**edited.metadata, **diff}, note=diff_note(diff.get("diff", "")))

    @edit_file.probed_by
    async def probe(grant: Grant, ctx: ToolContext) -> ProbeResult:
        arguments = grant.arguments
        path, before = arguments["path"], _judged(grant)
        if before is None:
            return None
        try:
            data = await _whole(files, grant, path)
            now, read = _sha256(data), read_text(data, path)
        except ToolError:  # gone, or no text any more: then nobody can tell
            return None
        if now == before:
            return False
        old, new = _line_ends(read.text, arguments["old"], arguments["new"])
        for count, candidate in _undone(read, old, new, arguments["all"]):
            if _sha256(read.encode(candidate)) == before:
                return _edited(grant, path, count, FileChange(next(iter(grant.envelope.digests)), before, now))
        return None

    return edit_file


def delete_file(files: Files) -> FunctionTool:
    """The tool `delete_file`, whose probe looks whether the file is gone."""

    @tool(risk="HIGH", effect="reconcilable", category="files", touches=[Touch("path", "delete")])
    async def delete_file(grant: Grant, path: str) -> ToolResult:
        """Delete one file. Only where that was asked for; it takes no directory and no pattern.

        Example: {"path": "old/report.txt"}

        Args:
            path: The file, absolute or relative to the workspace.
        """
        return _deleted(grant, path, await files.delete(grant, path))

    @delete_file.probed_by
    async def probe(grant: Grant, ctx: ToolContext) -> ProbeResult:
        path, before = grant.arguments["path"], _judged(grant)
        if before is None:
            return None
        full = posixpath.normpath(posixpath.join(grant.workspace, path))
        names = {posixpath.basename(entry.path) for entry in await files.list(grant, posixpath.dirname(full))}
        if posixpath.basename(full) not in names:
            return _deleted(grant, path, FileChange(next(iter(grant.envelope.digests)), before, None))
        return False if await _digest(files, grant, path) == before else None

    return delete_file


def _cut(data: bytes) -> int:
    """Where to cut what is longer than is read: after the last whole line, else before a character of several bytes."""
    end = data.rfind(b"\n", 0, MAX_BYTES) + 1 or MAX_BYTES
    while end > MAX_BYTES - 3 and data[end] & 0xC0 == 0x80:
        end -= 1
    return end


async def _whole(files: Files, grant: Grant, path: str) -> bytes:
    data = await files.read(grant, path, max_bytes=MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ToolError(f"{path} is larger than the {MAX_BYTES:,} bytes that can be edited; nothing was changed", hint="Use sed in the terminal.")
    return data


def _editable(data: bytes, path: str, formats: FileFormats) -> DecodedText:
    found = formats.of(data, path)
    if found:
        raise formats.not_edited(path, found)
    return read_text(data, path)


async def _replaced(files: Files, formats: FileFormats, grant: Grant, path: str) -> str | None:
    """The text that a write replaces: "" for no file; None when it is no text or too much of it to be compared."""
    if _judged(grant) is None:
        return ""
    try:
        data = await files.read(grant, path, max_bytes=_MAX_SHOWN + 1)
        if len(data) > _MAX_SHOWN:
            return None
        return await formats.text_of(path, data) if formats.named(path) else read_text(data, path).text
    except ToolError:
        return None


def _diff(name: str, before: str | None, after: str) -> dict[str, str]:
    """The change for those who look at it: `diff` of the metadata."""
    text = None if before is None else bounded_diff(name, before, after)
    return {} if text is None else {"diff": text}


async def _digest(files: Files, grant: Grant, path: str) -> str | None:
    """The digest of a file up to the size that can be edited, else None."""
    try:
        return _sha256(await _whole(files, grant, path))
    except ToolError:
        return None


def _utf8(content: str) -> bytes:
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"the content has half a character (a lone surrogate) at position {error.start:,}; nothing was written") from None


def _line_ends(text: str, old: str, new: str) -> tuple[str, str]:
    """`old` and `new` with the line ends of a file written on Windows, where only these differ."""
    if old not in text and "\r\n" in text and "\r" not in old:
        return old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    return old, new


def _countable(text: str, path: str, old: str, new: str, every: bool) -> int:
    """How often `old` is to be replaced. Raises `ToolError` when it is not clear what the edit means."""
    if not old:
        raise ToolError("old is empty: give the text to replace, or use write_file for the whole file")
    if old == new:
        raise ToolError("old and new are the same text; nothing was changed")
    count = text.count(old)
    if not count:
        raise ToolError(f"the text to replace is not in {path} (0 occurrences); nothing was changed.", hint=_where_else(text, old))
    if count > 1 and not every:
        raise ToolError(
            f"the text to replace occurs {count} times in {path}, at {line_list(text, old)}; nothing was changed.",
            hint="Give more of the text around it, or set all to true to replace every one.",
        )
    return count


def _where_else(text: str, old: str) -> str:
    """Where the text nearly is, and what to do about it."""
    near = nearest(text, old)
    return f"{near}\nCopy the text exactly as it is in the file." if near else "Nothing in it is like that; read the file and copy the text exactly."


def _undone(read: DecodedText, old: str, new: str, every: bool) -> Iterator[tuple[int, str]]:
    """Texts that the file may have held before an edit, with the number of replacements, as far as hashing them stays cheap."""
    text, left = read.text, _MAX_HASHED
    if every:
        if new:
            yield text.count(new), text.replace(new, old)
        return
    place = text.find(new)
    while place >= 0 and left > 0:
        left -= len(text)
        yield 1, text[:place] + old + text[place + len(new) :]
        place = text.find(new, place + 1) if place < len(text) else -1


def _edited(grant: Grant, path: str, count: int, change: FileChange) -> ToolResult:
    name = shown(grant, path)
    content = f"Replaced {count} occurrence{'s' if count > 1 else ''} in {one_line(name)}."
    return ToolResult(content=content, metadata={"path": name, "replaced": count}, changes=(change,))


def _deleted(grant: Grant, path: str, change: FileChange) -> ToolResult:
    return ToolResult(content=f"Deleted {one_line(shown(grant, path))}.", metadata={"path": shown(grant, path)}, changes=(change,))


def _judged(grant: Grant) -> str | None:
    """The digest of the file when the call was judged."""
    return next(iter(grant.envelope.digests.values()), None)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
