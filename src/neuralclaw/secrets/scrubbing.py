"""Takes secrets out of a stream of bytes of any size; every other byte stays as it is."""

import codecs
from collections.abc import Callable

from .redactor import Redactor

PIECE = 65_536
"""Bytes that are asked for at once; a reader may give fewer, which are passed on at once."""


def scrub(redactor: Redactor, read: Callable[[int], bytes], write: Callable[[bytes], object]) -> None:
    """Copy what `read` gives until it gives nothing. What could be the beginning of a secret waits for what follows it.

    The bytes need not be UTF-8: those that are none pass unchanged.
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="surrogateescape")
    stream = redactor.stream()
    while data := read(PIECE):
        if safe := stream.feed(decoder.decode(data)):
            write(safe.encode("utf-8", "surrogateescape"))
    if rest := stream.feed(decoder.decode(b"", final=True)) + stream.flush():
        write(rest.encode("utf-8", "surrogateescape"))
