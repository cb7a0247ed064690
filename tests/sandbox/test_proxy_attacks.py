"""Clients of the outbound proxy that attack it: nothing reaches a place by another one's name, and the proxy goes on."""

import base64
import resource
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import anyio.abc
import pytest

from neuralclaw.errors import PermissionDeniedError
from neuralclaw.sandbox.outbound_proxy import OutboundProxy, listening
from neuralclaw.types.grants import Envelope, Grant

from .web_world import Answer, World, page

pytestmark = [pytest.mark.anyio, pytest.mark.full]


def one_answer(body: bytes) -> Answer:
    """Answers once and ends the connection, as a proxy asks for."""

    async def answer(stream: anyio.abc.ByteStream, request: bytes) -> None:
        await page(body)(stream, request)
        await stream.aclose()

    return answer


class Attacked:
    """A proxy whose command reaches `site.test` alone, which is a server of the test; `asked` are the places that were to be judged."""

    def __init__(self, port: int, silent_seconds: float = 30.0) -> None:
        self.asked = list[str]()
        self.site = port

        async def judge(host: str, port: int) -> tuple[str, ...]:
            self.asked.append(f"{host}:{port}")
            if host != "site.test":
                raise PermissionDeniedError(f"{host} is not among the places of this permission")
            return ("127.0.0.1",)

        envelope = Envelope(execute=True, network=True)
        grant = Grant(session="s", call_id="c", tool="t", arguments={}, workspace="/", hash="", envelope=envelope, judge_place=judge)
        self.proxy = OutboundProxy(grant, silent_seconds=silent_seconds)
        self.listener = listening()
        self.port = self.listener.getsockname()[1]
        address = urlsplit(self.proxy.environment({}, self.port)["http_proxy"])
        self.login = f"Proxy-Authorization: Basic {base64.b64encode(f'{address.username}:{address.password}'.encode()).decode()}\r\n".encode()

    async def connect(self) -> anyio.abc.SocketStream:
        return await anyio.connect_tcp("127.0.0.1", self.port)

    async def answer(self, lines: bytes, behind: bytes = b"") -> bytes:
        """All that comes back for a request; `lines`: its head without the last empty line."""
        async with await self.connect() as client:
            await client.send(lines.replace(b"site.test", b"site.test:%d" % self.site) + self.login + b"\r\n" + behind)
            return b"".join([part async for part in client])


async def run(answer: Answer, attack: Callable[[Attacked], Awaitable[bytes]], *, silent_seconds: float = 30.0) -> tuple[bytes, list[bytes], Attacked]:
    """What the attack gives, the requests that the server got, and the proxy."""
    async with World({}, []).open() as here:
        server = await here.serve(answer)
        proxy = Attacked(server.port, silent_seconds)
        with anyio.fail_after(5):
            return await proxy.proxy.beside(proxy.listener, lambda: attack(proxy)), server.requests, proxy


async def test_a_second_request_behind_the_first_goes_nowhere() -> None:
    second = b"GET http://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\nGET / HTTP/1.1\r\nHost: other.test\r\n\r\n"
    said, requests, proxy = await run(one_answer(b"one"), lambda p: p.answer(b"GET http://site.test/ HTTP/1.1\r\nHost: other.test\r\n", second))
    assert said.endswith(b"\r\n\r\none")
    assert (len(requests), len(proxy.asked)) == (1, 1)
    assert b"other.test" not in requests[0]


@pytest.mark.parametrize(
    "lines",
    [
        b"GET http://site.test/ HTTP/1.1\r\nX: a\nHost: other.test\r\n",
        b"GET http://site.test/ HTTP/1.1\r\nX: a\rHost: other.test\r\n",
        b"GET http://site.test/ HTTP/1.1\r\nX: a\0b\r\n",
        b"GET http://site.test/\x0bx HTTP/1.1\r\n",
        b"POST http://site.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        b"POST http://site.test/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n",
        b"POST http://site.test/ HTTP/1.1\r\nTransfer-Encoding : xchunked\r\n",
        b"POST http://site.test/ HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"POST http://site.test/ HTTP/1.1\r\nContent-Length: 5, 6\r\n",
        b"POST http://site.test/ HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n",
        b"GET http://other.test:0/ HTTP/1.1\r\n",
        b"CONNECT other.test:0 HTTP/1.1\r\n",
        b"CONNECT site.test HTTP/1.1\r\nX: a\nProxy-Authorization: Basic eDp4\r\n",
        b"CONNECT http://site.test/ HTTP/1.1\r\n",
        b"GET https://site.test/ HTTP/1.1\r\n",
        b"GET //site.test/ HTTP/1.1\r\n",
        b"PRI * HTTP/2.0\r\n",
    ],
)
async def test_a_request_that_two_readers_could_take_differently_is_refused(lines: bytes) -> None:
    said, requests, proxy = await run(one_answer(b"one"), lambda p: p.answer(lines))
    assert said.startswith(b"HTTP/1.1 400 ")
    assert requests == proxy.asked == []


@pytest.mark.parametrize("size", [b"-1", b"+3", b"0x3", b"3_0", b"", b"fffffffffffffffffff"])
async def test_a_body_in_pieces_of_no_length_ends_there(size: bytes) -> None:
    hidden = b"GET /hidden HTTP/1.1\r\nHost: other.test\r\n\r\n"
    head = b"POST http://site.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"

    async def silent(stream: anyio.abc.ByteStream, request: bytes) -> None:
        assert b"hidden" not in request

    _, requests, _ = await run(silent, lambda p: p.answer(head, size + b"\r\n" + hidden))
    assert len(requests) == 1


async def test_a_head_that_is_too_long_is_told_so() -> None:
    said, _, proxy = await run(one_answer(b""), lambda p: p.answer(b"GET http://site.test/ HTTP/1.1\r\nX: " + b"a" * 200_000 + b"\r\n"))
    assert said.startswith(b"HTTP/1.1 431 ")
    assert proxy.asked == []


async def test_no_change_to_another_protocol_is_asked_for_or_waited_behind() -> None:
    async def switch(stream: anyio.abc.ByteStream, request: bytes) -> None:
        await stream.send(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        await stream.aclose()

    lines = b"GET http://site.test/ HTTP/1.1\r\nConnection: Upgrade, keep-alive\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n"
    said, requests, _ = await run(switch, lambda p: p.answer(lines))
    assert b"pgrade" not in requests[0]
    assert said == b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 101 Switching Protocols\r\nConnection: close\r\n\r\n"


async def test_who_guesses_the_password_learns_nothing_and_looks_nothing_up() -> None:
    async def guess(proxy: Attacked) -> bytes:
        proxy.login = b"Proxy-Authorization: Basic Y29tbWFuZDpndWVzcw==\r\n"
        return await proxy.answer(b"CONNECT secret-data.other.test:443 HTTP/1.1\r\n")

    said, _, proxy = await run(one_answer(b""), guess)
    assert said.startswith(b"HTTP/1.1 407 ")
    assert proxy.asked == []
    assert proxy.proxy.refused == ()


async def test_a_client_that_never_reads_stops_its_server() -> None:
    sent = [0]

    async def flood(stream: anyio.abc.ByteStream, request: bytes) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            await stream.send(bytes(1 << 16))
            sent[0] += 1 << 16

    async def attack(proxy: Attacked) -> bytes:
        async with await proxy.connect() as client:
            await client.send(b"GET http://site.test:%d/ HTTP/1.1\r\n" % proxy.site + proxy.login + b"\r\n")
            before = -1
            while before != sent[0] or not sent[0]:
                before = sent[0]
                with anyio.move_on_after(0.3):
                    await anyio.sleep_forever()
        return b""

    await run(flood, attack)
    assert sent[0] < 40 << 20  # what the kernel keeps of three sockets


async def test_a_thousand_connections_leave_the_proxy_working_also_where_no_file_can_be_opened() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def attack(proxy: Attacked) -> bytes:
        clients = []
        opened = len([*Path("/proc/self/fd").iterdir()])
        resource.setrlimit(resource.RLIMIT_NOFILE, (opened + 60, hard))
        try:
            for _ in range(1000):
                try:
                    clients.append(await proxy.connect())
                except OSError:
                    break
            with anyio.move_on_after(0.3):
                await anyio.sleep_forever()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for client in clients:
            await client.aclose()
        return await proxy.answer(b"GET http://site.test/ HTTP/1.1\r\n")

    said, _, _ = await run(one_answer(b"still"), attack)
    assert said.endswith(b"still")


async def test_a_tunnel_ends_with_its_command() -> None:
    async with World({}, []).open() as here:
        server = await here.serve(page(b"one"))
        proxy = Attacked(server.port)

        async def attack() -> anyio.abc.SocketStream:
            client = await proxy.connect()
            await client.send(b"CONNECT site.test:%d HTTP/1.1\r\n" % server.port + proxy.login + b"\r\n")
            assert (await client.receive()).startswith(b"HTTP/1.1 200 ")
            return client

        with anyio.fail_after(5):
            client = await proxy.proxy.beside(proxy.listener, attack)
            with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                await client.receive()
            await client.aclose()
        with pytest.raises(OSError, match="connect"):
            await proxy.connect()


def kept_open(answer: bytes) -> Answer:
    """Answers, and never ends the connection, whatever it was asked for."""

    async def send(stream: anyio.abc.ByteStream, request: bytes) -> None:
        await stream.send(answer)

    return send


@pytest.mark.parametrize(
    ("lines", "answer", "body"),
    [
        (b"GET http://site.test/ HTTP/1.1\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none", b"one"),
        (b"GET http://site.test/ HTTP/1.1\r\n", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 No\r\ncontent-length: 3\r\n\r\none", b"one"),
        (b"GET http://site.test/ HTTP/1.1\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\nX: y\r\n\r\n", b"0\r\nX: y\r\n\r\n"),
        (b"HEAD http://site.test/ HTTP/1.1\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", b"\r\n\r\n"),
        (b"GET http://site.test/ HTTP/1.1\r\n", b"HTTP/1.1 204 No Content\r\n\r\n", b"\r\n\r\n"),
        (b"GET http://site.test/ HTTP/1.1\r\n", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", b"\r\n\r\n"),
        (b"POST http://site.test/ HTTP/1.1\r\nContent-Length: 0\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"\r\n\r\n"),
    ],
)
async def test_a_request_ends_with_its_answer_also_where_the_server_keeps_the_connection(lines: bytes, answer: bytes, body: bytes) -> None:
    async def many(proxy: Attacked) -> bytes:
        return b"|".join([await proxy.answer(lines) for _ in range(140)])

    said, requests, _ = await run(kept_open(answer), many)
    assert len(requests) == 140
    assert all(one.endswith(body) for one in said.split(b"|"))


async def test_a_server_that_answers_first_and_reads_on_gets_the_whole_body() -> None:
    got = list[bytes]()

    async def early(stream: anyio.abc.ByteStream, request: bytes) -> None:
        got.append(request.partition(b"\r\n\r\n")[2])
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        while sum(map(len, got)) < 300_000:
            got.append(await stream.receive())

    async def attack(proxy: Attacked) -> bytes:
        async with await proxy.connect() as client:
            await client.send(b"POST http://site.test:%d/ HTTP/1.1\r\nContent-Length: 300000\r\n" % proxy.site + proxy.login + b"\r\n" + b"a" * 150_000)
            while not (await client.receive()).endswith(b"ok"):
                pass
            await client.send(b"b" * 150_000)
            assert [part async for part in client] == []
        return b""

    await run(early, attack)
    assert b"".join(got) == b"a" * 150_000 + b"b" * 150_000


@pytest.mark.parametrize(
    "head", [b"POST http://site.test:%d/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", b"POST http://site.test:%d/ HTTP/1.1\r\nContent-Length: 1%015d\r\n"]
)
async def test_a_body_that_no_server_reads_is_not_gathered_here(head: bytes) -> None:
    sent = [0]

    async def deaf(stream: anyio.abc.ByteStream, request: bytes) -> None:
        await anyio.sleep_forever()

    async def attack(proxy: Attacked) -> bytes:
        async with await proxy.connect() as client:
            lines = head % ((proxy.site, 0) if head.count(b"%") > 1 else proxy.site)
            await client.send(lines + proxy.login + b"\r\n" + (b"fffffffffffffff\r\n" if b"chunked" in head else b""))
            while sent[0] < 100 << 20:
                with anyio.move_on_after(0.5) as slow:
                    await client.send(bytes(1 << 18))
                    sent[0] += 1 << 18
                if slow.cancelled_caught:
                    break
        return b""

    await run(deaf, attack)
    assert sent[0] < 40 << 20  # what the kernel keeps of three sockets


@pytest.mark.parametrize("lines", [b"GET http://site.test/ HTTP/1.1\r\n", b"CONNECT site.test HTTP/1.1\r\n"])
async def test_a_client_that_has_ended_keeps_no_connection_that_is_silent(lines: bytes) -> None:
    async def silent(stream: anyio.abc.ByteStream, request: bytes) -> None:
        await anyio.sleep_forever()

    async def half_closed(proxy: Attacked) -> bytes:
        async with await proxy.connect() as client:
            await client.send(lines.replace(b"site.test", b"site.test:%d" % proxy.site) + proxy.login + b"\r\n")
            await client.send_eof()
            return b"".join([part async for part in client])

    said, _, _ = await run(silent, half_closed, silent_seconds=0.05)
    assert said in (b"", b"HTTP/1.1 200 Connection established\r\n\r\n")
