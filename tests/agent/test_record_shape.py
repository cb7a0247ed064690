"""What the entries of a turn hold: labels that never drop, parts, pictures and prompts kept once, replies that were cut off."""

import sqlite3
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from neuralclaw import Agent, lookups, tool
from neuralclaw.agent.context import CUT_OFF
from neuralclaw.testing import EventCapture, FunctionProvider, Reply, ScriptedProvider
from neuralclaw.types.entries import Entry, blob_digest
from neuralclaw.types.events import Message, ToolFinished, TurnStarted
from neuralclaw.types.messages import Image, ImageContent, ModelInfo, Price, Request, StructuredContent, TextContent, ToolMessage, UserMessage
from neuralclaw.types.tools import ToolResult

from .kit import agent, call, calls, events
from .test_pictures import DOT

pytestmark = pytest.mark.anyio

BIG = {"rows": {f"key {n}": "x" * 1000 for n in range(20_000)}, "count": 20_000, "note": "y" * 100_000}
"""About 20 MB."""


async def entries(a: Agent, session: str = "s") -> list[Entry]:
    return await a._home.store.read(session)


async def labels(a: Agent, kind: str) -> list[frozenset[str]]:
    return [frozenset(e.header.labels) for e in await entries(a) if e.header.kind == kind]


@tool(risk="LOW", effect="pure", source="external")
async def news() -> str:
    "What the world says."
    return "it rains"


async def test_the_owners_words_the_agents_and_those_from_outside_are_told_apart(home: Path) -> None:
    async with agent(home, calls(call("echo", text="hi")), calls(call("news")), "it rains", tools=[news], who="owner") as a:
        await events(a, session="s")
        assert await labels(a, "inbound") == await labels(a, "turn.started") == [frozenset({"owner", "private"})]
        agents, outside = frozenset({"owner", "agent", "private"}), frozenset({"owner", "agent", "private", "external:tool/news"})
        assert await labels(a, "message") == [agents, agents, outside]
        assert await labels(a, "tool.finished") == [agents, outside]
        assert await labels(a, "turn.finished") == [outside]


@pytest.mark.invariant("journal.labels-kept")
async def test_what_came_from_outside_marks_the_session_for_good_beyond_the_window_and_in_every_process(home: Path) -> None:
    async with agent(home, calls(call("news")), "it rains", *(f"reply {n}" for n in range(25)), tools=[news]) as a:
        for n in range(26):
            await a.ask(f"message {n}", session="s")
    async with agent(home, "later") as a:
        await a.ask("and now", session="s")
        assert "external:tool/news" in (await labels(a, "message"))[-1]
        assert "external:tool/news" not in (await labels(a, "inbound"))[-1]
        (row,) = await a.do("sessions.list")
    assert row["labels"] == ["agent", "external:tool/news", "owner", "private"]


async def test_a_result_of_several_parts_is_kept_as_parts_and_read_as_text(home: Path) -> None:
    @tool(risk="LOW", effect="pure")
    async def look() -> Any:
        "Look."
        return [TextContent("a dot"), Image("image/png", DOT, "dot.png"), StructuredContent({"width": 1})]

    provider = ScriptedProvider(calls(call("look")), "seen", "still", info=ModelInfo(images=True, price=Price(0, 0)))
    async with agent(home, provider=provider, tools=[look]) as a:
        seen = await events(a, session="s")
        await a.ask("again", session="s")
        (finished,) = [e.body for e in await entries(a) if isinstance(e.body, ToolFinished)]
    shown = seen.one("tool.finished").to_dict()
    assert shown["parts"][0] == {"type": "text", "text": "a dot"}
    assert shown["parts"][1] == {"type": "image", "media_type": "image/png", "name": "dot.png", "bytes": len(DOT), "digest": blob_digest(DOT)}
    assert shown["parts"][2] == {"type": "structured", "value": {"width": 1}}
    assert finished.content.splitlines() == ["a dot", f"[picture dot.png, image/png, {len(DOT)} bytes]", '{"width":1}']
    for request in provider.requests[1:]:
        (result,) = [m for m in request.messages if isinstance(m, ToolMessage)]
        assert [image.data for image in result.images] == [DOT]
    assert isinstance(finished.parts[1], ImageContent)
    assert finished.parts[1].image.data == b""


async def test_a_picture_is_kept_once_however_often_it_is_sent(home: Path) -> None:
    async with agent(home, "one", "two", "three") as a:
        for n in range(3):
            async with a.turn(f"look {n}", session=f"s{n}", images=[DOT]) as stream:
                await EventCapture().drain(stream)
    with sqlite3.connect(home / "neuralclaw.db") as c:
        assert c.execute("SELECT count(*) FROM blobs WHERE digest = ?", (blob_digest(DOT),)).fetchone() == (1,)
        assert c.execute("SELECT count(*) FROM bodies WHERE instr(data, 'iVBOR') > 0").fetchone() == (0,)
    c.close()


async def test_metadata_is_bounded_like_content_and_the_whole_is_kept(home: Path) -> None:
    @tool(risk="LOW", effect="pure")
    async def much() -> ToolResult:
        "Much."
        return ToolResult(content="much", metadata=BIG)

    async with agent(home, calls(call("much")), "ok", tools=[much]) as a:
        finished = (await events(a, session="s")).one("tool.finished").body
        whole = await lookups.blobs(a._home.store, [finished.metadata_digest])
    assert len(msgspec.json.encode(finished.metadata)) <= 40_000
    assert finished.metadata["count"] == 20_000
    assert finished.metadata["note"].startswith("yyy")
    assert msgspec.json.decode(whole[finished.metadata_digest]) == BIG


async def test_file_changes_stand_typed_in_the_result(home: Path) -> None:
    async with agent(home, calls(call("write_file", path="a.txt", content="hi")), "written") as a:
        await events(a, session="s")
        (finished,) = [e.body for e in await entries(a) if isinstance(e.body, ToolFinished)]
    (change,) = finished.changes
    assert (change.path, change.before, change.after) == (str(home.parent / "work" / "a.txt"), None, blob_digest(b"hi"))


async def test_all_that_a_request_was_made_of_is_on_record_byte_for_byte(home: Path) -> None:
    provider = ScriptedProvider(calls(call("echo", text="hi")), "done")
    async with agent(home, provider=provider) as a:
        await events(a, session="s")
        store, record = a._home.store, await entries(a)
        (started,) = [e.body for e in record if isinstance(e.body, TurnStarted)]
        kept = await lookups.blobs(store, list(started.stored.values()))
        snapshots = [e.body.environment for e in record if isinstance(e.body, Message)]
        environments = await lookups.blobs(store, snapshots)
    for request, snapshot in zip(provider.requests, snapshots, strict=True):
        assert kept[started.stored["system"]].decode() == request.system
        assert kept[started.stored["tools"]] == msgspec.json.encode(request.tools)
        assert environments[snapshot].decode() == request.environment != ""


async def test_a_turn_goes_on_with_the_tools_and_the_prompt_that_it_began_with(home: Path) -> None:
    @tool(risk="LOW", effect="pure")
    async def gone() -> str:
        "A tool that the next process does not have."
        return "was here"

    waits, first = anyio.Event(), FunctionProvider(lambda request: wait(request))

    async def wait(request: Request) -> Reply:
        waits.set()
        await anyio.sleep_forever()
        return Reply()

    async with agent(home, provider=first, tools=[gone]) as a, anyio.create_task_group() as tasks:
        tasks.start_soon(a.desk.send, "s", a._defaults.message("go"))
        await waits.wait()
        a.closing()
        tasks.cancel_scope.cancel()
    second = ScriptedProvider("done")
    async with agent(home, provider=second) as a, a.resume("s") as stream:
        await EventCapture().drain(stream)
    assert (second.requests[0].tools, second.requests[0].system) == (first.requests[0].tools, first.requests[0].system)


async def half_said(request: Request) -> Reply:
    return Reply("The first half", stop="length")


class Halting(FunctionProvider):
    """Says the first words and then nothing more, in its first reply."""

    def __init__(self) -> None:
        super().__init__(self._more)
        self.said = anyio.Event()

    async def _more(self, request: Request) -> Reply:
        return Reply("the whole")

    async def _events(self, request: Request):  # type: ignore[no-untyped-def]
        if len(self.requests) == 1:
            from neuralclaw.types.messages import TextPart

            yield TextPart("The first half")
            self.said.set()
            await anyio.sleep_forever()
        async for event in super()._events(request):
            yield event


@pytest.mark.parametrize("how", ["cancel", "time"])
async def test_a_reply_that_is_stopped_keeps_its_text_and_the_next_request_says_so(home: Path, how: str) -> None:
    provider = Halting()
    async with agent(home, provider=provider) as a:
        async with anyio.create_task_group() as tasks:
            if how == "cancel":

                async def cancel() -> None:
                    await provider.said.wait()
                    await a.cancel("s")

                tasks.start_soon(cancel)
            seen = await events(a, session="s", **({"timeout": 0.5} if how == "time" else {}))
        message = seen.one("message")
        assert (message.text, message.stop) == ("The first half", "cancelled")
        assert seen.one("turn.finished").status == ("cancelled" if how == "cancel" else "timed_out")
        await a.ask("go on", session="s")
    texts = [m.text for m in provider.requests[1].messages]
    assert texts == ["do it", "The first half", CUT_OFF["cancelled"], "go on"]
    assert provider.requests[1].messages[2] == UserMessage(CUT_OFF["cancelled"], "notice")


async def test_a_reply_cut_off_at_the_output_limit_keeps_its_text_and_the_next_request_says_so(home: Path) -> None:
    provider = ScriptedProvider(Reply("The first half", stop="length"), "the whole")
    async with agent(home, provider=provider) as a:
        seen = await events(a, session="s")
        await a.ask("go on", session="s")
    assert (seen.one("message").text, seen.one("limit").kind) == ("The first half", "output")
    assert [m.text for m in provider.requests[1].messages] == ["do it", "The first half", CUT_OFF["length"], "go on"]


async def test_a_session_names_its_soul_and_the_session_that_started_it(home: Path) -> None:
    async with agent(home, "done") as a:
        options = a._defaults.options()
        options = msgspec.structs.replace(options, soul="watcher", origin=msgspec.structs.replace(options.origin, who="agent", parent="boss"))
        await a.desk.send("s", msgspec.structs.replace(a._defaults.word("go"), options=options))
        await a._desk._sessions.idle("s")
        (row,) = await a.do("sessions.list")
    assert (row["parent"], row["soul"], row["origin"]) == ("boss", "watcher", "agent")
