"""What verbs give is without secrets, also those that were stored after they were recorded, and those of files that undo keeps."""

from pathlib import Path
from typing import Any

import pytest

from neuralclaw import Agent
from neuralclaw.testing import Reply, ScriptedProvider

from ..cli.program import Claw

pytestmark = [pytest.mark.anyio, pytest.mark.full]
LATER, KEY = "Plum-Kettle7Kq2Zt9Xw4Lp", "ghp" + "_" + "Zq7Xw4Kp9LmT2vB8nRs5Aa1Bb2Cc3Dd4Ee5F"


@pytest.fixture
async def claw(home: Path, tmp_path: Path) -> Claw:
    """A home with a value on record that was stored as a secret afterwards, and a change beside it and beside a key."""
    claw = Claw(home, tmp_path / "work")
    (claw.workspace / "app.env").write_text(f"TOK={LATER}\nGITHUB={KEY}\nDEBUG=0\n")
    calls: list[dict[str, Any]] = [
        {"name": "edit_file", "arguments": {"path": "app.env", "old": "DEBUG=0", "new": "DEBUG=1"}},
        {"name": "terminal", "arguments": {"command": f"curl http://example.com/?a={LATER}"}},
    ]
    model = ScriptedProvider(*(Reply("", [call]) for call in calls), Reply("done"))
    environ = {"HOME": str(home.parent), "PATH": "/usr/bin:/bin"}
    async with Agent.open(home=home, workspace=claw.workspace, provider=model, environ=environ, approvals="park") as agent:
        assert (await agent.ask(f"use {LATER}", session="s")).waiting
    assert (await claw("secrets", "set", "TOK", stdin=LATER.encode())).code == 0
    return claw


@pytest.mark.invariant("secrets.nowhere")
@pytest.mark.parametrize("words", ["sessions list", "sessions show s", "approvals list", "diff --session s"])
@pytest.mark.parametrize("form", [(), ("--json",)])
async def test_no_command_shows_a_value(claw: Claw, words: str, form: tuple[str, ...]) -> None:
    ran = await claw(*words.split(), *form)
    assert ran.code == 0, ran
    assert LATER not in ran.out + ran.err
    assert KEY not in ran.out + ran.err
    assert "[REDACTED:TOK]" in ran.out


@pytest.mark.invariant("secrets.nowhere")
@pytest.mark.parametrize(("approvals", "form"), [("auto", "text"), ("auto", "json"), ("auto", "stream-json"), ("park", "stream-json")])
async def test_a_turn_that_is_shown_again_shows_no_value(home: Path, tmp_path: Path, form: str, approvals: str) -> None:
    claw = Claw(home, tmp_path / "work")
    command = f"curl http://example.com/{LATER}" if approvals == "park" else f"echo {LATER}"
    first = await claw("run", f'run "{command}"', "--approvals", approvals, "--session", "t", "--output", form)
    assert LATER in first.out + first.err, first
    assert (await claw("secrets", "set", "TOK", stdin=LATER.encode())).code == 0
    again = await claw("run", "--resume", "t", "--approvals", "park", "--output", form)
    assert "[REDACTED:TOK]" in again.out + again.err, again
    assert LATER not in again.out + again.err


@pytest.mark.invariant("secrets.nowhere")
async def test_events_from_the_journal_show_no_value(claw: Claw, home: Path) -> None:
    async with Agent.open(home=home, workspace=claw.workspace, environ=claw.env) as agent, agent.desk.events("s", after=0) as events:
        seen = [repr((await anext(events)).body) for _ in range(8)]
    assert not [told for told in seen if LATER in told]
    assert [told for told in seen if "[REDACTED:TOK]" in told]


async def test_where_the_settings_cannot_be_read_the_record_still_can(claw: Claw, home: Path) -> None:
    (home / "config.yaml").write_text("agent: [")
    ran = await claw("sessions", "show", "s", "--json")
    assert (ran.code, ran.json["session"]) == (0, "s"), ran
