"""`doctor --prove`: what it runs, and that a broken promise is told."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from neuralclaw import Agent
from neuralclaw.errors import UsageError
from neuralclaw.testing import FunctionProvider

from ..cli.program import Claw
from ..waiting import until

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
    ("check", "place", "told"),
    [
        ("prove.escape", "escape/outside", "files were written outside the workspace: written"),
        ("prove.crash", "crash", "what happened: one more, model 1, pack,"),
    ],
)
async def test_a_promise_that_is_broken_is_told_and_the_other_checks_run(home: Path, tmp_path: Path, check: str, place: str, told: str) -> None:
    """Somebody else writes where nothing may be written, or counts one effect more."""
    claw = Claw(home, tmp_path / "work")
    claw.env["TMPDIR"] = str(tmp_path / "temporary")
    (tmp_path / "temporary").mkdir()

    async def interfere() -> None:
        def found() -> list[Path]:
            return list((tmp_path / "temporary").glob(f"neuralclaw-proof-*/{place}"))

        await until(lambda: bool(found()))
        (found()[0] / ("ledger" if place == "crash" else "written")).write_text("one more\n")

    ran, _ = await asyncio.gather(claw("doctor", "--prove", "--json"), interfere())
    rows = {row["check"]: row for row in ran.json}
    assert (ran.code, rows[check]["ok"], list(rows)) == (1, False, NAMES)
    assert rows[check]["text"].startswith(told)
    assert [name for name, row in rows.items() if not row["ok"]] == [check]


async def test_prove_goes_alone(home: Path) -> None:
    async with Agent.open(home=home, workspace=home.parent, provider=FunctionProvider(fine)) as agent:
        with pytest.raises(UsageError, match="nothing was done"):
            await agent.do("doctor", prove=True, rebuild=True)
    ran = await Claw(home, home.parent / "work")("doctor", "--prove", "--call")
    assert (ran.code, ran.out) == (2, "")
