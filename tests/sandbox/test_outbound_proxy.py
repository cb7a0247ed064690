"""Granted network goes through the outbound proxy: real clients, real servers at addresses that are public in a network namespace of the test."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw.errors import PermissionDeniedError, ToolExecutionError
from neuralclaw.sandbox.outbound_proxy import OutboundProxy, listening
from neuralclaw.sandbox.proxy_requests import parsed

from .grants import command_grant

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
NOT_NAMED = "it is not among the places of this permission (site.test:80)"
UNPROXIED = "This command reaches the network only through the proxy"


@pytest.fixture(scope="module", params=["bubblewrap", "landlock", "process"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    kind = request.param
    command = ["unshare", "--user", "--map-root-user", "--net", sys.executable, "-m", "tests.sandbox.outbound_world", kind, str(tmp_path_factory.mktemp("out"))]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert ran.returncode == 0, ran.stderr[-2000:]
    return kind, json.loads(ran.stdout)


@pytest.mark.full
def test_an_approved_command_reaches_what_its_words_name_and_no_service_inside(world: tuple[str, dict[str, Any]]) -> None:
    _, found = world
    for name in ("curl", "tunnel", "wget"):
        assert (found[name]["out"], found[name]["asked"], found[name]["refused"]) == ("host site.test\n", ["site.test"], ""), name
    for name, place, reason in (
        ("loopback", "127.0.0.1:80", "127.0.0.1 is this machine.]"),
        ("tunnel to loopback", "127.0.0.1:80", "127.0.0.1 is this machine.]"),
        ("localhost", "localhost:80", "localhost is a name of this machine or its own network"),
        ("inside", "inside.test:80", "inside.test leads to 10.0.0.1, a private network"),
        ("away", "other.test:80", NOT_NAMED),
    ):
        assert found[name]["refused"].startswith(f"[The sandbox refused this: {place}: {reason}"), name
        assert found[name]["loopback"] == 0, name
    assert found["mine"]["out"] == "host mine.test\n"  # the owner opened it
    assert found["another port"]["out"].startswith("no connection to site.test:81: Connection refused")


@pytest.mark.full
def test_each_host_is_looked_up_once_and_a_second_answer_counts_for_nothing(world: tuple[str, dict[str, Any]]) -> None:
    _, found = world
    assert (found["rebind"]["out"], found["rebind"]["asked"]) == ("host rebind.test\n" * 2, ["rebind.test"])


@pytest.mark.full
def test_git_pip_and_python_work_through_the_proxy(world: tuple[str, dict[str, Any]]) -> None:
    _, found = world
    assert [found[name]["code"] for name in ("git", "pip", "python")] == [0, 0, 0], found
    assert "host site.test" in found["python"]["out"].splitlines()[1]


@pytest.mark.full
def test_npm_and_requests_work_and_what_knows_no_proxy_is_told_which_programs_do(world: tuple[str, dict[str, Any]]) -> None:
    kind, found = world
    assert found["requests"]["out"] == "host site.test\nhost site.test\n\n"
    if "npm" in found:
        assert (found["npm"]["code"], found["npm"]["out"].splitlines()[-1]) == (0, "thing"), found["npm"]
    if kind != "process":
        assert "git (https addresses)" in found["ssh"]["refused"]
        assert "git (https addresses)" in found["no proxy known"]["refused"]
        if "node" in found:
            assert found["node"]["code"] == 0 or "fetch of Node before version 24" in found["node"]["refused"]


@pytest.mark.full
def test_nobody_without_the_password_of_the_command_uses_its_proxy(world: tuple[str, dict[str, Any]]) -> None:
    _, found = world
    assert found["no password"]["out"] == "this proxy serves one command alone\n"
    assert found["no password"]["asked"] == []


@pytest.mark.full
def test_a_program_that_ignores_the_proxy_is_held_and_told_why_but_in_a_plain_process(world: tuple[str, dict[str, Any]]) -> None:
    kind, found = world
    said = json.loads(found["attacks"]["out"])
    assert said["the proxy"] == "reached"
    if kind == "process":
        assert said["tcp"] == said["udp"] == said["a service on loopback"] == "reached"
        assert found["direct to loopback"]["loopback"] == 1
        return
    for name in ("ignores it", "direct"):
        assert UNPROXIED in found[name]["refused"], name
    assert {name for name, one in said.items() if one == "reached"} == {"the proxy"}, said
    assert found["attacks"]["loopback"] == found["direct to loopback"]["loopback"] == 0


async def test_a_permission_that_nothing_was_judged_for_reaches_nothing(tmp_path: Path) -> None:
    grant = command_grant(tmp_path, network=True)
    with pytest.raises(PermissionDeniedError, match="no place is reached that was not judged before"):
        await grant.reach("example.com", 443)
    with pytest.raises(PermissionDeniedError, match="no network"):
        await command_grant(tmp_path).reach("example.com", 443)


async def test_a_failure_beside_the_proxy_arrives_as_it_is_and_the_socket_is_closed(tmp_path: Path) -> None:
    proxy = OutboundProxy(command_grant(tmp_path, network=True))
    listener = listening()

    async def fail() -> None:
        raise ToolExecutionError("mine")

    with pytest.raises(ToolExecutionError, match="mine"):
        await proxy.beside(listener, fail)
    assert listener.fileno() == -1


async def test_a_client_that_says_nothing_or_nonsense_holds_up_nobody(tmp_path: Path) -> None:
    proxy = OutboundProxy(command_grant(tmp_path, network=True))
    listener = listening()
    port = listener.getsockname()[1]

    async def work() -> list[bytes]:
        silent = await anyio.connect_tcp("127.0.0.1", port)
        answers = []
        for text in (b"\x05\x01\x00\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"CONNECT a:1\r\n\r\n", b"CONNECT a:0 HTTP/1.1\r\n\r\n"):
            async with await anyio.connect_tcp("127.0.0.1", port) as client:
                await client.send(text)
                answers.append((await client.receive()).partition(b"\r\n")[0])
        await silent.aclose()
        return answers

    with anyio.fail_after(5):
        assert await proxy.beside(listener, work) == [b"HTTP/1.1 400 Bad Request"] * 4


@pytest.mark.parametrize(
    ("head", "sent"),
    [
        ("GET http://a.test/b?c=d HTTP/1.1\r\nHost: other\r\nConnection: x\r\nAccept: */*\r\n\r\n", "GET /b?c=d HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\n"),
        ("POST http://u:p@a.test:81 HTTP/1.0\r\nContent-Length: 3\r\n\r\n", "POST / HTTP/1.1\r\nHost: a.test:81\r\nContent-Length: 3\r\n"),
    ],
)
def test_a_request_is_sent_on_under_the_name_that_was_judged(head: str, sent: str) -> None:
    made = parsed(head.encode())
    assert made.host == "a.test"
    assert made.head.decode() == f"{sent}Connection: close\r\n\r\n"


@pytest.mark.parametrize(
    "lines", ["Content-Length: 3\r\nContent-Length: 4", "Content-Length: 3\r\nTransfer-Encoding: chunked", "Content-Length: +3", "Content-Length: -1"]
)
def test_a_body_of_unknown_length_is_refused(lines: str) -> None:
    with pytest.raises(ValueError, match="how long its body is"):
        parsed(f"POST http://a.test/ HTTP/1.1\r\n{lines}\r\n\r\n".encode())
