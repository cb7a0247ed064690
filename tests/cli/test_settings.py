"""`neuralclaw config`: what holds, from where, and what is wrong."""

import json

import pytest

from .program import Claw

pytestmark = pytest.mark.anyio


async def test_a_wrong_key_is_named_with_file_line_and_the_nearest_key(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text("agent:\n  max_iterations_per_trun: 3\n")
    for words in (["config", "check"], ["run", "calculate 1 + 1"]):
        ran = await claw(*words)
        assert (ran.code, ran.out) == (78, ""), ran
        assert "config.yaml:2" in ran.err
        assert "agent.max_iterations_per_turn" in ran.err
    where = await claw("config", "path")
    assert (where.code, where.out) == (0, f"{claw.home / 'config.yaml'}\n")
    doctor = await claw("doctor", "--json")
    assert doctor.code == 1
    assert [(c["check"], c["ok"]) for c in doctor.json] == [("config", False)]


async def test_settings_are_shown_with_their_origin_and_secrets_masked(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(
        "llm:\n  temperature: 0.2\n  providers:\n    mine: {api: chat, base_url: 'http://127.0.0.1:1/v1', api_key: sk-hidden}\n"
    )
    shown = await claw("config", "show", "--json", env={"NEURALCLAW_AGENT__NAME": "Klaue"})
    values = shown.json
    assert values["llm.temperature"] == {"value": 0.2, "origin": "config.yaml:2"}
    assert values["agent.name"]["value"] == "Klaue"
    assert "sk-hidden" not in shown.out + (await claw("config", "show")).out
    schema = json.loads((await claw("config", "schema")).raw)
    assert "llm" in schema["$defs"]["Settings"]["properties"]
