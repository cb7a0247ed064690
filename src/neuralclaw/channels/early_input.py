"""The terminal between the start of the program and its prompt."""

import os
import select
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_EARLY = 4_096


@contextmanager
def early_input(fd: int) -> Iterator[tuple[str, list[Any]]]:
    """Keys that are pressed before the prompt is there are kept as they are: not shown, Enter still Enter. The terminal is as before afterwards.

    Gives the lines that were complete already, and the terminal's modes as they were.
    """
    before = termios.tcgetattr(fd)
    early = os.read(fd, _EARLY) if before[3] & termios.ICANON and select.select([fd], [], [], 0)[0] else b""
    raw = termios.tcgetattr(fd)
    raw[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR)
    raw[3] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(fd, termios.TCSANOW, raw)
    try:
        yield early.decode("utf-8", "replace"), before
    finally:
        try:
            termios.tcsetattr(fd, termios.TCSANOW, before)
        except termios.error:  # the terminal is gone
            pass
