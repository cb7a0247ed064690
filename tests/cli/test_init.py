"""`neuralclaw init`: finds, asks, calls the model for real, and only then saves."""

import stat
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from .program import Claw
from .services import Services

pytestmark = pytest.mark.anyio

KEY = "sk-typed-by-a-person"


@pytest.fixture
def services() -> Iterator[Services]:
    with Services().running() as running:
        yield running


@pytest.fixture
def near(claw: Claw, services: Services) -> Claw:
    """The program on a machine where `openai` and Ollama's address are the services of this test; the first in a spelling that does not look local."""
    claw.env |= {"OPENAI_BASE_URL": f"http://[::ffff:127.0.0.1]:{services.port}/v1", "OLLAMA_HOST": f"127.0.0.1:{services.port}"}
    return claw


def settings(claw: Claw) -> dict[str, object]:
    value: dict[str, object] = yaml.safe_load((claw.home / "config.yaml").read_text())["llm"]
    return value


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def gguf(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, 0) + bytes(60))
    return path


async def test_the_model_is_called_for_real_before_anything_is_saved(near: Claw, services: Services) -> None:
    services.key = KEY
    there: list[list[Path]] = []
    services.on_call = lambda: there.append(list(near.home.iterdir()))
    ran = await near("init", "--model", "openai:gpt-4o-mini", "--key-stdin", stdin=f"{KEY}\n".encode())
    assert ran.code == 0, ran
    assert services.calls == [("gpt-4o-mini", KEY)]
    assert there == [[]]
    assert settings(near) == {"default_provider": "openai", "default_model": "gpt-4o-mini"}
    assert ran.out == f"saved: {near.home / 'config.yaml'}\n"
    assert KEY not in ran.out + ran.err + (near.home / "config.yaml").read_text()
    assert not (near.home / ".env").exists()
    assert KEY not in "".join(path.read_text() for path in near.home.iterdir())
    assert [row["name"] for row in (await near("secrets", "list", "--json")).json] == ["OPENAI_API_KEY"]
    assert {mode(path) for path in near.home.iterdir()} == {0o600}
    answered = await near("run", "are you there?")
    assert (answered.code, answered.out.strip()) == (0, "ready"), answered
    assert services.calls[-1] == ("gpt-4o-mini", KEY)


async def test_when_the_call_fails_nothing_is_saved_and_the_service_says_why(near: Claw, services: Services) -> None:
    services.key = KEY
    before = "agent: {name: Klaue}\n"
    (near.home / "config.yaml").write_text(before)
    for words, said in ((["openai"], "refuses the key"), (["openai:gpt-9"], "gpt-9"), (["openai", "--fallback", "openai:gpt-9"], "gpt-9")):
        ran = await near("init", "--model", *words, "--key-stdin", stdin=b"sk-wrong\n" if words == ["openai"] else KEY.encode())
        assert (ran.code, ran.out) == (1, ""), ran
        assert said in ran.err
        assert "nothing was saved" in ran.err
        assert "sk-wrong" not in ran.err
    assert {path.name: path.read_text() for path in near.home.iterdir()} == {"config.yaml": before}
    unchecked = await near("init", "--model", "openai:gpt-9", "--key-stdin", "--no-check", "--json", stdin=KEY.encode())
    assert unchecked.json["saved"] is True
    assert unchecked.json["checked"] == []
    assert settings(near)["default_model"] == "gpt-9"


async def test_a_key_that_is_missing_or_would_not_count_is_a_matter_of_configuration(near: Claw, services: Services) -> None:
    for words, stdin, env, said in (
        (["--model", "openai"], b"", {}, "OPENAI_API_KEY"),
        (["--model", "openai", "--key-stdin"], b"new\n", {"OPENAI_API_KEY": "old"}, "wins over .env"),
        (["--model", "openai", "--key-stdin"], "schlüssel\n".encode(), {}, "visible ASCII"),
        (["--model", "ollama", "--key-stdin"], b"key\n", {}, "takes no key"),
        (["--model", "nowhere:m"], b"", {}, "nowhere"),
    ):
        ran = await near("init", *words, stdin=stdin, env=env)
        assert (ran.code, ran.out) == (78, ""), ran
        assert said in ran.err
    for words in (["--key-stdin"], ["--model", "openai", "--key-stdin"], ["--base-url", "http://127.0.0.1:1/v1"]):
        ran = await near("init", *words)
        assert (ran.code, ran.out) == (2, ""), ran
    assert services.calls == []
    assert list(near.home.iterdir()) == []
    (near.home / "config.yaml").write_text("agent: {nmae: x}\n")
    broken = await near("init", "--model", "openai")
    assert (broken.code, broken.out) == (78, "")
    assert "config.yaml:1" in broken.err


async def test_comments_and_other_keys_of_an_existing_file_stay_and_it_is_kept(near: Claw, services: Services) -> None:
    text = "# mine\nllm:\n  temperature: 0.1   # cold\n  default_model: old # this one\nagent: {name: Klaue}\n"
    (near.home / "config.yaml").write_text(text)
    (near.home / ".env").write_text("# keys\nOTHER=1\nOPENAI_API_KEY=old\n")
    ran = await near("init", "--model", "openai", "--fallback", "openai:gpt-4o-mini", "--key-stdin", "--json", stdin=KEY.encode())
    assert ran.code == 0, ran
    assert ran.json["model"] == "openai:gpt-4o"
    assert [one["model"] for one in ran.json["checked"]] == ["openai:gpt-4o", "openai:gpt-4o-mini"]
    new = (near.home / "config.yaml").read_text()
    assert all(part in new for part in ("# mine\n", "  temperature: 0.1   # cold\n", "default_model: gpt-4o # this one\n", "agent: {name: Klaue}\n"))
    assert settings(near)["fallback"] == ["openai:gpt-4o-mini"]
    assert (near.home / "config.yaml.bak").read_text() == text
    assert (near.home / ".env").read_text() == f"# keys\nOTHER=1\nOPENAI_API_KEY={KEY}\n"
    assert ran.err == ""


async def test_a_json_file_is_changed_too_and_a_variable_that_wins_is_named(near: Claw, services: Services) -> None:
    (near.home / "config.json").write_text('{"agent": {"name": "Klaue"}}')
    env = {"OPENAI_API_KEY": "k", "NEURALCLAW_LLM__DEFAULT_PROVIDER": "offline"}
    ran = await near("init", "--model", "openai", "--json", env=env)
    assert "environment NEURALCLAW_LLM__DEFAULT_PROVIDER" in ran.json["notice"]
    shown = await near("config", "show", "--json", env={"OPENAI_API_KEY": "k"})
    assert shown.json["llm.default_provider"] == {"value": "openai", "origin": "config.json:6"}
    assert shown.json["agent.name"]["value"] == "Klaue"


async def test_what_is_found_is_proposed_in_order(near: Claw, services: Services) -> None:
    person = near.home.parent
    gguf(person / "models" / "deep" / "b.gguf")
    gguf(person / ".cache" / "huggingface" / "hub" / "models--x" / "snapshots" / "1" / "hub.gguf")
    gguf(person / "models" / "mmproj-x.gguf")
    gguf(person / "models" / "big-00002-of-00003.gguf")
    (person / "models" / "text.gguf").write_text("no model")
    (person / "models" / "half.gguf").write_bytes(b"GGUF")
    offline = await near("init")
    assert offline.code == 130
    assert "nothing was changed" in offline.err
    assert "b.gguf" in offline.err
    assert "hub.gguf" in offline.err
    assert not any(name in offline.err for name in ("mmproj", "00002", "text.gguf", "half.gguf"))
    assert "Service [local]" in offline.err
    assert "Service [local]" in (await near("init", env={"OLLAMA_HOST": "ftp://nowhere"})).err
    services.pulled = ["qwen3:8b", "llama3.2:latest"]
    ollama = await near("init")
    assert "Service [ollama]" in ollama.err
    assert "qwen3:8b" in ollama.err
    keyed = await near("init", env={"OPENAI_API_KEY": "k"})
    assert "Service [openai]" in keyed.err
    assert "key in OPENAI_API_KEY (environment OPENAI_API_KEY)" in keyed.err
    (near.home / "config.yaml").write_text("llm: {default_provider: offline}\n")
    assert "Service [offline]" in (await near("init", env={"OPENAI_API_KEY": "k"})).err
    assert services.calls == []
    assert [path.name for path in near.home.iterdir()] == ["config.yaml"]


async def test_yes_takes_the_proposal_and_asks_nothing(near: Claw, services: Services) -> None:
    services.pulled = ["qwen3:8b"]
    ran = await near("init", "--yes", "--json", stdin=None)
    assert ran.json["model"] == "ollama:qwen3:8b"
    assert ran.json["checked"][0]["text"] == "ready"
    assert settings(near) == {"default_provider": "ollama", "default_model": "qwen3:8b"}
    services.pulled = []
    (near.home / "config.yaml").unlink()
    ran = await near("init", "--yes", stdin=None)
    assert ran.code == 0, ran
    assert settings(near) == {"default_provider": "offline"}
    services.pulled = ["qwen3:8b"]
    ran = await near("init", "--yes", stdin=None)
    assert ran.code == 0, ran
    assert settings(near)["default_provider"] == "ollama", "offline was never anybody's wish"


async def test_the_conversation_over_a_pipe_goes_on_after_a_wrong_name_and_a_wrong_key(near: Claw, services: Services) -> None:
    services.key = KEY
    lines = ["opnai", "openai", "sk-wrong", "", "", "", "", KEY, "?", "2", "none"]
    ran = await near("init", stdin="\n".join([*lines, ""]).encode())
    assert ran.code == 0, ran
    assert "did you mean 'openai'" in ran.err
    assert "refuses the key" in ran.err
    assert services.calls == [("gpt-4o", "sk-wrong"), ("gpt-4o-mini", KEY)]
    assert settings(near) == {"default_provider": "openai", "default_model": "gpt-4o-mini"}
    assert [row["name"] for row in (await near("secrets", "list", "--json")).json] == ["OPENAI_API_KEY"]


async def test_a_server_of_ones_own_needs_its_address_alone(near: Claw, services: Services) -> None:
    ran = await near("init", stdin=f"{services.url}/v1\nmine\n\n\n\n".encode())
    assert ran.code == 0, ran
    assert services.calls == [("gpt-4o", "")]
    assert settings(near)["default_provider"] == "mine"
    assert (await near("run", "hello")).out.strip() == "ready"
    (near.home / "config.yaml").unlink()
    ran = await near("init", "--model", "mine:gpt-4o", "--base-url", f"{services.url}/v1", "--key-stdin", stdin=b"abc\n")
    assert ran.code == 0, ran
    assert [row["name"] for row in (await near("secrets", "list", "--json")).json] == ["MINE_API_KEY"]
    assert services.calls[-1] == ("gpt-4o", "abc")


async def test_a_model_alone_is_saved_with_the_service_that_has_it(claw: Claw) -> None:
    env = {"OPENAI_API_KEY": "sk-of-nobody", "OLLAMA_HOST": "127.0.0.1:9"}
    assert (await claw("init", "--model", "gpt-4o", "--no-check", env=env)).code == 0
    assert (await claw("models", "show", "--json", env=env)).json["model"] == "openai:gpt-4o"
    wrong = await claw("init", "--model", "gpt-4p", "--no-check", env=env)
    assert (wrong.code, "did you mean openai:gpt-4" in wrong.err) == (78, True)


async def test_at_a_terminal_the_key_is_not_shown_while_it_is_typed(near: Claw, services: Services) -> None:
    services.key = KEY
    for env in ({}, {"TERM": "dumb"}):
        with near.terminal("init", env=env) as terminal:
            terminal.until("Service [")
            terminal.type("openai\n")
            terminal.until("not shown): ")
            terminal.type(f"{KEY}\n")
            terminal.until("Model of openai")
            terminal.type("\n")
            terminal.until("when this one is unavailable")
            terminal.type("\n")
            terminal.until("saved:")
            assert terminal.end() == 0
            assert KEY not in terminal.seen
            assert "\x1b" not in terminal.seen or not env
        assert services.calls.pop() == ("gpt-4o", KEY)
        for path in near.home.iterdir():
            path.unlink()


@pytest.mark.parametrize("stop", ["\x03", "\x04"])
async def test_leaving_at_any_question_changes_nothing_and_says_so(near: Claw, services: Services, stop: str) -> None:
    questions = [("Service [", "openai\n"), ("not shown): ", f"{KEY}\n"), ("Model of openai", "\n"), ("when this one is unavailable", "\n")]
    for number in range(len(questions)):
        with near.terminal("init") as terminal:
            for text, answer in questions[:number]:
                terminal.until(text)
                terminal.type(answer)
            terminal.until(questions[number][0])
            terminal.leave(stop, "nothing was changed")
            assert terminal.end() == 130
    assert services.calls == []
    assert list(near.home.iterdir()) == []
