"""The commands about secrets, as a person and as a program use them."""

import json
from pathlib import Path

import msgspec
import pytest

from neuralclaw import Agent
from neuralclaw.errors import ConfigError, UsageError

from ..cli.program import Claw

pytestmark = [pytest.mark.anyio, pytest.mark.full]

VALUE = "".join(("qT7", "-vv81_", "kkZp03xYw"))


@pytest.fixture
def claw(home: Path, tmp_path: Path) -> Claw:
    return Claw(home, tmp_path / "work")


async def test_a_secret_is_set_listed_found_by_the_settings_and_removed(claw: Claw, home: Path) -> None:
    ran = await claw("secrets", "set", "GROQ_API_KEY", "--json", stdin=f"{VALUE}\n".encode())
    assert (ran.code, ran.err) == (0, "")
    assert {name: ran.json[name] for name in ("name", "kind")} == {"name": "GROQ_API_KEY", "kind": "text"}
    (row,) = (await claw("secrets", "list", "--json")).json
    assert row == ran.json
    (home / "config.yaml").write_text("llm:\n  providers:\n    mine:\n      base_url: http://127.0.0.1:9/v1\n      api_key: ${GROQ_API_KEY}\n")
    shown = await claw("config", "show", "--json")
    assert shown.json["llm.providers.mine.api_key"]["value"] == "[set]"
    for words in (("config", "show"), ("secrets", "list"), ("doctor",), ("status",), ("run", "--model", "offline", f"echo {VALUE}")):
        told = await claw(*words)
        assert VALUE not in told.out + told.err
    assert "1 in " in (await claw("doctor")).out
    removed = await claw("secrets", "remove", "GROQ_API_KEY")
    assert removed.out == "removed: GROQ_API_KEY\n"
    assert (await claw("secrets", "remove", "GROQ_API_KEY")).code == 2
    assert (await claw("secrets", "list", "--json")).json == []


async def test_an_error_of_the_settings_shows_no_key_of_a_known_format(claw: Claw, home: Path) -> None:
    key = "ghp_" + "Zq7Xw4Kp9LmT2vB8nRs5Aa1Bb2Cc3Dd4Ee5F"
    (home / "config.yaml").write_text(f"llm:\n  {key}: 1\n")
    for words in (("run", "hi"), ("config", "show", "--json"), ("secrets", "scrub", "--verbose")):
        told = await claw(*words)
        assert told.code == 78
        assert key[:12] not in told.out + told.err
        assert "unknown key" in told.err


async def test_a_value_is_never_a_word_of_the_command_line_and_nothing_is_no_value(claw: Claw, home: Path) -> None:
    ran = await claw("secrets", "set", "A_TOKEN", VALUE)
    assert ran.code == 2
    for given in (b"", b"\n"):
        assert "standard input is empty" in (await claw("secrets", "set", "A_TOKEN", stdin=given)).err
    assert (await claw("secrets", "set", "A TOKEN", stdin=VALUE.encode())).code == 2
    assert not (home / "secrets.json").exists()


async def test_python_sets_and_removes_a_secret_with_the_values_that_the_command_line_shows(claw: Claw, home: Path) -> None:
    environ = {"HOME": str(home.parent)}
    shown, told = {}, {}
    for name in ("set", "remove"):
        given = {"stdin": VALUE.encode()} if name == "set" else {}
        shown[name] = (await claw("secrets", name, "A_TOKEN", "--json", **given)).json
        async with Agent.open(home=home, workspace=claw.workspace, model="offline", environ=environ) as agent:
            await agent.do("secrets.set", name="A_TOKEN", value=VALUE)
            told[name] = await agent.do(f"secrets.{name}", name="A_TOKEN", **({"value": VALUE} if name == "set" else {}))
        await claw("secrets", "set", "A_TOKEN", stdin=VALUE.encode())
    assert [{**one, "updated": ""} for one in shown.values()] == [{**one, "updated": ""} for one in told.values()]
    assert shown["remove"] == {"removed": "A_TOKEN"}


async def test_a_value_keeps_its_bytes_but_the_last_line_break(claw: Claw, home: Path) -> None:
    await claw("secrets", "set", "PEM", stdin=b"line one of the value\r\nline two of the value\r\n\r\n")
    settings = {"agent.name": "x"}
    async with Agent.open(home=home, workspace=claw.workspace, model="offline", settings=settings, environ={"HOME": str(home.parent)}) as agent:
        assert [row["name"] for row in await agent.do("secrets.list")] == ["PEM"]
        with pytest.raises(UsageError, match="read and write"):
            await agent.do("secrets.scrub")
    ran = await claw("secrets", "scrub", stdin=b"a line one of the value\r\nline two of the value\r\nb \xff\xfe\0 c")
    assert ran.raw == b"a [REDACTED:PEM]\r\nb \xff\xfe\0 c"


async def test_scrub_leaves_every_other_byte_and_knows_settings_environment_and_formats(claw: Claw, home: Path) -> None:
    await claw("secrets", "set", "STORED", stdin=VALUE.encode())
    (home / ".env").write_text("MY_PASSWORD='so long a pass-word 12'\n")
    noise = bytes(range(256)) * 300
    known = ("gh" + "p_" + "a1" * 18).encode()
    text = noise + VALUE.encode().hex().encode() + b"|so long a pass-word 12|" + known + b"|" + noise
    ran = await claw("secrets", "scrub", stdin=text)
    assert ran.raw == noise + b"[REDACTED:STORED]|[REDACTED:MY_PASSWORD]|[REDACTED:github]|" + noise
    assert (await claw("secrets", "scrub", stdin=b"")).raw == b""


async def test_the_passphrase_is_asked_for_by_every_command_that_needs_the_settings(claw: Claw, home: Path) -> None:
    right = {"NEURALCLAW_PASSPHRASE": "open " + "sesame"}
    assert (await claw("secrets", "set", "A_TOKEN", stdin=VALUE.encode(), env=right)).code == 0
    assert not (home.parent / ".local").exists()
    before = (home / "secrets.json").read_bytes()
    for env, told in (({}, "NEURALCLAW_PASSPHRASE is not set"), ({"NEURALCLAW_PASSPHRASE": "wrong"}, "holds another passphrase")):
        for words in (("secrets", "list"), ("run", "--model", "offline", "hello"), ("doctor",), ("secrets", "scrub"), ("secrets", "set", "B")):
            ran = await claw(*words, stdin=b"value of the secret", env=env)
            assert ran.code != 0, words
            assert told in ran.out + ran.err, words
            assert "was left as it is" in ran.out + ran.err
    assert (home / "secrets.json").read_bytes() == before
    assert (await claw("secrets", "list", "--json", env=right)).json[0]["name"] == "A_TOKEN"


async def test_env_and_environment_win_over_the_secret_store_which_says_so(claw: Claw, home: Path) -> None:
    (home / ".env").write_text("A_TOKEN=from-the-file-12\n")
    ran = await claw("secrets", "set", "A_TOKEN", stdin=VALUE.encode())
    assert "A_TOKEN is set in .env:1 too, which wins over the secret store." in ran.err


@pytest.mark.parametrize("name", ["NEURALCLAW_SAFETY__APPROVALS", "NEURALCLAW_LLM__TEMPERATURE", "neuralclaw_agent__name"])
async def test_a_setting_is_no_secret_so_that_no_value_locks_the_store(claw: Claw, name: str) -> None:
    ran = await claw("secrets", "set", name, stdin=b"always12")
    assert ran.code == 64 or ran.code == 2 or ran.code
    assert f"{name} is a setting and no secret" in ran.err
    assert (await claw("secrets", "list", "--json")).json == []


async def test_a_short_value_is_kept_and_said_not_to_be_looked_for(claw: Claw) -> None:
    ran = await claw("secrets", "set", "PIN", stdin=b"4711")
    assert (ran.code, ran.err) == (0, "The value is shorter than 8 characters: it is not taken out of texts, and given to no command or request by its name.\n")


async def test_a_home_without_a_secret_store_loads_nothing_for_it(claw: Claw) -> None:
    claw.program = (claw.program[0], "-X", "importtime", *claw.program[1:])
    ran = await claw("run", "--model", "offline", "list .")
    assert ran.code == 0
    assert [name for name in ("cryptography", "keyring", "secret_store", "re2") if f"| {name}" in ran.err.replace("|   ", "| ")] == []
    assert "cryptography" not in ran.err


async def test_init_keeps_a_key_in_the_secret_store_where_there_is_one(claw: Claw, home: Path) -> None:
    await claw("secrets", "set", "OTHER", stdin=VALUE.encode())
    ran = await claw("init", "--model", "groq:llama-3.3-70b-versatile", "--key-stdin", "--no-check", stdin=b"a-key-of-nobody-at-all-1\n")
    assert "The key is in the secret store, encrypted, as GROQ_API_KEY." in ran.err
    assert not (home / ".env").exists()
    assert [row["name"] for row in (await claw("secrets", "list", "--json")).json] == ["GROQ_API_KEY", "OTHER"]


async def test_no_tool_call_may_read_the_store_or_the_key_file(claw: Claw, home: Path) -> None:
    await claw("secrets", "set", "A_TOKEN", stdin=VALUE.encode())
    (key,) = (home.parent / ".local" / "state" / "neuralclaw").iterdir()
    for path in (home / "secrets.json", key, key.parent):
        for words in (("--path", str(path), "--op", "read"), ("--command", f"cat {path}")):
            told = (await claw("policy", "explain", *words, "--json")).json
            assert told["decision"] == "forbid", (words, told)


async def test_a_store_that_cannot_be_opened_stops_an_agent_before_anything_is_told(home: Path, tmp_path: Path) -> None:
    (home / "secrets.json").write_text("{}")
    with pytest.raises(ConfigError, match="is damaged"):
        async with Agent.open(home=home, workspace=tmp_path, model="offline", environ={}):
            pass
    assert json.loads((home / "secrets.json").read_text()) == {}


async def test_a_verb_gives_python_what_the_command_prints_as_json(claw: Claw, home: Path) -> None:
    printed = (await claw("secrets", "set", "A_TOKEN", "--json", stdin=VALUE.encode())).json
    async with Agent.open(home=home, workspace=claw.workspace, model="offline", environ={"HOME": str(home.parent)}) as agent:
        value = json.loads(json.dumps(msgspec.to_builtins(await agent.do("secrets.set", name="A_TOKEN", value=VALUE))))
        assert value | {"updated": ""} == printed | {"updated": ""}
        assert msgspec.to_builtins(await agent.do("secrets.remove", name="A_TOKEN")) == {"removed": "A_TOKEN"}
    await claw("secrets", "set", "A_TOKEN", stdin=VALUE.encode())
    assert (await claw("secrets", "remove", "A_TOKEN", "--json")).json == {"removed": "A_TOKEN"}


@pytest.mark.parametrize("broken", ["agent: [", "agent: {nonsense: 1}", "llm: {temperature: warm}"])
async def test_secrets_are_listed_and_removed_also_where_the_settings_cannot_be_used(claw: Claw, home: Path, broken: str) -> None:
    assert (await claw("secrets", "set", "DEMO_TOKEN", stdin=b"qT7-vv81_kkZp03xYw")).code == 0
    (home / "config.yaml").write_text(broken)
    listed = await claw("secrets", "list", "--json")
    assert [row["name"] for row in listed.json] == ["DEMO_TOKEN"], listed
    refused = await claw("models", "list")
    assert (refused.code, "config.yaml" in refused.err) == (78, True), refused
    assert (await claw("secrets", "remove", "DEMO_TOKEN")).code == 0
    assert (await claw("secrets", "list", "--json")).json == []


async def test_a_key_in_the_place_of_a_model_is_not_shown(claw: Claw, home: Path) -> None:
    key = "sk-" + "ant-api03-q7Rt2mK9xLp4Vb8nq7Rt2mK9xLp4Vb8n"
    (home / "config.yaml").write_text(f"llm: {{default_provider: openai, default_model: {key}}}\n")
    for words in (("config", "show"), ("config", "show", "--json"), ("models", "list"), ("doctor",)):
        ran = await claw(*words, env={"OPENAI_API_KEY": "sk-none-of-them"})
        assert key not in ran.out + ran.err, words


ORDINARY = """NODE_ENV=production
## installation
ORDER BY created_at, sslmode=verify-full utf-8-sig administrator majority
image: postgres:16, LANG=SCRAM-SHA-256 Cluster0 en_US
"""


async def test_ordinary_words_of_addresses_and_variables_stay_and_keys_in_them_do_not(claw: Claw, home: Path) -> None:
    key, shown = "".join(("Zq7", "Xw4Kp9LmT2v", "B8nRs5")), "".join(("plum", "kettle", "lamp"))
    (home / ".env").write_text(
        "DATABASE_URL='postgresql://postgres:postgres@localhost:5432/app?sslmode=verify-full&application_name=production'\n"
        "DOCS_URL='https://docs.example.com/guide#installation'\nSORT_KEY=created_at\nREDIS_HOST='redis://cache?encoding=utf-8-sig'\n"
        "MONGO_URL='mongodb://h/x?w=majority&authSource=administrator&authMechanism=SCRAM-SHA-256&appName=Cluster0'\nPOSTGRES_PASSWORD=postgres\n"
        f"A_URL='https://h/x?token={shown}&k={key}1'\nB_URL='https://h/#{key}2'\nC_API_KEY={shown}-x\nD_URL='https://me:{shown}yz@h/x'\nE_KEY={key}3\n"
    )
    assert (await claw("secrets", "scrub", stdin=ORDINARY.encode())).raw == ORDINARY.encode()
    for secret in (shown, f"{key}1", f"{key}2", f"{shown}-x", f"{shown}yz", f"{key}3"):
        said = (await claw("secrets", "scrub", stdin=f"it is {secret} here".encode())).raw.decode()
        assert said.startswith("it is [REDACTED:")
        assert secret not in said
