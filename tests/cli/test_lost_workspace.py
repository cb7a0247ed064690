"""A workspace that was deleted is named, and never made again."""

import json
import shutil
import subprocess

import pytest

from .model import served
from .program import PYTHON, Claw
from .test_run import ASK, SLEEP

pytestmark = pytest.mark.anyio


async def test_a_deleted_current_directory_is_said_and_reading_works_from_there(claw: Claw) -> None:
    gone = claw.workspace.parent / "gone"
    for words, code in (
        (["run", "calculate 6 * 7"], 1),
        (["tools", "call", "echo", '{"text": "x"}'], 1),
        (["sessions", "list"], 0),
        (["audit", "verify"], 0),
        (["run", "--continue", "calculate 1 + 1"], 1),
        (["tools", "call", "echo", '{"text": "x"}', "--dry-run"], 1),
        (["recover"], 0),
        (["tools", "list"], 0),
        (["tools", "show", "echo"], 0),
        (["models", "list"], 0),
        (["policy", "explain", "--command", "ls"], 0),
        (["policy", "rules"], 0),
        (["sessions", "cancel", "nobody"], 2),
        (["approvals", "answer", "nothing", "no"], 2),
        (["sessions", "show"], 2),
    ):
        gone.mkdir()
        program = ("sh", "-c", 'cd "$1" && rmdir "$1" && shift && exec "$@"', "sh", str(gone), *PYTHON, *words)
        done = subprocess.run(program, input=b"", capture_output=True, cwd=claw.workspace, env=claw.env, timeout=20, check=False)
        assert done.returncode == code, (words, done)
        assert b"Traceback" not in done.stderr
        if code == 1 or words == ["sessions", "show"]:
            assert b"current directory was deleted" in done.stderr, (words, done)
        assert not gone.exists()


async def test_a_turn_whose_workspace_was_deleted_is_kept_and_the_workspace_not_made_again(claw: Claw) -> None:
    work = claw.workspace.parent / "lost"
    work.mkdir()
    (claw.home / "config.yaml").write_text(ASK)
    where = ("--workspace", str(work))
    task = "calculate 6 * 7 then write x to new/a.txt"
    parked = await claw("run", task, "--approvals", "park", "--session", "p", *where, "--output", "json")
    await claw("approvals", "answer", parked.json["waiting"][0], "once")
    with claw.started(*SLEEP, "--session", "k", *where) as run:
        run.until("tool.started")
    shutil.rmtree(work)
    for words in (["run", "--resume", "p"], ["run", "--resume", "k"]):
        ran = await claw(*words)
        assert (ran.code, ran.out) == (1, ""), ran
        assert str(work) in ran.err
        assert not work.exists()
    recovered = await claw("recover")
    assert recovered.code == 1
    assert "p: " in recovered.err
    assert "k: " in recovered.err
    assert not work.exists()
    work.mkdir()
    done = await claw("run", "--resume", "p")
    assert (done.code, (work / "new" / "a.txt").read_text()) == (0, "x"), done


async def test_a_workspace_that_is_deleted_while_a_turn_runs_is_not_made_again(claw: Claw) -> None:
    work = claw.workspace.parent / "lost"
    work.mkdir()
    with served(claw.home) as model, claw.started("run", "go", "--workspace", str(work), "--output", "stream-json") as run:
        model.asked()
        work.rmdir()
        model.call("write_file", path="a.txt", content="x")
        told = run.until("tool.finished")
        assert not told["ok"]
        assert "not there any more" in told["error"], told
        assert not work.exists()
        model.asked()
        model.say("gone")
        model.done()
        assert run.until("turn.finished")["text"] == "gone"


async def test_what_is_missing_is_looked_for_from_a_deleted_directory_too(claw: Claw) -> None:
    gone = claw.workspace.parent / "gone"
    gone.mkdir()
    here = await claw("doctor", "--json")
    program = ("sh", "-c", 'cd "$1" && rmdir "$1" && shift && exec "$@"', "sh", str(gone), *PYTHON, "doctor", "--json")
    done = subprocess.run(program, input=b"", capture_output=True, cwd=claw.workspace, env=claw.env, timeout=20, check=False)
    assert done.returncode == here.code, done
    assert [check["check"] for check in json.loads(done.stdout)] == [check["check"] for check in here.json]
