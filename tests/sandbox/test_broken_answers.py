"""What a fetch says of answers that are broken or late."""

import time

import anyio
import pytest

from neuralclaw.errors import ToolExecutionError, ToolTimeoutError
from neuralclaw.safety.gate import PolicyGate
from neuralclaw.safety.shell import analyse
from neuralclaw.sandbox.system_facts import SystemFacts
from neuralclaw.types.options import OwnerRule, Policy
from neuralclaw.types.risk import Decision

from .web_world import Stream, world

pytestmark = pytest.mark.anyio


async def test_the_look_up_before_the_call_is_time_of_the_fetch() -> None:
    async def slow(host: str) -> list[str]:
        await anyio.sleep(1.0)
        return ["127.0.0.1"]

    async def never(stream: Stream, request: bytes) -> None:
        await anyio.sleep_forever()

    async with world().open() as here:
        policy = Policy(rules=(OwnerRule(id="a", decision=Decision.ALLOW, host="a.test", inside=True),))
        here.gate = PolicyGate(policy, SystemFacts(policy, "", slow), here.clock, analyse)
        server = await here.serve(never)
        begun = time.monotonic()
        with pytest.raises(ToolTimeoutError, match=r"within 1\.2 s \(its name was looked up for 1\.0 s of them\)"):
            await here.fetch(f"http://a.test:{server.port}/", seconds=1.2)
        assert time.monotonic() - begun < 2.0  # 2.2 s where the look-up is not counted


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"SSH-2.0-OpenSSH_9\r\n", "Bad status line"),
        (b"HTTP/1.1 200 " + b"y" * 100_000, "Got more than 65536 bytes when reading"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000, "Got more than 65536 bytes when reading"),
        (b"HTTP/1.1 200 OK\r\nContent-", "it was ended before the answer was complete"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabc", "Duplicate Content-Length"),
    ],
)
async def test_a_broken_answer_is_named_in_one_line_without_what_the_server_sent(sent: bytes, said: str) -> None:
    async def broken(stream: Stream, request: bytes) -> None:
        await stream.send(sent)
        await stream.aclose()

    async with world().open() as here:
        server = await here.serve(broken)
        with pytest.raises(ToolExecutionError) as failed:
            await here.fetch(f"http://a.test:{server.port}/")
        assert failed.value.text.endswith(f"failed: {said}")
