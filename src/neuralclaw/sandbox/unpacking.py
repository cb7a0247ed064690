"""Content codings of HTTP (gzip, deflate, br, zstd), undone in small pieces that are counted before the next one is made."""

import zlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from ..errors import ToolExecutionError
from ..types.cut_texts import cut_text

CODINGS = "gzip, deflate, br, zstd"
"""What a request offers."""
PIECE = 64 * 1024
"""Bytes that are unpacked at once."""
MOST_CODINGS = 4
"""Codings that may be laid upon one another; servers use one."""
MOST_MEMBERS = 100
"""Streams that may stand one behind the other in one body; servers send one, and each costs memory anew."""
_ZSTD_WINDOW = 23
"""Logarithm of the window, 8 MB: RFC 9659."""


class Unpacker(Protocol):
    """One coding. `unpack` gives what the bytes make, at most `PIECE` at a time; `ended` says whether all was there."""

    def unpack(self, data: bytes) -> Iterator[bytes]: ...
    @property
    def ended(self) -> bool: ...


class Unpacking:
    """A body that is unpacked while it arrives. `max_bytes` bounds what each coding gives, the packed body too.

    Raises `ToolExecutionError` for a coding that is not known.
    """

    def __init__(self, header: str, max_bytes: int) -> None:
        names = [name for name in (word.strip().lower() for word in header.split(",")) if name not in ("", "identity")]
        if len(names) > MOST_CODINGS:
            raise ToolExecutionError(f"it is packed {len(names)} times over")
        self._stages = [_stage(name) for name in reversed(names)]
        self._sizes = [0] * (len(names) + 1)
        self._max = max_bytes

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The unpacked pieces that these bytes complete. Raises `ToolExecutionError` when they are damaged or become too many."""
        try:
            yield from self._through(0, data)
        except (zlib.error, EOFError) as error:
            raise ToolExecutionError(f"its packed body is damaged ({error})") from error

    def finish(self) -> None:
        """Raises `ToolExecutionError` for a body that is cut short."""
        if self._sizes[0] and not all(stage.ended for stage in self._stages):
            raise ToolExecutionError("its packed body is cut short")

    def _through(self, stage: int, data: bytes) -> Iterator[bytes]:
        self._sizes[stage] += len(data)
        if self._sizes[stage] > self._max:
            raise ToolExecutionError(f"it is larger than the {self._max:,} bytes that are fetched at most{', once unpacked' if stage else ''}")
        if stage == len(self._stages):
            yield data
            return
        for piece in self._stages[stage].unpack(data):
            if piece:
                yield from self._through(stage + 1, piece)


def _stage(name: str) -> Unpacker:
    match name:
        case "gzip" | "x-gzip":
            return _Members(lambda: zlib.decompressobj(16 + zlib.MAX_WBITS), b"\x1f\x8b")
        case "deflate":
            return _Deflate()
        case "br":
            return _Brotli()
        case "zstd":
            return _Members(_Zstd, b"\x28\xb5\x2f\xfd")
    raise ToolExecutionError(f"it is packed as {cut_text(name, 40)!r}, which is not known; known are {CODINGS}")


class _Members:
    """gzip and zstd: streams that each have an end, one behind the other. What follows and does not begin as one is left alone, as browsers do."""

    def __init__(self, make: Callable[[], Any], magic: bytes) -> None:
        self._make, self._magic = make, magic
        self._stream: Any = make()
        self._members, self._held, self._over = 1, b"", False

    @property
    def ended(self) -> bool:
        return bool(self._over or self._stream.eof)

    def unpack(self, data: bytes) -> Iterator[bytes]:
        while not self._over:
            if self._stream.eof:
                data, self._held = self._held + data, b""
                if len(data) < len(self._magic):
                    self._held = data
                    return
                if not data.startswith(self._magic):
                    self._over = True
                    return
                self._next()
            yield from _drained(self._stream, data)
            if not self._stream.eof or not self._stream.unused_data:
                return
            data = self._stream.unused_data

    def _next(self) -> None:
        self._members += 1
        if self._members > MOST_MEMBERS:
            raise ToolExecutionError(f"its packed body has more than {MOST_MEMBERS} parts")
        self._stream = self._make()


class _Deflate:
    """zlib's format, and the bare one that some servers send under the same name."""

    def __init__(self) -> None:
        self._stream: Any = None
        self._held = b""

    @property
    def ended(self) -> bool:
        return self._stream is not None and bool(self._stream.eof)

    def unpack(self, data: bytes) -> Iterator[bytes]:
        if self._stream is None:
            data, self._held = self._held + data, b""
            if len(data) < 2:
                self._held = data
                return
            wrapped = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
            self._stream = zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
        if not self._stream.eof:
            yield from _drained(self._stream, data)


class _Brotli:
    def __init__(self) -> None:
        import brotli  # type: ignore[import-untyped]

        self._stream, self._error = brotli.Decompressor(), brotli.error

    @property
    def ended(self) -> bool:
        return bool(self._stream.is_finished())

    def unpack(self, data: bytes) -> Iterator[bytes]:
        try:
            while not self._stream.is_finished():
                piece = self._stream.process(data, output_buffer_limit=PIECE)
                yield piece
                data = b""
                if not piece and self._stream.can_accept_more_data():
                    return
        except self._error as error:
            raise ToolExecutionError(f"its packed body is damaged ({error})") from error


class _Zstd:
    """A frame, with the attributes of zlib's objects."""

    def __init__(self) -> None:
        import sys

        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd

        self._error = zstd.ZstdError
        self._stream = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW})
        self.unconsumed_tail = b""

    @property
    def eof(self) -> bool:
        return bool(self._stream.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._stream.unused_data)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        try:
            return bytes(self._stream.decompress(data, max_length))
        except self._error as error:
            raise ToolExecutionError(f"its packed body is damaged ({error})") from error


def _drained(stream: Any, data: bytes) -> Iterator[bytes]:
    """All that the bytes make, in pieces."""
    while True:
        piece = stream.decompress(data, PIECE)
        yield piece
        data = stream.unconsumed_tail
        if stream.eof or (not data and len(piece) < PIECE):
            return
