"""A running command that tries a place inside: it is refused for what it is, and never offered."""

import pytest

from neuralclaw.errors import PermissionDeniedError
from neuralclaw.safety import outbound_places
from neuralclaw.safety.outbound_places import OutboundPlaces
from neuralclaw.types.options import OwnerRule, Policy
from neuralclaw.types.risk import Decision

from .parts import TERMINAL, FakeFacts, action

pytestmark = pytest.mark.anyio


def places(policy: Policy, *hosts: str) -> OutboundPlaces:
    facts = FakeFacts(addresses={"site.test": ("93.184.216.34",)})
    return OutboundPlaces(facts.look, action(TERMINAL, command="curl http://site.test/"), policy, hosts, None)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254", "localhost"])
async def test_a_place_inside_is_not_offered_where_the_permission_names_others(host: str) -> None:
    with pytest.raises(PermissionDeniedError) as refused:
        await places(Policy(), "site.test:80").judge(host, 80)
    assert refused.value.hint == ""
    assert outbound_places.NOT_NAMED not in refused.value.text


async def test_a_place_inside_that_the_owner_opened_may_be_asked_for() -> None:
    opened = Policy(rules=(OwnerRule(id="nas", decision=Decision.ALLOW, host="10.0.0.1", inside=True),))
    with pytest.raises(PermissionDeniedError) as refused:
        await places(opened, "site.test:80").judge("10.0.0.1", 80)
    assert "connect 10.0.0.1:80" in refused.value.hint


async def test_a_command_tries_a_thousand_places_and_no_more() -> None:
    judging = places(Policy(), "site.test:80")
    for port in range(1, outbound_places.MOST + 1):
        with pytest.raises(PermissionDeniedError):
            await judging.judge("10.0.0.1", port)
    with pytest.raises(PermissionDeniedError, match="tried 1,000 places already"):
        await judging.judge("site.test", 80)
