"""What a path may have meant that is not there: names like it beside it, and the same name elsewhere."""

import posixpath
import time
from collections.abc import AsyncIterator, Sequence

from ..errors import NeuralClawError, ToolExecutionError
from ..ports import DirEntry, Files
from ..types.grants import Grant
from ..types.quoted_names import one_line
from ..types.tools import FileChange

_NOT_THERE = ": not found"
_MOST_ENTRIES = 20_000  # that are looked through for the same name
_SECONDS = 0.5
_MOST_SHOWN = 5


class NamingFiles:
    """`files`, whose error of a path that is not there names what may have been meant."""

    def __init__(self, files: Files) -> None:
        self._files = files

    async def read(self, grant: Grant, path: str, *, max_bytes: int) -> bytes:
        try:
            return await self._files.read(grant, path, max_bytes=max_bytes)
        except ToolExecutionError as error:
            raise await with_near_names(self._files, grant, path, error) from error

    async def write(self, grant: Grant, path: str, data: bytes) -> FileChange:
        return await self._files.write(grant, path, data)

    async def delete(self, grant: Grant, path: str) -> FileChange:
        try:
            return await self._files.delete(grant, path)
        except ToolExecutionError as error:
            raise await with_near_names(self._files, grant, path, error) from error

    async def list(self, grant: Grant, path: str) -> Sequence[DirEntry]:
        try:
            return await self._files.list(grant, path)
        except ToolExecutionError as error:
            raise await with_near_names(self._files, grant, path, error) from error

    async def walk(self, grant: Grant, path: str) -> AsyncIterator[DirEntry]:
        try:
            async for entry in self._files.walk(grant, path):
                yield entry
        except ToolExecutionError as error:
            raise await with_near_names(self._files, grant, path, error) from error


async def with_near_names(files: Files, grant: Grant, path: str, error: ToolExecutionError) -> ToolExecutionError:
    """The error itself; where it says that the path is not there, with the names that may have been meant."""
    if not error.text.endswith(_NOT_THERE) or error.hint:
        return error
    try:
        hint = await _hint(files, grant, path)
    except NeuralClawError:  # nothing may be said of what may not be listed
        hint = ""
    return type(error)(error.text, hint=hint or "Look with list_files or find_files.")


async def _hint(files: Files, grant: Grant, path: str) -> str:
    parent, name = posixpath.split(path.rstrip("/"))
    try:
        beside = await files.list(grant, parent or ".")
    except ToolExecutionError as error:
        there, beside = not error.text.endswith(_NOT_THERE), []
    else:
        there = True
    if near := _near(name, beside):
        return f"Did you mean {_listed([posixpath.join(parent, other) for other in near])}?"
    same = await _same_name(files, grant, name)
    if same:
        return f"There is {_listed(same)}."
    if not there:
        return f"There is no directory {one_line(parent)}."
    return "" if beside else f"The directory {one_line(parent)} is empty." if parent else "The workspace is empty."


def _near(name: str, entries: Sequence[DirEntry]) -> list[str]:
    import difflib  # costs start-up time, and few calls come here

    names = {posixpath.basename(entry.path.rstrip("/")): None for entry in entries}
    folded = {other.casefold(): other for other in names}
    close = difflib.get_close_matches(name.casefold(), folded, _MOST_SHOWN, 0.6)
    stem = posixpath.splitext(name)[0].casefold()
    alike = [other for other in names if posixpath.splitext(other)[0].casefold() == stem]
    return list(dict.fromkeys([*(folded[c] for c in close), *alike]))[:_MOST_SHOWN]


async def _same_name(files: Files, grant: Grant, name: str) -> list[str]:
    """Where in the workspace something of this name is, in capitals or not."""
    found, looked, until = list[str](), 0, time.monotonic() + _SECONDS
    async for entry in files.walk(grant, "."):
        looked += 1
        if posixpath.basename(entry.path.rstrip("/")).casefold() == name.casefold() and "/.git/" not in entry.path:
            found.append(posixpath.relpath(entry.path, grant.workspace))
        if len(found) >= _MOST_SHOWN or looked >= _MOST_ENTRIES or time.monotonic() > until:
            break
    return found


def _listed(names: Sequence[str]) -> str:
    names = [one_line(name) for name in names]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
