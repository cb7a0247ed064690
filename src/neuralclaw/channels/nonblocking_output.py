"""Standard output and error that never make their writer wait: a pipe that nobody reads or a stopped terminal stops one thread, and not the turn.

Whoever shows the events of a turn writes and then waits for `room`, so that at most `LIMIT` bytes and one event lie in memory. The turn does not
wait with it: what it shows meanwhile passes, and what is in the journal is read again from there.
"""

import asyncio
import io
import os
import select
import threading
from _queue import SimpleQueue  # the queue alone, without the module around it
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO, TextIO, cast

import anyio

LIMIT = 65_536
"""Bytes that may wait for a reader before `room` waits."""
PATIENCE = 1.0
"""Seconds without a byte taken after which output is given up once the process was told to stop."""
_CHUNK = 16_384


class _QueuedStream(io.RawIOBase):
    """One of the two streams: what is written to it goes into the queue."""

    def __init__(self, fd: int, put: Callable[[int, bytes], None]) -> None:
        self._fd, self._put = fd, put

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        return os.isatty(self._fd)

    def write(self, data: Any, /) -> int:
        piece = bytes(data)
        self._put(self._fd, piece)
        return len(piece)


class NonblockingOutput:
    """Two streams, `out` and `err`, and the thread that writes what they are given, in the order in which they were given it.

    A context manager: leaving it waits until all is written, and raises the `OSError` that a write ended with. Only one thread may write to
    the streams.
    """

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._queue: SimpleQueue[tuple[int, bytes] | None] = SimpleQueue()
        self._given = self._taken = 0  # bytes; the writer's thread alone changes the second
        self._thread: threading.Thread | None = None
        self._error: OSError | None = None
        self._hurried = False
        self.given_up = False
        """Nothing is written any more: a write failed, or nobody took anything when the process had to end."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting = 0
        self._moved, self._failed = anyio.Event(), anyio.Event()
        self.ended: Callable[[], None] | None = None
        """Called once all is written, before the error of a write is raised."""
        self.out, self.err = self._stream(out), self._stream(err)

    def _stream(self, stream: TextIO) -> TextIO:
        try:
            fd = stream.fileno()
        except OSError:  # it is in memory and takes everything at once
            return stream
        way = cast(BinaryIO, _QueuedStream(fd, self._put))
        return io.TextIOWrapper(way, encoding=stream.encoding, errors="replace", write_through=True)

    def __enter__(self) -> "NonblockingOutput":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        moved = True
        while moved:
            taken = self._taken
            moved = not self.close(PATIENCE if self._hurried else None) and taken != self._taken
        if self.ended is not None:
            self.ended()
        if self._error is not None and kind is None:
            raise self._error

    def close(self, seconds: float | None) -> bool:
        """End; whether all was written within the time. The wait can be interrupted by a signal."""
        if self._thread is None:
            return True
        self._queue.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def full(self) -> bool:
        """More waits to be written than should."""
        return self._given - self._taken > LIMIT and not self.given_up

    async def idle(self) -> None:
        """Wait until all was written, so that another program can write to the same place."""
        self._loop = asyncio.get_running_loop()
        self._waiting += 1
        try:
            while self._given > self._taken and not self.given_up:
                moved = self._moved
                if self._given > self._taken:  # looked at again: from here on the thread knows that somebody waits
                    await moved.wait()
        finally:
            self._waiting -= 1

    async def room(self) -> None:
        """Wait until what was written has found a reader, as far as it must; for ever, unless the process is told to stop."""
        while self.full:
            hurried, taken = self._hurried, self._taken
            with anyio.move_on_after(PATIENCE if hurried else None):
                await self._next_move()
            if hurried and taken == self._taken:
                self.given_up = True

    async def watch(self) -> None:
        """Raise the `OSError` that a write ended with (nobody will ever read it, the disk is full) as soon as it does."""
        self._loop = asyncio.get_running_loop()
        if self._error is None:
            await self._failed.wait()
        assert self._error is not None
        raise self._error

    def hurry(self) -> None:
        """The process shall end: from now on output that nobody takes is given up, after `PATIENCE`."""
        self._hurried = True
        self._stir()

    async def _next_move(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting += 1
        try:
            moved = self._moved
            if self.full:  # looked at again: from here on the thread knows that somebody waits
                await moved.wait()
        finally:
            self._waiting -= 1

    def _stir(self) -> None:
        moved, self._moved = self._moved, anyio.Event()
        moved.set()

    def _put(self, fd: int, data: bytes) -> None:
        if self.given_up:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="output", daemon=True)
            self._thread.start()
        self._given += len(data)
        self._queue.put((fd, data))

    def _serve(self) -> None:
        while (piece := self._queue.get()) is not None:
            fd, data = piece
            for at in range(0, len(data), _CHUNK):
                chunk = data[at : at + _CHUNK]
                try:
                    self._write(fd, chunk)
                except OSError as error:
                    self._error, self.given_up = error, True
                    self._call(self._failed.set)
                self._taken += len(chunk)
                if self._waiting and (self._hurried or not self.full):
                    self._call(self._stir)

    def _write(self, fd: int, data: bytes) -> None:
        while data and not self.given_up:
            try:
                data = data[os.write(fd, data) :]
            except BlockingIOError:  # another program at the same terminal made it so
                select.select([], [fd], [])

    def _call(self, what: Callable[[], object]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(what)
