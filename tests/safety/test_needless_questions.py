"""No question is asked whose yes would give nothing: for a place that no command reaches, and for what the command has already."""

import pytest

from neuralclaw.types.options import OwnerRule
from neuralclaw.types.risk import Decision, Power
from neuralclaw.types.verdicts import Verdict

from .parts import POLICY, WORKSPACE, FakeFacts, action, gate, judge, spec

pytestmark = pytest.mark.anyio

COMMAND = spec("terminal", ("command", "command"), ("working_dir", "cwd"), ("access", "access"), powers=(Power.EXECUTE,))
THERE = (WORKSPACE, f"{WORKSPACE}/a", f"{WORKSPACE}/.netrc", "/home/ann/notes")
FILES = FakeFacts(digests=dict.fromkeys(THERE, "1" * 64), links={f"{WORKSPACE}/out": "/home/ann/notes"})


async def asking(command: str, *access: str) -> list[str]:
    verdict = await gate(facts=FILES).judge(action(COMMAND, command=command, access=list(access)))
    assert verdict.decision is not Decision.FORBID, verdict
    return [rule.reason for rule in verdict.rules if rule.id == "access"]


def refusal(verdict: Verdict) -> str:
    assert verdict.decision is Decision.FORBID, verdict
    assert verdict.rules[0].alternative
    return f"{verdict.rules[0].id}: {verdict.rules[0].reason}"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("curl http://127.0.0.1", "curl cannot reach 127.0.0.1:80: 127.0.0.1 is this machine"),
        ("curl -sS localhost:8000/x", "curl cannot reach localhost:8000: localhost is a name of this machine or its own network"),
        ("wget -O - 192.168.1.1", "wget cannot reach 192.168.1.1:80: 192.168.1.1 is a private network"),
        ("git clone http://nas.local/x.git", "git cannot reach nas.local:80: nas.local is a name of this machine or its own network"),
        ("curl http://169.254.169.254/latest", "169.254.169.254 is a link-local or cloud metadata address"),
        ("curl http://2130706433/", "an unusual spelling of the network address 127.0.0.1"),
        ("curl http://example.com:25/", "port 25 belongs to another protocol than HTTP"),
        ("make; curl -o out http://10.0.0.1/ http://localhost/", "10.0.0.1 is a private network"),
    ],
)
async def test_a_command_that_names_only_places_which_are_never_reached_is_refused_without_a_question(command: str, reason: str) -> None:
    said = refusal(await judge(command))
    assert said.startswith("network.refused: ")
    assert said.endswith(reason)


@pytest.mark.parametrize(
    "command",
    [
        "curl http://localhost/ http://example.com/",
        "curl -e http://localhost/ https://example.com/",
        "curl --noproxy '*' http://127.0.0.1:8000/",
        "curl http://{a,b}.example/",
        "curl example.com",
        "curl http://$PLACE/",
        "git clone localhost:x.git",
    ],
)
async def test_one_that_may_reach_something_asks(command: str) -> None:
    assert (await judge(command)).decision is Decision.ASK


async def test_a_host_that_the_owner_opened_is_asked_about_and_a_metadata_service_is_not() -> None:
    def opened(host: str) -> OwnerRule:
        return OwnerRule(id="mine", decision=Decision.ALLOW, host=host)

    policy = POLICY.__class__(programs=POLICY.programs, home_dir=POLICY.home_dir, rules=(opened("localhost"), opened("169.254.169.254")))
    assert (await judge("curl http://localhost:8000/", policy=policy)).decision is Decision.ASK
    assert "metadata" in refusal(await judge("curl http://169.254.169.254/", policy=policy))


@pytest.mark.parametrize(
    ("command", "access"),
    [
        ("python3 x.py", ["read a"]),
        ("python3 x.py", [f"read {WORKSPACE}", "write .", "write a", "write new/file"]),
        ("cat a", ["read a"]),
        ("curl https://a.example/", ["connect a.example:443"]),
        ("git fetch", ["connect a.example:443"]),
    ],
)
async def test_what_a_command_has_already_is_no_question(command: str, access: list[str]) -> None:
    assert await asking(command, *access) == []


@pytest.mark.parametrize(
    ("command", "access", "reason"),
    [
        ("python3 x.py", "read /home/ann/notes", "also reads /home/ann/notes"),
        ("python3 x.py", "write out", "also changes /home/ann/notes"),
        ("cat a", "write a", f"also changes {WORKSPACE}/a"),
        ("python3 x.py", "write .envrc", f"also changes {WORKSPACE}/.envrc, which is not there"),
        ("python3 x.py", "write sub/.git/hooks", f"also changes {WORKSPACE}/sub/.git/hooks, which is not there"),
        ("python3 x.py", "write AGENTS.md", f"also changes {WORKSPACE}/AGENTS.md, which is not there"),
        ("python3 x.py", "read .netrc", f"also reads {WORKSPACE}/.netrc"),
        ("python3 x.py", "connect a.example:443", "also connects to a.example:443"),
        ("curl https://a.example/", "connect a.example:444", "also connects to a.example:444"),
    ],
)
async def test_what_it_has_not_is_asked_about(command: str, access: str, reason: str) -> None:
    assert await asking(command, access) == [reason]
