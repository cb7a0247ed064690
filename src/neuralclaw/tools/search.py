"""`find_files` by name and `search_files` by content, below one directory."""

import posixpath
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio.to_thread
import msgspec

from ..errors import ToolError
from ..ports import DirEntry, Files
from ..tool import FunctionTool, tool
from ..types.actions import Grant
from ..types.tools import ToolResult, Touch
from .files import shown
from .patterns import line_matcher, path_matcher
from .text import read_text

_MAX_FOUND = 1_000
_MAX_HITS = 500
_MAX_LINE = 300  # characters of a hit that are shown
_MAX_BYTES = 5_000_000  # of one file that is searched
_SECONDS = 20.0  # then what was found so far is the answer


class Skipped(msgspec.Struct):
    """Files that were not searched, and why."""

    binary: int = 0
    large: int = 0
    unreadable: int = 0

    def note(self) -> str:
        reasons = [f"{count} {word}" for count, word in ((self.binary, "binary"), (self.large, "over 5 MB"), (self.unreadable, "unreadable")) if count]
        return f"[not searched: {', '.join(reasons)}]" if reasons else ""


def find_files(files: Files) -> FunctionTool:
    """The tool `find_files`."""

    @tool(risk="LOW", effect="pure", category="files", touches=[Touch("path", "list")])
    async def find_files(grant: Grant, pattern: str, path: str = ".") -> ToolResult:
        """Find files and directories by name; what lies in `.git` is left out.

        Args:
            pattern: For example `*.py` (at any depth), `src/**/*.py`, `{a,b}.txt`. `*` stays within one name, `**` spans directories.
            path: Where to look, absolute or relative to the workspace.
        """
        matches, until = path_matcher(pattern), time.monotonic() + _SECONDS
        found: list[str] = []
        end = ""
        async for place, entry in _walk(files, grant, path, hidden=".git" in pattern):
            if matches(place):
                found.append(shown(grant, entry.path) + ("/" if entry.kind == "directory" else ""))
            if len(found) >= _MAX_FOUND or time.monotonic() > until:
                end = f"[stopped after {len(found):,} matches; there may be more]"
                break
        text = "\n".join([*found, end] if end else found) or f"no file matches {pattern} below {shown(grant, path)}"
        return ToolResult(content=text, metadata={"path": shown(grant, path), "count": len(found), "files": found, "complete": not end})

    return find_files


def search_files(files: Files) -> FunctionTool:
    """The tool `search_files`."""

    @tool(risk="LOW", effect="pure", category="files", touches=[Touch("path", "read")])
    async def search_files(grant: Grant, pattern: str, path: str = ".", glob: str | None = None, ignore_case: bool = False) -> ToolResult:
        """Search text files for lines that match a regular expression. Results read `file:line: text`; `.git` is left out.

        Args:
            pattern: A regular expression, tried on each line; plain text if it is none.
            path: A directory or one file, absolute or relative to the workspace.
            glob: Only files whose name or path matches this, for example `*.py`.
            ignore_case: Whether upper and lower case are the same.
        """
        test, plain = line_matcher(pattern, ignore_case)
        names = path_matcher(glob) if glob else None
        until = time.monotonic() + _SECONDS
        hits: list[dict[str, Any]] = []
        skipped, searched, end = Skipped(), 0, ""
        async for file in _below(files, grant, path, names, skipped):
            text = await _text(files, grant, file, skipped)
            if text is None:
                continue
            searched += 1
            name, room = shown(grant, file), _MAX_HITS - len(hits)
            hits += await anyio.to_thread.run_sync(_scan, text, name, test, room, until, abandon_on_cancel=True)
            if len(hits) >= _MAX_HITS or time.monotonic() > until:
                end = f"[stopped after {len(hits)} hits in {searched:,} files; there may be more]"
                break
        lines = [f"{hit['file']}:{hit['line']}: {hit['text']}" for hit in hits] or [f"no line matches {pattern} in {searched:,} files"]
        notes = [note for note in (skipped.note(), end) if note]
        about = {"pattern": pattern, "plain": plain, "files": searched, "count": len(hits), "complete": not end, "hits": hits}
        return ToolResult(content="\n".join(lines + notes), metadata=about)

    return search_files


async def _walk(files: Files, grant: Grant, path: str, *, hidden: bool) -> AsyncIterator[tuple[str, DirEntry]]:
    """What lies below `path`, each with its place relative to it."""
    base = ""
    async for entry in files.walk(grant, path):
        base = base or posixpath.dirname(entry.path)  # the real directory: directories come before what they hold
        place = posixpath.relpath(entry.path, base)
        if hidden or ".git" not in place.split("/"):
            yield place, entry


async def _below(files: Files, grant: Grant, path: str, names: Callable[[str], bool] | None, skipped: Skipped) -> AsyncIterator[str]:
    """The files to search: `path` itself when it is one, else those below it."""
    try:
        await files.read(grant, path, max_bytes=1)
    except ToolError:  # a directory, or nothing to be read: the walk says what
        async for place, entry in _walk(files, grant, path, hidden=False):
            if entry.kind == "file" and (names is None or names(place)):
                if entry.size > _MAX_BYTES:
                    skipped.large += 1
                else:
                    yield entry.path
            elif entry.kind == "directory" and entry.problem:
                skipped.unreadable += 1
    else:
        yield path


async def _text(files: Files, grant: Grant, path: str, skipped: Skipped) -> str | None:
    try:
        data = await files.read(grant, path, max_bytes=_MAX_BYTES + 1)
    except ToolError:  # vanished or unreadable since it was listed: said in the result
        skipped.unreadable += 1
        return None
    if len(data) > _MAX_BYTES:
        skipped.large += 1
        return None
    try:
        return read_text(data, path).text
    except ToolError:
        skipped.binary += 1
        return None


def _scan(text: str, name: str, test: Callable[[str], bool], room: int, until: float) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if number % 1_000 == 0 and time.monotonic() > until:
            break
        if test(line.rstrip("\r")):
            short = line.strip()
            hits.append({"file": name, "line": number, "text": short if len(short) <= _MAX_LINE else short[:_MAX_LINE] + "…"})
            if len(hits) >= room:
                break
    return hits
