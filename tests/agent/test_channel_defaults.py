"""What a channel or a service hands in runs as work in the background does: its questions wait, and it has a directory of its own."""

from pathlib import Path
from typing import Any

import pytest

from neuralclaw import Agent
from neuralclaw.capability import CapabilityContext, Desk, Inbound, Service
from neuralclaw.errors import UsageError, WorkspaceError
from neuralclaw.types.events import TurnStarted
from neuralclaw.types.options import TurnOptions

from ..waiting import until
from .kit import call, calls
from .test_background import Room, serving

pytestmark = pytest.mark.anyio

WRITES = calls(call("write_file", path="a.txt", content="hello"))
DELETES = calls(call("delete_file", path="a.txt"))


def said(text: str = "go", key: str = "1", **more: Any) -> Inbound:
    return Inbound(**{"text": text, "key": key, "by": "owner", "sender": "somebody", "address": "room", **more})


async def begun(agent: Agent, session: str, number: int = 1) -> TurnOptions:
    """The options that the turn of that number began with."""
    found: list[TurnOptions] = []

    async def there() -> bool:
        entries = await agent._home.store.read(session, kinds=("turn.started",))
        found[:] = [entry.body.options for entry in entries if isinstance(entry.body, TurnStarted)]
        return len(found) >= number

    await until(there)
    return found[number - 1]


async def test_a_question_of_a_channels_message_parks_in_a_workspace_of_its_own_and_the_answer_reaches_the_address(home: Path) -> None:
    async def serve(desk: Desk) -> None:
        await desk.send("room-1", said())

    room = Room(serve)
    async with serving(home, WRITES, DELETES, "done", post=room) as a:
        options = await begun(a, "room-1")
        workspace = home / "workspaces" / "room-1"
        assert (options.approvals, options.workspace) == ("park", str(workspace))
        assert (options.origin.who, options.origin.present, options.origin.channel) == ("owner", False, "post")
        await until(lambda: a._home.store.questions(session="room-1"))
        [question] = await a._home.store.questions(session="room-1")
        assert (workspace / "a.txt").read_text() == "hello"
        await a.answer(question.question.approval_id, "once")
        await room.has(("room", "done"))
        assert not (workspace / "a.txt").exists()


async def test_what_a_service_sends_has_the_same_defaults_and_speaks_for_a_program(home: Path) -> None:
    async def run(context: CapabilityContext) -> None:
        await context.desk.send("night", Inbound(text="go", key="1", by="shelf"))

    async with serving(home, "done", services=(Service(name="night", run=run),)) as a:
        options = await begun(a, "night")
        assert (options.approvals, options.workspace) == ("park", str(home / "workspaces" / "night"))
        assert (options.origin.who, options.origin.channel) == ("program", "")
        assert (home / "workspaces" / "night").is_dir()


async def test_options_that_a_message_gives_are_kept_and_a_workspace_that_it_leaves_out_is_the_sessions_own(home: Path) -> None:
    async def serve(desk: Desk) -> None:
        await desk.send("one", said(options=TurnOptions(model="", workspace="", approvals="none")))
        await desk.send("two", said(key="2", options=TurnOptions(model="", workspace=str(home.parent))))

    async with serving(home, "done", "done", post=Room(serve)) as a:
        one, two = await begun(a, "one"), await begun(a, "two")
        assert (one.approvals, one.workspace) == ("none", str(home / "workspaces" / "one"))
        assert two.workspace == str(home.parent)
        assert not (home / "workspaces" / "two").exists()


async def test_a_channels_message_to_a_session_of_the_terminal_stays_in_its_workspace_and_its_questions_park(home: Path) -> None:
    ready: list[bool] = []

    async def serve(desk: Desk) -> None:
        await until(lambda: ready)
        await desk.send("s", said())

    async with serving(home, "first", "second", post=Room(serve)) as a:
        await a.ask("go", session="s", approvals="none")
        ready.append(True)
        first, second = await begun(a, "s"), await begun(a, "s", 2)
        assert (second.approvals, second.workspace, second.model) == ("park", first.workspace, first.model)
        assert second.origin.channel == "post"


async def test_a_workspace_lies_below_workspaces_whatever_the_session_is_called(home: Path) -> None:
    names = ["..", ".", "../../x", "a/b"]

    async def serve(desk: Desk) -> None:
        for number, name in enumerate(names):
            await desk.send(name, said(key=str(number)))

    async with serving(home, *["done"] * len(names), post=Room(serve)) as a:
        for name in names:
            made = Path((await begun(a, name)).workspace)
            assert made.is_dir()
            assert made.parent == home / "workspaces"


async def refusals(home: Path, *messages: tuple[str, Inbound], error: type[Exception]) -> list[str]:
    told: list[str] = []

    async def run(context: CapabilityContext) -> None:
        for session, message in messages:
            with pytest.raises(error) as refused:
                await context.desk.send(session, message)
            told.append(str(refused.value))

    async with serving(home, services=(Service(name="night", run=run),)) as a:
        await until(lambda: len(told) == len(messages))
        assert await a._home.store.sessions() == []
    return told


async def test_an_address_without_a_channel_is_refused(home: Path) -> None:
    told = await refusals(home, ("s", said()), ("s", Inbound(text="go", key="2", by="owner", reply_to="room")), error=UsageError)
    assert [text.partition(";")[0] for text in told] == ["the message has an address and names no channel, so its answer would reach nobody"] * 2


async def test_a_message_whose_workspace_cannot_be_made_is_refused(home: Path) -> None:
    (home / "workspaces").write_text("a file")
    [told] = await refusals(home, ("s", Inbound(text="go", key="1", by="owner")), error=WorkspaceError)
    assert "cannot be made" in told


async def test_a_message_that_wants_no_answer_names_an_empty_address_for_it(home: Path) -> None:
    async def serve(desk: Desk) -> None:
        await desk.send("one", said(reply_to=""))
        await desk.send("two", said(key="2"))

    room = Room(serve)
    async with serving(home, "for nobody", "for the room", post=room) as a:
        await begun(a, "one")
        await until(lambda: room.arrived)
        assert len(room.arrived) == 1
        assert [event.session for event in room.events] == ["two"]
