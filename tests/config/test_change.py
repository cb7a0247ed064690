"""`config set`: one key changes, what does not fit changes nothing, and two who set at once lose nothing."""

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from neuralclaw import Agent
from neuralclaw.config import SettingsRequest
from neuralclaw.config.change import Checked, Set, set_key
from neuralclaw.errors import ConfigError, UsageError
from neuralclaw.providers.known_services import KNOWN

pytestmark = pytest.mark.anyio

COMMENTED = """\
# mine
agent: {name: Klaue}   # her name
llm:
  # as cold as it gets
  temperature:   0.1     # really
  retry:
    attempts: 5

# the end
"""


def put(home: Path, key: str, value: Any, env: dict[str, str] | None = None) -> Set:
    return set_key(SettingsRequest(str(home), env or {}), key, value, Checked(lambda: KNOWN))


def test_one_value_changes_and_every_other_byte_stays(home: Path) -> None:
    file = home / "config.yaml"
    file.write_text(COMMENTED)
    done = put(home, "llm.temperature", "0.7")
    assert done == Set("llm.temperature", 0.7, str(file), ())
    assert file.read_text() == COMMENTED.replace(":   0.1", ": 0.7")
    put(home, "llm.retry.max_seconds", "60")
    put(home, "llm.top_p", "0.5")
    assert file.read_text() == COMMENTED.replace(":   0.1", ": 0.7").replace("attempts: 5", "attempts: 5\n    max_seconds: 60\n  top_p: 0.5")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(path.name for path in home.iterdir()) == ["config.yaml"]


def test_a_file_that_is_not_there_is_made_with_its_schema(tmp_path: Path) -> None:
    home = tmp_path / "new"
    put(home, "agent.name", "Klaue")
    assert yaml.safe_load((home / "config.yaml").read_text()) == {"agent": {"name": "Klaue"}}
    assert stat.S_IMODE((home / "config.yaml").stat().st_mode) == 0o600
    assert (home / "config.schema.json").exists()


def test_json_keeps_its_order_and_its_indent(home: Path) -> None:
    file = home / "config.json"
    file.write_text('{\n    "llm": {\n        "top_p": 1,\n        "temperature": 0.1\n    },\n    "agent": {}\n}\n')
    put(home, "llm.temperature", "0.2")
    assert file.read_text() == '{\n    "llm": {\n        "top_p": 1,\n        "temperature": 0.2\n    },\n    "agent": {}\n}\n'


@pytest.mark.parametrize(
    ("key", "value", "written"),
    [
        ("llm.default_model", "4", "4"),
        ("agent.name", "true", "true"),
        ("agent.name", "Dr: No", "Dr: No"),
        ("agent.name", '"null"', "null"),
        ("agent.personality", "null", None),
        ("agent.environment_snapshot", "false", False),
        ("llm.fallback", "[groq:a, 'openai:b']", ["groq:a", "openai:b"]),
        ("safety.rules", "[{id: a, decision: forbid, tool: terminal}]", [{"id": "a", "decision": "forbid", "tool": "terminal"}]),
        ("tools.filesystem.allowed_paths", ["~/notes"], ["~/notes"]),
        ("llm.temperature", 0.25, 0.25),
    ],
)
def test_a_value_is_yaml_or_the_text_itself_where_only_text_fits(home: Path, key: str, value: Any, written: Any) -> None:
    put(home, key, value)
    section, name = key.rpartition(".")[::2]
    tree = yaml.safe_load((home / "config.yaml").read_text())
    for part in section.split("."):
        tree = tree[part]
    assert tree == {name: written}


def test_a_name_with_dots_stands_in_quotes(home: Path) -> None:
    put(home, 'llm.providers.openai.models."gpt-4.1"', "{context: 5, price: {input: 1, output: 2}}")
    put(home, 'llm.providers.openai.models."gpt-4.1".price.cached', "0.1")
    models = yaml.safe_load((home / "config.yaml").read_text())["llm"]["providers"]["openai"]["models"]
    assert models == {"gpt-4.1": {"context": 5, "price": {"input": 1, "output": 2, "cached": 0.1}}}


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("llm.tempo", "1", "unknown key llm.tempo; did you mean llm.temperature?"),
        ("llm.temperature", "hot", "expected a number from 0 to 2, found the text 'hot'"),
        ("llm.temperature", "3", "expected a number from 0 to 2"),
        ("llm.retry.max_seconds", "1", "expected at least llm.retry.min_seconds"),
        ("tools.terminal.sandbox", "bubblewarp", "did you mean bubblewrap?"),
        ("llm.default_provider", "opnai", "did you mean openai?"),
        ("agent.name", "${NOT_SET}", "NOT_SET, which is not set"),
        ("mcp.servers.a", "{transport: http}", "needs a url"),
        ("agent", "7", "expected a section"),
    ],
)
def test_what_does_not_fit_is_a_configuration_error_and_changes_nothing(home: Path, key: str, value: str, words: str) -> None:
    (home / "config.yaml").write_text(COMMENTED)
    with pytest.raises(ConfigError) as refused:
        put(home, key, value)
    assert words in refused.value.text
    assert refused.value.text.endswith(("? Nothing was changed", "; nothing was changed"))
    assert "?;" not in refused.value.text
    assert (home / "config.yaml").read_text() == COMMENTED
    assert sorted(path.name for path in home.iterdir()) == ["config.yaml"]


@pytest.mark.parametrize(("key", "value"), [("", "1"), (".", "1"), ("a..b", "1"), ("llm.top p", "1"), ("llm.top_p", "[1"), ("llm.top_p", "*x")])
def test_what_is_no_key_or_no_yaml_is_wrong_usage(home: Path, key: str, value: str) -> None:
    with pytest.raises(UsageError):
        put(home, key, value)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [("memory.results", "4", "memory.results"), ("agent.mode", "deliberate", "agent.mode"), ("memory", "{results: 4}", "memory.results")],
)
def test_a_setting_without_effect_is_told_when_it_is_set(home: Path, key: str, value: str, named: str) -> None:
    assert put(home, key, value).notices == (f"This setting has no effect yet, this version does not use it: {named}",)
    assert put(home, "llm.max_tokens", "500").notices == ()


def test_a_file_with_a_mistake_can_be_mended(home: Path) -> None:
    (home / "config.yaml").write_text("llm:\n  temperature: hot\nagent: {nmae: x}\n")
    done = put(home, "llm.temperature", "0.3")
    assert "unknown key agent.nmae" in done.notices[0]
    assert (home / "config.yaml").read_text() == "llm:\n  temperature: 0.3\nagent: {nmae: x}\n"


def test_a_key_as_plain_text_is_written_masked_and_dotenv_named(home: Path) -> None:
    put(home, "llm.providers.mine.base_url", "http://127.0.0.1:1/v1")
    done = put(home, "llm.providers.mine.api_key", "sk-of-nobody")
    assert done.value == "[set]"
    assert "MINE_API_KEY=… in .env" in done.notices[0]
    assert "sk-of-nobody" not in str(done)
    assert put(home, "llm.providers.mine.api_key", "${MINE_API_KEY:-}").notices == ()


def test_a_variable_that_wins_is_said_and_a_cap_is_kept(home: Path) -> None:
    env = {"NEURALCLAW_LLM__TOP_P": "0.1"}
    assert put(home, "llm.top_p", "0.5", env).notices == ("llm.top_p is set by the environment variable NEURALCLAW_LLM__TOP_P too, which wins over the file.",)
    assert put(home, "budget.turn_usd", "1").notices == ()


def test_processes_that_set_at_the_same_time_lose_nothing(home: Path) -> None:
    (home / "config.yaml").write_text(COMMENTED)
    work = (
        "import sys\nfrom neuralclaw.config import SettingsRequest\nfrom neuralclaw.config.change import Checked, set_key\n"
        "for number in range(8):\n"
        "    set_key(SettingsRequest(sys.argv[1], {}), f'llm.providers.{sys.argv[2]}{number}.base_url', 'http://127.0.0.1:1/v1', Checked(lambda: ()))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", work, str(home), name]) for name in ("a", "b", "c")]
    assert [one.wait(20) for one in running] == [0, 0, 0]
    tree = yaml.safe_load((home / "config.yaml").read_text())
    assert sorted(tree["llm"]["providers"]) == sorted(f"{name}{number}" for name in "abc" for number in range(8))
    assert "# as cold as it gets" in (home / "config.yaml").read_text()


async def test_the_verb_returns_what_the_command_prints(home: Path, tmp_path: Path) -> None:
    async with Agent.open(home=home, workspace=tmp_path, environ={}) as agent:
        done = await agent.do("config.set", key="llm.temperature", value=0.2)
        assert done == {"key": "llm.temperature", "value": 0.2, "file": str(home / "config.yaml"), "notices": []}
        assert (await agent.do("config.show"))["llm.temperature"]["value"] == 0.2
        assert await agent.do("config.check") == {"ok": True, "file": str(home / "config.yaml"), "notices": []}
        assert await agent.do("config.path") == {"file": str(home / "config.yaml"), "exists": True, "home": str(home)}
        assert "OPENAI_API_KEY" in (await agent.do("config.example"))["text"]
        assert json.dumps((await agent.do("config.schema"))["$defs"]["Llm"])
