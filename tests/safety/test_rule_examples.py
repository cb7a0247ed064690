"""The examples of the owner's rules are checked when the rules are loaded, and a rule whose example fails is not used."""

from pathlib import Path

import pytest

from neuralclaw.app.settings_loading import failed_examples, load_settings
from neuralclaw.config.policyfile import read
from neuralclaw.errors import ConfigError

HOLDING = """
- {id: push, decision: forbid, command: git push, match: [git push, git -C x push], not_match: [git status, git log push]}
- {id: notes, decision: ask, tool: write_file, path: notes, match: [notes/a, {tool: file_write, args: {path: notes/b, content: x}}], not_match: [other]}
- {id: shop, decision: forbid, host: shop.example, match: [shop.example, "https://a.shop.example/x", {command: "curl https://shop.example"}]}
- {id: build, decision: allow, command: cargo build, exact: true, match: [cargo build], not_match: [cargo build --release, cargo build $X]}
- {id: web, decision: forbid, tool: write_file, label: external, match: [write_file], not_match: [{tool: write_file, label: owner}]}
- {id: home, decision: ask, path: ~/docs, match: [~/docs/a, {command: "cat ~/docs/*"}], not_match: [docs/a]}
- {id: here, decision: forbid, command: make, workspace: ~/work, match: [make], not_match: [{command: make, workspace: ~/other}]}
"""


def problems(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "rules.yaml"
    file.write_text(text)
    return read(str(file), failed_examples, "/home/ann")[1]


def test_examples_of_commands_calls_paths_and_hosts_hold(tmp_path: Path) -> None:
    assert problems(tmp_path, HOLDING) == []


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("command: git push, match: [git pull]", "must match the example 'git pull' and does not"),
        ("command: git push, not_match: [git -c a=b push]", "must not match the example 'git -c a=b push' and does"),
        ("tool: write_file, path: notes, match: [{tool: write_file, args: {path: x}}]", "must match the example {tool: 'write_file', args: {'path': 'x'}}"),
        ("tool: mcp__x, path: a, match: [{tool: mcp__x, args: {path: a}}]", "mcp__x, which is not built in"),
        ("host: a.example, match: [b.example]", "must match the example 'b.example'"),
        ("label: external, match: [ls]", "that may be anything"),
        ("path: a, match: [{workspace: /a}]", "that is no call"),
        ("path: a, match: [{command: ls, op: read}]", "with op, which goes with path"),
        ("path: a, match: [{path: a, args: {b: 1}}]", "with args, which goes with tool"),
        ("command: ls, match: ls", "expected a list"),
        ("command: ls, match: [5]", "expected text"),
        ("command: ls, exact: true", "goes with decision: allow"),
        ("command: ls, workspace: here", "must be absolute or begin with ~/"),
        ('command: ls, match: ["a\\0b"]', "cannot be judged"),
    ],
)
def test_an_example_that_fails_names_file_line_rule_and_example(tmp_path: Path, rule: str, told: str) -> None:
    (found,) = problems(tmp_path, f"- {{id: first, decision: ask, tool: x}}\n- {{id: one, decision: forbid, {rule}}}\n")
    assert found.startswith(f"{tmp_path}/rules.yaml:2: safety.rules[1]")
    assert told in found


def test_a_start_is_refused_while_an_example_fails(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("safety:\n  rules:\n    - {id: one, decision: forbid, command: git push, match: [git pull]}\n")
    with pytest.raises(ConfigError, match=r"config.yaml:3: safety.rules\[0\].match\[0\]: the rule one must match"):
        load_settings(str(tmp_path), {}, None)
