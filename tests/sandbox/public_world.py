"""Every case of the address table fetched for real: to be run in a network namespace of its own, where this machine has all the addresses.

`unshare --user --map-root-user --net python -m tests.sandbox.public_world FOLDER` prints one JSON line for each case.
"""

import ipaddress
import json
import ssl
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel

from neuralclaw.errors import NeuralClawError
from neuralclaw.types.signals import Denied
from neuralclaw.types.urls import parse

from .web_world import Stream, World, page

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "safety" / "address_cases.json").read_text())
PUBLIC = "93.184.216.34"


def addresses() -> set[str]:
    """Every network address that a case names, public or inside, as far as a machine can have it."""
    named = {address.partition("%")[0] for case in CASES for address in (*case.get("resolve", []), parse(case["url"]).literal or PUBLIC)}
    found = {ipaddress.ip_address(address) for address in named}
    return {str(one) for one in found if not (one.is_loopback or one.is_unspecified or one.is_multicast or str(one) == "255.255.255.255")}


def own_all(wanted: Iterable[str]) -> None:
    """Give this namespace's loopback the addresses. The kernel refuses a few that no host may have."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in wanted:
        size = "128" if ":" in address else "32"
        subprocess.run(["ip", "address", "add", f"{address}/{size}", "dev", "lo", *(["nodad"] if size == "128" else [])], check=False, capture_output=True)


def certificate(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A certificate for every host of the table, and a client's side that trusts it."""
    names = {parse(case["url"]).host for case in CASES if case["expect"] == "allow"}
    kinds = [f"IP:{name}" if ":" in name or name.replace(".", "").isdigit() else f"DNS:{name}" for name in sorted(names)]
    key, made = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", str(key), "-out", str(made)]
    subprocess.run([*command, "-subj", "/CN=table", "-days", "2", "-addext", f"subjectAltName={','.join(kinds)}"], check=True, capture_output=True)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(made, key)
    return serving, ssl.create_default_context(cafile=str(made))


async def reached(stream: Stream, request: bytes) -> None:
    """Says at which address and port it was reached."""
    place = stream.extra(anyio.abc.SocketAttribute.local_address)
    await page(f"{place[0]} {place[1]}".encode())(stream, request)


async def main(folder: Path) -> None:
    own_all(addresses())
    serving, trusting = certificate(folder)
    places = {(url.scheme, url.port or (443 if url.scheme == "https" else 80)) for url in (parse(case["url"]) for case in CASES) if url.problem is None}
    here = World({}, [], trusting)
    async with here.open():
        servers = []
        for scheme, port in sorted(places):
            servers += [await here.serve(reached, address, port, serving if scheme == "https" else None) for address in ("0.0.0.0", "::")]
        for case in CASES:
            sys.stdout.write(json.dumps(await tried(here, case, servers)) + "\n")


async def tried(here: World, case: dict[str, Any], servers: Sequence[Any]) -> dict[str, Any]:
    """What became of one case: the decision, where it arrived, how many connections were made."""
    before = sum(server.connections for server in servers)
    answers = [case.get("resolve", [PUBLIC])]
    here.names = dict.fromkeys([parse(case["url"]).host], answers)
    here.asked.clear()
    arrived, decision, error = "", "allow", ""
    try:
        arrived = (await here.fetch(case["url"])).body.decode()
    except Denied:
        decision = "forbid"
    except NeuralClawError as failed:
        error = failed.text
    await anyio.lowlevel.checkpoint()
    looked = here.asked.count(parse(case["url"]).host)
    return {"decision": decision, "arrived": arrived, "error": error, "connections": sum(s.connections for s in servers) - before, "looked": looked}


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
