"""Web addresses: public ones pass, all that leads inside is refused, however it is spelled."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from neuralclaw.errors import PermissionDeniedError
from neuralclaw.types.actions import Action
from neuralclaw.types.facts import FactSheet, Wants
from neuralclaw.types.options import OwnerRule
from neuralclaw.types.questions import Answers
from neuralclaw.types.risk import Decision
from neuralclaw.types.signals import Denied, Parked
from neuralclaw.types.urls import parse

from .parts import FETCH, POLICY, FakeFacts, action, answered, gate

pytestmark = pytest.mark.anyio

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("address_cases.json").read_text())
PUBLIC = "93.184.216.34"


class EveryHost(FakeFacts):
    """Any host has these addresses."""

    def __init__(self, *found: str, nat64: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.found, self.nat64 = found, nat64

    async def look(self, action: Action, wants: Wants) -> FactSheet:
        self.looks += 1
        return FactSheet(addresses=dict.fromkeys(wants.hosts, self.found), nat64=self.nat64)


def opened(host: str, decision: Decision = Decision.ALLOW, **more: Any) -> Any:
    """A policy in which the owner says so about a host."""
    rule = OwnerRule(id="mine", decision=decision, host=host, **more)
    return msgspec.structs.replace(POLICY, rules=(*POLICY.rules, rule))


@pytest.mark.parametrize("case", CASES, ids=lambda case: ascii(case["url"])[1:60])
async def test_every_case_of_the_table_is_judged_as_it_says(case: dict[str, Any]) -> None:
    verdict = await gate(facts=EveryHost(*case.get("resolve", [PUBLIC]))).judge(action(FETCH, url=case["url"]))
    assert verdict.decision == case["expect"], case["what"]
    assert [rule.id for rule in verdict.rules][:1] == ([case["rule"]] if "rule" in case else []), case["what"]


def test_the_table_has_enough_cases_of_both_kinds() -> None:
    assert len(CASES) >= 350
    assert sum(case["expect"] == "allow" for case in CASES) >= 80
    assert len({json.dumps(case) for case in CASES}) == len(CASES)


async def test_a_public_address_is_fetched_from_the_judged_address_only() -> None:
    facts = FakeFacts(addresses={"example.com": (PUBLIC,)})
    grant = await gate(facts=facts).authorize(action(FETCH, url="https://Example.com:8443/a?b"), Answers())
    assert grant.envelope.addresses == {"example.com": (PUBLIC,)}
    assert grant.envelope.hosts == ("example.com:8443",)
    assert grant.envelope.urls == {"https://Example.com:8443/a?b": "https://example.com:8443/a?b"}
    assert (await gate(facts=facts).judge(action(FETCH, url="https://example.com"))).addresses == (PUBLIC,)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("HTTP://EXAMPLE.com", "http://example.com/"),
        ("https://example.com.:443/a#b", "https://example.com/a"),
        ("http://example.com:443?x=1", "http://example.com:443/?x=1"),
        ("https://bücher.example/ä?ö=%C3%BC#ß", "https://xn--bcher-kva.example/%C3%A4?%C3%B6=%C3%BC"),
        ("http://[2606:4700:4700:0:0:0:0:1111]:80/a|b<c>", "http://[2606:4700:4700::1111]/a|b%3Cc%3E"),
        ("https://example.com/a/../b//c/%2e%2E/", "https://example.com/a/../b//c/%2e%2E/"),
    ],
)
def test_an_address_is_requested_in_the_form_in_which_it_was_judged(text: str, canonical: str) -> None:
    assert parse(text).canonical == canonical
    assert parse(canonical).canonical == canonical


@pytest.mark.parametrize(
    ("url", "meant"),
    [("http://0x7f.1/", "127.0.0.1"), ("http://2852039166/", "169.254.169.254"), ("http://012.1/", "10.0.0.1"), ("http://134744072/", "8.8.8.8")],
)
async def test_an_unusual_spelling_is_refused_with_the_address_that_it_means(url: str, meant: str) -> None:
    verdict = await gate().judge(action(FETCH, url=url))
    assert verdict.reasons[0].endswith(f"is an unusual spelling of the network address {meant}")


@pytest.mark.parametrize(
    ("shown", "address"),
    [
        ("2001:67c:2e8:aaaa::c000:aa", "2001:67c:2e8:aaaa::a9fe:a9fe"),  # /96
        ("2001:67c:2e8:aa00:c0:0:aa00:0", "2001:67c:2e8:aa00:7f:0:100:0"),  # /64
        ("2001:67c:c000:aa::", "2001:67c:7f00:1::"),  # /32
    ],
)
async def test_what_this_networks_own_translator_would_lead_inside_is_refused(shown: str, address: str) -> None:
    assert (await gate(facts=EveryHost(address)).judge(action(FETCH, url="https://a.example/"))).decision is Decision.ALLOW
    verdict = await gate(facts=EveryHost(address, nat64=("192.0.0.170", shown))).judge(action(FETCH, url="https://a.example/"))
    assert (verdict.decision, verdict.rules[0].id) == (Decision.FORBID, "url.address")


async def test_a_translation_of_the_hosts_own_public_address_is_connected_to() -> None:
    facts = EveryHost("8.8.8.8", "2001:67c:2e8:aaaa::808:808", nat64=("2001:67c:2e8:aaaa::c000:aa",))
    assert (await gate(facts=facts).judge(action(FETCH, url="https://a.example/"))).decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("host", "address"), [("nas.local", "192.168.1.5"), ("localhost", "127.0.0.1"), ("intra.example", "fd12::5"), ("10.0.0.7", "10.0.0.7")]
)
async def test_a_rule_of_the_owner_opens_one_host_inside_and_its_judged_address(host: str, address: str) -> None:
    asked, said = action(FETCH, url=f"http://{host}:8080/"), host == "intra.example"
    grant = await gate(opened(host, inside=said), EveryHost(address)).authorize(asked, Answers())
    assert (grant.envelope.addresses, grant.envelope.hosts) == ({host: (address,)}, (f"{host}:8080",))
    assert grant.verdict is not None
    assert "the owner's rule mine allows it" in grant.verdict.reasons[0]
    for other in (
        opened("other.example", inside=True),
        opened(host, tool="http_check", inside=True),
        opened(host, Decision.ASK, inside=True),
        opened(host.partition(".")[2] or "example", inside=True),
        opened(host, path="/x", inside=True),
    ):
        assert (await gate(other, EveryHost(address)).judge(asked)).decision is Decision.FORBID


@pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "fd00:42::42", "100.100.100.200", "168.63.129.16", "::ffff:10.0.0.1", "224.0.0.1"])
async def test_no_rule_opens_what_serves_credentials_or_hides_an_address(address: str) -> None:
    policy = opened("a.example", inside=True)
    assert (await gate(policy, EveryHost(address)).judge(action(FETCH, url="http://a.example/"))).decision is Decision.FORBID


async def test_a_rule_that_allows_a_public_host_opens_nothing_when_its_name_server_leads_inside() -> None:
    for address in ("10.0.0.1", "127.0.0.1", "::1", "fd12::5"):
        assert (await gate(opened("a.example"), EveryHost(address)).judge(action(FETCH, url="https://a.example/"))).decision is Decision.FORBID


ASKS = msgspec.structs.replace(POLICY, rules=(OwnerRule(id="ask", decision=Decision.ASK, tool="web_fetch"),))


async def test_a_yes_still_counts_when_a_public_host_has_moved_to_other_public_addresses() -> None:
    asked = action(FETCH, url="https://a.example/")
    with pytest.raises(Parked) as parked:
        await gate(ASKS, EveryHost("8.8.8.8", "1.1.1.1")).authorize(asked, Answers())
    yes = answered(parked.value.question.hash, "once")
    grant = await gate(ASKS, EveryHost("9.9.9.9")).authorize(asked, yes)
    assert grant.envelope.addresses == {"a.example": ("9.9.9.9",)}
    with pytest.raises(Denied):
        await gate(ASKS, EveryHost("127.0.0.1")).authorize(asked, yes)


async def test_a_yes_for_a_place_inside_counts_for_that_place_alone() -> None:
    policy = msgspec.structs.replace(ASKS, rules=(*ASKS.rules, OwnerRule(id="mine", decision=Decision.ALLOW, host="nas.local")))
    asked = action(FETCH, url="http://nas.local/")
    with pytest.raises(Parked) as parked:
        await gate(policy, EveryHost("192.168.1.5")).authorize(asked, Answers())
    assert "192.168.1.5" in parked.value.question.summary
    yes = answered(parked.value.question.hash, "once")
    assert (await gate(policy, EveryHost("192.168.1.5")).authorize(asked, yes)).envelope.addresses == {"nas.local": ("192.168.1.5",)}
    with pytest.raises(Parked):
        await gate(policy, EveryHost("192.168.1.6")).authorize(asked, yes)


async def test_where_an_answer_leads_is_judged_like_the_calls_own_address() -> None:
    facts = FakeFacts(addresses={"a.example": (PUBLIC,), "b.example": ("8.8.8.8",), "evil.example": ("10.0.0.1",)})
    grant = await gate(facts=facts).authorize(action(FETCH, url="https://a.example/"), Answers())
    behind = await grant.follow("http://b.example/x")
    assert (behind.envelope.addresses, behind.envelope.hosts, behind.arguments) == (
        {"b.example": ("8.8.8.8",)},
        ("b.example:80",),
        {"url": "http://b.example/x"},
    )
    for url in ("http://evil.example/", "http://127.0.0.1/", "file:///etc/passwd", "http://[::1]/", "http://b.example:22/", "http://u:p@b.example/"):
        with pytest.raises(PermissionDeniedError):
            await grant.follow(url)
    grant.close()
    assert not behind.open
    with pytest.raises(PermissionDeniedError):
        behind.check()
    with pytest.raises(PermissionDeniedError):
        await grant.follow("http://b.example/x")


async def test_an_answer_that_leads_where_a_rule_asks_is_not_followed() -> None:
    facts = FakeFacts(addresses={"a.example": (PUBLIC,), "b.example": ("8.8.8.8",)})
    grant = await gate(opened("b.example", Decision.ASK), facts).authorize(action(FETCH, url="https://a.example/"), Answers())
    with pytest.raises(PermissionDeniedError) as refused:
        await grant.follow("https://b.example/")
    assert "a call of its own" in refused.value.hint


async def test_a_yes_to_a_call_covers_redirects_within_its_host_and_no_other() -> None:
    asked, facts = action(FETCH, url="http://a.example/"), FakeFacts(addresses={"a.example": (PUBLIC,), "b.example": ("8.8.8.8",)})
    with pytest.raises(Parked) as parked:
        await gate(ASKS, facts).authorize(asked, Answers())
    grant = await gate(ASKS, facts).authorize(asked, answered(parked.value.question.hash, "once"))
    assert (await (await grant.follow("https://a.example/start")).follow("https://a.example/other")).envelope.hosts == ("a.example:443",)
    with pytest.raises(PermissionDeniedError):
        await grant.follow("https://b.example/")


async def test_an_answer_from_outside_leads_to_no_place_inside_that_the_owner_opened() -> None:
    facts = FakeFacts(addresses={"a.example": (PUBLIC,), "nas.local": ("192.168.1.5",)})
    judging = gate(opened("nas.local"), facts)
    outside = await judging.authorize(action(FETCH, url="https://a.example/"), Answers())
    with pytest.raises(PermissionDeniedError, match="from outside redirects inside"):
        await outside.follow("http://nas.local/")
    inside = await judging.authorize(action(FETCH, url="http://nas.local/"), Answers())
    assert (await inside.follow("http://nas.local/next")).envelope.addresses == {"nas.local": ("192.168.1.5",)}
