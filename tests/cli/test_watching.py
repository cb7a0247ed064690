"""What a running command prints, as programs and people see it from `run`."""

import json

import pytest

from .model import served
from .program import Claw

pytestmark = pytest.mark.anyio

TASK = ("run", "run bash -c 'echo first; sleep 0.3; echo second >&2'", "--approvals", "auto", "--trust", "high")


async def test_stream_json_has_the_output_of_a_command_while_it_runs_and_it_is_no_entry(claw: Claw) -> None:
    ran = await claw(*TASK, "--output", "stream-json", "--session", "s")
    assert ran.code == 0, ran
    kinds = [event["type"] for event in ran.lines]
    outputs = [event for event in ran.lines if event["type"] == "tool.output"]
    [finished] = [event for event in ran.lines if event["type"] == "tool.finished"]
    assert [event["text"] for event in outputs] == ["first\n", "second\n"]
    assert all(event["call_id"] == finished["call_id"] and "entry" not in event for event in outputs)
    assert kinds.index("tool.started") < kinds.index("tool.output") < kinds.index("tool.finished")
    assert [event["seq"] for event in ran.lines] == list(range(1, len(ran.lines) + 1))
    shown = (await claw("sessions", "show", "s", "--json")).json
    assert "tool.output" not in {event["type"] for event in shown["events"]}


async def test_a_secret_in_the_output_is_redacted_on_its_way(claw: Claw) -> None:
    claw.env["OPENAI_API_KEY"] = "correct-horse-battery-staple-77"
    (claw.workspace / "half.sh").write_text("printf correct-horse; sleep 0.2; printf -- -battery-staple-77; echo .\n")
    ran = await claw("--home", str(claw.home), "run", "run bash half.sh", "--model", "offline", "--approvals", "auto", "--output", "stream-json")
    assert ran.code == 0, ran
    assert "".join(event["text"] for event in ran.lines if event["type"] == "tool.output") == "[REDACTED:OPENAI_API_KEY].\n"
    assert "correct-horse" not in ran.out + ran.err


async def test_text_output_shows_it_only_with_verbose_and_on_standard_error(claw: Claw) -> None:
    with served(claw.home) as model:
        for more in ((), ("--verbose",)):
            model.think("Let me think.")
            model.call("terminal", command="bash -c 'echo first; echo second'")
            model.say("All done.")
            model.done()
            ran = await claw("run", "go", "--approvals", "auto", "--trust", "high", *more)
            assert ran.out == "All done.\n", ran
            assert ("first\nsecond\n" in ran.err) == bool(more)
            assert ("Let me think." in ran.err) == bool(more)
    assert json.loads((await claw("sessions", "list", "--json")).out)
