"""Web addresses: public ones pass, all that leads inside is refused, however it is spelled."""

import pytest

from neuralclaw.types.questions import Answers
from neuralclaw.types.risk import Decision

from .parts import FETCH, FakeFacts, action, gate

pytestmark = pytest.mark.anyio

INSIDE = (
    "127.0.0.1 10.0.0.1 192.168.1.1 172.16.5.4 169.254.169.254 0.0.0.0 100.64.0.1 224.0.0.1 255.255.255.255 ::1 :: fe80::1 fc00::1 fd12::1 ff02::1"
    " ::ffff:127.0.0.1 ::ffff:8.8.8.8 2002:7f00:1:: 2002:808:808:: 64:ff9b::7f00:1 2001:0:1::1 ::127.0.0.1 198.18.0.1 192.0.2.1"
).split()


@pytest.mark.parametrize("address", INSIDE)
async def test_an_address_that_leads_inside_is_forbidden_by_name_and_by_look_up(address: str) -> None:
    literal = f"http://[{address}]/" if ":" in address else f"http://{address}/"
    assert (await gate().judge(action(FETCH, url=literal))).decision is Decision.FORBID
    facts = FakeFacts(addresses={"evil.example": ("93.184.216.34", address)})
    assert (await gate(facts=facts).judge(action(FETCH, url="https://evil.example/x"))).rules[0].id == "url.address"


async def test_a_public_address_is_fetched_from_the_judged_address_only() -> None:
    facts = FakeFacts(addresses={"example.com": ("93.184.216.34",)})
    grant = await gate(facts=facts).authorize(action(FETCH, url="https://Example.com:8443/a?b"), Answers())
    assert grant.envelope.addresses == {"example.com": ("93.184.216.34",)}
    assert "example.com:8443" in grant.envelope.hosts
    assert (await gate(facts=facts).judge(action(FETCH, url="https://example.com"))).addresses == ("93.184.216.34",)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "example.com",
        "",
        "http://",
        "http://localhost/",
        "http://a.localhost",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://127.1/",
        "http://0177.0.0.1/",
        "http://u:p@example.com",
        "http://exam ple.com",
        "http://example.com\\@evil",
        "http://example.com:99999/",
        "http://metadata.google.internal/",
        "http://[fe80::1%25eth0]/",
        "https://nowhere.example/",
    ],
)
async def test_what_is_no_public_web_address_is_forbidden(url: str) -> None:
    verdict = await gate(facts=FakeFacts(addresses={"example.com": ("93.184.216.34",)})).judge(action(FETCH, url=url))
    assert verdict.decision is Decision.FORBID
    assert verdict.rules[0].id != "gate.error"
