"""Completion in the chat: commands after `/`, what they take, and files of the workspace after `@`."""

import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable

import anyio.to_thread
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from ..types.messages import IMAGE_ENDINGS

_FILES, _SECONDS, _AGE = 20_000, 1.0, 5.0
"""Files and seconds of one walk at most; seconds for which its result is used again."""
_SHOWN = 50
_LAST = frozenset({"node_modules", "__pycache__", "target", "dist", "build", "venv"})

Values = Callable[[], Awaitable[Iterable[tuple[str, str]]]]
"""What a command takes: words and what they mean."""


class InputCompleter(Completer):
    """Completes the input. `commands`: name and what it does; `values`: what the command of that name takes, and under `COMMAND VERB` the options of
    that verb; `folder`: the workspace."""

    def __init__(self, folder: str) -> None:
        self.commands: dict[str, str] = {}
        self.values: dict[str, Values] = {}
        self._folder = folder
        self._files: list[str] = []
        self._walked = -_AGE

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        return ()

    async def get_completions_async(self, document: Document, complete_event: CompleteEvent) -> AsyncGenerator[Completion, None]:
        before = document.text_before_cursor
        name, space, rest = before[1:].partition(" ")
        found: Iterable[Completion] = ()
        if before.startswith("/") and not space:
            found = [Completion(c, -len(name), display=f"/{c}", display_meta=does) for c, does in self.commands.items() if c.startswith(name)]
        elif before.startswith("/") and (values := self._values(name, rest)) is not None:
            typed = rest.rpartition(" ")[2]
            found = [Completion(word, -len(typed), display_meta=meta) for word, meta in await values() if word.startswith(typed)]
        elif (at := _mention(before)) is not None:
            await self._walk()
            found = [Completion(named(path), -len(at) - 1) for path in nearest(at, self._files)]
        for completion in found:
            yield completion

    def _values(self, name: str, rest: str) -> Values | None:
        """What may follow where the input ends, behind the command `name`."""
        verb, space, more = rest.partition(" ")
        if not space:
            return self.values.get(name)
        return self.values.get(f"{name} {verb}") if more.rpartition(" ")[2].startswith("-") else None

    async def _walk(self) -> None:
        if time.monotonic() - self._walked >= _AGE:
            self._files = await anyio.to_thread.run_sync(files, self._folder, abandon_on_cancel=True)
            self._walked = time.monotonic()


def _mention(before: str) -> str | None:
    """What is behind the `@` of the last word, or None."""
    word = before.rsplit(None, 1)[-1] if before and not before[-1].isspace() else ""
    return word[1:] if word.startswith("@") else None


def named(path: str) -> str:
    """How a file is named in a message: its path, with quotes around it where it has blanks; a picture as `@path`, by which it goes along."""
    if path.lower().endswith(IMAGE_ENDINGS):
        return f"@'{path}'" if " " in path else f"@{path}"
    if not any(c.isspace() for c in path):
        return path
    return next((f"{mark}{path}{mark}" for mark in "'\"`" if mark not in path), path)


def nearest(typed: str, paths: Iterable[str]) -> list[str]:
    """The paths that hold what was typed: those whose name begins with it first."""
    typed = typed.lower()

    def rank(path: str) -> int:
        low = path.lower()
        return 0 if low.startswith(typed) or low.rpartition("/")[2].startswith(typed) else 1

    return sorted((path for path in paths if typed in path.lower()), key=rank)[:_SHOWN]


def files(folder: str) -> list[str]:
    """The files below a folder, relative to it, breadth first; what is hidden, generated or ignored comes last. `.git` is not entered."""
    ignored = _ignored(folder)
    first: list[str] = []
    last: list[str] = []
    open_: list[tuple[str, bool]] = [("", False)]
    deadline = time.monotonic() + _SECONDS
    for inside, slow in open_:
        if len(first) + len(last) >= _FILES or time.monotonic() > deadline:
            break
        try:
            entries = sorted(os.scandir(os.path.join(folder, inside)), key=lambda entry: entry.name)  # noqa: PTH118
        except OSError:  # a folder that may not be read
            continue
        for entry in entries:
            path = f"{inside}/{entry.name}" if inside else entry.name
            behind = slow or entry.name.startswith(".") or entry.name in _LAST or entry.name in ignored or path in ignored
            if entry.is_dir(follow_symlinks=False):
                if entry.name != ".git":
                    open_.append((path, behind))
            elif entry.name.isprintable():
                (last if behind else first).append(path)
    return [*first, *last][:_FILES]


def _ignored(folder: str) -> set[str]:
    """The plain names of the workspace's `.gitignore`; patterns are left out."""
    try:
        with open(os.path.join(folder, ".gitignore"), encoding="utf-8", errors="replace") as file:  # noqa: PTH118, PTH123
            return {line.strip().strip("/") for line in file.read(65_536).splitlines() if line.strip() and line[0] not in "#!" and "*" not in line}
    except OSError:  # there is none
        return set()
