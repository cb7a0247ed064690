"""What it costs that a fetch is judged: the same page by bare aiohttp and by the tool, in turns, from a server in a process of its own.

python benchmarks/fetch.py [ROUNDS]
"""

import asyncio
import gzip
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence

import aiohttp

from neuralclaw.app.clock import SystemClock
from neuralclaw.documents.document_formats import DOCUMENTS
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.sandbox.converter import ChildConverter
from neuralclaw.sandbox.net import HttpNet
from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.sandbox.web_client import WebClient
from neuralclaw.tools.file_formats import FileFormats
from neuralclaw.tools.web_tools import web_fetch
from neuralclaw.types.actions import Action
from neuralclaw.types.options import OwnerRule, Policy
from neuralclaw.types.questions import Answers
from neuralclaw.types.risk import Decision
from neuralclaw.types.tools import ToolContext

HOST = "bench.test"
ARTICLE = b"<!doctype html><title>Bench</title><nav>menu</nav><main>" + b"<h2>Part</h2><p>Some words of a <b>page</b> with <a href=/x>links</a>.</p>" * 300
BODIES = {
    "/text": ("text/plain", b"words " * 1500, ""),
    "/gzip": ("text/plain", gzip.compress(b"".join(b"line %d of a longer text\n" % n for n in range(40_000))), "gzip"),
    "/page": ("text/html", ARTICLE, ""),
}
CONTEXT = ToolContext(session="s", turn=1, call_id="c", workspace="/")


async def serve() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
                if path.startswith("/hop"):
                    left = int(path[4:])
                    place = f"/hop{left - 1}" if left > 1 else "/text"
                    writer.write(f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode())
                else:
                    kind, body, coding = BODIES[path]
                    coded = f"Content-Encoding: {coding}\r\n" if coding else ""
                    writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{coded}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class Loopback(aiohttp.abc.AbstractResolver):
    """What a look-up costs is the network's: both sides get the same answer at once."""

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[aiohttp.abc.ResolveResult]:
        return [{"hostname": host, "host": "127.0.0.1", "port": port, "family": 2, "proto": 0, "flags": 0}]

    async def close(self) -> None:
        pass


async def answers(host: str) -> Sequence[str]:
    return ["127.0.0.1"]


async def bare(port: int, path: str) -> None:
    """A session for each fetch, as the judged client has one: connections to judged addresses are not shared."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(resolver=Loopback())) as session, session.get(f"http://{HOST}:{port}{path}") as response:
        await response.read()


def judged(port: int) -> Callable[[str, bool], Awaitable[None]]:
    policy = Policy(rules=(OwnerRule(id="bench", decision=Decision.ALLOW, host=HOST, inside=True),))
    gate = PolicyGate(policy, SystemFacts(policy, "", answers), SystemClock(), analyse)
    client = WebClient(HttpNet())
    tool = web_fetch(client, FileFormats(DOCUMENTS.formats, ChildConverter()))

    async def fetch(path: str, whole: bool) -> None:
        url = f"http://{HOST}:{port}{path}"
        action = Action(session="s", turn=1, call_id="c", spec=tool.spec, arguments={"url": url}, workspace="/")
        grant = await gate.authorize(action, Answers())
        if whole:
            assert (await tool.run({"url": url}, grant, CONTEXT)).ok
        else:
            assert (await client.fetch(grant, url, headers={}, max_bytes=5_000_000, seconds=30)).status == 200

    return fetch


async def measure(rounds: int, port: int) -> None:
    fetch = judged(port)
    pairs: dict[str, tuple[Callable[[], Awaitable[None]], Callable[[], Awaitable[None]]]] = {
        "9 KB of text": (lambda: bare(port, "/text"), lambda: fetch("/text", False)),
        "5 redirects, then the text": (lambda: bare(port, "/hop5"), lambda: fetch("/hop5", False)),
        "1 MB, packed by gzip": (lambda: bare(port, "/gzip"), lambda: fetch("/gzip", False)),
        "a page of 23 KB as Markdown": (lambda: bare(port, "/page"), lambda: fetch("/page", True)),
    }
    print(f"{'':30} {'aiohttp':>9} {'judged':>9} {'more':>9}")
    for name, both in pairs.items():
        times: list[list[float]] = [[], []]
        for turn in range(rounds + 3):
            for place, run in enumerate(both):  # in turns, so that a busy moment hits both
                start = time.perf_counter()
                await run()
                if turn >= 3:
                    times[place].append(time.perf_counter() - start)
        plain, ours = (statistics.median(each) * 1000 for each in times)
        print(f"{name:30} {plain:6.2f} ms {ours:6.2f} ms {ours - plain:6.2f} ms")


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        asyncio.run(serve())
    else:
        with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 100, int(server.stdout.readline())))
            finally:
                server.kill()
