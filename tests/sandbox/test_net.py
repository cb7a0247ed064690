"""Requests under a grant: who is reached, what comes back, and which three errors there are."""

import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import anyio.abc
import pytest
from anyio.streams.tls import TLSStream

from neuralclaw.errors import PermissionDeniedError
from neuralclaw.sandbox.net import HttpNet
from neuralclaw.types.grants import Grant

from ..waiting import until
from .grants import host_grant

pytestmark = pytest.mark.anyio

Answer = Callable[[anyio.abc.SocketStream, bytes], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nX-Kind: test\r\n"


class Server:
    """An HTTP server by hand: it reads a request whole and answers with the test's own bytes."""

    def __init__(self, port: int) -> None:
        self.port, self.requests, self.connections = port, list[bytes](), 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def grant(self) -> Grant:
        return host_grant(self.host)


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[tuple[HttpNet, Server]]:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    server = Server(listener.extra(anyio.abc.SocketAttribute.local_port))
    net = HttpNet()

    async def talk(stream: anyio.abc.SocketStream) -> None:
        server.connections += 1
        async with stream:
            try:
                while request := await _request(stream):
                    server.requests.append(request)
                    await answer(stream, request)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, talk)
        yield net, server
        await net.aclose()
        tasks.cancel_scope.cancel()


async def _request(stream: anyio.abc.SocketStream) -> bytes:
    data = b""
    try:
        while b"\r\n\r\n" not in data:
            data += await stream.receive()
        head = data.partition(b"\r\n\r\n")[0].lower()
        size = int(head.partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
        while len(data) < len(head) + 4 + size:
            data += await stream.receive()
    except anyio.EndOfStream:
        return b""
    return data


async def hello(stream: anyio.abc.SocketStream, request: bytes) -> None:
    await stream.send(OK + b"Content-Length: 5\r\n\r\nhello")


async def get(net: HttpNet, granted: Grant, url: str, *, timeout: float = 5.0, body: bytes | None = None) -> bytes:
    async with net.request(granted, "POST" if body is not None else "GET", url, headers={"X-Mine": "1"}, body=body, timeout=timeout) as response:
        return b"".join([chunk async for chunk in response.chunks()])


async def test_a_request_arrives_as_it_was_given_and_its_answer_comes_back() -> None:
    async with serving(hello) as (net, server):
        url = f"http://{server.host}/v1/x?q=a%20b"
        async with net.request(
            server.grant(), "POST", url, headers={"X-Mine": "1", "Content-Type": "application/json"}, body=b'{"a": 1}', timeout=5
        ) as response:
            assert (response.status, response.headers["x-kind"], await response.read(100)) == (200, "test", b"hello")
        head, body = server.requests[0].split(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        assert lines[0] == b"POST /v1/x?q=a%20b HTTP/1.1"
        assert sorted(line.split(b":")[0].lower() for line in lines[1:]) == [
            b"accept",
            b"accept-encoding",
            b"content-length",
            b"content-type",
            b"host",
            b"x-mine",
        ]
        assert b"Accept-Encoding: identity" in lines
        assert body == b'{"a": 1}'


async def test_connections_are_kept_for_the_next_request() -> None:
    async with serving(hello) as (net, server):
        for _ in range(5):
            assert await get(net, server.grant(), f"http://{server.host}/", body=b"{}") == b"hello"
        assert (server.connections, len(server.requests)) == (1, 5)


async def test_no_more_than_asked_for_is_read() -> None:
    async def endless(stream: anyio.abc.SocketStream, request: bytes) -> None:
        await stream.send(OK + b"Content-Length: 1000000000\r\n\r\n")
        while True:
            await stream.send(b"x" * 65536)

    async with serving(endless) as (net, server), net.request(server.grant(), "GET", f"http://{server.host}/", headers={}, body=None, timeout=5) as response:
        assert await response.read(100_000) == b"x" * 100_000


@pytest.mark.invariant("gate.grant-needed")
@pytest.mark.parametrize("hosts", [(), ("other.example",), ("127.0.0.1:1",), ("127.0.0.2",), ("27.0.0.1",)])
async def test_only_hosts_of_the_grant_are_connected_to(hosts: tuple[str, ...]) -> None:
    async with serving(hello) as (net, server):
        with pytest.raises(PermissionDeniedError):
            await get(net, host_grant(*hosts), f"http://{server.host}/")
        assert server.connections == 0


async def test_a_host_without_a_port_stands_for_all_its_ports() -> None:
    async with serving(hello) as (net, server):
        assert await get(net, host_grant("127.0.0.1"), f"http://{server.host}/") == b"hello"


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://127.0.0.1/", "127.0.0.1", "http://", "http://127.0.0.1:99999/", "http://allowed@127.0.0.1:{port}/"]
)
async def test_other_schemes_and_broken_addresses_are_refused(url: str) -> None:
    async with serving(hello) as (net, server):
        with pytest.raises(PermissionDeniedError):
            await get(net, host_grant("allowed", ""), url.replace("{port}", str(server.port)))
        assert server.connections == 0


@pytest.mark.invariant("gate.grant-needed")
async def test_a_closed_grant_connects_to_nothing() -> None:
    async with serving(hello) as (net, server):
        closed = server.grant()
        closed.close()
        with pytest.raises(PermissionDeniedError):
            await get(net, closed, f"http://{server.host}/")
        assert server.connections == 0


async def test_a_redirect_is_given_back_and_not_followed() -> None:
    async def away(stream: anyio.abc.SocketStream, request: bytes) -> None:
        await stream.send(b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")

    async with serving(away) as (net, server), net.request(server.grant(), "GET", f"http://{server.host}/", headers={}, body=None, timeout=5) as response:
        assert (response.status, response.headers["Location"], len(server.requests)) == (302, "/elsewhere", 1)


async def test_cookies_are_not_kept() -> None:
    async def cookie(stream: anyio.abc.SocketStream, request: bytes) -> None:
        await stream.send(OK + b"Set-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")

    async with serving(cookie) as (net, server):
        for _ in range(2):
            await get(net, server.grant(), f"http://{server.host}/")
        assert not [request for request in server.requests if b"cookie" in request.lower()]


@pytest.mark.parametrize("head", [b"", OK, OK + b"Content-Length: 5\r\n\r\n", OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhe"])
async def test_silence_is_a_timeout_wherever_it_begins(head: bytes) -> None:
    async def silent(stream: anyio.abc.SocketStream, request: bytes) -> None:
        await stream.send(head or b" "[:0])
        await anyio.sleep_forever()

    async with serving(silent) as (net, server):
        with pytest.raises(TimeoutError, match=server.host):
            await get(net, server.grant(), f"http://{server.host}/", timeout=0.2)


async def test_a_slow_answer_that_keeps_coming_is_no_timeout() -> None:
    async def slow(stream: anyio.abc.SocketStream, request: bytes) -> None:
        await stream.send(OK + b"Content-Length: 6\r\n\r\n")
        for _ in range(6):
            await anyio.sleep(0.1)
            await stream.send(b"x")

    async with serving(slow) as (net, server):
        assert await get(net, server.grant(), f"http://{server.host}/", timeout=0.4) == b"x" * 6


CUTS = [b"", b"HTTP/1.1 20", OK, OK + b"Content-Length: 50\r\n\r\nhello", OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", b"nonsense\r\n\r\n"]


@pytest.mark.parametrize("sent", CUTS)
async def test_an_answer_cut_short_is_a_connection_error(sent: bytes) -> None:
    async def cut(stream: anyio.abc.SocketStream, request: bytes) -> None:
        if sent:
            await stream.send(sent)
        await stream.aclose()

    async with serving(cut) as (net, server):
        with pytest.raises(ConnectionError, match=server.host):
            await get(net, server.grant(), f"http://{server.host}/", body=b"{}")


async def test_nobody_there_is_a_connection_error() -> None:
    async with serving(hello) as (net, server):
        pass
    with pytest.raises(ConnectionError, match=server.host):
        await get(net, server.grant(), f"http://{server.host}/")
    with pytest.raises(ConnectionError, match="no-such-host"):
        await get(net, host_grant("no-such-host.invalid"), "http://no-such-host.invalid/")
    await net.aclose()


async def test_a_certificate_nobody_signed_is_a_connection_error(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, *subject], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    net = HttpNet()
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)

    async def shake(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            with suppress(ssl.SSLError, anyio.BrokenResourceError, anyio.EndOfStream):
                await TLSStream.wrap(stream, server_side=True, ssl_context=context)

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, shake)
        with pytest.raises(ConnectionError, match="no secure connection"):
            await get(net, host_grant("127.0.0.1"), f"https://127.0.0.1:{port}/")
        await net.aclose()
        tasks.cancel_scope.cancel()


async def test_leaving_early_and_being_cancelled_close_the_connection() -> None:
    closed = anyio.Event()

    async def trickle(stream: anyio.abc.SocketStream, request: bytes) -> None:
        await stream.send(OK + b"Content-Length: 50\r\n\r\nhello")
        try:
            await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            closed.set()
            raise anyio.ClosedResourceError from None

    async with serving(trickle) as (net, server):
        async with net.request(server.grant(), "GET", f"http://{server.host}/", headers={}, body=None, timeout=5) as response:
            assert await response.read(5) == b"hello"
        await until(closed.is_set)
        closed = anyio.Event()
        with anyio.move_on_after(0.1) as scope:
            await get(net, server.grant(), f"http://{server.host}/")
        assert scope.cancelled_caught
        await until(closed.is_set)


@pytest.mark.full
async def test_a_thousand_requests_run_at_once() -> None:
    everyone = anyio.Event()

    async def together(stream: anyio.abc.SocketStream, request: bytes) -> None:
        if len(server.requests) == 1000:
            everyone.set()
        await everyone.wait()
        await hello(stream, request)

    async with serving(together) as (net, server):
        async with anyio.create_task_group() as tasks:
            for _ in range(1000):
                tasks.start_soon(get, net, server.grant(), f"http://{server.host}/")
        assert len(server.requests) == 1000


async def test_a_server_that_only_promises_to_go_on_is_not_waited_for_for_ever() -> None:
    async def answer(stream: anyio.abc.SocketStream, request: bytes) -> None:
        while True:
            await stream.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            await anyio.sleep(0.01)

    async with serving(answer) as (net, server):
        with anyio.fail_after(5), pytest.raises(TimeoutError, match="did not answer in time"):
            async with net.request(server.grant(), "GET", f"http://{server.host}/", headers={}, body=None, timeout=0.2):
                pass
