"""The child's side of a conversion, for the readers and writers of file formats: everything is loaded, what could open something is closed, and only
then the first byte is read.

The answer on standard output: the length of a head as 8 bytes, the head as JSON (`Head`), then what was made. Whatever else a
parser raises ends the process, and the traceback's last line tells the parent. Imported by the agent for `Head` and `split` alone.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from .errors import ToolError


class Head(msgspec.Struct, omit_defaults=True):
    """What goes before the bytes made: facts about the document, or why it was refused."""

    about: dict[str, Any] = {}
    refused: str = ""
    hint: str = ""


def answer(parent: int, convert: Callable[[bytes], tuple[dict[str, Any], bytes]]) -> None:
    """Convert standard input, bound to the life of the process `parent`. To be called when all that is needed has been imported."""
    _die_with(parent)
    _shut()
    try:
        about, made = convert(sys.stdin.buffer.read())
        head = Head(about)
    except ToolError as error:
        head, made = Head(refused=error.text, hint=error.hint), b""
    text = msgspec.json.encode(head)
    sys.stdout.buffer.write(len(text).to_bytes(8, "big") + text + made)
    sys.stdout.buffer.flush()
    os._exit(0)  # taking a large tree apart would only cost time


def split(output: bytes) -> tuple[Head, bytes]:
    """Head and bytes of an answer. Raises `msgspec.DecodeError` for what is none."""
    end = 8 + int.from_bytes(output[:8], "big")
    return msgspec.json.decode(output[8:end], type=Head), output[end:]


def _die_with(parent: int) -> None:
    import ctypes
    from signal import SIGKILL

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def _shut() -> None:
    """From here on no file, no socket and no pipe can be opened: the three streams use up every number that is allowed."""
    import logging
    import resource

    logging.disable()  # a parser's complaints, thousands of them for one bad file
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
