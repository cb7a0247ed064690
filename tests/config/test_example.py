"""`.env.example` and the schema for editors: made from the tables that are read, and true."""

import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from neuralclaw import config
from neuralclaw.config.describe import keys
from neuralclaw.config.example import example, of_table
from neuralclaw.config.settings import Settings
from neuralclaw.errors import ConfigError
from neuralclaw.providers.known_services import KNOWN

from .sample import SAMPLE

ROOT = Path(__file__).parents[2]
TEXT = example(of_table(KNOWN))


def test_the_example_in_the_repository_is_what_the_command_makes() -> None:
    assert (ROOT / ".env.example").read_text() == TEXT, "neuralclaw config example > .env.example"


def test_the_example_names_every_variable_of_every_service_and_every_setting() -> None:
    named = set(re.findall(r"^#? ?([A-Z][A-Z0-9_]*)=", TEXT, re.MULTILINE))
    assert {name for one in KNOWN.values() for name in (*one.keys, *one.urls)} <= named
    sections = ("llm.providers", "mcp.servers")
    leaves = {key for key in keys(Settings) if not any(other.startswith(f"{key}.") or other.startswith(f"{key}[") for other in keys(Settings))}
    wanted = {key for key in leaves if not key.startswith(sections) and "[" not in key} | {*sections, "safety.rules"}
    assert {f"NEURALCLAW_{key.upper().replace('.', '__')}" for key in wanted} <= named


def test_the_example_with_every_line_in_force_changes_no_setting(home: Path) -> None:
    (home / ".env").write_text(re.sub(r"^# (NEURALCLAW_[A-Z_]+=)", r"\1", TEXT, flags=re.MULTILINE))
    loaded = config.load(home=str(home), environ={})
    assert loaded.settings == Settings()
    assert loaded.origin("agent.name").startswith(".env:")
    assert not any(name in loaded.env for one in KNOWN.values() for name in one.keys)


@pytest.mark.parametrize(
    ("tree", "good"),
    [
        (yaml.safe_load(SAMPLE), True),
        ({"llm": None, "tools": {"terminal": None}}, True),
        ({"llm": {"temperature": "${TEMPERATURE:-0.3}", "providers": {"groq": None}}}, True),
        ({"safety": {"require_confirmation_for": ["${RISK}"], "unlisted_commands": "${WHAT}"}}, True),
        ({"agent": {"sqlite_path": "x"}}, True),
        ({"$schema": "./config.schema.json"}, True),
        ({"llm": {"temperature": "warm"}}, False),
        ({"llm": {"temperature": 3}}, False),
        ({"safety": {"unlisted_commands": "forbidden"}}, False),
        ({"agent": {"max_iterations": 3}}, False),
        ({"llm": {"$schema": "x"}}, False),
    ],
)
def test_the_schema_of_editors_says_what_loading_says(home: Path, tree: dict[str, Any], good: bool) -> None:
    assert jsonschema_rs.validator_for(config.schema()).is_valid(tree) is good
    (home / "config.yaml").write_text(yaml.safe_dump(tree))
    env = {"TEMPERATURE": "0.2", "RISK": "HIGH", "WHAT": "ask", "TELEGRAM_USER_ID": "7"}
    try:
        config.load(home=str(home), environ=env)
        assert good
    except ConfigError:
        assert not good
