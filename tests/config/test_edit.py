"""Single keys are set in the text of a configuration file and of `.env`, and nothing else is touched."""

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralclaw.config.document import read_dotenv
from neuralclaw.config.edit import set_dotenv, set_json, set_yaml
from neuralclaw.errors import ConfigError

pytestmark = pytest.mark.full

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


@pytest.mark.parametrize(
    ("text", "key", "value", "edited"),
    [
        ("a: [1, # one\n  2] # two\nb: ~\nc: True\n", "b", 5, "a: [1, # one\n  2] # two\nb: 5\nc: True\n"),
        (
            "a: &x {t: 0x1F,\n       u: 1_0,}\nb: *x\nc:   'it''s'   # said\n",
            "d",
            "e",
            "a: &x {t: 0x1F,\n       u: 1_0,}\nb: *x\nc:   'it''s'   # said\nd: e\n",
        ),
        ("a: {b: 1,\n    c: 2,   d: 3}\n", "a.c", 4, "a: {b: 1,\n    c: 4,   d: 3}\n"),
        ("a: {b: 1,\n    c: 2,\n}\n", "a.d", 3, "a: {b: 1,\n    c: 2, d: 3,\n}\n"),
        ("a: {b: 1}\n", "a.c.d", [1, "x y"], 'a: {b: 1, c: {d: [1, "x y"]}}\n'),
        ("a:\n - b\n - c: 1\n   d: 2\ne:\n     f: 1\n", "e.g.h", 2, "a:\n - b\n - c: 1\n   d: 2\ne:\n     f: 1\n     g:\n       h: 2\n"),
        ("a: # why\n  - 1\n  # 2 as well?\n\n# next\nb: 1\n", "a", 3, "a: 3 # why\n  # 2 as well?\n\n# next\nb: 1\n"),
        ("a:\n  b: 1\n  # c: 2\n# d\ne: 1\n", "a.f", 2, "a:\n  b: 1\n  f: 2\n  # c: 2\n# d\ne: 1\n"),
        ("a:\n  b:\n    c: 1\n    # d: 2\n\n  # e: 3\n", "a.f", 2, "a:\n  b:\n    c: 1\n    # d: 2\n  f: 2\n\n  # e: 3\n"),
        ("a: 1\n# b: 2\n", "c", 3, "a: 1\n# b: 2\nc: 3\n"),
        ('%YAML 1.1\n---\nurl: ${URL:-http://x/#y}  \nk: "${K}"\n', "k", "${L}", '%YAML 1.1\n---\nurl: ${URL:-http://x/#y}  \nk: "${L}"\n'),
        ("a: 1\r\nb:\r\n  c: 2 # d\r\n\r\n# e\r\n", "b.f", "g", "a: 1\r\nb:\r\n  c: 2 # d\r\n  f: g\r\n\r\n# e\r\n"),
        ("a: >-\n  one\n  two\nb: |\n  # no comment\n\nc: 1\n", "b", "x", "a: >-\n  one\n  two\nb: x\n\nc: 1\n"),
        ("a: 1\nb: 2\na: 3\n", "a", 4, "a: 1\nb: 2\na: 4\n"),
        ("d: &t 1\na: *t\n", "a", 2, "d: &t 1\na: 2\n"),
        ("a: &unused x\nb: !!str 1\n? c\n: 1\n", "c", 1e20, "a: &unused x\nb: !!str 1\n? c\n: 1.0e+20\n"),
        ("a: 1", "b", "yes", 'a: 1\nb: "yes"'),
        ("a:\n", "b", 1, "a:\nb: 1\n"),
        ("a: [x, y,\n    z] # w\nb: [{c: 1}]\n", "a", ["x"], "a: [x] # w\nb: [{c: 1}]\n"),
        ("b: 1\na: # why\n a: 1\nc:\n a: 1\n", "a", 1, "b: 1\na: 1 # why\nc:\n a: 1\n"),
        ("a: 1\n", "a.a", 1, "a:\n  a: 1\n"),
        ("value: {}\n", "value.value-", "x", "value:\n  value-: x\n"),
        ("a: {}\n", "a.b", None, "a:\n  b: null\n"),
    ],
)
def test_every_other_byte_stays_also_where_the_library_would_write_it_anew(text: str, key: str, value: object, edited: str) -> None:
    assert set_yaml(text, {key: value}) == edited


@pytest.mark.parametrize("text", ["just text\n", "- a\n", "a: &x 1\nb: *x\n", "a: |+\n  b\n\n\n"])
def test_an_edit_that_would_change_more_than_its_key_is_refused(text: str) -> None:
    key = "c" if "|" in text else "a"
    with pytest.raises(ConfigError, match="without touching more"):
        set_yaml(text, {key: 2})


SCALAR = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text("ab: #'\"\n-{}[],&*!|>%@`é", max_size=8))
TREE = st.dictionaries(
    st.text("abc", min_size=1, max_size=3), st.one_of(SCALAR, st.lists(SCALAR, max_size=3), st.dictionaries(st.text("ab", min_size=1, max_size=2), SCALAR))
)


Written = tuple[tuple[str, ...], str, bool]
"""The key that a line belongs to, the line, and whether a section begins in it."""
NAME = st.sampled_from(["a", "b", "llm", "top_p", "x-1"])
COMMENT = st.sampled_from(["", "", "# why", "# a: 1", "# {", "#"])
VALUE = st.sampled_from(
    [
        "1",
        "~",
        "True",
        "0x1F",
        "1_000",
        "1.50",
        "plain words",
        "'it''s'",
        '"${HOME}\\t"',
        "${A:-b}",
        "2020-01-01",
        "[a,  b]",
        "{ a : 1,b: [x] }",
        "",
        "[1,\n          2]",
    ]
)


@st.composite
def mappings(draw: st.DrawFn, above: tuple[str, ...] = (), column: int = 0) -> list[Written]:
    """Lines of a block mapping in a person's hand."""
    lines: list[Written] = []
    pad = " " * column
    for name in draw(st.lists(NAME, min_size=1, max_size=4, unique=True)):
        path = (*above, name)
        lines += [((*above, "#"), f"{pad}{line}" if line else "", False) for line in draw(st.lists(st.sampled_from(["", "# says", "# x: 1"]), max_size=2))]
        comment = draw(COMMENT)
        after = f"  {comment}" if comment else draw(st.sampled_from(["", "", " "]))
        kind = draw(st.sampled_from(["value", "value", "section", "list", "text"] if column < 8 else ["value"]))
        if kind == "value":
            first, *more = draw(VALUE).split("\n")
            colon = draw(st.sampled_from([": ", ":   "]))
            lines += [(path, f"{pad}{name}{colon}{first}" + ("" if more else after), False), *((path, f"{line}{after}", False) for line in more)]
        elif kind == "section":
            lines.append((path, f"{pad}{name}:{after}", True))
            lines += draw(mappings(path, column + draw(st.sampled_from([1, 2, 3, 4]))))
        elif kind == "list":
            deeper = pad + " " * draw(st.sampled_from([0, 2, 3]))
            lines += [(path, line, False) for line in (f"{pad}{name}:{after}", f"{deeper}- one # of two", f"{deeper}-   x: 1")]
        else:
            lines += [(path, line, False) for line in (f"{pad}{name}: |-", f"{pad}  # text", "", f"{pad}   more")]
    return lines


@settings(max_examples=200, deadline=None)
@given(
    lines=mappings(),
    end=st.sampled_from(["\n", "\n", "\r\n"]),
    last=st.booleans(),
    path=st.lists(NAME, min_size=1, max_size=3),
    value=st.one_of(SCALAR, st.lists(SCALAR, max_size=2), st.dictionaries(NAME, SCALAR, max_size=2)),
)
def test_setting_any_key_changes_that_key_alone(lines: list[Written], end: str, last: bool, path: list[str], value: object) -> None:
    text = end.join(line for _, line, _ in lines) + (end if last else "")
    end = end if end in text else "\n"
    before = yaml.safe_load(text)
    edited = set_yaml(text, {".".join(path): value})
    wanted = inner = before
    for name in path[:-1]:
        inner[name] = inner.get(name) if isinstance(inner.get(name), dict) else {}
        inner = inner[name]
    inner[path[-1]] = value
    assert yaml.safe_load(edited) == wanted
    own = [owner[: len(path)] == tuple(path) or (not is_section and owner == tuple(path[: len(owner)])) for owner, _, is_section in lines]
    kept = iter(edited.split(end))
    assert all(line in kept for (_, line, _), gone in zip(lines, own, strict=True) if not gone)
    assert edited.count(end) <= text.count(end) + len(path)


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
