"""What a running call prints is seen while it runs: without secrets, bounded, and never in the record."""

import time
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from neuralclaw import Agent, tool
from neuralclaw.agent.live_output import PIECE, LiveOutput
from neuralclaw.secrets import Redactor
from neuralclaw.types.events import ToolFinished, ToolOutput
from neuralclaw.types.tools import ToolContext

from ..waiting import until

pytestmark = pytest.mark.anyio

SECRET = "qT7-vv81_kkZp03xYw-and-some-more"


def watched(redactor: Redactor | None = None) -> tuple[LiveOutput, list[str]]:
    shown: list[str] = []
    return LiveOutput(redactor or Redactor(), shown.append), shown


async def test_a_command_is_seen_while_it_runs_and_its_output_is_no_entry(home: Path, tmp_path: Path) -> None:
    script = "for n in 1 2 3; do echo step $n; sleep 0.3; done"
    came: dict[str, float] = {}
    async with Agent.open(home=home, workspace=tmp_path, approvals="auto") as agent, agent.turn(f"run {script}", session="s") as events:
        async for event in events:
            if isinstance(event.body, ToolOutput):
                assert event.entry is None
                came.setdefault(event.body.text, time.monotonic())
                call_id = event.body.call_id
            elif isinstance(event.body, ToolFinished):
                assert event.body.call_id == call_id
                ended = time.monotonic()
                assert event.body.content.split() == "step 1 step 2 step 3".split()
    assert list(came) == ["step 1\n", "step 2\n", "step 3\n"]
    assert ended - came["step 1\n"] > 0.5
    async with Agent.open(home=home, workspace=tmp_path) as agent:
        shown = await agent.do("sessions.show", session="s")
    assert "tool.output" not in {event["type"] for event in shown["events"]}


async def test_a_secret_that_is_printed_in_pieces_and_between_two_streams_is_not_shown() -> None:
    live, shown = watched(Redactor([("KEY", SECRET)]))
    for at, letter in enumerate(SECRET):
        live.take(letter, "stdout")
        live.take(f"{at} ", "stderr")
        if at % 8 == 0:
            live.take(f"t{at}Z ", "ticks")  # nothing looked for begins with Z: no piece of it is held back
            await until(lambda: f"t{at}Z" in "".join(shown))  # noqa: B023
    live.take(" after\n", "stdout")
    live.end()
    text = "".join(shown)
    assert "[REDACTED:KEY] after" in text
    assert SECRET[:6] not in text.replace(" ", "")


async def test_what_may_be_the_beginning_of_a_secret_is_not_shown_when_the_call_is_stopped() -> None:
    live, shown = watched(Redactor([("KEY", SECRET)]))
    live.take(f"it is {SECRET[:-3]}")
    live.end()
    assert "".join(shown) == "it is "


async def test_what_comes_faster_than_anybody_reads_is_bounded_and_says_what_is_missing() -> None:
    live, shown = watched(Redactor([("KEY", SECRET)]))
    live.take("first\n")
    for _ in range(2_000):
        live.take("y\n" * 4_096)
    live.take("last\n")
    live.end()
    assert shown[0] == "first\n"
    assert len(shown) < 5
    assert all(len(piece) < PIECE + 100 for piece in shown)
    assert shown[-1].endswith("y\nlast\n")
    assert "characters …]" in shown[-1]


async def test_behind_a_gap_no_rest_of_a_secret_is_shown() -> None:
    key = "".join(f"{n:04x}-{n * 7919 % 65536:04x}-" for n in range(300))
    live, shown = watched(Redactor([("KEY", key)]))
    live.take("begin\n")
    for cut in range(0, len(key), 61):  # wherever the gap is, it is within the key now and then
        live.take("x" * (120_000 + cut))
        live.take(key)
        live.take("x" * 20_000)
    live.end()
    assert not any(key[at : at + 30] in "".join(shown) for at in range(len(key) - 30))


async def test_a_flood_slows_neither_the_command_nor_the_loop(home: Path, tmp_path: Path) -> None:
    flood = "seq 4000000"  # 31 MB
    pieces = []
    async with Agent.open(home=home, workspace=tmp_path, approvals="auto", trust="high") as agent, agent.turn(f"run {flood}", session="s") as events:
        async for event in events:
            if isinstance(event.body, ToolOutput):
                pieces.append(len(event.body.text))
            elif isinstance(event.body, ToolFinished):
                assert event.body.ok, event.body.content
                took = event.body.duration_ms / 1000
    assert 1 <= len(pieces) <= took / 0.1 + 3
    assert sum(pieces) < 1_000_000


async def test_an_own_tool_tells_how_far_it_is_from_a_worker_thread_too(home: Path, tmp_path: Path) -> None:
    @tool(risk="LOW", effect="pure")
    def count(ctx: ToolContext) -> str:
        """Counts."""
        ctx.show("half way\n", "")
        return "done"

    async with Agent.open(home=home, workspace=tmp_path, tools=[count], model="direct:call") as agent:
        async with agent.turn('{"tool": "count", "arguments": {}}') as events:
            bodies = [event.body async for event in events]
    assert [body.text for body in bodies if isinstance(body, ToolOutput)] == ["half way\n"]


async def test_nothing_is_shown_after_the_end() -> None:
    live, shown = watched()
    live.end()
    live.take("late")
    await anyio.to_thread.run_sync(live.take, "later")
    await anyio.sleep(0)
    assert shown == []
    live, shown = watched()
    live.take("4")  # no key begins with these: a letter may be the beginning of one, and waits for the next
    live.take("5")
    await until(lambda: shown == ["4", "5"])
