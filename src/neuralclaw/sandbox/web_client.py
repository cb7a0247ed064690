"""Fetching under a call's grant: redirects judged one by one, limits of time and of size, bodies unpacked while they are counted."""

import re
import time
from types import MappingProxyType
from urllib.parse import urljoin, urlsplit

import anyio
import anyio.lowlevel

from ..errors import PermissionDeniedError, ToolExecutionError, ToolTimeoutError
from ..ports import Headers, HttpResponse, Net
from ..types.cut_texts import cut_text
from ..types.grants import Grant
from ..types.web_responses import WebResponse
from .unpacking import CODINGS, Unpacking

MOST_REDIRECTS = 10
PORTS = {"http": 80, "https": 443}
NO_HEADERS: Headers = MappingProxyType({})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BYTE = re.compile("[\udc80-\udcff]")


class WebClient:
    """`ports.Web` over a `Net`. `hint` is told where nothing is reached: that a proxy of the environment is not used."""

    def __init__(self, net: Net, hint: str = "") -> None:
        self._net, self._hint = net, hint

    async def fetch(self, grant: Grant, url: str, *, headers: Headers, max_bytes: int, seconds: float, private: Headers = NO_HEADERS) -> WebResponse:
        """GET, as `ports.Web` says it."""
        begun = time.monotonic()
        behind: list[str] = []
        public = {"Accept-Encoding": CODINGS, **headers}
        told = public | dict(private)
        try:
            with anyio.fail_after(seconds - grant.lookup_seconds):
                while True:
                    here = grant.check().urls.get(url, url)
                    async with self._net.request(grant, "GET", url, headers=told, body=None, timeout=seconds) as response:
                        next = _next(here, response)
                        if next is None:
                            taken = time.monotonic() - begun
                            body = await _body(here, response, max_bytes) if max_bytes else b""
                            names = {name.lower(): value for name, value in response.headers.items()}
                            return WebResponse(url=here, status=response.status, headers=names, body=body, redirects=tuple(behind), seconds=taken)
                    behind.append(here)
                    if len(behind) > MOST_REDIRECTS:
                        raise ToolExecutionError(f"{behind[0]} redirects more than {MOST_REDIRECTS} times; the last address was {_short(next)}")
                    told = told if _origin(next) == _origin(here) else public
                    grant, url = await _followed(grant, here, next), next
        except TimeoutError as error:
            where = f" (after {len(behind)} redirects)" if behind else ""
            if grant.lookup_seconds > seconds / 10:
                where += f" (its name was looked up for {grant.lookup_seconds:.1f} s of them)"
            raise ToolTimeoutError(f"{_short(url)} was not fetched within {seconds:g} s{where}", hint=self._hint) from error
        except ConnectionError as error:
            raise ToolExecutionError(f"{_short(url)} was not fetched: {error}", hint=self._hint) from error


async def _followed(grant: Grant, here: str, next: str) -> Grant:
    try:
        return await grant.follow(next)
    except PermissionDeniedError as error:
        raise PermissionDeniedError(f"{_short(here)} redirects to {_short(next)}, which is not followed: {error.text}", hint=error.hint) from error


def _origin(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port. An address that is none has no origin in common with any other."""
    parts = urlsplit(url)
    try:
        return parts.scheme.lower(), parts.hostname, parts.port or PORTS.get(parts.scheme.lower())
    except ValueError:
        return "", url, None


def _next(here: str, response: HttpResponse) -> str | None:
    """Where a redirect leads, complete; None for any other answer. Bytes that are no UTF-8 are written with % signs."""
    place = response.headers.get("Location", "").strip()
    if response.status not in REDIRECTS or not place:
        return None
    place = _BYTE.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", place).replace(" ", "%20")
    try:
        return urljoin(here, place)
    except ValueError as error:
        raise ToolExecutionError(f"{_short(here)} redirects to {_short(place)}, which is no address ({error})") from error


async def _body(here: str, response: HttpResponse, max_bytes: int) -> bytes:
    """The whole body, unpacked."""
    parts: list[bytes] = []
    try:
        unpacking = Unpacking(response.headers.get("Content-Encoding", ""), max_bytes)
        async for chunk in response.chunks():
            for piece in unpacking.feed(chunk):
                parts.append(piece)
                await anyio.lowlevel.checkpoint()
        unpacking.finish()
    except ToolExecutionError as error:
        kind = response.headers.get("Content-Type", "").partition(";")[0]
        raise ToolExecutionError(
            f"{_short(here)} was not fetched: {error.text}", metadata={"url": here, "status": response.status, "content_type": kind}
        ) from None
    return b"".join(parts)


def _short(url: str) -> str:
    return cut_text(url, 200)
