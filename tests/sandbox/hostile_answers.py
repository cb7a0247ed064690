"""Answers of servers that want a fetch to hang, to grow, to break, or to lead it elsewhere. `@TRAP@` is the port of a server that nobody may reach."""

import gzip
import zlib
from collections.abc import Awaitable, Callable

import anyio
import anyio.abc
import brotli
from backports import zstd

Stream = anyio.abc.ByteStream
Answer = Callable[[Stream, dict[str, int]], Awaitable[None]]
H = b"HTTP/1.1 200 OK\r\n"
TEXT = H + b"Content-Type: text/plain\r\n"
ZEROS = bytes(60_000_000)


def sent(*parts: bytes, every: float = 0.0, forever: bytes = b"", close: bool = False) -> Answer:
    """Sends the parts, then one for ever; `every`: seconds between two."""

    async def answer(stream: Stream, ports: dict[str, int]) -> None:
        for part in parts:
            for name, port in ports.items():
                part = part.replace(name.encode(), b"%d" % port)
            await stream.send(part)
            await anyio.sleep(every)
        while forever:
            await stream.send(forever)
            await anyio.sleep(every)
        if close:
            await stream.aclose()

    return answer


def led(place: str) -> Answer:
    return sent(f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode())


def packed(coding: bytes, data: bytes) -> bytes:
    return TEXT + b"Content-Encoding: " + coding + b"\r\nContent-Length: %d\r\n\r\n" % len(data) + data


THRICE = gzip.compress(gzip.compress(gzip.compress(ZEROS)))
ZSTD_ZEROS = zstd.compress(ZEROS)


def wide_window() -> bytes:
    """A frame that asks for a window of 2^41 bytes."""
    return b"\x28\xb5\x2f\xfd" + bytes([0x00, 0xF8]) + b"\x01\x00\x00"


CASES: dict[str, Answer] = {
    "http/1.0 no length": sent(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nold body", close=True),
    "http/0.9": sent(b"just text no head\n", close=True),
    "no content type": sent(H + b"Content-Length: 5\r\n\r\nhello"),
    "endless body": sent(TEXT + b"\r\n", forever=b"a" * 65536),
    "endless chunks": sent(TEXT + b"Transfer-Encoding: chunked\r\n\r\n", forever=b"1000\r\n" + b"a" * 4096 + b"\r\n"),
    "endless tiny chunks": sent(TEXT + b"Transfer-Encoding: chunked\r\n\r\n", forever=b"1\r\na\r\n" * 1000),
    "chunk extension flood": sent(TEXT + b"Transfer-Encoding: chunked\r\n\r\n1;", forever=b"x" * 65536),
    "chunk size huge": sent(TEXT + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\nabc", close=True),
    "chunk size negative": sent(TEXT + b"Transfer-Encoding: chunked\r\n\r\n-1\r\nabc\r\n0\r\n\r\n", close=True),
    "chunk 0x": sent(TEXT + b"Transfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n", close=True),
    "trailer flood": sent(TEXT + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n", forever=b"X-A: b\r\n" * 5000),
    "slow header": sent(H, every=0.5, forever=b"X: y\r\n"),
    "slow header byte": sent(H + b"X: ", every=0.3, forever=b"y"),
    "slow body": sent(TEXT + b"Content-Length: 100000\r\n\r\n", every=0.3, forever=b"y"),
    "nothing at all": sent(b"H", every=60),
    "header flood": sent(H, forever=b"X-%d: y\r\n" % 7 * 1000),
    "one huge header": sent(H + b"X: ", forever=b"y" * 65536),
    "huge status line": sent(b"HTTP/1.1 200 ", forever=b"y" * 65536),
    "many cookies": sent(H + b"Set-Cookie: a=b; Domain=x\r\n" * 100 + b"Content-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"),
    "100 flood": sent(forever=b"HTTP/1.1 100 Continue\r\n\r\n" * 500),
    "103 flood slow": sent(every=0.1, forever=b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
    "100 then answer": sent(b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + TEXT + b"Content-Length: 2\r\n\r\nok"),
    "101 switching": sent(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x02hi", close=True),
    "101 h2c": sent(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", close=True),
    "h2 frames": sent(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + bytes(18), close=True),
    "ssh banner": sent(b"SSH-2.0-OpenSSH_9\r\n", close=True),
    "length mismatch short": sent(TEXT + b"Content-Length: 100\r\n\r\nonly this", close=True),
    "two lengths": sent(TEXT + b"Content-Length: 2\r\nContent-Length: 5\r\n\r\nhello", close=True),
    "length and chunked": sent(TEXT + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", close=True),
    "huge length": sent(TEXT + b"Content-Length: 99999999999999999999\r\n\r\nhi", close=True),
    "negative length": sent(TEXT + b"Content-Length: -5\r\n\r\nhi", close=True),
    "204 with body": sent(b"HTTP/1.1 204 No Content\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi", close=True),
    "status 000": sent(b"HTTP/1.1 000 x\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi", close=True),
    "status 999": sent(b"HTTP/1.1 999 x\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi", close=True),
    "status 1xx odd": sent(b"HTTP/1.1 199 x\r\n\r\n", close=True),
    "gzip bomb": sent(packed(b"gzip", gzip.compress(ZEROS)), close=True),
    "gzip thrice": sent(packed(b"gzip, gzip, gzip", THRICE), close=True),
    "deflate bomb": sent(packed(b"deflate", zlib.compress(ZEROS)), close=True),
    "br bomb": sent(packed(b"br", brotli.compress(ZEROS, quality=5)), close=True),
    "zstd bomb": sent(packed(b"zstd", ZSTD_ZEROS), close=True),
    "zstd huge window": sent(packed(b"zstd", wide_window()), close=True),
    "gzip many members": sent(packed(b"gzip", gzip.compress(b"a") * 100000), close=True),
    "gzip empty members forever": sent(TEXT + b"Content-Encoding: gzip\r\n\r\n", forever=gzip.compress(b"") * 2000),
    "zstd skippable forever": sent(TEXT + b"Content-Encoding: zstd\r\n\r\n", forever=(b"\x50\x2a\x4d\x18" + (1000).to_bytes(4, "little") + bytes(1000)) * 60),
    "br empty metablocks": sent(TEXT + b"Content-Encoding: br\r\n\r\n", forever=b"\x06" * 65536),
    "forty codings": sent(TEXT + b"Content-Encoding: " + b", ".join([b"gzip"] * 40) + b"\r\n\r\nx", close=True),
    "unknown coding": sent(packed(b"sdch", b"abc"), close=True),
    "compress coding": sent(packed(b"compress", b"\x1f\x9dabc"), close=True),
    "xz coding": sent(packed(b"xz", b"abc"), close=True),
    "gzip truncated": sent(packed(b"gzip", gzip.compress(b"hello world" * 50)[:-9]), close=True),
    "gzip lie": sent(packed(b"gzip", b"not gzip at all"), close=True),
    "identity coding": sent(packed(b"identity", b"fine"), close=True),
    "refresh header": sent(H + b"Refresh: 0; url=http://127.0.0.1:@TRAP@/\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\nrefresh", close=True),
    "redirect to self": led("/"),
    "redirect no location": sent(b"HTTP/1.1 302 Found\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nempty"),
    "redirect two locations": sent(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:@TRAP@/\r\nLocation: http://b.test:@FINE@/\r\nContent-Length: 0\r\n\r\n"),
    "redirect long": led("/" + "a" * 9000),
    "redirect 300": sent(b"HTTP/1.1 300 Multiple Choices\r\nLocation: http://127.0.0.1:@TRAP@/\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\n300"),
    "redirect 304": sent(b"HTTP/1.1 304 Not Modified\r\nLocation: http://127.0.0.1:@TRAP@/\r\n\r\n"),
    "redirect 305": sent(b"HTTP/1.1 305 Use Proxy\r\nLocation: http://127.0.0.1:@TRAP@/\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\n305"),
    "redirect endless body": sent(b"HTTP/1.1 302 Found\r\nLocation: http://b.test:@FINE@/\r\n\r\n", forever=b"a" * 65536),
    "content-location": sent(H + b"Content-Location: http://127.0.0.1:@TRAP@/\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"),
    "alt-svc": sent(H + b'Alt-Svc: h2="127.0.0.1:80"\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok'),
    "multipart": sent(
        H + b"Content-Type: multipart/x-mixed-replace; boundary=x\r\n\r\n--x\r\n", forever=b"\r\n--x\r\nContent-Type: text/plain\r\n\r\nhi", every=0.2
    ),
    "event stream": sent(H + b"Content-Type: text/event-stream\r\n\r\n", forever=b"data: x\n\n", every=0.2),
    "header with bytes": sent(H + b"X-\xff: \xfe\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"),
    "folded header": sent(H + b"X-A: a\r\n b\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"),
    "bare lf": sent(b"HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 2\n\nok", close=True),
    "reset": sent(b"HTTP/1.1 200 OK\r\nContent-", close=True),
}
