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


async def test_a_key_is_set_from_the_command_line_and_a_wrong_one_changes_nothing(claw: Claw) -> None:
    file = claw.home / "config.yaml"
    file.write_text("llm:\n  temperature: 0.1  # cold\n")
    done = await claw("config", "set", "llm.temperature", "0.4")
    assert (done.code, done.out) == (0, f"llm.temperature: 0.4  ({file})\n")
    assert (await claw("config", "set", "llm.top_p", "0.5", "--json")).json == {"key": "llm.top_p", "value": 0.5, "file": str(file), "notices": []}
    wrong = await claw("config", "set", "llm.temperature", "-1", "--json")
    assert (wrong.code, wrong.out) == (78, "")
    assert "expected a number from 0 to 2" in wrong.err
    assert (await claw("config", "set", "llm.temperature")).code == 2
    assert file.read_text() == "llm:\n  temperature: 0.4  # cold\n  top_p: 0.5\n"


async def test_a_cap_of_money_over_a_model_without_a_price_stops_what_thinks_and_not_what_reads(claw: Claw) -> None:
    assert (await claw("run", "--session", "s", "calculate 1 + 1")).code == 0
    mine = (
        "llm: {default_provider: mine, default_model: big, providers: {mine: {api: chat, base_url: 'http://127.0.0.1:1/v1', models: {big: {context: 8000}}}}}\n"
    )
    (claw.home / "config.yaml").write_text(f"{mine}budget:\n  turn_usd: 0.5\n")
    for words in (["run", "hello"], ["run", "--max-budget-usd", "1", "hello"], ["models", "try", "mine:big"]):
        ran = await claw(*words)
        assert (ran.code, ran.out) == (78, ""), ran
        assert "price" in ran.err or "no cap of budget holds" in ran.err
    reading = (["sessions", "show", "s"], ["sessions", "list"], ["audit", "verify"], ["approvals", "list"], ["config", "check"], ["cost"])
    for words in (*reading, ["policy", "explain", "--command", "ls"], ["tools", "list"], ["models", "list"], ["tools", "call", "echo", '{"text": "x"}']):
        assert (await claw(*words)).code == 0, words


async def test_the_offline_model_costs_nothing_and_cost_says_so(claw: Claw) -> None:
    assert (await claw("run", "--max-budget-usd", "0.01", "calculate 1 + 1")).code == 0
    told = await claw("cost")
    assert told.out.startswith("0.0000 USD")
    assert (await claw("cost", "--json")).json["total"]["usd"] == 0
    assert (await claw("cost", "--session", "none")).code == 2
    assert (await claw("run", "--max-budget-usd", "0", "calculate 1 + 1")).code == 2


async def test_what_has_no_effect_yet_is_said_once_and_the_answer_stays_alone_on_standard_output(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text("memory: {results: 9}\nscheduler: {max_concurrent_tasks: 1}\n")
    for words in (["run", "calculate 1 + 1"], ["chat"]):
        ran = await claw(*words, stdin=b"calculate 1 + 1\n")
        assert ran.out.strip() == "2"
        assert ran.err.count("no effect yet") == 1
        assert "memory.results" in ran.err
    checked = await claw("config", "check", "--json")
    assert (checked.code, len(checked.json["notices"])) == (0, 1)


async def test_the_example_is_a_value_too(claw: Claw) -> None:
    assert (await claw("config", "example", "--json")).json["text"] == (await claw("config", "example")).out
