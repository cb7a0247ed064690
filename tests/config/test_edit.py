"""Single keys are set in the text of a configuration file and of `.env`, and nothing else is touched."""

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralclaw.config.document import read_dotenv
from neuralclaw.config.edit import set_dotenv, set_json, set_yaml
from neuralclaw.errors import ConfigError

CHOSEN = {"llm.default_provider": "ollama", "llm.default_model": "qwen3:8b", "llm.fallback": ["groq:m"]}
LLM = {"default_provider": "ollama", "default_model": "qwen3:8b", "fallback": ["groq:m"]}

COMMENTED = """\
# mine
agent: {name: Klaue}   # her name
llm:
  # as cold as it gets
  temperature: 0.1     # really

  default_model: gpt-4o  # changed by init
  fallback:
    - a:b              # gone
    - c:d
  # the end of it
tools:
  filesystem: {allowed_paths: [~/notes]}
"""


def test_only_the_named_keys_change_and_every_comment_stays() -> None:
    edited = set_yaml(COMMENTED, CHOSEN)
    before = [line for line in COMMENTED.splitlines() if "default_model" not in line and "fallback" not in line and "- " not in line]
    assert [line for line in edited.splitlines() if line in before] == before
    assert "# changed by init" in edited
    tree = yaml.safe_load(edited)
    assert tree == {"agent": {"name": "Klaue"}, "llm": {"temperature": 0.1, **LLM}, "tools": {"filesystem": {"allowed_paths": ["~/notes"]}}}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing yet",
        "agent: {name: x}",
        "{agent: {name: x}}\n",
        "llm:\n",
        "llm: # later\nagent: {name: x}\n",
        "llm: {}\n",
        "llm: null\n",
        "llm: {default_model: a, temperature: 0.2} # one line\n",
        "llm:\n    default_model:\n    top_p: 1\n",
        "llm:\n  default_model: |\n    text\n  top_p: 1\n",
        '"llm":\n  "default_provider" : openai\n',
        "llm:\r\n  top_p: 1\r\nagent:\r\n  name: x\r\n",
        "llm:\n  <<: {top_p: 1}\n  default_provider: 'a'\n",
        "a: &x {temperature: 0.2}\nllm: &y {top_p: 1}\n",
    ],
)
def test_every_way_to_write_a_section_is_understood(text: str) -> None:
    wanted = yaml.safe_load(text) or {}
    wanted["llm"] = (wanted.get("llm") or {}) | LLM
    edited = set_yaml(text, CHOSEN)
    assert yaml.safe_load(edited) == wanted
    assert set_yaml(edited, CHOSEN) == edited
    assert ("\r\n" in edited) == ("\r\n" in text)
    assert edited.count("\n") == edited.count("\r\n") or "\r" not in text


@pytest.mark.parametrize("text", ["base: &b {top_p: 1}\nllm: *b\n", "--- \nagent: {name: x}\n...\n", "llm: &a {top_p: 1}\nmine: *a\n"])
def test_what_cannot_be_changed_alone_is_refused_with_the_lines_to_write(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        set_yaml(text, CHOSEN)
    assert 'llm.default_model: "qwen3:8b"' in refused.value.hint


SCALAR = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text("ab: #'\"\n-{}[],&*!|>%@`é", max_size=8))
TREE = st.dictionaries(
    st.text("abc", min_size=1, max_size=3), st.one_of(SCALAR, st.lists(SCALAR, max_size=3), st.dictionaries(st.text("ab", min_size=1, max_size=2), SCALAR))
)


@settings(max_examples=150, deadline=None)
@given(
    tree=TREE,
    llm=st.dictionaries(st.sampled_from(["default_model", "top_p", "fallback", "x"]), SCALAR),
    flow=st.sampled_from([None, True, False]),
    value=st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=10),
)
def test_a_file_keeps_its_meaning_whatever_stands_in_it(tree: dict[str, object], llm: dict[str, object], flow: bool | None, value: str) -> None:
    tree = {**tree, "llm": llm}
    text = yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=True)
    edited = set_yaml(text, {"llm.default_model": value, "llm.providers.own.base_url": "http://127.0.0.1:1/v1"})
    assert yaml.safe_load(edited) == {**tree, "llm": {**llm, "default_model": value, "providers": {"own": {"base_url": "http://127.0.0.1:1/v1"}}}}


def test_json_keeps_its_other_keys() -> None:
    assert json.loads(set_json('{"agent": {"name": "x"}}', CHOSEN)) == {"agent": {"name": "x"}, "llm": LLM}
    assert json.loads(set_json("", CHOSEN)) == {"llm": LLM}


def test_a_variable_is_replaced_where_it_stands_or_added_at_the_end() -> None:
    text = "# mine\nexport A_KEY=old # why\nB=2\n"
    edited = set_dotenv(text, {"A_KEY": "new", "C_KEY": "c"})
    assert edited == "# mine\nA_KEY=new\nB=2\nC_KEY=c\n"
    assert set_dotenv("", {"A": "b"}) == "A=b\n"


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=30))
def test_every_key_of_visible_characters_is_read_back_as_it_was_given(key: str) -> None:
    assert read_dotenv(set_dotenv("OTHER=1\n", {"A_KEY": key}), ".env")["A_KEY"] == (key, 2)
