"""`policy simulate`: recorded actions under other rules. Counts, samples, what is left out, and that nothing is run, written or looked up."""

import json
import re
from pathlib import Path

import pytest

from neuralclaw import Agent, tool
from neuralclaw.errors import SessionNotFound, UsageError
from neuralclaw.testing import Reply, ScriptedProvider

from ..cli.program import Claw
from .parts import RecordedHome

pytestmark = pytest.mark.anyio

RULES = """
- {id: push, decision: allow, command: git push origin main, exact: true}
- {id: nols, decision: forbid, command: ls, alternative: list_files}
- {id: notes, decision: ask, path: notes.txt}
"""


async def test_a_simulation_counts_what_is_newly_allowed_asked_and_forbidden_and_shows_each(recorded: RecordedHome) -> None:
    (recorded.workspace / "notes.txt").write_text("n")
    await recorded.commands("a", "git push origin main", "ls")
    await recorded.calls("b", [("read_file", {"path": "notes.txt"}), ("calculate", {"expression": "6*7"}), ("terminal", {"command": "sudo ls"})])
    found = await recorded.do("policy.simulate", file=recorded.rules(RULES))
    assert (found["sessions"], found["actions"], found["judged"], found["same"]) == (2, 5, 5, 2)
    assert found["newly"] == {"allowed": 1, "asked": 1, "forbidden": 1}
    assert [(one["change"], one["action"], one["recorded"], one["from"]["rule"], one["to"]["rule"]) for one in found["samples"]] == [
        ("allowed", "git push origin main", "ask", "shell.unconfined", "owner.push"),
        ("asked", "notes.txt", "allow", None, "owner.notes"),
        ("forbidden", "ls", "allow", None, "owner.nols"),
    ]
    assert all(re.fullmatch(r"[ab]/call_\S+", one["call"]) for one in found["samples"])
    assert found["otherwise_than_recorded"] == 0
    assert not found["not_judged"]


@pytest.mark.invariant("gate.simulated")
async def test_a_simulation_runs_nothing_and_leaves_the_record_as_it_was(recorded: RecordedHome) -> None:
    await recorded.calls("a", [("write_file", {"path": "made.txt", "content": "x"})], trust="medium")
    (recorded.workspace / "made.txt").unlink()
    before = {path: path.read_bytes() for path in recorded.home.rglob("*") if path.is_file() and "locks" not in path.parts and "logs" not in path.parts}
    assert (await recorded.do("policy.simulate", file=recorded.rules(RULES)))["judged"] == 1
    after = {path: path.read_bytes() for path in recorded.home.rglob("*") if path.is_file() and "locks" not in path.parts and "logs" not in path.parts}
    assert after == before
    assert not (recorded.workspace / "made.txt").exists()


async def test_session_since_and_limit_choose_the_actions(recorded: RecordedHome) -> None:
    await recorded.commands("first", "ls", "pwd", "ls -a")
    await recorded.commands("second", "ls")
    file = recorded.rules("- {id: nols, decision: forbid, command: ls}\n")

    async def forbidden(**chosen: object) -> int:
        found = await recorded.do("policy.simulate", file=file, **chosen)
        return int(found["newly"]["forbidden"])

    assert [await forbidden(), await forbidden(session="first"), await forbidden(session="fir"), await forbidden(limit=2)] == [3, 2, 2, 2]
    assert [await forbidden(since="2000-01-01"), await forbidden(since="1h"), await forbidden(since="2999-01-01T00:00:00+02:00")] == [3, 3, 0]
    shown = await recorded.do("policy.simulate", file=file, samples=1)
    assert (shown["newly"]["forbidden"], len(shown["samples"])) == (3, 1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"session": "nobody"}, "there is no session nobody"),
        ({"since": "yesterday"}, "since cannot be 'yesterday'"),
        ({"limit": 0}, "limit of policy.simulate"),
        ({"samples": -1}, "samples of policy.simulate"),
        ({"file": "/nonexistent/rules.yaml"}, "there is no file"),
    ],
)
async def test_what_chooses_nothing_is_wrong_usage_and_named(recorded: RecordedHome, arguments: dict[str, object], says: str) -> None:
    with pytest.raises((UsageError, SessionNotFound), match=says):
        await recorded.do("policy.simulate", **{"file": recorded.rules(RULES), **arguments})


async def test_a_file_that_cannot_be_used_is_refused_with_its_line(recorded: RecordedHome) -> None:
    with pytest.raises(UsageError, match=r"rules\.yaml:2: .*decision"):
        await recorded.do("policy.simulate", file=recorded.rules("- {id: a, decision: ask, tool: terminal}\n- {id: b, decision: perhaps, tool: terminal}\n"))


async def test_a_file_stands_in_place_of_the_rules_in_force_and_with_add_behind_them(home: Path, tmp_path: Path) -> None:
    settings = {"tools": {"terminal": {"sandbox": "process"}}, "safety": {"rules": [{"id": "own", "decision": "forbid", "command": "pwd"}]}}
    recorded = RecordedHome(home, tmp_path / "work", settings)
    await recorded.commands("a", "pwd", "ls")
    file = recorded.rules("- {id: nols, decision: forbid, command: ls}\n")
    assert (await recorded.do("policy.simulate", file=file))["newly"] == {"allowed": 1, "asked": 0, "forbidden": 1}
    assert (await recorded.do("policy.simulate", file=file, add=True))["newly"] == {"allowed": 0, "asked": 0, "forbidden": 1}
    with pytest.raises(UsageError, match="id own is in force already"):
        await recorded.do("policy.simulate", file=recorded.rules("- {id: own, decision: forbid, command: ls}\n"), add=True)
    section = recorded.rules("require_confirmation_for: [LOW]\n")
    assert (await recorded.do("policy.simulate", file=section))["newly"] == {"allowed": 0, "asked": 1, "forbidden": 0}
    with pytest.raises(UsageError, match="--add takes a file that is a list of rules"):
        await recorded.do("policy.simulate", file=section, add=True)
    whole = recorded.rules("safety: {rules: [{id: nols, decision: forbid, command: ls}]}\ntools: {terminal: {shell: strict}}\n")
    assert (await recorded.do("policy.simulate", file=whole))["form"] == "whole"


async def test_an_action_is_judged_in_its_circumstances(recorded: RecordedHome) -> None:
    """What the model had read, whom it worked for, its trust and its workspace are those of the turn."""
    await recorded.commands("a", "mkdir x", trust="high")
    await recorded.commands("b", "mkdir y")
    file = recorded.rules("- {id: nobody, decision: forbid, command: mkdir, who: schedule}\n- {id: program, decision: forbid, tool: terminal, who: agent}\n")
    assert (await recorded.do("policy.simulate", file=file))["newly"] == {"allowed": 0, "asked": 0, "forbidden": 0}
    here = recorded.rules(f"- {{id: here, decision: forbid, command: mkdir, workspace: {recorded.workspace}}}\n")
    assert (await recorded.do("policy.simulate", file=here))["newly"]["forbidden"] == 2


@pytest.mark.invariant("gate.simulated")
async def test_an_entry_that_is_not_as_it_was_written_counts_for_nothing_and_is_named(recorded: RecordedHome) -> None:
    await recorded.commands("a", "ls", "ls -a")
    text = "(SELECT record FROM entries WHERE kind = 'message' AND session = 'a' ORDER BY record LIMIT 1)"
    recorded.change(f"UPDATE bodies SET data = CAST(replace(CAST(data AS TEXT), '\"ls\"', '\"rm\"') AS BLOB) WHERE record = {text}")
    found = await recorded.do("policy.simulate", file=recorded.rules("- {id: none, decision: forbid, tool: terminal}\n"), samples=10)
    assert [one["action"] for one in found["samples"]] == ["ls -a"]
    assert found["damaged"]["count"] == 1
    assert re.fullmatch(r"entry \d+ of session a \(message\)", found["damaged"]["entries"][0])


async def test_a_call_without_a_verified_decision_or_beginning_is_not_judged_and_said(recorded: RecordedHome) -> None:
    await recorded.commands("a", "ls")
    await recorded.commands("b", "ls")
    for session, kind in (("a", "decision"), ("b", "turn.started")):
        recorded.change("UPDATE bodies SET data = x'7b' WHERE record = (SELECT max(record) FROM entries WHERE session = ? AND kind = ?)", session, kind)
    found = await recorded.do("policy.simulate", file=recorded.rules(RULES))
    assert found["judged"] == 0
    assert [one["count"] for one in found["not_judged"]] == [1, 1]
    assert found["damaged"]["count"] == 2


async def test_a_tool_that_is_gone_and_arguments_that_fit_no_more_are_not_judged(recorded: RecordedHome) -> None:
    @tool(risk="LOW", effect="pure")
    async def rename(path: str) -> str:
        "Rename a file."
        return path

    model = ScriptedProvider(Reply(tool_calls=[{"name": "rename", "arguments": {"path": "a"}}]), "done")
    async with Agent.open(home=recorded.home, workspace=recorded.workspace, environ=recorded.environ, provider=model, model="offline", tools=[rename]) as agent:
        assert (await agent.ask("go", session="a")).status == "done"
    found = await recorded.do("policy.simulate", file=recorded.rules(RULES))
    assert found["not_judged"] == [{"why": "there is no tool of its name here now", "count": 1}]


async def test_an_address_inside_stays_refused_though_no_host_is_looked_up(recorded: RecordedHome) -> None:
    await recorded.calls("a", [("web_fetch", {"url": "http://127.0.0.1:9/x"}), ("web_fetch", {"url": "http://10.0.0.1/"})])
    found = await recorded.do("policy.simulate", file=recorded.rules("- {id: all, decision: allow, host: example.com}\n"))
    assert (found["judged"], found["same"]) == (2, 2)


async def test_people_and_programs_get_the_same_counts(claw: Claw) -> None:
    for task in ("run git push origin main", "run ls"):
        await claw("run", task, "--session", "s")
    (claw.workspace / "rules.yaml").write_text(RULES)
    told = await claw("policy", "simulate", "rules.yaml")
    assert told.code == 0, told
    assert told.out.splitlines()[:4] == [
        "2 recorded actions of 1 session judged, 0 decided as now.",
        "Newly allowed 1, newly asked 0, newly forbidden 1.",
        "Newly allowed",
        "  s/step-1  terminal: git push origin main",
    ]
    assert "asked by risk.high -> allowed by owner.push" in told.out
    shown = await claw("policy", "simulate", "rules.yaml", "--json", "--samples", "0")
    assert (shown.json["newly"], shown.json["samples"]) == ({"allowed": 1, "asked": 0, "forbidden": 1}, [])
    for words, says in ((["none.yaml"], "there is no file"), (["rules.yaml", "--limit", "x"], "--limit"), (["rules.yaml", "--session", "q"], "no session q")):
        ran = await claw("policy", "simulate", *words, "--json")
        assert (ran.code, ran.out) == (2, ""), ran
        assert says in json.loads(ran.err)["error"]["text"]
