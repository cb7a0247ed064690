"""What the record says of hooks when a turn is gone on with: what counts, what does not, and what is kept of a call whose hook did not end."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from neuralclaw.errors import NeuralClawError
from tests.waiting import until

from ..agent.kit import agent, call, calls, events
from ..store.kit import raw
from .kit import hook, keeps, refuses, script, settings, told

pytestmark = pytest.mark.anyio


@pytest.fixture
def victim(home: Path) -> Path:
    path = home.parent / "work" / "a.txt"
    path.parent.mkdir()
    path.write_text("x")
    return path


async def parked(home: Path) -> Any:
    """A turn that waits for a yes to `delete_file`."""
    async with agent(home, calls(call("delete_file", "c1", path="a.txt"))) as a:
        seen = await events(a, session="s", approvals="park")
        [asked] = seen.of("approval.requested")
        await a.do("approvals.answer", approval_id=asked.approval_id, decision="once")
    return seen


async def resumed(home: Path) -> list[Any]:
    async with agent(home, "done") as a, a.resume("s") as stream:
        return [event async for event in stream]


def bodies(home: Path) -> list[tuple[int, dict[str, Any]]]:
    """The runs of hooks that are on record, as the database keeps them."""
    c = raw(home)
    try:
        query = "SELECT e.record, b.data FROM entries e JOIN bodies b ON b.record = e.record WHERE e.kind = 'hook.ran' ORDER BY e.record"
        return [(record, json.loads(data)) for record, data in c.execute(query).fetchall()]
    finally:
        c.close()


@pytest.mark.invariant("hooks.recorded")
async def test_a_pass_that_was_forged_in_the_database_lets_no_call_run(home: Path, victim: Path) -> None:
    """The pass is a real one, of the same hook and call in another home, written over the row of an earlier run."""
    mode = home.parent / "own" / "mode"
    guard = script(home, "guard.sh", f"#!/bin/sh\ncat > /dev/null\nexit $(cat {mode})\n")
    mode.write_text("0")
    both, other = calls(call("delete_file", "c1", path="a.txt"), call("write_file", "c2", path="b.txt", content="x")), home.parent / "other"
    for place, approvals in ((other, "none"), (home, "park")):
        settings(place, hook("before_turn", guard, name="first"), hook("before_tool", guard, tools=["write_file"], name="guard"))
        async with agent(place, both, "done") as a:
            seen = await events(a, session="s", approvals=approvals)
    [asked] = seen.of("approval.requested")
    (victim.parent / "b.txt").unlink()
    [(record, _)], [_, (_, passed)] = bodies(home), bodies(other)
    assert (passed["hook"], passed["outcome"]) == ("guard", "passed")
    c = raw(home)
    c.execute("UPDATE bodies SET data = ? WHERE record = ?", (json.dumps(passed).encode(), record))
    c.close()
    mode.write_text("2")
    async with agent(home, "done") as a:
        await a.do("approvals.answer", approval_id=asked.approval_id, decision="no")
        with suppress(NeuralClawError):
            async with a.resume("s") as stream:
                assert "tool.started" not in [event.type async for event in stream]
    assert not (victim.parent / "b.txt").exists()


@pytest.mark.invariant("hooks.recorded")
@pytest.mark.parametrize("changed", ["program", "arguments", "on_failure", "not pinned"])
async def test_a_pass_of_what_the_hook_was_before_lets_no_call_run(home: Path, victim: Path, changed: str) -> None:
    fails = script(home, "fails.sh", "#!/bin/sh\ncat > /dev/null\nexit $1\n")
    before = hook("before_tool", fails, "7" if changed == "on_failure" else "0", on_failure="pass", name="guard")
    settings(home, before)
    await parked(home)
    changes = {"arguments": {"command": [str(fails), "2"]}, "on_failure": {"on_failure": "block"}, "not pinned": {"digest": ""}}
    settings(home, hook("before_tool", refuses(home), name="guard") if changed == "program" else before | changes[changed])
    seen = await resumed(home)
    assert [event.body.blocks for event in seen if event.type == "hook.ran"] == [True]
    assert "tool.started" not in [event.type for event in seen]
    assert victim.exists()


async def test_a_result_that_is_kept_back_is_not_read_with_read_result(home: Path) -> None:
    (home.parent / "work").mkdir()
    (home.parent / "work" / "a.txt").write_text("a line\n" * 2000 + "the number is zq-4711-xv\n")
    finds = script(home, "finds.sh", "#!/bin/sh\nif grep -q zq-4711-xv; then echo holds a number >&2; exit 2; fi\n")
    settings(home, hook("after_tool", finds, tools=["read_file"]))
    options: dict[str, Any] = {"settings": {"agent.max_tool_result_chars": 2000}}
    again = [calls(call("read_result", call_id="c1", offset=offset)) for offset in (0, 13_000)]
    async with agent(home, calls(call("read_file", "c1", path="a.txt")), *again, "done", **options) as a:
        seen = await events(a)
        rows = await a.do("sessions.show", session=seen.of("turn.finished")[0].session)
    assert "holds a number" in seen.of("tool.finished")[0].content
    assert "zq-4711-xv" not in json.dumps(rows)
    assert "zq-4711-xv" not in "".join(event.content for event in seen.of("tool.finished"))


@pytest.mark.invariant("hooks.recorded")
async def test_a_turn_that_is_cancelled_while_a_hook_reads_a_result_keeps_it_back_and_knows_that_the_call_ran(home: Path) -> None:
    started = home.parent / "own" / "started"
    waits = script(home, "waits.sh", f"#!/bin/sh\ntouch {started}\nexec sleep 60\n")
    settings(home, hook("after_tool", waits, timeout=60))
    async with agent(home, calls(call("write_file", "c1", path="a.txt", content="it is zq-4711-xv")), "done") as a:

        async def cancels() -> None:
            await until(started.exists)
            await a.do("sessions.cancel", session="s")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancels)
            seen = await events(a, session="s", approvals="auto")
        undone = await a.do("undo", session="s")
    [finished], [end] = seen.of("tool.finished"), seen.of("turn.finished")
    assert (finished.ok, end.status) == (True, "cancelled")
    assert "kept back" in finished.content
    assert undone
    assert not (home.parent / "work" / "a.txt").exists()


async def test_hooks_of_calls_run_in_a_session_that_was_told_to_the_hook(home: Path) -> None:
    settings(home, hook("before_tool", keeps(home)))
    async with agent(home) as a:
        await a.do("tools.call", name="list_files", arguments={"path": "."})
    assert [line["session_id"] for line in told(home)] == ["tools"]
