"""The program at a pseudo-terminal whose screen is emulated: what a person would see there."""

import copy
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable
from typing import Any

import pyte

from .program import DEADLINE, PYTHON, Claw

UP, CTRL_C, CTRL_D, CTRL_J, CTRL_R, ALT_ENTER, TAB = "\x1b[A", "\x03", "\x04", "\x0a", "\x12", "\x1b\r", "\t"


class Two(pyte.HistoryScreen):
    """With an alternate screen: what stood on the first one comes back."""

    kept: Any = None

    def set_mode(self, *modes: int, **how: Any) -> None:
        if how.get("private") and 1049 in modes and self.kept is None:
            self.kept = copy.deepcopy(dict(self.buffer)), copy.copy(self.cursor)
            self.erase_in_display(2)
        super().set_mode(*modes, **how)

    def reset_mode(self, *modes: int, **how: Any) -> None:
        if how.get("private") and 1049 in modes and self.kept is not None:
            lines, self.cursor = self.kept
            self.erase_in_display(2)
            self.buffer.update(lines)
            self.kept = None
        super().reset_mode(*modes, **how)


class Screen:
    """A terminal of a size; `text` is what stands on it, `all` also what scrolled away, `raw` every byte that came."""

    def __init__(self, claw: Claw, *words: str, columns: int = 80, rows: int = 24) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(claw.workspace)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execve(PYTHON[0], [*PYTHON, *words], claw.env | {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"})
        self._screen = Two(columns, rows, history=50_000, ratio=0.5)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        self._code: int | None = None

    def __enter__(self) -> "Screen":
        return self

    def __exit__(self, *_: object) -> None:
        if self._code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    @property
    def title(self) -> str:
        return str(self._screen.title)

    @property
    def all(self) -> str:
        width = self._screen.columns
        gone = ["".join(line[x].data for x in range(width)).rstrip() for line in self._screen.history.top]
        return "\n".join([*gone, self.text])

    def until(self, *wanted: str | Callable[["Screen"], object]) -> str:
        """Read until all of these stand on the screen (or hold of it); the screen."""
        deadline = time.monotonic() + DEADLINE
        while not all(one(self) if callable(one) else one in self.text for one in wanted):
            if not self._more(deadline):
                raise AssertionError(f"{wanted} did not appear; the screen:\n{self.all}")
        return self.text

    def type(self, text: str) -> None:
        data = text.encode()
        while data:  # a terminal takes a few thousand bytes at a time, and may write meanwhile
            readable, writable, _ = select.select([self.fd], [self.fd], [], DEADLINE)
            assert readable or writable
            if readable:
                self._more(0.0)
            if writable:
                data = data[os.write(self.fd, data[:1024]) :]

    def resize(self, columns: int, rows: int) -> None:
        self._screen.resize(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def hang_up(self) -> None:
        """The terminal goes away, as when its window is closed."""
        os.close(self.fd)
        self.fd = os.open(os.devnull, os.O_RDONLY)
        self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def left(self) -> bool:
        """Whether the program has ended, without anything being read."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self._code = os.waitstatus_to_exitcode(status)
        return bool(pid)

    def end(self) -> int:
        """Read to the end; the exit code."""
        deadline = time.monotonic() + DEADLINE
        while self._more(deadline):
            pass
        self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code

    def _more(self, deadline: float) -> bool:
        ready, _, _ = select.select([self.fd], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)
