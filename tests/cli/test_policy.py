"""`policy explain` and its neighbours: every option counts or is refused, and people get words."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from .program import PYTHON, Claw, Ran

pytestmark = pytest.mark.anyio

EXPLAIN = ("policy", "explain")
GET = "curl http://93.184.216.34/x"
"""A command that runs at trust high alone."""


def lines(*asked: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(one) for one in asked).encode()


@pytest.mark.parametrize(
    ("name", "arguments", "decision"),
    [
        ("read_file", {"path": "notes.txt"}, "allow"),
        ("file_read", {"path": "notes.txt"}, "allow"),
        ("bash", {"command": "sudo ls"}, "forbid"),
        ("calculate", {"expression": "1"}, "allow"),
    ],
)
async def test_a_tool_call_is_explained_by_name_and_alias(claw: Claw, name: str, arguments: dict[str, Any], decision: str) -> None:
    ran = await claw(*EXPLAIN, "--tool", name, "--args", json.dumps(arguments), "--json")
    assert (ran.code, ran.json["decision"]) == (0, decision), ran
    batch = await claw(*EXPLAIN, "--batch", "-", stdin=lines({"id": "a", "tool": name, "args": arguments}))
    assert batch.lines == [{"id": "a", **ran.json}], batch


async def test_a_recorded_call_is_explained_by_its_id_where_it_is_unique(claw: Claw) -> None:
    assert (await claw("run", "calculate 6 * 7", "--session", "first")).code == 0
    assert (await claw(*EXPLAIN, "step-1", "--json")).json["decision"] == "allow"
    assert (await claw("run", "run sudo ls", "--session", "second")).code == 5
    several = await claw(*EXPLAIN, "step-1")
    assert several.code == 2, several
    assert "first/step-1" in several.err
    assert "second/step-1" in several.err
    assert (await claw(*EXPLAIN, "first/step-1", "--json")).json["decision"] == "allow"
    assert (await claw(*EXPLAIN, "second/step-1", "--json")).json["decision"] == "forbid"


async def test_a_recorded_call_is_judged_as_its_turn_was_unless_told_otherwise(claw: Claw) -> None:
    assert (await claw("run", "run mkdir new", "--session", "a", "--trust", "high", "--approvals", "auto")).code == 0
    (claw.home / "config.yaml").write_text("tools: {terminal: {sandbox: process}}\n")  # no undo covers what a command does there
    told = await claw(*EXPLAIN, "a/step-1", "--json")
    low = await claw(*EXPLAIN, "a/step-1", "--trust", "low", "--json")
    assert ["tier.execute" in [rule["id"] for rule in ran.json["rules"]] for ran in (told, low)] == [False, True], (told, low)


async def test_a_new_home_is_judged_as_the_run_would_be(claw: Claw) -> None:
    before = await claw(*EXPLAIN, "--command", "mkdir build", "--json")
    assert not claw.home.exists() or not any(claw.home.glob("undo*")), "explaining makes no copy"
    dry = await claw("tools", "call", "terminal", '{"command": "mkdir build"}', "--dry-run", "--json")
    ran = await claw("run", "run mkdir build", "--trust", "low")
    after = await claw(*EXPLAIN, "--command", "mkdir build", "--json")
    allowed = before.json["decision"] == "allow"
    assert (dry.json["decision"] == "allow", ran.code == 0, after.json["decision"] == "allow") == (allowed,) * 3, (before, dry, ran)
    assert [rule["id"] for rule in before.json["rules"]] == [rule["id"] for rule in after.json["rules"]]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "requires one of"),
        (["nothing"], "no recorded call has the id nothing"),
        (["nobody/step-1"], "there is no session nobody"),
        (["--path", "x"], "--op"),
        (["--path", "x", "--op", "melt"], "melt"),
        (["--tool", "nothing", "--args", "{}"], "there is no tool named 'nothing'"),
        (["--tool", "read_file", "--args", "{}"], "'path' is missing"),
        (["--tool", "read_file", "--args", "[]"], "one JSON object"),
        (["--tool", "read_file", "--args", "{"], "not JSON"),
        (["--command", "ls", "--url", "http://x.example"], "one of"),
        (["--command", "ls", "--args", "{}"], "--args goes with --tool"),
        (["--command", "ls", "--op", "read"], "--op goes with --path"),
        (["--command", "ls", "--resolve", "x=1.2.3.4"], "--resolve goes with --url"),
        (["--command", "ls", "--label", "extern"], "'extern' is not a label"),
        (["--command", "ls", "--origin", "nobody"], "nobody"),
        (["--command", "ls", "--soul", "nope"], "there is no soul 'nope'"),
        (["--command", "ls", "--channel", "telegarm"], "there is no channel 'telegarm'; did you mean 'telegram'?"),
        (["--batch", "file"], "--batch -"),
    ],
)
async def test_what_cannot_be_explained_is_wrong_usage_and_said(claw: Claw, words: list[str], says: str) -> None:
    ran = await claw(*EXPLAIN, *words)
    assert (ran.code, ran.out) == (2, ""), ran
    assert says in ran.err


async def test_each_option_changes_what_is_told(claw: Claw, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()

    async def told(*words: str) -> dict[str, Any]:
        ran: Ran = await claw(*EXPLAIN, *words, "--json")
        assert ran.code == 0, ran
        return dict(ran.json)

    assert (await told("--command", GET))["decision"] == "ask"
    assert (await told("--command", GET, "--trust", "high", "--origin", "owner"))["decision"] == "allow"
    assert (await told("--path", "x", "--op", "read", "--workspace", str(other)))["resolved"] == str(other / "x")
    addresses = "--url", "http://x.example", "--resolve", "x.example=93.184.216.34"
    assert (await told(*addresses))["addresses"] == ["93.184.216.34"]
    assert (await told(*addresses[:3], "x.example=127.0.0.1"))["decision"] == "forbid"


async def test_a_line_of_a_batch_may_carry_every_option_and_the_command_line_gives_the_rest(claw: Claw, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    asked = lines(
        {"id": 1, "command": GET},
        {"id": 2, "command": GET, "trust": "low"},
        {"id": 3, "path": "x", "op": "read", "workspace": str(tmp_path / "other"), "origin": "program"},
        {"id": 4, "command": "ls", "label": ["external:web/a.example"]},
        {"id": 5, "url": "http://x.example", "resolve": {"host": [["127.0.0.1"]]}},
        {"id": 6, "path": "x"},
        {"id": 7, "tool": "nothing", "args": {}},
    )
    ran = await claw(*EXPLAIN, "--batch", "-", "--trust", "high", stdin=asked)
    assert ran.code == 0, ran
    assert [(line["id"], line["decision"]) for line in ran.lines] == [
        (1, "allow"), (2, "ask"), (3, "allow"), (4, "allow"), (5, "forbid"), (6, "forbid"), (7, "forbid"),
    ]  # fmt: skip
    assert ran.lines[2]["resolved"] == str(tmp_path / "other" / "x")
    assert ["error" in line for line in ran.lines] == [False, False, False, False, False, True, True]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"command": "ls", "trust": "super"}, "trust cannot be 'super': it is one of low, medium, high"),
        ({"command": "ls", "origin": "owners"}, "origin cannot be 'owners': it is one of owner, program, schedule, agent; did you mean 'owner'?"),
        ({"path": "x", "op": "melt"}, "op cannot be 'melt': it is one of read, list, write, delete"),
        ({"command": 5}, "command cannot be 5: expected a text, got a whole number"),
        ({"command": "ls", "label": "external"}, "label cannot be 'external': expected a list, got a text"),
        ({"command": "ls", "soul": "nope"}, "there is no soul 'nope'"),
        ({"comand": "ls"}, "unknown field 'comand'; did you mean 'command'?"),
    ],
)
async def test_a_wrong_field_of_a_batch_is_named_with_its_value_and_what_may_stand_there(claw: Claw, line: dict[str, Any], says: str) -> None:
    ran = await claw(*EXPLAIN, "--batch", "-", stdin=b"x{\n" + lines({"id": "a", **line}))
    assert ran.lines[0] == {"id": None, "decision": "forbid", "error": "the line is not JSON: invalid character (byte 0)"}
    assert (ran.lines[1]["id"], ran.lines[1]["decision"]) == ("a", "forbid")
    assert says in ran.lines[1]["error"]


async def test_a_soul_with_a_file_a_rule_or_a_session_is_known(claw: Claw, home: Path) -> None:
    (home / "souls").mkdir()
    (home / "souls" / "coder.yaml").write_text("id: coder\n")
    assert (await claw(*EXPLAIN, "--command", "ls", "--soul", "coder")).code == 0
    assert "known here: coder" in (await claw(*EXPLAIN, "--command", "ls", "--soul", "codre")).err


async def test_a_label_shows_what_content_from_outside_asks_for(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text("tools: {terminal: {sandbox: process}}\n")
    command = ("--command", "python3 x.py", "--trust", "high", "--json")
    plain, outside = [(await claw(*EXPLAIN, *command, *label)).json for label in ((), ("--label", "external:web/a.example"))]
    assert "flow.external" not in [rule["id"] for rule in plain["rules"]]
    (reason,) = [rule["reason"] for rule in outside["rules"] if (rule["id"], rule["decision"]) == ("flow.external", "ask")]
    assert "content from the web page a.example is in play" in reason


async def test_people_get_words_also_over_a_pipe(claw: Claw) -> None:
    ran = await claw(*EXPLAIN, "--command", "timeout 5 git push 'a b'")
    assert ran.out.splitlines()[0] == "Asks first. Risk HIGH, tier execute; it may use the network and execute."
    assert "  command git push 'a b', under timeout: network, risk HIGH" in ran.out.splitlines()
    allowed = await claw(*EXPLAIN, "--path", "x", "--op", "read")
    assert allowed.out == f"Allowed. Risk LOW, tier read; it may read.\n  path {claw.workspace}/x, in the workspace and the allowed paths\n"
    bounded = await claw(*EXPLAIN, "--command", "echo {1..999999999}")
    assert (bounded.code, bounded.out.splitlines()[1]) == (0, "Some part of it cannot be worked out before it runs."), bounded


async def test_a_policy_file_that_is_not_there_is_wrong_usage(claw: Claw) -> None:
    assert (await claw("policy", "check", "nofile.yaml")).code == 2
    (claw.workspace / "good.yaml").write_text("- {id: a, decision: ask, tool: terminal}\n")
    (claw.workspace / "bad.yaml").write_text("- {id: a, decision: perhaps}\n")
    (claw.workspace / "bytes.yaml").write_bytes(b"- {id: a, decision: ask, tool: terminal}\n# \xff\n")
    (claw.workspace / "folder.yaml").mkdir()
    assert [(await claw("policy", "check", f"{name}.yaml")).code for name in ("good", "bad", "bytes", "folder")] == [0, 1, 1, 2]
    assert (await claw("policy", "check", "bytes.yaml", "--json")).json["errors"] == [f"{claw.workspace}/bytes.yaml:2: is not UTF-8 text (byte 43)"]


async def test_the_keys_that_a_rule_may_have_are_listed_and_a_word_that_yaml_reads_otherwise_is_told_to_be_quoted(claw: Claw) -> None:
    (claw.workspace / "r.yaml").write_text("- {id: a, decision: ask, tool: terminal, reason: no}\n- {id: b, decision: ask, tool: terminal, xyzzyx: 1}\n")
    told = (await claw("policy", "check", "r.yaml")).out.splitlines()
    assert told[0].endswith("safety.rules[0].reason: expected text, found false; put quotes around it")
    assert told[1].endswith("channel, workspace, exact, inside, match, not_match")


@pytest.mark.parametrize("words", [["explain", "--command", "ls"], ["explain", "step-1"], ["rules"], ["check", "rules.yaml"]])
async def test_the_policy_is_told_of_a_home_that_cannot_be_written(claw: Claw, words: list[str]) -> None:
    assert (await claw("run", "calculate 6 * 7")).code == 0
    (claw.workspace / "rules.yaml").write_text("[]\n")
    bound = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *PYTHON, "policy", *words]
    done = subprocess.run(bound, capture_output=True, cwd=claw.workspace, env=claw.env, timeout=20, check=False)
    assert done.returncode == 0, done
    assert done.stdout


async def test_soul_origin_channel_and_label_count_for_the_rules_that_name_them(claw: Claw, home: Path) -> None:
    told = {"soul": "helper", "origin": "schedule", "channel": "telegram", "label": "external:web/example.com"}
    conditions = {"soul": "helper", "who": "schedule", "channel": "telegram", "label": "external"}
    rules = [{"id": name, "decision": "forbid", name: value} for name, value in conditions.items()]
    (home / "config.yaml").write_text(json.dumps({"safety": {"rules": rules}}))
    assert (await claw(*EXPLAIN, "--command", "ls", "--json")).json["decision"] == "allow"
    for (option, value), rule in zip(told.items(), conditions, strict=True):
        verdict = (await claw(*EXPLAIN, "--command", "ls", f"--{option}", value, "--json")).json
        assert [match["id"] for match in verdict["rules"]] == [f"owner.{rule}"]


async def test_the_rules_of_the_owner_and_the_built_in_ones_have_the_same_fields(claw: Claw, home: Path) -> None:
    rules = [{"id": "tests", "decision": "allow", "command": "make test"}, {"id": "push", "decision": "ask", "command": "git push", "alternative": "wait"}]
    (home / "config.yaml").write_text(json.dumps({"safety": {"rules": rules}}))
    shown = (await claw("policy", "rules", "--json")).json
    assert [rule["id"] for rule in shown[:2]] == ["owner.tests", "owner.push"]
    assert (shown[0]["command"], shown[1]["alternative"]) == ("make test", "wait")
    assert "tier.execute" in shown[0]["silences"]
    assert not shown[1]["silences"]
    assert all(rule.keys() == shown[0].keys() for rule in shown)
    told = (await claw("policy", "rules")).out
    assert told.startswith('- id: owner.tests\n  decision: allow\n  reason: "your rule tests allows make test"\n  command: "make test"\n  # answers ')
    assert "- id: owner.push\n  decision: ask\n" in told
    assert '  alternative: "wait"\n  command: "git push"\n' in told
    assert '- id: path.outside\n  decision: ask\n  reason: "' in told
    read = yaml.safe_load(told)
    assert [one["id"] for one in read] == [rule["id"] for rule in shown]
    assert all({"id", "decision"} <= one.keys() for one in read)


async def test_the_decision_that_a_built_in_rule_shows_is_what_happens(claw: Claw) -> None:
    told = {rule["id"]: rule["decision"] for rule in (await claw("policy", "rules", "--json")).json}
    asked = [
        {"id": "path.outside", "path": "/srv/x", "op": "write"},
        {"id": "path.outside", "path": "/srv/x", "op": "read"},
        {"id": "path.outside", "command": "touch /srv/x"},
        {"id": "path.secrets", "path": str(Path(claw.env["HOME"]) / ".ssh" / "id_rsa"), "op": "read"},
        {"id": "path.later_run", "path": ".envrc", "op": "write"},
        {"id": "url.refused", "url": "ftp://a.example/"},
        {"id": "url.address", "url": "http://10.0.0.1/"},
        {"id": "block.privilege", "command": "sudo ls"},
    ]
    for ran, one in zip((await claw(*EXPLAIN, "--batch", "-", stdin=lines(*asked))).lines, asked, strict=True):
        found = [rule["decision"] for rule in ran.get("rules", ()) if rule["id"] == one["id"]]
        assert found[:1] == [told[str(one["id"])]], (one, ran)
