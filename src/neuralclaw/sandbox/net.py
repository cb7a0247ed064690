"""HTTP under a grant, on aiohttp: one pool of connections, only the envelope's hosts, every failure one of three errors."""

import errno
import io
import os
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio

from ..errors import PermissionDeniedError
from ..types.grants import Grant
from .program_run import open_envelope

if TYPE_CHECKING:
    import aiohttp

_PORTS = {"http": 80, "https": 443}
_LARGE = 2**20
"""Bytes of a body from which it is sent in pieces."""


class HttpNet:
    """Requests over a shared pool. Redirects are given back, never followed; certificates are checked; cookies are not kept.

    `connections` bounds the pool per host, 0: unbounded. `trust_env` uses the proxies named in the environment.
    """

    def __init__(self, *, connections: int = 0, trust_env: bool = False) -> None:
        self._connections, self._trust_env = connections, trust_env
        self._session: aiohttp.ClientSession | None = None

    def request(self, grant: Grant, method: str, url: str, *, headers: Mapping[str, str], body: bytes | None, timeout: float) -> "_Exchange":
        """An async context manager of the response. `timeout`: seconds to connect, and without a byte while reading; headers must be there after twice that.

        Raises `PermissionDeniedError`, `TimeoutError` or `ConnectionError`; the chunks raise the last two.
        """
        return _Exchange(self, grant, (method, url, headers, body, timeout))

    async def send(self, grant: Grant, method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout: float) -> "aiohttp.ClientResponse":
        """The response as soon as its headers are there; for `request`."""
        _must_be_granted(grant, url)
        session, limits = self._open(timeout)
        with _translated(url), anyio.fail_after(2 * timeout):  # a server may say "100 Continue" for ever
            return await session.request(method, url, headers=headers, data=_streamed(body), allow_redirects=False, timeout=limits)

    def _open(self, timeout: float) -> "tuple[aiohttp.ClientSession, aiohttp.ClientTimeout]":
        import aiohttp  # 220 ms

        if self._session is None or self._session.closed:
            connector = aiohttp.TCPConnector(limit=0, limit_per_host=self._connections)
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=self._trust_env,
                skip_auto_headers=("User-Agent",),
                headers={"Accept-Encoding": "identity"},  # a compressed stream of events arrives late
            )
        return self._session, aiohttp.ClientTimeout(total=None, connect=timeout, sock_read=timeout)

    async def aclose(self) -> None:
        """Close the pool; requests after that open a new one."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _streamed(body: bytes | None) -> bytes | io.BytesIO | None:
    """A large body as a stream: written in one piece it would hold the event loop up."""
    return io.BytesIO(body) if body is not None and len(body) >= _LARGE else body


class _Exchange:
    """One request: entered, it gives the response; left, it gives the connection back or closes it if the body was not read to its end."""

    def __init__(self, net: HttpNet, grant: Grant, request: tuple[str, str, Mapping[str, str], bytes | None, float]) -> None:
        self._net, self._grant, self._request = net, grant, request
        self._response: aiohttp.ClientResponse | None = None

    async def __aenter__(self) -> "Response":
        self._response = await self._net.send(self._grant, *self._request)
        return Response(self._response, self._request[1])

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._response is not None:
            if kind is None and self._response.content.is_eof():
                self._response.release()
            else:
                self._response.close()


class Response:
    """A response whose body is still arriving."""

    def __init__(self, response: "aiohttp.ClientResponse", url: str) -> None:
        self._response, self._url = response, url

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """Names compare without regard to case."""
        return self._response.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body in pieces as they arrive."""
        content = self._response.content
        while True:
            with _translated(self._url):
                part = await content.readany()
            if not part and content.at_eof():
                return
            yield part

    async def read(self, max_bytes: int) -> bytes:
        """The first `max_bytes` bytes of the body."""
        parts, left = [], max_bytes
        content = self._response.content
        while left > 0:
            with _translated(self._url):
                part = await content.read(left)
            if not part:
                break
            parts.append(part)
            left -= len(part)
        return b"".join(parts)


@contextmanager
def _translated(url: str) -> Iterator[None]:
    """aiohttp's errors become `TimeoutError` or `ConnectionError`; only here."""
    import aiohttp

    try:
        yield
    except TimeoutError as error:
        raise TimeoutError(f"{_host(url)} did not answer in time") from error
    except aiohttp.ClientSSLError as error:
        raise ConnectionError(f"no secure connection to {_host(url)}: {error}") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:  # ValueError: aiohttp's for headers and bodies it cannot parse
        raise ConnectionError(f"the connection to {_host(url)} failed: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Why, in the system's own words where it has some; aiohttp wraps them in its own."""
    cause: Exception = getattr(error, "os_error", error)
    if not isinstance(cause, OSError):
        return str(cause) or type(error).__name__
    if cause.errno is not None and cause.errno in errno.errorcode and not isinstance(cause, socket.gaierror):
        return os.strerror(cause.errno)
    return cause.strerror or str(cause) or type(error).__name__


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def _must_be_granted(grant: Grant, url: str) -> None:
    envelope = open_envelope(grant)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError) as error:
        raise PermissionDeniedError("only complete http and https addresses are connected to") from error
    if host is None or not any(allowed.lower() in (host, f"{host}:{port}", f"[{host}]", f"[{host}]:{port}") for allowed in envelope.hosts):
        raise PermissionDeniedError(f"{host}:{port} is not among the hosts of this permission")
