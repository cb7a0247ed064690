"""A rule about a tool that is not there guards nothing, and whoever writes it is told."""

from pathlib import Path
from typing import Any

import pytest

from neuralclaw.errors import ConfigError

from ..agent.kit import agent

pytestmark = pytest.mark.anyio

RULE = "- {id: a, decision: forbid, tool: write_fil}\n"
SAID = "The rule a names the tool 'write_fil', which is not there, and holds for no call; did you mean 'write_file'?"


async def test_the_check_the_settings_and_each_start_name_it_with_the_nearest_tool(home: Path) -> None:
    file = home.parent / "rules.yaml"
    file.write_text(RULE)
    async with agent(home) as a:
        assert await a.do("policy.check", file=str(file)) == {"ok": True, "errors": [], "notices": [SAID]}
        told = await a.do("config.set", key="safety.rules", value=RULE)
        assert SAID in told["notices"]
        assert SAID in (await a.do("config.check"))["notices"]
    file.write_text(RULE.replace("write_fil", "server::write_fil"))
    async with agent(home) as a:
        assert (await a.do("policy.check", file=str(file)))["notices"] == []


@pytest.mark.parametrize(("label", "near"), [("externl", "did you mean 'external'"), ("12345", "there are owner, agent, external")])
async def test_a_label_that_nothing_has_is_refused(home: Path, label: str, near: str) -> None:
    rules: list[dict[str, Any]] = [{"id": "a", "decision": "forbid", "tool": "terminal", "label": label}]
    with pytest.raises(ConfigError, match=near):
        async with agent(home, settings={"safety.rules": rules}):
            pass


async def test_a_grant_is_given_for_a_directory_of_a_workspace_below_a_directory_of_the_system(home: Path) -> None:
    async with agent(home) as a:
        (home.parent / "work" / "docs").mkdir()
        given = await a.do("grants.add", op="write", what="docs", lasting="1h")
        assert "docs" in given["covers"]
