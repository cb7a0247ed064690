"""Fetches a model file once, because the person asked for it: over HTTP or HTTPS into the `models` folder of the data home."""

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO
from urllib.parse import unquote, urljoin, urlsplit

import anyio
import msgspec

from ...errors import ConfigError, NeuralClawError
from ...plugins import load
from ...ports import HttpResponse, Net
from ...safety.gate import PolicyGate
from ...types.actions import Action
from ...types.grants import Grant
from ...types.questions import Answers
from ...types.risk import Power, Risk
from ...types.signals import Denied, Parked
from ...types.tools import ToolSpec, Touch
from .discovery import trouble

DEFAULT_URL = "https://huggingface.co/bartowski/SmolLM2-135M-Instruct-GGUF/resolve/main/SmolLM2-135M-Instruct-Q8_0.gguf"
"""A model of 135 million parameters (Apache-2.0, 145 MB): small enough for any machine, good for trying the whole way, not for real work."""

MAX_BYTES = 64 * 2**30
KEEP_FREE = 2**29
"""Bytes of the disk that a fetched model leaves free."""
MAGIC = b"GGUF"
REDIRECTS = 5
SILENCE_SECONDS = 60.0
TELL_SECONDS = 1.0

FOLLOWED = ToolSpec(
    name="fetch_model",
    description="Fetch a model file.",
    input_schema={},
    risk=Risk.LOW,
    powers=(Power.NETWORK,),
    touches=(Touch("url", "url"),),
    source="external",
)
"""What a redirect to a host that nobody named is judged as."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")


class FetchedFile(msgspec.Struct, frozen=True):
    """The file, its size in bytes, its SHA-256, and whether it was there before."""

    path: str
    size: int
    sha256: str
    already: bool = False


async def fetch(gate: PolicyGate, url: str, home: str, tell: Callable[[str], None], *, max_bytes: int = MAX_BYTES) -> FetchedFile:
    """Download a GGUF file; one of that name that is already there is taken as it is. Nothing is left behind where it fails.

    `tell` gets a line about every second. Redirects are followed, never from https to http, and to another host only where it is a public one.
    Raises `ConfigError` for an address that names no GGUF file, `NeuralClawError` for everything else.
    """
    folder = os.path.join(home, "models")  # noqa: PTH118
    path = os.path.join(folder, file_name(url))  # noqa: PTH118
    if not trouble(path):
        return FetchedFile(path, os.stat(path).st_size, digest_of(path), already=True)  # noqa: PTH116
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
    descriptor, temporary = tempfile.mkstemp(prefix=".", suffix=".part", dir=folder)
    net = load("net")()
    try:
        with os.fdopen(descriptor, "wb") as out:
            room = shutil.disk_usage(folder).free - KEEP_FREE
            size, sha256 = await Download(net, gate, out, tell, min(max_bytes, room)).run(url)
        if wrong := trouble(temporary):
            raise NeuralClawError(f"{url} is not a model that can be used: {wrong}; nothing was kept")
        os.replace(temporary, path)  # noqa: PTH105
        return FetchedFile(path, size, sha256)
    except (TimeoutError, ConnectionError) as error:
        raise NeuralClawError(f"{url} could not be fetched: {error}; nothing was kept", hint="run the same command again") from error
    except OSError as error:
        raise NeuralClawError(
            f"{folder} cannot be written: {error.strerror}; nothing was kept", hint="make room, or name another data directory with --home DIR"
        ) from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)  # noqa: PTH108
        with anyio.CancelScope(shield=True):
            await net.aclose()


def file_name(url: str) -> str:
    """The name of the file that an address points to."""
    parts = urlsplit(url)
    name = unquote(parts.path.rpartition("/")[2])
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{url} is not an http or https address", hint="neuralclaw init --fetch-model https://…/model.gguf")
    if not _NAME.fullmatch(name) or not name.lower().endswith(".gguf"):
        raise ConfigError(f"{url} names no GGUF file", hint="the address must end with NAME.gguf")
    return name


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2].lower()


def digest_of(path: str) -> str:
    with open(path, "rb") as file:  # noqa: PTH123
        return hashlib.file_digest(file, "sha256").hexdigest()


class Download:
    """One file on its way."""

    def __init__(self, net: Net, gate: PolicyGate, out: BinaryIO, tell: Callable[[str], None], max_bytes: int) -> None:
        self._net, self._gate, self._out, self._tell, self._max = net, gate, out, tell, max_bytes

    async def run(self, url: str) -> tuple[int, str]:
        """Follow redirects to the file and write it; its size and SHA-256."""
        named = _host(url)
        for _ in range(REDIRECTS + 1):
            host = _host(url)
            grant = self._gate.standing_grant(hosts=[host]) if host == named else await self._judged(url)
            async with self._net.request(grant, "GET", url, headers={"User-Agent": "neuralclaw"}, body=None, timeout=SILENCE_SECONDS) as response:
                if response.status == 200:
                    return await self._body(response, host)
                url = self._next(url, response)
        raise NeuralClawError(f"more than {REDIRECTS} redirects; nothing was kept")

    async def _judged(self, url: str) -> Grant:
        """The grant for a host that the person did not name: the one that was named leads there, so it must be a public one."""
        action = Action(session="", turn=0, call_id="download", spec=FOLLOWED, arguments={"url": url}, workspace="/")
        try:
            return await self._gate.authorize(action, Answers())
        except Denied as denied:
            raise NeuralClawError(f"the address redirects to another one, which is not followed: {denied}; nothing was kept") from denied
        except Parked as parked:
            hint = f"name that address yourself: neuralclaw init --fetch-model {url}"
            why = f"the address redirects to another one, which is asked about: {parked.question.summary}; nothing was kept"
            raise NeuralClawError(why, hint=hint) from parked

    def _next(self, url: str, response: HttpResponse) -> str:
        """Where a redirect leads."""
        place = response.headers.get("Location", "")
        if response.status not in (301, 302, 303, 307, 308) or not place:
            raise NeuralClawError(f"{url} answers with status {response.status}; nothing was kept", hint="check the address")
        following = urljoin(url, place)
        scheme, target = urlsplit(url).scheme, urlsplit(following).scheme
        if target not in ("http", "https") or (scheme == "https" and target == "http"):
            raise NeuralClawError(f"the address redirects from {scheme} to {target}, which is not followed; nothing was kept")
        return following

    async def _body(self, response: HttpResponse, host: str) -> tuple[int, str]:
        """Write what arrives, counted, digested and bounded; the first bytes must be those of a GGUF file."""
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdigit() else 0
        if total > self._max:
            raise too_large(total, self._max)
        size, digest, reported = 0, hashlib.sha256(), time.monotonic()
        head = b""
        async for chunk in response.chunks():
            if len(head) < len(MAGIC):
                head += chunk[: len(MAGIC) - len(head)]
                if not MAGIC.startswith(head):
                    raise NeuralClawError(f"what {host} sends is not a GGUF file; nothing was kept", hint="check the address")
            size += len(chunk)
            if size > self._max:
                raise too_large(size, self._max)
            digest.update(chunk)
            self._out.write(chunk)
            if time.monotonic() - reported > TELL_SECONDS:
                reported = time.monotonic()
                self._tell(f"{size / 1e6:,.0f}" + (f" of {total / 1e6:,.0f} MB ({100 * size // total} %)" if total else " MB"))
        if len(head) < len(MAGIC):
            raise NeuralClawError(f"{host} sent {size:,} bytes; nothing was kept", hint="check the address")
        self._out.flush()
        os.fsync(self._out.fileno())
        return size, digest.hexdigest()


def too_large(size: int, bound: int) -> NeuralClawError:
    return NeuralClawError(
        f"the file has at least {size / 1e9:,.1f} GB, and {max(bound, 0) / 1e9:,.1f} GB may be used here; nothing was kept",
        hint="make room, or fetch a smaller model",
    )
