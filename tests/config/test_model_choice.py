"""Which model answers where nobody names one, and why."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from neuralclaw import config
from neuralclaw.providers import known_services


class Asked:
    """A probe for Ollama that counts how often it is asked."""

    def __init__(self, running: bool) -> None:
        self.running, self.times = running, 0

    def __call__(self) -> bool:
        self.times += 1
        return self.running


def choose(home: Path, text: str = "", env: dict[str, str] | None = None, *, ollama: Asked | None = None) -> tuple[str, str]:
    if text:
        (home / "config.yaml").write_text(text)
    return config.choose_model(config.load(home=str(home), environ=env or {}), known_services.with_key, ollama or Asked(False))


@pytest.mark.parametrize(
    ("text", "env", "running", "model"),
    [
        ("", {}, False, "offline:grammar"),
        ("", {}, True, "ollama"),
        ("", {"OPENAI_API_KEY": ""}, False, "offline:grammar"),
        ("", {"OPENAI_API_KEY": "k", "GROQ_API_KEY": "k"}, True, "openai"),
        ("", {"GROQ_API_KEY": "k"}, True, "groq"),
        ("llm: {default_model: m}", {"GROQ_API_KEY": "k"}, False, "groq:m"),
        ("llm: {default_model: 'groq:m'}", {"OPENAI_API_KEY": "k", "GROQ_API_KEY": "k"}, False, "groq:m"),
        ("llm: {default_model: 'qwen3:8b'}", {}, True, "ollama:qwen3:8b"),
        ("llm: {default_provider: ollama, default_model: 'qwen3:8b'}", {"OPENAI_API_KEY": "k"}, False, "ollama:qwen3:8b"),
        ("llm: {default_provider: nowhere}", {"OPENAI_API_KEY": "k"}, True, "nowhere"),
        ("llm: {default_provider: offline}", {"OPENAI_API_KEY": "k"}, True, "offline"),
        ("llm: {providers: {mine: {base_url: 'http://127.0.0.1:9/v1', api_key: k}}}", {}, True, "mine"),
        ("llm: {providers: {mine: {base_url: 'http://h/v1', api_key: k}}}", {"OPENAI_API_KEY": "k"}, True, "openai"),
    ],
)
def test_the_first_that_is_configured_has_a_key_or_runs_is_chosen(home: Path, text: str, env: dict[str, str], running: bool, model: str) -> None:
    chosen, why = choose(home, text, env, ollama=Asked(running))
    assert chosen == model
    assert why


def test_ollama_is_asked_only_where_nothing_before_it_decides(home: Path) -> None:
    probe = Asked(True)
    choose(home, env={"OPENAI_API_KEY": "k"}, ollama=probe)
    choose(home, "llm: {default_provider: groq}", ollama=probe)
    assert probe.times == 0


def test_without_key_and_providers_the_table_of_services_is_not_even_loaded(home: Path) -> None:
    def services(providers: Mapping[str, Mapping[str, Any]], env: Mapping[str, str]) -> Sequence[str]:
        raise AssertionError("asked")

    loaded = config.load(home=str(home), environ={"PATH": "/bin"})
    assert config.choose_model(loaded, services, Asked(False))[0] == "offline:grammar"


def test_why_names_where_the_choice_comes_from(home: Path) -> None:
    assert choose(home, "\nllm: {default_provider: groq}")[1] == "llm.default_provider (config.yaml:2)"
