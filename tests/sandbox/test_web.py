"""Fetching from real servers: who is connected to, where redirects lead, and what ends a fetch that takes too much."""

import gzip
import ssl
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import aiohttp
import anyio
import anyio.abc
import brotli
import pytest
from backports import zstd

from neuralclaw.errors import PermissionDeniedError, ToolError, ToolExecutionError, ToolTimeoutError
from neuralclaw.sandbox.judged_connection import judged_connector
from neuralclaw.sandbox.web_client import WebClient
from neuralclaw.types.proxies import unused_proxy
from neuralclaw.types.signals import Denied

from .web_world import Stream, page, redirect, world

pytestmark = pytest.mark.anyio

HOME = [["127.0.0.1"]]


async def test_a_page_comes_from_the_judged_address_under_its_name_after_one_look_up() -> None:
    async with world(a=[["127.0.0.3"]]).open() as here:
        server = await here.serve(page(b"hello"), "127.0.0.3")
        found = await here.fetch(f"http://A.test.:{server.port}/x?y=ä#z")
        assert (found.url, found.status, found.body, found.redirects) == (f"http://a.test:{server.port}/x?y=%C3%A4", 200, b"hello", ())
        assert found.headers["content-type"] == "text/plain"
        assert server.requests[0].startswith(f"GET /x?y=%C3%A4 HTTP/1.1\r\nHost: a.test:{server.port}\r\n".encode())
        assert here.asked == ["a.test"]


@pytest.mark.invariant("gate.as-judged")
async def test_a_host_that_moves_after_it_was_judged_is_still_reached_where_it_was_judged() -> None:
    async with world(a=[["127.0.0.2"], ["127.0.0.1"]]).open() as here:
        judged = await here.serve(page(b"judged"), "127.0.0.2")
        moved = await here.serve(page(b"moved"), "127.0.0.1", judged.port)
        assert (await here.fetch(f"http://a.test:{judged.port}/")).body == b"judged"
        assert (here.asked, moved.connections) == (["a.test"], 0)


async def test_no_socket_is_made_for_an_address_that_was_not_judged_whatever_asks_for_it() -> None:
    async with world().open() as here:
        server = await here.serve(page(b"x"))
        for url in (f"http://127.0.0.1:{server.port}/", f"http://a.test:{server.port}/", f"http://localhost:{server.port}/"):
            async with aiohttp.ClientSession(connector=judged_connector("a.test", ["127.0.0.2"], None)) as session:
                with pytest.raises(OSError, match=r"not judged|not an address that was judged|Connect call failed"):
                    await session.get(url)
        assert server.connections == 0


async def test_a_host_that_a_redirect_leads_back_to_is_not_looked_up_again() -> None:
    async with world(a=[["127.0.0.2"], ["10.0.0.1"]], b=[["127.0.0.3"], ["10.0.0.1"]]).open() as here:
        last = await here.serve(page(b"end"), "127.0.0.2")
        middle = await here.serve(redirect(f"http://a.test:{last.port}/end"), "127.0.0.3")

        async def start(stream: Stream, request: bytes) -> None:
            await redirect("/again" if request.startswith(b"GET / ") else f"http://b.test:{middle.port}/")(stream, request)

        first = await here.serve(start, "127.0.0.2")
        assert (await here.fetch(f"http://a.test:{first.port}/")).body == b"end"
        assert here.asked == ["a.test", "b.test"]


async def test_addresses_that_do_not_answer_are_passed_over_for_other_judged_ones() -> None:
    async with world(a=[["127.0.0.9", "127.0.0.1"]]).open() as here:
        server = await here.serve(page(b"second"), "127.0.0.1")
        assert (await here.fetch(f"http://a.test:{server.port}/")).body == b"second"


async def test_every_redirect_is_looked_up_and_judged_once_and_followed() -> None:
    async with world(a=HOME, b=[["127.0.0.2"]], c=[["127.0.0.3"]]).open() as here:
        last = await here.serve(page(b"end"), "127.0.0.3")
        middle = await here.serve(redirect(f"//c.test:{last.port}/end?q#f", "308 Permanent Redirect"), "127.0.0.2")
        first = await here.serve(redirect(f"http://b.test:{middle.port}/über uns", "301 Moved"))
        found = await here.fetch(f"http://a.test:{first.port}/start")
        assert (found.url, found.body) == (f"http://c.test:{last.port}/end?q", b"end")
        assert found.redirects == (f"http://a.test:{first.port}/start", f"http://b.test:{middle.port}/%C3%BCber%20uns")
        assert here.asked == ["a.test", "b.test", "c.test"]


@pytest.mark.parametrize(
    "place",
    [
        "http://evil.test:{port}/",
        "http://127.0.0.1:{port}/",
        "http://127.1:{port}/",
        "http://2130706433:{port}/",
        "http://localhost:{port}/",
        "http://[::1]:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "//127.0.0.1:{port}/",
        "http://a.test:22/",
        "http://u:p@a.test:{port}/",
        "http://nowhere.test/",
        "file:///etc/passwd",
        "ftp://a.test/",
        "javascript:alert(1)",
        "gopher://a.test:{port}/_",
        "http://[",
        "\\\\a.test\\x",
    ],
)
@pytest.mark.invariant("gate.as-judged")
async def test_a_redirect_that_leads_anywhere_else_is_not_followed(place: str) -> None:
    async with world(a=HOME, evil=HOME, opened=["a.test"]).open() as here:
        inside = await here.serve(page(b"secret"))
        first = await here.serve(redirect(place.replace("{port}", str(inside.port))))
        with pytest.raises((PermissionDeniedError, ToolError), match="redirects to"):
            await here.fetch(f"http://a.test:{first.port}/")
        assert (inside.connections, first.connections) == (0, 1)


async def test_ten_redirects_are_followed_and_the_eleventh_is_not() -> None:
    async def count(stream: Stream, request: bytes) -> None:
        left = int(request.split()[1][1:])
        await (redirect(f"/{left - 1}") if left else page(b"there"))(stream, request)

    async with world().open() as here:
        server = await here.serve(count)
        found = await here.fetch(f"http://a.test:{server.port}/10")
        assert (found.body, len(found.redirects)) == (b"there", 10)
        with pytest.raises(ToolExecutionError, match="more than 10 times"):
            await here.fetch(f"http://a.test:{server.port}/11")


async def test_an_answer_that_only_looks_like_a_redirect_is_the_answer() -> None:
    async with world().open() as here:
        for answer in (page(b"x", status="302 Found"), page(b"x", "Location: /y", status="200 OK"), page(b"", "Location: /y", status="304 Not Modified")):
            server = await here.serve(answer)
            assert (await here.fetch(f"http://a.test:{server.port}/")).redirects == ()


@pytest.mark.invariant("gate.grant-needed")
async def test_only_the_address_of_the_call_is_fetched_and_only_while_the_grant_is_open() -> None:
    async with world(a=HOME, b=HOME).open() as here:
        server = await here.serve(page(b"x"))
        url = f"http://a.test:{server.port}/"
        grant = await here.grant(url)
        for other in (f"{url}other", f"http://b.test:{server.port}/", f"http://127.0.0.1:{server.port}/", f"http://a.test:{server.port + 1}/"):
            with pytest.raises(PermissionDeniedError):
                await here.web.fetch(grant, other, headers={}, max_bytes=10, seconds=5)
        grant.close()
        with pytest.raises(PermissionDeniedError):
            await here.web.fetch(grant, url, headers={}, max_bytes=10, seconds=5)
        assert server.connections == 0
        with pytest.raises(Denied):
            await here.grant(f"http://127.0.0.1:{server.port}/")


@pytest.mark.invariant("gate.one-call")
async def test_where_a_redirect_leads_is_fetched_only_while_the_permission_of_the_call_is_open() -> None:
    async with world(a=HOME, b=HOME).open() as here:
        server = await here.serve(page(b"x"))
        grant = await here.grant(f"http://a.test:{server.port}/")
        url = f"http://b.test:{server.port}/"
        moved = await grant.follow(url)
        further = await moved.follow(f"{url}further")
        grant.close()
        for each in (moved, further):
            with pytest.raises(PermissionDeniedError):
                await here.web.fetch(each, next(iter(each.envelope.urls)), headers={}, max_bytes=10, seconds=5)
            with pytest.raises(PermissionDeniedError):
                await each.follow(url)
        assert server.connections == 0


async def test_no_proxy_of_the_environment_sees_a_fetch(monkeypatch: pytest.MonkeyPatch) -> None:
    async with world().open() as here:
        proxy, server = await here.serve(page(b"proxy")), await here.serve(page(b"server"))
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert (await here.fetch(f"http://a.test:{server.port}/")).body == b"server"
        assert proxy.connections == 0


async def test_where_nothing_is_reached_a_proxy_that_is_not_used_is_named() -> None:
    async with world().open() as here:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        url = f"http://a.test:{listener.extra(anyio.abc.SocketAttribute.local_port)}/"
        await listener.aclose()
        hint = unused_proxy({"HTTPS_PROXY": "http://10.0.0.1:3128"})
        with pytest.raises(ToolExecutionError) as failed:
            await WebClient(here.net, hint).fetch(await here.grant(url), url, headers={}, max_bytes=1, seconds=5)
        assert failed.value.hint == "HTTPS_PROXY is set, but no connection of this program uses a proxy."


def authority(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's side with a certificate for that name, and a client's side that trusts who signed it."""
    key, certificate = folder / "key.pem", folder / "cert.pem"
    subject = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-days", "2"]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", certificate, *subject]
    subprocess.run(command, check=True, capture_output=True)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(certificate, key)
    return server, ssl.create_default_context(cafile=str(certificate))


async def test_the_certificate_and_the_name_in_the_handshake_are_the_names_own(tmp_path: Path) -> None:
    serving, trusting = authority(tmp_path, "a.test")
    named: list[str | None] = []
    serving.sni_callback = lambda _, name, __: named.append(name)
    async with world(trusting, a=[["127.0.0.2"]], b=[["127.0.0.2"]]).open() as here:
        server = await here.serve(page(b"sealed"), "127.0.0.2", tls=serving)
        assert (await here.fetch(f"https://a.test:{server.port}/")).body == b"sealed"
        with pytest.raises(ToolExecutionError, match=r"no secure connection to b\.test"):
            await here.fetch(f"https://b.test:{server.port}/")
        plain = await here.serve(redirect(f"https://a.test:{server.port}/next"), "127.0.0.2")
        assert (await here.fetch(f"http://a.test:{plain.port}/")).url == f"https://a.test:{server.port}/next"
        assert named == ["a.test", "b.test", "a.test"]
        assert b"Host: a.test:" in server.requests[0]


async def test_a_certificate_that_nobody_trusts_ends_the_fetch(tmp_path: Path) -> None:
    serving, _ = authority(tmp_path, "a.test")
    async with world().open() as here:
        server = await here.serve(page(b"sealed"), tls=serving)
        with pytest.raises(ToolExecutionError, match="no secure connection"):
            await here.fetch(f"https://a.test:{server.port}/")
        assert server.requests == []


def deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "deflate (bare)": deflate,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("coding", PACKERS)
@pytest.mark.parametrize("cut", [1, 7, 100_000])
async def test_packed_bodies_are_unpacked_however_they_arrive(coding: str, cut: int) -> None:
    text = b"".join(b"line %d of many\n" % n for n in range(2000)) if cut > 1 else b"short text"
    packed = PACKERS[coding](text)

    async def answer(stream: Stream, request: bytes) -> None:
        assert b"Accept-Encoding: gzip, deflate, br, zstd\r\n" in request
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (coding.split()[0].encode(), len(packed)))
        for place in range(0, len(packed), cut):
            await stream.send(packed[place : place + cut])

    async with world().open() as here:
        server = await here.serve(answer)
        assert (await here.fetch(f"http://a.test:{server.port}/")).body == text


@pytest.mark.parametrize(
    ("headers", "packed"),
    [
        (["Content-Encoding: gzip, br"], brotli.compress(gzip.compress(b"twice", mtime=0))),
        (["Content-Encoding: deflate", "Content-Encoding: zstd"], zstd.compress(zlib.compress(b"twice"))),
        (["Content-Encoding: identity"], b"twice"),
        (["Content-Encoding:"], b"twice"),
        (["Content-Encoding: gzip"], gzip.compress(b"tw", mtime=0) + gzip.compress(b"ice", mtime=0) + b"\0\0padding"),
        (["Content-Encoding: zstd"], zstd.compress(b"tw") + zstd.compress(b"ice")),
    ],
)
async def test_codings_upon_codings_and_parts_behind_parts_are_unpacked(headers: list[str], packed: bytes) -> None:
    async with world().open() as here:
        server = await here.serve(page(packed, *headers))
        assert (await here.fetch(f"http://a.test:{server.port}/")).body == b"twice"


ZEROS = bytes(50_000_000)
BOMBS: dict[str, tuple[str, bytes]] = {
    "gzip": ("gzip", gzip.compress(ZEROS, mtime=0)),
    "deflate": ("deflate", zlib.compress(ZEROS)),
    "br": ("br", brotli.compress(ZEROS, quality=5)),
    "zstd": ("zstd", zstd.compress(ZEROS)),
    "gzip in gzip": ("gzip, gzip", gzip.compress(gzip.compress(ZEROS, mtime=0))),
    "zstd in br": ("zstd, br", brotli.compress(zstd.compress(ZEROS), quality=5)),
    "one that shrinks again": ("br, gzip", gzip.compress(ZEROS, mtime=0)),
    "many parts": ("gzip", gzip.compress(b"", mtime=0) * 200),
    "many codings": (", ".join(["gzip"] * 5), b"x"),
    "not packed": ("identity", ZEROS),
}


@pytest.mark.parametrize("bomb", BOMBS)
async def test_a_bomb_is_stopped_while_it_unfolds(bomb: str) -> None:
    coding, packed = BOMBS[bomb]
    async with world().open() as here:
        server = await here.serve(page(packed, f"Content-Encoding: {coding}"))
        with pytest.raises(ToolExecutionError, match=r"larger than the 1,000,000 bytes|more than 100 parts|packed 5 times over|damaged"):
            await here.fetch(f"http://a.test:{server.port}/", max_bytes=1_000_000)


@pytest.mark.parametrize(
    ("coding", "packed", "said"),
    [
        ("compress", b"\x1f\x9d", "'compress', which is not known"),
        ("gzip", b"no gzip at all", "damaged"),
        ("br", b"\xff\xff\xff\xff", "damaged"),
        ("zstd", b"no zstd at all", "damaged"),
        ("gzip", gzip.compress(b"cut short" * 100, mtime=0)[:-12], "cut short"),
        ("br", brotli.compress(bytes(range(256)) * 9)[:-5], "cut short"),
        ("zstd", zstd.compress(bytes(range(256)) * 9)[:-5], "cut short"),
    ],
)
async def test_a_packed_body_that_cannot_be_unpacked_says_why(coding: str, packed: bytes, said: str) -> None:
    async with world().open() as here:
        server = await here.serve(page(packed, f"Content-Encoding: {coding}"))
        with pytest.raises(ToolExecutionError, match=said) as failed:
            await here.fetch(f"http://a.test:{server.port}/")
        assert failed.value.metadata["status"] == 200


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\n", HEAD + b"Content-Length: 100000\r\n\r\n", HEAD + b"Transfer-Encoding: chunked\r\n\r\n"])
async def test_a_server_that_drips_is_left_when_the_time_is_over(start: bytes) -> None:
    async def drip(stream: Stream, request: bytes) -> None:
        await stream.send(start or b"H")
        while True:
            await anyio.sleep(0.02)
            await stream.send(b"1\r\nx\r\n" if b"chunked" in start else b"X-A: b\r\n" if start.endswith(b"OK\r\n") else b"x")

    async with world().open() as here:
        server = await here.serve(drip)
        with anyio.fail_after(3), pytest.raises((ToolTimeoutError, ToolExecutionError)):
            await here.fetch(f"http://a.test:{server.port}/", seconds=0.4)


async def test_the_time_counts_over_all_redirects_together() -> None:
    async def slowly(stream: Stream, request: bytes) -> None:
        await anyio.sleep(0.2)
        await redirect("/again")(stream, request)

    async with world().open() as here:
        server = await here.serve(slowly)
        with anyio.fail_after(3), pytest.raises(ToolTimeoutError, match=r"within 0.5 s \(after 2 redirects\)"):
            await here.fetch(f"http://a.test:{server.port}/", seconds=0.5)


@pytest.mark.parametrize("line", [b"X-%d: " + b"a" * 1000 + b"\r\n", b"X-%d: " + b"a" * 100_000, b"a"])
async def test_headers_without_end_end_the_fetch(line: bytes) -> None:
    async def flood(stream: Stream, request: bytes) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\n")
        for n in range(1_000_000):
            await stream.send(line.replace(b"%d", b"%d" % n) if b"%" in line else line * 10_000)

    async with world().open() as here:
        server = await here.serve(flood)
        with anyio.fail_after(4), pytest.raises(ToolError, match="was not fetched"):
            await here.fetch(f"http://a.test:{server.port}/", seconds=3)


async def test_a_body_that_is_not_wanted_is_not_read() -> None:
    async def endless(stream: Stream, request: bytes) -> None:
        await stream.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        while True:
            await stream.send(b"5\r\nhello\r\n")

    async with world().open() as here:
        server = await here.serve(endless)
        found = await here.fetch(f"http://a.test:{server.port}/", max_bytes=0)
        assert (found.status, found.body) == (200, b"")
        assert 0 < found.seconds < 5


async def test_a_server_that_is_not_there_or_speaks_something_else_is_told() -> None:
    async with world().open() as here:
        odd = await here.serve(page(b""))

        async def speak(stream: Stream, request: bytes) -> None:
            await stream.send(b"SSH-2.0-OpenSSH_9.2\r\n")
            await stream.aclose()

        odd.answer = speak
        with pytest.raises(ToolExecutionError, match="failed"):
            await here.fetch(f"http://a.test:{odd.port}/")
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        await listener.aclose()
        with pytest.raises(ToolExecutionError, match="Connection refused"):
            await here.fetch(f"http://a.test:{port}/")
