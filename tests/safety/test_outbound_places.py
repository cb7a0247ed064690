"""Places that a running command wants to reach: each is looked up and judged once, and there are not more of them than a command needs."""

import pytest

from neuralclaw.errors import PermissionDeniedError
from neuralclaw.safety.outbound_places import MOST, OutboundPlaces

from .parts import POLICY, TERMINAL, FakeFacts, action

pytestmark = pytest.mark.anyio

ADDRESS = "93.184.216.34"


async def test_a_command_that_tries_ever_more_places_looks_up_no_more_of_them() -> None:
    facts = FakeFacts(addresses={f"host{number}.test": (ADDRESS,) for number in range(MOST + 2)})
    places = OutboundPlaces(facts.look, action(TERMINAL, command="sh fetch.sh"), POLICY, (), None)
    for number in range(MOST):
        assert await places.judge(f"host{number}.test", 443) == (ADDRESS,)
    for host in ("host1000.test", "host1001.test", ADDRESS):
        with pytest.raises(PermissionDeniedError, match="has tried 1,000 places already"):
            await places.judge(host, 443)
    assert facts.looks == MOST
    assert await places.judge("host7.test", 443) == (ADDRESS,)
    assert facts.looks == MOST
