"""No setting is accepted and ignored: each is read, refused, or named in a notice."""

import ast
from pathlib import Path
from typing import Any

import pytest

import neuralclaw
from neuralclaw import Agent, config
from neuralclaw.config import Settings, SettingsRequest, setting_support
from neuralclaw.config.describe import keys
from neuralclaw.config.settings import McpSection, McpServerSection
from neuralclaw.errors import ConfigError
from neuralclaw.providers.known_services import KNOWN

pytestmark = [pytest.mark.anyio, pytest.mark.full]
SOURCE = Path(neuralclaw.__file__).parent
LEAVES = [key for key in keys(Settings) if not any(other.startswith(f"{key}.") for other in keys(Settings))]
BESIDE = {f"{SOURCE}/config/{name}.py" for name in ("settings", "kept", "example", "describe", "semantics")}
"""What only tells of settings: to stand there is not to be read."""


def loaded(home: Path, text: str, env: dict[str, str] | None = None) -> config.LoadedSettings:
    (home / "config.yaml").write_text(text)
    return config.effective(SettingsRequest(str(home), env or {}), lambda: KNOWN)


def words_read() -> set[str]:
    """Every attribute and every text that the program's code reads, outside what only tells of settings."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        if str(path) in BESIDE:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def test_every_key_has_exactly_one_status_and_no_status_stands_for_a_key_that_is_gone() -> None:
    assert {setting_support.status(key) for key in LEAVES} == {"read", "notice"}
    known = set(keys(Settings))
    assert [key for key in setting_support.KEPT if key not in known] == []


def test_every_key_that_counts_as_read_is_read_outside_the_settings() -> None:
    read = words_read()
    assert [key for key in LEAVES if setting_support.status(key) == "read" and key.rpartition(".")[2].partition("[")[0] not in read] == []


NOTICED: list[tuple[str, Any, str]] = [
    ("agent.mode", "deliberate", "agent.mode"),
    ("context.system_prompt", 100, "context.system_prompt"),
    ("memory.results", 9, "memory.results"),
    ("tools.browser.headless", False, "tools.browser.headless"),
    ("mcp.servers", {"a": {"command": "x"}}, "mcp.servers.a"),
    ("telegram.authorized_user_ids", [7], "telegram.authorized_user_ids"),
    ("scheduler.max_concurrent_tasks", 1, "scheduler.max_concurrent_tasks"),
    ("prompts.use_overrides", True, "prompts.use_overrides"),
]


@pytest.mark.parametrize(("key", "value", "named"), NOTICED)
async def test_a_setting_whose_part_is_not_there_yet_is_named_once(home: Path, tmp_path: Path, key: str, value: Any, named: str) -> None:
    async with Agent.open(home=home, workspace=tmp_path, environ={}, settings={key: value}) as agent:
        (notice,) = agent.notices
    assert notice == f"This setting has no effect yet, this version does not use it: {named} (Agent.open)"


def test_several_are_one_notice_with_their_places(home: Path) -> None:
    (notice,) = loaded(home, "memory:\n  results: 9\nscheduler: {max_concurrent_tasks: 1}\n").notices
    assert notice.endswith(f"memory.results ({home}/config.yaml:2), scheduler.max_concurrent_tasks ({home}/config.yaml:3)")


@pytest.mark.parametrize(
    "text",
    [
        "memory: {results: 5}\nagent: {mode: auto}\nprompts: {use_overrides: false}\nbudget: {turn_usd: null}\n",
        "agent: {mode: direct, reflection: off}\n",
        "mcp: {servers: {a: {command: x, enabled: false}}}\n",
        'telegram: {bot_token: "${TELEGRAM_BOT_TOKEN}"}\n',
    ],
)
def test_what_changes_nothing_gives_no_notice(home: Path, text: str) -> None:
    assert loaded(home, text.replace("off", '"off"')).notices == ()


def test_telegrams_variable_may_be_meant_for_another_program_and_dotenv_is_not(home: Path) -> None:
    assert loaded(home, "", {"TELEGRAM_BOT_TOKEN": "1:a"}).notices == ()
    (home / ".env").write_text("TELEGRAM_BOT_TOKEN=1:a\n")
    (home / ".env").chmod(0o600)
    (notice,) = loaded(home, "").notices
    assert "telegram.bot_token" in notice
    assert "1:a" not in notice


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("llm:\n  default_provider: opnai\n", 2, "llm.default_provider: unknown provider 'opnai'; did you mean openai?"),
        (
            "llm:\n  providers:\n    gorq:\n      api_key: x\n",
            3,
            "llm.providers.gorq: there is no service 'gorq' built in, and it has no base_url; did you mean groq?",
        ),
        ("llm:\n  fallback:\n    - groq:a\n    - antropic:b\n", 4, "llm.fallback[1]: unknown provider 'antropic'; did you mean anthropic?"),
        ("llm:\n  providers:\n    local: {base_url: 'http://127.0.0.1'}\n", 3, "llm.providers.local: local is no service: it takes models only"),
        ("mcp:\n  servers:\n    a: {transport: http}\n", 3, "mcp.servers.a.url: a server with transport http needs a url"),
        ("mcp:\n  servers:\n    a:\n      transport: sse\n", 3, "mcp.servers.a.url: a server with transport sse needs a url"),
        ("mcp:\n  servers:\n    a: {args: [x]}\n", 3, "mcp.servers.a.command: a server with transport stdio needs a command"),
        ("safety:\n  rules:\n    - {id: x, decision: forbid}\n", 3, "safety.rules[0]: the rule x has no condition"),
        ("tools:\n  terminal: {sandbox: bubblewarp}\n", 2, "did you mean bubblewrap?"),
    ],
)
def test_what_cannot_work_is_named_with_file_line_key_and_the_nearest_name(home: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        loaded(home, text)
    assert f"{home}/config.yaml:{line}: " in refused.value.text
    assert words in refused.value.text


@pytest.mark.parametrize(
    "text",
    [
        "llm: {default_provider: mine, providers: {mine: {base_url: 'http://127.0.0.1:1/v1'}}}\n",
        "llm: {providers: {mine: {base_url: '${MINE_URL}'}}}\n",
        "llm: {default_provider: offline, fallback: ['llama3.2:3b', 'groq:m']}\n",
        "mcp: {servers: {a: {transport: http, url: '${MCP_URL}', enabled: false}}}\n",
        "mcp: {servers: {a: {command: x, sandbox: auto, enabled: false}}}\n",
    ],
)
def test_what_may_work_is_accepted(home: Path, text: str) -> None:
    assert loaded(home, text).notices == ()


def test_a_settings_value_is_checked_like_a_file(home: Path) -> None:
    bad = Settings(mcp=McpSection(servers={"a": McpServerSection(transport="http")}))
    with pytest.raises(ConfigError, match=r"mcp\.servers\.a\.url"):
        config.effective(SettingsRequest(str(home), {}, bad), lambda: KNOWN)
