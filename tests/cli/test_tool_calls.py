"""`tools call`: recorded in the session `tools`, which nothing continues, or in the one that was named."""

import subprocess
from typing import Any

import anyio
import pytest

from neuralclaw import Agent
from neuralclaw.errors import UsageError
from tests.waiting import until

from .program import Claw
from .test_run import ASK

pytestmark = pytest.mark.anyio

SUM = ("tools", "call", "calculate", '{"expression": "6 * 7"}')


async def test_calls_are_recorded_in_the_session_tools_and_nothing_continues_it(claw: Claw) -> None:
    for _ in range(2):
        assert (await claw(*SUM)).code == 0
    [row] = (await claw("sessions", "list", "--json")).json
    assert (row["session"], row["turns"], row["state"]) == ("tools", 2, "idle")
    for words in (
        ["run", "--continue", "calculate 1 + 1"],
        ["run", "--resume", "tools", "calculate 1 + 1"],
        ["run", "--resume", "too"],
        ["run", "--session", "tools", "calculate 1 + 1"],
        ["--continue"],
        ["sessions", "send", "tools", "hello"],
        ["sessions", "show"],
        [*SUM, "--session", "tools"],
    ):
        ran = await claw(*words)
        assert (ran.code, ran.out) == (2, ""), (words, ran)
    async with Agent.open(home=claw.home, workspace=claw.workspace) as agent:
        for refused in (agent.resume("tools", text="hello"), agent.turn("hello", session="tools")):
            with pytest.raises(UsageError):
                async with refused:
                    pass
    assert (await claw("sessions", "show", "tools", "--json")).json["turns"] == 2


async def test_a_call_is_recorded_in_the_session_that_was_named(claw: Claw) -> None:
    called = await claw(*SUM, "--session", "mine", "--json")
    assert (called.json["session"], called.json["turn"]) == ("mine", 1)
    assert [row["session"] for row in (await claw("sessions", "list", "--json")).json] == ["mine"]


async def test_calls_at_once_wait_their_turn(claw: Claw) -> None:
    called = []

    async def one(number: int) -> None:
        called.append(await claw("tools", "call", "terminal", f'{{"command": "sh -c \\"sleep 0.3; echo {number}\\""}}', "--approvals", "auto", "--json"))

    async with anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(one, number)
    assert [ran.code for ran in called] == [0, 0, 0], called
    assert sorted(ran.json["turn"] for ran in called) == [1, 2, 3]
    assert sorted(ran.json["content"].strip() for ran in called) == ["0", "1", "2"]


async def test_a_command_that_fails_shows_what_it_printed(claw: Claw) -> None:
    script = "echo one; echo two >&2; exit 3"
    ran = await claw("tools", "call", "terminal", f'{{"command": "sh -c \\"{script}\\""}}', "--approvals", "auto")
    assert ran.code == 1, ran
    assert "one" in ran.out
    assert "two" in ran.out
    assert "Exit code: 3" in ran.err
    assert "Exit code" not in ran.out
    missing = await claw("tools", "call", "read_file", '{"path": "missing.txt"}')
    assert (missing.code, missing.out) == (1, ""), missing
    assert "missing.txt" in missing.err


async def test_arguments_that_are_no_object_do_not_fit(claw: Claw) -> None:
    for text in ("nonsense", "[]", '{"expression": 5, "more": 1}', "{}"):
        ran = await claw("tools", "call", "calculate", text)
        assert (ran.code, ran.out) == (1, ""), ran
        assert (await claw("tools", "call", "calculate", text, "--dry-run")).code == 1
    as_json = await claw("tools", "call", "calculate", "nonsense", "--json")
    assert (as_json.code, as_json.out) == (1, "")
    assert '"kind":"ToolValidationError"' in as_json.err


async def test_a_call_that_shall_wait_for_an_answer_needs_a_session(claw: Claw) -> None:
    (claw.home / "config.yaml").write_text(ASK)
    refused = await claw(*SUM, "--approvals", "park")
    assert (refused.code, refused.out) == (2, ""), refused
    assert "--session" in refused.err
    parked = await claw(*SUM, "--approvals", "park", "--session", "mine")
    assert (parked.code, parked.out) == (3, ""), parked
    assert "neuralclaw run --resume mine" in parked.err


async def test_a_dry_run_only_judges_and_tells_what_would_be_asked(claw: Claw) -> None:
    remove = ("tools", "call", "terminal", '{"command": "rm notes.txt"}', "--dry-run", "--json")
    for more, code in (([], 3), (["--approvals", "auto"], 0)):
        ran = await claw(*remove, *more)
        assert (ran.code, ran.json["decision"]) == (code, "ask"), ran
    assert (await claw("sessions", "list", "--json")).json == []


async def test_a_yes_to_a_single_call_never_covers_the_session_of_all_calls(claw: Claw) -> None:
    remove = ("tools", "call", "terminal", '{"command": "rm junk.txt"}')
    for more, offered in (([], False), (["--session", "mine"], True)):
        (claw.workspace / "junk.txt").write_text("x")
        with claw.started(*remove, "--approvals", "ask", *more, stdin=subprocess.PIPE) as run:
            [question] = await until(lambda: _waiting(claw))
            assert ("session" in question["choices"]) is offered, question
            refused = await claw("approvals", "answer", question["approval_id"], "session")
            assert refused.code == (0 if offered else 2), refused
            if not offered:
                assert (await claw("approvals", "answer", question["approval_id"], "once")).code == 0
            assert run.process.wait(10) == 0


async def _waiting(claw: Claw) -> Any:
    return (await claw("approvals", "list", "--json")).json


def nested(levels: int) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    inner = whole
    for _ in range(levels):
        inner["a"] = inner = {}
    return whole


CYCLE: dict[str, Any] = {}
CYCLE["a"] = CYCLE


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"text": "\ud800"}, "surrogates not allowed"),
        ({"text": float("nan")}, "nan is no number of JSON"),
        ({"text": object()}, "object"),
        (nested(3000), "they are nested deeper than 100 levels"),
        (nested(101), "they are nested deeper than 100 levels"),
        (CYCLE, "they are nested deeper than 100 levels"),
    ],
    ids=["surrogate", "nan", "object", "deep", "too-deep", "cycle"],
)
async def test_arguments_that_are_no_json_are_refused_and_nothing_is_recorded(claw: Claw, arguments: dict[str, Any], why: str, dry_run: bool) -> None:
    async with Agent.open(home=claw.home, workspace=claw.workspace) as agent:
        with pytest.raises(UsageError, match=why):
            await agent.do("tools.call", name="echo", arguments=arguments, dry_run=dry_run)
        if not dry_run:
            with pytest.raises(UsageError, match=why):
                async with agent.call("echo", arguments):
                    pass
        assert await agent.do("sessions.list") == []
        assert (await agent.do("tools.call", name="echo", arguments={"text": "x"}))["content"] == "x"


async def test_a_call_may_be_nested_as_deep_as_the_limit(claw: Claw) -> None:
    async with Agent.open(home=claw.home, workspace=claw.workspace) as agent:
        done = await agent.do("tools.call", name="echo", arguments=nested(100))
        assert "unknown argument 'a'" in done["error"]


async def test_nothing_is_read_behind_a_number_that_no_entry_can_have(claw: Claw) -> None:
    async with Agent.open(home=claw.home, workspace=claw.workspace) as agent:
        await agent.ask("calculate 6 * 7", session="s")
        with pytest.raises(UsageError, match="after"):
            await agent.do("sessions.show", session="s", after=2**70)
