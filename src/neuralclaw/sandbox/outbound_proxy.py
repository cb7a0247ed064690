"""The outbound proxy: the one way to the network for a command that was granted it. One for each command, in the agent's process, ended with it.

It speaks HTTP: CONNECT for whatever goes through a tunnel, and complete addresses (`GET http://…`) for plain HTTP. Each place is judged under the command's
grant, looked up once, and connected to at the addresses that were judged; no name is looked up by the command. Who does not know the command's own password
gets nothing, so that no other program of the machine uses it. What is refused is named, to the client (status 403) and with the command's result.
"""

import asyncio
import errno
import os
import secrets
import socket
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import anyio
import msgspec

from ..errors import NeuralClawError, PermissionDeniedError
from ..types.grants import Grant
from .proxied_exchange import CHUNK, exchange, tunnel
from .proxy_requests import ProxyRequest, parsed

T = TypeVar("T")

VARIABLES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
UNPROXIED = ("no_proxy", "NO_PROXY")
NODE = "NODE_USE_ENV_PROXY"
"""Has Node's own `fetch` take notice of the others: https://nodejs.org/api/cli.html#node_use_env_proxy1."""
USER = "command"

_HEAD = 64 * 1024
_HEAD_SECONDS, _CONNECT_SECONDS, _LINGER_SECONDS = 30.0, 15.0, 1.0
_AT_ONCE = 128
"""Connections of one command that are open at a time, two files each; a further one waits."""
_FULL = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_FULL_SECONDS = 0.2


class OutboundProxy:
    """Serves one command at a listening socket until it is cancelled. `refused`: one sentence for each place that was refused, in their order.
    `silent_seconds`: how long a connection of which one side has ended may be silent."""

    def __init__(self, grant: Grant, *, silent_seconds: float = 30.0) -> None:
        self._grant, self._silent = grant, silent_seconds
        self._password = secrets.token_urlsafe(24)
        self._expected = f"Basic {b64encode(f'{USER}:{self._password}'.encode()).decode()}"
        self._free = asyncio.Semaphore(_AT_ONCE)
        self._judging = anyio.Lock()
        self._refused: dict[str, None] = {}
        self.served = False
        """Whether the command used it at all."""

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(self._refused)

    def environment(self, environment: Mapping[str, str], port: int) -> dict[str, str]:
        """The environment with the variables by which programs find a proxy, this one in the place of any other."""
        address = f"http://{USER}:{self._password}@127.0.0.1:{port}"
        return {**environment, **dict.fromkeys(VARIABLES, address), **dict.fromkeys(UNPROXIED, ""), NODE: "1"}

    async def beside(self, listener: socket.socket, work: Callable[[], Awaitable[T]]) -> T:
        """What `work` gives or raises, while the proxy serves at `listener`, which is closed with it."""
        failure: NeuralClawError | OSError | None = None
        result: list[T] = []
        with listener:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._serve, listener)
                try:
                    result.append(await work())
                except (NeuralClawError, OSError) as error:
                    failure = error  # a task group would wrap it
                tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure
        return result[0]

    async def _serve(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        async with anyio.create_task_group() as clients:
            while True:
                await self._free.acquire()
                clients.start_soon(self._client, await _accepted(listener))

    async def _client(self, client: socket.socket) -> None:
        self.served = True
        writer = None
        try:
            reader, writer = await asyncio.open_connection(sock=client, limit=_HEAD)
            await self._talk(reader, writer)
            await _flushed(writer)
        except (OSError, TimeoutError, EOFError, asyncio.LimitOverrunError):
            return  # the client or the place it reached has gone
        finally:
            self._free.release()
            if writer is not None:
                writer.transport.abort()
            client.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with anyio.fail_after(_HEAD_SECONDS):
                request = parsed(await reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError:
            await _answer(reader, writer, "431 Request Header Fields Too Large", f"a request has at most {_HEAD:,} bytes before its body\n")
            return
        except ValueError as error:
            await _answer(reader, writer, "400 Bad Request", f"{error}\n")
            return
        if not secrets.compare_digest(request.authorization.encode(), self._expected.encode()):
            await _answer(
                reader, writer, "407 Proxy Authentication Required", "this proxy serves one command alone\n", 'Proxy-Authenticate: Basic realm="NeuralClaw"'
            )
            return
        try:
            up, send = await self._reached(request)
        except PermissionDeniedError as error:
            self._refused[". ".join(filter(None, (f"{request.shown}: {error.text}", error.hint)))] = None
            await _answer(reader, writer, "403 Forbidden", f"The sandbox refused this: {error.text}\n")
            return
        except (OSError, TimeoutError) as error:
            await _answer(
                reader, writer, "502 Bad Gateway", f"no connection to {request.shown}: {os.strerror(error.errno) if error.errno else 'it did not answer'}\n"
            )
            return
        try:
            if request.head:
                await exchange(request, (reader, writer), (up, send), self._silent)
            else:
                await tunnel((reader, writer), (up, send), self._silent)
                await _flushed(send)
        finally:
            send.transport.abort()

    async def _reached(self, request: ProxyRequest) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection as judged. Raises `PermissionDeniedError`, or `OSError` when no address answers."""
        failed: OSError = ConnectionError(errno.EHOSTUNREACH, "no address")
        async with self._judging:
            addresses = await self._grant.reach(request.host, request.port)
        for address in addresses:
            try:
                with anyio.fail_after(_CONNECT_SECONDS):
                    return await asyncio.open_connection(sock=await _connected(address, request.port), limit=_HEAD)
            except OSError as error:  # TimeoutError too
                failed = error
        raise failed


class ProxyUse(msgspec.Struct, frozen=True):
    """What became of a command's network: whether it used the proxy, and one sentence for each place that was refused."""

    served: bool
    refused: tuple[str, ...]


def used(proxy: OutboundProxy | None) -> ProxyUse | None:
    """None for a command without network."""
    return ProxyUse(proxy.served, proxy.refused) if proxy is not None else None


def listening() -> socket.socket:
    """A socket on the loopback of this machine, at a port of the kernel's choice."""
    return socket.create_server(("127.0.0.1", 0), backlog=_AT_ONCE)


async def _accepted(listener: socket.socket) -> socket.socket:
    while True:
        await anyio.wait_readable(listener)
        try:
            client, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            continue
        except OSError as error:
            if error.errno not in _FULL:
                raise
            await anyio.sleep(_FULL_SECONDS)  # it waits until this process may open files again
            continue
        client.setblocking(False)
        return client


async def _connected(address: str, port: int) -> socket.socket:
    up = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    up.setblocking(False)
    connected = False
    try:
        await asyncio.get_running_loop().sock_connect(up, (address, port))
        connected = True
    finally:
        if not connected:
            up.close()
    return up


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, status: str, text: str, *headers: str) -> None:
    body = text.encode(errors="replace")
    lines = [f"HTTP/1.1 {status}", *headers, "Content-Type: text/plain; charset=utf-8", f"Content-Length: {len(body)}", "Connection: close"]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    await writer.drain()
    writer.write_eof()
    with anyio.move_on_after(_LINGER_SECONDS):  # what is left of its request is read, or the kernel would take the answer back
        while await reader.read(CHUNK):
            pass


async def _flushed(writer: asyncio.StreamWriter) -> None:
    """Closed when all that was written is sent, or nobody has taken it for a while."""
    writer.close()
    with anyio.move_on_after(_HEAD_SECONDS):
        await writer.wait_closed()
