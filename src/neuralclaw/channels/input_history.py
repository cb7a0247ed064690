"""What a person typed before, over all chats of a home."""

import threading
from _queue import SimpleQueue  # the queue alone, without the module around it
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress

import anyio
import anyio.to_thread
from prompt_toolkit.history import History

from .history_file import HistoryFile

LAST_SECONDS = 2.0
"""How long the end of a chat waits for the disk."""


class InputHistory(History):
    """The history of the input. Before `begin` names its file, there is only what was typed in this chat. A thread of its own writes."""

    def __init__(self) -> None:
        super().__init__()
        self._file: HistoryFile | None = None
        self._queue: SimpleQueue[str | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._there = anyio.Event()
        self.whole: Callable[[str], str] = str
        """Puts the text of folded pastes in place of their marks: what is written must stand for itself."""

    def begin(self, file: str, redact: Callable[[str], str]) -> None:
        """Read from and write to this file, without what `redact` takes out of a text."""
        self._file = HistoryFile(file, redact)
        if self._thread is not None:  # the agent was opened again
            return
        self._thread = threading.Thread(target=self._write, name="history", daemon=True)
        self._thread.start()
        for text in reversed(self._loaded_strings):
            self.store_string(text)
        self._there.set()

    def end(self) -> None:
        """Wait for what is still to be written, for a short time."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(LAST_SECONDS)

    async def load(self) -> AsyncGenerator[str, None]:
        """Newest first."""
        if not self._loaded:
            await self._there.wait()
            typed = len(self._loaded_strings)
            older = await anyio.to_thread.run_sync(self.load_history_strings, abandon_on_cancel=True)
            if not self._loaded:
                self._loaded_strings.extend(text for text in older if text not in self._loaded_strings[:typed])
                self._loaded = True
        for text in list(self._loaded_strings):
            yield text

    def load_history_strings(self) -> list[str]:
        return self._file.read() if self._file is not None else []

    def store_string(self, string: str) -> None:
        if self._file is not None:
            self._queue.put(self.whole(string))

    def _write(self) -> None:
        while (text := self._queue.get()) is not None:
            with suppress(OSError):  # a home that cannot be written to: the chat continues without
                if self._file is not None:
                    self._file.append(text)
