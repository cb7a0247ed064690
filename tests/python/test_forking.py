"""`sessions fork`: another session goes on from the end of a turn, and nothing of the first one changes."""

from pathlib import Path

import msgspec
import pytest

from neuralclaw import Reply, tool
from neuralclaw.agent.context import Conversation
from neuralclaw.errors import SessionNotFound, UsageError
from neuralclaw.runtime.session_history import read_history
from neuralclaw.testing import FunctionProvider
from neuralclaw.types.messages import Image, Request, ToolMessage, Usage, UserMessage

from ..agent.kit import agent, call, calls
from ..agent.test_compaction import Talk, encoded, setting

pytestmark = pytest.mark.anyio


def texts(request: Request) -> list[str]:
    return [message.text for message in request.messages if not isinstance(message, ToolMessage)]


def talk_with_results() -> Talk:
    """Calls two tools at some of its messages, one with a long result."""

    async def think(request: Request) -> Reply | str:
        last = request.messages[-1]
        if isinstance(last, UserMessage) and last.text.endswith(("3", "7")):
            return calls(call("echo", f"c{len(provider.work)}a", text="a" * 900), call("echo", f"c{len(provider.work)}b", text="b"))
        return "ok"

    provider = Talk(think)
    return provider


async def test_a_fork_goes_on_from_the_turn_and_the_first_session_from_its_own(home: Path) -> None:
    provider = Talk()
    async with agent(home, provider=provider) as a:
        for n in range(1, 5):
            await a.ask(f"message {n}", session="work")
        before = await a._home.store.read("work")
        done = await a.do("sessions.fork", session="work@2", to="other")
        assert (done["session"], done["source"], done["turn"]) == ("other", "work", 2)
        await a.ask("another way", session="other")
        assert texts(provider.work[-1]) == ["message 1", "answer 1", "message 2", "answer 2", "another way"]
        assert (await a._home.store.read("other"))[-1].turn == 3
        assert await a._home.store.read("work") == before
        await a.ask("message 5", session="work")
        assert texts(provider.work[-1])[-3:] == ["message 4", "answer 4", "message 5"]
        assert (await a.do("audit.verify"))["ok"]
        newest = await a.do("sessions.fork", session="work")
        assert newest["turn"] == 5
        assert len(newest["session"]) == 10
    async with agent(home, provider=provider) as a:
        await a.ask("and on", session="other")
        assert texts(provider.work[-1])[-3:] == ["another way", "answer 5", "and on"]
        rows = {row["session"]: row for row in await a.do("sessions.list")}
    assert (rows["other"]["title"], rows["other"]["state"], rows["other"]["workspace"]) == ("message 1", "idle", rows["work"]["workspace"])


async def test_every_turn_of_a_long_session_is_forked_as_it_was(home: Path) -> None:
    """Compactions, results, steering and pictures: the fork's next request begins with what the first session's next one began with."""

    provider = talk_with_results()
    setting(home, "agent: {max_conversation_messages: 24}\ncontext: {tool_results: 100}")
    async with agent(home, provider=provider) as a:
        for n in range(30):
            await a.ask(f"message {n}", session="s", images=[Image("image/png", b"\x89PNG\r\n\x1a\n" + bytes([n]), "dot.png")] if n % 5 == 0 else [])
        store = a._home.store
        for turn in (1, 4, 11, 19, 26, 30):
            done = await a.do("sessions.fork", session=f"s@{turn}", to=f"fork{turn}")
            _, copied = await read_history(store, done["session"], turn)
            end = next(e.entry for e in await store.read("s", kinds=("turn.finished",)) if e.turn == turn)
            original = [e for e in await store.read("s") if e.entry <= end]
            assert Conversation.of(copied).messages() == Conversation.of(original).messages()
            assert Conversation.of(copied).links.private_read == Conversation.of(original).links.private_read
        assert (await a.do("audit.verify"))["ok"]
        await a.ask("the same", session="s")
        await a.ask("the same", session="fork30")
    assert encoded(provider.work[-1]) == encoded(provider.work[-2])


async def test_what_was_paid_counts_once_and_what_is_forked_is_free(home: Path) -> None:
    async def think(request: Request) -> Reply:
        return Reply("ok", usage=Usage(input=100, output=10, usd=0.25))

    async with agent(home, provider=FunctionProvider(think)) as a:
        await a.ask("message", session="s")
        await a.do("sessions.fork", session="s", to="other")
        cost = await a.do("cost")
        rows = {row["session"]: row["usd"] for row in await a.do("sessions.list")}
    assert cost["total"]["usd"] == 0.25
    assert rows == {"s": 0.25, "other": 0.0}


async def test_the_rest_of_a_shortened_result_is_there_in_the_fork_too(home: Path) -> None:
    @tool(risk="LOW", effect="pure")
    async def much() -> str:
        "Say much."
        return "x" * 85_000

    async def think(request: Request) -> Reply | str:
        steps = [calls(call("much", "c1")), "ok", calls(call("read_result", "c2", call_id="c1", offset=40_000)), "read"]
        return steps[len(provider.work) - 1]

    provider = Talk(think)
    async with agent(home, provider=provider, tools=[much]) as a:
        await a.ask("message", session="s")
        await a.do("sessions.fork", session="s", to="other")
        await a.do("sessions.delete", session="s", yes=True)
        reply = await a.ask("go on", session="other")
        (read,) = [e.body for e in await a._home.store.read("other", from_turn=2, kinds=("tool.finished",))]
    assert reply.text == "read"
    assert read.ok
    assert read.content.startswith("x" * 1000)


async def test_labels_go_with_the_copies(home: Path) -> None:
    @tool(risk="LOW", effect="pure", source="external")
    async def page() -> str:
        "A page."
        return "from outside"

    async def think(request: Request) -> Reply | str:
        return calls(call("page")) if len(provider.work) == 2 else "ok"

    provider = Talk(think)
    async with agent(home, provider=provider, tools=[page]) as a:
        for n in range(3):
            await a.ask(f"message {n}", session="s")
        await a.do("sessions.fork", session="s@1", to="before")
        await a.do("sessions.fork", session="s@2", to="after")
        rows = {row["session"]: row["labels"] for row in await a.do("sessions.list")}
    assert "external:tool/page" in rows["after"]
    assert "external:tool/page" not in rows["before"]


@pytest.mark.parametrize(
    ("place", "to", "error"),
    [
        ("s@9", None, "has no turn 9, it has 2; nothing was made"),
        ("s@0", None, "has no turn 0"),
        ("s@x", None, "'x' is no turn"),
        ("s@", None, "'' is no turn"),
        ("s", "s", "there is a session s already"),
        ("s", "home", "cannot be the name of a session"),
        ("none", None, "there is no session none"),
        ("parked@2", None, "has not ended; nothing was made"),
    ],
)
async def test_what_cannot_be_forked_is_refused_with_the_reason_and_makes_nothing(home: Path, place: str, to: str | None, error: str) -> None:
    async def think(request: Request) -> Reply | str:
        return calls(call("terminal", command="rm x")) if request.messages[-1] == UserMessage("delete") else "ok"

    async with agent(home, provider=Talk(think)) as a:
        for session in ("s", "parked"):
            await a.ask("message", session=session)
        await a.ask("message", session="s")
        await a.ask("delete", session="parked", approvals="park")
        before = await a.do("sessions.list")
        with pytest.raises((UsageError, SessionNotFound), match=error):
            await a.do("sessions.fork", session=place, **({} if to is None else {"to": to}))
        assert await a.do("sessions.list") == before
        assert (await a.do("sessions.fork", session="parked"))["turn"] == 1


async def test_a_message_that_waits_and_one_that_was_withdrawn_are_not_in_the_fork(home: Path) -> None:
    provider = Talk()
    async with agent(home, provider=provider) as a:
        await a.ask("message 1", session="s")
        store = a._home.store
        (first,) = await store.read("s", kinds=("inbound",))
        waiting = msgspec.structs.replace(first.body, key="waits", text="later", queued=True)  # type: ignore[type-var]
        await a.desk.send("s", waiting)
        await a.ask("message 2", session="s")
        await a.do("sessions.fork", session="s@1", to="other")
        rows = {row["session"]: row for row in await a.do("sessions.list")}
        assert rows["other"]["state"] == "idle"
        await a.ask("go on", session="other")
    assert texts(provider.work[-1]) == ["message 1", "answer 1", "go on"]
