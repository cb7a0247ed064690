"""A key that a service refuses is named by where it came from."""

import pytest

from .program import Claw
from .services import Services

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("written", "env", "place"),
    [
        ("${OTHER_KEY:-}", {"OTHER_KEY": "sk-other-0001"}, "OTHER_KEY"),
        ("${OTHER_KEY}", {"OTHER_KEY": "sk-other-0001"}, "OTHER_KEY"),
        ("sk-literal-0001", {}, "llm.providers.mine.api_key in config.yaml"),
        ("${OTHER_KEY:-sk-default-0001}", {}, "llm.providers.mine.api_key in config.yaml"),
        ("${OTHER_KEY:-}", {"OTHER_KEY": "sk-other-0001", "MINE_API_KEY": "sk-mine-0001"}, "MINE_API_KEY"),
        ("", {"NEURALCLAW_LLM__PROVIDERS__MINE__API_KEY": "sk-set-0001"}, "NEURALCLAW_LLM__PROVIDERS__MINE__API_KEY"),
    ],
)
async def test_a_refused_key_is_named_by_where_it_came_from(claw: Claw, written: str, env: dict[str, str], place: str) -> None:
    with Services().running() as services:
        services.key = "sk-right-0001"
        claw.home.mkdir(exist_ok=True)
        service = f'{{api: chat, base_url: "{services.url}/v1", api_key: "{written}", models: {{gpt-4o: {{}}}}}}'
        (claw.home / "config.yaml").write_text(f"llm: {{default_provider: mine, default_model: gpt-4o, providers: {{mine: {service}}}}}\n")
        ran = await claw("run", "hello", env=env)
        assert ran.code == 1, ran
        assert f"mine refuses the key in {place}" in ran.err, ran
        assert f"put a valid key into {place}" in ran.err
        shown = await claw("models", "show", "mine", "--json", env=env)
        assert shown.json["key"] == place
        assert place in (await claw("models", "list", env=env)).out
