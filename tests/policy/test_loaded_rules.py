"""The loader of rules: whatever a file holds, it loads or is refused with file and line; what loads is written and read again as the same rules."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from neuralclaw.app.settings_loading import failed_examples
from neuralclaw.app.simulation.suggested_rules import yaml_of
from neuralclaw.config.policyfile import read
from neuralclaw.types.options import OwnerRule

FILES = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
FIELDS = [field.name for field in msgspec.structs.fields(OwnerRule)]
WORDS = st.sampled_from(
    ["git push", "ls", "a", "notes.txt", "~/x", "shop.example", "write_file", "network", "external", "owner", "allow", "ask", "forbid", "no"]
)
VALUES = st.one_of(
    WORDS, st.text(max_size=12), st.none(), st.booleans(), st.integers(), st.floats(), st.lists(WORDS, max_size=2), st.dictionaries(WORDS, WORDS)
)
WILD_RULES = st.lists(st.dictionaries(st.one_of(st.sampled_from(FIELDS), st.text(max_size=6)), VALUES, max_size=5), max_size=3)
GOOD = st.fixed_dictionaries(
    {"decision": st.sampled_from(["ask", "forbid"])},
    optional={
        "reason": st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=20),
        "alternative": st.sampled_from(["wait", "no: 5", "# no", "'", "- a"]),
        "workspace": st.sampled_from(["/w", "~/w"]),
        "soul": st.sampled_from(["coder", "null", "yes"]),
        "present": st.booleans(),
    },
)
CONDITIONS = st.sampled_from(
    [
        {"command": "git push", "match": ["git push", "git -C x push origin main", "timeout 5 git push"], "not_match": ["git pull"]},
        {"path": "notes", "match": ["notes/a", "notes"], "not_match": ["other"]},
        {"host": "shop.example", "match": ["https://shop.example/x", "www.shop.example"], "not_match": ["shop.example.net"]},
        {"tool": "write_file", "match": ["write_file"], "not_match": ["read_file"]},
    ]
)


def loaded(path: Path, text: str) -> tuple[Any, list[str]]:
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return read(str(path), failed_examples, "/home/you")


@FILES
@given(st.one_of(st.text(max_size=80), WILD_RULES.map(lambda rules: json.dumps(rules))))
@example("- {id: a, decision: forbid, command: git push, match: [git pull]}\n")
@example("- &a [*a]\n")
@example("- {id: a, id: b}\n")
@example("\ud800")
@example("[" * 5_000)
def test_any_text_loads_or_is_refused_with_its_file_and_line(tmp_path: Path, text: str) -> None:
    said, problems = loaded(tmp_path / "rules.yaml", text)
    assert (said is None) == bool(problems)
    for problem in problems:
        assert re.match(rf"{re.escape(str(tmp_path))}/rules\.yaml(:\d+)?: \S", problem), problem


@settings(FILES, max_examples=8)
@given(st.lists(st.tuples(GOOD, CONDITIONS), min_size=1, max_size=3))
def test_rules_that_load_are_written_and_read_again_as_the_same_and_match_their_examples(tmp_path: Path, pairs: list[Any]) -> None:
    rules = [{"id": f"r{number}", **one, **conditions} for number, (one, conditions) in enumerate(pairs)]
    said, problems = loaded(tmp_path / "rules.json", json.dumps(rules))
    assert not problems
    again, problems = loaded(tmp_path / "again.yaml", yaml_of(list(said.settings.safety.rules)))
    assert not problems
    assert again.settings.safety.rules == said.settings.safety.rules


@pytest.mark.parametrize("data", [b"\xff\xfe", b"- {id: \x80}\n", b"\x00", b"---\n---\n", b"%YAML 9.9\n", b"!!python/object:os.system [ls]\n"])
def test_bytes_that_are_no_rules_are_one_clear_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "rules.yaml").write_bytes(data)
    said, problems = read(str(tmp_path / "rules.yaml"), failed_examples, "/home/you")
    assert said is None or not said.settings.safety.rules
    assert len(problems) <= 1
