"""HTTP under a grant, on aiohttp: the one client of the program. Only the envelope's hosts and addresses, every failure one of three errors."""

import errno
import io
import os
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import msgspec

from ..errors import PermissionDeniedError
from ..types.cut_texts import cut_text
from ..types.grants import Grant
from .judged_connection import judged_connector
from .program_run import open_envelope

if TYPE_CHECKING:
    import ssl

    import aiohttp

_PORTS = {"http": 80, "https": 443}
_SENT = re.compile(r":?\s*(?:\n|: b['\"]|: bytearray\()")
_REASON_CHARS = 200
_HEADER_BYTES, _HEADERS = 2**16, 512
"""Of one header of an answer, and how many it may have: policies of content and lists of links are longer than aiohttp expects."""
_LARGE = 2**20
"""Bytes of a body from which it is sent in pieces."""


class HttpNet:
    """Requests over HTTP. Redirects are given back, never followed; certificates are checked; cookies are not kept; no proxy is used, whatever the
    environment names.

    A call's grant names the network addresses that were judged: they alone are connected to, by a connection of its own. A standing grant, of what the
    owner configured, goes over a shared pool to whatever address its host has. `connections` bounds that pool per host, 0: unbounded. `tls` replaces the
    system's certificates.
    """

    def __init__(self, *, connections: int = 0, tls: "ssl.SSLContext | None" = None) -> None:
        self._connections, self._tls = connections, tls
        self._pool: aiohttp.ClientSession | None = None

    def request(self, grant: Grant, method: str, url: str, *, headers: Mapping[str, str], body: bytes | None, timeout: float) -> "_Exchange":
        """An async context manager of the response. `timeout`: seconds to connect, and without a byte while reading; headers must be there after twice that.

        Raises `PermissionDeniedError`, `TimeoutError` or `ConnectionError`; the chunks raise the last two.
        """
        return _Exchange(self, grant, (method, url, headers, body, timeout))

    def session_for(self, grant: Grant, url: str) -> "tuple[str, aiohttp.ClientSession, bool]":
        """The address to request, the session for it, and whether that is to be closed after one request; for `request`."""
        granted = granted_target(grant, url)
        if granted.addresses is not None:
            return granted.url, self._session(judged_connector(granted.host, granted.addresses, self._tls), unpack=False), True
        if self._pool is None or self._pool.closed:
            import aiohttp  # 220 ms

            self._pool = self._session(aiohttp.TCPConnector(limit=0, limit_per_host=self._connections, ssl=self._tls or True), unpack=True)
        return granted.url, self._pool, False

    def _session(self, connector: "aiohttp.TCPConnector", *, unpack: bool) -> "aiohttp.ClientSession":
        import aiohttp

        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=unpack,
            max_line_size=_HEADER_BYTES,
            max_field_size=_HEADER_BYTES,
            max_headers=_HEADERS,
            skip_auto_headers=("User-Agent",),
            headers={"Accept-Encoding": "identity"},  # a compressed stream of events arrives late
        )

    async def aclose(self) -> None:
        """Close the pool; requests after that open a new one."""
        if self._pool is not None:
            await self._pool.close()
            self._pool = None


def _streamed(body: bytes | None) -> bytes | io.BytesIO | None:
    """A large body as a stream: written in one piece it would hold the event loop up."""
    return io.BytesIO(body) if body is not None and len(body) >= _LARGE else body


class _Exchange:
    """One request: entered, it gives the response; left, it gives the connection back or closes it if the body was not read to its end."""

    def __init__(self, net: HttpNet, grant: Grant, request: tuple[str, str, Mapping[str, str], bytes | None, float]) -> None:
        self._net, self._grant, self._request = net, grant, request
        self._response: aiohttp.ClientResponse | None = None
        self._own: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> "Response":
        method, url, headers, body, timeout = self._request
        target, session, single = self._net.session_for(self._grant, url)
        self._own = session if single else None
        try:
            self._response = await _send(session, (method, target, headers, body, timeout), as_judged=single)
        finally:
            if self._response is None:
                await self._close()
        return Response(self._response, target)

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._response is not None:
            if kind is None and self._response.content.is_eof():
                self._response.release()
            else:
                self._response.close()
        await self._close()

    async def _close(self) -> None:
        if self._own is not None:
            with anyio.CancelScope(shield=True):
                await self._own.close()


async def _send(
    session: "aiohttp.ClientSession", request: tuple[str, str, Mapping[str, str], bytes | None, float], *, as_judged: bool
) -> "aiohttp.ClientResponse":
    """The response as soon as its headers are there. `as_judged`: not a letter of the address is changed."""
    import aiohttp
    from yarl import URL

    method, url, headers, body, timeout = request
    limits = aiohttp.ClientTimeout(total=None, connect=timeout, sock_read=timeout)
    with _translated(url), anyio.fail_after(2 * timeout):  # a server may say "100 Continue" for ever
        return await session.request(method, URL(url, encoded=as_judged), headers=headers, data=_streamed(body), allow_redirects=False, timeout=limits)


class Response:
    """A response whose body is still arriving."""

    def __init__(self, response: "aiohttp.ClientResponse", url: str) -> None:
        self._response, self._url = response, url

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """Names compare without regard to case. Codings that stand in several lines are one list."""
        given = self._response.headers
        codings = given.getall("Content-Encoding", ())
        if len(codings) < 2:
            return given
        joined = given.copy()
        joined["Content-Encoding"] = ", ".join(codings)
        return joined

    def _ended(self) -> str:
        """What is said of a body that the server ended too early."""
        promised, got = self._response.headers.get("Content-Length", ""), self._response.content.total_bytes
        if promised.isdecimal() and got < int(promised):
            return f"the server closed it after {got:,} of {int(promised):,} bytes"
        return "the server closed it before the answer was complete"

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body in pieces as they arrive."""
        content = self._response.content
        while True:
            with _translated(self._url, self._ended):
                part = await content.readany()
            if not part and content.at_eof():
                return
            yield part

    async def read(self, max_bytes: int) -> bytes:
        """The first `max_bytes` bytes of the body."""
        parts, left = [], max_bytes
        content = self._response.content
        while left > 0:
            with _translated(self._url, self._ended):
                part = await content.read(left)
            if not part:
                break
            parts.append(part)
            left -= len(part)
        return b"".join(parts)


@contextmanager
def _translated(url: str, ended: Callable[[], str] | None = None) -> Iterator[None]:
    """aiohttp's errors become `TimeoutError` or `ConnectionError`; only here. `ended` says what became of a body that is not complete."""
    import aiohttp

    try:
        yield
    except TimeoutError as error:
        raise TimeoutError(f"{_host(url)} did not answer in time") from error
    except aiohttp.ClientSSLError as error:
        raise ConnectionError(f"no secure connection to {_host(url)}: {error}") from error
    except aiohttp.ClientPayloadError as error:
        cut = isinstance(error.__cause__, (aiohttp.http_exceptions.ContentLengthError, aiohttp.http_exceptions.TransferEncodingError))
        raise ConnectionError(f"the connection to {_host(url)} failed: {ended() if ended and cut else _reason(error)}") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:  # ValueError: aiohttp's for headers and bodies it cannot parse
        raise ConnectionError(f"the connection to {_host(url)} failed: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Why, in the system's own words where it has some; aiohttp wraps them in its own."""
    import aiohttp

    cause: Exception = getattr(error, "os_error", error)
    if isinstance(cause, aiohttp.ServerDisconnectedError):
        return "it was ended before the answer was complete"
    if not isinstance(cause, OSError):
        said = getattr(cause, "message", "") or str(cause)  # followed by the bytes that the server sent, over several lines
        return cut_text(_SENT.split(said, maxsplit=1)[0], _REASON_CHARS) or type(error).__name__
    if cause.errno is not None and cause.errno in errno.errorcode and not isinstance(cause, socket.gaierror):
        return os.strerror(cause.errno)
    return cause.strerror or str(cause) or type(error).__name__


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


class GrantedTarget(msgspec.Struct, frozen=True):
    """What a grant lets be requested. `addresses` None: whatever the host's are, by a standing grant."""

    url: str
    host: str
    addresses: tuple[str, ...] | None = None


def granted_target(grant: Grant, url: str) -> GrantedTarget:
    """The address to request in its judged form. Raises `PermissionDeniedError` for one that this grant is not for."""
    envelope = open_envelope(grant)
    call = bool(grant.call_id or grant.tool)
    if call and url not in envelope.urls:
        raise PermissionDeniedError(f"{cut_text(url, 200)} was not judged for this call")
    url = envelope.urls[url] if call else url
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError) as error:
        raise PermissionDeniedError("only complete http and https addresses are connected to") from error
    if host is None or not any(allowed.lower() in (host, f"{host}:{port}", f"[{host}]", f"[{host}]:{port}") for allowed in envelope.hosts):
        raise PermissionDeniedError(f"{host}:{port} is not among the hosts of this permission")
    if not call:
        return GrantedTarget(url, host)
    if not envelope.addresses.get(host):
        raise PermissionDeniedError(f"no network address of {host} was judged for this call")
    return GrantedTarget(url, host, envelope.addresses[host])
