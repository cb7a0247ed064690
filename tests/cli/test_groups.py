"""`tools`, `policy`, `audit`, `doctor` and `sessions` as a person and a script use them."""

import json
import sqlite3

import pytest

from .program import Claw
from .test_run import ASK, FORBID

pytestmark = pytest.mark.anyio


async def test_tools_are_listed_shown_and_called_through_the_gate(claw: Claw) -> None:
    listed = await claw("tools", "list", "--json")
    assert {"calculate", "read_file", "terminal"} <= {tool["name"] for tool in listed.json}
    shown = await claw("tools", "show", "file_read", "--json")
    assert shown.json["name"] == "read_file"
    called = await claw("tools", "call", "calculate", '{"expression": "6 * 7"}', "--json")
    assert (called.code, called.json["type"], called.json["ok"], called.json["content"]) == (0, "tool.finished", True, "42"), called
    plain = await claw("tools", "call", "calculate", '{"expression": "6 * 7"}')
    assert (plain.code, plain.out) == (0, "42\n"), plain
    for words, code in (
        (["nothing", "{}"], 2),
        (["calculate", "{}"], 1),
        (["calculate", "[]"], 1),
        (["calculate", "nonsense"], 1),
        (["read_file", '{"path": "missing.txt"}'], 1),
    ):
        assert (await claw("tools", "call", *words)).code == code, words


async def test_tools_call_ends_by_what_the_gate_said(claw: Claw) -> None:
    call = ["tools", "call", "calculate", '{"expression": "6 * 7"}']
    (claw.home / "config.yaml").write_text(ASK)
    assert (await claw(*call)).code == 3
    assert (await claw(*call, "--dry-run", "--json")).json["decision"] == "ask"
    (claw.home / "config.yaml").write_text(FORBID)
    refused = await claw(*call, "--json")
    assert (refused.code, refused.json["ok"]) == (5, False), refused


async def test_policy_explain_judges_and_runs_nothing(claw: Claw) -> None:
    forbidden = await claw("policy", "explain", "--command", "sudo rm -rf /", "--json")
    assert (forbidden.code, forbidden.json["decision"]) == (0, "forbid"), forbidden
    batch = '{"id": 1, "command": "ls"}\nnonsense\n{"id": 3, "path": "x", "op": "read"}\n{"id": 4, "what": 1}\n'
    ran = await claw("policy", "explain", "--batch", "-", stdin=batch.encode())
    assert ran.code == 0, ran
    assert [line["id"] for line in ran.lines] == [1, None, 3, 4]
    assert [line["decision"] for line in ran.lines] == ["allow", "forbid", "allow", "forbid"], ran
    assert "error" in ran.lines[1]
    assert (await claw("policy", "explain")).code == 2
    rules = (await claw("policy", "rules", "--json")).json
    assert {"id", "decision", "reason"} <= set(rules[0])


async def test_policy_explain_starts_no_process_not_even_to_try_the_sandbox(claw: Claw) -> None:
    tried = claw.workspace / "tried"
    starts = ("subprocess.Popen", "os.posix_spawn", "os.fork")
    (claw.workspace / "sitecustomize.py").write_text(f"import sys\nsys.addaudithook(lambda name, _: name in {starts} and open({str(tried)!r}, 'w').close())\n")
    claw.env["PYTHONPATH"] = str(claw.workspace)
    assert (await claw("policy", "explain", "--command", "ls", "--json")).json["decision"] == "allow"
    assert not tried.exists()
    await claw("tools", "call", "terminal", '{"command": "ls"}')
    assert tried.exists(), "the trial is seen where there is one"


async def test_a_bwrap_that_a_command_may_have_put_on_the_search_path_is_never_run(claw: Claw) -> None:
    tried, bwrap = claw.workspace / "tried", claw.workspace / ".venv" / "bin" / "bwrap"
    bwrap.parent.mkdir(parents=True)
    bwrap.write_text(f"#!/bin/sh\necho tried > {tried}\nexit 1\n")
    bwrap.chmod(0o755)
    claw.env["PATH"] = f"{bwrap.parent}:{claw.env['PATH']}"
    assert (await claw("tools", "call", "terminal", '{"command": "ls"}')).code == 0
    found = {one["check"]: one["text"] for one in (await claw("doctor", "--json")).json}
    assert str(bwrap) not in found["sandbox.bubblewrap"]
    assert not tried.exists()


async def test_a_changed_record_is_found_and_named(claw: Claw) -> None:
    assert (await claw("run", "calculate 6 * 7", "--session", "a")).code == 0
    whole = await claw("audit", "verify", "--json")
    assert (whole.code, whole.json["ok"], whole.json["bad"]) == (0, True, None), whole
    assert (whole.json["anchor"]["record"], whole.json["anchor"]["ok"]) == (whole.json["records"], True), whole
    records = (await claw("audit", "show", "--json")).json
    assert [r["record"] for r in records] == list(range(1, whole.json["records"] + 1))
    [file] = list(claw.home.rglob("*.db"))
    with sqlite3.connect(file) as db:
        tables = [name for (name,) in db.execute("select name from sqlite_master where type = 'table' and sql like '%digest%'")]
        db.execute(f"update {tables[0]} set turn = turn + 1 where record = 3")
    db.close()
    broken = await claw("audit", "verify", "--json")
    assert (broken.code, broken.json["bad"]["record"], broken.json["bad"]["why"]) == (1, 3, "hash"), broken


async def test_reading_commands_write_nothing_into_a_home(claw: Claw) -> None:
    for words in (["sessions", "list"], ["approvals", "list"], ["grants", "list"], ["audit", "verify"]):
        ran = await claw(*words)
        assert ran.code == 0, ran
    assert list(claw.home.iterdir()) == []


async def test_doctor_says_what_works(claw: Claw) -> None:
    ran = await claw("doctor", "--json")
    checks = json.loads(ran.raw)
    assert all(set(check) == {"check", "ok", "text", "fix"} for check in checks)
    assert {"sandbox.bubblewrap", "sandbox.process"} <= {check["check"] for check in checks}
    assert (await claw("doctor")).out.startswith(("ok", "absent", "MISSING"))
