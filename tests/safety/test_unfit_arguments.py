"""Arguments that no tool could be called with are slips that the model mends: no refusal, and no question whose yes would give nothing."""

from typing import Any

import msgspec
import pytest

from neuralclaw.types.risk import Decision, Power
from neuralclaw.types.tools import ToolSpec
from neuralclaw.types.verdicts import UNFIT_RULES

from .parts import POLICY, READ, action, gate, spec

pytestmark = pytest.mark.anyio

FETCH = spec("web_fetch", ("url", "url"), ("headers", "secrets"), powers=(Power.NETWORK,))
COMMAND = spec("terminal", ("command", "command"), ("working_dir", "cwd"), ("access", "access"), ("env_vars", "secrets"), powers=(Power.EXECUTE,))
SECRET = msgspec.structs.replace(POLICY, secrets=("TOKEN",))


async def forbidding(tool: ToolSpec, **arguments: Any) -> set[str]:
    verdict = await gate(SECRET).judge(action(tool, **arguments))
    assert verdict.decision is Decision.FORBID, verdict
    return {rule.id for rule in verdict.rules if rule.decision is Decision.FORBID}


@pytest.mark.parametrize(
    "url", ["example.com", "", "5", "http://", "http:///x", "http://a b/", "http://x:y/", "http://x:0/", "http://[::1", "http://1.2.3.400/"]
)
async def test_what_is_no_address_is_no_refusal(url: str) -> None:
    assert await forbidding(FETCH, url=url) == {"url.unfit"}


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "http://u:p@example.com/", "http://example.com:22/", "http://0x7f.1/", "http://[fe80::1%eth0]/", "http://%31/"]
)
async def test_an_address_that_is_one_and_not_allowed_stays_a_refusal(url: str) -> None:
    assert await forbidding(FETCH, url=url) == {"url.refused"}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (READ, {"path": "a\0b"}),
        (FETCH, {"url": "http://example.com/\0"}),
        (COMMAND, {"command": "echo a\0b"}),
        (COMMAND, {"command": "ls", "working_dir": "a\0"}),
        (COMMAND, {"command": "ls", "access": ["read a\0"]}),
    ],
)
async def test_a_zero_byte_is_no_refusal(tool: ToolSpec, arguments: dict[str, Any]) -> None:
    assert await forbidding(tool, **arguments) == {"argument.unfit"}


@pytest.mark.parametrize("place", ["connect :80", "connect a:b", "connect example.com", "fetch x"])
async def test_what_cannot_be_asked_for_is_no_refusal(place: str) -> None:
    assert await forbidding(COMMAND, command="ls", access=[place]) == {"access.unfit"}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (COMMAND, {"command": "ls", "env_vars": {"LD_PRELOAD": "secret:TOKEN"}}),
        (COMMAND, {"command": "ls", "env_vars": {"PATH": "/tmp"}}),
        (COMMAND, {"command": "ls", "env_vars": {"A=B": "b"}}),
        (COMMAND, {"command": "ls", "env_vars": {"A": "b\0"}}),
        (FETCH, {"url": "https://1.1.1.1/", "headers": {"Host": "secret:TOKEN"}}),
        (FETCH, {"url": "https://1.1.1.1/", "headers": {"X-A\r\nB": "secret:TOKEN"}}),
    ],
)
async def test_what_may_never_be_given_is_not_asked_about(tool: ToolSpec, arguments: dict[str, Any]) -> None:
    assert await forbidding(tool, **arguments) == {"secret.unfit"}


def test_each_of_them_is_an_error_to_the_model() -> None:
    assert {"url.unfit", "argument.unfit", "access.unfit", "secret.unfit"} <= UNFIT_RULES
