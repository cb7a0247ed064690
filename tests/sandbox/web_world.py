"""Web servers on this machine under names of the test, and the real gate, resolver and client that fetch from them."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import anyio
import anyio.abc
from anyio.streams.tls import TLSStream

from neuralclaw.app.clock import SystemClock
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.sandbox.net import HttpNet
from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.sandbox.web_client import WebClient
from neuralclaw.types.actions import Action
from neuralclaw.types.grants import Grant
from neuralclaw.types.options import OwnerRule, Policy
from neuralclaw.types.questions import Answers
from neuralclaw.types.risk import Decision, Effect, Power, Risk
from neuralclaw.types.tools import ToolSpec, Touch
from neuralclaw.types.web_responses import WebResponse

FETCH = ToolSpec(name="web_fetch", description="", input_schema={}, risk=Risk.LOW, effect=Effect.PURE, powers=(Power.NETWORK,), touches=(Touch("url", "url"),))
Stream = anyio.abc.ByteStream
Answer = Callable[[Stream, bytes], Awaitable[None]]
SHORT = 5.0


class WebServer:
    """A server that reads requests whole and answers with the test's own bytes. `requests`: the heads that came."""

    def __init__(self, address: str, port: int, answer: Answer) -> None:
        self.address, self.port, self.answer = address, port, answer
        self.requests, self.connections = list[bytes](), 0

    async def talk(self, stream: Stream) -> None:
        self.connections += 1
        async with stream:
            try:
                while True:
                    data = b""
                    while b"\r\n\r\n" not in data:
                        data += await stream.receive()
                    self.requests.append(data)
                    await self.answer(stream, data)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, ssl.SSLError):
                return


class World:
    """`names` maps a host to the answers of its look-ups, one after the other, the last for ever; `opened` are the hosts that the owner opened."""

    def __init__(self, names: dict[str, Sequence[Sequence[str]]], opened: Sequence[str], tls: ssl.SSLContext | None = None) -> None:
        self.names = {host: list(answers) for host, answers in names.items()}
        self.asked: list[str] = []
        self.clock = SystemClock()
        policy = Policy(rules=tuple(OwnerRule(id=host, decision=Decision.ALLOW, host=host, inside=True) for host in opened))
        self.gate = PolicyGate(policy, SystemFacts(policy, "", self.resolve), self.clock, analyse)
        self.net = HttpNet(tls=tls)
        self.web = WebClient(self.net)
        self._servers = AsyncExitStack()
        self._tasks: anyio.abc.TaskGroup | None = None

    async def resolve(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        answers = self.names.get(host, [[]])
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def serve(self, answer: Answer, address: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None) -> WebServer:
        """A server at that address; it ends with the world."""
        listener = await anyio.create_tcp_listener(local_host=address, local_port=port)
        server = WebServer(address, listener.extra(anyio.abc.SocketAttribute.local_port), answer)

        async def talk(stream: anyio.abc.SocketStream) -> None:
            async with stream:
                if tls is None:
                    await server.talk(stream)
                    return
                with suppress(ssl.SSLError, anyio.EndOfStream, anyio.BrokenResourceError):
                    await server.talk(await TLSStream.wrap(stream, server_side=True, ssl_context=tls, standard_compatible=False))

        assert self._tasks is not None
        await self._servers.enter_async_context(listener)
        self._tasks.start_soon(listener.serve, talk)
        return server

    async def grant(self, url: str, spec: ToolSpec = FETCH) -> Grant:
        """The grant for a call of that tool at this address."""
        action = Action(session="s", turn=1, call_id="c", spec=spec, arguments={"url": url}, workspace="/")
        return await self.gate.authorize(action, Answers())

    async def fetch(self, url: str, *, max_bytes: int = 100_000, seconds: float = SHORT) -> WebResponse:
        """As a call of the tool does it: judged, then fetched under the grant."""
        return await self.web.fetch(await self.grant(url), url, headers={"User-Agent": "test"}, max_bytes=max_bytes, seconds=seconds)

    @asynccontextmanager
    async def open(self) -> "AsyncIterator[World]":
        async with self._servers, anyio.create_task_group() as self._tasks:
            yield self
            await self.net.aclose()
            self._tasks.cancel_scope.cancel()


def world(tls: ssl.SSLContext | None = None, opened: Sequence[str] | None = None, **names: Sequence[Sequence[str]]) -> World:
    """Hosts `a`, `b` … as `a.test`, each opened by the owner unless `opened` says which are."""
    hosts = {f"{name}.test": answers for name, answers in (names or {"a": [["127.0.0.1"]]}).items()}
    return World(hosts, [*hosts] if opened is None else opened, tls)


def page(body: bytes, *headers: str, status: str = "200 OK", kind: str = "text/plain") -> Answer:
    """Answers every request with this."""

    async def answer(stream: Stream, request: bytes) -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
        await stream.send("\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body)

    return answer


def redirect(place: str, status: str = "302 Found") -> Answer:
    return page(b"", f"Location: {place}", status=status)
