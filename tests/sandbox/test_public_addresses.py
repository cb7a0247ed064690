"""The whole address table with real connections: what is allowed arrives at the judged address, what is forbidden opens none."""

import ipaddress
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from neuralclaw.types.urls import parse

from .public_world import CASES, PUBLIC
from .special_world import ONE_PLACE, TABLE

ROOT = Path(__file__).parents[2]


@pytest.mark.full
@pytest.mark.invariant("gate.as-judged")
def test_every_case_of_the_table_arrives_at_the_judged_address_or_opens_no_connection(tmp_path: Path, record_property: Any) -> None:
    command = ["unshare", "--user", "--map-root-user", "--net", sys.executable, "-m", "tests.sandbox.public_world", str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(found) == len(CASES)
    record_property("cases", len(found))
    wrong = []
    for case, one in zip(CASES, found, strict=True):
        url = parse(case["url"])
        if case["expect"] == "forbid":
            right = one["decision"] == "forbid" and one["connections"] == 0
        else:
            judged = {ipaddress.ip_address(address) for address in (case.get("resolve", [PUBLIC]) if url.literal is None else [url.literal])}
            address, _, port = one["arrived"].partition(" ")
            right = bool(address) and ipaddress.ip_address(address.removeprefix("::ffff:")) in judged
            right = right and int(port) == (url.port or (443 if url.scheme == "https" else 80)) and one["looked"] == (url.literal is None)
        if not right:
            wrong.append((case, one))
    assert wrong == []


@pytest.mark.full
@pytest.mark.invariant("gate.as-judged")
def test_a_name_server_that_changes_its_mind_leads_nobody_elsewhere(tmp_path: Path) -> None:
    command = ["unshare", "--user", "--map-root-user", "--net", "--mount", sys.executable, "-m", "tests.sandbox.rebinding_world", str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert ran.returncode == 0, ran.stderr[-2000:]
    first, second, back, inside, v6, nat64 = json.loads(ran.stdout).values()
    assert first == {"said": "93.184.216.34 80", "asked": ["rebind.test A", "rebind.test AAAA"], "connections": 1}
    assert (second["said"], second["connections"]) == ("denied: rebind.test leads to 127.0.0.1, this machine", 0)
    for one, said in ((back, "rebind.test leads to 127.0.0.1, this machine"), (inside, "later.test leads to 10.0.0.1, a private network")):
        assert one["said"].endswith(f"which is not followed: {said}")
        assert one["connections"] == 1
    assert (v6["said"], v6["asked"][:2]) == ("2606:4700::1111 80", ["ipv4only.arpa A", "ipv4only.arpa AAAA"])
    assert nat64 == {
        "said": "denied: nat64.test leads to 2001:67c:2e8:aaaa::a00:1, a translated IPv4 address",
        "asked": ["nat64.test A", "nat64.test AAAA"],
        "connections": 0,
    }


@pytest.mark.full
@pytest.mark.invariant("gate.as-judged")
def test_special_addresses_and_odd_spellings_are_never_connected_to_however_they_come(record_property: Any) -> None:
    """Written from the RFCs, the registries of IANA and the documentation of clouds, without the tables of the program in sight."""
    assert sum(len(group) for group in TABLE.values()) >= 470
    command = ["unshare", "--user", "--map-root-user", "--net", sys.executable, "-m", "tests.sandbox.special_world"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert ran.returncode == 0, ran.stderr[-2000:]
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    record_property("cases", len(lines))
    wrong = []
    for verdict, way, url, found, arrived, connections, said in lines:
        if verdict == "public":
            wanted = found[0] if "name.test" in url else url.removeprefix("http://").strip("[]/")
            right = bool(arrived) and ipaddress.ip_address(arrived) == ipaddress.ip_address(wanted) and connections == 1
        elif verdict == "refused":  # as a `Location` a broken line can be cut to another, public, address by HTTP itself
            right = (bool(said) and connections == 0) or (way == "redirect" and "\n" in url and arrived in ("", ONE_PLACE))
        else:
            right = connections == (arrived == ONE_PLACE) and arrived in ("", ONE_PLACE)
        if not right:
            wrong.append((verdict, way, url, found, arrived, connections, said))
    assert wrong == []
    assert len(lines) > 2_000
