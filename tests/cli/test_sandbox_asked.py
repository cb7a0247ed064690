"""A sandbox that is asked for by name and cannot start: said at the start with what mends it, and in nobody's way who only reads."""

from pathlib import Path

import pytest

from neuralclaw import Agent
from neuralclaw.errors import ConfigError

from .program import Claw

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["container", "bubblewrap"])
def asked(request: pytest.FixtureRequest, claw: Claw, tmp_path: Path) -> str:
    """The sandbox that the configuration of `claw` asks for, where none can start."""
    (tmp_path / "bin").mkdir()
    broken = tmp_path / "bin" / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    broken.chmod(0o755)
    claw.env["PATH"] = str(tmp_path / "bin")
    claw.home.mkdir(exist_ok=True)
    (claw.home / "config.yaml").write_text(f"tools:\n  terminal:\n    sandbox: {request.param}\n")
    return str(request.param)


@pytest.mark.parametrize("words", [["run", "run ls"], ["run", "calculate 6 * 7"], [], ["recover"], ["tools", "call", "terminal", '{"command": "ls"}']])
async def test_it_is_an_error_of_the_configuration_at_the_start(claw: Claw, asked: str, words: list[str]) -> None:
    ran = await claw(*words, stdin=b"run ls\n")
    assert (ran.code, ran.out) == (78, ""), ran
    assert f"config.yaml:3: tools.terminal.sandbox: {asked} cannot be used" in ran.err
    assert "neuralclaw config set tools.terminal.sandbox auto" in ran.err
    assert "safety check" not in ran.err


@pytest.mark.parametrize(
    "words", [["sessions", "list"], ["config", "show"], ["tools", "list"], ["policy", "rules"], ["policy", "explain", "--command", "ls"], ["approvals", "list"]]
)
async def test_who_only_reads_goes_on(claw: Claw, asked: str, words: list[str]) -> None:
    assert (await claw(*words)).code == 0


@pytest.mark.parametrize("words", [["config", "check"], ["config", "check", "--json"]])
async def test_a_check_of_the_configuration_finds_it(claw: Claw, asked: str, words: list[str]) -> None:
    ran = await claw(*words)
    assert (ran.code, ran.out) == (78, ""), ran
    assert f"config.yaml:3: tools.terminal.sandbox: {asked} cannot be used" in ran.err
    assert "neuralclaw config set tools.terminal.sandbox auto" in ran.err
    assert ".," not in ran.err
    for one in ("auto", "process"):
        assert (await claw("config", "set", "tools.terminal.sandbox", one)).code == 0
        assert (await claw("config", "check")).code == 0


async def test_doctor_names_it_and_what_mends_it(claw: Claw, asked: str) -> None:
    ran = await claw("doctor", "--json")
    check = next(one for one in ran.json if one["check"] == f"sandbox.{asked}")
    assert (ran.code, check["ok"]) == (1, False), ran
    assert "tools.terminal.sandbox asks for it, so no turn can run" in check["text"]
    assert check["fix"]


async def test_a_program_hears_of_it_when_it_opens_an_agent(claw: Claw, asked: str) -> None:
    with pytest.raises(ConfigError, match=f"tools.terminal.sandbox: {asked} cannot be used"):
        async with Agent.open(home=claw.home, workspace=claw.workspace, environ=claw.env):
            raise AssertionError("an agent without the sandbox that was asked for")
