"""Settings as options of the agent: each section by its name, the limits of its turns, and what is refused of them."""

from pathlib import Path
from typing import Any

import pytest

import neuralclaw
from neuralclaw import Agent, AgentOptions, Settings
from neuralclaw.app.section_options import LISTS, SECTIONS
from neuralclaw.config.settings import LlmSection
from neuralclaw.errors import ConfigError, UsageError
from neuralclaw.testing import ScriptedProvider

from ..agent.kit import agent, call, calls

pytestmark = pytest.mark.anyio
SAID: list[tuple[str, str, Any]] = [
    ("agent", "max_repeated_calls", 5),
    ("context", "response", 100),
    ("llm", "max_tokens", 500),
    ("memory", "results", 9),
    ("tools", "terminal.max_output_chars", 300),
    ("safety", "default_permission_level", "write"),
    ("mcp", "servers", {"a": {"command": "x", "enabled": False}}),
    ("telegram", "authorized_user_ids", [7]),
    ("scheduler", "max_concurrent_tasks", 1),
    ("logging", "backup_count", 2),
    ("prompts", "use_overrides", True),
    ("approvals", "expire_days", 1),
    ("capabilities", "enabled", ["nobody"]),
]


async def shown(home: Path, **options: Any) -> dict[str, Any]:
    async with agent(home, **options) as a:
        return {key: value["value"] for key, value in (await a.do("config.show")).items()}


@pytest.mark.parametrize(("section", "key", "value"), SAID)
async def test_each_section_of_the_settings_is_an_option_of_the_agent(home: Path, section: str, key: str, value: Any) -> None:
    (home / "config.yaml").write_text("llm: {top_p: 0.5}\nagent: {name: Ada}\n")
    found = await shown(home, **{section: {key: value}})
    wanted = {f"{section}.{key}.a.command": "x"} if section == "mcp" else {f"{section}.{key}": value}
    assert wanted.items() <= found.items()
    assert (found["llm.top_p"], found["agent.name"]) == (0.5, "Ada")


async def test_a_section_that_is_a_list_stands_in_place_of_that_of_the_file(home: Path) -> None:
    (home / "config.yaml").write_text("hooks: [{name: old, event: after_turn, command: ['true']}]\n")
    async with agent(home, hooks=[{"name": "new", "event": "before_turn", "command": ["true"]}]) as a:
        assert [row["name"] for row in await a.do("hooks.list")] == ["new"]


def test_the_sections_are_those_of_the_settings_and_all_are_typed() -> None:
    assert {section for section, _, _ in SAID} | {"budget", *LISTS} == set(SECTIONS)
    assert set(SECTIONS) <= set(AgentOptions.__annotations__)


async def test_a_section_within_a_section_and_settings_beside_it_go_together(home: Path) -> None:
    found = await shown(home, llm={"retry": {"attempts": 1}}, settings={"llm": {"retry": {"min_seconds": 0}}, "memory.results": 7})
    assert (found["llm.retry.attempts"], found["llm.retry.min_seconds"], found["memory.results"]) == (1, 0, 7)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"llm": {"max_tokens": 5}, "settings": {"llm.max_tokens": 6}}, "settings and llm both say llm.max_tokens"),
        ({"llm": {"max_tokens": 5}, "settings": {"llm": {"max_tokens": 5}}}, "settings and llm both say llm.max_tokens"),
        ({"llm": {"retry": {"attempts": 1}}, "settings": {"llm": {"retry": {}}}}, "settings and llm both say llm.retry"),
        ({"max_iterations": 2, "agent": {"max_iterations_per_turn": 3}}, "both say agent.max_iterations_per_turn"),
        ({"timeout": 2, "settings": {"agent.max_turn_timeout_seconds": 3}}, "settings and timeout both say agent.max_turn_timeout_seconds"),
        ({"llm": {"max_tokens": 5}, "settings": Settings()}, "settings is a whole value already, and llm would change it"),
        ({"llm": 5}, "llm cannot be 5"),
        ({"hooks": {"name": "x"}}, "hooks cannot be"),
        ({"hooks": [], "settings": {"hooks": []}}, "settings and hooks both say hooks"),
        ({"safety": [("rules", [])]}, "safety cannot be"),
        ({"max_iterations": 0}, "max_iterations cannot be 0"),
        ({"timeout": "5"}, "timeout cannot be '5'"),
        ({"llms": {}}, "an agent has no option 'llms'; did you mean 'llm'"),
    ],
)
async def test_what_is_said_twice_or_is_no_section_is_refused(home: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        await shown(home, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"llm": {"max_token": 5}}, "unknown key llm.max_token; did you mean llm.max_tokens"),
        ({"tools": {"terminal": {"shell": "loose"}}}, "tools.terminal.shell"),
        ({"budget": {"turn_usd": -1.0}}, "budget.turn_usd: expected a number of at least 0"),
        ({"approvals": {"expire_days": -1}}, "approvals.expire_days"),
    ],
)
async def test_a_section_is_checked_like_the_file_and_the_key_is_named(home: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        await shown(home, **options)


async def test_a_section_whose_part_is_not_there_yet_is_said(home: Path) -> None:
    async with agent(home, memory={"results": 9}) as a:
        assert "memory.results" in a.notices[0]


async def test_the_limits_of_the_agent_are_those_of_its_turns_unless_a_turn_has_its_own(home: Path) -> None:
    again = [calls(call("calculate", expression=str(number))) for number in range(3)]
    async with agent(home, *again, "done", "done", max_iterations=2, timeout=50) as a:
        assert (await a.ask("go", session="s")).status == "limit"
        assert (await a.ask("go", session="t", max_iterations=3)).status == "done"
        begun = next(e for e in (await a.do("sessions.show", session="s"))["events"] if e["type"] == "turn.started")
    assert begun["options"]["limits"]["seconds"] == 50


async def test_limits_stand_beside_a_whole_settings_value(home: Path) -> None:
    async with agent(home, calls(call("calculate", expression="1")), settings=Settings(llm=LlmSection(max_tokens=9)), max_iterations=1) as a:
        assert (await a.ask("go")).status == "limit"
        assert (await a.do("config.show"))["llm.max_tokens"]["value"] == 9


def test_a_script_gives_sections_and_the_limits_of_its_turn(home: Path, tmp_path: Path) -> None:
    again = calls(call("calculate", expression="1"))
    provider = ScriptedProvider(again, "never")
    done = neuralclaw.run("go", home=home, workspace=tmp_path, environ={}, provider=provider, agent={"max_iterations_per_turn": 9}, max_iterations=1)
    assert done.status == "limit"


async def test_the_hint_of_an_unknown_option_names_what_is_promised_and_no_more(home: Path) -> None:
    with pytest.raises(UsageError) as refused:
        await shown(home, colour="red")
    told = refused.value.hint.removeprefix("there are: ").removesuffix("; nothing was recorded").split(", ")
    assert {"home", "workspace", "model", "approver", "llm", "budget", "max_iterations", "timeout"} <= set(told)
    assert not {"who", "present", "thinks", "runs", "readonly"} & set(told)


async def test_an_agent_of_a_notebook_takes_sections_too(home: Path, tmp_path: Path) -> None:
    held = await Agent.start(home=home, workspace=tmp_path, environ={}, llm={"max_tokens": 5})
    assert held.settings.settings.llm.max_tokens == 5
    await held.aclose()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("temperature", 'give llm={"temperature": …}'),
        ("max_iterations_per_turn", 'give agent={"max_iterations_per_turn": …}'),
        ("allowed_paths", 'give tools={"filesystem.allowed_paths": …}'),
    ],
)
async def test_a_key_of_the_settings_given_as_an_option_is_told_its_section(home: Path, name: str, hint: str) -> None:
    with pytest.raises(UsageError, match=f"an agent has no option '{name}', which is a setting") as refused:
        await shown(home, **{name: 1})
    assert refused.value.hint == hint


@pytest.mark.parametrize("name", ["init", "completion", "chat"])
async def test_a_command_that_only_the_command_line_has_says_so(home: Path, name: str) -> None:
    async with Agent.open(home=home, workspace=home.parent, environ={}) as agent:
        with pytest.raises(UsageError) as refused:
            await agent.do(name)
    assert refused.value.text == f"{name} is a command of the command line only"
