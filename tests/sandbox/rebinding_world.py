"""A name server that changes its mind after each answer, and the system's own resolver: to be run in namespaces of its own.

`unshare --user --map-root-user --net --mount python -m tests.sandbox.rebinding_world FOLDER` prints one JSON object.
"""

import ipaddress
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio

from neuralclaw.errors import NeuralClawError
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.types.options import Policy
from neuralclaw.types.signals import Denied

from .public_world import own_all, reached
from .web_world import Stream, World, redirect

PUBLIC, OTHER = "93.184.216.34", "93.184.216.35"
A, AAAA = 1, 28
ZONE: dict[tuple[str, int], list[list[str]]] = {
    ("rebind.test", A): [[PUBLIC], ["127.0.0.1"]],
    ("away.test", A): [[OTHER]],
    ("later.test", A): [["10.0.0.1"]],
    ("v6.test", AAAA): [["2606:4700::1111"]],
    ("nat64.test", AAAA): [["2001:67c:2e8:aaaa::a00:1"]],
    ("ipv4only.arpa", AAAA): [["2001:67c:2e8:aaaa::c000:aa"]],
}
"""Name and type -> the answers, one after the other; the last stays."""


async def answer_names(asked: list[str]) -> None:
    """A name server: each question gets the next answer of its name, which nobody may keep."""
    async with await anyio.create_udp_socket(family=socket.AF_INET, local_host="127.0.0.1", local_port=53) as server:
        async for question, (host, port) in server:
            name, place = "", 12
            while size := question[place]:
                name += question[place + 1 : place + 1 + size].decode() + "."
                place += size + 1
            kind = int.from_bytes(question[place + 1 : place + 3], "big")
            name = name.rstrip(".").lower()
            answers = ZONE.get((name, kind), [[]])
            found = answers.pop(0) if len(answers) > 1 else answers[0]
            asked.append(f"{name} {'A' if kind == A else 'AAAA'}")
            head = question[:2] + b"\x84\x00" + question[4:6] + len(found).to_bytes(2, "big") + bytes(4)
            records = [b"\xc0\x0c" + kind.to_bytes(2, "big") + b"\x00\x01" + bytes(4) + _sized(ipaddress.ip_address(one).packed) for one in found]
            await server.sendto(head + question[12 : place + 5] + b"".join(records), host, port)


def _sized(data: bytes) -> bytes:
    return len(data).to_bytes(2, "big") + data


def use_names(folder: Path) -> None:
    """Make that server the one of this namespace's resolver."""
    for path, text in (("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n"), ("/etc/nsswitch.conf", "hosts: dns\n")):
        own = folder / Path(path).name
        own.write_text(text)
        subprocess.run(["mount", "--bind", str(own), path], check=True)


async def main(folder: Path) -> None:
    own_all([PUBLIC, OTHER, "10.0.0.1", "2606:4700::1111"])
    use_names(folder)
    asked: list[str] = []
    here = World({}, [])
    policy = Policy()
    here.gate = PolicyGate(policy, SystemFacts(policy, ""), here.clock, analyse)
    found: dict[str, Any] = {}
    async with here.open(), anyio.create_task_group() as tasks:
        tasks.start_soon(answer_names, asked)

        async def lead(stream: Stream, request: bytes) -> None:
            place = {b"/back": "http://rebind.test/end", b"/inside": "http://later.test/"}.get(request.split()[1])
            await (redirect(place) if place else reached)(stream, request)

        servers = [await here.serve(lead, address, 80) for address in ("0.0.0.0", "::")]
        for url in ("http://rebind.test/", "http://rebind.test/", "http://away.test/back", "http://away.test/inside", "http://v6.test/", "http://nat64.test/"):
            before, asked[:] = sum(server.connections for server in servers), []
            try:
                said = (await here.fetch(url)).body.decode()
            except Denied as denied:
                said = f"denied: {denied}"
            except NeuralClawError as error:
                said = error.text
            connections = sum(server.connections for server in servers) - before
            found[f"{len(found)} {url}"] = {"said": said, "asked": sorted(asked), "connections": connections}
        tasks.cancel_scope.cancel()
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
