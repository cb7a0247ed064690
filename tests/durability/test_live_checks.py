"""`doctor --prove`: what it runs, and that a broken promise is told."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from neuralclaw import Agent
from neuralclaw.app.proof import live_checks
from neuralclaw.errors import UsageError
from neuralclaw.testing import FunctionProvider
from neuralclaw.types.messages import ModelReply, Request

from ..cli.program import Claw

pytestmark = [pytest.mark.anyio, pytest.mark.full]

NAMES = ["prove.escape", "prove.approval", "prove.crash", "prove.audit", "prove.backup"]


async def fine(request: Any) -> str:
    return "fine"


async def proved(home: Path, **settings: Any) -> dict[str, dict[str, Any]]:
    async with Agent.open(home=home, workspace=home.parent, provider=FunctionProvider(fine), settings=settings) as agent:
        return {check["check"]: check for check in await agent.do("doctor", prove=True)}


async def test_every_promise_holds_here_and_nothing_of_the_trial_stays(home: Path, tmp_path: Path) -> None:
    claw = Claw(home, tmp_path / "work")
    claw.env["TMPDIR"] = str(tmp_path / "temporary")
    (tmp_path / "temporary").mkdir()
    ran = await claw("doctor", "--prove", "--json")
    assert ran.code == 0, ran
    assert [check["check"] for check in ran.json] == NAMES
    assert all(check["ok"] and check["fix"] is None for check in ran.json)
    assert list((tmp_path / "temporary").iterdir()) == []
    assert json.loads((await claw("sessions", "list", "--json")).out) == []
    state = tmp_path / ".local" / "state" / "neuralclaw" / "anchors"
    assert len(list(state.glob("*.json")) if state.exists() else []) <= 1


async def test_without_a_sandbox_the_escape_is_not_run(home: Path) -> None:
    found = await proved(home, **{"tools.terminal.sandbox": "process"})
    assert found["prove.escape"]["ok"]
    assert "was not run" in found["prove.escape"]["text"]


@pytest.mark.parametrize(
    ("name", "check", "told"),
    [
        ("ESCAPE_SCRIPT", "prove.escape", "the script did not run"),
        ("noted", "prove.crash", "what happened: nothing"),
        ("DONE", "prove.crash", "the turn ended with"),
    ],
)
async def test_a_promise_that_is_broken_is_told_and_the_other_checks_run(home: Path, monkeypatch: pytest.MonkeyPatch, name: str, check: str, told: str) -> None:
    broken = {"ESCAPE_SCRIPT": "exit 0", "noted": lambda ledger: ["nothing"], "DONE": "another answer"}
    monkeypatch.setattr(live_checks, name, broken[name])
    found = await proved(home)
    assert (found[check]["ok"], told in found[check]["text"]) == (False, True), found[check]
    assert [one for one, row in found.items() if not row["ok"]] == [check]


async def test_an_escape_that_succeeds_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = live_checks.ScriptedCalls.reply

    def escaped(self: live_checks.ScriptedCalls, request: Request) -> ModelReply:
        for outside in Path(tempfile.gettempdir()).glob("neuralclaw-proof-*/escape/outside"):
            (outside / "written").touch()
        return reply(self, request)

    monkeypatch.setattr(live_checks.ScriptedCalls, "reply", escaped)
    found = await proved(home)
    assert found["prove.escape"]["text"] == "files were written outside the workspace: written"


async def test_prove_goes_alone(home: Path) -> None:
    async with Agent.open(home=home, workspace=home.parent, provider=FunctionProvider(fine)) as agent:
        with pytest.raises(UsageError, match="nothing was done"):
            await agent.do("doctor", prove=True, rebuild=True)
    ran = await Claw(home, home.parent / "work")("doctor", "--prove", "--call")
    assert (ran.code, ran.out) == (2, "")
