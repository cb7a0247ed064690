"""`neuralclaw doctor` on models: what is chosen, whether it can be asked, and the command that mends it."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from .program import Claw, Ran
from .services import Services

pytestmark = pytest.mark.anyio


@pytest.fixture
def services() -> Iterator[Services]:
    with Services().running() as running:
        yield running


@pytest.fixture
def near(claw: Claw, services: Services) -> Claw:
    claw.env |= {"OPENAI_BASE_URL": f"{services.url}/v1", "OLLAMA_HOST": f"127.0.0.1:{services.port}", "OPENAI_API_KEY": "k-secret"}
    return claw


def of(ran: Ran) -> dict[str, dict[str, Any]]:
    """The checks about models by their names."""
    assert all(set(check) == {"check", "ok", "text", "fix"} for check in ran.json)
    assert all((check["fix"] is None) == check["ok"] or check["check"].startswith("sandbox") for check in ran.json), ran
    assert "k-secret" not in ran.out + ran.err
    return {check["check"]: check for check in ran.json if check["check"].startswith(("model", "fallback"))}


async def test_a_model_that_can_be_asked_is_named_with_why_and_where_its_key_is_from(near: Claw, services: Services) -> None:
    ran = await near("doctor", "--json")
    assert ran.code == 0, ran
    found = of(ran)
    assert list(found) == ["model", "model.key", "model.service", "model.name"]
    assert "openai:gpt-4o, because openai is the first service with a key" in found["model"]["text"]
    assert found["model.key"]["text"] == "OPENAI_API_KEY is set (environment OPENAI_API_KEY)"
    assert services.asked == ["/v1/models"]
    assert services.calls == []


async def test_a_real_call_is_made_only_when_it_is_asked_for(near: Claw, services: Services) -> None:
    found = of(await near("doctor", "--call", "--json"))
    assert "ready" in found["model.call"]["text"]
    assert services.calls == [("gpt-4o", "k-secret")]
    services.files["/v1/models"] = lambda handler: handler.answer({}, 500)
    unlisted = await near("doctor", "--call", "--json")
    assert (unlisted.code, of(unlisted)["model.service"]["ok"]) == (0, False)
    assert (await near("doctor", "--json")).code == 1
    services.models = ["gpt-4o-mini"]
    ran = await near("doctor", "--call", "--json")
    assert ran.code == 1
    assert not of(ran)["model.call"]["ok"]


async def test_what_is_missing_is_named_with_the_command_that_mends_it(near: Claw, services: Services) -> None:
    services.key = "other"
    refused = await near("doctor", "--json")
    assert refused.code == 1
    assert of(refused)["model.service"]["fix"] == "unset OPENAI_API_KEY; neuralclaw init --model openai:gpt-4o --key-stdin"
    assert of(refused)["model.service"]["text"] == "openai refuses the key in OPENAI_API_KEY (401)"
    services.key = None
    keyless = await near("doctor", "--json", env={"NEURALCLAW_LLM__DEFAULT_PROVIDER": "groq"})
    assert keyless.code == 1
    assert "GROQ_API_KEY" in of(keyless)["model"]["text"]
    assert of(keyless)["model"]["fix"] == "neuralclaw init --model groq --key-stdin"
    unknown = await near("doctor", "--json", env={"NEURALCLAW_LLM__DEFAULT_MODEL": "openai:gpt-4o-mino"})
    assert unknown.code == 0
    assert of(unknown)["model.name"]["fix"] == "neuralclaw init --model openai:gpt-4o-mini"
    plain = await near("doctor", env={"NEURALCLAW_LLM__DEFAULT_PROVIDER": "groq"})
    assert "MISSING model: " in plain.out
    assert "        neuralclaw init --model groq --key-stdin\n" in plain.out


async def test_ollama_is_started_and_its_model_pulled(near: Claw, services: Services) -> None:
    near.env["NEURALCLAW_LLM__DEFAULT_PROVIDER"] = "ollama"
    services.pulled = ["qwen3:8b"]
    missing = await near("doctor", "--json")
    assert missing.code == 1
    assert of(missing)["model.name"]["fix"] == "ollama pull llama3.2"
    services.pulled = ["llama3.2:latest"]
    assert (await near("doctor", "--json")).code == 0
    stopped = await near("doctor", "--json", env={"OLLAMA_HOST": "127.0.0.1:9"})
    assert stopped.code == 1
    assert of(stopped)["model.service"]["fix"] == "ollama serve"


async def test_an_ollama_that_only_runs_answers_with_a_model_it_has(near: Claw, services: Services) -> None:
    del near.env["OPENAI_API_KEY"]
    services.pulled = ["nomic-embed-text:latest", "qwen3:8b"]
    ran = await near("run", "hello")
    assert (ran.code, ran.out) == (0, "ready\n"), ran
    assert services.calls == [("qwen3:8b", "")]
    assert "ollama:qwen3:8b, because no service has a key, and Ollama runs here without llama3.2" in of(await near("doctor", "--json"))["model"]["text"]
    services.pulled.append("llama3.2:latest")
    assert "ollama:llama3.2, because" in of(await near("doctor", "--json"))["model"]["text"]


async def test_models_that_are_fallen_back_on_are_checked_and_not_needed(near: Claw, services: Services) -> None:
    (near.home / "config.yaml").write_text(
        "llm: {default_provider: openai, fallback: [llamacpp, 'ollama:qwen3:8b', 'openai:gpt-4o-mini'], providers: {llamacpp: {base_url: 'http://127.0.0.1:9/v1'}}}\n"
    )
    services.pulled = ["qwen3:8b"]
    ran = await near("doctor", "--call", "--json")
    assert ran.code == 0, ran
    found = of(ran)
    assert not found["fallback.1.service"]["ok"]
    assert "ready" in found["fallback.2.call"]["text"]
    assert "openai has gpt-4o-mini" in found["fallback.3.name"]["text"]
    (near.home / "config.yaml").write_text("llm: {default_provider: openai, fallback: [groq]}\n")
    keyless = await near("doctor", "--json")
    assert keyless.code == 1
    assert of(keyless)["fallback.1"]["fix"] == f"write the line GROQ_API_KEY=YOUR-KEY into {near.home / '.env'}"
    (near.home / "config.yaml").write_text("llm: {default_provider: openai, fallback: ['openai:gpt-4o-mini', 'openai:gpt-4o-mino']}\n")
    misspelt = of(await near("doctor", "--json"))["fallback.2.name"]
    assert misspelt["fix"] == "neuralclaw init --model openai --fallback openai:gpt-4o-mini --fallback openai:gpt-4o-mini"


async def test_a_password_in_an_address_is_not_shown(near: Claw, services: Services) -> None:
    services.key = "other"
    for address in (f"http://me:pass-word@127.0.0.1:{services.port}/v1", "http://me:pass-word@127.0.0.1:9/v1"):
        ran = await near("doctor", "--json", env={"OPENAI_BASE_URL": address})
        assert ran.code == 1
        assert "pass-word" not in ran.out + ran.err


async def test_without_a_key_the_grammar_is_no_fault_and_is_told_for_what_it_is(claw: Claw) -> None:
    ran = await claw("doctor", "--json", env={"OLLAMA_HOST": "127.0.0.1:9"})
    assert ran.code == 0, ran
    assert "no language model: neuralclaw init" in of(ran)["model"]["text"]


async def test_a_home_that_cannot_be_written_and_a_broken_file_have_their_command(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text("llm: {default_provder: x}\n")
    broken = await claw("doctor", "--json")
    assert broken.code == 1
    assert [check["check"] for check in broken.json] == ["config"]
    assert broken.json[0]["fix"]


async def test_a_fallback_never_answers_for_the_model_that_is_called(near: Claw, services: Services) -> None:
    (near.home / "config.yaml").write_text("llm: {default_provider: openai, default_model: gone, fallback: ['openai:gpt-4o']}\n")
    ran = await near("doctor", "--call", "--json")
    assert ran.code == 1, ran
    assert not of(ran)["model.call"]["ok"]
    assert of(ran)["fallback.1.call"]["ok"]
    assert [model for model, _ in services.calls] == ["gone", "gpt-4o"]


async def test_a_withdrawn_model_is_named_with_its_successor(near: Claw, services: Services) -> None:
    services.models = ["gpt-5.6-sol", "gpt-5.6-terra"]
    near.env["NEURALCLAW_LLM__DEFAULT_MODEL"] = "openai:o1"
    ran = await near("doctor", "--json")
    assert ran.code == 1
    assert of(ran)["model.name"]["text"] == "openai has withdrawn o1; its successor is gpt-5.6-sol"
    assert of(ran)["model.name"]["fix"] == "neuralclaw init --model openai:gpt-5.6-sol"
    init = await near("init", "--model", "openai:o1", "--json")
    assert init.code == 1
    assert "neuralclaw init --model openai:gpt-5.6-sol" in init.err
    services.models.append("o1")
    assert of(await near("doctor", "--json"))["model.name"]["ok"]


async def test_a_model_file_that_is_gone_is_named_with_how_to_get_one(claw: Claw) -> None:
    ran = await claw("doctor", "--json", env={"NEURALCLAW_LLM__DEFAULT_PROVIDER": "local", "NEURALCLAW_LLM__DEFAULT_MODEL": "/nowhere/m.gguf"})
    assert ran.code == 1, ran
    assert "/nowhere/m.gguf" in of(ran)["model"]["text"]
    assert of(ran)["model"]["fix"] == "neuralclaw init --fetch-model"


@pytest.fixture
def mine(claw: Claw, services: Services) -> Claw:
    """A home whose model is one that its own server does not have."""
    claw.env["OLLAMA_HOST"] = "127.0.0.1:9"
    file = f"llm: {{default_provider: mine, default_model: k401, providers: {{mine: {{base_url: '{services.url}/v1'}}}}}}\n"
    (claw.home / "config.yaml").write_text(file)
    return claw


async def test_the_command_for_a_model_that_ones_own_server_does_not_have_works(mine: Claw, services: Services) -> None:
    services.models = ["big"]
    found = of(await mine("doctor", "--call", "--json"))
    assert found["model.service"]["text"].endswith(", 1 model")
    assert found["model.name"]["text"] == "k401 is not among the 1 model of mine"
    assert found["model.name"]["fix"] == found["model.call"]["fix"] == "neuralclaw config set llm.default_model big"
    done = await mine(*found["model.name"]["fix"].split()[1:])
    assert done.code == 0, done
    mended = await mine("doctor", "--call", "--json")
    assert (mended.code, all(check["ok"] for check in of(mended).values())) == (0, True), mended
    asked = of(await mine("doctor", "--json", env={"NEURALCLAW_LLM__DEFAULT_MODEL": "bog"}))
    assert asked["model.name"]["fix"] == "export NEURALCLAW_LLM__DEFAULT_MODEL=big"
    services.models = []
    assert of(await mine("doctor", "--json"))["model.name"]["text"] == "mine has no models"


async def test_a_refused_key_of_ones_own_server_is_named_and_the_command_sets_another(mine: Claw, services: Services) -> None:
    services.models, services.key = ["k401"], "k-good"
    lacking = of(await mine("doctor", "--call", "--json"))
    assert lacking["model.service"]["text"] == "mine requires a key (401)"
    (mine.home / ".env").write_text("MINE_API_KEY=k-secret\n")
    found = of(await mine("doctor", "--call", "--json"))
    assert "MINE_API_KEY" in found["model.service"]["text"]
    assert found["model.service"]["fix"] == found["model.call"]["fix"] == "neuralclaw init --model mine:k401 --key-stdin"
    done = await mine("init", "--model", "mine:k401", "--key-stdin", stdin=b"k-good\n")
    assert done.code == 0, done
    assert (await mine("doctor", "--call")).code == 0


async def test_a_proxy_that_is_not_used_is_named_where_it_is_set_and_where_nothing_is_reached(claw: Claw) -> None:
    claw.env |= {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://192.0.2.1:9/v1", "HTTPS_PROXY": "http://u:p-secret@10.0.0.1:3128"}
    ran = await claw("doctor", "--json")
    found = {check["check"]: check for check in ran.json}["network.proxy"]
    assert found["text"].startswith("HTTPS_PROXY is set, but no connection of this program uses a proxy.")
    assert found["fix"] == "unset HTTPS_PROXY"
    assert "p-secret" not in ran.out
    del claw.env["HTTPS_PROXY"]
    assert "network.proxy" not in (await claw("doctor", "--json")).out


async def test_a_forged_table_is_named_with_its_column_and_the_command_that_puts_it_right(claw: Claw) -> None:
    await claw("run", "calculate 6*7")
    c = sqlite3.connect(claw.home / "neuralclaw.db", isolation_level=None)
    c.execute("UPDATE sessions SET title = 'forged'")
    told = await claw("audit", "verify")
    assert "the table sessions, column title" in told.out
    assert "neuralclaw doctor --rebuild" in told.out
    record = next(check for check in (await claw("doctor", "--json")).json if check["check"] == "record")
    assert (record["ok"], record["fix"]) == (False, "neuralclaw doctor --rebuild")
    assert record["text"].startswith("the table sessions, column title (record 1 of session ")
    assert next(check for check in (await claw("doctor", "--rebuild", "--json")).json if check["check"] == "record")["ok"]
    assert (await claw("audit", "verify")).code == 0
    assert c.execute("SELECT title FROM sessions").fetchall() == [("calculate 6*7",)]
    c.execute("UPDATE entries SET time = time + 1 WHERE record = 3")
    record = next(check for check in (await claw("doctor", "--json")).json if check["check"] == "record")
    assert record["fix"] == "restore a backup, then: neuralclaw audit anchor --accept"
    c.close()


async def test_a_repository_that_cannot_be_reached_is_named_with_a_command_that_tries_it(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(f"audit: {{anchor: {{git: {{remote: {claw.home}/nowhere.git}}}}}}\n")
    await claw("run", "calculate 6*7")
    git = next(check for check in (await claw("doctor", "--json")).json if check["check"] == "anchor.git")
    assert (git["ok"], git["fix"]) == (False, f"git ls-remote {claw.home}/nowhere.git")
    told = " ".join((await claw("audit", "verify")).out.split())
    assert f"anchored in git {claw.home}/nowhere.git" not in told
    assert "nothing was pushed yet" in told
