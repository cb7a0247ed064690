"""What goes through the outbound proxy once a place is reached: one request and its answer, or a tunnel.

An exchange ends with its answer, as long as the answer says that it is, and not only when the place closes its connection. Where one side has ended, the other
may be silent for a while and no longer: a client that went away without a word keeps no connection.
"""

import asyncio
import re

import anyio
import anyio.abc

from .proxy_requests import HOP, ProxyRequest

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]

CHUNK = 1 << 16
"""Bytes that are handed on at a time, and that are held of a body at most."""
_INTERIM = re.compile(rb"HTTP/1\.[01] 1(?!01)")
"""Answers behind which another one comes: all of 1xx but the change to another protocol, which is not asked for."""
_BODILESS = re.compile(rb"HTTP/1\.[01] (?:204|304)\b")
_SIZE = re.compile(rb"[0-9a-fA-F]{1,15}")
_LENGTH = re.compile(rb"[0-9]{1,18}")


class _Traffic:
    """Of one connection of a client: whether one side has ended, and how many bytes were handed on."""

    def __init__(self) -> None:
        self.moved = 0
        self.ended = anyio.Event()
        self.sent = anyio.Event()
        """All of the request that will ever be sent on has been."""

    async def send(self, sink: asyncio.StreamWriter, data: bytes) -> None:
        sink.write(data)
        await sink.drain()
        self.moved += len(data)

    async def watch(self, seconds: float, scope: anyio.CancelScope) -> None:
        """Cancel when one side has ended and nothing was handed on for `seconds`."""
        await self.ended.wait()
        before = -1
        while before != self.moved:
            before = self.moved
            await anyio.sleep(seconds)
        scope.cancel()


async def tunnel(client: Ends, place: Ends, seconds: float) -> None:
    """Both directions until both have ended. `seconds`: how long one of them may be silent when the other has ended."""
    traffic = _Traffic()
    client[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    async with anyio.create_task_group() as work:
        work.start_soon(traffic.watch, seconds, work.cancel_scope)
        async with anyio.create_task_group() as both:
            both.start_soon(_relay, client[0], place[1], traffic)
            both.start_soon(_relay, place[0], client[1], traffic)
        work.cancel_scope.cancel()


async def exchange(request: ProxyRequest, client: Ends, place: Ends, seconds: float) -> None:
    """One request and its answer. What else the client sends is not handed on: it may be meant for another place. `seconds`: how long the place may be
    silent when the client has ended."""
    traffic = _Traffic()
    place[1].write(request.head)
    async with anyio.create_task_group() as work:
        work.start_soon(traffic.watch, seconds, work.cancel_scope)
        work.start_soon(_send_body, request, client[0], place[1], traffic)
        await _hand_back(request, place[0], client[1], traffic)
        traffic.ended.set()
        if not place[0].at_eof():
            await traffic.sent.wait()  # a place may answer first and read on
        work.cancel_scope.cancel()


async def _hand_back(request: ProxyRequest, source: asyncio.StreamReader, sink: asyncio.StreamWriter, traffic: _Traffic) -> None:
    """The answer, with whatever came before its last head."""
    try:
        while _INTERIM.match(head := await source.readuntil(b"\r\n\r\n")):
            await traffic.send(sink, head)
        await traffic.send(sink, _last(head))
        length = _length(request, head)
        if length is None:
            await _relay(source, sink, traffic)
        elif length < 0:
            await _relay_pieces(source, sink, traffic)
        else:
            await _relay_bytes(source, sink, length, traffic)
        if sink.can_write_eof():
            sink.write_eof()
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
        sink.transport.abort()


async def _send_body(request: ProxyRequest, source: asyncio.StreamReader, sink: asyncio.StreamWriter, traffic: _Traffic) -> None:
    """The body of the request; then look whether the client ends."""
    try:
        if request.chunked:
            await _relay_pieces(source, sink, traffic)
        else:
            await _relay_bytes(source, sink, request.length, traffic)
        traffic.sent.set()
        while await source.read(CHUNK):
            pass
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
        sink.transport.abort()
    traffic.sent.set()
    traffic.ended.set()


def _length(request: ProxyRequest, head: bytes) -> int | None:
    """Bytes of the body of this answer, -1 where it comes in pieces, None where it ends with the connection (RFC 9112, 6.3)."""
    if request.head.startswith(b"HEAD ") or _BODILESS.match(head):
        return 0
    pairs = [line.partition(b":")[::2] for line in head.split(b"\r\n")[1:]]
    codings = [value.strip().lower() for name, value in pairs if name.strip().lower() == b"transfer-encoding"]
    if codings:
        return -1 if codings[-1].rpartition(b",")[2].strip() == b"chunked" else None
    lengths = {value.strip() for name, value in pairs if name.strip().lower() == b"content-length"}
    length = lengths.pop() if len(lengths) == 1 else b""
    return int(length) if _LENGTH.fullmatch(length) else None


def _last(head: bytes) -> bytes:
    """The head of an answer, which says that nothing more is answered on this connection."""
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    kept = [line for line in lines if line.partition(b":")[0].strip().lower().decode("latin-1") not in HOP]
    return b"\r\n".join([first, *kept, b"Connection: close", b"", b""])


async def _relay(source: asyncio.StreamReader, sink: asyncio.StreamWriter, traffic: _Traffic) -> None:
    """Hand on until the source ends, and tell the sink so. An end that breaks off ends the other direction too."""
    try:
        while data := await source.read(CHUNK):
            await traffic.send(sink, data)
        if sink.can_write_eof():
            sink.write_eof()
    except OSError:
        sink.transport.abort()
    traffic.ended.set()


async def _relay_bytes(source: asyncio.StreamReader, sink: asyncio.StreamWriter, left: int, traffic: _Traffic) -> None:
    """So many bytes. Raises `EOFError` where the source ends before."""
    while left:
        data = await source.read(min(left, CHUNK))
        if not data:
            raise EOFError
        await traffic.send(sink, data)
        left -= len(data)


async def _relay_pieces(source: asyncio.StreamReader, sink: asyncio.StreamWriter, traffic: _Traffic) -> None:
    """A body in pieces that say how long they are, and the lines behind it. Raises `EOFError` where it ends before, `ValueError` for what is no length."""
    size = 1
    while size:
        line = await source.readuntil(b"\r\n")
        digits = line.partition(b";")[0].strip()
        if not _SIZE.fullmatch(digits):
            raise ValueError("this is no length of a chunk")
        size = int(digits, 16)
        await traffic.send(sink, line)
        if size:
            await _relay_bytes(source, sink, size + 2, traffic)
    while (line := await source.readuntil(b"\r\n")) != b"\r\n":
        await traffic.send(sink, line)
    await traffic.send(sink, line)
