"""Each setting that counts as read changes something: what a turn runs under, what a model is asked, where a line is written."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from neuralclaw import Agent, config
from neuralclaw.config import SettingsRequest, setting_support
from neuralclaw.providers.known_services import KNOWN
from neuralclaw.testing import FunctionProvider
from neuralclaw.types.messages import Request
from tests.providers.loopback import LoopbackServer, Response, loopback
from tests.providers.test_fallback import says
from tests.waiting import until

from .test_setting_support import LEAVES

pytestmark = [pytest.mark.anyio, pytest.mark.full]

TRANSLATED: dict[str, Any] = {
    "agent.max_iterations_per_turn": 3,
    "agent.max_turn_timeout_seconds": 7,
    "agent.max_repeated_calls": 4,
    "agent.max_consecutive_errors": 5,
    "agent.max_conversation_messages": 6,
    "agent.max_tool_result_chars": 300,
    "memory.max_short_term_turns": 2,
    "memory.compaction.entries": 60,
    "memory.compaction.summarise": 10,
    "memory.compaction.tokens": 70_000,
    "context.conversation": 4_000,
    "context.tool_results": 3_000,
    "context.response": 2_000,
    "tools.terminal.shell": "strict",
    "tools.filesystem.allowed_paths": ["/srv"],
    "safety.default_permission_level": "write",
    "safety.require_confirmation_for": ["CRITICAL"],
    "safety.terminal_whitelist_extra": ["htop"],
    "safety.unlisted_commands": "forbid",
    "safety.rules": [{"id": "a", "decision": "forbid", "tool": "terminal"}],
    "approvals.expire_days": 1,
}
"""What a turn's limits and the gate's policy hold; that these decide is shown with the gate and the turn."""

ASKED: dict[str, tuple[Any, str]] = {
    "llm.temperature": (0.1, "temperature"),
    "llm.top_p": (0.2, "top_p"),
    "llm.max_tokens": (99, "max_tokens"),
    "llm.timeout_seconds": (9, "timeout"),
}
"""What a request has under another name."""

SHOWN = {
    "agent.name",
    "agent.default_trust_level",
    "agent.environment_snapshot",
    "agent.project_instructions",
    "agent.max_sessions",
    *(f"budget.{name}" for name in ("turn_usd", "session_usd", "day_usd", "turn_tokens")),
    "scheduler.timezone",
    *(f"llm.{name}" for name in ("default_provider", "default_model", "fallback")),
    *(f"llm.retry.{name}" for name in ("attempts", "min_seconds", "max_seconds")),
    *(f"llm.providers.*.{name}" for name in ("api", "base_url", "api_key")),
    *(f"llm.providers.*.models.*.{name}" for name in ("context", "tools", "images", "price.input", "price.output", "price.cached")),
    *(f"tools.terminal.{name}" for name in ("working_dir", "default_timeout_seconds", "sandbox", "max_output_chars")),
    "tools.terminal.docker_image",  # this and the next: tests/sandbox/test_container.py
    *(f"tools.terminal.container.{name}" for name in ("cpus", "memory_mb", "pids", "tmpfs_mb", "workspace", "idle_seconds")),
    *(f"logging.{name}" for name in ("level", "log_dir", "max_file_size_mb", "backup_count")),
    "hooks",  # tests/hooks
    "capabilities.enabled",  # tests/capabilities
}
"""Those that the tests below are about."""


def test_every_setting_that_counts_as_read_is_shown_here_to_change_something() -> None:
    read = {key.partition("[")[0] for key in LEAVES if setting_support.status(key) == "read"}
    assert {*TRANSLATED, *ASKED, *SHOWN} == read


@pytest.mark.parametrize("key", TRANSLATED)
def test_limits_and_policy_hold_the_setting(home: Path, key: str) -> None:
    def held(overrides: dict[str, Any]) -> object:
        settings = config.effective(SettingsRequest(str(home), {}, overrides), lambda: KNOWN).settings
        return config.limits(settings), config.policy(settings, own_data=["/h"], person_home="")

    assert held({key: TRANSLATED[key]}) != held({})


@asynccontextmanager
async def over(home: Path, settings: dict[str, Any], **options: Any) -> AsyncIterator[tuple[Agent, list[Request]]]:
    requests: list[Request] = []

    async def answer(request: Request) -> str:
        requests.append(request)
        return "yes"

    async with Agent.open(home=home, workspace=home.parent, settings=settings, **{"environ": {}, "provider": FunctionProvider(answer), **options}) as agent:
        yield agent, requests


@pytest.mark.parametrize("key", ASKED)
async def test_every_request_holds_the_setting(home: Path, key: str) -> None:
    value, name = ASKED[key]
    async with over(home, {key: value}) as (agent, requests):
        await agent.ask("hello")
    assert getattr(requests[0], name) == value


async def test_name_trust_and_snapshot_are_those_of_the_settings(home: Path) -> None:
    settings = {"agent.name": "Klaue", "agent.default_trust_level": "high", "agent.environment_snapshot": False}
    async with over(home, settings) as (agent, requests):
        await agent.ask("hello")
        assert agent.trust == "high"
    assert "Klaue" in requests[0].system
    assert requests[0].environment == ""


@pytest.mark.parametrize("told", [True, False])
async def test_the_workspaces_instructions_are_read_where_the_settings_say_so(home: Path, told: bool) -> None:
    (home.parent / "AGENTS.md").write_text("Answer in verse.")
    async with over(home, {"agent.project_instructions": told}) as (agent, requests):
        await agent.ask("hello")
    assert ("Answer in verse." in str(requests[0])) == told


async def test_so_many_sessions_run_at_once_and_no_more(home: Path) -> None:
    asked, go = 0, anyio.Event()

    async def answer(request: Request) -> str:
        nonlocal asked
        asked += 1
        await go.wait()
        return "yes"

    async with over(home, {"agent.max_sessions": 2}, provider=FunctionProvider(answer)) as (agent, _), anyio.create_task_group() as group:
        for number in range(6):
            group.start_soon(agent.ask, f"hello {number}")
        await until(lambda: asked == 2)
        while len(await agent.do("sessions.list")) < 6:
            await anyio.lowlevel.checkpoint()
        assert asked == 2
        go.set()
    assert asked == 6


def own(server: LoopbackServer, **more: Any) -> dict[str, Any]:
    return {"mine": {"base_url": server.url, **more}}


async def test_the_chosen_service_is_asked_at_its_address_with_its_key_in_its_own_form(home: Path) -> None:
    async with loopback() as server:
        server.says(says("yes"))
        settings = {"llm.providers": own(server, api_key="sk-of-nobody"), "llm.default_provider": "mine", "llm.default_model": "big"}
        async with over(home, settings, provider=None) as (agent, _):
            assert (await agent.ask("hello")).model == "mine:big"
        assert server.seen[0].json["model"] == "big"
        assert server.seen[0].headers["authorization"] == "Bearer sk-of-nobody"
        settings["llm.providers"] = own(server, api="messages")
        async with over(home, settings, provider=None) as (agent, _):
            await agent.ask("hello")
        assert server.seen[-1].path.endswith("/messages")


async def test_a_failing_service_is_asked_as_often_as_the_settings_say_and_then_the_fallback(home: Path) -> None:
    async with loopback() as server, loopback() as second:
        server.says(Response([b"down"], status=503, kind="text/plain"))
        second.says(says("here"))
        providers = {**own(server), "other": {"base_url": second.url}}
        settings = {"llm.providers": providers, "llm.retry": {"attempts": 4, "min_seconds": 0, "max_seconds": 0.01}, "llm.fallback": ["other:m"]}
        async with over(home, settings, provider=None, model="mine:m") as (agent, _):
            end = await agent.ask("hello")
        assert (len(server.seen), end.model) == (4, "other:m")
        settings |= {"llm.retry": {"attempts": 2, "min_seconds": 0.03, "max_seconds": 0.04}, "llm.fallback": []}
        async with over(home, settings, provider=None, model="mine:m") as (agent, _), agent.turn("hello") as events:
            waits = [event.body.wait_ms async for event in events if event.body.type == "retry"]  # type: ignore[union-attr]
    assert len(waits) == 1
    assert 30 <= waits[0] <= 40


async def test_what_the_owner_says_of_a_model_holds(home: Path) -> None:
    facts = {"context": 77, "tools": False, "images": True, "price": {"input": 1, "output": 2, "cached": 0.5}}
    async with loopback() as server:
        async with over(home, {"llm.providers": own(server, models={"big": facts})}, provider=None) as (agent, _):
            row = await agent.do("models.show", model="mine:big")
    assert {name: row[name] for name in facts} == facts


async def test_commands_run_where_and_as_long_as_the_settings_say(home: Path) -> None:
    (home.parent / "inside").mkdir()
    settings = {"tools.terminal": {"working_dir": "inside", "default_timeout_seconds": 0.5, "sandbox": "process", "max_output_chars": 200}}
    async with over(home, settings, approvals="auto", trust="high") as (agent, _):
        ran = await agent.do("tools.call", name="terminal", arguments={"command": "pwd"})
        assert ran["content"].strip().endswith("/inside"), ran
        long = await agent.do("tools.call", name="terminal", arguments={"command": "seq 1 5000"})
        assert len(long["content"]) < 600
        slow = await agent.do("tools.call", name="terminal", arguments={"command": "sleep 4"})
        assert (slow["ok"], slow["duration_ms"] < 3000) == (False, True)
        assert "process" in str([check for check in await agent.do("doctor") if "used for commands" in check["text"]])


async def test_a_directory_for_commands_may_begin_at_the_home_of_the_person(home: Path) -> None:
    (home.parent / "inside").mkdir()
    settings = {"tools.terminal": {"working_dir": "~/inside", "sandbox": "process"}}
    async with over(home, settings, approvals="auto", trust="high", environ={"HOME": str(home.parent), "PATH": os.environ["PATH"]}) as (agent, _):
        ran = await agent.do("tools.call", name="terminal", arguments={"command": "pwd"})
    assert ran["content"].strip() == str(home.parent.resolve() / "inside"), ran


async def test_the_log_is_written_where_and_as_the_settings_say(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    settings = {"logging.log_dir": str(folder), "logging.level": "DEBUG", "logging.max_file_size_mb": 1, "logging.backup_count": 1}
    async with over(home, settings) as (agent, _):
        for _ in range(130):
            agent._home.log_writer.note(10, "test", "x" * 20_000)
        await agent.ask("hello")
    lines = (folder / "neuralclaw.jsonl").read_bytes().splitlines()
    assert {path.name for path in folder.iterdir() if not path.name.startswith(".")} == {"neuralclaw.jsonl", "neuralclaw.jsonl.1"}
    assert {"DEBUG", "INFO"} <= {msgspec.json.decode(line)["level"] for line in lines}
    assert not (home / "logs").exists()


@pytest.mark.parametrize(
    ("model", "settings", "said"),
    [
        ("anthropic", {"llm.temperature": 0.2}, "llm.temperature has no effect with anthropic:claude-sonnet-5-5, which does not take it"),
        (
            "openai:gpt-5",
            {"llm.temperature": 0.2, "llm.top_p": 0.5},
            "llm.temperature and llm.top_p have no effect with openai:gpt-5, which does not take them",
        ),
        ("openai:gpt-4o", {"llm.temperature": 0.2, "llm.top_p": 0.5}, None),
        ("anthropic", {}, None),
        ("offline", {"llm.temperature": 0.2}, None),
    ],
)
async def test_a_setting_that_the_chosen_model_does_not_take_is_said(home: Path, model: str, settings: dict[str, Any], said: str | None) -> None:
    env = {"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "x"}
    async with over(home, settings, provider=None, model=model, environ=env) as (agent, _):
        assert agent.notices == (() if said is None else (said,))
