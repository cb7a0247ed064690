"""`neuralclaw models`, and a model that is named without its service."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neuralclaw import Agent
from tests.agent.test_default_model import environ, near

from .program import Claw
from .services import Services

pytestmark = pytest.mark.anyio
KEYS = {"OPENAI_API_KEY": "sk-of-nobody", "GROQ_API_KEY": "gsk-of-nobody"}
MINE = {"llm.providers": {"mine": {"base_url": "http://127.0.0.1:9/v1", "models": {"big": {"context": 5, "price": {"input": 1, "output": 2}}}}}}


async def show(home: Path, model: str | None, env: dict[str, str] | None = None, *, settings: dict[str, Any] | None = None, usable: bool = True) -> Any:
    env = {"OLLAMA_HOST": "127.0.0.1:9", **(env or {})}
    async with Agent.open(home=home, workspace=home.parent, environ=env, settings=settings) as agent:
        return await agent.do("models.show", model=model, usable=usable)


@pytest.mark.parametrize(
    ("model", "full"),
    [
        ("gpt-4o", "openai:gpt-4o"),
        ("gpt-4o-2024-11-20", "openai:gpt-4o-2024-11-20"),
        ("openai/gpt-oss-120b", "groq:openai/gpt-oss-120b"),
        ("big", "mine:big"),
        ("groq", "groq:openai/gpt-oss-120b"),
        ("openai:whatever", "openai:whatever"),
    ],
)
async def test_a_model_alone_finds_the_one_service_that_has_it(home: Path, model: str, full: str) -> None:
    assert (await show(home, model, KEYS, settings=MINE))["model"] == full


@pytest.mark.parametrize(
    ("model", "env", "text", "hint"),
    [
        ("gpt-4o", {}, "gpt-4o is a model of openai, and OPENAI_API_KEY is not set", "set OPENAI_API_KEY"),
        (
            "openai/gpt-oss-120b",
            {**KEYS, "NVIDIA_API_KEY": "x"},
            "several services have the model openai/gpt-oss-120b: groq:openai/gpt-oss-120b, nvidia:openai/gpt-oss-120b",
            "--model groq:openai/gpt-oss-120b",
        ),
        ("gpt-4p", KEYS, "there is no service and no model named 'gpt-4p'", "did you mean openai:gpt-4"),
        ("opnai", KEYS, "there is no service and no model named 'opnai'", "did you mean openai?"),
        ("opnai:gpt-4o", KEYS, "unknown provider 'opnai'", "did you mean openai:gpt-4o?"),
        ("llama3.2:3b", KEYS, "there is no provider 'llama3.2', and Ollama does not have llama3.2:3b or does not run", "did you mean ollama:llama3.2:3b?"),
    ],
)
async def test_a_model_that_is_not_clear_is_refused_with_what_to_write(claw: Claw, model: str, env: dict[str, str], text: str, hint: str) -> None:
    ran = await claw("run", "--model", model, "hello", env={"OLLAMA_HOST": "127.0.0.1:9", **env})
    assert (ran.code, ran.out) == (78, "")
    assert text in ran.err
    assert hint in ran.err


async def test_a_name_with_a_colon_is_ollamas_where_ollama_has_it(home: Path, tmp_path: Path) -> None:
    with near(b'{"models": [{"name": "llama3.2:3b"}, {"name": "qwen3:latest"}]}') as ollama:
        async with Agent.open(home=home, workspace=tmp_path, environ=environ(home, ollama.port)) as agent:
            assert (await agent.do("models.show", model="llama3.2:3b"))["model"] == "ollama:llama3.2:3b"
            assert (await agent.do("models.show", model="qwen3"))["model"] == "ollama:qwen3"


async def test_a_configured_model_without_a_service_is_asked_where_it_is(home: Path) -> None:
    found = await show(home, None, KEYS, settings={"llm.default_model": "openai/gpt-oss-120b"})
    assert found["model"] == "groq:openai/gpt-oss-120b"


@pytest.mark.parametrize(("model", "words"), [("gpt-4o", "gpt-4o is a model of openai"), ("openai:gpt-4o", "no key for openai"), ("nobodys", "'nobodys'")])
async def test_no_other_model_answers_for_a_configured_one_whose_key_is_missing(claw: Claw, model: str, words: str) -> None:
    (claw.home / "config.yaml").write_text(f"llm: {{default_model: '{model}'}}\n")
    ran = await claw("run", "calculate 1 + 1", env={"OLLAMA_HOST": "127.0.0.1:9"})
    assert (ran.code, ran.out) == (78, "")
    assert words in ran.err
    assert (await claw("run", "--model", "offline", "calculate 1 + 1", env={"OLLAMA_HOST": "127.0.0.1:9"})).out == "2\n"


async def test_ollamas_own_name_with_the_name_of_a_service_stays_ollamas(home: Path, tmp_path: Path) -> None:
    with near(b'{"models": [{"name": "mistral:7b"}]}') as ollama:
        settings = {"llm.default_model": "mistral:7b"}
        async with Agent.open(home=home, workspace=tmp_path, environ=environ(home, ollama.port), settings=settings) as agent:
            assert (await agent.do("models.show"))["model"] == "ollama:mistral:7b"


async def test_a_model_is_shown_with_all_that_is_known(home: Path) -> None:
    known = await show(home, "openai:gpt-4o", usable=False)
    assert known == {
        "model": "openai:gpt-4o",
        "context": 128_000,
        "tools": True,
        "images": True,
        "price": {"input": 2.5, "output": 10.0, "cached": 1.25},
        "source": "built in",
        "address": "https://api.openai.com/v1",
        "key": "OPENAI_API_KEY",
        "key_present": False,
    }
    assert (await show(home, "gpt-4o", usable=False)) == known
    assert (await show(home, "gpt-4o", KEYS))["key_present"]
    own = await show(home, "mine:big", settings=MINE)
    assert (own["context"], own["price"], own["source"], own["key"]) == (5, {"input": 1.0, "output": 2.0, "cached": None}, "Agent.open", "MINE_API_KEY")
    assert (await show(home, "openai:gpt-99", KEYS))["source"] == "assumed"
    assert (await show(home, "offline"))["price"] == {"input": 0.0, "output": 0.0, "cached": None}


async def test_the_commands_print_words_and_the_values_of_the_verbs(claw: Claw) -> None:
    env = {"OPENAI_API_KEY": "sk-of-nobody"}
    (claw.home / "config.yaml").write_text("llm:\n  providers:\n    openai:\n      models:\n        gpt-4.1: {context: 77}\n")
    listed = await claw("models", "list", "--json", env=env)
    assert [row["model"] for row in listed.json] == ["openai:gpt-4o", "openai:gpt-4.1", "offline:grammar"]
    assert (listed.json[1]["context"], listed.json[1]["source"]) == (77, "config.yaml:5")
    words = await claw("models", "list", env=env)
    assert words.out.splitlines()[0].split() == ["MODEL", "CONTEXT", "TOOLS", "IMAGES", "PRICE", "KEY"]
    assert "sk-of-nobody" not in words.out + listed.out
    every = await claw("models", "list", "groq", "--json")
    assert len(every.json) > 5
    assert {row["key_present"] for row in every.json} == {False}
    shown = await claw("models", "show", "openai:gpt-4o")
    assert "price: 2.5 / 10 USD per million tokens in and out\n" in shown.out
    assert "key: OPENAI_API_KEY is not set\n" in shown.out
    assert (await claw("models", "show", "nobody:m")).code == 78
    async with Agent.open(home=claw.home, workspace=claw.workspace, environ=claw.env | env) as agent:
        assert await agent.do("models.list") == listed.json
        assert await agent.do("models.show", model="openai:gpt-4o") == listed.json[0]


async def test_nothing_configured_says_how_to_set_a_model_up(claw: Claw) -> None:
    listed = await claw("models", "list", env={"OLLAMA_HOST": "127.0.0.1:9"})
    assert list(claw.home.iterdir()) == []  # to read writes nothing
    assert "offline:grammar" in listed.out
    assert "neuralclaw init" in listed.err


@pytest.fixture
def services() -> Iterator[Services]:
    with Services().running() as running:
        running.models = ["big", "small"]
        yield running


@pytest.fixture
def mine(claw: Claw, services: Services) -> Claw:
    """A home with a server of its own, as `init` leaves it."""
    (claw.home / "config.yaml").write_text(f"llm: {{default_provider: mine, default_model: big, providers: {{mine: {{base_url: '{services.url}/v1'}}}}}}\n")
    claw.env["OLLAMA_HOST"] = "127.0.0.1:9"
    return claw


async def test_a_model_of_ones_own_server_is_found_by_its_name_alone(mine: Claw, services: Services) -> None:
    ran = await mine("run", "--model", "big", "hello")
    assert (ran.code, ran.out, services.asked) == (0, "ready\n", []), ran  # the configured default is known without asking
    assert (await mine("models", "show", "big", "--json")).json["model"] == "mine:big"
    assert (await mine("models", "show", "mine", "--json")).json["model"] == "mine:big"
    other = await mine("run", "--model", "small", "hello")
    assert (other.code, other.out) == (0, "ready\n"), other
    assert [model for model, _ in services.calls] == ["big", "small"]
    wrong = await mine("run", "--model", "smal", "hello")
    assert (wrong.code, wrong.out) == (78, "")
    assert "did you mean mine:small?" in wrong.err
    async with Agent.open(home=mine.home, workspace=mine.workspace, environ=mine.env) as agent:
        assert (await agent.do("models.show", model="small", usable=True))["model"] == "mine:small"


async def test_a_fallback_is_found_on_ones_own_server_too(mine: Claw, services: Services) -> None:
    ran = await mine("run", "hello", env={"NEURALCLAW_LLM__FALLBACK": '["small"]', "NEURALCLAW_LLM__DEFAULT_MODEL": "gone"})
    assert (ran.code, ran.out) == (0, "ready\n"), ran


async def test_the_configured_model_is_meant_where_several_services_have_its_name(home: Path) -> None:
    settings = {**MINE, "llm.default_provider": "mine", "llm.default_model": "gpt-4o"}
    assert (await show(home, "gpt-4o", KEYS, settings=settings))["model"] == "mine:gpt-4o"
    lost = {"llm.default_provider": "nvidia", "llm.default_model": "openai/gpt-oss-120b"}
    assert (await show(home, "openai/gpt-oss-120b", KEYS, settings=lost))["model"] == "groq:openai/gpt-oss-120b"


async def test_the_models_of_ones_own_server_are_those_that_it_lists(mine: Claw, services: Services) -> None:
    listed = await mine("models", "list", "mine", "--json")
    assert [row["model"] for row in listed.json] == ["mine:big", "mine:small"]
    words = await mine("models", "list", "mine")
    assert "mine:small" in words.out
    assert words.err == ""
    services.models = []
    empty = await mine("models", "list", "mine")
    assert (empty.code, "mine has no models" in empty.out + empty.err, "Ollama" in empty.err) == (0, True, False), empty


async def test_a_server_that_cannot_be_asked_for_its_models_is_named(mine: Claw) -> None:
    away = {"NEURALCLAW_LLM__PROVIDERS__MINE__BASE_URL": "http://127.0.0.1:9/v1"}
    known = await mine("models", "list", "mine", env=away)
    assert (known.code, "mine:big" in known.out) == (0, True), known
    assert "no connection to mine at http://127.0.0.1:9/v1" in known.err
    wrong = await mine("run", "--model", "small", "hello", env=away)
    assert (wrong.code, "no connection to mine" in wrong.err) == (78, True), wrong
    (mine.home / "config.yaml").write_text("llm: {providers: {mine: {base_url: 'http://127.0.0.1:9/v1'}}}\n")
    unknown = await mine("models", "list", "mine", "--json")
    assert (unknown.code, unknown.out) == (1, ""), unknown
    assert "no connection to mine at http://127.0.0.1:9/v1" in unknown.err


async def test_a_server_without_a_configured_model_is_listed_with_what_it_has(mine: Claw, services: Services) -> None:
    (mine.home / "config.yaml").write_text(f"llm: {{providers: {{mine: {{base_url: '{services.url}/v1'}}}}}}\n")
    listed = await mine("models", "list")
    assert "mine:small" in listed.out
    assert "neuralclaw init" not in listed.err


async def test_the_models_of_a_running_ollama_are_listed(claw: Claw, services: Services) -> None:
    services.pulled = ["qwen3:8b", "llama3.2:latest"]
    claw.env["OLLAMA_HOST"] = f"127.0.0.1:{services.port}"
    every = ["ollama:qwen3:8b", "ollama:llama3.2:latest"]
    assert [row["model"] for row in (await claw("models", "list", "ollama", "--json")).json] == every
    for env in ({}, KEYS):
        rows = [row["model"] for row in (await claw("models", "list", "--json", env=env)).json]
        assert {"ollama:qwen3:8b", "ollama:llama3.2" if not env else "ollama:llama3.2:latest"} <= set(rows), rows
        assert len([row for row in rows if row.startswith("ollama:")]) == 2
    assert (await claw("models", "show", "qwen3:8b", "--json")).json["model"] == "ollama:qwen3:8b"
    stopped = await claw("models", "list", "ollama", env={"OLLAMA_HOST": "127.0.0.1:9"})
    assert "no connection to ollama" in stopped.err


RETRY = {"NEURALCLAW_LLM__RETRY__MIN_SECONDS": "0.01", "NEURALCLAW_LLM__RETRY__MAX_SECONDS": "0.01"}


async def test_an_answer_that_cannot_be_read_is_told_once_in_words_for_a_person(mine: Claw, services: Services) -> None:
    services.bad = lambda handler: handler.stream("text/event-stream", [b"data: {broken}\n\n"])
    ran = await mine("run", "hello", "--session", "a", env=RETRY)
    assert (ran.code, ran.out) == (1, ""), ran
    lines = ran.err.splitlines()
    assert lines[0].startswith("🤖 LLM error: mine sent an answer that cannot be read. Retrying… (after attempt 1, in")
    assert lines[1].startswith("🤖 LLM error: the same again. Retrying… (after attempt 2, in")
    assert lines[2] == "🤖 LLM error: mine sent an answer that cannot be read (tried 3 times)"
    assert lines[3].strip() == 'try again later: neuralclaw run --resume a "go on"; or use another model: --model P:M'
    assert "byte" not in ran.err
    closely = await mine("run", "hello", "--verbose", env=RETRY)
    assert "a piece of the stream: JSON is malformed" in closely.err
    services.bad = None
    again = await mine("run", "--resume", "a", "go on")
    assert (again.code, again.out) == (0, "ready\n"), again


@pytest.mark.parametrize("status", [429, 500, 502])
async def test_a_service_that_cannot_answer_now_is_told_with_the_next_step(mine: Claw, services: Services, status: int) -> None:
    services.bad = lambda handler: handler.answer({"error": {"message": "busy"}}, status)
    ran = await mine("run", "hello", "--session", "a", env=RETRY)
    assert f"({status}): busy (tried 3 times)\n   try again later: neuralclaw run --resume a " in ran.err, ran
