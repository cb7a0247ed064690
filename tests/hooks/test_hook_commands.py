"""`hooks test`, and what the person is told of hooks that would block all or run for nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from neuralclaw import tool
from neuralclaw.app.desk_client import idle_tool_names
from neuralclaw.config import BUILT_IN_TOOLS
from neuralclaw.errors import UsageError
from neuralclaw.types.hooks import HookDefinition, idle_names

from ..agent.kit import agent, call, calls, events
from .kit import hook, keeps, refuses, script, settings, told, write

pytestmark = pytest.mark.anyio

EVENTS = ("before_turn", "after_turn", "before_tool", "after_tool", "before_approval", "after_approval")


async def test_a_trial_tells_a_hook_a_sample_of_its_event_and_records_nothing(home: Path) -> None:
    kept = keeps(home)
    settings(home, *(hook(event, kept, name=event) for event in EVENTS))
    async with agent(home) as a:
        before = (await a.do("audit.verify"))["records"]
        trials = [await a.do("hooks.test", name=event) for event in EVENTS]
        assert (await a.do("audit.verify"))["records"] == before
        assert await a.do("sessions.list") == []
    assert [trial["told"] for trial in trials] == told(home)
    assert [line["hook_event_name"] for line in told(home)] == list(EVENTS)
    assert {(trial["outcome"], trial["exit_code"], trial["blocks"]) for trial in trials} == {("passed", 0, False)}


async def test_a_trial_tells_the_same_fields_as_a_turn(home: Path) -> None:
    kept = keeps(home)
    settings(home, *(hook(event, kept, name=event) for event in EVENTS))
    (home.parent / "work").mkdir()
    (home.parent / "work" / "a.txt").write_text("x")
    async with agent(home, calls(call("delete_file", "c1", path="a.txt")), "done", approver=_yes) as a:
        await events(a, session="s")
        of_turn = {line["hook_event_name"]: line for line in told(home)}
        for event in EVENTS:
            trial = (await a.do("hooks.test", name=event))["told"]
            assert trial.keys() == of_turn[event].keys(), event
        again = await a.do("hooks.test", name="after_tool", recorded="s/c1")
        assert again["told"] == of_turn["after_tool"] | {"origin": again["told"]["origin"]}
        answered = await a.do("hooks.test", name="after_approval", recorded="c1")
    assert (answered["told"]["decision"], answered["told"]["approval_id"]) == ("once", of_turn["after_approval"]["approval_id"])


async def _yes(question: Any) -> str:
    return "once"


async def test_a_trial_says_what_would_follow(home: Path) -> None:
    fails = script(home, "fails.sh", "#!/bin/sh\nexit 3\n")
    settings(
        home,
        hook("before_tool", refuses(home), name="no", tools=["write_file"]),
        hook("before_tool", fails, name="lax", on_failure="pass"),
        hook("before_tool", fails, name="loose", digest=""),
        hook("before_approval", refuses(home), name="network", powers=["network"]),
        hook("before_tool", refuses(home), name="strange", tools=["nosuch"]),
    )
    async with agent(home, calls(call("read_file", "c1", path="a.txt")), "done") as a:
        await events(a, session="s")
        no, lax, loose, network, strange = [await a.do("hooks.test", name=name) for name in ("no", "lax", "loose", "network", "strange")]
        other = await a.do("hooks.test", name="no", recorded="s/c1")
        for wrong in ({"name": "nobody"}, {"name": "no", "recorded": "s/c9"}):
            with pytest.raises(UsageError):
                await a.do("hooks.test", **wrong)
    told_of = (no["outcome"], no["reason"], no["exit_code"], no["would"])
    assert told_of == ("blocked", "not today", 2, "the call would not run, and nobody would be asked about it")
    assert (lax["outcome"], lax["blocks"], lax["exit_code"]) == ("failed", False, 3)
    assert "on_failure is pass: nothing would be blocked" in lax["would"]
    assert (loose["outcome"], loose["blocks"], loose["exit_code"]) == ("failed", True, None)
    assert "not pinned" in loose["reason"]
    assert (network["told"]["tool_name"], network["outcome"]) == ("terminal", "blocked")
    assert [(one["outcome"], "would not run, and was not run" in one["would"]) for one in (strange, other)] == [("", True)] * 2


async def test_a_trial_around_a_turn_takes_no_call(home: Path) -> None:
    settings(home, hook("before_turn", keeps(home), name="guard"))
    async with agent(home) as a:
        with pytest.raises(UsageError, match="no call"):
            await a.do("hooks.test", name="guard", recorded="s/c1")
    assert told(home) == []


async def test_the_names_of_built_in_tools_are_those_that_there_are(home: Path) -> None:
    async with agent(home) as a:
        rows = await a.do("tools.list")
    assert {name for row in rows for name in (row["name"], *row["aliases"])} == BUILT_IN_TOOLS


@pytest.mark.parametrize(
    ("names", "idle"),
    [
        (["write_file", "bash", "file_*", "*", "mail::send", "mail::*"], []),
        (["write_fil", "read_file"], ["'write_fil', which is not there, and runs for no call of it; did you mean 'write_file'?"]),
        (["gmail_*", "Write_file"], ["'gmail_*'", "did you mean 'write_file'?"]),
    ],
)
def test_a_name_that_no_tool_has_is_told(names: list[str], idle: list[str]) -> None:
    found = list(idle_names([HookDefinition(event="before_tool", command=("/bin/true",), name="guard", tools=tuple(names))], BUILT_IN_TOOLS))
    assert len(found) == len(idle)
    assert all(part in sentence for part, sentence in zip(idle, found, strict=True))


async def test_a_hook_for_no_tool_and_one_that_blocks_all_are_told_where_hooks_are_set_and_checked(home: Path) -> None:
    file = keeps(home)
    settings(home, hook("before_tool", file, name="idle", tools=["write_fil"]), hook("before_tool", file, name="own", tools=["rename"]))
    async with agent(home, tools=[_rename]) as a:
        assert [one.split(",")[0] for one in await idle_tool_names(a._home, a._defaults)] == ["The hook idle names the tool 'write_fil'"]
        checks = {check["check"]: check for check in await a.do("doctor")}
        assert [checks[f"hooks.{name}"]["ok"] for name in ("idle", "own")] == [False, True]
        told_of = (await a.do("config.check"))["notices"]
        assert ["'write_fil'" in one for one in told_of] == [True, False]  # the file cannot know of a program's own tools
        given = [{"event": "before_tool", "command": [str(file)], "name": "open"}]
        notices = (await a.do("config.set", key="hooks", value=json.dumps(given)))["notices"]
    assert [one.partition(":")[0] for one in notices] == ["The hook open blocks all that it is about"]


@tool(risk="MEDIUM", name="rename")
async def _rename(path: str) -> str:
    "Rename a file."
    return path


async def test_a_row_shows_what_is_pinned_beside_what_is_there(home: Path) -> None:
    given = hook("before_tool", keeps(home), name="guard")
    settings(home, given)
    (home.parent / "own" / "told.sh").write_text("#!/bin/sh\n")
    async with agent(home, calls(write()), "done") as a:
        [row] = await a.do("hooks.list")
    assert row["pinned"] == given["digest"] != row["digest"]
    assert "changed since" in row["state"]
