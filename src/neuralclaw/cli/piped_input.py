"""What is piped in beside a task: read only where something is really piped, and attached to the task."""

import os
import re
import select
import stat
import sys

from ..errors import UsageError
from . import output
from .parsing import text_of

MOST = 2**20
"""Bytes of standard input that may go with a task (1 MB): more than a model's window takes, and a part of it would give a wrong answer."""
PATIENCE = 3.0
"""Seconds until the first byte, or the end, of a pipe whose writer says nothing: programs leave such pipes to those they start. `TASK -` waits for it."""
_CHUNK = 65_536
_UNSEEN = r"\s\x00-\x1f\x7f\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
_TAG = f"<(?=[{_UNSEEN}/]*{f'[{_UNSEEN}]*'.join('stdin')})"
"""What begins a tag of that name, in any spelling: large letters, blanks, characters that are not seen. Compiled where something is piped in."""


def attachment(*, wanted: bool) -> str:
    """The text that is piped in, "" where nothing is: a terminal, a closed or empty input, a device such as `/dev/null`.

    `wanted`: it was asked for (`TASK -`) and is waited for. Raises `UsageError` for more than 1 MB and for what is no text.
    """
    fd = _piped()
    if fd is None and not wanted:
        return ""
    if fd is not None and not wanted and not _speaks(fd):
        output.err().line(f"nothing came through the pipe in {PATIENCE:g} s: the task goes without it (`run TASK -` waits for it)", "dim")
        return ""
    data = _read(sys.stdin.fileno()) if sys.stdin is not None else b""
    if not data.strip():
        return ""
    text = readable(data)
    output.err().line(f"attached to the task: {len(data):,} bytes of standard input", "dim")
    return text


def attached(task: str, piped: str) -> str:
    """The task with what was piped in, marked as such. The text cannot leave its mark: a tag of that name in it begins with `&lt;`."""
    return f"{task}\n\n<stdin>\n{re.sub(_TAG, '&lt;', piped.rstrip(), flags=re.IGNORECASE)}\n</stdin>" if piped.strip() else task


def readable(data: bytes) -> str:
    """The bytes as text. Raises `UsageError` for what is none."""
    text = text_of(data)
    if "\0" in text or text.count("\ufffd") * 10 > len(text):
        raise UsageError(
            "standard input is not text (it looks like a binary file); nothing was run",
            hint="put the file into the workspace and name it in the task; a picture goes with --image FILE",
        )
    return text


def _piped() -> int | None:
    """The file descriptor of standard input where it is a pipe, a socket or a file."""
    if sys.stdin is None:
        return None
    try:
        fd = sys.stdin.fileno()
        mode = os.fstat(fd).st_mode
    except (OSError, ValueError):
        return None
    return fd if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISREG(mode) else None


def _speaks(fd: int) -> bool:
    """Whether there is something to read, or the end, within `PATIENCE`."""
    waiting = select.poll()
    waiting.register(fd, select.POLLIN | select.POLLHUP)
    return bool(waiting.poll(PATIENCE * 1000))


def _read(fd: int) -> bytes:
    data = bytearray()
    while piece := os.read(fd, _CHUNK):
        data += piece
        if len(data) > MOST:
            raise UsageError(
                "more than 1 MB is piped in, and at most 1 MB can go with a task; nothing was run",
                hint="pass on a part (… | tail -n 1000 | neuralclaw run TASK), or put it into a file of the workspace and name that",
            )
    return bytes(data)
