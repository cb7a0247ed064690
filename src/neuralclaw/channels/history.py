"""What a person typed before, over all chats of a home: a file of JSON strings, one a line, readable by its owner only."""

import json
import os
from collections.abc import AsyncGenerator, Callable, Iterable

import anyio
import anyio.to_thread
from prompt_toolkit.history import History

_KEPT, _LONGEST, _FILE = 2_000, 65_536, 4_194_304
"""Messages that are read back; characters of one that is written; bytes at which the file is written anew with those alone."""


class Remembered(History):
    """The history of the input. Before `begin` names its file, there is only what was typed in this chat."""

    def __init__(self) -> None:
        super().__init__()
        self._file = ""
        self._there = anyio.Event()
        self.whole: Callable[[str], str] = str
        """Puts the text of folded pastes in place of their marks: what is written must stand for itself."""

    def begin(self, file: str) -> None:
        """Read from and write to this file."""
        self._file = file
        for text in reversed(self._loaded_strings):
            self.store_string(text)
        self._there.set()

    async def load(self) -> AsyncGenerator[str, None]:
        """Newest first."""
        if not self._loaded:
            await self._there.wait()
            typed = len(self._loaded_strings)
            older = await anyio.to_thread.run_sync(self.load_history_strings)
            if not self._loaded:
                self._loaded_strings.extend(text for text in older if text not in self._loaded_strings[:typed])
                self._loaded = True
        for text in list(self._loaded_strings):
            yield text

    def load_history_strings(self) -> list[str]:
        try:
            with open(self._file, "rb") as file:  # noqa: PTH123
                lines = file.read().splitlines()
        except OSError:  # there is none yet, or it cannot be read: nothing to go back to
            return []
        texts = [text for line in lines if isinstance(text := _text(line), str)]
        kept = list(dict.fromkeys(reversed(texts)))[:_KEPT]
        if sum(map(len, lines)) > _FILE:
            self._write(reversed(kept), os.O_TRUNC)
        return kept

    def store_string(self, string: str) -> None:
        text = self.whole(string)
        if self._file and len(text) <= _LONGEST:
            self._write([text], os.O_APPEND)

    def _write(self, texts: Iterable[str], how: int) -> None:
        try:
            file = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | how, 0o600)
        except OSError:  # a home that cannot be written to: the chat goes on without
            return
        with os.fdopen(file, "wb") as out:
            out.write(b"".join(json.dumps(text).encode() + b"\n" for text in texts))


def _text(line: bytes) -> object:
    try:
        return json.loads(line)
    except ValueError:  # a line that a crash cut off
        return None
