"""The child's side of a conversion, for the readers and writers of file formats: everything is loaded, what could open something is closed, and only
then the first byte is read.

The answer on standard output: the length of a head as 8 bytes, the head as JSON (`Head`), then what was made. Whatever else a
parser raises ends the process, and the traceback's last line tells the parent. Imported by the agent for `Head` and `split` alone.
"""

import os
import sys
from collections.abc import Callable
from signal import SIGKILL
from typing import Any

import msgspec

from . import kernel
from .errors import ToolError

FILTER = 3
"""Which argument of the child is its seccomp filter, in hexadecimal; "" for none."""


class Head(msgspec.Struct, omit_defaults=True):
    """What goes before the bytes made: facts about the document, or why it was refused."""

    about: dict[str, Any] = {}
    refused: str = ""
    hint: str = ""


def answer(parent: int, convert: Callable[[bytes], tuple[dict[str, Any], bytes]]) -> None:
    """Convert standard input, bound to the life of the process `parent`. To be called when all that is needed has been imported."""
    kernel.die_with_parent(SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    _shut(bytes.fromhex(sys.argv[FILTER]))
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


def _shut(seccomp: bytes) -> None:
    """From here on no file, no socket and no pipe can be opened, and no process started or reached: the three streams use up every number that is allowed,
    Landlock opens no place, and the filter leaves the calls that computing takes. Where the kernel has no Landlock, or there is no filter for this kind of
    machine, the numbers hold alone."""
    import logging
    import resource

    logging.disable()  # a parser's complaints, thousands of them for one bad file
    resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))
    kernel.no_new_privileges()
    kernel.drop_capabilities()
    if abi := kernel.landlock_abi():
        ruleset = kernel.landlock_ruleset(abi)
        kernel.landlock_restrict(ruleset)
        os.close(ruleset)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    if seccomp:
        kernel.seccomp_filter(seccomp)
