"""A call that would write, run or send the mark in place of a secret is not run: a file of the person keeps its keys."""

from pathlib import Path
from typing import Any

import pytest

from neuralclaw import Agent
from neuralclaw.testing import Reply, ScriptedProvider

pytestmark = pytest.mark.anyio

KEY = "ghp_" + "Zq7Xw4Kp9LmT2vB8nRs5Aa1Bb2Cc3Dd4Ee5F"
STORED = "qT7-vv81_kkZp03xYw"
FILE = f"GITHUB={KEY}\nDEBUG=0\n"


async def ends(home: Path, workspace: Path, *calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """How the calls ended, one reply each; a person agrees to all that is asked."""

    async def agree(_: object) -> str:
        return "once"

    model = ScriptedProvider(*(Reply("", [{"name": name, "arguments": arguments}]) for name, arguments in calls), Reply("done"))
    async with Agent.open(home=home, workspace=workspace, provider=model, environ={"MY_TOKEN": STORED}, approver=agree) as agent:
        async with agent.turn("go") as stream:
            events = [event.to_dict() async for event in stream]
    return [event for event in events if event["type"] == "tool.finished"]


@pytest.mark.parametrize(
    "call",
    [
        ("write_file", {"path": "settings.env", "content": "GITHUB=[REDACTED:github]\nDEBUG=1\n"}),
        ("write_file", {"path": "settings.env", "content": FILE.replace("0", "1")}),
        ("write_file", {"path": "settings.env", "content": "was=[REDACTED:REMOVED_SINCE]\n"}),
        ("edit_file", {"path": "settings.env", "old": "DEBUG=0", "new": f"TOKEN={STORED}"}),
        ("terminal", {"command": f"echo {STORED} > settings.env"}),
        ("terminal", {"command": "cp $X settings.env", "env_vars": {"X": KEY}}),
    ],
)
async def test_a_call_with_a_secret_taken_out_changes_no_file_and_says_what_to_do(home: Path, tmp_path: Path, call: tuple[str, dict[str, Any]]) -> None:
    (tmp_path / "settings.env").write_text(FILE)
    (end,) = await ends(home, tmp_path, call)
    assert not end["ok"]
    for word in ("is not run: [REDACTED:", "edit_file", "secret:NAME", "neuralclaw secrets set"):
        assert word in end["error"]
    assert (tmp_path / "settings.env").read_text() == FILE


async def test_an_address_with_a_secret_taken_out_is_not_asked_for(home: Path, tmp_path: Path) -> None:
    (end,) = await ends(home, tmp_path, ("web_fetch", {"url": f"http://127.0.0.1:9/?q={STORED}"}))
    assert "is not run: [REDACTED:MY_TOKEN]" in end["error"]


async def test_what_is_read_and_edits_of_other_lines_run(home: Path, tmp_path: Path) -> None:
    (tmp_path / "settings.env").write_text(FILE)
    calls = [("search_files", {"pattern": STORED}), ("read_file", {"path": "settings.env"}), ("edit_file", {"path": "settings.env", "old": "=0", "new": "=1"})]
    assert [end["ok"] for end in await ends(home, tmp_path, *calls)] == [True, True, True]
    assert (tmp_path / "settings.env").read_text() == FILE.replace("=0", "=1")


async def test_no_tool_shows_a_part_of_a_key_where_it_cuts_a_line_or_stops_a_command(home: Path, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("".join(f"needle{'x ' * (length // 2)}{'' if length % 2 else ' '}{KEY} and more\n" for length in range(240, 300)))
    (tmp_path / "cut.txt").write_text(STORED[:-3])
    calls = [("search_files", {"pattern": "needle"}), ("terminal", {"command": "echo so; cat cut.txt; sleep 9", "timeout": 0.5})]
    found, stopped = await ends(home, tmp_path, *calls)
    assert found["content"].count("…") > 50
    assert KEY[:8] not in str(found)
    assert "so\n" in stopped["metadata"]["stdout"]
    assert STORED[:5] not in str(stopped)
