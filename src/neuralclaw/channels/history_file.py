"""The file of a home's typed messages: JSON strings, one a line, readable by its owner only. Several chats write it at once.

Who writes holds a `flock` on the file that has the name at that moment. It is rewritten beside itself and renamed, so that a crash leaves the
old one or the new one, and a line that another chat appends meanwhile goes to the new one.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

KEPT, LONGEST, LIMIT = 2_000, 65_536, 4_194_304
"""Messages that are read back; characters of one that is written; bytes at which the file is written anew with the newest, at most half as large."""


class HistoryFile:
    """The messages in a file. `redact` takes out of a text what must not be there. Every method may wait for another process."""

    def __init__(self, path: str, redact: Callable[[str], str]) -> None:
        self._path, self._redact = os.path.realpath(path), redact

    def append(self, text: str) -> None:
        """Write one message; one that is too long is left out. Raises `OSError`."""
        if len(text) > LONGEST:
            return
        line = _line(self._redact(text))
        with self._locked() as file:
            size = os.fstat(file).st_size
            torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"  # a crash or a full disk cut the last line off
            _write(file, b"\n" + line if torn else line)

    def read(self) -> list[str]:
        """The newest messages, newest first, each once. Writes the file anew when it is too large or holds what must not be there."""
        data = self._data()
        kept, clean = self._texts(data)
        if len(data) > LIMIT or not clean:
            try:
                with self._locked():
                    kept, _ = self._texts(self._data())  # what others wrote while the lock was waited for
                    self._rewrite(kept)
            except OSError:  # a home that cannot be written to
                pass
        return kept

    def _data(self) -> bytes:
        try:
            with open(self._path, "rb") as file:  # noqa: PTH123
                return file.read()
        except OSError:  # there is none yet, or it cannot be read: nothing to go back to
            return b""

    def _texts(self, data: bytes) -> tuple[list[str], bool]:
        """The newest messages, and whether there was nothing to take out of any."""
        texts = [text for line in data.splitlines() if isinstance(text := _text(line), str)]
        safe = [self._redact(text) for text in texts]
        return list(dict.fromkeys(reversed(safe)))[:KEPT], safe == texts

    def _rewrite(self, newest_first: Iterable[str]) -> None:
        lines: list[bytes] = []
        room = LIMIT // 2
        for line in map(_line, newest_first):
            room -= len(line)
            if room < 0:
                break
            lines.append(line)
        beside = f"{self._path}.new"
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.fchmod(file, 0o600)
            _write(file, b"".join(reversed(lines)))
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(beside, self._path)  # noqa: PTH105
        folder = os.open(os.path.dirname(self._path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # noqa: PTH120
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """The file of this name, open to append, while nobody else writes or replaces it."""
        file = -1
        while file < 0:
            file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            fcntl.flock(file, fcntl.LOCK_EX)
            if not self._is_current(file):  # replaced while the lock was waited for
                os.close(file)
                file = -1
        try:
            os.fchmod(file, 0o600)
            yield file
        finally:
            os.close(file)

    def _is_current(self, file: int) -> bool:
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(file))  # noqa: PTH116
        except FileNotFoundError:
            return False


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _line(text: str) -> bytes:
    return json.dumps(text).encode() + b"\n"


def _text(line: bytes) -> object:
    try:
        return json.loads(line)
    except ValueError:  # a line that was cut off
        return None
