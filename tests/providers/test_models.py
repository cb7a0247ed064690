"""The shipped table of models, what the owner says over it, and models that were withdrawn."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from neuralclaw import plugins
from neuralclaw.providers import models
from neuralclaw.providers.known_services import KNOWN, resolve
from neuralclaw.providers.model_service import ModelEndpoint
from neuralclaw.providers.models import info, shipped, successor
from neuralclaw.providers.reply_assembly import priced
from neuralclaw.providers.withdrawn import withdrawn
from neuralclaw.types.messages import ModelInfo, Price

MADE = "2026-11-21"
"""The day of the table and of the list of withdrawn models."""

TABLE = Path(models.__file__).with_name("models.json")
ELSEWHERE = {"openrouter", "ollama", "llamacpp", "vllm", "lmstudio"}
"""OpenRouter's own default picks a model for each request and the service says what it cost; the others serve what their owner loaded."""


@pytest.mark.parametrize("name", [name for name in KNOWN if name not in ELSEWHERE])
def test_the_default_model_of_a_service_is_in_the_table_and_not_withdrawn(name: str) -> None:
    found = shipped(name, KNOWN[name].model)
    assert found is not None
    assert found.context >= 100_000
    assert (found.price is None) == (name == "nvidia")
    assert successor(name, KNOWN[name].model, MADE) is None


@pytest.mark.parametrize("name", [name for name in KNOWN if name not in {*ELSEWHERE, "perplexity"}])
def test_the_default_model_of_a_service_calls_tools(name: str) -> None:
    found = shipped(name, KNOWN[name].model)
    assert found is not None
    assert found.tools is True


def test_the_table_is_sound() -> None:
    table = msgspec.json.decode(TABLE.read_bytes())
    assert set(table) <= set(KNOWN)
    for service, rows in table.items():
        assert len(rows) > 3, service
        for name in rows:
            found = shipped(service, name)
            assert found is not None
            assert 1000 < found.context <= 20_000_000, name
            if found.price is not None:
                for price in (found.price, found.price.long or found.price):
                    assert 0 <= (price.cached or 0) <= price.input <= 200, name
                    assert 0 <= price.output <= 1000, name


@pytest.mark.parametrize(
    ("service", "name", "like"),
    [
        ("openai", "gpt-4o-2024-11-20", "gpt-4o"),
        ("openai", "gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("openai", "gpt-5.4-2026-03-05", "gpt-5.4"),
        ("anthropic", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("anthropic", "claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("google", "gemini-2.5-flash-preview-05-20", "gemini-2.5-flash"),
        ("xai", "grok-4.5-latest", "grok-4.5"),
    ],
)
def test_an_edition_of_a_model_is_found_under_its_name(service: str, name: str, like: str) -> None:
    assert shipped(service, name) == shipped(service, like)
    assert shipped(service, name) is not None


@pytest.mark.parametrize("name", ["gpt-4other", "gpt-4o-next", "gpt-5.4-huge", "gpt", "", "gpt-4o-", "models/gpt-4o"])
def test_another_model_is_not_taken_for_one_that_begins_like_it(name: str) -> None:
    assert shipped("openai", name) is None
    assert info(ModelEndpoint(name="openai", base_url="http://x", own=True), name) == ModelInfo()


def test_at_another_address_a_model_is_what_it_is_and_its_price_is_unknown() -> None:
    key = {"OPENAI_API_KEY": "k"}
    assert info(resolve("openai", {}, key), "gpt-4o") == ModelInfo(context=128_000, images=True, price=Price(2.5, 10, 1.25))
    assert info(resolve("openai", {"openai": {"base_url": "http://127.0.0.1:1/v1"}}, key), "gpt-4o") == ModelInfo(images=True)


def test_the_owners_word_wins_field_by_field() -> None:
    facts: dict[str, Any] = {
        "gpt-4o": {"context": 9000},
        "gpt-4.1": {"price": {"input": 1, "output": 2}},
        "gpt-5.4": None,
        "gpt-4o-2024-11-20": {"tools": False},
    }
    service = resolve("openai", {"openai": {"models": {**facts, "new": {"images": True, "price": None}}}}, {"OPENAI_API_KEY": "k"})
    assert info(service, "gpt-4o") == ModelInfo(context=9000, images=True, price=Price(2.5, 10, 1.25))
    assert info(service, "gpt-4.1") == ModelInfo(context=1_047_576, images=True, price=Price(1, 2))
    assert info(service, "gpt-5.4") == shipped("openai", "gpt-5.4")
    assert info(service, "gpt-4o-2024-11-20") == ModelInfo(images=True, tools=False, price=Price(2.5, 10, 1.25))
    assert info(service, "new") == ModelInfo(images=True)
    elsewhere = resolve("openai", {"openai": {"base_url": "http://127.0.0.1:1/v1", "models": facts}}, {})
    assert info(elsewhere, "gpt-4o") == ModelInfo(context=9000, images=True)


def test_a_long_prompt_costs_the_dearer_price_for_all_its_tokens() -> None:
    found = shipped("openai", "gpt-5.4")
    assert found is not None
    assert found.price == Price(2.5, 15, 0.25, 272_000, Price(5, 22.5, 0.5))
    assert priced(272_000, 0, 1000, found).usd == pytest.approx(0.272 * 2.5 + 0.015)
    assert priced(272_001, 72_001, 1000, found).usd == pytest.approx(0.2 * 5 + 0.072001 * 0.5 + 0.0225)


def test_reading_the_table_takes_little_time_and_waits_until_a_model_is_asked_for() -> None:
    program = (
        "import sys, time, neuralclaw.providers.models as m, neuralclaw.providers.known_services as k\n"
        "k.resolve('groq', {}, {'GROQ_API_KEY': 'k'})\n"
        "assert m.table.cache_info().currsize == 0\n"
        "def took():\n"
        "    m.table.cache_clear(); at = time.perf_counter(); m.table(); return time.perf_counter() - at\n"
        "print(min(took() for _ in range(20)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert float(ran.stdout) < 0.002


# --- withdrawn models ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("service", "model", "follows"),
    [
        ("groq", "llama3-70b-8192", "openai/gpt-oss-120b"),
        ("groq", "mixtral-8x7b-32768", "openai/gpt-oss-120b"),
        ("groq", "llama-3.3-70b-versatile", "openai/gpt-oss-120b"),
        ("openai", "text-davinci-003", "gpt-5.6-terra"),
        ("openai", "gpt-4-turbo-preview", "gpt-5.6-sol"),
        ("openai", "gpt-4o", None),
        ("anthropic", "claude-3-opus-20240229", "claude-opus-4-8"),
        ("anthropic", "claude-sonnet-4-20250514", "claude-sonnet-4-6"),
        ("anthropic", "claude-sonnet-4-6", None),
        ("google", "gemini-1.5-pro-002", "gemini-3.8-flash"),
        ("google", "gemini-1.5-flash-8b", "gemini-3.5-flash-lite"),
        ("deepseek", "deepseek-chat", "deepseek-flash"),
        ("xai", "grok-4-0709", "grok-4.3"),
        ("xai", "grok-4.3", None),
        ("mine", "gpt-4", None),
    ],
)
def test_a_withdrawn_model_has_a_successor(service: str, model: str, follows: str | None) -> None:
    assert plugins.load("provider.successor")(service, model, MADE) == follows


def test_a_model_is_withdrawn_from_its_day_on() -> None:
    assert [successor("openai", "gpt-4o", day) for day in ("2027-01-13", "2027-01-14")] == [None, "gpt-6-luna"]
    assert successor("groq", "llama3-70b-8192") == "openai/gpt-oss-120b", "by the clock"


def test_every_successor_is_there_and_not_to_be_withdrawn_itself() -> None:
    for service, rows in withdrawn().items():
        for model, row in rows.items():
            assert shipped(service, row.use) is not None, model
            assert row.use not in rows
            assert not any(name.endswith("*") and row.use.startswith(name[:-1]) for name in rows), model
