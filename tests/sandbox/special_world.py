"""Special addresses, spellings and whole addresses fetched for real: to be run in a network namespace of its own, where this machine has them all.

`unshare --user --map-root-user --net python -m tests.sandbox.special_world` prints one JSON line for each fetch. Every address is fetched as it is, under a
name, under a name beside a public address, and as the place of a redirect; any other name leads to this machine, as a hosts file could have it.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.abc
import anyio.lowlevel

from neuralclaw.errors import NeuralClawError
from neuralclaw.types.signals import Denied

from .public_world import own_all, reached
from .web_world import Stream, World, redirect

TABLE: dict[str, list[str]] = json.loads((Path(__file__).parents[1] / "safety" / "special_addresses.json").read_text())
ONE_PLACE = "8.8.8.8"
"""Where the addresses of `one_place` may lead, if they are fetched at all."""
START, PORT = "93.184.216.34", 8081
OWN = ["127.0.0.1"]


def cases() -> Iterator[tuple[str, str, list[str]]]:
    """What must become of it (public, refused or one place), the address to fetch, and what `name.test` leads to."""
    for address in TABLE["public"]:
        yield "public", f"http://{_bracketed(address)}/", OWN
        yield "public", "http://name.test/", [address]
    for address in TABLE["refused"]:
        yield "refused", f"http://{_bracketed(address)}/", OWN
        for found in ([address], [address, "2606:4700:4700::1111"], ["1.0.0.1", address]):
            yield "refused", "http://name.test/", found
    for host in TABLE["spellings"]:
        yield "refused", f"http://{host}/", OWN
    for url in TABLE["refused_urls"]:
        yield "refused", url, OWN
    for url in TABLE["one_place"]:
        yield "one place", url, OWN


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


class Names(dict[str, list[list[str]]]):
    """Every name that is not here leads to this machine."""

    def get(self, host: str, default: object = None) -> list[list[str]]:  # type: ignore[override]
        return self[host] if host in self else [OWN]


async def main() -> None:
    own_all([*TABLE["public"], *TABLE["refused"]])
    world, place = World({}, []), [""]

    async def away(stream: Stream, request: bytes) -> None:
        await redirect(place[0])(stream, request)

    async with world.open():
        servers = [await world.serve(reached, address, port) for address, port in (("0.0.0.0", 80), ("::", 80), ("127.0.0.1", 8080))]
        await world.serve(away, START, PORT)
        for verdict, url, found in cases():
            world.names = Names({"name.test": [found], "start.test": [[START]]})
            for way, first in (("direct", url), ("redirect", f"http://start.test:{PORT}/")):
                place[0] = url
                before = sum(server.connections for server in servers)
                arrived, said = "", ""
                try:
                    arrived = (await world.fetch(first)).body.decode().partition(" ")[0].removeprefix("::ffff:")
                except (Denied, NeuralClawError) as error:
                    said = str(error)
                await anyio.lowlevel.checkpoint()
                connections = sum(server.connections for server in servers) - before
                sys.stdout.write(json.dumps([verdict, way, url, found, arrived, connections, said]) + "\n")


if __name__ == "__main__":
    anyio.run(main)
