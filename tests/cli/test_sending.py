"""`sessions send` and `sessions cancel`: from another process than the one that runs the turn, and where none runs."""

import subprocess

import anyio
import pytest

from neuralclaw import Agent
from neuralclaw.errors import UsageError
from tests.waiting import until

from .model import served
from .program import Claw
from .test_run import ASK, SLEEP

pytestmark = pytest.mark.anyio

STREAM = ("--output", "stream-json")


async def test_a_running_turn_is_steered_from_another_process(claw: Claw) -> None:
    with served(claw.home) as model, claw.started("run", "first", "--session", "work", *STREAM) as run:
        assert "first" in model.asked()
        sent = await claw("sessions", "send", "wor", "and second")
        assert (sent.code, sent.out) == (0, ""), sent
        assert "turn 1 of work" in sent.err
        assert str(run.process.pid) in sent.err
        as_json = await claw("sessions", "send", "work", "and third", "--json")
        assert as_json.json | {"holder": ""} == {"session": "work", "turn": 1, "steered": True, "holder": "", "finished": None}
        model.call("calculate", expression="1 + 1")
        asked = model.asked()
        assert "and second" in asked
        assert "and third" in asked
        model.done()
        assert run.until("turn.finished")["turn"] == 1


async def test_where_no_turn_runs_a_message_begins_one_here_and_is_shown_as_run_shows_it(claw: Claw) -> None:
    await claw("run", "calculate 6 * 7", "--session", "work")
    sent = await claw("sessions", "send", "work", "calculate 1 + 1")
    assert (sent.code, sent.out) == (0, "2\n"), sent
    as_json = await claw("sessions", "send", "work", "calculate 1 + 2", "--json")
    assert as_json.code == 0
    assert (as_json.json["steered"], as_json.json["turn"], as_json.json["finished"]["text"]) == (False, 3, "3")
    failed = await claw("sessions", "send", "work", "nonsense of no grammar")
    assert (failed.code, failed.out) == (1, ""), failed
    (claw.home / "config.yaml").write_text(ASK)
    assert (await claw("sessions", "send", "work", "calculate 6 * 7")).code == 3


async def test_a_session_that_is_not_there_or_holds_no_conversation_is_wrong_usage(claw: Claw) -> None:
    for words in (["send", "nobody", "hello"], ["cancel", "nobody"], ["send", "nobody", " "], ["send", "nobody"], ["show"]):
        ran = await claw("sessions", *words)
        assert (ran.code, ran.out) == (2, ""), ran


async def test_a_turn_is_stopped_from_another_process(claw: Claw) -> None:
    with claw.started(*SLEEP, "--session", "long") as run:
        run.until("tool.started")
        stopped = await claw("sessions", "cancel", "lo")
        assert (stopped.code, stopped.out) == (0, "cancelled turn 1 of long\n"), stopped
        assert run.until("turn.finished")["status"] == "cancelled"
        assert run.process.wait(10) == 130
    idle = await claw("sessions", "cancel", "long")
    assert (idle.code, idle.out) == (0, "nothing runs in long\n"), idle
    as_json = await claw("sessions", "cancel", "long", "--json")
    assert as_json.json == {"session": "long", "turn": None, "cancelled": False, "ended": False, "holder": None}


async def test_an_interrupted_or_parked_turn_that_is_cancelled_ends_and_is_not_gone_on_with(claw: Claw) -> None:
    with claw.started(*SLEEP, "--session", "killed") as run:
        run.until("tool.started")
    (claw.home / "config.yaml").write_text(ASK)
    await claw("run", "calculate 6 * 7", "--approvals", "park", "--session", "parked")
    for session in ("killed", "parked"):
        stopped = await claw("sessions", "cancel", session)
        assert (stopped.code, stopped.out) == (0, f"cancelled turn 1 of {session}\n"), stopped
        shown = (await claw("sessions", "show", session, "--json")).json
        assert (shown["state"], shown["events"][-1]["status"]) == ("idle", "cancelled")
    assert (await claw("approvals", "list", "--json")).json == []


async def test_show_without_id_is_the_newest_of_this_workspace(claw: Claw) -> None:
    await claw("run", "calculate 6 * 7", "--session", "old")
    await claw("run", "calculate 6 * 7", "--session", "new")
    elsewhere = claw.workspace.parent / "elsewhere"
    elsewhere.mkdir()
    await claw("run", "calculate 6 * 7", "--session", "other", "--workspace", str(elsewhere))
    assert (await claw("sessions", "show", "--json")).json["session"] == "new"


async def test_a_programs_message_to_a_parked_session_is_told_that_it_waits_and_is_taken_up_with_the_answer(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    await claw("run", "calculate 6 * 7", "--approvals", "park", "--session", "p")
    waits = await claw("run", "echo later", "--session", "p", *STREAM)
    assert waits.code == 3, waits
    [told] = [e for e in waits.lines if e["type"] == "status"]
    assert "waits for an answer" in told["text"]
    assert "entry" not in told
    [question] = waits.lines[-1]["waiting"]
    in_words = await claw("sessions", "send", "p", "echo last")
    assert (in_words.code, in_words.out) == (3, ""), in_words
    assert "this message is kept" in in_words.err
    assert (await claw("approvals", "answer", question, "once")).code == 0
    done = await claw("run", "--resume", "p")
    assert (done.code, done.out) == (0, "42\nlater\nlast\n"), done
    shown = (await claw("sessions", "show", "p", "--json")).json
    assert (shown["state"], shown["turns"]) == ("idle", 3)


async def test_the_object_of_a_resumed_turn_stands_alone_also_where_messages_waited_behind_it(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    parked = await claw("run", "calculate 6 * 7", "--approvals", "park", "--session", "p", "--output", "json")
    await claw("run", "echo later", "--session", "p")
    await claw("approvals", "answer", parked.json["waiting"][0], "once")
    done = await claw("run", "--resume", "p", "--output", "json")
    assert (done.code, done.json["turn"], done.json["text"]) == (0, 1, "42"), done
    assert (await claw("sessions", "list", "--unfinished", "--json")).json == []


async def test_python_sends_and_cancels_by_the_same_verbs(claw: Claw) -> None:
    with claw.started(*SLEEP, "--session", "long") as run:
        run.until("tool.started")
        async with Agent.open(home=claw.home, workspace=claw.workspace) as agent:
            sent = await agent.do("sessions.send", session="long", text="hurry")
            assert (sent["steered"], sent["turn"]) == (True, 1)
            stopped = await agent.do("sessions.cancel", session="long")
            assert (stopped["cancelled"], stopped["ended"]) == (True, True)
        assert run.process.wait(10) == 130


async def test_a_word_said_as_the_turn_ends_is_never_lost(claw: Claw) -> None:
    """The run ends while the message is on its way: whoever is left does it."""
    with served(claw.home) as model, claw.started("run", "first", "--session", "work", stdin=subprocess.DEVNULL) as run:
        model.asked()
        model.done()
        model.done()
        await claw("sessions", "send", "work", "second")
        await until(lambda: run.process.poll() is not None)
    shown = (await claw("sessions", "show", "work", "--json")).json
    assert shown["state"] == "idle", shown


async def test_python_refuses_what_an_unfinished_turn_cannot_take_and_keeps_it_unfinished(claw: Claw) -> None:
    with claw.started(*SLEEP, "--session", "k") as run:
        run.until("tool.started")
    async with Agent.open(home=claw.home, workspace=claw.workspace) as agent:
        for option in ({"model": "offline"}, {"trust": "high"}, {"tools": ["echo"]}, {"refusals": "ignore"}):
            with pytest.raises(UsageError, match="holds for a new turn"):
                async with agent.resume("k", **option):
                    pass
        assert [row["session"] for row in await agent.do("sessions.list", unfinished=True)] == ["k"]
        reply = await agent.ask("echo 1 then calculate 6*7", tools=["echo"])
        assert reply.status == "failed"
        async with agent.resume("k", max_iterations=5) as events:
            assert [event.type async for event in events][-1] == "turn.finished"


async def test_messages_sent_at_once_are_each_handled_once(claw: Claw) -> None:
    await claw("run", "calculate 6 * 7", "--session", "work")
    sent = []

    async def send(number: int) -> None:
        sent.append(await claw("sessions", "send", "work", f"calculate {number} + 100"))

    async with anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(send, number)
    assert [ran.code for ran in sent] == [0, 0, 0], sent
    shown = (await claw("sessions", "show", "work", "--json")).json
    assert shown["state"] == "idle", shown
    answers = " ".join(e["text"] for e in shown["events"] if e["type"] == "turn.finished")
    assert all(str(100 + number) in answers for number in range(3)), answers


async def test_a_list_of_one_session_names_a_session_that_is_not_there(claw: Claw) -> None:
    parked = await claw("run", "calculate 6 * 7", "--approvals", "park", "--session", "parked")
    assert parked.code in (0, 3)
    for words in (("approvals", "list", "--session", "nosuch"), ("audit", "show", "--session", "nosuch"), ("audit", "show", "--session", "")):
        ran = await claw(*words)
        assert (ran.code, ran.out) == (2, ""), ran
        assert "there is no session" in ran.err
    assert (await claw("approvals", "list", "--session", "park")).code == 0
    assert (await claw("sessions", "show", "parked", "--after", "03")).code == 0
