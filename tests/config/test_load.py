"""What the settings are, from which layer, and where the files stand."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
import yaml

from neuralclaw import config
from neuralclaw.config import LoadedSettings, Settings
from neuralclaw.errors import ConfigError
from neuralclaw.types.options import Limits, OwnerRule, Policy
from neuralclaw.types.risk import Decision, Risk, Tier

from .sample import SAMPLE


def load(home: Path, text: str = "", env: dict[str, str] | None = None, *, dotenv: str = "", **overrides: Any) -> LoadedSettings:
    """The settings of a home with this config.yaml and .env. `a__b=1` overrides `a.b`."""
    if text:
        (home / "config.yaml").write_text(text)
    if dotenv:
        (home / ".env").write_text(dotenv)
    return config.load(home=str(home), environ=env or {}, overrides={key.replace("__", "."): value for key, value in overrides.items()})


def test_an_empty_home_gives_the_defaults(home: Path) -> None:
    loaded = load(home)
    assert loaded.settings == Settings()
    assert loaded.home == str(home)
    assert loaded.file is None
    assert loaded.notices == ()
    assert loaded.origin("agent.name") == "default"


def test_the_sample_of_the_interface_is_accepted_and_says_what_the_defaults_are(home: Path) -> None:
    loaded = load(home, SAMPLE)
    default = Settings()
    for section in default.__struct_fields__:
        if section not in ("llm", "mcp"):
            assert getattr(loaded.settings, section) == getattr(default, section), section
    assert msgspec.structs.replace(loaded.settings.llm, default_provider=None, providers={}) == default.llm
    mine = loaded.settings.llm.providers["mine"]
    assert mine.api_key is None
    assert mine.models["big"].price is not None
    assert loaded.settings.mcp.servers["blender"].args == ("blender-mcp",)
    assert loaded.notices == ()


def test_an_empty_file_and_sections_without_content_are_the_defaults(home: Path) -> None:
    assert load(home, "# nothing yet\n").settings == Settings()
    assert load(home, "agent:\nllm:\n  providers:\ntools:\n  filesystem: {allowed_paths: }\n").settings == Settings()


def test_each_layer_wins_over_the_one_below_and_says_where_a_value_is_from(home: Path) -> None:
    text = "llm:\n  temperature: 0.1\n  top_p: 0.2\n  max_tokens: 3\n  timeout_seconds: 4\n"
    loaded = load(
        home,
        text,
        {"NEURALCLAW_LLM__MAX_TOKENS": "33", "NEURALCLAW_LLM__TIMEOUT_SECONDS": "44"},
        dotenv="\nNEURALCLAW_LLM__TOP_P=0.5\nNEURALCLAW_LLM__MAX_TOKENS=5\nNEURALCLAW_LLM__TIMEOUT_SECONDS=5\n",
        llm__timeout_seconds=444,
    )
    llm = loaded.settings.llm
    assert (llm.temperature, llm.top_p, llm.max_tokens, llm.timeout_seconds) == (0.1, 0.5, 33, 444)
    origins = [loaded.origin(f"llm.{key}") for key in ("retry.attempts", "temperature", "top_p", "max_tokens", "timeout_seconds")]
    assert origins == ["default", "config.yaml:2", ".env:2", "environment NEURALCLAW_LLM__MAX_TOKENS", "Agent.open"]
    with pytest.raises(ConfigError, match=r"unknown key llm\.top; did you mean llm\.top_p"):
        loaded.origin("llm.top")


def test_a_layer_changes_one_key_of_a_section_and_leaves_the_others(home: Path) -> None:
    loaded = load(home, "llm: {retry: {attempts: 5}, providers: {mine: {base_url: 'http://a'}}}", {"NEURALCLAW_LLM__PROVIDERS__MINE__API_KEY": "k"})
    assert loaded.settings.llm.retry == msgspec.structs.replace(Settings().llm.retry, attempts=5)
    assert loaded.settings.llm.providers["mine"].base_url == "http://a"
    assert loaded.settings.llm.providers["mine"].api_key == "k"
    nested = config.load(home=str(home), environ={}, overrides={"llm": {"retry": {"max_seconds": 60}}})
    assert (nested.settings.llm.retry.attempts, nested.settings.llm.retry.max_seconds) == (5, 60)


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("AGENT__MAX_ITERATIONS_PER_TURN", "7", "agent.max_iterations_per_turn", 7),
        ("TOOLS__BROWSER__HEADLESS", "no", "tools.browser.headless", False),
        ("SAFETY__REQUIRE_CONFIRMATION_FOR", "MEDIUM, HIGH", "safety.require_confirmation_for", ["MEDIUM", "HIGH"]),
        ("TOOLS__FILESYSTEM__ALLOWED_PATHS", '["/a,b", "/c"]', "tools.filesystem.allowed_paths", ["/a,b", "/c"]),
        ("LLM__RETRY", '{"attempts": 9}', "llm.retry.attempts", 9),
        ("BUDGET__DAY_USD", "1.5", "budget.day_usd", 1.5),
        ("BUDGET__DAY_USD", "null", "budget.day_usd", None),
        ("AGENT__NAME", "7", "agent.name", "7"),
        ("AGENT__NAME", "", "agent.name", "NeuralClaw"),
    ],
)
def test_a_variable_is_read_as_the_keys_type(home: Path, name: str, text: str, key: str, value: object) -> None:
    values = {v.key: v.value for v in load(home, "budget: {day_usd: 3}" if "BUDGET" in name else "", {f"NEURALCLAW_{name}": text}).values}
    assert values[key] == value


@pytest.mark.parametrize(("name", "text"), [("LLM", "5"), ("LLM", "x"), ("UNDO", "5"), ("FOO", "1")])
def test_a_variable_that_is_no_setting_and_no_section_is_refused(home: Path, name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=f"environment NEURALCLAW_{name}: "):
        config.effective(config.SettingsRequest(str(home), {f"NEURALCLAW_{name}": text}, None), set)


def test_a_variable_can_be_a_whole_section(home: Path) -> None:
    assert load(home, "", {"NEURALCLAW_LLM": '{"temperature": 0.1}'}).settings.llm.temperature == 0.1


def test_variables_are_filled_in_with_defaults_and_take_the_keys_type(home: Path) -> None:
    text = """
agent: {name: "${WHO} & ${WHOM:-nobody}", personality: "$${WHO}", max_iterations_per_turn: "${COUNT:-4}"}
tools: {browser: {headless: "${SHOW:-false}"}}
llm: {timeout_seconds: "${SECONDS}"}
"""
    settings = load(home, text, {"WHO": "A", "WHOM": "", "SECONDS": "2.5"}).settings
    assert settings.agent.name == "A & nobody"
    assert settings.agent.personality == "${WHO}"
    assert settings.agent.max_iterations_per_turn == 4
    assert settings.tools.browser.headless is False
    assert settings.llm.timeout_seconds == 2.5


def test_an_empty_variable_counts_as_not_set_in_dotenv_too(home: Path) -> None:
    loaded = load(home, env={"NEURALCLAW_AGENT__NAME": ""}, dotenv="NEURALCLAW_AGENT__NAME=\nNEURALCLAW_AGENT__MAX_RETRIES=\n")
    assert loaded.settings == Settings()


def test_dotenv_fills_variables_below_the_environment(home: Path) -> None:
    loaded = load(home, "agent: {name: '${A}${B}${C}'}", {"B": "b", "C": ""}, dotenv="A=1\nB=2\nC=3\n")
    assert loaded.settings.agent.name == "1b3"
    assert loaded.env == {"A": "1", "B": "b", "C": "3"}


def test_dotenv_understands_comments_quotes_and_export(home: Path) -> None:
    text = '# c\n\nexport A = 1 # one\nB=\'x # y\'\nC="a\\n\\"b\\"" # c\nD=a#b\nE=\nF=p=q${A}\nG=#\n'
    assert load(home, dotenv=text).env == {"A": "1", "B": "x # y", "C": 'a\n"b"', "D": "a#b", "F": "p=q${A}"}


def test_a_variable_that_is_not_set_is_no_error_in_a_section_that_is_not_used(home: Path) -> None:
    text = """
llm:
  providers:
    mine: {base_url: "http://a", api_key: "${MINE_API_KEY}"}
    other: {base_url: "http://b", api_key: ""}
mcp: {servers: {s: {command: x, args: ["${ARG}", y], env: {TOKEN: "${S_TOKEN}"}}}}
telegram: {bot_token: "${TELEGRAM_BOT_TOKEN}", authorized_user_ids: ["${TELEGRAM_USER_ID}"]}
"""
    loaded = load(home, text, {"MINE_API_KEY": ""})
    assert loaded.settings.llm.providers["mine"].api_key is None
    assert loaded.settings.llm.providers["other"].api_key is None
    assert loaded.settings.mcp.servers["s"].args == ("y",)
    assert loaded.settings.telegram == Settings().telegram
    loaded.require("llm.providers.other")
    with pytest.raises(ConfigError, match=r"config\.yaml:4: llm\.providers\.mine\.api_key needs the environment variable MINE_API_KEY"):
        loaded.require("llm.providers.mine")
    with pytest.raises(ConfigError, match="S_TOKEN"):
        loaded.require("mcp.servers.s")
    with pytest.raises(ConfigError, match=r"TELEGRAM_BOT_TOKEN.*TELEGRAM_USER_ID"):
        loaded.require("telegram")


def test_telegrams_own_variables_are_the_sections_defaults_and_never_stop_another_run(home: Path) -> None:
    loaded = load(home, env={"TELEGRAM_BOT_TOKEN": "t", "TELEGRAM_USER_ID": "1, 2"})
    assert loaded.settings.telegram.bot_token == "t"
    assert loaded.settings.telegram.authorized_user_ids == (1, 2)
    assert loaded.origin("telegram.bot_token") == "environment TELEGRAM_BOT_TOKEN"
    odd = load(home, env={"TELEGRAM_USER_ID": "@me"})
    assert odd.settings.telegram.authorized_user_ids == ()
    with pytest.raises(ConfigError, match=r"expected a whole number, found the text '@me'"):
        odd.require("telegram")
    assert load(home, "telegram: {bot_token: own}", {"TELEGRAM_BOT_TOKEN": "t"}).settings.telegram.bot_token == "own"


def test_secrets_are_masked_wherever_they_stand(home: Path) -> None:
    text = """
llm: {providers: {mine: {base_url: "https://me:hunter2@host/v1", api_key: sk-1234}}}
mcp: {servers: {a.b: {command: x, args: [--key, "${SOME_KEY}"], headers: {Authorization: Bearer abc}, env: {PLAIN: shown-not}}}}
telegram: {bot_token: 12:ab}
"""
    values = load(home, text, {"SOME_KEY": "s3cr3t-value"}).values
    shown = repr(values)
    for secret in ("hunter2", "sk-1234", "s3cr3t-value", "Bearer", "shown-not", "12:ab"):
        assert secret not in shown
    by_key = {v.key: v.value for v in values}
    assert by_key["llm.providers.mine.base_url"] == "https://[set]@host/v1"
    assert by_key["mcp.servers.a.b.args"] == ["--key", "[set]"]
    assert by_key["telegram.bot_token"] == "[set]"


def test_every_key_is_shown_with_its_origin(home: Path) -> None:
    values = load(home, "agent:\n  name: Claw\n").values
    assert ("agent.name", "Claw", "config.yaml:2") in values
    assert ("context.response", 4096, "default") in values
    assert len({v.key for v in values}) == len(values) > 60


def test_json_is_read_like_yaml_with_lines(home: Path) -> None:
    (home / "config.json").write_text('{\n\t"agent": {"name": "\\u00e4 \\ud83d\\ude00 \\/",\n\t\t"max_retries": 1},\n"llm": {"temperature": 1e-1}}')
    loaded = config.load(home=str(home), environ={})
    assert loaded.settings.agent.name == "ä 😀 /"
    assert loaded.settings.llm.temperature == 0.1
    assert loaded.origin("agent.max_retries") == "config.json:3"


def test_yaml_anchors_aliases_and_merge_keys_work(home: Path) -> None:
    text = "mcp:\n  servers:\n    a: &base {command: x, timeout_seconds: 5}\n    b: {<<: *base, timeout_seconds: 6}\n    c: *base\n"
    servers = load(home, text).settings.mcp.servers
    assert [(s.command, s.timeout_seconds) for s in servers.values()] == [("x", 5), ("x", 6), ("x", 5)]


def test_keys_of_earlier_designs_are_accepted_with_one_notice_each(home: Path) -> None:
    text = "sqlite_path: a\ntools:\n  terminal: {docker_sandbox: true}\nmemory:\n  chroma_persist_dir: ./x\n  sqlite_path: ./y\n"
    loaded = load(home, text)
    assert loaded.settings == Settings()
    assert len(loaded.notices) == 3
    for key, notice in zip(("sqlite_path", "docker_sandbox", "chroma_persist_dir"), loaded.notices, strict=True):
        assert key in notice


class TestPlaces:
    def test_the_option_wins_over_the_variable_and_both_hold_everything(self, tmp_path: Path) -> None:
        (tmp_path / "b").mkdir()
        (tmp_path / "b" / "config.yaml").write_text("agent: {name: B}")
        (tmp_path / "config" / "neuralclaw").mkdir(parents=True)
        (tmp_path / "config" / "neuralclaw" / "config.yaml").write_text("agent: {name: XDG}")
        env = {"NEURALCLAW_HOME": str(tmp_path / "b"), "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
        assert config.load(home=None, environ=env).settings.agent.name == "B"
        other = config.load(home=str(tmp_path / "a"), environ=env)
        assert (other.home, other.settings.agent.name) == (str(tmp_path / "a"), "NeuralClaw")

    def test_without_either_the_xdg_directories_hold_data_and_configuration(self, tmp_path: Path) -> None:
        folder = tmp_path / ".config" / "neuralclaw"
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text("agent: {name: '${WHO}'}")
        (folder / ".env").write_text("WHO=me")
        loaded = config.load(home=None, environ={"HOME": str(tmp_path), "NEURALCLAW_HOME": "", "XDG_DATA_HOME": "relative"})
        assert loaded.home == str(tmp_path / ".local/share/neuralclaw")
        assert loaded.settings.agent.name == "me"
        moved = config.load(home=None, environ={"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "d")})
        assert moved.home == str(tmp_path / "d" / "neuralclaw")

    def test_a_second_file_further_down_is_named_as_not_read(self, tmp_path: Path) -> None:
        for folder in (tmp_path / "d" / "neuralclaw", tmp_path / "c" / "neuralclaw"):
            folder.mkdir(parents=True)
            (folder / "config.yaml").write_text(f"agent: {{name: {folder.parent.name}}}")
        loaded = config.load(home=None, environ={"HOME": "/x", "XDG_DATA_HOME": str(tmp_path / "d"), "XDG_CONFIG_HOME": str(tmp_path / "c")})
        assert loaded.settings.agent.name == "d"
        assert [str(tmp_path / "c") in notice for notice in loaded.notices] == [True]

    def test_another_ending_is_named_as_not_read(self, home: Path) -> None:
        (home / "config.yml").write_text("agent: {name: X}")
        assert ["config.yml is not read" in notice for notice in load(home).notices] == [True]

    def test_with_no_home_directory_at_all_the_next_step_is_named(self) -> None:
        with pytest.raises(ConfigError) as caught:
            config.load(home=None, environ={})
        assert "NEURALCLAW_HOME" in caught.value.hint

    def test_a_relative_home_becomes_absolute_and_a_tilde_the_persons(self) -> None:
        assert config.load(home="x/../y", environ={}).home == str(Path.cwd() / "y")
        assert config.load(home=None, environ={"NEURALCLAW_HOME": "~/n", "HOME": "/nowhere"}).home == "/nowhere/n"


def test_the_policy_holds_the_settings_with_absolute_paths(home: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    text = f"""
safety:
  default_permission_level: write
  require_confirmation_for: [CRITICAL]
  terminal_whitelist_extra: [cowsay, ls]
  unlisted_commands: forbid
  rules: [{{id: no-push, decision: forbid, command: git push, reason: ask me}}]
tools: {{terminal: {{shell: strict}}, filesystem: {{allowed_paths: ["~/notes", "{tmp_path}/link"]}}}}
approvals: {{expire_days: 1.5}}
"""
    policy = config.policy(load(home, text).settings, own_data=[str(home)], person_home=str(tmp_path))
    assert policy.default_permission_level is Tier.WRITE
    assert policy.require_confirmation_for == (Risk.CRITICAL,)
    assert policy.programs.count("ls") == 1
    assert {"cowsay", "git", "dig"} <= set(policy.programs)
    assert policy.rules == (OwnerRule(id="no-push", decision=Decision.FORBID, command="git push", reason="ask me"),)
    assert policy.allowed_paths == (f"{tmp_path}/notes", f"{tmp_path}/real")
    assert policy.protected_paths == ("/", str(tmp_path), str(home))
    assert (policy.unlisted_commands, policy.shell, policy.expire_days) == ("forbid", "strict", 1.5)
    assert config.policy(Settings(), own_data=["/h"], person_home="").rules == Policy().rules


def test_the_agents_own_data_is_where_settings_may_be_besides_and_where_links_there_lead(tmp_path: Path) -> None:
    (settings := tmp_path / ".config" / "neuralclaw").mkdir(parents=True)
    (kept := tmp_path / "dotfiles.env").write_text("")
    (settings / ".env").symlink_to(kept)
    (settings / "config.yaml").symlink_to(tmp_path / "nothing.yaml")
    found = config.data_places("/data", {"HOME": str(tmp_path)})
    assert found == ("/data", str(tmp_path / ".local/state/neuralclaw"), str(settings), str(kept))
    assert config.data_places("/data", {"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"}) == ("/data", "/s/neuralclaw", "/c/neuralclaw")


def test_the_limits_are_the_settings_of_the_turn(home: Path) -> None:
    assert config.limits(Settings()) == Limits()
    text = "agent: {max_iterations_per_turn: 1, max_repeated_calls: 3, max_consecutive_errors: 4, max_turn_timeout_seconds: 5.5, max_tool_result_chars: 600,"
    text += " max_conversation_messages: 7}\nmemory: {max_short_term_turns: 8}"
    limits = Limits(iterations=1, repeats=3, errors=4, seconds=5.5, result_chars=600, max_messages=7, window_turns=8)
    assert config.limits(load(home, text).settings) == limits


def test_the_schema_accepts_the_sample_and_refuses_what_loading_refuses() -> None:
    validator = jsonschema_rs.validator_for(config.schema())
    tree = yaml.safe_load(SAMPLE)
    tree["telegram"] = {}
    assert validator.is_valid(tree)
    assert not validator.is_valid({"agent": {"max_iterations": 3}})
    assert not validator.is_valid({"agent": {"max_iterations_per_turn": 0}})


def test_without_a_file_neither_yaml_nor_json_is_imported(home: Path) -> None:
    code = "import sys; from neuralclaw.config import load; load(home=sys.argv[1], environ={}); print({'yaml', 'json', 'pathlib'} & set(sys.modules))"
    env = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-S", "-c", code, str(home)], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_reading_a_file_does_not_load_the_library_that_writes_it(home: Path) -> None:
    (home / "config.yaml").write_text("llm: {temperature: 0.5}\n")
    code = "import sys; from neuralclaw.config import load; load(home=sys.argv[1], environ={}); print({'yaml', 'ruamel', 'ruamel.yaml'} & set(sys.modules))"
    env = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-S", "-c", code, str(home)], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "{'yaml'}\n"


def test_what_a_model_can_do_with_tools_is_true_false_or_none(home: Path) -> None:
    text = "llm:\n  providers:\n    mine: {base_url: 'http://127.0.0.1:1/v1', models: {a: {tools: true}, b: {tools: false}, c: {tools: none}, d: {}}}\n"
    models = load(home, text).settings.llm.providers["mine"].models
    assert [models[name].tools for name in "abcd"] == [True, False, "none", None]
    with pytest.raises(ConfigError, match=r"models\.a\.tools"):
        load(home, text.replace("true", "maybe"))


def test_the_models_that_are_asked_when_one_is_out_keep_their_order(home: Path) -> None:
    assert load(home, "llm: {fallback: [ollama:llama3.2, offline]}\n").settings.llm.fallback == ("ollama:llama3.2", "offline")
