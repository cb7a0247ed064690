"""What a person reads when the configuration is wrong: file, line, key, what is expected, the nearest key."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuralclaw import config
from neuralclaw.errors import ConfigError

from .sample import SAMPLE


def complaint(home: Path, text: str | bytes, env: dict[str, str] | None = None, *, name: str = "config.yaml") -> str:
    """The whole sentence that a person reads."""
    (home / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        config.load(home=str(home), environ=env or {})
    return caught.value.text


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("agent:\n  max_iteration_per_turn: 3", 2, "unknown key agent.max_iteration_per_turn; did you mean agent.max_iterations_per_turn?"),
        ("\nagnet: {}", 2, "unknown key agnet; did you mean agent?"),
        ("max_tokens: 3", 1, "unknown key max_tokens; did you mean llm.max_tokens?"),
        ("agent: {temperature: 1}", 1, "did you mean llm.temperature?"),
        ("llm: {providers: {mine: {api_kye: x}}}", 1, "unknown key llm.providers.mine.api_kye; did you mean llm.providers.mine.api_key?"),
        ("prompts: {zzz: 1}", 1, "unknown key prompts.zzz; valid here: use_overrides"),
        ("agent: {max_iterations_per_turn: ten}", 1, "agent.max_iterations_per_turn: expected a whole number of at least 1, found the text 'ten'"),
        ("agent: {max_iterations_per_turn: '10'}", 1, "take the quotes away"),
        ("agent: {max_iterations_per_turn: 0}", 1, "of at least 1, found the number 0"),
        ("agent: {max_turn_timeout_seconds: -1}", 1, "agent.max_turn_timeout_seconds: expected a number above 0, found the number -1"),
        ("agent: {max_iterations_per_turn: 1.5}", 1, "found the number 1.5"),
        ("agent: {max_iterations_per_turn: 99999999999999999999}", 1, "found the number 99999999999999999999"),
        ("agent: {max_iterations_per_turn: true}", 1, "found true"),
        ("llm: {temperature: .nan}", 1, "expected a number from 0 to 2, found the number nan"),
        ("llm: {timeout_seconds: .inf}", 1, "found the number inf"),
        ("llm: {top_p: 1.1}", 1, "expected a number from 0 to 1"),
        ("budget: {day_usd: -5}", 1, "budget.day_usd: expected a number of at least 0, found the number -5"),
        (
            "tools: {terminal: {sandbox: bubblewarp}}",
            1,
            "one of auto, container, bubblewrap, landlock, process, found the text 'bubblewarp'; did you mean bubblewrap?",
        ),
        ("safety: {require_confirmation_for: [high]}", 1, "safety.require_confirmation_for[0]: expected one of LOW, MEDIUM, HIGH, CRITICAL"),
        ("safety: {require_confirmation_for: HIGH}", 1, "expected a list (of one of LOW, MEDIUM, HIGH, CRITICAL each), found the text 'HIGH'"),
        ("agent: [1]", 1, "agent: expected a section of keys and values, found a list"),
        ("- 1", 1, "the file: expected a section of keys and values, found a list"),
        ("agent: {name: null}", 1, "agent.name: expected text, found nothing"),
        ("llm: {providers: {mine: http://a}}", 1, "llm.providers.mine: expected a section"),
        ("llm:\n  retry: {min_seconds: 9,\n    max_seconds: 3}", 3, "llm.retry.max_seconds: expected at least llm.retry.min_seconds (9)"),
        ("scheduler: {timezone: Mars/Base}", 1, "scheduler.timezone: expected a time zone"),
        ("tools: {terminal: {docker_image: 'bad image!!'}}", 1, "tools.terminal.docker_image: expected text: the name of an image, without blanks"),
        ("tools: {terminal: {docker_image: '-v'}}", 1, "and without - at its beginning, found the text '-v'"),
        ("tools: {filesystem: {allowed_paths: ['']}}", 1, "tools.filesystem.allowed_paths[0]: expected text, found an empty text"),
        ("tools: {filesystem: {allowed_paths: [/a,\n  b]}}", 2, "'b' must be absolute or begin with ~/"),
        ("safety:\n  rules:\n    - {id: a, decision: never, tool: x}", 3, "safety.rules[0].decision: expected one of allow, ask, forbid"),
        ("safety:\n  rules:\n    - {id: a, decision: ask}", 3, "the rule a has no condition"),
        ("safety:\n  rules:\n    - {decision: ask, tool: x}", 3, "safety.rules[0].id is missing"),
        ("safety:\n  rules:\n    - {id: a, decision: ask, tool: x}\n    - {id: a, decision: ask, tool: y}", 4, "the id 'a' must be unique"),
        ("safety:\n  rules:\n    - {id: a, decision: ask, comand: x}", 3, "did you mean safety.rules[0].command?"),
        ("safety:\n  rules:\n    - {id: a, decision: ask, host: a.example, inside: true}", 3, "the rule a has inside: true, which goes with decision: allow"),
        ("safety:\n  rules:\n    - {id: a, decision: allow, tool: web_fetch, inside: true}", 3, "the rule a has inside: true, which goes with"),
        ("safety: {rules: [{id: a, decision: forbid, host: 'localhost:80'}]}", 1, "the host 'localhost:80': it is not a host name or a network address alone"),
        ("safety: {rules: [{id: a, decision: forbid, host: 'http://a.example/'}]}", 1, "it is not a host name or a network address alone"),
        ("safety: {rules: [{id: a, decision: forbid, host: '10.0.0.0/8'}]}", 1, "it is not a host name or a network address alone"),
        ("safety: {rules: [{id: a, decision: forbid, host: '*.a.example'}]}", 1, "*.a.example is not a valid host name"),
        ("safety: {rules: [{id: a, decision: allow, host: '0x7f.1'}]}", 1, "an unusual spelling of the network address 127.0.0.1"),
        ("safety: {rules: [{id: a, decision: forbid, path: 'sub/*'}]}", 1, "has '*' in its path, 'sub/*': patterns, variables and operators"),
        ("safety: {rules: [{id: a, decision: forbid, path: $HOME/x}]}", 1, "has '$H' in its path"),
        ("safety: {rules: [{id: a, decision: forbid, command: 'cat a | wc'}]}", 1, "has '|' in its command"),
        ("safety: {rules: [{id: a, decision: forbid, tool: 'file_*'}]}", 1, "has '*' in its tool"),
        ("safety: {rules: [{id: a, decision: forbid, tool: ' terminal'}]}", 1, "has blanks around its tool"),
        ("llm: {providers: {m: {models: {big: {price: {input: 1}}}}}}", 1, "llm.providers.m.models.big.price.output is missing"),
        ("agent: {name: a}\nagent: {name: b}", 2, "the key agent appears twice (first in line 1)"),
        ("agent: {name: '${WHO}'}", 1, "agent.name needs the environment variable WHO, which is not set or empty"),
        ("agent: {name: '${WHO'}", 1, "expected ${NAME} or ${NAME:-default}"),
        ("agent: {name: '${A B}'}", 1, "expected ${NAME} or ${NAME:-default}"),
        ("agent:\n  name: [", 2, "is not YAML"),
        ("agent:\n\tname: x", 2, "is not YAML"),
        ("a: !!python/object/apply:os.system [x]", 1, "a tag is not allowed here; put quotes around"),
        ("a: 1\n---\nb: 2", 2, "a second document begins"),
        ("a: *x", 1, "an alias names nothing; put quotes around"),
        ("agent: &a {name: *a}", 1, "refers to a value that contains it"),
        ("agent: {name: \x01}", 1, "is not YAML"),
        ("? [a]\n: b", 1, "a key must be plain text"),
    ],
)
def test_a_wrong_value_is_named_with_file_line_key_and_what_is_expected(home: Path, text: str, line: int, words: str) -> None:
    said = complaint(home, text)
    assert said.startswith(f"{home}/config.yaml:{line}: ")
    assert words in said


@pytest.mark.parametrize("line", ["api_key: !Zq7Xw4Kp9LmT2vB8", "api_key: *Zq7Xw4Kp9LmT2vB8", "api_key: !Zq7Xw4Kp9LmT2vB8 x", "headers: !Zq7Xw4Kp9LmT2vB8 {}"])
def test_a_password_that_yaml_takes_for_a_tag_or_an_alias_is_not_quoted(home: Path, line: str) -> None:
    said = complaint(home, f"llm:\n  {line}\n")
    assert "put quotes around" in said
    assert "Zq7X" not in said


def test_several_problems_are_listed_at_once(home: Path) -> None:
    said = complaint(
        home, "agent:\n  nam: x\n  max_retries: -1\nllm: {top_p: a}\nbudgets: {}\n", {"NEURALCLAW_AGENT__MODE": "fast", "NEURALCLAW_LLM__TOPP": "1"}
    )
    lines = said.splitlines()
    assert lines[0] == "6 problems in the configuration:"
    for words in ("config.yaml:2", "config.yaml:3", "config.yaml:4", "config.yaml:5", "environment NEURALCLAW_AGENT__MODE", "environment NEURALCLAW_LLM__TOPP"):
        assert sum(words in line for line in lines) == 1


def test_json_is_named_with_its_line_too(home: Path) -> None:
    assert "config.json:2: is not JSON" in complaint(home, '{"agent":\n {"name": }}', name="config.json")
    assert "config.json:3: the key name appears twice" in complaint(home, '{"agent": {\n"name": "a",\n"name": "b"}}', name="config.json")
    assert "config.json:2: unknown key agent.nam" in complaint(home, '{"agent": {\n"nam": "a"}}', name="config.json")
    assert "nested" in complaint(home, "[" * 50 + "]" * 50, name="config.json")
    assert "nested" in complaint(home, "[" * 100_000 + "]" * 100_000, name="config.json")


def test_two_files_are_one_too_many(home: Path) -> None:
    (home / "config.json").write_text("{}")
    said = complaint(home, "")
    assert f"{home}/config.yaml" in said
    assert f"{home}/config.json" in said


def test_what_cannot_be_read_is_named(home: Path) -> None:
    assert "config.yaml:2: is not UTF-8" in complaint(home, b"a: 1\nb: \xff\n")
    assert "larger than" in complaint(home, "#" * 1_100_000)
    (home / "config.yaml").unlink()
    (home / "config.yaml").mkdir()
    with pytest.raises(ConfigError, match=r"config\.yaml: cannot be read"):
        config.load(home=str(home), environ={})


def test_a_named_pipe_in_place_of_a_file_does_not_hang(home: Path) -> None:
    os.mkfifo(home / ".env")
    assert config.load(home=str(home), environ={}).env == {}


def test_aliases_that_multiply_are_refused_at_once(home: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 10) + "]" for i in range(1, 12)]
    assert "more than 20,000 values, aliases written out" in complaint(home, "\n".join(lines))


@pytest.mark.parametrize("text", ["a: " + "[" * 900 + "]" * 900, "a: " + "{b: " * 900 + "}" * 900, "- " * 3000 + "x"])
def test_deep_nesting_is_refused(home: Path, text: str) -> None:
    assert "nested more than 40 deep" in complaint(home, text)


def test_secrets_are_not_shown_in_errors(home: Path) -> None:
    assert "12345" not in complaint(home, "llm: {providers: {mine: {api_key: 12345}}}")
    assert "s3cret" not in complaint(home, "llm: {timeout_seconds: '${SOME_KEY}'}", {"SOME_KEY": "s3cret"})
    (home / "config.yaml").unlink()
    (home / ".env").write_text("A=1\nthis is s3cret\n")
    with pytest.raises(ConfigError) as caught:
        config.load(home=str(home), environ={})
    assert caught.value.text == f"{home}/.env:2: expected NAME=value"
    (home / ".env").write_text("A='s3cret\n")
    with pytest.raises(ConfigError, match=r"\.env:1: the quotes do not end") as caught:
        config.load(home=str(home), environ={})
    assert "s3cret" not in caught.value.text


PIECES = ["'", '"', "{", "}", "[", "]", "\n", "  ", "- ", "${"]
PIECES += "agent name llm : , &a *a << | # ! 1 null % ? ---".split(" ")


def complaints(home: Path, env: dict[str, str]) -> str:
    """What is wrong, or nothing; any other error is a bug."""
    try:
        config.load(home=str(home), environ=env)
    except ConfigError as error:
        return error.text
    return ""


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=25).map("".join), as_json=st.booleans())
def test_any_file_is_read_or_named_as_wrong(home: Path, text: str, as_json: bool) -> None:
    for old in home.iterdir():
        old.unlink()
    (home / ("config.json" if as_json else "config.yaml")).write_text(text, encoding="utf-8", errors="surrogatepass")
    (home / ".env").write_text(text.replace("\n", " "), encoding="utf-8", errors="surrogatepass")
    said = complaints(home, {"NEURALCLAW_LLM__PROVIDERS": text.replace("\0", "")})
    assert said == complaints(home, {"NEURALCLAW_LLM__PROVIDERS": text.replace("\0", "")})


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, len(SAMPLE)), put=st.sampled_from(PIECES), cut=st.integers(0, 4))
def test_a_damaged_sample_is_read_or_named_with_its_line(home: Path, at: int, put: str, cut: int) -> None:
    (home / "config.yaml").write_text(SAMPLE[:at] + put + SAMPLE[at + cut :])
    said = complaints(home, {})
    assert not said or f"{home}/config.yaml:" in said


def test_a_key_in_the_wrong_place_is_not_shown(home: Path) -> None:
    key = "sk-verysecret-0123456789abcdef"
    for text in (f"llm: {key}", f"llm: {{retry: {{attempts: {key}}}}}", f"llm: {{providers: {{mine: {{api: {key}}}}}}}"):
        assert key not in complaint(home, text)


@pytest.mark.parametrize("text", ["[" * 3000, "[" * 700 + "]" * 700])
def test_a_variable_that_is_nested_too_deeply_is_named(home: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"ALLOWED_PATHS: tools\.filesystem\.allowed_paths: expected a list"):
        config.load(home=str(home), environ={"NEURALCLAW_TOOLS__FILESYSTEM__ALLOWED_PATHS": text})


def test_the_query_of_an_address_is_masked(home: Path) -> None:
    (home / "config.yaml").write_text('llm: {providers: {mine: {base_url: "http://u:pw@host/v1?key=sesame"}}}')
    shown = {value.key: value.value for value in config.load(home=str(home), environ={}).values}
    assert shown["llm.providers.mine.base_url"] == "http://[set]@host/v1?[set]"


def test_keys_that_others_can_read_are_said_with_the_command_that_mends_it(home: Path) -> None:
    secrets = home / ".env"
    secrets.write_text("OPENAI_API_KEY=sk-of-nobody-0123456789\n")
    secrets.chmod(0o644)
    (notice,) = config.load(home=str(home), environ={}).notices
    assert notice.endswith(f"chmod 600 {secrets}")
    assert "sk-of" not in notice
    secrets.chmod(0o600)
    assert config.load(home=str(home), environ={}).notices == ()
    secrets.write_text("NEURALCLAW_AGENT__NAME=Claw\n")
    secrets.chmod(0o644)
    assert config.load(home=str(home), environ={}).notices == ()


def test_an_allowed_path_that_is_a_file_is_refused_and_one_that_is_not_there_is_taken(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("kept")
    text = "tools: {filesystem: {allowed_paths: [~/later, ~/one.txt]}}"
    assert "config.yaml:1: tools.filesystem.allowed_paths: '~/one.txt' is not a directory" in complaint(tmp_path, text, {"HOME": str(tmp_path)})
    (tmp_path / "config.yaml").write_text(text.replace("one.txt", "other"))
    config.load(home=str(tmp_path), environ={"HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("telegram: {}", "telegram: expected a section of keys and values, found a text (not shown)"),
        ("llm: {{providers: {{groq: {}}}}}", "llm.providers.groq: expected a section of keys and values, found a text (not shown)"),
        ("mcp: {{servers: {{x: {{transport: http, url: 'https://h/', headers: {}}}}}}}", "headers: expected a section of keys and values, found a text"),
        ("mcp: {{servers: {{x: {{command: x, env: 'T={}'}}}}}}", "env: expected a section of keys and values, found a text"),
        ("tools: {{filesystem: {{allowed_paths: 'https://u:{}@h/x.git'}}}}", "found the text 'https://[set]@h/x.git'"),
        ("agent: {{max_iterations_per_turn: 'https://h/?key={}'}}", "found the text 'https://h/?[set]'"),
    ],
)
def test_a_key_that_stands_where_its_section_belongs_is_not_shown(home: Path, text: str, words: str) -> None:
    said = complaint(home, text.format("gq9Kp3Lm7Xz2Wv5Rt"))
    assert words in said
    assert "gq9Kp3" not in said
