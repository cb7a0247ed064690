"""Lines from a terminal, a pipe or a file as they arrive, so that waiting for one can be given up at any moment."""

import os
import select
import stat
import termios
from collections.abc import AsyncIterator
from contextlib import suppress

import anyio
import anyio.lowlevel

_CHUNK = 65_536


class LineReader:
    """The lines of a file descriptor. Nothing is lost when a wait is cancelled; the descriptor's own flags are left as they are."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.tty = os.isatty(fd)
        self._waits = self.tty or _can_wait(fd)
        self._buffer = bytearray()
        self._seen = 0
        self.ended = False

    @property
    def over(self) -> bool:
        """Whether nobody can write here any more, though what was written may not have been read yet."""
        if self.ended or not self._waits:
            return True
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return any(found & select.POLLHUP for _, found in poll.poll(0))

    @property
    def ahead(self) -> bool:
        """A person typed something before they were asked."""
        return bool(self._buffer) or (self.tty and bool(select.select([self._fd], [], [], 0)[0]))

    async def next(self) -> str | None:
        """The next line without its end, or None at the end of input. A last line without an end counts."""
        while True:
            at = self._buffer.find(b"\n", self._seen)
            if at >= 0:
                return self._take(at, 1)
            self._seen = len(self._buffer)
            if self.ended:
                return self._take(self._seen, 0) if self._buffer else None
            await self._more()

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await self.next()) is not None:
            yield line

    def _take(self, end: int, rest: int) -> str:
        line = bytes(self._buffer[:end])
        del self._buffer[: end + rest]
        self._seen = 0
        return line.decode("utf-8", "replace").removesuffix("\r")

    async def _more(self) -> None:
        if self._waits:
            await anyio.wait_readable(self._fd)
        else:
            await anyio.lowlevel.checkpoint()
        try:
            data = os.read(self._fd, _CHUNK)
        except OSError:  # the terminal is gone
            data = b""
        if data:
            self._buffer += data
        else:
            self.ended = True

    def forget(self) -> None:
        """Drop what a person typed at a terminal and nobody has read, half a line too: it was meant for a question that is not there."""
        if self.tty:
            if _is_ours(self._fd):
                with suppress(termios.error):  # the terminal is gone
                    termios.tcflush(self._fd, termios.TCIFLUSH)
            self._buffer.clear()
            self._seen = 0


def _is_ours(fd: int) -> bool:
    """Whether what is typed there is for this process; one in the background would be stopped for touching it."""
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:  # a terminal that controls no processes
        return True


def _can_wait(fd: int) -> bool:
    """Whether the system can tell when there is something to read: not so for files and `/dev/null`, which never block."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
