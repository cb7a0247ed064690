"""`neuralclaw run` over pipes: what goes where, and the exit code."""

import signal
import subprocess

import pytest

from neuralclaw.app.clock import SystemClock
from neuralclaw.store.sqlite import SqliteStore
from neuralclaw.types.records import SetAside
from tests.waiting import until

from .model import served
from .program import PYTHON, Claw

pytestmark = pytest.mark.anyio

FORBID = "safety:\n  rules:\n    - {id: no-echo, decision: forbid, tool: calculate, reason: sums are forbidden here}\n"
ASK = "safety:\n  rules:\n    - {id: ask-sum, decision: ask, tool: calculate, reason: sums are asked about}\n"

SLEEP = ("run", "run sleep 60", "--approvals", "auto", "--output", "stream-json")


async def test_the_answer_goes_to_standard_output_and_the_rest_does_not(claw: Claw) -> None:
    (claw.workspace / "notes.md").write_text("buy milk\n")
    ran = await claw("run", "read notes.md then calculate 6 * 7")
    assert ran.code == 0, ran
    assert "buy milk" in ran.out
    assert "42" in ran.out
    piped = await claw("run", stdin=b"calculate 6 * 7\n")
    assert (piped.code, piped.out) == (0, (await claw("run", "-p", "calculate 6 * 7")).out), piped
    assert "\x1b" not in ran.out + ran.err


async def test_json_is_the_end_of_the_turn_alone(claw: Claw) -> None:
    ran = await claw("run", "calculate 6 * 7", "--output", "json", "--session", "sums")
    end = ran.json
    assert ran.code == 0
    assert (end["type"], end["status"], end["session"], end["turn"]) == ("turn.finished", "done", "sums", 1)
    assert "42" in end["text"]
    again = await claw("run", "--resume", "su", "--output", "json")
    assert (again.code, again.json["text"], again.json["turn"]) == (0, end["text"], 1)
    newest = await claw("run", "calculate 2 + 2", "--continue", "--output", "json")
    assert (newest.json["session"], newest.json["turn"]) == ("sums", 2)
    shown = await claw("sessions", "show", "sums", "--json")
    assert [e["entry"] for e in shown.json["events"]] == list(range(1, len(shown.json["events"]) + 1))
    listed = await claw("sessions", "list", "--json")
    assert [(row["session"], row["turns"], row["state"]) for row in listed.json] == [("sums", 2, "idle")]
    assert "sums" in (await claw("sessions", "list")).out


async def test_the_stream_shows_every_event_in_order_and_only_written_ones_carry_an_entry(claw: Claw) -> None:
    ran = await claw("run", "calculate 6 * 7", "--output", "stream-json", "--session", "s")
    events = ran.lines
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    entries = [e["entry"] for e in events if "entry" in e]
    assert entries == sorted(set(entries))
    kinds = [e["type"] for e in events]
    assert [k for k in kinds if k.startswith(("turn", "tool", "inbound"))] == ["inbound", "turn.started", "tool.started", "tool.finished", "turn.finished"]
    shown = (await claw("sessions", "show", "s", "--json")).json["events"]
    assert [(e["entry"], e["type"]) for e in shown] == [(e["entry"], e["type"]) for e in events if "entry" in e]


async def test_resume_and_continue_need_a_session_that_exists(claw: Claw) -> None:
    for words in (["--resume", "nobody"], ["--continue"]):
        ran = await claw("run", *words, "calculate 1 + 1")
        assert (ran.code, ran.out) == (2, ""), ran


async def test_what_is_forbidden_ends_with_5_and_what_nobody_can_answer_with_3(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(FORBID)
    denied = await claw("run", "calculate 6 * 7")
    assert denied.code == 5, denied
    assert "Security: " in denied.err
    assert "sums are forbidden here" in denied.err
    (claw.home / "config.yaml").write_text(ASK)
    for approvals in ([], ["--approvals", "none"], ["--approvals", "ask"]):
        asked = await claw("run", "calculate 6 * 7", *approvals)
        assert asked.code == 3, asked
        assert "sums are asked about" in asked.err


async def test_a_parked_turn_goes_on_after_an_answer_from_another_process(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    parked = await claw("run", "calculate 6 * 7", "--approvals", "park", "--session", "p", "--output", "json")
    assert parked.code == 3, parked
    [question] = parked.json["waiting"]
    listed = await claw("approvals", "list", "--json")
    assert [(row["approval_id"], row["session"], row["reasons"]) for row in listed.json] == [(question, "p", ["sums are asked about"])]
    answered = await claw("approvals", "answer", question, "once")
    assert answered.code == 0, answered
    assert "neuralclaw run --resume p" in answered.out
    twice = await claw("approvals", "answer", question, "no")
    assert twice.code == 1
    unknown = await claw("approvals", "answer", "zzzzzzzzzz", "no")
    assert unknown.code == 2
    done = await claw("run", "--resume", "p", "--output", "json")
    assert (done.code, done.json["status"], done.json["turn"]) == (0, "done", 1), done
    assert "42" in done.json["text"]


async def test_a_program_answers_and_speaks_over_json_lines(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    with claw.started("run", "--input", "stream-json", "--output", "stream-json", stdin=subprocess.PIPE) as run:
        unknown = {"type": "answer", "approval_id": "zzzzzzzzzz", "decision": "once"}
        run.say("nonsense", unknown, {"type": "message", "text": "calculate 6 * 7"})
        events = []
        for event in run.events():
            events.append(event)
            if event["type"] == "approval.requested":
                run.say({"type": "answer", "approval_id": event["approval_id"], "decision": "once"})
            elif event["type"] == "turn.finished":
                run.end()
        assert run.process.wait(10) == 0
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    assert [e["kind"] for e in events if e["type"] == "error"] == ["UsageError", "UnknownQuestion"]
    assert events[-1]["status"] == "done"


async def test_the_end_of_input_means_that_nobody_is_there(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    ran = await claw("run", "--input", "stream-json", "--output", "stream-json", stdin=b'{"type":"message","text":"calculate 6 * 7"}\n')
    assert ran.code == 3, ran
    assert ran.lines[-1]["type"] == "turn.finished"


async def test_the_first_signal_cancels_and_is_recorded(claw: Claw) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        session = f"s{int(number)}"
        with claw.started(*SLEEP, "--session", session) as run:
            run.until("tool.started")
            run.process.send_signal(number)
            assert list(run.events())[-1]["status"] == "cancelled"
            assert run.process.wait(10) == 130, run.err.read()
        events = (await claw("sessions", "show", session, "--json")).json["events"]
        assert {"cancel", "turn.finished"} <= {e["type"] for e in events}


async def test_a_killed_run_is_named_and_can_be_finished(claw: Claw) -> None:
    with claw.started(*SLEEP, "--session", "k") as run:
        run.until("tool.started")
    listed = await claw("sessions", "list", "--unfinished", "--json")
    assert [(row["session"], row["state"]) for row in listed.json] == [("k", "unfinished")]
    other = await claw("run", "calculate 1 + 1", "--session", "other")
    assert "1 unfinished turn: neuralclaw sessions list --unfinished (neuralclaw recover finishes them)" in other.err
    recovered = await claw("recover", "--output", "stream-json")
    assert recovered.code == 0, recovered
    assert [e["type"] for e in recovered.lines][-1] == "turn.finished"
    assert (await claw("sessions", "list", "--unfinished", "--json")).json == []
    assert (await claw("audit", "verify")).code == 0


async def test_a_reader_that_leaves_and_a_full_disk_are_no_tracebacks(claw: Claw) -> None:
    with claw.started("run", "calculate 6 * 7", "--output", "stream-json") as run:
        run.out.close()
        await until(lambda: run.process.poll() is not None, seconds=20)
        assert run.err.read() == b""
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run([*PYTHON, "run", "calculate 6 * 7"], stdout=full, stderr=subprocess.PIPE, cwd=claw.workspace, env=claw.env, check=False)
    assert done.returncode == 1
    assert b"standard output cannot be written" in done.stderr
    assert b"Traceback" not in done.stderr


async def test_text_that_no_locale_can_read_or_show_never_crashes(claw: Claw) -> None:
    ran = await claw("run", b"calculate \xff\xfe", "--output", "json")
    assert ran.json["type"] == "turn.finished"
    plain = await claw("run", "--model", "nope:x", "calculate 1 + 1", env={"PYTHONIOENCODING": "ascii"})
    assert plain.code == 78, plain
    assert "❌" not in plain.err
    assert "Traceback" not in plain.err


async def test_a_session_in_use_elsewhere_is_said_with_exit_1(claw: Claw) -> None:
    with claw.started(*SLEEP, "--session", "busy") as run:
        run.until("tool.started")
        second = await claw("run", "calculate 1 + 1", "--session", "busy")
        assert (second.code, second.out) == (1, ""), second
        assert str(run.process.pid) in second.err


async def test_only_the_chosen_tools_are_offered_and_may_be_called(claw: Claw) -> None:
    with served(claw.home) as model:
        model.call("calculate", expression="6 * 7")
        model.say("done")
        model.done()
        ran = await claw("run", "go", "--tools", "file_read,echo", "--session", "s", "--output", "json")
        assert ran.json["status"] == "done", ran
        first = model.requests[0]
        assert sorted(tool["function"]["name"] for tool in first["tools"]) == ["echo", "read_file"]
    [refused] = [e for e in (await claw("sessions", "show", "s", "--json")).json["events"] if e["type"] == "tool.finished"]
    assert "there is no tool named 'calculate'" in refused["error"]
    for names in ("nope", "echo,", ""):
        unknown = await claw("run", "go", "--tools", names)
        assert (unknown.code, unknown.out) == (2, ""), unknown


async def test_a_refusal_decides_the_exit_code_unless_it_shall_not(claw: Claw) -> None:
    with served(claw.home, FORBID) as model:
        for words, code, status in (([], 5, "denied"), (["--refusals", "count"], 5, "denied"), (["--refusals", "ignore"], 0, "done")):
            model.call("calculate", expression="6 * 7")
            model.say("42")
            model.done()
            ran = await claw("run", "go", *words, "--output", "json")
            assert (ran.code, ran.json["status"], len(ran.json["refused"])) == (code, status, 1), ran


async def test_what_holds_for_a_new_turn_is_refused_where_an_old_one_is_gone_on_with(claw: Claw) -> None:
    with claw.started(*SLEEP, "--session", "k") as run:
        run.until("tool.started")
    for option in (["--model", "offline"], ["--trust", "high"], ["--tools", "echo"], ["--refusals", "ignore"], ["--image", "x.png"], ["--workspace", "/"]):
        ran = await claw("run", "--resume", "k", *option)
        assert (ran.code, ran.out) == (2, ""), ran
        assert f"{option[0]} holds for a new turn" in ran.err
    assert [row["session"] for row in (await claw("sessions", "list", "--unfinished", "--json")).json] == ["k"]
    both = await claw("run", "--resume", "k", "--max-iterations", "9", "calculate 6 * 7", "--trust", "high", "--output", "json")
    assert (both.code, both.json["turn"], both.json["text"]) == (0, 2, "42"), both


async def test_recover_names_the_sessions_and_what_was_set_aside(claw: Claw) -> None:
    for session in ("aside", "killed"):
        with claw.started(*SLEEP, "--session", session) as run:
            run.until("tool.started")
    store = await SqliteStore.open(str(claw.home), clock=SystemClock())
    await store.append("aside", [], rows=[SetAside(True)])
    await store.aclose()
    recovered = await claw("recover")
    assert recovered.code == 1, recovered
    assert recovered.out.startswith("killed: may have happened")
    assert "aside: turn 1 was set aside" in recovered.err
    assert "neuralclaw run --resume aside --retry" in recovered.err
    other = await claw("run", "calculate 1 + 1")
    assert "1 unfinished turn: " in other.err
    assert (await claw("run", "--resume", "aside", "--retry")).out.startswith("may have happened")
