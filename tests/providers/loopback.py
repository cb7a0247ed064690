"""A scripted model service on loopback, and what a provider needs to reach it."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from neuralclaw.sandbox.net import HttpNet
from neuralclaw.types.grants import Envelope, Grant

EVENT_STREAM = "text/event-stream"


class Response:
    """What the server says next: its `pieces` one by one, then the end of the body, at once or `late`.

    `kind` is its media type: "" the server's, None no header. `cut`: then the connection is reset; `hang`: then nothing more comes.
    """

    def __init__(
        self,
        pieces: Sequence[bytes] = (),
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        kind: str | None = "",
        then: str = "end",
    ) -> None:
        self.pieces = list(pieces)
        self.status = status
        self.headers = dict(headers or {})
        self.kind = kind
        assert then in ("end", "late", "cut", "hang")
        self.then = then


class Seen:
    """A request as it arrived."""

    def __init__(self, path: str, headers: dict[str, str], body: bytes) -> None:
        self.path, self.headers, self.body = path, headers, body

    @property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = msgspec.json.decode(self.body)
        return value


class LoopbackServer:
    """Speaks HTTP/1.1 by hand, so that every byte and every fault is the test's own.

    `script` answers the requests in order, the last one for ever after; a function of the request works too.
    """

    def __init__(self) -> None:
        self.script: list[Response] = []
        self.answer: Callable[[Seen], Response] | None = None
        self.seen: list[Seen] = []
        self.connections = 0
        self.lost = 0
        self.port = 0
        self.kind = EVENT_STREAM
        """Media type of responses that name none."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def says(self, *responses: Response) -> None:
        self.script = list(responses)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        seen = Seen(head[0].split()[1], headers, await reader.readexactly(int(headers.get("content-length", "0"))))
        self.seen.append(seen)
        response = self.answer(seen) if self.answer else self.script.pop(0) if len(self.script) > 1 else self.script[0]
        kind = self.kind if response.kind == "" else response.kind
        named = {"Content-Type": kind} | response.headers if kind else response.headers
        lines = [f"HTTP/1.1 {response.status} X", "Transfer-Encoding: chunked", *(f"{name}: {value}" for name, value in named.items())]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        try:
            for piece in response.pieces:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
                await asyncio.sleep(0)
            if response.then == "hang":
                await writer.drain()
                await reader.read()  # until the client goes away
        except ConnectionError:  # it went away earlier
            self.lost += 1
            return False
        if response.then == "hang":
            self.lost += 1
            return False
        if response.then == "cut":
            await writer.drain()
            writer.transport.abort()
            return False
        if response.then == "late":
            for _ in range(50):  # client and server share a loop: by then it has read all there is
                await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


@asynccontextmanager
async def loopback() -> AsyncGenerator[LoopbackServer]:
    """A server of this test alone."""
    server = LoopbackServer()
    listening = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()


def grant_for(host: str) -> Grant:
    """A standing grant as the gate makes it for a configured host."""
    return Grant(session="home", call_id="", tool="", arguments={}, workspace="/", hash="", envelope=Envelope(hosts=(host,), network=True))


@asynccontextmanager
async def net() -> AsyncGenerator[HttpNet]:
    """The program's own connections, closed at the end."""
    made = HttpNet()
    try:
        yield made
    finally:
        await made.aclose()


def free_port() -> int:
    """A port that nobody listens on now, for programs that must be told one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
