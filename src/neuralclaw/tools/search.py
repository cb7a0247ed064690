"""`find_files` by name and `search_files` by content, below one directory."""

import posixpath
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from typing import Any

import anyio.to_thread
import msgspec

from ..errors import ToolError
from ..ports import DirEntry, Files
from ..tool import FunctionTool, tool
from ..types.cut_texts import cut_text
from ..types.grants import Grant
from ..types.quoted_names import one_line
from ..types.tools import ToolResult, Touch
from .files import quoted_note, shown
from .patterns import LineSearch, path_matcher
from .text import read_text

_MAX_FOUND = 500  # that are shown; the others are counted
_MAX_HITS = 200
_MOST_FILES = 8  # that are named of those whose hits are not all shown
_MAX_LINE = 300  # characters of a hit that are shown
_MAX_BYTES = 5_000_000  # of one file that is searched
_PART = 50_000  # characters that are searched between two looks at the clock
_SECONDS = 20.0  # then what was found so far is the answer


class Skipped(msgspec.Struct):
    """Files that were not searched, and why."""

    binary: int = 0
    large: int = 0
    unreadable: int = 0

    def note(self) -> str:
        reasons = [f"{count} {word}" for count, word in ((self.binary, "binary"), (self.large, "over 5 MB"), (self.unreadable, "unreadable")) if count]
        return f"[not searched: {', '.join(reasons)}]" if reasons else ""


class Hits:
    """The lines that match: the first `_MAX_HITS` of them, and how many there are in each file beyond these."""

    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []
        self.count = 0
        self.more: dict[str, int] = {}

    @property
    def room(self) -> int:
        return _MAX_HITS - len(self.shown)

    def add(self, name: str, found: Sequence[tuple[int, str]], count: int) -> None:
        self.shown += [{"file": name, "line": number, "text": text} for number, text in found]
        self.count += count
        if count > len(found):
            self.more[name] = count - len(found)

    def end(self, searched: int, *, in_time: bool) -> str:
        """The last lines of the result where not every hit is shown, else ""."""
        stopped = "" if in_time else f"[stopped after {_SECONDS:g} s and {searched:,} files; there may be more]"
        if not self.more:
            return stopped
        largest = sorted(self.more.items(), key=lambda item: (-item[1], item[0]))
        where = ", ".join(f"{one_line(name)} ({count:,})" for name, count in largest[:_MOST_FILES]) + (", …" if len(largest) > _MOST_FILES else "")
        shortened = f"[{len(self.shown):,} of {self.count:,} hits are shown; narrow the search with path, glob or a longer pattern. Not shown: {where}]"
        return f"{shortened}\n{stopped}" if stopped else shortened


def _found_end(count: int, *, in_time: bool) -> str:
    stopped = "" if in_time else f"[stopped after {_SECONDS:g} s; there may be more]"
    more = f"[{_MAX_FOUND:,} of {count:,} matches are shown; narrow the search with path or a longer pattern]" if count > _MAX_FOUND else ""
    return "\n".join(line for line in (more, stopped) if line)


def _no_name(pattern: str) -> str:
    """What the model may try where no name matched."""
    bare = not any(char in pattern for char in "*?[{")
    return f"[a pattern without * is for the whole name; *{pattern}* finds it anywhere in a name. Capitals count.]" if bare else "[capitals count in patterns]"


def _about_pattern(search: LineSearch, *, found: bool) -> str:
    """What the model is told about a pattern that is no regular expression, or that nothing matched."""
    told = f"[the pattern is not a regular expression ({search.why_plain}) and was searched as plain text]" if search.why_plain else ""
    if found:
        return told
    return "\n".join(line for line in (told, "[try ignore_case, a shorter pattern, or another path]") if line)


def find_files(files: Files) -> FunctionTool:
    """The tool `find_files`."""

    @tool(risk="LOW", effect="pure", category="files", touches=[Touch("path", "list")])
    async def find_files(grant: Grant, pattern: str, path: str = ".") -> ToolResult:
        """Find files and directories by name, at any depth. For what is written in files use search_files; for one directory list_files.

        `.git` is left out. At most 500 are shown and the others counted.
        Example: {"pattern": "*.py", "path": "src"}

        Args:
            pattern: A whole name or path: `*.py` (at any depth), `src/**/*.py`, `{a,b}.txt`. `*` stays within one name, `**` spans directories.
            path: The directory to look in, absolute or relative to the workspace.
        """
        matches, until = path_matcher(pattern), time.monotonic() + _SECONDS
        found: list[str] = []
        count, in_time = 0, True
        async for place, entry in _walk(files, grant, path, hidden=".git" in pattern):
            if matches(place):
                count += 1
                if count <= _MAX_FOUND:
                    found.append(shown(grant, entry.path) + ("/" if entry.kind == "directory" else ""))
            if time.monotonic() > until:
                in_time = False
                break
        end = _found_end(count, in_time=in_time)
        text = "\n".join([*map(one_line, found), *([end] if end else [])]) or f"no file matches {pattern} below {one_line(shown(grant, path))}"
        about = {"path": shown(grant, path), "count": count, "files": found, "complete": not end}
        return ToolResult(content=text, metadata=about, note=quoted_note(found) if found else _no_name(pattern))

    return find_files


def search_files(files: Files) -> FunctionTool:
    """The tool `search_files`."""

    @tool(risk="LOW", effect="pure", category="files", touches=[Touch("path", "read")])
    async def search_files(grant: Grant, pattern: str, path: str = ".", glob: str | None = None, ignore_case: bool = False) -> ToolResult:
        """Search the lines of text files for a regular expression. Use it rather than grep; for files by name use find_files.

        Results read `file:line: text`; read_file with that line as offset shows what is around. Binary files, files over 5 MB and `.git` are left
        out. At most 200 hits are shown; the last lines say how many more there are, and where.
        Example: {"pattern": "def (load|save)_", "path": "src", "glob": "*.py"}

        Args:
            pattern: A regular expression (RE2: no look-around, no back references), tried on each line; taken as plain text if it is none.
            path: A directory or one file, absolute or relative to the workspace.
            glob: Only files whose name or path matches this, for example `*.py`.
            ignore_case: Whether upper and lower case are the same.
        """
        search = await anyio.to_thread.run_sync(partial(LineSearch, pattern, ignore_case=ignore_case))  # a large pattern takes half a second
        names = path_matcher(glob) if glob else None
        until = time.monotonic() + _SECONDS
        hits = Hits()
        skipped, searched, in_time = Skipped(), 0, True
        async for file in _below(files, grant, path, names, skipped):
            text = await _text(files, grant, file, skipped)
            if text is None:
                continue
            searched += 1
            hits.add(shown(grant, file), *await anyio.to_thread.run_sync(_scan, text, search, hits.room, until, abandon_on_cancel=True))
            if time.monotonic() > until:
                in_time = False
                break
        lines = [f"{one_line(hit['file'])}:{hit['line']}: {hit['text']}" for hit in hits.shown] or [f"no line matches {pattern} in {searched:,} files"]
        end = hits.end(searched, in_time=in_time)
        notes = [note for note in (skipped.note(), end) if note]
        about = {"pattern": pattern, "plain": search.plain, "files": searched, "count": hits.count, "complete": not end, "hits": hits.shown}
        told = (_about_pattern(search, found=bool(hits.count)), quoted_note([*(hit["file"] for hit in hits.shown), *hits.more]))
        return ToolResult(content="\n".join(lines + notes), metadata=about, note="\n".join(filter(None, told)))

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


def _scan(text: str, search: LineSearch, room: int, until: float) -> tuple[list[tuple[int, str]], int]:
    """The first `room` lines that match, with their numbers, and how many there are."""
    hits: list[tuple[int, str]] = []
    count = 0
    for before, part in _parts(text):
        for number, line in search.hits(part):
            count += 1
            if len(hits) < room:
                hits.append((before + number, cut_text(line.strip(), _MAX_LINE)))
        if time.monotonic() > until:
            break
    return hits, count


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """The text in parts of whole lines, each with the number of lines before it: a large pattern needs a second for so many characters."""
    start = before = 0
    while start <= len(text):
        end = text.find("\n", start + _PART)
        end = len(text) if end < 0 else end
        part = text[start:end]
        yield before, part
        start, before = end + 1, before + part.count("\n") + 1
